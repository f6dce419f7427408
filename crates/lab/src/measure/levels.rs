//! The length of the queue at some arrivals, and with it what drives have answered and not yet
//! written.
//!
//! A write that a cache takes is answered at once, and so is one of which a copy waits for spare
//! time. So a short load may never find out how fast the
//! drives write: what is measured then tells how long it is, as with a queue that grows. What
//! drives owe is therefore a queue like the one before them. It *fills* their caches if both
//! together grow from each arrival that is looked at to the next, while the queue alone does not.
//! Once the caches are full the queue grows alone; if they fill during the run, both together have
//! grown all the time, and the queue has at last.
//!
//! A load that waits for answers fills a cache with its first requests and comes more slowly then:
//! nothing grows to the end. There it counts how much of what came is owed in the end that was not
//! at first: by so much the rate is too high.
//!
//! From empty a queue grows even if drives can do what comes, until it is as long as it will be. Then
//! it grows less and less, and one that they cannot serve grows all the time alike. Where many
//! drives are that does not differ before many requests have come; until then nothing is known of
//! the queue that was not seen.
//!
//! A write buffer is filled on purpose: one that begins to write when it is full to a mark grows
//! until then, however much the drives could take. There, too, it counts how much of what came is in
//! it in the end.

use nearslot_core::units::Instant;

use crate::number::{counted, grouped};

/// A queue that takes less than this share of what comes is not said to grow.
const GROWTH_MIN: f64 = 0.02;
/// Nor is one shorter than this.
const GROWTH_QUEUE_MIN: u64 = 64;
/// So many requests for each drive that is busy have been answered, or so many wait, before a queue is
/// said to grow: where many drives are, what comes first meets some that are idle beside some that
/// are not, and the queue before these comes to rest after a while.
const ANSWERED_MIN: u64 = 8;
const WAITING_MIN: u64 = 4;
/// Of fewer requests for each drive that is busy, a queue is said to grow only if it did so in the
/// second half by this share of what it did in the first. In a model of 256 drives with a load of
/// 0.95 of what they can do that is 0.6 at 12 requests for each, 0.5 at 40 and 0.4 at 100; with 1.3
/// of that it is 0.8 and more.
const SETTLED_MIN: u64 = 100;
const STEADY_SHARE: f64 = 0.75;
/// Of fewer than so many, one that rises to the end is not at rest if this share of it came in the
/// second half.
const RISEN_MIN: u64 = 1_000;
const RISEN_SHARE: f64 = 0.1;
/// If one in so many of all requests waits in the end, and so many do, most of a response time may be
/// how many requests there were.
pub(crate) const WAITING_PART: u64 = 5;
const WAITING_LEAST: u64 = 16;
/// Of this part of the writes that came, those that a cache keeps are told where they are nowhere
/// else: of disks that choose the order in which they write, as these owe more for a while, until
/// they have their choice, of loads that wait for answers, and of write buffers. Of fewer, what was
/// measured hardly depends on them.
const OWED_SHARE: u64 = 5;
/// Arrivals at which the length of the queue is noted.
pub(super) const LEVELS: usize = 5;

/// The length of the queue at an arrival. Flushes and discards are in no queue of a scheduler, and
/// are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) at: Instant,
    /// Reads and writes that are in the system.
    pub(super) waiting: u64,
    /// Drives that have something to do. As many of those that wait may be what these do, which is
    /// no queue.
    pub(super) busy: u64,
    pub(super) owed: Owing,
    /// Reads and writes that have come so far.
    pub(super) came: u64,
}

impl Level {
    /// Some of what waits, without what drives do at the time.
    fn queued(&self, of: u64) -> u64 {
        of.saturating_sub(self.busy)
    }

    /// What waits before the drives and in their caches.
    fn both(&self) -> u64 {
        self.waiting + self.owed.writes
    }
}

/// What takes writes before they are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Behind {
    /// The stack's write buffer.
    Buffer,
    /// The placement's buffer of delayed copies.
    Copies,
    /// Write caches of the drives.
    #[default]
    Caches,
}

/// Writes that were answered and not yet written, in requests of the load: by the write buffer if
/// there is one, else by drives and as delayed copies. One may be several on the drives, as copies
/// and parity are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Owing {
    pub(super) writes: u64,
    /// What has them.
    pub(super) behind: Behind,
    /// How many there is room for, if that is known.
    pub(super) cache_size: Option<u64>,
    /// Whether some of the drives choose the order in which they write.
    pub(super) sorts: bool,
    /// Whether a part of what requests write goes to the drives later, in spare time: how much a
    /// request will have written is not known before.
    pub(super) later: bool,
    /// Writes that have come so far.
    pub(super) of: u64,
}

impl Owing {
    /// Whether there is hardly room for more.
    fn is_full(&self) -> bool {
        self.cache_size
            .is_some_and(|size| self.writes * 10 >= size * 9)
    }
}

/// A write buffer, or write caches of drives, that hide how fast the drives write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Filling {
    /// Which of the two.
    pub(crate) behind: Behind,
    /// By how many requests a second they fill; on average where they are full before the last
    /// arrival.
    pub(crate) rps: f64,
    /// Writes that were answered and not yet written at the last arrival, but for as many as were
    /// so at the first; and writes that came from that one on, or waited there.
    pub(crate) owed: u64,
    pub(crate) of: u64,
    /// Whether they fill to the end.
    pub(crate) grows: bool,
    /// How many requests it takes to fill them, if that is known.
    pub(crate) full_after: Option<u64>,
    /// Whether that may end by itself: a write buffer begins to write in time, and drives that choose
    /// the order in which they write do so the faster the more they have.
    pub(crate) may_end: bool,
}

impl Filling {
    /// What was seen, in words that go on a sentence.
    pub(crate) fn seen(&self) -> String {
        let (owed, of) = (grouped(self.owed), counted(self.of, "write"));
        let place = match (self.behind, self.grows, self.full_after) {
            (Behind::Buffer, _, None) => "a write buffer".to_owned(),
            (Behind::Buffer, _, Some(requests)) => format!(
                "a write buffer that has room for what about {} requests leave there",
                grouped(requests)
            ),
            // Copies are written in spare time: nobody knows when it is full.
            (Behind::Copies, true, _) => {
                "a buffer of delayed copies that fills as long as requests come".to_owned()
            }
            (Behind::Copies, false, _) => {
                "a buffer of delayed copies that was empty at first".to_owned()
            }
            (Behind::Caches, false, _) => "write caches that were empty at first".to_owned(),
            (Behind::Caches, true, None) => {
                "write caches that fill as long as requests come".to_owned()
            }
            (Behind::Caches, true, Some(requests)) => format!(
                "write caches that fill as long as requests come and are full after about {} of them",
                grouped(requests)
            ),
        };
        format!(
            "{owed} of {of} were answered and not yet written when the last request came, in {place}"
        )
    }
}

/// A queue that was not seen at rest before the last request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settling {
    /// Reads and writes that were in the system then, and those that had come or were there before.
    pub(crate) waiting: u64,
    pub(crate) of: u64,
    /// Whether the queue grew to the end.
    pub(crate) grew: bool,
}

impl Settling {
    /// What was seen, in words that go on a sentence.
    pub(crate) fn seen(&self) -> String {
        let (waiting, of) = (grouped(self.waiting), grouped(self.of));
        let grew = match self.grew {
            true => ", and the queue still grew",
            false => "",
        };
        format!(
            "{waiting} of {of} reads and writes were not yet answered when the last one came{grew}"
        )
    }
}

/// The length of the queue at some arrivals, from one of them to the last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Levels {
    pub(super) noted: [Level; LEVELS],
    pub(super) count: usize,
    /// The number of the request at whose arrival the first is noted, and of that at which the next
    /// is.
    pub(super) first: u64,
    pub(super) next: u64,
}

impl Levels {
    /// From the request with this number on.
    pub(super) fn from(first: u64) -> Levels {
        Levels {
            first,
            next: first,
            ..Levels::default()
        }
    }

    /// Notes the length of the queue at an arrival; `requests` come in all.
    pub(super) fn note(&mut self, level: Level, requests: u64) {
        self.noted[self.count] = level;
        self.count += 1;
        let others = u128::from((requests - self.first).saturating_sub(1));
        let next = others * self.count as u128 / (LEVELS - 1) as u128;
        let over = self.count == LEVELS;
        self.next = if over {
            u64::MAX
        } else {
            self.first + next as u64
        };
    }

    /// By how many reads and writes a second it grew, if it grew all the time, or as soon as the
    /// caches behind it were full.
    pub(super) fn growth_rps(&self) -> Option<f64> {
        self.growth(|level| level.waiting)
            .or_else(|| self.growth(Level::both).filter(|_| self.overflowed()))
    }

    /// Whether it grew in the caches of drives or in a write buffer first, until that was full.
    pub(super) fn grew_behind(&self) -> Option<Behind> {
        let first = self.growth_rps().is_some() && self.growth(|level| level.waiting).is_none();
        let [.., last] = self.noted;
        first.then_some(last.owed.behind)
    }

    /// Whether the queue has grown since the caches are full.
    fn overflowed(&self) -> bool {
        let [.., before, last] = self.noted;
        let grew = grew(&before, &last, |level| level.waiting);
        last.owed.is_full() && last.queued(last.waiting) >= GROWTH_QUEUE_MIN && grew
    }

    /// What was answered and not yet written, if that hides how fast drives write and the queue did
    /// not grow by itself; `waits` if the load waits for answers.
    pub(super) fn filling(&self, waits: bool) -> Option<Filling> {
        if self.count < LEVELS || self.growth_rps().is_some() {
            return None;
        }
        let [first, .., last] = self.noted;
        let seconds = last.at.since(first.at).0 as f64 / 1e9;
        let owed = last.owed.writes.saturating_sub(first.owed.writes);
        let of = last.owed.of - first.owed.of + first.waiting;
        let growth = self.growth(Level::both);
        let is_much = owed > 0 && owed * OWED_SHARE >= of;
        let hidden = match growth {
            // So few writes cost the drives hardly anything, whenever they are written.
            _ if last.owed.behind == Behind::Buffer => {
                is_much && owed as f64 >= GROWTH_MIN * (last.came - first.came) as f64
            }
            Some(_) => !last.owed.sorts || last.owed.writes * OWED_SHARE >= last.owed.of,
            None => {
                let is_full = last.owed.cache_size.is_none() || last.owed.is_full();
                waits && is_full && is_much
            }
        };
        let rps = growth.unwrap_or(owed as f64 / seconds);
        (hidden && seconds > 0.0).then_some(Filling {
            behind: last.owed.behind,
            rps,
            owed,
            of,
            grows: growth.is_some(),
            full_after: self.full_after(),
            may_end: last.owed.sorts || last.owed.behind == Behind::Buffer,
        })
    }

    /// What waited in the end, if the queue was not seen at rest and is not said to grow; `waits` if
    /// the load waits for answers, as then that says how long the queue is.
    pub(super) fn settling(&self, waits: bool) -> Option<Settling> {
        if waits || self.count < LEVELS || self.growth_rps().is_some() {
            return None;
        }
        let [first, .., last] = self.noted;
        let of = last.came - first.came + first.waiting;
        let queue = last.queued(last.waiting);
        let many = queue >= WAITING_LEAST && queue * WAITING_PART >= of;
        let grew = self.grew_throughout(|level| level.waiting)
            || self.grew_throughout(Level::both)
            || self.rises();
        (many || grew).then_some(Settling {
            waiting: last.waiting,
            of,
            grew,
        })
    }

    /// How many requests it takes to fill the caches. Of those that are nearly full there is
    /// nothing to tell, and nothing is known where more is written later.
    fn full_after(&self) -> Option<u64> {
        let [.., last] = self.noted;
        let size = last.owed.cache_size?;
        let known = !last.owed.is_full() && !last.owed.later;
        let times = size as f64 / last.owed.writes.max(1) as f64;
        known.then_some((times * last.came as f64) as u64)
    }

    /// By how much a second something at all levels grew, if it grew from each to the next.
    fn growth(&self, of: fn(&Level) -> u64) -> Option<f64> {
        // Fewer arrivals than levels tell nothing.
        if self.count < LEVELS {
            return None;
        }
        let [first, .., last] = self.noted;
        let seconds = last.at.since(first.at).0 as f64 / 1e9;
        let queue = last.queued(of(&last));
        let answered = self.answered();
        let much = answered >= ANSWERED_MIN * last.busy || queue >= WAITING_MIN * last.busy;
        let steady = answered >= SETTLED_MIN * last.busy || self.grew_steadily(of);
        let grows = seconds > 0.0 && much && steady && self.grew_throughout(of);
        grows.then(|| (of(&last) - of(&first)) as f64 / seconds)
    }

    /// Whether something at all levels grew from each to the next, and is long at the last.
    fn grew_throughout(&self, of: fn(&Level) -> u64) -> bool {
        let [.., last] = self.noted;
        let mut pairs = self.noted.windows(2);
        last.queued(of(&last)) >= GROWTH_QUEUE_MIN && pairs.all(|pair| grew(&pair[0], &pair[1], of))
    }

    /// Whether it grew at last nearly as it did at first.
    fn grew_steadily(&self, of: fn(&Level) -> u64) -> bool {
        let [first, _, middle, _, last] = self.queued(of);
        last - middle >= STEADY_SHARE * (middle - first)
    }

    /// Whether a queue before drives that have answered little is longer at each level, and at the
    /// last by much.
    fn rises(&self) -> bool {
        let [.., end] = self.noted;
        let queued = self.queued(|level| level.waiting);
        let [_, _, middle, _, last] = queued;
        let is_early = self.answered() < RISEN_MIN * end.busy;
        let is_long = last >= GROWTH_QUEUE_MIN as f64 && last - middle >= RISEN_SHARE * last;
        is_early && is_long && queued.is_sorted_by(|one, next| one < next)
    }

    /// Requests that were answered from the first level to the last.
    fn answered(&self) -> u64 {
        let [first, .., last] = self.noted;
        (last.came - first.came + first.waiting).saturating_sub(last.waiting)
    }

    /// At each level, without what drives do at the time.
    fn queued(&self, of: fn(&Level) -> u64) -> [f64; LEVELS] {
        self.noted.map(|level| level.queued(of(&level)) as f64)
    }
}

/// Whether something has grown from one arrival to a later one.
fn grew(from: &Level, to: &Level, of: fn(&Level) -> u64) -> bool {
    let least = GROWTH_MIN * (to.came - from.came) as f64;
    let queued = |level: &Level| level.queued(of(level)) as f64;
    // Fewer drives that are busy are no more that wait.
    let [all, queue] = [of(to) as f64 - of(from) as f64, queued(to) - queued(from)];
    all.min(queue) >= least.max(1.0)
}
