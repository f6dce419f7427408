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
        Some(layout.span(blocks.start, Blocks(blocks.end.0 - blocks.start.0)))
    }

    fn remapped(&self, at: Pba, len: Blocks) -> bool {
        self.layout().any_lies_elsewhere(at.0..(at + len).0)
    }
}
