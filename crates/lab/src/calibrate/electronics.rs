//! What the drive's electronics show: reads that the buffer answers, writes that it takes, and how
//! long both need.
//!
//! A read that goes on where the one before ended, after a pause, meets the platter at any angle:
//! without read-ahead 3 of 10 such reads take less than three tenths of a turn, with it nearly all.
//! The same of writes anywhere. The times of those answered by the buffer lie on a line: overhead,
//! and the time of a block over the bus.

use nearslot_core::op::Op;

use super::numbers::{least_squares, quantile, sorted};
use super::samples::{Access, fitted};

/// Times on a line: so much, and so much for each block.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// The time besides the transfer; with it, of `blocks`, where the lengths do not tell the two
    /// apart.
    pub(super) begin_ms: f64,
    /// The time of a block, or why the lengths do not tell it.
    pub(super) block_ms: Result<f64, String>,
    /// Middle of the lengths, in blocks.
    pub(super) blocks: f64,
    /// Standard errors of `begin_ms` and of the time of a block.
    pub(super) error_ms: f64,
    pub(super) block_error_ms: f64,
    pub(super) samples: usize,
}

/// What was found out. What is none, the requests do not tell.
#[derive(Clone, Debug, Default)]
pub(super) struct Electronics {
    /// Whether the drive reads ahead.
    pub(super) reads_ahead: Option<bool>,
    /// Reads that the buffer answers.
    pub(super) hits: Option<Line>,
    /// Blocks behind a read that it has read ahead after a pause, at least.
    pub(super) ahead_blocks: Option<u64>,
    /// Whether writes are acknowledged from the buffer.
    pub(super) writes_behind: Option<bool>,
    /// Writes that the buffer takes.
    pub(super) writes: Option<Line>,
}

/// Accesses that are needed to tell.
const COUNT_MIN: usize = 20;
/// Shares of quick ones that tell a buffer, or that there is none: a platter makes 0.3.
const BUFFER_SHARE: f64 = 0.6;
const NONE_SHARE: f64 = 0.45;
/// A pause in which the platter has turned on, and one in which a read-ahead is over.
const PAUSE_NS: u64 = 300_000;
const LONG_PAUSE_NS: u64 = 20_000_000;

/// Whether an access took less than most that have to wait for the platter. The length is allowed
/// for at 250 sectors a track: few disks have fewer.
pub(super) fn quick(access: &Access, turn_ms: f64) -> bool {
    let ms = access.sample.latency as f64 / 1e6;
    ms < turn_ms * (0.3 + access.sample.len as f64 / 250.0)
}

/// Finds out what can be told.
pub(super) fn find(accesses: &[Access], turn_ms: f64) -> Electronics {
    let own: Vec<&Access> = accesses
        .iter()
        .filter(|access| fitted(access.index))
        .collect();
    let reads = |access: &&&Access| [access.before.op, access.sample.op] == [Op::Read, Op::Read];
    let next: Vec<&Access> = own
        .iter()
        .filter(reads)
        .filter(|access| access.step() == 0 && access.gap >= PAUSE_NS)
        .copied()
        .collect();
    let writes: Vec<&Access> = own
        .iter()
        .filter(|access| access.sample.op == Op::Write && access.step() != 0)
        .copied()
        .collect();
    let reads_ahead = buffered(&next, turn_ms);
    let writes_behind = buffered(&writes, turn_ms);
    let ahead: Vec<&Access> = own.iter().filter(reads).copied().collect();
    Electronics {
        reads_ahead,
        hits: line("reads", &next, reads_ahead, turn_ms),
        ahead_blocks: (reads_ahead == Some(true))
            .then(|| ahead_blocks(&ahead, turn_ms))
            .flatten(),
        writes_behind,
        writes: line("writes", &writes, writes_behind, turn_ms),
    }
}

/// Short accesses tell best; all of them if there are few of those.
fn buffered(accesses: &[&Access], turn_ms: f64) -> Option<bool> {
    let short: Vec<&Access> = accesses
        .iter()
        .filter(|access| access.sample.len <= 16)
        .copied()
        .collect();
    let told = if short.len() >= COUNT_MIN {
        &short
    } else {
        accesses
    };
    if told.len() < COUNT_MIN {
        return None;
    }
    let quick = told.iter().filter(|access| quick(access, turn_ms)).count();
    match quick as f64 / told.len() as f64 {
        share if share >= BUFFER_SHARE => Some(true),
        share if share <= NONE_SHARE => Some(false),
        _ => None,
    }
}

/// The line through the times of those that the buffer answered.
fn line(what: &str, accesses: &[&Access], buffered: Option<bool>, turn_ms: f64) -> Option<Line> {
    if buffered != Some(true) {
        return None;
    }
    let all: Vec<(f64, f64)> = accesses
        .iter()
        .map(|access| (access.sample.len as f64, access.sample.latency as f64 / 1e6))
        .collect();
    let lengths = by_length(&all);
    let used: Vec<&Length> = lengths
        .iter()
        .filter(|one| one.count >= LENGTH_MIN)
        .collect();
    let row = |one: &&Length| std::iter::repeat_n(([1.0, one.blocks], one.ms), one.count);
    let rows: Vec<([f64; 2], f64)> = used.iter().flat_map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let (begin_ms, block_ms) = match (least_squares(&rows), used.as_slice()) {
        (Some([begin, block]), [_, _, ..]) if begin >= 0.0 && block >= 0.0 => (begin, Ok(block)),
        (found, _) => {
            let middle = quantile(&sorted(rows.iter().map(|(_, ms)| *ms)), 0.5);
            (middle, Err(untold(what, &lengths, &used, found)))
        }
    };
    let slope = block_ms.as_ref().copied().unwrap_or(0.0);
    let (error_ms, block_error_ms) = errors(&all, [begin_ms, slope], turn_ms);
    Some(Line {
        begin_ms,
        block_ms,
        blocks: quantile(&sorted(rows.iter().map(|(x, _)| x[1])), 0.5),
        error_ms,
        block_error_ms,
        samples: all.len(),
    })
}

/// Accesses of one length.
struct Length {
    blocks: f64,
    /// The 30 % quantile of their times: some of each length have missed the buffer.
    ms: f64,
    count: usize,
}

/// Accesses of one length that tell its time.
const LENGTH_MIN: usize = 5;

fn by_length(all: &[(f64, f64)]) -> Vec<Length> {
    let mut lengths = sorted(all.iter().map(|(len, _)| *len));
    lengths.dedup_by(|a, b| (*a - *b).abs() < 0.5);
    let length = |blocks: f64| {
        let own = all.iter().filter(|(len, _)| (len - blocks).abs() < 0.5);
        let times = sorted(own.map(|(_, ms)| *ms));
        Length {
            blocks,
            ms: quantile(&times, 0.3),
            count: times.len(),
        }
    };
    lengths.into_iter().map(length).collect()
}

/// Why the lengths do not tell the time of a block; `found` are begin and slope, if there is a
/// line.
fn untold(what: &str, all: &[Length], used: &[&Length], found: Option<[f64; 2]>) -> String {
    let kib = |one: &Length| one.blocks / 2.0;
    match (used, found) {
        ([only], _) if all.len() == 1 => {
            format!("all {what} that the buffer answers have {} KiB", kib(only))
        }
        ([only], _) => format!(
            "of the {what} that the buffer answers only those of {} KiB are {LENGTH_MIN} or more",
            kib(only)
        ),
        (_, Some([_, slope])) if slope < 0.0 => {
            format!("longer {what} that the buffer answers take no longer than short ones")
        }
        _ => format!(
            "the times of {what} that the buffer answers rise so fast with the length that none is left for the overhead"
        ),
    }
}

/// What clocks tell times to, at best.
const CLOCK_MS: f64 = 1e-6;

/// Standard errors of a line's begin and slope, from how far the times are off it. Those off by a
/// quarter of a turn have waited for the platter.
fn errors(all: &[(f64, f64)], [begin, slope]: [f64; 2], turn_ms: f64) -> (f64, f64) {
    let off = |(len, ms): &(f64, f64)| (ms - begin - slope * len).abs();
    let near: Vec<&(f64, f64)> = all.iter().filter(|one| off(one) < turn_ms / 4.0).collect();
    if near.is_empty() {
        return (turn_ms / 4.0, turn_ms / 4.0);
    }
    // The median distance of a normal distribution is 0.6745 of its standard deviation; the
    // quantiles used are as sure as two thirds of the values.
    let scatter = quantile(&sorted(near.iter().map(|one| off(one))), 0.5) / 0.6745;
    let count = near.len() as f64;
    let mean = near.iter().map(|(len, _)| len).sum::<f64>() / count;
    let squares: f64 = near
        .iter()
        .map(|(len, _)| (len - mean) * (len - mean))
        .sum();
    let scatter = (scatter * libm::sqrt(1.5)).max(CLOCK_MS);
    if squares <= 0.0 {
        return (scatter / libm::sqrt(count), 0.0);
    }
    let begin_error = scatter * libm::sqrt(1.0 / count + mean * mean / squares);
    (begin_error, scatter / libm::sqrt(squares))
}

/// How far behind a read its successor may begin, after a long pause, and is still answered by the
/// buffer: in doubling steps, up to the last of which most are.
fn ahead_blocks(reads: &[&Access], turn_ms: f64) -> Option<u64> {
    let mut reached = None;
    let mut from = 1;
    while from < 65_536 {
        let inside: Vec<&Access> = reads
            .iter()
            .filter(|access| access.gap >= LONG_PAUSE_NS)
            .filter(|access| (from..2 * from).contains(&access.step()))
            .copied()
            .collect();
        match buffered(&inside, turn_ms) {
            Some(true) => reached = Some(2 * from.unsigned_abs() - 1),
            Some(false) => return reached,
            None => {}
        }
        from *= 2;
    }
    reached
}
