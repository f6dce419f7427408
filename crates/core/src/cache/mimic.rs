//! Mimic: what is brought beforehand waits apart; of the rest it keeps what that of five models
//! would keep whose misses have cost least lately.
//!
//! Modern policies lose in response time where somebody prefetches. What nobody has asked for yet
//! looks to them like what nobody wants: it goes first, is read again, and the drives are busy with
//! that. What was read on the way of a sequence looks to others like what will come back. SARC
//! keeps sequences apart, but the rest is plain LRU for it, so that scans and what is asked for
//! once push out what is popular. And which of the modern ones is right for the rest depends on the
//! load.
//!
//! *Apart.* A line that is brought beforehand goes *ahead*: nobody has asked for it, nor written
//! it. When somebody does, it goes *behind* for a while, since a sequence is told from chance by
//! the tracks that it has just left; then it counts as asked for. Lines that are ahead for much
//! longer than such lines wait on average belong to sequences that have ended, or to none: they
//! leave first. How long that is goes with how many of them are asked for at all, so false
//! sequences do not fill a cache. If lines are asked for as soon as they have come, the drives are
//! at their limit: then lines stay longer, as nothing should be read twice.
//!
//! *Models.* LIRS, ARC and S3-FIFO, and LIRS and ARC once more that hear nothing of sequences. Each
//! is asked what the cache is asked, and has as much room as the cache has for what is not apart. A
//! line that is read and that a model misses costs it 16; 1 if it follows the line that the model
//! missed before, since the drive is there already. Alone, as `hitrate` has it, nobody knows where
//! lines lie, and all misses cost the same. A write costs nothing: it goes to the drives in any
//! case. What was ahead in time costs nothing either, but what came late does. Costs are halved
//! with time. Who has cost least is mimicked: what leaves is what he has let go, the longest ago
//! first, so the cache becomes what his would be. That is how adaptive caches work (Subramanian and
//! others, who take two policies and count misses); here the misses are weighed, and sequences stay
//! out of it.
//!
//! *When it loses.* In a short run, or soon after the load has changed: it has to see what is
//! cheaper, and then to fetch what the other one has kept. Where a policy is best that is none of
//! the five. Where drives are at their limit and a large file is read over and over, by 8 to 21 %:
//! each group of a false sequence that is brought holds up the others, and nothing that a cache is
//! told says so. Where large objects are popular and false sequences bring much behind them, by 18
//! %. Where memory is dearer than drives: it knows five caches.
//!
//! *Cost.* O(1) amortised. About five policies' time: alone ten times that of LRU where most lines
//! are missed, in a stack with a prefetcher two thirds more for a request. 41 bytes for each line
//! that was ever asked for (LRU 4, SARC 13), and 90 to 230 for each that is there. All in integers
//! but for ARC's border, which is sums and quotients of doubles. Lines are taken for whole.

use std::collections::VecDeque;

use super::in_memory::KNOBS;
use super::queues::Queues;
use super::{arc, lirs, s3_fifo};
use crate::contract::{Cache, Entering, Pattern, Why};
use crate::ids::Line;
use crate::measure::{Measure, Tell};
use crate::pages::CACHE_COUNTS;
use crate::registry::{CacheEnv, ConfigError, Spec, joined};

/// Whom it may mimic, and whether he hears of sequences. The first is mimicked until another one
/// has cost less.
static MODELS: [(&Spec<dyn Cache>, bool); 5] = [
    (&lirs::SPEC, true),
    (&arc::SPEC, true),
    (&s3_fifo::SPEC, true),
    (&lirs::SPEC, false),
    (&arc::SPEC, false),
];

/// Bits of a line. It is in memory.
const HERE: u8 = 1;
/// The lowest of bits, one for each model: the line is among those that it has let go.
const LISTED: u32 = 1;

/// Lines apart: brought, and not asked for yet.
const AHEAD: usize = 0;
/// Those of a sequence that were asked for a short time ago.
const BEHIND: usize = 1;

/// What a miss costs for which a drive has to go somewhere, where one for the next line costs 1.
pub(super) const AWAY: u64 = 16;
/// Requests after which costs are halved, for each line of the cache, and at least.
const HALF_LIFE: u64 = 2;
const HALF_LIFE_MIN: u64 = 4_096;
/// Another model is mimicked if it has cost less by more than one part in so many.
pub(super) const CLEARLY: u64 = 256;
/// After so many requests it is looked who has cost least.
pub(super) const LOOK: u64 = 64;
/// Of what is asked for within so many requests after it has come, somebody was waiting.
pub(super) const LATE: u64 = 16;
/// Shares are counted in parts of this.
pub(super) const ALL: u64 = 1 << 16;

/// How long lines stay apart, from how long they have waited.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    capacity: u64,
    /// Requests between a line's coming and being asked for, on average, in parts of 256, of those
    /// that were in time.
    mean: u64,
    /// The share of lines that were asked for in the end, of those that were not late.
    useful: u64,
    /// The share of lines that were late, of those that were asked for.
    late: u64,
}

impl Patience {
    pub(super) fn new(capacity: usize) -> Patience {
        Patience {
            capacity: capacity as u64,
            mean: 0,
            useful: ALL,
            late: 0,
        }
    }

    /// A line was asked for that had been ahead for so many requests. Whether it was late.
    pub(super) fn asked(&mut self, waited: u64) -> bool {
        let is_late = waited <= LATE;
        self.late -= self.late / 256;
        if is_late {
            self.late += ALL / 256;
        } else {
            self.mean = self.mean - self.mean / 64 + waited * 4;
            self.useful = self.useful - self.useful / 64 + ALL / 64;
        }
        is_late
    }

    /// A line was ahead for too long.
    pub(super) fn in_vain(&mut self) {
        self.useful -= self.useful / 64;
    }

    /// For how many requests lines stay ahead.
    pub(super) fn ahead(&self) -> u64 {
        let own = (8 * (self.mean / 256) * self.useful) / ALL + self.capacity / 2;
        own * (ALL + 8 * self.late) / ALL
    }

    /// For how many requests they stay behind.
    pub(super) fn behind(&self) -> u64 {
        self.mean / 256 * 3 / 2
    }
}

/// How many lines may be ahead, and behind, of so many.
pub(super) fn most(capacity: usize) -> [usize; 2] {
    [capacity * 3 / 4, capacity / 8]
}

/// Entries of a list of what a model has let go, beyond which it is looked through.
pub(super) fn listed_most(capacity: usize) -> usize {
    2 * capacity + 64
}

/// A policy that is asked the same, and what its misses have cost.
struct Model {
    cache: Box<dyn Cache>,
    sequences: bool,
    cost: u64,
    /// The line behind the one that it missed last.
    next: u32,
    /// What it has let go, the longest ago first. All that is in memory, not apart, and not kept by
    /// it is among them, once.
    gone: VecDeque<Line>,
    /// Its bit.
    listed: u8,
}

impl Model {
    fn charge(&mut self, line: Line, neighbours: bool) {
        let follows = neighbours && line.0 == self.next;
        self.cost += if follows { 1 } else { AWAY };
        self.next = line.0 + 1;
    }

    /// A line that it does not keep is among those that it has let go, if it is in memory.
    fn list(&mut self, marks: &mut [u8], line: Line, most: usize) {
        let mark = &mut marks[line.index()];
        if *mark & HERE == 0 || *mark & self.listed != 0 {
            return;
        }
        *mark |= self.listed;
        self.gone.push_back(line);
        if self.gone.len() > most {
            let Model {
                cache,
                gone,
                listed,
                ..
            } = self;
            gone.retain(|line| {
                let mark = &mut marks[line.index()];
                let stays = *mark & HERE != 0 && !cache.holds(*line);
                *mark &= if stays { u8::MAX } else { !*listed };
                stays
            });
        }
    }
}

struct Mimic {
    /// Whether lines whose numbers follow each other lie behind each other.
    neighbours: bool,
    models: Vec<Model>,
    /// The model that is mimicked.
    leader: usize,
    capacity: usize,
    /// By line.
    marks: Vec<u8>,
    /// Lines that are in memory.
    here: usize,
    apart: Queues<2>,
    /// By line: when it came to where it is apart.
    stamps: Vec<u64>,
    /// Requests so far.
    clock: u64,
    patience: Patience,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    changes: u64,
    deaf: u64,
    in_vain: u64,
}

impl Mimic {
    fn new(env: &CacheEnv, models: Vec<Model>) -> Mimic {
        let capacity = env.capacity as usize;
        Mimic {
            neighbours: env.neighbours,
            models,
            leader: 0,
            capacity,
            marks: Vec::new(),
            here: 0,
            apart: Queues::new(),
            stamps: Vec::new(),
            clock: 0,
            patience: Patience::new(capacity),
            counts: Counts::default(),
        }
    }

    /// A model lets a line go; false if it has none.
    fn let_go(&mut self, model: usize, incoming: Line) -> bool {
        let left = self.models[model].cache.leave(incoming);
        if let Some(line) = left {
            let most = listed_most(self.capacity);
            self.models[model].list(&mut self.marks, line, most);
        }
        self.see_off(model);
        left.is_some()
    }

    /// What a model has let go by itself.
    fn see_off(&mut self, model: usize) {
        let most = listed_most(self.capacity);
        let one = &mut self.models[model];
        while let Some(line) = one.cache.left() {
            one.list(&mut self.marks, line, most);
        }
    }

    /// A line that a model does not keep enters it. It has as much room as is left for what is not
    /// apart.
    fn admit(&mut self, model: usize, line: Line) {
        let apart = self.apart.len(AHEAD) + self.apart.len(BEHIND);
        let room = self.capacity.saturating_sub(apart).max(1);
        self.models[model].cache.resize(room as u32);
        while self.models[model].cache.len() >= room && self.let_go(model, line) {}
        self.models[model].cache.enter(line);
        self.see_off(model);
    }

    /// Models are asked for a line, which is part of a sequence or not; who misses it pays if that
    /// `costs`.
    fn ask(&mut self, line: Line, sequential: bool, costs: bool) {
        for model in 0..self.models.len() {
            let one = &mut self.models[model];
            if one.cache.holds(line) {
                one.cache.hit(line);
                self.see_off(model);
                continue;
            }
            if costs {
                one.charge(line, self.neighbours);
            }
            if one.sequences || !sequential {
                one.cache.miss(line);
                self.admit(model, line);
            }
        }
        self.clock += 1;
        self.counts.deaf += u64::from(!self.models[self.leader].sequences);
        self.compare();
    }

    /// Now and then it is looked who has cost least, and costs are forgotten.
    fn compare(&mut self) {
        if self.clock.is_multiple_of(forgets(self.capacity)) {
            for model in &mut self.models {
                model.cost = remembered(model.cost);
            }
        }
        if self.clock.is_multiple_of(LOOK) {
            let costs = self.models.iter().map(|model| model.cost);
            let least = costs.enumerate().min_by_key(|(_, cost)| *cost);
            let (best, least) = least.expect("there are models");
            let own = self.models[self.leader].cost;
            if own - least > own / CLEARLY {
                self.leader = best;
                self.counts.changes += 1;
            }
        }
    }

    /// A line is put ahead, or behind.
    fn put(&mut self, queue: usize, line: Line) {
        self.stamps[line.index()] = self.clock;
        self.apart.renew(queue, line);
    }

    /// A line that is in memory is asked for, by a read or not.
    fn asked(&mut self, line: Line, read: bool) {
        let apart = self.apart.of(line);
        let mut costs = apart.is_none();
        if apart == Some(AHEAD) {
            costs = self.patience.asked(self.clock - self.stamps[line.index()]);
            self.put(BEHIND, line);
        }
        self.ask(line, apart.is_some(), read && costs);
    }

    /// The oldest line that is behind, or else ahead, if it has been there for too long or there
    /// are too many.
    fn outstays(&mut self) -> Option<(usize, Line)> {
        let limits = [self.patience.ahead(), self.patience.behind()];
        let most = most(self.capacity);
        [BEHIND, AHEAD].into_iter().find_map(|queue| {
            let line = self.apart.first(queue)?;
            let age = self.clock - self.stamps[line.index()];
            let is_over = age > limits[queue] || self.apart.len(queue) > most[queue];
            is_over.then_some((queue, line))
        })
    }

    /// A line is apart no longer. Whether it leaves, as the leader does not keep it.
    fn rejoin(&mut self, queue: usize, line: Line) -> bool {
        if queue == AHEAD {
            self.patience.in_vain();
            self.counts.in_vain += 1;
        }
        self.apart.take(line);
        let leaves = !self.models[self.leader].cache.holds(line);
        if !leaves {
            let most = listed_most(self.capacity);
            for model in &mut self.models {
                if !model.cache.holds(line) {
                    model.list(&mut self.marks, line, most);
                }
            }
        }
        leaves
    }

    /// The line that the leader has let go longest ago, of those that are there and not apart.
    fn gone(&mut self) -> Option<Line> {
        let one = &mut self.models[self.leader];
        while let Some(line) = one.gone.pop_front() {
            let mark = &mut self.marks[line.index()];
            *mark &= !one.listed;
            if *mark & HERE != 0 && !one.cache.holds(line) && self.apart.of(line).is_none() {
                return Some(line);
            }
        }
        None
    }

    fn victim(&mut self, incoming: Line) -> Option<Line> {
        while let Some((queue, line)) = self.outstays() {
            if self.rejoin(queue, line) {
                return Some(line);
            }
        }
        loop {
            if let Some(line) = self.gone() {
                return Some(line);
            }
            if !self.let_go(self.leader, incoming) {
                return self.apart.pop(BEHIND).or_else(|| self.apart.pop(AHEAD));
            }
        }
    }
}

/// After so many requests a part of all costs is forgotten, in a cache of so many lines.
pub(super) fn forgets(capacity: usize) -> u64 {
    (HALF_LIFE * capacity as u64).max(HALF_LIFE_MIN) / 16
}

/// What is not: the sixteenth time, half is left.
pub(super) fn remembered(cost: u64) -> u64 {
    cost - cost / 24
}

impl Cache for Mimic {
    fn reserve(&mut self, lines: u32) {
        let count = self.marks.len().max(lines as usize);
        self.marks.resize(count, 0);
        self.stamps.resize(count, 0);
        self.apart.reserve(lines);
        for model in &mut self.models {
            model.cache.reserve(lines);
        }
    }

    fn holds(&self, line: Line) -> bool {
        self.marks[line.index()] & HERE != 0
    }

    fn len(&self) -> usize {
        self.here
    }

    fn hit(&mut self, line: Line) {
        self.asked(line, true);
    }

    fn hit_by_write(&mut self, line: Line) {
        self.asked(line, false);
    }

    fn leave(&mut self, incoming: Line) -> Option<Line> {
        let line = self.victim(incoming)?;
        self.marks[line.index()] &= !HERE;
        self.here -= 1;
        Some(line)
    }

    fn enter(&mut self, line: Line) {
        self.enter_as(line, Entering::BY_ITSELF);
    }

    fn enter_as(&mut self, line: Line, entering: Entering) {
        self.marks[line.index()] |= HERE;
        self.here += 1;
        if entering.why == Why::Brought {
            self.put(AHEAD, line);
            return;
        }
        let sequential = entering.pattern == Pattern::Sequential;
        if sequential {
            self.put(BEHIND, line);
        }
        self.ask(line, sequential, entering.why == Why::Missed);
    }

    fn expect(&mut self, line: Line) {
        self.put(AHEAD, line);
    }

    fn tell(&self, tell: Tell<'_>) {
        let Counts {
            changes,
            deaf,
            in_vain,
        } = self.counts;
        for (measure, number) in OWN_MEASURES.iter().zip([changes, deaf, in_vain]) {
            tell(measure, number);
        }
    }

    fn audit(&self) {
        self.apart.audit();
        let lines = (0..self.marks.len() as u32).map(Line);
        let here = lines.filter(|line| self.holds(*line)).inspect(|line| {
            for model in &self.models {
                let is_listed = self.marks[line.index()] & model.listed != 0;
                let is_known = is_listed || model.cache.holds(*line);
                assert!(
                    is_known || self.apart.of(*line).is_some(),
                    "{line:?} is there for nobody"
                );
            }
        });
        assert_eq!(here.count(), self.here, "lines that are there");
        for model in &self.models {
            model.cache.audit();
        }
    }
}

const OWN_MEASURES: [Measure; 3] = [
    Measure::count(
        "changes",
        "times",
        "another policy was mimicked from then on",
    ),
    Measure::count(
        "led_without_sequences",
        "lines",
        "lines that were asked for while a policy was mimicked that hears nothing of sequences",
    ),
    Measure::count(
        "ahead_in_vain",
        "lines",
        "lines that were brought beforehand and waited too long",
    ),
];

static MEASURES: [Measure; CACHE_COUNTS.len() + 3] = joined(OWN_MEASURES, CACHE_COUNTS);

/// The policies that it may mimic.
fn models(env: &CacheEnv) -> Result<Vec<Model>, ConfigError> {
    let numbered = MODELS.iter().enumerate();
    let made = numbered.map(|(number, (spec, sequences))| {
        let knobs = spec.card().check(&[])?;
        Ok(Model {
            cache: (spec.build)(&knobs, env)?,
            sequences: *sequences,
            cost: 0,
            next: u32::MAX,
            gone: VecDeque::new(),
            listed: 1 << (LISTED + number as u32),
        })
    });
    made.collect()
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "mimic",
    aliases: &[],
    summary: "what is brought beforehand waits apart; of the rest it keeps what the cheapest of five policies would keep",
    source: "ours; after Subramanian, Smaragdakis and Loh, Adaptive caches: effective shaping of cache behavior to workloads, MICRO 2006",
    knobs: KNOBS,
    measures: &MEASURES,
    asks: &["prefetch"],
    prepared: false,
    promises: "",
    build: |_, env| Ok(Box::new(Mimic::new(env, models(env)?))),
};
