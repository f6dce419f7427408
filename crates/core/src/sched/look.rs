//! LOOK: serve in block order along the current direction; turn round when nothing lies ahead.
//!
//! SCAN without the seek to the end of the drive where no I/O waits. No I/O waits longer than two
//! sweeps, unless I/Os keep arriving on one and the same block. Distances are between first blocks
//! (as in DiskSim 4.0). An I/O on the same block as the I/O before lies ahead in both directions.
//! O(log n) per I/O.

use super::by_block::{ByBlock, Rule, Step};
use super::line::Line;
use crate::contract::Scheduler;
use crate::registry::Spec;
use crate::units::Pba;

struct Look {
    /// First block of the I/O before.
    from: Pba,
    upward: bool,
}

impl Rule for Look {
    fn next(&mut self, line: &Line, _end: Pba) -> Step {
        let found = line.ahead(self.from, self.upward).unwrap_or_else(|| {
            self.upward = !self.upward;
            let turned = line.ahead(self.from, self.upward);
            turned.expect("an I/O that does not lie ahead lies behind")
        });
        self.from = found.0.at;
        Step::Serve(found)
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "look",
    aliases: &["elevator"],
    summary: "block order to and fro, turning where nothing more lies ahead",
    source: "Merten, Some quantitative techniques for file organization, 1970",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| {
        Ok(ByBlock::boxed(Look {
            from: Pba(0),
            upward: true,
        }))
    },
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;

    #[test]
    fn it_turns_where_nothing_lies_ahead() {
        let mut desk = Desk::new("look").reads(&[50, 70, 60]);
        desk.step();
        assert_eq!(desk.reads(&[30, 40]).order(), [60, 70, 40, 30]);
    }
}
