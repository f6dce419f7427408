//! A random load that is full of meetings: bursts on a small volume, pauses of all lengths between
//! them.

use nearslot_core::op::Op;
use nearslot_core::rng::Rng;
use nearslot_core::units::Duration;

use crate::contents::rig::Rig;
use crate::contents::setups::Setup;

/// Chunks that every other request goes to.
const HOT: u64 = 6;

/// A part of the volume: first block and length.
fn extent(setup: &Setup, blocks: u64, rng: &mut Rng) -> (u64, u64) {
    let size = setup.chunk;
    let hot = rng.chance(0.5);
    let chunks = if hot { HOT } else { blocks / size };
    let first = rng.below(chunks) * size;
    let (from, len) = match rng.below(10) {
        0..=3 => (0, size),
        4..=6 => {
            let from = rng.below(size);
            (from, 1 + rng.below(size - from))
        }
        7..=8 => (rng.below(size), 1 + rng.below(4 * size)),
        _ => (rng.below(size), 1 + rng.below(30 * size)),
    };
    let start = (first + from).min(blocks - 1);
    (start, len.min(blocks - start))
}

fn ask(rig: &mut Rig, setup: &Setup, rng: &mut Rng) {
    let (start, len) = extent(setup, rig.blocks(), rng);
    let op = match rng.below(100) {
        0..=42 => Op::Read,
        43..=89 => Op::Write,
        90..=96 => Op::Discard,
        _ => return rig.submit(Op::Flush, 0, 0, 0),
    };
    let priority = (rng.below(4) as u16) << 13;
    rig.submit(op, start, len, priority);
}

/// Bursts and pauses.
pub(crate) fn churn(rig: &mut Rig, setup: &Setup, rounds: u64, rng: &mut Rng) {
    for _ in 0..rounds {
        let spread = [0, 1_000, 8_000][rng.below(3) as usize];
        for _ in 0..1 + rng.below(24) {
            ask(rig, setup, rng);
            let gap = Duration::from_us(rng.below(spread + 1));
            rig.run_until(rig.now + gap);
        }
        let pause = [10, 100, 400, 3_000][rng.below(4) as usize];
        let pause = Duration::from_us(rng.below(pause * 1_000));
        rig.run_until(rig.now + pause);
    }
}

/// Reads the whole volume so that every drive is asked while others are busy.
pub(crate) fn scan(rig: &mut Rig, setup: &Setup, rng: &mut Rng) {
    let size = setup.chunk;
    for first in (0..rig.blocks()).step_by(size as usize) {
        rig.submit(Op::Read, first, size.min(rig.blocks() - first), 0);
        let gap = Duration::from_us(rng.below(4_000));
        rig.run_until(rig.now + gap);
    }
}

/// Writes to every chunk at once, and a few reads.
pub(crate) fn storm(rig: &mut Rig, setup: &Setup, rng: &mut Rng) {
    let size = setup.chunk;
    let chunks = rig.blocks() / size;
    for _ in 0..chunks {
        let first = rng.below(chunks) * size;
        let op = if rng.chance(0.2) { Op::Read } else { Op::Write };
        rig.submit(op, first, size, 0);
    }
}

/// Reads of the last part of the volume, more than drives can serve in 60 ms.
pub(crate) fn busy(rig: &mut Rig, setup: &Setup, rng: &mut Rng) {
    let size = setup.chunk;
    let chunks = rig.blocks() / size;
    for _ in 0..14 * rig.drives() {
        let chunk = chunks / 2 + rng.below(chunks / 2);
        rig.submit(Op::Read, chunk * size, size, 0);
    }
}
