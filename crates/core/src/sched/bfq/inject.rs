//! Injection: while the drive waits for a queue, requests of others that do it no harm.
//!
//! Who may be served meanwhile:
//!
//! ```text
//! its own writes      of the process that is waited for, which it made behind its own back
//! its waker           a queue whose answers are what it waits for: three times in a row, it had a request within 4 ms after one of that queue ended
//! whom it wakes       the same the other way round
//! anybody             up to a limit of requests on the drive, which is found by trying: the time from a request of the queue to its answer is
//!                     measured with others meanwhile and without; half as long again is harm
//! ```
//!
//! Facts of `bfq_check_waker`, `bfq_update_inject_limit`, `bfq_choose_bfqq_for_injection`.

use super::super::waiting::Stop;
use super::Bfq;
use super::claim::QueueKey;
use crate::ids::IoId;
use crate::units::{Blocks, Duration, Instant};

/// Who asks so soon after an answer to another may have waited for it.
const SOON: Duration = Duration::from_ms(4);
/// So often in a row, and it has.
const DETECTIONS: u32 = 3;
/// All within so many idling times.
const WINDOW: u64 = 128;
/// The limit is measured at most so often,
const MEASURED_EVERY: Duration = Duration::from_ms(10);
/// is not begun anew for another habit sooner than this,
const SETTLES: Duration = Duration::from_ms(100);
/// and is begun anew after so long.
const RESET_EVERY: Duration = Duration::from_ms(1_000);
/// Where nothing turns, only one request of so many blocks is on the drive.
const LARGE: Blocks = Blocks(64);

/// What is known of a queue's patience.
#[derive(Clone, Debug)]
pub(super) struct Injection {
    /// Requests that may be on the drive while it is waited for.
    pub(super) limit: u32,
    /// The time from request to answer without others; none if it is not known.
    pub(super) base: Option<Duration>,
    /// When the limit was last lowered or begun anew.
    lowered: Instant,
    /// Who may be its waker, how often that was seen, and since when.
    tentative: Option<(QueueKey, u32, Instant)>,
    pub(super) waker: Option<QueueKey>,
    /// Whom it wakes, the latest last.
    pub(super) wakes: Vec<QueueKey>,
}

impl Injection {
    pub(super) fn new(now: Instant) -> Injection {
        Injection {
            limit: 0,
            base: None,
            lowered: now,
            tentative: None,
            waker: None,
            wakes: Vec::new(),
        }
    }

    /// The limit is found anew.
    fn reset(&mut self, now: Instant, thinks_short: bool) {
        self.base = None;
        self.limit = u32::from(!thinks_short);
        self.lowered = now;
    }

    /// A request took so long, and requests of others were served meanwhile, or not. `alone` tells
    /// that nothing else is on the drive, of which the most that was ever there is `most`.
    fn learn(&mut self, now: Instant, took: Duration, injected: bool, alone: bool, most: u32) {
        if let Some(base) = self.base.filter(|_| injected) {
            let harm = Duration(base.0 * 3 / 2);
            if took >= harm && self.limit > 0 {
                self.limit -= 1;
                self.lowered = now;
            } else if took < harm && self.limit <= most {
                self.limit += 1;
            }
        }
        match self.base {
            None if alone => {
                self.limit = self.limit.max(1);
                self.base = Some(took);
            }
            Some(base) if took < base || !injected && alone => self.base = Some(took),
            _ => {}
        }
    }
}

/// The measurement that is going on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measuring {
    /// A request came to the queue that is served, which had none.
    asked: Option<Instant>,
    /// It is on the drive.
    waited: Option<IoId>,
    /// Requests of others were served meanwhile.
    injected: bool,
}

impl Bfq {
    /// A process that somebody waits for, with nothing else underway, asks.
    pub(super) fn measure_from(&mut self, now: Instant, key: QueueKey) {
        self.look_for_waker(now, key);
        let (in_drive, served) = (self.in_drive, self.in_service == Some(key));
        let queue = self.queue_mut(key);
        if now >= queue.injection.lowered + RESET_EVERY {
            let short = queue.habits.thinks_short;
            queue.injection.reset(now, short);
        }
        let empty = queue.waiting.is_empty();
        let (known, due) = (
            queue.injection.base.is_some(),
            now >= queue.injection.lowered + MEASURED_EVERY,
        );
        let telling = in_drive == 0 || known && self.measuring.injected;
        if served && empty && due && telling {
            self.measuring.asked = Some(now);
            self.measuring.injected &= in_drive > 0;
        }
    }

    /// The think time of a queue has become short, or long: as long as nothing was measured, the
    /// limit follows from that.
    pub(super) fn thinks_otherwise(&mut self, now: Instant, key: QueueKey) {
        let queue = self.queue_mut(key);
        let short = queue.habits.thinks_short;
        let settled = now >= queue.injection.lowered + SETTLES;
        if queue.injection.base.is_none() && (settled || !short) {
            queue.injection.reset(now, short);
        }
    }

    /// A request of the queue that is served goes to the drive.
    pub(super) fn measure_with(&mut self, id: IoId) {
        if self.measuring.asked.is_some() && self.measuring.waited.is_none() {
            self.measuring.waited = Some(id);
        }
    }

    /// A request has ended, before it is counted off the drive.
    pub(super) fn measured(&mut self, now: Instant, key: QueueKey, id: IoId) {
        if self.measuring.waited != Some(id) {
            return;
        }
        let Measuring {
            asked, injected, ..
        } = std::mem::take(&mut self.measuring);
        let took = now.since(asked.expect("it was asked for"));
        let (alone, most) = (self.in_drive == 1, self.queueing.most_ever);
        let injection = &mut self.queue_mut(key).injection;
        injection.learn(now, took, injected, alone, most);
    }

    /// The turn of the queue ends, and the measurement with it.
    pub(super) fn stop_measuring(&mut self) {
        self.measuring = Measuring::default();
    }

    fn look_for_waker(&mut self, now: Instant, key: QueueKey) {
        let Some(last) = self.answered_last.filter(|last| *last != key) else {
            return;
        };
        let late = now >= self.rate.last_completion + SOON;
        let window = Duration(WINDOW * self.set.slice_idle.0);
        let queue = self.queue_mut(key);
        if queue.habits.thinks_short || late {
            return;
        }
        let injection = &mut queue.injection;
        let (seen, since) = match injection.tentative {
            Some((waker, seen, since)) if waker == last && now <= since + window => {
                (seen + 1, since)
            }
            _ => (1, now),
        };
        injection.tentative = Some((last, seen, since));
        if seen == DETECTIONS {
            injection.tentative = None;
            let before = injection.waker.replace(last);
            if let Some(before) = before.and_then(|before| self.alive_mut(before)) {
                before.injection.wakes.retain(|woken| *woken != key);
            }
            if let Some(waker) = self.alive_mut(last) {
                waker.injection.wakes.push(key);
            }
        }
    }

    /// The queue is busy again: its waker looks at it first.
    pub(super) fn woken(&mut self, key: QueueKey) {
        let waker = self.queue(key).injection.waker;
        if let Some(waker) = waker.and_then(|waker| self.alive_mut(waker)) {
            let wakes = &mut waker.injection.wakes;
            wakes.retain(|woken| *woken != key);
            wakes.push(key);
        }
    }

    /// What may be served while the drive waits for this queue.
    pub(super) fn injectable(&mut self, now: Instant, key: QueueKey) -> Option<QueueKey> {
        let queue = self.queue(key);
        let own = self.own_writes(key);
        let woken = queue.injection.wakes.last().copied();
        let kin = [own, queue.injection.waker, woken];
        let kin = kin.into_iter().flatten().find(|one| {
            let alive = self.alive(*one).is_some_and(|one| one.busy);
            *one != key && alive && self.affordable(*one).is_some()
        });
        if kin.is_some() {
            return kin;
        }
        let patient = !queue.raise.is_raised() || !queue.habits.thinks_short;
        if self.idling_boosts(key) || !(patient || self.totals.raised > 1) {
            return None;
        }
        let waits_long = self
            .idling
            .is_some_and(|idling| now >= idling.began + self.set.slice_idle);
        let limit = match queue.injection {
            Injection {
                limit: 0,
                base: None,
                ..
            } if waits_long => 1,
            Injection { limit, .. } => limit,
        };
        if self.in_drive >= limit {
            return None;
        }
        let fits = |one: &QueueKey| {
            let may = patient || self.queue(*one).raise.is_raised();
            let next = self.affordable(*one).filter(|_| may && *one != key);
            next.is_some_and(|next| self.rotational || next.len < LARGE || self.in_drive == 0)
        };
        let found = self.busy.iter(&self.busy_list).copied().find(fits);
        self.measuring.injected |= found.is_some();
        found
    }

    /// The writes of the process of a queue that nobody waits for, if one of its own is next there.
    fn own_writes(&self, key: QueueKey) -> Option<QueueKey> {
        let claim = self.queue(key).claim;
        let writes = self.async_queue(&claim)?;
        let next = self.alive(writes)?.waiting.next()?;
        (self.home_of(next.stream) == Some(key)).then_some(writes)
    }

    /// The next request of a queue, if what is left of its budget is enough.
    fn affordable(&self, key: QueueKey) -> Option<Stop> {
        let next = self.queue(key).waiting.next()?;
        let left = self.fair.left(self.queue(key).entity);
        (self.charge_of(key, &next) <= left).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn learn(injection: &mut Injection, took_ms: u64, injected: bool, alone: bool) -> (u32, u64) {
        injection.learn(Instant(0), Duration::from_ms(took_ms), injected, alone, 32);
        (
            injection.limit,
            injection.base.map_or(0, |base| base.0 / MS),
        )
    }

    #[test]
    fn the_limit_begins_at_0_or_1_and_goes_by_half_as_long_again() {
        let mut one = Injection::new(Instant(0));
        one.reset(Instant(0), true);
        assert_eq!(one.limit, 0, "one that is soon back");
        one.reset(Instant(0), false);
        assert_eq!(one.limit, 1, "one that thinks");
        one.reset(Instant(0), true);
        assert_eq!(
            learn(&mut one, 10, false, false),
            (0, 0),
            "others were on the drive"
        );
        assert_eq!(
            learn(&mut one, 10, false, true),
            (1, 10),
            "the first measure"
        );
        assert_eq!(learn(&mut one, 14, true, false), (2, 10), "no harm");
        assert_eq!(
            learn(&mut one, 15, true, false),
            (1, 10),
            "half as long again is harm"
        );
        assert_eq!(
            learn(&mut one, 8, true, false),
            (2, 8),
            "it never was as quick"
        );
        assert_eq!(
            learn(&mut one, 20, false, true),
            (2, 20),
            "without others, it is so now"
        );
        for _ in 0..100 {
            learn(&mut one, 20, true, false);
        }
        assert_eq!(one.limit, 33, "no more than the drive ever had, and one");
        for _ in 0..100 {
            learn(&mut one, 30, true, false);
        }
        assert_eq!(one.limit, 0);
    }
}
