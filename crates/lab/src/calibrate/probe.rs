//! Timing reads of a file or device that is there, to calibrate by: read only, bounded in number
//! and time.
//!
//! The load is made for the estimators. Most reads go to random places, which tells rotation and
//! seek curve; of random places few are far apart, so some reads come in pairs whose distance is
//! drawn from all distances alike, which tells the far end of the curve; every few go to a place
//! that was read some reads ago, which tells the rotation exactly; some go back by a few tracks,
//! which tells the head switch. Pauses and reads right behind the one before, of two lengths, tell
//! read-ahead, overheads and bus. Streams at places over the whole range tell the zones. Nothing is
//! ever written: the file is opened for reading alone, past the page cache (`O_DIRECT`).
//!
//! The load does not know what it runs on: [`Reads`] is a real file, or a model in virtual time, by
//! which tests recover drives.

use std::fs::File;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nearslot_core::contract::Drive;
use nearslot_core::ids::IoId;
use nearslot_core::io::Command;
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;
use nearslot_core::units::{self, BLOCK_BYTES, Blocks, Pba};

use super::CalibrateError;
use super::samples::{SAMPLES_MIN, Sample, Samples};
use crate::alone;
use crate::sim::Control;

/// What reads can be timed on.
pub trait Reads {
    /// Reads, and gives issue and latency in nanoseconds.
    ///
    /// # Errors
    /// The system refuses.
    fn read(&mut self, at: u64, len: u64) -> std::io::Result<(u64, u64)>;

    /// Waits.
    fn pause(&mut self, ns: u64);

    /// Nanoseconds since the start.
    fn now(&self) -> u64;

    /// What is read, for an error.
    fn name(&self) -> String;
}

/// How much to read at most.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Reads at most.
    pub reads: u64,
    /// Seconds at most.
    pub seconds: u64,
    /// Draws the places.
    pub seed: u64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            reads: 6_000,
            seconds: 120,
            seed: 1,
        }
    }
}

/// Blocks of a short read, of a longer one that the buffer may answer, and of one of a stream: 4,
/// 32 and 256 KiB.
const SHORT: u64 = 8;
const MIDDLE: u64 = 64;
const LONG: u64 = 512;
/// Places of streams, and reads of each.
const STREAMS: u64 = 24;
const STREAM_READS: u64 = 40;
/// The least range that tells anything: 64 MiB.
const BLOCKS_MIN: u64 = 131_072;

/// Times reads over so many blocks. The same seed reads the same places. Where `control` says stop,
/// it ends early with what was timed.
///
/// # Errors
/// The range is too small, a read fails, or too few were timed.
pub fn probe(
    reads: &mut dyn Reads,
    blocks: u64,
    bounds: Bounds,
    control: &Control,
) -> Result<Samples, CalibrateError> {
    if blocks < BLOCKS_MIN {
        return Err(CalibrateError::Unfit(format!(
            "probe = {}, which has {blocks} blocks (allowed: a file or block device of at least {BLOCKS_MIN}, 64 MiB)",
            reads.name()
        )));
    }
    control.keeps.store(true, Ordering::Relaxed);
    let mut run = Run {
        reads,
        bounds,
        control,
        samples: Samples::default(),
        rng: Rng::stream(bounds.seed, "probe"),
        blocks,
        places: Vec::new(),
        other_end: None,
    };
    let outcome = run.all();
    outcome.map_err(|source| CalibrateError::Probe {
        path: run.reads.name(),
        source,
    })?;
    if run.samples.all.is_empty() {
        return Err(CalibrateError::TooFew {
            found: 0,
            what: "timed reads".to_owned(),
            needed: SAMPLES_MIN,
        });
    }
    run.samples.finish()
}

struct Run<'a> {
    reads: &'a mut dyn Reads,
    bounds: Bounds,
    control: &'a Control,
    samples: Samples,
    rng: Rng,
    blocks: u64,
    /// Where random reads went.
    places: Vec<u64>,
    /// Where the second read of a pair goes.
    other_end: Option<u64>,
}

impl Run<'_> {
    /// Streams within the random reads, so that both halves of the samples have some of both.
    fn all(&mut self) -> std::io::Result<()> {
        let streams = STREAMS * STREAM_READS;
        let random = self.bounds.reads.saturating_sub(streams);
        let each = (random / STREAMS).max(1);
        for stream in 0..STREAMS {
            for _ in 0..each {
                if !self.short()? {
                    return Ok(());
                }
            }
            let from = self.blocks / STREAMS * stream;
            let first = from.min(self.blocks - STREAM_READS * LONG) / SHORT * SHORT;
            for index in 0..STREAM_READS {
                if !self.read(first + index * LONG, LONG)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// A short read somewhere, or near or behind an earlier one.
    fn short(&mut self) -> std::io::Result<bool> {
        let end = self.blocks - SHORT;
        if let Some(at) = self.other_end.take() {
            return self.random(at);
        }
        let before = self.samples.all.last().map_or(0, Sample::end);
        let at = match self.rng.below(10) {
            // Far behind by now, so that the buffer has forgotten it.
            // Not always equally far, or several rotations would fit.
            0 | 1 if self.places.len() > 400 => {
                let ago = 100 + self.rng.below(300) as usize;
                self.places[self.places.len() - ago]
            }
            // Backwards: what lies ahead of a read, the drive may be reading already.
            2 | 4 => before.saturating_sub(self.rng.below(10_000) + 64) / SHORT * SHORT,
            3 => {
                self.reads.pause(1_000_000 + self.rng.below(20_000_000));
                let len = [SHORT, MIDDLE][self.samples.all.len() % 2];
                return self.read(before.min(self.blocks - len), len);
            }
            5 | 6 => {
                let first = self.pair(end);
                return self.random(first);
            }
            _ => {
                let at = self.rng.below(end);
                return self.random(at);
            }
        };
        self.read(at.min(end) / SHORT * SHORT, SHORT)
    }

    /// Draws two places whose distance is any with the same chance, and gives the first.
    fn pair(&mut self, end: u64) -> u64 {
        let distance = self.rng.below(end);
        let near = self.rng.below(end - distance);
        let ends = [near, near + distance];
        let first = self.rng.below(2) as usize;
        self.other_end = Some(ends[1 - first]);
        ends[first]
    }

    /// A short read that may be repeated later.
    fn random(&mut self, at: u64) -> std::io::Result<bool> {
        let at = at / SHORT * SHORT;
        self.places.push(at);
        self.read(at, SHORT)
    }

    fn read(&mut self, at: u64, len: u64) -> std::io::Result<bool> {
        let many = self.samples.all.len() as u64 >= self.bounds.reads;
        let long = self.reads.now() >= self.bounds.seconds * 1_000_000_000;
        if many || long || self.control.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let (issued, latency) = self.reads.read(at, len)?;
        self.samples
            .all
            .push(Sample::new(issued, Op::Read, at, len, latency));
        Ok(true)
    }
}

/// A model in virtual time.
pub struct Modelled {
    drive: Box<dyn Drive>,
    now: u64,
}

impl Modelled {
    /// A drive that nothing was asked of yet.
    pub fn new(drive: Box<dyn Drive>) -> Modelled {
        Modelled { drive, now: 0 }
    }
}

impl Reads for Modelled {
    fn read(&mut self, at: u64, len: u64) -> std::io::Result<(u64, u64)> {
        let issued = self.now;
        let command = Command {
            io: IoId(0),
            op: Op::Read,
            at: Pba(at),
            len: Blocks(len),
            fua: false,
        };
        let drive = &mut *self.drive;
        let (ended, _) = alone::serve(drive, units::Instant(issued), &command, |_| 1);
        self.now = ended.0;
        Ok((issued, ended.0 - issued))
    }

    fn pause(&mut self, ns: u64) {
        self.now += ns;
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn name(&self) -> String {
        "a model".to_owned()
    }
}

/// A file or device, opened for reading past the page cache.
pub struct Opened {
    path: String,
    file: File,
    begun: Instant,
    buffer: Vec<u8>,
    /// Where in the buffer an address begins that the system can read to directly.
    aligned: usize,
}

/// What direct reads must be aligned to on any device of today.
const ALIGN: usize = 4_096;

impl Opened {
    /// Opens a file or device and gives its blocks.
    ///
    /// # Errors
    /// It is no file or block device, or cannot be opened so.
    pub fn new(path: &Path) -> Result<(Opened, u64), CalibrateError> {
        let error = |source| CalibrateError::Probe {
            path: path.display().to_string(),
            source,
        };
        // Looked at before it is opened: that of a pipe waits for who writes.
        let kind = std::fs::metadata(path).map_err(error)?.file_type();
        if !(kind.is_file() || kind.is_block_device()) {
            return Err(CalibrateError::Unfit(format!(
                "probe = {}, which is {} (allowed: a file or a block device)",
                path.display(),
                if kind.is_dir() {
                    "a directory"
                } else {
                    "a pipe, a socket or a device without blocks"
                }
            )));
        }
        // What a file system says that has no direct reads.
        let refused = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::InvalidInput => error(std::io::Error::new(
                source.kind(),
                format!(
                    "it cannot be read past the page cache (O_DIRECT), so nothing can be timed: {source}"
                ),
            )),
            _ => error(source),
        };
        let direct = rustix::fs::OFlags::DIRECT.bits().cast_signed();
        let file = File::options()
            .read(true)
            .custom_flags(direct)
            .open(path)
            .map_err(refused)?;
        // The end of a device is found by going there; its metadata say 0.
        let bytes = std::io::Seek::seek(&mut &file, std::io::SeekFrom::End(0)).map_err(error)?;
        let buffer = vec![0_u8; (LONG * BLOCK_BYTES) as usize + ALIGN];
        let aligned = buffer.as_ptr().align_offset(ALIGN);
        let opened = Opened {
            path: path.display().to_string(),
            file,
            begun: Instant::now(),
            buffer,
            aligned,
        };
        Ok((opened, bytes / BLOCK_BYTES / SHORT * SHORT))
    }
}

impl Reads for Opened {
    fn read(&mut self, at: u64, len: u64) -> std::io::Result<(u64, u64)> {
        let bytes = (len * BLOCK_BYTES) as usize;
        let issued = self.now();
        let into = &mut self.buffer[self.aligned..self.aligned + bytes];
        self.file.read_exact_at(into, at * BLOCK_BYTES)?;
        Ok((issued, self.now() - issued))
    }

    fn pause(&mut self, ns: u64) {
        std::thread::sleep(Duration::from_nanos(ns));
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).expect("a probe ends within 584 years")
    }

    fn name(&self) -> String {
        self.path.clone()
    }
}
