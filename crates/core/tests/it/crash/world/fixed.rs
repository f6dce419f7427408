//! What is known of copies at fixed places: which versions lie where, and how many a write waits
//! for.

use std::collections::BTreeMap;
use std::ops::Range;

use nearslot_core::config::StackConfig;
use nearslot_core::contract::Placement;

use nearslot_core::io::Data;
use nearslot_core::stack::Stack;

use super::image::{Image, Sector};
use super::{World, knob};

/// Blocks of what 32 bits number in chunks of 4 KiB.
const NUMBERED: u64 = 8 << 32;
/// Blocks of [`super::super::fixed::SMALL`]'s kind at both sides of that which are known of a
/// larger volume.
const BESIDE: u64 = 120 * 8;

/// The first block of a volume of which it is known what it holds. Of one of which 32 bits do not
/// number the chunks, only those around the first number with more bits are.
pub(super) fn first_known(stack: &Stack) -> u64 {
    match stack.capacity().0 > NUMBERED {
        true => NUMBERED - BESIDE,
        false => 0,
    }
}

/// So many blocks of it are known.
pub(super) fn known(stack: &Stack) -> u64 {
    match first_known(stack) {
        0 => stack.capacity().0,
        _ => 2 * BESIDE,
    }
}

impl World {
    /// Which of the known blocks is the one with this index among some data of the volume.
    pub(super) fn block(&self, data: &Data, index: u64) -> u64 {
        let block = data.block(index).0;
        let known = block.checked_sub(self.first);
        known.unwrap_or_else(|| panic!("block {block} was not asked for"))
    }
}

/// What is known of copies at fixed places.
#[derive(Default)]
pub(super) struct Fixed {
    /// Copies that a write waits for.
    pub(super) foreground: usize,
    /// By block: the versions that its copies have, by drive and place.
    pub(super) versions: BTreeMap<u64, BTreeMap<(usize, u64), u64>>,
    /// Writes in spare time.
    pub(super) delayed: u64,
    /// Reads for those of which the power left no buffer.
    pub(super) read_again: u64,
}

impl Fixed {
    /// Nothing if copies have no fixed places.
    pub(super) fn of(config: &StackConfig, images: &[Image]) -> Option<Fixed> {
        if !["mirror", "sr_array"].contains(&config.parts.of::<dyn Placement>().name.as_str()) {
            return None;
        }
        let mut fixed = Fixed {
            foreground: knob(config, "foreground", 1) as usize,
            ..Fixed::default()
        };
        for (drive, image) in images.iter().enumerate() {
            for (at, sector) in image.iter() {
                fixed.arrived(drive, at, sector);
            }
        }
        Some(fixed)
    }

    pub(super) fn arrived(&mut self, drive: usize, at: u64, sector: &Sector) {
        let Sector::Client(block, version) = *sector else {
            panic!("only data are written to fixed places");
        };
        let versions = self.versions.entry(block).or_default();
        versions.insert((drive, at), version);
    }

    /// A write is answered when enough copies of all its blocks have arrived.
    pub(super) fn check_answer(&self, version: u64, blocks: &Range<u64>) {
        for block in blocks.clone() {
            let found = self.versions[&block].values();
            let arrived = found.filter(|found| **found == version).count();
            assert!(arrived >= self.foreground, "{arrived} copies of {block}");
        }
    }
}
