//! Two ways to choose among all places, decision by decision: `satf` goes by track, `expand` puts
//! every place into its queue.
//!
//! Random queues of reads, writes and range writes, over disks of every layout: zones, skews, heads
//! in turns, sectors that are skipped and sectors that lie elsewhere. And what the search by track
//! costs: prices are counted.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use nearslot_core::contract::{Blueprint, Next, Oracle, Scheduler, View};
use nearslot_core::ids::{IoId, StreamId};
use nearslot_core::io::{Command, DriveDone, Io};
use nearslot_core::offer::{Offer, OfferId, Offers, Writable};
use nearslot_core::op::{Cost, Op, Status};
use nearslot_core::rng::Rng;
use nearslot_core::stream::Streams;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};
use nearslot_core::zones::{ZoneShape, Zones};

use crate::conformance::drives::SSD;
use crate::reference::hdd::drive_of;
use crate::support::{
    DISK, NULL, blueprint, complete_disk, hoarding_disk, late_disk, scheduler, sorting_disk,
};

/// What was decided: which I/O, and where it begins; nowhere if nothing is left of what it offers.
type Decision = (IoId, Option<Pba>);

/// How often what the tests are about has happened.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    ordinary: u64,
    landed: u64,
    exhausted: u64,
    again: u64,
}

/// One queue under two schedulers, and the drive as one oracle knows it.
struct Two {
    schedulers: [Box<dyn Scheduler>; 2],
    oracle: Box<dyn Oracle>,
    capacity: u64,
    offers: Offers,
    /// How far zones are written, if it has some. Ordinary writes go past them here.
    zones: Option<Zones>,
    /// I/Os by their names.
    ios: Vec<Io>,
    /// Those that wait.
    waiting: Vec<IoId>,
    /// Range writes that have landed and not ended.
    under_way: VecDeque<OfferId>,
    now: Instant,
    rng: Rng,
    counts: Counts,
}

impl Two {
    fn new(names: [&str; 2], blueprint: &dyn Blueprint, seed: u64) -> Two {
        Two {
            schedulers: names.map(|name| scheduler(name, blueprint)),
            oracle: blueprint.exact(),
            capacity: blueprint.capacity().0,
            offers: Offers::default(),
            zones: None,
            ios: Vec::new(),
            waiting: Vec::new(),
            under_way: VecDeque::new(),
            now: Instant::ZERO,
            rng: Rng::stream(seed, "choice"),
            counts: Counts::default(),
        }
    }

    /// The same with some twenty zones.
    fn on_zones(names: [&str; 2], blueprint: &dyn Blueprint, seed: u64) -> Two {
        let blocks = (blueprint.capacity().0 / 20).max(1);
        let shape = ZoneShape {
            blocks,
            capacity: blocks,
            conventional: 0,
            zones: (blueprint.capacity().0 / blocks) as u32,
            append_max: u64::MAX,
        };
        Two {
            zones: Some(Zones::new(shape)),
            ..Two::new(names, blueprint, seed)
        }
    }

    /// A zone is reset.
    fn reset(&mut self) {
        let Some(zones) = &mut self.zones else {
            return;
        };
        let shape = *zones.shape();
        let zone = self.rng.below(shape.zones.into()) as u32;
        zones.close(&(zone..zone + 1));
        zones.reset(&(zone..zone + 1));
        self.offers
            .free(&(shape.begin(zone)..shape.begin(zone + 1)));
    }

    fn insert(&mut self, op: Op, at: u64, len: u64, offer: Option<OfferId>) {
        let id = IoId(self.ios.len() as u32);
        let io = Io {
            id,
            sequence: self.ios.len() as u64,
            stream: StreamId(0),
            op,
            at: Pba(at),
            open: false,
            offer,
            len: Blocks(len),
            arrived: self.now,
            priority: 0,
            place: self.oracle.locate(Pba(at)),
            fua: false,
            sync: op == Op::Read,
        };
        self.ios.push(io);
        self.waiting.push(id);
        for scheduler in &mut self.schedulers {
            scheduler.insert(self.now, &io, &Streams::default());
        }
    }

    /// Something arrives: a read, a write, or a range write.
    fn arrive(&mut self) {
        let len = 1 + self.rng.below(6);
        if self.rng.chance(0.3) {
            let at = self.rng.below(self.capacity - len);
            let op = if self.rng.chance(0.5) {
                Op::Read
            } else {
                Op::Write
            };
            return self.insert(op, at, len, None);
        }
        let ranges = self.ranges();
        let align = 1 + self.rng.below(4);
        let Ok(offer) = Offer::list(ranges, align) else {
            return;
        };
        let told = self.offers.taken().completions();
        let epoch = told - self.rng.below(8).min(told);
        if self
            .offers
            .check(&offer, len, epoch, (self.capacity, u64::MAX))
            .is_err()
        {
            return;
        }
        let hint = offer.first(0, u64::MAX, len).expect("it was checked");
        let offer = self.offers.make(Arc::new(offer), len, epoch);
        self.insert(Op::Write, hint, len, Some(offer));
    }

    /// Few blocks, some tracks, or all; often the same for many, so that they take them from each
    /// other.
    fn ranges(&mut self) -> Vec<Range<u64>> {
        let rng = &mut self.rng;
        let longest = [3, 20, 100, self.capacity.min(500)][rng.below(4) as usize];
        let within = [10, self.capacity][rng.below(2) as usize];
        let apart = [20, self.capacity / 4][rng.below(2) as usize];
        let mut at = rng.below(within);
        let mut ranges = Vec::new();
        for _ in 0..=rng.below(4) {
            let begin = at + rng.below(apart);
            at = (begin + 1 + rng.below(longest)).min(self.capacity);
            if begin >= at {
                break;
            }
            ranges.push(begin..at);
        }
        ranges
    }

    /// What both decide, which is the same.
    fn decide(&mut self) -> Option<Decision> {
        self.oracle.advance(self.now);
        let zones = self.zones.as_ref();
        let writable = zones.map(|zones| zones as &dyn Writable);
        let view = View {
            now: self.now,
            oracle: &*self.oracle,
            capacity: Blocks(self.capacity),
            free: None,
            offers: self.offers.within(writable),
            in_flight: 0,
            depth: 1,
        };
        let ios = &self.ios;
        let [one, other] = self.schedulers.each_mut().map(|scheduler| {
            let decided = match scheduler.next(&view) {
                Next::Start(id) => match ios[id.index()].offer {
                    None => Some((id, Some(ios[id.index()].at))),
                    Some(offer) => {
                        assert!(view.offers.legal(offer).is_empty(), "{id:?} has a place");
                        Some((id, None))
                    }
                },
                Next::Land(id, at) => Some((id, Some(at))),
                Next::Empty => None,
                other => panic!("{other:?}"),
            };
            (decided, scheduler.len())
        });
        assert_eq!(one, other, "they choose otherwise at {}", self.now);
        one.0
    }

    /// One decision, and what follows from it.
    fn step(&mut self) -> bool {
        let Some((id, at)) = self.decide() else {
            return false;
        };
        self.waiting.retain(|waiting| *waiting != id);
        let io = self.ios[id.index()];
        let Some(at) = at else {
            self.counts.exhausted += 1;
            self.offers.end(io.offer.expect("it is a range write"));
            return true;
        };
        self.run(&io, at);
        match io.offer {
            None => self.counts.ordinary += 1,
            Some(offer) => self.land(&io, offer, at.0),
        }
        true
    }

    fn land(&mut self, io: &Io, offer: OfferId, at: u64) {
        self.offers.land(offer, at);
        self.counts.landed += 1;
        // Some turn out to be bad, and are put somewhere else.
        if self.rng.chance(0.1) && self.offers.retry(offer) {
            self.counts.again += 1;
            return self.insert(Op::Write, io.at.0, io.len.0, Some(offer));
        }
        self.under_way.push_back(offer);
        if self.rng.chance(0.7) {
            let ended = self.under_way.pop_front().expect("there is one");
            self.offers.end(ended);
        }
    }

    fn run(&mut self, io: &Io, at: Pba) {
        let (id, op, len) = (io.id, io.op, io.len);
        let command = Command {
            io: id,
            op,
            at,
            len,
            fua: false,
        };
        let time = self.oracle.service_time(self.now, op, at, len);
        self.oracle.started(self.now, &command);
        self.now += time + Duration(self.rng.below(2) * self.rng.below(5_000_000));
        let done = DriveDone {
            io: id,
            op,
            at,
            len,
            status: Status::Done,
            cost: Cost::default(),
            arm: None,
        };
        self.oracle.observed(self.now, &done);
        if let Some(zones) = self.zones.as_mut().filter(|_| io.offer.is_some()) {
            assert_eq!(zones.first(at.0, at.0 + 1, len.0), Some(at.0), "no pointer");
            zones.heard(&done);
        }
    }

    /// Somebody does not want it any more.
    fn withdraw(&mut self) {
        let index = self.rng.below(self.waiting.len() as u64) as usize;
        let io = self.ios[self.waiting.swap_remove(index).index()];
        for scheduler in &mut self.schedulers {
            scheduler.withdraw(self.now, &io);
        }
        if let Some(offer) = io.offer {
            self.offers.end(offer);
        }
    }

    fn churn(&mut self, rounds: u64) -> Counts {
        for _ in 0..rounds {
            for _ in 0..self.rng.below(6) {
                if self.waiting.len() < 12 {
                    self.arrive();
                }
            }
            if !self.waiting.is_empty() && self.rng.chance(0.1) {
                self.withdraw();
            }
            if self.zones.is_some() && self.rng.chance(0.3) {
                self.reset();
            }
            for _ in 0..self.rng.below(6) {
                self.step();
            }
        }
        self.schedulers
            .iter()
            .for_each(|scheduler| scheduler.audit());
        while self.step() {}
        assert!(self.waiting.is_empty(), "{:?} are left", self.waiting);
        self.counts
    }
}

/// Both choose the same over disks of every layout, and over other drives.
fn choose_the_same(names: [&str; 2], layouts: u64, zoned: bool) {
    let mut sum = Counts::default();
    let mut run = |blueprint: &dyn Blueprint, seed| {
        let new = if zoned { Two::on_zones } else { Two::new };
        let counts = new(names, blueprint, seed).churn(40);
        sum.ordinary += counts.ordinary;
        sum.landed += counts.landed;
        sum.exhausted += counts.exhausted;
        sum.again += counts.again;
    };
    for seed in 0..layouts {
        if let Some((_, blueprint)) = drive_of(seed) {
            run(&blueprint, seed);
        }
    }
    let buffered = [
        complete_disk(),
        hoarding_disk(),
        sorting_disk(),
        late_disk(),
    ];
    let others = [DISK, NULL, SSD];
    let all = others
        .into_iter()
        .chain(buffered.iter().map(String::as_str));
    for (seed, text) in all.enumerate() {
        for round in 0..40 {
            run(&*blueprint(text), seed as u64 + 100 * round);
        }
    }
    assert!(sum.ordinary > 10 * layouts, "{sum:?}");
    assert!(sum.landed > 10 * layouts, "{sum:?}");
    assert!(sum.exhausted > layouts / 4, "{sum:?}");
    assert!(sum.again > layouts / 2, "{sum:?}");
}

#[test]
fn satf_chooses_what_expanding_to_all_places_chooses() {
    choose_the_same(["satf", "expand"], 200, false);
}

#[test]
fn aged_satf_chooses_what_expanding_to_all_places_chooses() {
    choose_the_same(["aged_satf", "expand:base=aged_satf"], 100, false);
}

/// Of the pointers of zones, which others move meanwhile.
#[test]
fn satf_chooses_among_zones_what_expanding_to_all_pointers_chooses() {
    choose_the_same(["satf", "expand"], 200, true);
}
