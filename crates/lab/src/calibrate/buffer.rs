//! What the electronics found mean for the drive's file: buffer, bus and overheads.
//!
//! What the buffer answers takes an overhead and a transfer over the bus. Accesses of one length
//! tell only the sum of the two: then the time of a block is the base's, and the overhead may be
//! anything from nothing to the whole. It is told so, for a drive with another bus than the base's
//! has another overhead, and all that is taken from it wrongly is taken for moves of the arm.

use nearslot_core::drive::hdd::Parameters;
use nearslot_core::drive::hdd::firmware::{OverheadParameters, ReadAhead, WriteBehind};

use super::Finding;
use super::electronics::{Electronics, Line};
use super::estimate::Doubt;
use super::hdd::Context;
use crate::number::number;

impl Context<'_> {
    /// Puts what was found into a drive that has the base's electronics.
    pub(super) fn fill_electronics(&mut self, drive: &mut Parameters, found: &Electronics) {
        self.overhead = Doubt::default();
        let name = self.base_name;
        if found.reads_ahead == Some(false) && found.writes_behind != Some(true) {
            (drive.buffer, drive.bus, drive.overheads) = (None, None, None);
            self.finding.notes.push(
                "No buffer is seen: reads that go on after a pause wait for the platter. The drive is described without one, and \
                 its command overhead is in the seek curve."
                    .to_owned(),
            );
            return;
        }
        if drive.buffer.is_none() {
            self.finding.take(
                "buffer",
                name,
                "which has none, so only arm and platters are modelled",
            );
            return;
        }
        self.fill_reads(drive, found);
        self.fill_writes(drive, found);
        self.finding
            .take("buffer segments", name, "the requests do not tell them");
    }

    fn fill_reads(&mut self, drive: &mut Parameters, found: &Electronics) {
        let name = self.base_name;
        let (Some(buffer), Some(hits)) = (&mut drive.buffer, &found.hits) else {
            let why = "too few reads go on where the one before ended, after a pause; if the overhead is another one, the difference is in \
                       the seek curve";
            self.finding
                .take("read-ahead, read overheads, bus", name, why);
            return;
        };
        if buffer.read_ahead == ReadAhead::None {
            buffer.read_ahead = ReadAhead::Blocks;
        }
        if let Some(blocks) = found.ahead_blocks {
            let most = buffer.segment_blocks.max(1);
            buffer.read_ahead_max_blocks = buffer.read_ahead_max_blocks.max(blocks).min(most);
            self.finding.measured(
                "read_ahead_max_blocks, at least",
                blocks as f64,
                "blocks",
                None,
                hits.samples,
                "reads a little ahead of the one before are answered at once",
            );
        }
        let bus = drive.bus.get_or_insert_default();
        let how = "times of reads from the buffer";
        let parted = Parted::of(hits, bus.read_ms_per_block);
        parted.say(
            hits,
            ["reads", "bus.read_ms_per_block", how],
            name,
            &mut self.finding,
        );
        let own = self.finding.of("overheads of reads");
        own.how += "; what others need besides is in the seek curve";
        bus.read_ms_per_block = parted.block_ms;
        self.overhead = parted.doubt;
        set_read_overheads(drive.overheads.get_or_insert_default(), parted.overhead_ms);
    }

    fn fill_writes(&mut self, drive: &mut Parameters, found: &Electronics) {
        let name = self.base_name;
        let Some(buffer) = &mut drive.buffer else {
            return;
        };
        match found.writes_behind {
            None => {
                let why = "too few writes, or neither quick nor slow";
                self.finding
                    .take("write-behind, write overheads", name, why);
                return;
            }
            Some(true) if buffer.write_behind == WriteBehind::None => {
                buffer.write_behind = WriteBehind::Any;
            }
            Some(true) => {}
            Some(false) => buffer.end_on_medium(),
        }
        let overheads = drive.overheads.get_or_insert_default();
        let Some(writes) = &found.writes else {
            let note = "Writes are answered when they are on the medium; their overhead is taken to be that of reads.";
            self.finding.notes.push(note.to_owned());
            let read = overheads.read_miss_after_read_ms;
            overheads.write_after_read_ms = read;
            overheads.write_after_write_ms = read;
            return;
        };
        self.finding
            .notes
            .push("Writes are answered from the buffer.".to_owned());
        let bus = drive.bus.get_or_insert_default();
        let how = "times of writes that the buffer takes";
        let parted = Parted::of(writes, bus.write_ms_per_block);
        parted.say(
            writes,
            ["writes", "bus.write_ms_per_block", how],
            name,
            &mut self.finding,
        );
        bus.write_ms_per_block = parted.block_ms;
        overheads.write_completion_ms = 0.0;
        overheads.write_disconnect_ms = 0.0;
        overheads.write_after_read_ms = parted.overhead_ms;
        overheads.write_after_write_ms = parted.overhead_ms;
    }
}

/// Overhead and time of a block, apart.
#[derive(Debug)]
struct Parted {
    overhead_ms: f64,
    block_ms: f64,
    /// How far the overhead may be off.
    doubt: Doubt,
}

impl Parted {
    /// As the line tells them; else with the base's time of a block, or so much of it as the sum
    /// leaves room for.
    fn of(line: &Line, base_block_ms: f64) -> Parted {
        let error_ms = line.error_ms;
        if let Ok(block_ms) = line.block_ms {
            let doubt = Doubt {
                error_ms,
                open_ms: 0.0,
            };
            return Parted {
                overhead_ms: line.begin_ms,
                block_ms,
                doubt,
            };
        }
        let block_ms = base_block_ms.min(line.begin_ms / line.blocks);
        let transfer = block_ms * line.blocks;
        let overhead_ms = line.begin_ms - transfer;
        // The true overhead lies between nothing and the whole.
        let open_ms = overhead_ms.max(transfer);
        let doubt = Doubt { error_ms, open_ms };
        Parted {
            overhead_ms,
            block_ms,
            doubt,
        }
    }

    fn say(&self, line: &Line, [what, bus, how]: [&str; 3], base: &str, finding: &mut Finding) {
        let (name, ms) = (format!("overheads of {what}"), "ms");
        let plus_minus = Some(self.doubt.plus_minus_ms(0.0));
        let Err(why) = &line.block_ms else {
            finding.measured(
                bus,
                self.block_ms,
                ms,
                Some(line.block_error_ms),
                line.samples,
                &format!("{how}, by length"),
            );
            finding.within(&name, self.overhead_ms, ms, plus_minus, line.samples, how);
            return;
        };
        let sum = number(line.begin_ms);
        finding.take(
            bus,
            base,
            &format!(
                "{why}: bus and overhead cannot be told apart; the sum is {sum} ms{}",
                if self.overhead_ms > 0.0 {
                    ""
                } else {
                    ", and the base's bus is taken to be as fast as that"
                }
            ),
        );
        let how = format!("{how}, less the bus of {base}: anything from 0 to {sum} ms is possible");
        finding.within(&name, self.overhead_ms, ms, plus_minus, line.samples, &how);
    }
}

/// All that a read needs besides arm and bus, in one number.
fn set_read_overheads(overheads: &mut OverheadParameters, ms: f64) {
    overheads.command_ms = 0.0;
    overheads.read_completion_ms = 0.0;
    overheads.data_preparation_ms = 0.0;
    overheads.reselect_ms = 0.0;
    overheads.read_disconnect_after_read_ms = 0.0;
    overheads.read_disconnect_after_write_ms = 0.0;
    overheads.read_hit_after_read_ms = ms;
    overheads.read_hit_after_write_ms = ms;
    overheads.read_miss_after_read_ms = ms;
    overheads.read_miss_after_write_ms = ms;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(begin_ms: f64, block_ms: Result<f64, String>) -> Line {
        Line {
            begin_ms,
            block_ms,
            blocks: 8.0,
            error_ms: 0.001,
            block_error_ms: 0.0001,
            samples: 100,
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn one_length_leaves_everything_up_to_the_sum_possible() {
        let one = || line(0.5, Err("all have 4 KiB".to_owned()));
        let parted = Parted::of(&one(), 0.02);
        assert!(near(parted.overhead_ms, 0.34));
        assert!(near(parted.block_ms, 0.02));
        let most = parted.doubt.plus_minus_ms(0.0);
        for truth in [0.0, 0.5] {
            assert!((truth - parted.overhead_ms).abs() <= most, "{parted:?}");
        }
        // A bus that takes longer than the whole is not the drive's.
        let parted = Parted::of(&one(), 0.2);
        assert!(near(parted.overhead_ms, 0.0));
        assert!(near(parted.block_ms, 0.0625));
        let parted = Parted::of(&line(0.5, Ok(0.03)), 0.2);
        assert!(near(parted.overhead_ms, 0.5));
        assert!(near(parted.block_ms, 0.03));
        assert!(near(parted.doubt.plus_minus_ms(0.0), 1.96 * 0.001));
    }
}
