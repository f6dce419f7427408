//! The bus between drive and host, for the command under way. See the picture in [`super`].
//!
//! Data flow in bursts: as much as is in the buffer (a read) or has room in it (a write) when the
//! burst begins.

use super::super::buffer::Match;
use super::super::firmware::RequestedBlocks;
use super::{Burst, Bus, Controller, Job, Marks, Owner};
use crate::op::Op;
use crate::units::{Duration, Instant};

impl Controller {
    #[inline]
    pub(super) fn bus_due(&self) -> Instant {
        match self.bus {
            Bus::Idle | Bus::Hold => Instant::NEVER,
            Bus::Contact(due)
            | Bus::Burst(due)
            | Bus::Leave(due)
            | Bus::Pause(due)
            | Bus::End(due) => due,
        }
    }

    /// The bus's next event; what the medium did for the command if that was its end.
    pub(super) fn bus_event(&mut self) -> Option<Marks> {
        match self.bus {
            Bus::Contact(_) | Bus::Burst(_) => self.transfer(),
            Bus::Leave(_) => {
                self.bus = Bus::Idle;
                match self.firmware.extra.filter(|_| self.job().pause_ahead) {
                    Some(extra) => self.bus = Bus::Pause(self.now + extra.pause),
                    None => self.check_bus(),
                }
            }
            Bus::Pause(_) => {
                self.bus = Bus::Idle;
                self.check_bus();
            }
            Bus::End(_) => return Some(self.complete()),
            Bus::Idle | Bus::Hold => unreachable!("nothing is due on the bus"),
        }
        None
    }

    /// Contacts the host if the bus is idle and there is something to say.
    pub(super) fn check_bus(&mut self) {
        if self.bus != Bus::Idle {
            return;
        }
        let Some(blocks) = self.ready_for_bus() else {
            return;
        };
        let delay = self.contact_delay(self.job(), blocks);
        self.job_mut().pause_ahead = false;
        self.bus = Bus::Contact(self.now + delay);
    }

    /// What it takes to contact the host, for that many blocks.
    pub(super) fn contact_delay(&self, job: &Job, blocks: u64) -> Duration {
        let firmware = &self.firmware;
        let reselect = match job.extra && !job.pause_ahead {
            true => firmware.reselect_again,
            false => firmware.reselect,
        };
        match blocks {
            0 => reselect,
            _ => reselect + firmware.preparation,
        }
    }

    /// Blocks that can cross the bus; 0 if a write only wants to report its end.
    fn ready_for_bus(&self) -> Option<u64> {
        let job = self.job.as_ref()?;
        let segment = self.buffer.at(job.segment?);
        if job.op == Op::Read {
            let there = segment.first <= job.sent && job.sent < segment.end;
            let blocks = segment.end.min(job.end) - job.sent.min(segment.end);
            let enough = segment.end >= job.end || blocks >= job.watermark;
            return (there && enough).then_some(blocks);
        }
        let size = segment.size;
        if job.sent == job.first && job.meets != Match::Join {
            return Some((job.end - job.first).min(size));
        }
        if segment.written >= job.end {
            return Some(0);
        }
        let waiting = segment.end - segment.written;
        let low = segment.is_low(job.first, job.watermark);
        let more = segment.end == job.sent && segment.end < job.end && waiting < size && low;
        more.then(|| (job.end - job.sent).min(size - waiting))
    }

    /// Counts what has flowed until now.
    #[inline]
    pub(super) fn count_burst(&mut self) {
        let job = self.job.as_ref();
        let flows = job.is_some_and(|job| job.burst.left > 0 && job.burst.next <= self.now);
        if flows && matches!(self.bus, Bus::Burst(_)) {
            self.count_blocks();
        }
    }

    fn count_blocks(&mut self) {
        let index = self.arm_segment();
        let Some(job) = self.job.as_mut().filter(|job| job.segment == Some(index)) else {
            return;
        };
        let block = match job.op {
            Op::Write => self.firmware.write_block,
            _ => self.firmware.read_block,
        };
        let burst = &mut job.burst;
        let flowed = match block.0 {
            0 => u64::MAX,
            block => self.now.since(burst.since).0 / block,
        };
        let more = (flowed - burst.counted).min(burst.left);
        burst.counted += more;
        burst.left -= more;
        burst.next = burst.since + Duration((burst.counted + 1) * block.0);
        job.sent += more;
        let sent = job.sent;
        let segment = self.buffer.at_mut(index);
        segment.end = segment.end.max(sent);
        segment.slide(segment.end);
    }

    /// The host is there, or a burst has ended: what next?
    fn transfer(&mut self) {
        let burst_ended = matches!(self.bus, Bus::Burst(_));
        match self.job().op {
            Op::Read => self.transfer_read(burst_ended),
            _ => self.transfer_write(burst_ended),
        }
    }

    fn transfer_read(&mut self, burst_ended: bool) {
        let job = self.job.as_mut().expect("data flow for a command");
        if burst_ended {
            job.sent += job.burst.left;
            job.burst.left = 0;
        }
        let index = job.segment.expect("data flow from a segment");
        let there = self.buffer.at(index).end.min(job.end);
        let sent = job.sent;
        if sent >= job.end {
            self.last_op = Op::Read;
            self.bus = Bus::End(self.now + self.firmware.read_completion);
        } else if there > sent {
            self.begin_burst(there - sent, self.firmware.read_block);
        } else if self.firmware.hold_reads {
            self.bus = Bus::Hold;
        } else {
            self.bus = Bus::Leave(self.now + self.leave_delay(self.job()));
        }
    }

    fn transfer_write(&mut self, burst_ended: bool) {
        let job = self.job.as_mut().expect("data flow for a command");
        let index = job.segment.expect("data flow to a segment");
        let segment = self.buffer.at_mut(index);
        let size = segment.size;
        if job.sent == job.end && segment.written >= job.end {
            self.end_write();
            return;
        }
        if burst_ended {
            job.sent += job.burst.left;
            job.burst.left = 0;
            segment.end = segment.end.max(job.sent);
            segment.slide(segment.end);
            if job.sent >= job.end {
                match job.to_medium {
                    true => self.leave_in_write(),
                    false => self.end_write(),
                }
                return;
            }
        }
        let room = size - (job.sent - segment.written);
        let blocks = room.min(job.end - job.sent);
        if blocks > 0 {
            self.begin_burst(blocks, self.firmware.write_block);
        } else if self.firmware.hold_writes {
            self.bus = Bus::Hold;
        } else {
            self.leave_in_write();
        }
    }

    fn begin_burst(&mut self, blocks: u64, block: Duration) {
        let now = self.now;
        self.job_mut().burst = Burst {
            since: now,
            counted: 0,
            next: now + block,
            left: blocks,
        };
        self.bus = Bus::Burst(now + Duration(blocks * block.0));
    }

    fn leave_in_write(&mut self) {
        self.bus = Bus::Leave(self.now + self.leave_delay(self.job()));
    }

    /// What it takes to leave the bus between data.
    pub(super) fn leave_delay(&self, job: &Job) -> Duration {
        if job.op == Op::Read {
            return self.firmware.read_disconnect.after(self.last_op);
        }
        match self.firmware.extra.filter(|_| job.extra) {
            Some(extra) => extra.disconnect_again,
            None => self.firmware.write_disconnect,
        }
    }

    fn end_write(&mut self) {
        self.last_op = Op::Write;
        self.bus = Bus::End(self.now + self.firmware.write_completion);
    }

    /// The host knows that the command is done. The arm goes on by itself or is free.
    fn complete(&mut self) -> Marks {
        self.bus = Bus::Idle;
        let job = self.job.take().expect("a command ends");
        let index = job.segment.expect("a command ends with its segment");
        if job.op == Op::Read && self.firmware.buffer.requested_blocks == RequestedBlocks::Forget {
            let segment = self.buffer.at_mut(index);
            segment.first = segment.first.max(job.sent.min(segment.end));
        }
        if job.meets == Match::Overwrite {
            self.write_next();
        }
        if job.has_arm {
            self.owner = Owner::Itself(index);
            let segment = self.buffer.at(index);
            match &mut self.access {
                Some(access) if job.op == Op::Read || segment.written < segment.end => {
                    access.background = true;
                }
                _ => self.end_access(),
            }
        }
        match (job.op, job.to_medium) {
            // It waited for the buffer only, whatever the arm did meanwhile.
            (Op::Write, false) => Marks::NONE,
            _ => job.marks,
        }
    }
}
