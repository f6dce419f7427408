//! An access without latency: sectors that pass in any order, see [`super::super::access`].
//!
//! ```text
//!            ┌─ there ─┐ wanted            ┌── early ──┐            limit       track's end
//!   ─────────┴─────────┴───────────────────┴───────────┴──────────────┴───────────┴──
//!     passes unused     taken in its turn   passes unused  is early     passes unused
//! ```
//!
//! Sectors in one of these parts are alike: all but the last of them are taken in one step, of
//! which nothing follows for bus and command that would not follow of the last as well. So a track
//! costs as many steps as it has parts, and a few more while data flow.

use super::super::access::Stage;
use super::medium::finds_room;
use super::{Bus, Controller};
use crate::op::Op;
use crate::units::Instant;

/// What becomes of sectors that are alike.
enum Fate {
    /// Each is the one wanted.
    Wanted,
    /// They are taken before their turn.
    Early,
    Unused,
}

impl Controller {
    /// The block whose turn it is, and behind the last one of this track that is asked for.
    fn wanted(&self, index: usize) -> (u64, u64) {
        let access = self.access();
        let segment = self.buffer.at(index);
        let (wanted, limit) = match access.op {
            Op::Write => (segment.written, segment.end),
            _ if access.background => (segment.end, segment.ahead_max),
            _ => (segment.end, self.job().end),
        };
        (wanted, limit.min(access.track_end()))
    }

    /// Of the sectors from the passing one on that are alike and end before `horizon`, all but the
    /// last have passed.
    fn skip_alike(&mut self, index: usize, horizon: Instant) {
        #[cfg(test)]
        if self.single_steps {
            return;
        }
        let Some((fate, most, crosses)) = self.alike(index) else {
            return;
        };
        let access = self.access.as_mut().expect("the arm is busy");
        let (op, at) = (access.op, access.at);
        let skipped = access.run_length(horizon, most.max(1)) - 1;
        if skipped == 0 {
            return;
        }
        self.now = access.skip(skipped);
        let segment = self.buffer.at_mut(index);
        match fate {
            Fate::Wanted if op == Op::Write => segment.written += skipped,
            Fate::Wanted => segment.end += skipped,
            Fate::Early if access.early.end == at && !access.early.is_empty() => {
                access.early.end += skipped;
            }
            Fate::Early => access.early = at..at + skipped,
            Fate::Unused => {}
        }
        if crosses {
            self.cross_sector_by_sector(index, skipped);
        }
        let segment = self.buffer.at_mut(index);
        segment.slide(segment.end);
    }

    /// What becomes of the passing sector and how many from it on; and whether the bus takes part
    /// in each.
    fn alike(&self, index: usize) -> Option<(Fate, u64, bool)> {
        let access = self.access();
        let (at, early, rest) = (access.at, &access.early, access.track_end() - access.at);
        let (wanted, limit) = self.wanted(index);
        if access.op == Op::Read && !self.firmware.buffer.room_at_sector_start {
            return None;
        }
        if !access.usable {
            // That was decided when the sector began. By now there may be data, or room, for the
            // next one.
            if self.usable(at + 1) {
                return None;
            }
            let most = match at < wanted {
                true => wanted - at,
                false => self.stay_unusable(index).min(rest),
            };
            return Some((Fate::Unused, most, false));
        }
        if at < wanted {
            return None;
        }
        if at == wanted {
            let to_early = if early.is_empty() {
                rest
            } else {
                early.start - at
            };
            let undisturbed = self.undisturbed(index);
            return Some((
                Fate::Wanted,
                undisturbed.most.min(to_early),
                undisturbed.crosses,
            ));
        }
        if !early.is_empty() && at < early.end {
            return Some((Fate::Unused, early.end - at, false));
        }
        if at < limit {
            return Some((Fate::Early, self.room_ahead(index).min(limit - at), false));
        }
        Some((Fate::Unused, rest, false))
    }

    /// From the passing sector on, how many certainly find no data (a write) or no room (a read)
    /// when they begin. Only data that flow change that: where they flow faster than sectors pass
    /// they catch up.
    fn stay_unusable(&self, index: usize) -> u64 {
        let job = self.job.as_ref().filter(|job| job.segment == Some(index));
        let (Bus::Burst(_), Some(job)) = (self.bus, job) else {
            return u64::MAX;
        };
        let at = self.access().at;
        let (block, missing) = match job.op {
            Op::Write => (self.firmware.write_block, self.buffer.at(index).end),
            _ => (
                self.firmware.read_block,
                job.sent + self.buffer.at(index).size,
            ),
        };
        let Some(behind) = at.checked_sub(missing) else {
            return 1;
        };
        // Rounded to whole nanoseconds, a sector takes this at most.
        let sector = self.access().sector_passes().0 + 1;
        match sector.saturating_sub(block.0) {
            0 => u64::MAX,
            gained => 1 + behind.saturating_sub(1).saturating_mul(block.0) / gained,
        }
    }

    /// How many blocks from the passing one on have room; none for a command that came while it
    /// passed.
    fn room_ahead(&self, index: usize) -> u64 {
        let at = self.access().at;
        match &self.job {
            Some(job) if job.op == Op::Read && job.segment == Some(index) => {
                let room = (job.sent + self.buffer.at(index).size).saturating_sub(at);
                // With its first block the command's transfer begins.
                match job.first.saturating_sub(at) {
                    0 => room,
                    before => room.min(before),
                }
            }
            _ => u64::MAX,
        }
    }

    /// The passing sector has ended, and as many more like it as have no consequence elsewhere.
    pub(super) fn pass_out_of_order(&mut self, horizon: Instant) {
        let index = self.arm_segment();
        self.skip_alike(index, horizon);
        let size = self.buffer.at(index).size;
        let access = self.access.as_ref().expect("the arm is busy");
        let (op, at, track_end) = (access.op, access.at, access.track_end());
        let usable = access.usable
            && (op == Op::Write || self.firmware.buffer.room_at_sector_start || self.usable(at));
        let (mut wanted, limit) = self.wanted(index);
        let mut first = self.buffer.at(index).first;
        let own = self.job.as_ref().filter(|job| job.segment == Some(index));
        let access = self.access.as_mut().expect("the arm is busy");
        if usable {
            let early = &mut access.early;
            if at == wanted {
                wanted += 1;
                if wanted == early.start && !early.is_empty() {
                    wanted = early.end;
                    *early = track_end..track_end;
                }
            } else if at < first {
                (first, wanted) = (at, at + 1);
            } else if early.is_empty() || at > early.end {
                if wanted < at && at < limit {
                    *early = at..at + 1;
                }
            } else if at == early.end && at < limit && finds_room(own, at, size) {
                // A command that came while it passed still needs what it would push out.
                early.end += 1;
                first = first.max(early.end.saturating_sub(size));
            }
        }
        let in_front = own.filter(|job| op == Op::Read && wanted < job.first);
        if let Some(job) = in_front.filter(|_| !access.passes(&self.mechanics, wanted)) {
            // Blocks in front of a command are kept as long as they lead up to it: for one that
            // lies elsewhere the arm does not leave.
            (first, wanted) = (job.first, job.first);
        }
        self.count_burst();
        let segment = self.buffer.at_mut(index);
        segment.first = first;
        match op {
            Op::Write => segment.written = wanted,
            _ => segment.end = wanted,
        }
        segment.slide(segment.end);
        if self.progress() {
            return;
        }
        let access = self.access.as_mut().expect("it has not ended");
        // A block that was remapped to another track would be waited for here for ever.
        if wanted >= track_end || !access.passes(&self.mechanics, wanted) {
            self.next_track(wanted);
            return;
        }
        access.turn(&self.mechanics);
        if access.stage == Stage::Passing {
            self.begin_sector();
        }
    }
}
