//! Whether single requests are ordered as measured: long moves take long.
//!
//! The latencies of long moves correlate with the time that the arm of the model needs for them,
//! the measured ones and the model's own. The ratio of the two correlations is 1 of a drive that is
//! modelled well, and 0 of a shuffled trace, apart from chance: the standard error of a correlation
//! `r` of `n` pairs is `(1 - r^2) / sqrt(n)`. Reads and writes are taken apart, since a drive may
//! acknowledge writes before it moves; the direction that tells more is taken. Where chance alone
//! could make a shuffled trace look right, or what is right look shuffled, nothing is claimed.

use nearslot_core::drive::hdd::HddBlueprint;
use nearslot_core::op::Op;
use nearslot_core::units::Pba;
use serde::Serialize;

use super::samples::{Access, Sample, alone, fitted};
use crate::measure::correlation::correlation;
use crate::number::counted;

/// How closely measured latencies follow the moves of the arm.
#[derive(Clone, Debug, Serialize)]
pub struct Order {
    /// The direction that tells more: `read` or `write`.
    pub of: &'static str,
    /// Long moves that judge.
    pub requests: u64,
    /// Correlation of measured latencies with the expected moves, as share of that of the model's.
    pub share: f64,
    /// Half of the interval that holds it in 19 of 20 cases.
    pub share_plus_minus: f64,
}

/// What became of it.
pub(super) enum Followed {
    /// It can be told.
    Told(Order),
    /// It cannot; why.
    Open(String),
}

/// Least ratio of the measured correlation with the moves to the model's own.
pub(super) const SHARE_MIN: f64 = 0.75;
/// Widest half of an interval that tells anything: a shuffled trace then stays below `SHARE_MIN` in
/// 99 of 100 cases.
const PLUS_MINUS_MAX: f64 = 0.6;
/// Pairs without which the standard error is none.
const PAIRS_MIN: usize = 30;

/// Judges the order of the samples that nothing was fitted to; `model` are the model's latencies of
/// all.
pub(super) fn find(blueprint: &HddBlueprint, samples: &[Sample], model: &[f64]) -> Followed {
    let accesses = alone(samples);
    let of = |op: Op, name: &'static str| {
        let rows = rows(blueprint, &accesses, op, model);
        (rows.len(), told(&rows, name))
    };
    let [reads, writes] = [of(Op::Read, "read"), of(Op::Write, "write")];
    let found = [reads.1, writes.1].into_iter().flatten();
    let best = found.min_by(|a, b| a.share_plus_minus.total_cmp(&b.share_plus_minus));
    let seen = format!(
        "{} for reads and {} for writes",
        counted(reads.0 as u64, "long move"),
        writes.0
    );
    match best {
        None => Followed::Open(format!(
            "{seen} are too few, or depend too little on the distance, to tell whether latencies follow the arm; {PAIRS_MIN} of one kind \
             are the least"
        )),
        Some(order) if !order.is_told() => Followed::Open(format!(
            "{seen} leave open whether latencies follow the arm: {:.2} +- {:.2} times as closely as the model's, where at least {SHARE_MIN} \
             are asked for",
            order.share, order.share_plus_minus
        )),
        Some(order) => Followed::Told(order),
    }
}

impl Order {
    /// Whether chance leaves it no chance to be on the other side of the limit.
    fn is_told(&self) -> bool {
        let below = self.share < SHARE_MIN && self.share + self.share_plus_minus >= SHARE_MIN;
        self.share_plus_minus <= PLUS_MINUS_MAX && !below
    }
}

/// Of each long move that judges: the arm's time, the measured latency, the model's.
fn rows(blueprint: &HddBlueprint, accesses: &[Access], op: Op, model: &[f64]) -> Vec<[f64; 3]> {
    let layout = blueprint.mechanics().layout();
    let capacity = layout.capacity().0;
    let judges = |access: &&Access| {
        let moves = access.is_far(capacity) && access.sample.is_short();
        moves && access.sample.op == op && !fitted(access.index)
    };
    let row = |access: &Access| {
        let ends = [access.before.end() - 1, access.sample.at];
        let [from, to] = ends.map(|at| layout.spot(Pba(at)).arm_position());
        let way = blueprint.mechanics().movement(from, to, op);
        let measured = access.sample.latency as f64 / 1e6;
        [way.as_ms(), measured, model[access.index]]
    };
    accesses.iter().filter(judges).map(row).collect()
}

fn told(rows: &[[f64; 3]], of: &'static str) -> Option<Order> {
    if rows.len() < PAIRS_MIN {
        return None;
    }
    let with = |column: usize| {
        let pairs: Vec<(f64, f64)> = rows.iter().map(|row| (row[0], row[column])).collect();
        correlation(&pairs)
    };
    let (measured, own) = (with(1), with(2));
    let error = |r: f64| (1.0 - r * r) / libm::sqrt(rows.len() as f64);
    // A model whose own latencies hardly depend on the moves tells nothing; nor does what is no
    // number.
    if own.is_nan() || own < 3.0 * error(own) {
        return None;
    }
    // Latencies that are all alike follow nothing.
    let measured = if measured.is_nan() { 0.0 } else { measured };
    let share = measured / own;
    Some(Order {
        of,
        requests: rows.len() as u64,
        share,
        share_plus_minus: 1.96 * libm::hypot(error(measured), share * error(own)) / own,
    })
}
