//! What a choice costs: prices of places, counted. Expanding costs one for each place; the search
//! by track at most one for each track.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use nearslot_core::contract::{Arm, Geometry, Next, Oracle, View};
use nearslot_core::freemap::FreeMap;
use nearslot_core::ids::{IoId, StreamId};
use nearslot_core::io::{Command, Io};
use nearslot_core::offer::{Legal, Offer, OfferId, Offers, Taken};
use nearslot_core::op::Op;
use nearslot_core::position::{
    ArmPosition, Arrival, Candidate, Choice, FreePlace, Landing, Place, Predicted, Search,
};
use nearslot_core::rng::Rng;
use nearslot_core::search::offered::by_track;
use nearslot_core::sorted::Sorted;
use nearslot_core::stream::Streams;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

use crate::support::{DISK, blueprint, scheduler};

/// Blocks of a track.
const TRACK: u64 = 1_000;

/// Tracks of the disk.
const TRACKS: u64 = 4 * 160;

/// An arm that counts the prices that it is asked for.
struct Counting {
    arm: Box<dyn Arm>,
    prices: Cell<u64>,
    /// Where a read would begin its way, if elsewhere than a write.
    reads_from: Option<ArmPosition>,
}

impl Counting {
    fn new() -> Counting {
        let disk = DISK.replace("sectors_per_track = 20", "sectors_per_track = 1000");
        let arm = blueprint(&disk).exact_arm().expect("a disk has an arm");
        Counting {
            arm,
            prices: Cell::new(0),
            reads_from: None,
        }
    }

    /// What is nearest of these blocks, and the prices that were asked for.
    fn search(&self, blocks: Range<u64>, (now, before): (Instant, Instant)) -> (u64, Option<u64>) {
        let offer = Offer::list(vec![blocks], 1).unwrap();
        let taken = Taken::default();
        let legal = Legal::new(&offer, 1, &taken, 0);
        let geometry = self.arm.geometry().expect("a disk has tracks");
        self.prices.set(0);
        let found = by_track(self, geometry, (now, before), &legal);
        (self.prices.get(), found.map(|landing| landing.start.0))
    }
}

impl Oracle for Counting {
    fn locate(&self, at: Pba) -> Place {
        self.arm.locate(at)
    }

    fn positioning_time(&self, now: Instant, op: Op, place: &Place, len: Blocks) -> Duration {
        self.prices.set(self.prices.get() + 1);
        self.arm.positioning_time(now, op, place, len)
    }

    fn service_time(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Duration {
        self.arm.service_time(now, op, at, len)
    }

    fn nearest(&self, now: Instant, waiting: &Sorted<Candidate>) -> Option<Choice> {
        self.arm.nearest(now, waiting)
    }

    fn nearest_free(&self, search: &Search, free: &FreeMap) -> Option<FreePlace> {
        self.arm.nearest_free(search, free)
    }

    fn nearest_offered(&self, now: Instant, before: Instant, legal: &Legal<'_>) -> Option<Landing> {
        self.arm.nearest_offered(now, before, legal)
    }

    fn arm(&self) -> Option<&dyn Arm> {
        Some(self)
    }

    fn started(&mut self, now: Instant, command: &Command) {
        self.arm.started(now, command);
    }
}

impl Arm for Counting {
    fn position(&self) -> ArmPosition {
        self.reads_from.unwrap_or_else(|| self.arm.position())
    }

    fn writes_from(&self) -> ArmPosition {
        self.arm.writes_from()
    }

    fn geometry(&self) -> Option<&dyn Geometry> {
        self.arm.geometry()
    }

    fn seek_at_least(&self, distance: u32) -> Duration {
        self.arm.seek_at_least(distance)
    }

    fn seek_time(&self, now: Instant, op: Op, to: ArmPosition, len: Blocks) -> Duration {
        self.arm.seek_time(now, op, to, len)
    }

    fn predict(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Predicted {
        self.arm.predict(now, op, at, len)
    }

    fn positioning_time_after(&self, access: &Predicted, op: Op, place: &Place) -> Duration {
        self.arm.positioning_time_after(access, op, place)
    }

    fn seek_at_least_after(&self, distance: u32) -> Duration {
        self.arm.seek_at_least_after(distance)
    }

    fn angle_on_arrival(
        &self,
        now: Instant,
        late: i64,
        to: ArmPosition,
        len: Blocks,
    ) -> Option<Arrival> {
        self.arm.angle_on_arrival(now, late, to, len)
    }
}

#[test]
fn a_track_costs_one_price_however_many_places_it_has() {
    let arm = Counting::new();
    let mut rng = Rng::stream(1, "prices");
    let mut sum = 0;
    for _ in 0..64 {
        let begin = rng.below(TRACKS) * TRACK;
        let now = Instant(rng.below(1_000_000_000));
        let (prices, found) = arm.search(begin..begin + TRACK, (now, Instant::NEVER));
        assert!(found.is_some());
        sum += prices;
    }
    // Expanded, these are 64,000 places.
    assert_eq!(sum, 64);
}

#[test]
fn a_search_costs_at_most_a_price_a_track_and_stops_where_the_seek_alone_takes_longer() {
    let arm = Counting::new();
    let mut rng = Rng::stream(2, "prices");
    let (mut tracks_of_all, mut prices_of_all, mut bounded_of_all) = (0, 0, 0);
    for _ in 0..2_000 {
        let tracks = 1 + rng.below(rng.clone().below(TRACKS) + 1);
        let begin = rng.below(TRACKS - tracks + 1) * TRACK;
        let now = Instant(rng.below(1_000_000_000));
        let offered = begin..begin + tracks * TRACK;
        let (prices, found) = arm.search(offered.clone(), (now, Instant::NEVER));
        assert!(prices <= tracks, "{prices} prices of {tracks} tracks");
        // Another write is known to begin at that instant: nothing can be better.
        let start = found.expect("something is offered");
        let (bounded, none) = arm.search(offered, (now, Instant(start)));
        assert_eq!(none, None);
        tracks_of_all += tracks;
        prices_of_all += prices;
        bounded_of_all += bounded;
    }
    let of_all = (tracks_of_all, prices_of_all, bounded_of_all);
    assert!(prices_of_all * 20 < tracks_of_all, "{of_all:?}");
    assert!(bounded_of_all <= prices_of_all, "{of_all:?}");
}

/// A drive that gathers writes has its arm elsewhere for a write than for a read, and it is the
/// writes that are asked how far they are.
#[test]
fn how_far_an_offer_is_counts_from_where_writes_begin() {
    let far = ArmPosition {
        cylinder: 159,
        surface: 0,
    };
    let mut rng = Rng::stream(3, "prices");
    for _ in 0..200 {
        let mut offers = Offers::default();
        let mut scheduler = scheduler("satf", &*blueprint(DISK));
        let mut arm = Counting::new();
        let mut nearest = Vec::new();
        for (number, cylinder) in [rng.below(8), 20 + rng.below(130)].into_iter().enumerate() {
            let begin = cylinder * 4 * TRACK;
            let range = begin..begin + 4 * TRACK;
            let offer = Arc::new(Offer::list(std::iter::once(range.clone()).collect(), 1).unwrap());
            let io = waiting(number as u32, offers.make(offer, 1, 0), &arm, begin);
            scheduler.insert(Instant::ZERO, &io, &Streams::default());
            nearest.push(arm.search(range, (Instant::ZERO, Instant::NEVER)).1);
        }
        arm.reads_from = Some(far);
        let view = View {
            now: Instant::ZERO,
            oracle: &arm,
            capacity: Blocks(TRACKS * TRACK),
            free: None,
            offers: offers.within(None),
            in_flight: 0,
            depth: 1,
        };
        let first = u32::from(nearest[1] < nearest[0]);
        let next = scheduler.next(&view);
        assert!(
            matches!(next, Next::Land(IoId(id), _) if id == first),
            "{next:?}"
        );
    }
}

/// A range write that waits.
fn waiting(id: u32, offer: OfferId, arm: &Counting, at: u64) -> Io {
    Io {
        id: IoId(id),
        sequence: u64::from(id),
        stream: StreamId(0),
        op: Op::Write,
        at: Pba(at),
        open: false,
        offer: Some(offer),
        len: Blocks(1),
        arrived: Instant::ZERO,
        priority: 0,
        place: arm.locate(Pba(at)),
        fua: false,
        sync: false,
    }
}
