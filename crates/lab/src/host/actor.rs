//! A process as it is now, and an application that it starts.

use std::sync::Arc;

use nearslot_core::pages::PAGE;
use nearslot_core::rng::Rng;
use nearslot_core::units::{Duration, Instant};

use super::found::{Found, Times};
use super::read_ahead::Window;
use super::startup::Startup;

/// A process.
pub(super) struct Actor {
    /// Its description.
    pub(super) told: usize,
    pub(super) name: String,
    pub(super) stream: u32,
    pub(super) file: usize,
    pub(super) rng: Rng,
    pub(super) window: Window,
    /// The page that comes next in a row.
    pub(super) at: u64,
    /// The step, and how often it is still to be done.
    pub(super) step: usize,
    pub(super) left: Option<u64>,
    pub(super) doing: Doing,
    /// An application that it starts.
    pub(super) starting: Option<Box<Starting>>,
    /// What it has computed and not slept for.
    pub(super) computed: Duration,
    /// Pages that it dirtied since it last looked at the limits, and what it owes for them.
    pub(super) soiled: u64,
    pub(super) owed: Duration,
    /// It may not read or write before.
    pub(super) paid_until: Instant,
    pub(super) began: Option<Instant>,
    pub(super) round_began: Instant,
    pub(super) ended: Option<Instant>,
    pub(super) found: Found,
}

/// What a process is about to do, or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// The next step.
    Choose,
    /// The next round, when it is time.
    Round,
    /// It reads up to `end` of its file, from `page` on.
    Read { page: u64, end: u64 },
    /// It writes there.
    Write { page: u64, end: u64 },
    /// It is held for what it has written; it looks at the limits again when it wakes, if so told.
    Held { again: bool, page: u64, end: u64 },
    /// It goes on starting an application.
    Start,
}

impl Actor {
    pub(super) fn new(told: usize, (name, stream): (String, u32), file: usize, rng: Rng) -> Actor {
        Actor {
            told,
            name,
            stream,
            file,
            rng,
            window: Window::default(),
            at: 0,
            step: 0,
            left: None,
            doing: Doing::Round,
            starting: None,
            computed: Duration(0),
            soiled: 0,
            owed: Duration(0),
            paid_until: Instant::ZERO,
            began: None,
            round_began: Instant::ZERO,
            ended: None,
            found: Found::default(),
        }
    }

    /// How long it has been there by `now`, until it ended at most.
    pub(super) fn lived(&self, now: Instant) -> Duration {
        let end = self.ended.unwrap_or(now);
        self.began
            .filter(|began| *began <= end)
            .map_or(Duration(0), |began| end.since(began))
    }

    /// Times by `now` at which it was to begin a round, which it may every so often, and so many times
    /// if that is said. A round that is under way counts once it is late.
    pub(super) fn times(&self, (every, rounds): (Duration, Option<u64>), now: Instant) -> Times {
        let mut times = self.found.times;
        let has_begun = self.began.is_some_and(|began| began <= now);
        let under_way = has_begun && self.ended.is_none() && self.round_began <= now;
        if under_way && now.since(self.round_began) > every {
            let last = rounds == Some(self.found.rounds + 1);
            times.past(now.since(self.round_began), every, last);
        }
        times
    }

    /// What comes behind a step, or behind something that a start-up waited for.
    pub(super) fn go_on(&mut self) {
        self.doing = match self.starting {
            Some(_) => Doing::Start,
            None => Doing::Choose,
        };
    }
}

/// How far a start-up has come.
pub(super) struct Starting {
    pub(super) startup: Arc<Startup>,
    pub(super) next: usize,
    /// Whether the process has computed what it computes before that.
    pub(super) thought: bool,
    /// The stream of its first process; the others follow.
    pub(super) first_stream: u32,
    /// Requests ahead that are on their way, by process.
    pub(super) ahead: Vec<u64>,
    /// Whether it waits for these.
    pub(super) waits: bool,
    /// When it began, and how many requests of the process had failed by then.
    pub(super) began: Instant,
    pub(super) failed_before: u64,
}

/// Pages of so many blocks.
pub(super) fn pages_of(blocks: u64) -> u64 {
    blocks.div_ceil(PAGE)
}
