//! What a drive's electronics do, as its file says it: the on-board buffer, the bus, the command
//! overheads.
//!
//! The tables `[buffer]`, `[bus]` and `[overheads]` of a drive's file are read and checked here,
//! and turned into [`Firmware`]: the same in whole nanoseconds. The words are ours; the meaning of
//! every key, unless it says otherwise, is that of a parameter of DiskSim 4.0's disk controller
//! (Bucy, Schindler, Schlosser, Ganger, *The DiskSim Simulation Environment Version 4.0 Reference
//! Manual*, CMU-PDL-08-101, 2008, section 3.4.4), which is named beside it.

use serde::{Deserialize, Serialize};

use crate::io::WriteCache;
use crate::op::Op;
use crate::registry::ConfigError;
use crate::units::Duration;

/// The on-board buffer: segments, each of which holds one run of blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferParameters {
    /// Segments, all of one size but those of `write_segment_blocks` (number of buffer segments).
    pub segments: u32,
    /// Blocks that a segment holds (segment size).
    pub segment_blocks: u64,
    /// Segments that may hold data on their way to the medium (maximum number of write segments).
    pub write_segments_max: u32,
    /// Blocks of a segment that serves writes only. If it is given, `write_segments_max` of these
    /// stand beside the others, which then serve reads only. Not in DiskSim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_segment_blocks: Option<u64>,
    /// Which of the segments that wait for the arm is written first.
    #[serde(default)]
    pub write_back: WriteBack,
    /// One segment serves writes only, the others reads only (use separate write segment).
    #[serde(default)]
    pub dedicated_write_segment: bool,
    /// Share that must have been read before a read asks for the bus (high water mark).
    #[serde(default)]
    pub read_watermark: f64,
    /// Share that may be left to write when a write asks for the bus again (low water mark).
    #[serde(default)]
    pub write_watermark: f64,
    /// What the two are shares of (set watermark by reqsize).
    #[serde(default)]
    pub watermark_of: WatermarkOf,
    /// How far a read goes on by itself (buffer continuous read).
    #[serde(default)]
    pub read_ahead: ReadAhead,
    /// Blocks that are read ahead before anything may stop it (minimum read-ahead).
    #[serde(default)]
    pub read_ahead_min_blocks: u64,
    /// Blocks that are read ahead at most; 0 for what the segment holds (maximum read-ahead).
    #[serde(default)]
    pub read_ahead_max_blocks: u64,
    /// What becomes of requested blocks when read-ahead wants their room (read-ahead over
    /// requested).
    #[serde(default)]
    pub requested_blocks: RequestedBlocks,
    /// A read that the buffer answers sets off read-ahead as well (read-ahead on idle hit).
    #[serde(default)]
    pub read_ahead_on_hit: bool,
    /// A read keeps blocks of its track that pass before the first wanted one (read any free
    /// blocks).
    #[serde(default)]
    pub read_whole_track: bool,
    /// When a write is acknowledged (fast write level).
    #[serde(default)]
    pub write_behind: WriteBehind,
    /// A write that continues one still in the buffer joins it (combine seq writes).
    #[serde(default = "yes")]
    pub join_writes: bool,
    /// Data of a write are taken while the arm still works for an earlier one (allow write
    /// prebuffering).
    #[serde(default)]
    pub accept_while_writing: bool,
    /// Read-ahead stops within a sector, not only behind it (stop prefetch in sector).
    #[serde(default)]
    pub stop_within_sector: bool,
    /// A write to blocks that are being read ahead ends the read-ahead (write hit stop prefetch).
    #[serde(default = "yes")]
    pub write_ends_read_ahead: bool,
    /// A sector needs its room in the segment when it begins, not when it ends (read directly to
    /// buffer).
    #[serde(default = "yes")]
    pub room_at_sector_start: bool,
    /// A read of which the first blocks are there begins at once, below the watermark too (immed
    /// transfer partial hit).
    #[serde(default = "yes")]
    pub partial_hit_at_once: bool,
    /// A read begins with any sector it wants, not with its first (immediate buffer read).
    #[serde(default)]
    pub zero_latency_reads: bool,
    /// The same of writes (immediate buffer write).
    #[serde(default)]
    pub zero_latency_writes: bool,
    /// A read that begins with the very block that read-ahead reads next is a hit (allow almost
    /// read hits).
    #[serde(default)]
    pub read_hits_on_next_block: bool,
    /// A read that begins with a block that read-ahead comes to within a turn of the platter is a
    /// hit, and waits for it.
    #[serde(default)]
    pub read_hits_within_turn: bool,
    /// Reads that the buffer answers, and writes all of whose blocks it has yet to write, are
    /// served whatever the arm does. Not in DiskSim.
    #[serde(default)]
    pub hits_while_writing: bool,
    /// Reads are answered with written data (allow read hits on write data).
    #[serde(default = "yes")]
    pub read_hits_on_writes: bool,
}

fn yes() -> bool {
    true
}

/// What watermarks are shares of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatermarkOf {
    /// Of the request, or of the segment if that is smaller.
    #[default]
    Request,
    /// Of the segment.
    Segment,
}

/// How far a read goes on by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAhead {
    /// Not at all (0).
    #[default]
    None,
    /// `read_ahead_max_blocks`, but not to another track (1).
    WithinTrack,
    /// `read_ahead_max_blocks`, but not to another cylinder (2).
    WithinCylinder,
    /// `read_ahead_max_blocks` (3).
    Blocks,
    /// To the end of the track, and of one more if the segment holds blocks of the track before
    /// (4).
    TrackEnd,
}

/// What becomes of requested blocks when read-ahead wants their room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestedBlocks {
    /// They make room (1).
    #[default]
    Yield,
    /// They stay: a limit that follows from the segment's size counts them in (0).
    Keep,
    /// They are forgotten once sent (-1).
    Forget,
}

/// Which of the segments that wait for the arm is written first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteBack {
    /// The one that has been dirty longest, as in DiskSim.
    #[default]
    Oldest,
    /// The one that the arm can begin with soonest; but what a waiting command needs comes first.
    /// Not in DiskSim.
    Nearest,
}

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteBehind {
    /// When it is on the medium (0).
    #[default]
    None,
    /// When the buffer has it, if the arm is free or it continues the write under way (1).
    Sequential,
    /// When the buffer has it (2).
    Any,
}

/// The bus between drive and host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BusParameters {
    /// Time of a block to the host, in milliseconds (bulk sector transfer time, and the bus's own).
    pub read_ms_per_block: f64,
    /// Time of a block to the drive, in milliseconds.
    pub write_ms_per_block: f64,
    /// A read that has begun to send keeps the bus until its end (hold bus entire read xfer).
    pub hold_during_reads: bool,
    /// The same of writes (hold bus entire write xfer).
    pub hold_during_writes: bool,
}

/// Time that the electronics spend, in milliseconds. What is not given is nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OverheadParameters {
    /// Before anything else (per-request overhead).
    pub command_ms: f64,
    /// A read that the buffer answers, after a read or a write, until data flow (read hit over.).
    pub read_hit_after_read_ms: f64,
    /// See `read_hit_after_read_ms`.
    pub read_hit_after_write_ms: f64,
    /// Any read, until the arm moves (read miss over.).
    pub read_miss_after_read_ms: f64,
    /// See `read_miss_after_read_ms`.
    pub read_miss_after_write_ms: f64,
    /// A write, until the arm moves and data flow (write hit over. with write-behind, else write
    /// miss over.).
    pub write_after_read_ms: f64,
    /// See `write_after_read_ms`.
    pub write_after_write_ms: f64,
    /// Behind the last data of a read (read completion overhead).
    pub read_completion_ms: f64,
    /// Behind the end of a write (write completion overhead).
    pub write_completion_ms: f64,
    /// Before data flow (data preparation overhead).
    pub data_preparation_ms: f64,
    /// To get the bus back for data (first reselect overhead).
    pub reselect_ms: f64,
    /// To get the bus back after an extra disconnect of a write (other reselect overhead).
    pub reselect_again_ms: f64,
    /// To leave the bus in a read, after a read (read disconnect afterread).
    pub read_disconnect_after_read_ms: f64,
    /// To leave the bus in a read, after a write (read disconnect afterwrite).
    pub read_disconnect_after_write_ms: f64,
    /// To leave the bus in a write (write disconnect overhead).
    pub write_disconnect_ms: f64,
    /// Least movement of the arm before a write that does not continue the one before (minimum seek
    /// delay).
    pub write_seek_min_ms: f64,
    /// Given if a write right behind an unrelated write leaves the bus once more (extra write
    /// disconnect).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_disconnect: Option<ExtraDisconnectParameters>,
}

/// The extra disconnect of a write right behind an unrelated write, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExtraDisconnectParameters {
    /// In place of the write's overhead (extradisc command overhead).
    pub command_ms: f64,
    /// To leave the bus first (extradisc disconnect overhead).
    pub disconnect_ms: f64,
    /// Off the bus (extradisc inter-disconnect delay).
    pub pause_ms: f64,
    /// To leave the bus after the data (extradisc 2nd disconnect overhead).
    pub disconnect_again_ms: f64,
    /// More before the arm moves (extradisc seek delta).
    pub seek_ms: f64,
}

/// A drive's electronics, checked and in nanoseconds. Immutable, shared by a drive and its oracles.
#[derive(Clone, Debug)]
pub struct Firmware {
    pub(super) buffer: BufferParameters,
    /// A power cut does not empty the buffer: nothing has to go to the medium to be safe.
    protected: bool,
    /// Where read-ahead ends, `read_ahead_max_blocks` after the rules that bind it to other keys.
    pub(super) ahead_max: u64,
    pub(super) hold_reads: bool,
    pub(super) hold_writes: bool,
    /// Time of a block over the bus.
    pub(super) read_block: Duration,
    pub(super) write_block: Duration,
    pub(super) command: Duration,
    pub(super) read_hit: AfterOp,
    pub(super) read_miss: AfterOp,
    pub(super) write: AfterOp,
    pub(super) read_completion: Duration,
    pub(super) write_completion: Duration,
    pub(super) preparation: Duration,
    pub(super) reselect: Duration,
    pub(super) reselect_again: Duration,
    pub(super) read_disconnect: AfterOp,
    pub(super) write_disconnect: Duration,
    pub(super) write_seek_min: Duration,
    pub(super) extra: Option<ExtraDisconnect>,
}

/// An overhead that depends on what the drive did before.
#[derive(Clone, Copy, Debug)]
pub(super) struct AfterOp {
    read: Duration,
    write: Duration,
}

impl AfterOp {
    fn from_ms(read_ms: f64, write_ms: f64) -> AfterOp {
        AfterOp {
            read: Duration::from_ms_f64(read_ms),
            write: Duration::from_ms_f64(write_ms),
        }
    }

    #[inline]
    pub(super) fn after(self, op: Op) -> Duration {
        if op == Op::Write {
            self.write
        } else {
            self.read
        }
    }
}

/// The extra disconnect of a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExtraDisconnect {
    pub(super) command: Duration,
    pub(super) disconnect: Duration,
    pub(super) pause: Duration,
    pub(super) disconnect_again: Duration,
    pub(super) seek: Duration,
}

impl Firmware {
    /// Turns checked parameters into what the drive runs on.
    ///
    /// # Errors
    /// The first value that is not allowed: the key, the value, what is allowed.
    pub fn new(
        buffer: &BufferParameters,
        bus: &BusParameters,
        overheads: &OverheadParameters,
    ) -> Result<Firmware, ConfigError> {
        buffer.check()?;
        bus.check()?;
        overheads.check()?;
        let ms = Duration::from_ms_f64;
        let o = overheads;
        Ok(Firmware {
            buffer: buffer.clone(),
            protected: false,
            ahead_max: match buffer.read_ahead {
                ReadAhead::None => 0,
                _ => buffer
                    .read_ahead_max_blocks
                    .max(buffer.read_ahead_min_blocks),
            },
            hold_reads: bus.hold_during_reads,
            hold_writes: bus.hold_during_writes,
            read_block: ms(bus.read_ms_per_block),
            write_block: ms(bus.write_ms_per_block),
            command: ms(o.command_ms),
            read_hit: AfterOp::from_ms(o.read_hit_after_read_ms, o.read_hit_after_write_ms),
            read_miss: AfterOp::from_ms(o.read_miss_after_read_ms, o.read_miss_after_write_ms),
            write: AfterOp::from_ms(o.write_after_read_ms, o.write_after_write_ms),
            read_completion: ms(o.read_completion_ms),
            write_completion: ms(o.write_completion_ms),
            preparation: ms(o.data_preparation_ms),
            reselect: ms(o.reselect_ms),
            reselect_again: ms(o.reselect_again_ms),
            read_disconnect: AfterOp::from_ms(
                o.read_disconnect_after_read_ms,
                o.read_disconnect_after_write_ms,
            ),
            write_disconnect: ms(o.write_disconnect_ms),
            write_seek_min: ms(o.write_seek_min_ms),
            extra: o.extra_disconnect.as_ref().map(|extra| ExtraDisconnect {
                command: ms(extra.command_ms),
                disconnect: ms(extra.disconnect_ms),
                pause: ms(extra.pause_ms),
                disconnect_again: ms(extra.disconnect_again_ms),
                seek: ms(extra.seek_ms),
            }),
        })
    }

    /// The same with a buffer that keeps its data without power.
    #[must_use]
    pub fn protected(self) -> Firmware {
        Firmware {
            protected: true,
            ..self
        }
    }

    /// When a write ends, and what a power cut leaves of it.
    pub fn cache(&self) -> WriteCache {
        match self.buffer.write_behind {
            WriteBehind::None => WriteCache::Off,
            WriteBehind::Sequential | WriteBehind::Any if self.protected => WriteCache::Protected,
            WriteBehind::Sequential | WriteBehind::Any => WriteCache::Volatile,
        }
    }

    /// Blocks of a write of `len` that must have come before its first one is written.
    #[inline]
    pub(super) fn needed_to_write(&self, len: u64) -> u64 {
        let needed = match (&self.extra, len) {
            (None, _) => 1,
            (Some(_), 45..) => 15,
            (Some(_), _) => len.min(10),
        };
        needed.min(self.buffer.blocks_for(Op::Write))
    }

    /// Blocks that must be there before a read asks for the bus, or may be left when a write does
    /// so again.
    #[inline]
    pub(super) fn watermark(&self, op: Op, len: u64) -> u64 {
        let share = match op {
            Op::Write => self.buffer.write_watermark,
            _ => self.buffer.read_watermark,
        };
        let segment = self.buffer.blocks_for(op);
        match self.buffer.watermark_of {
            // Below 2^53, so exact as a float; truncated as the reference does.
            WatermarkOf::Request => ((segment.min(len) as f64 * share) as u64).max(1),
            WatermarkOf::Segment => libm::ceil(segment as f64 * share) as u64,
        }
    }
}

impl BufferParameters {
    /// Writes end when they are on the medium, so what is about others has no effect.
    pub fn end_on_medium(&mut self) {
        self.write_behind = WriteBehind::None;
        self.write_back = WriteBack::Oldest;
        self.hits_while_writing = false;
    }

    /// Segments that serve reads, or both.
    pub(super) fn for_reads(&self) -> usize {
        self.segments as usize
    }

    /// All segments.
    pub(super) fn count(&self) -> usize {
        let for_writes = self
            .write_segment_blocks
            .map_or(0, |_| self.write_segments_max);
        (self.segments + for_writes) as usize
    }

    /// Blocks that a segment holds which serves such a command.
    #[inline]
    pub(super) fn blocks_for(&self, op: Op) -> u64 {
        match self.write_segment_blocks {
            Some(blocks) if op == Op::Write => blocks,
            _ => self.segment_blocks,
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let key = |name: &str| format!("buffer.{name}");
        whole(&key("segments"), self.segments.into(), 1, SEGMENTS_MAX)?;
        whole(&key("segment_blocks"), self.segment_blocks, 1, 1 << 40)?;
        let writes = u64::from(self.write_segments_max);
        let most = match self.write_segment_blocks {
            Some(blocks) => {
                whole(&key("write_segment_blocks"), blocks, 1, 1 << 40)?;
                SEGMENTS_MAX
            }
            None => self.segments.into(),
        };
        whole(&key("write_segments_max"), writes, 1, most)?;
        self.check_write_back()?;
        if self.dedicated_write_segment && self.segments < 2 {
            let allowed = "false with a single segment: reads would have none";
            return Err(ConfigError::value(
                &key("dedicated_write_segment"),
                "true",
                allowed,
            ));
        }
        if self.read_hits_within_turn && self.read_hits_on_next_block {
            let allowed =
                "false beside read_hits_within_turn, which has the next block with the others";
            let name = key("read_hits_on_next_block");
            return Err(ConfigError::value(&name, "true", allowed));
        }
        if self.read_hits_within_turn && self.read_ahead == ReadAhead::None {
            let allowed = "false with read_ahead = 'none': no block comes by itself";
            let name = key("read_hits_within_turn");
            return Err(ConfigError::value(&name, "true", allowed));
        }
        number(&key("read_watermark"), self.read_watermark, 0.0, 1.0)?;
        number(&key("write_watermark"), self.write_watermark, 0.0, 1.0)?;
        whole(
            &key("read_ahead_max_blocks"),
            self.read_ahead_max_blocks,
            0,
            1 << 40,
        )?;
        let min = self.read_ahead_min_blocks;
        match self.read_ahead {
            ReadAhead::None => whole(&key("read_ahead_min_blocks"), min, 0, 0),
            _ => whole(&key("read_ahead_min_blocks"), min, 0, 1 << 40),
        }
    }

    /// What has an effect only beside other keys.
    fn check_write_back(&self) -> Result<(), ConfigError> {
        if self.write_segment_blocks.is_some() && self.dedicated_write_segment {
            let allowed =
                "false with write_segment_blocks, as writes have segments of their own then";
            return Err(ConfigError::value(
                "buffer.dedicated_write_segment",
                "true",
                allowed,
            ));
        }
        let waits = self.write_behind == WriteBehind::Any && self.accept_while_writing;
        if self.hits_while_writing && !waits {
            let allowed = "false, as the arm never writes by itself while data of others are taken: that takes write_behind = \"any\" and accept_while_writing";
            return Err(ConfigError::value(
                "buffer.hits_while_writing",
                "true",
                allowed,
            ));
        }
        let several = self.write_segments_max > 1 && !self.dedicated_write_segment;
        if self.write_back == WriteBack::Nearest && !(waits && several) {
            let allowed = "oldest, as no two segments ever wait for the arm: that takes write_behind = \"any\", accept_while_writing and several segments for writes";
            return Err(ConfigError::value("buffer.write_back", "nearest", allowed));
        }
        Ok(())
    }
}

/// More than any drive has; selection looks at each of them for every command.
const SEGMENTS_MAX: u64 = 1_024;

impl BusParameters {
    fn check(&self) -> Result<(), ConfigError> {
        number("bus.read_ms_per_block", self.read_ms_per_block, 0.0, 1e3)?;
        number("bus.write_ms_per_block", self.write_ms_per_block, 0.0, 1e3)
    }
}

impl OverheadParameters {
    fn check(&self) -> Result<(), ConfigError> {
        for (name, ms) in [
            ("command_ms", self.command_ms),
            ("read_hit_after_read_ms", self.read_hit_after_read_ms),
            ("read_hit_after_write_ms", self.read_hit_after_write_ms),
            ("read_miss_after_read_ms", self.read_miss_after_read_ms),
            ("read_miss_after_write_ms", self.read_miss_after_write_ms),
            ("write_after_read_ms", self.write_after_read_ms),
            ("write_after_write_ms", self.write_after_write_ms),
            ("read_completion_ms", self.read_completion_ms),
            ("write_completion_ms", self.write_completion_ms),
            ("data_preparation_ms", self.data_preparation_ms),
            ("reselect_ms", self.reselect_ms),
            ("reselect_again_ms", self.reselect_again_ms),
            (
                "read_disconnect_after_read_ms",
                self.read_disconnect_after_read_ms,
            ),
            (
                "read_disconnect_after_write_ms",
                self.read_disconnect_after_write_ms,
            ),
            ("write_disconnect_ms", self.write_disconnect_ms),
            ("write_seek_min_ms", self.write_seek_min_ms),
        ] {
            number(&format!("overheads.{name}"), ms, 0.0, 1e4)?;
        }
        self.extra_disconnect
            .as_ref()
            .map_or(Ok(()), ExtraDisconnectParameters::check)
    }
}

impl ExtraDisconnectParameters {
    fn check(&self) -> Result<(), ConfigError> {
        for (name, ms) in [
            ("command_ms", self.command_ms),
            ("disconnect_ms", self.disconnect_ms),
            ("pause_ms", self.pause_ms),
            ("disconnect_again_ms", self.disconnect_again_ms),
            ("seek_ms", self.seek_ms),
        ] {
            number(&format!("overheads.extra_disconnect.{name}"), ms, 0.0, 1e4)?;
        }
        Ok(())
    }
}

fn whole(key: &str, value: u64, min: u64, max: u64) -> Result<(), ConfigError> {
    let fits = min <= value && value <= max;
    fits.then_some(()).ok_or_else(|| {
        ConfigError::value(
            key,
            &value.to_string(),
            &format!("a whole number from {min} to {max}"),
        )
    })
}

fn number(key: &str, value: f64, min: f64, max: f64) -> Result<(), ConfigError> {
    // A value that is not a number is in no range.
    let fits = (min..=max).contains(&value);
    fits.then_some(()).ok_or_else(|| {
        ConfigError::value(
            key,
            &value.to_string(),
            &format!("a number from {min} to {max}"),
        )
    })
}
