//! Where the tracks of a disk lie, for searches that go by track.

use std::ops::Range;

use super::mech::Mechanics;
use crate::contract::Geometry;
use crate::freemap::Span;
use crate::position::ArmPosition;
use crate::units::{Blocks, Pba};

impl Geometry for Mechanics {
    fn surfaces(&self) -> u32 {
        self.layout().heads()
    }

    fn position_of(&self, at: Pba) -> ArmPosition {
        self.layout().home(at).arm_position()
    }

    fn cylinder_blocks(&self, cylinder: u32) -> Range<Pba> {
        self.layout().cylinder_blocks(cylinder)
    }

    fn track(&self, at: ArmPosition) -> Option<Span> {
        let layout = self.layout();
        let blocks = layout.track_blocks(at);
        if blocks.is_empty() {
            return None;
        }
        let first = blocks.start;
        let (home, spot) = (layout.home(first), layout.spot(first));
        Some(Span {
            first,
            angle: home.place.angle,
            blocks: Blocks(blocks.end.0 - first.0),
            sectors: home.sectors,
            // A remapped block lies elsewhere: what is contiguous there does not count.
            contiguous: match spot.place == home.place {
                true => spot.contiguous,
                false => Blocks(0),
            },
        })
    }

    fn remapped(&self, at: Pba, len: Blocks) -> bool {
        let layout = self.layout();
        let lies_elsewhere = |block: u64| {
            let (spot, home) = (layout.spot(Pba(block)), layout.home(Pba(block)));
            spot.arm_position() != home.arm_position() || spot.sector != home.sector
        };
        // A run of blocks that follow each other is at home as a whole, or not.
        let run = layout.spot(at).contiguous;
        lies_elsewhere(at.0) || run < len && (at.0 + run.0..at.0 + len.0).any(lies_elsewhere)
    }
}
