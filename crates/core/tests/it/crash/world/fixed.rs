//! What is known of copies at fixed places: which versions lie where, and how many a write waits for.

use std::collections::BTreeMap;
use std::ops::Range;

use nearslot_core::config::StackConfig;
use nearslot_core::contract::Placement;

use super::image::{Image, Sector};
use super::knob;

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
