//! Expand and cancel: a range write waits as many ordinary ones, one for each place where it may
//! land, and the first that is chosen cancels the others.
//!
//! So any scheduler serves range writes without knowing of them, and chooses as well as it would
//! among all places. The price is the queue: with `n` places each of `m` range writes it holds `n *
//! m` writes, and `n` are put in and taken out for each. `options` expands to so many places a
//! track, equally spaced around it: with eight of them most of the rotational latency is gone.
//!
//! What the source leaves open: the others are cancelled when one is chosen and not when it is
//! done, else two could be under way; a place that another range write takes is cancelled with it;
//! when all options of a write are gone it is expanded once more, to what is left. Where writes go
//! to the pointers of zones, the places of all are others after each write, and all are expanded
//! anew for each decision. Places of which a block is remapped are left out as `satf` leaves them
//! out.
//!
//! Source: Anand and others, "Avoiding file system micromanagement with range writes", OSDI 2008,
//! section 4; `satf` makes the same choices without expanding ([`super::satf`]). Cost: that of
//! `base` with all places waiting, and O(places) for each range write that goes.

use std::ops::Range;

use slab::Slab;

use crate::contract::{Arm, Geometry, Next, OFFERED, Scheduler, View};
use crate::ids::IoId;
use crate::io::Io;
use crate::measure::{Measure, Tell};
use crate::offer::{Legal, OfferId};
use crate::registry::{ConfigError, DriveEnv, Knob, Knobs, Spec, find};
use crate::search::offered;
use crate::stream::Streams;
use crate::units::{Instant, Pba};

/// Lower bits of a sequence number that tell the places of one range write apart.
const PLACE_BITS: u32 = 24;

/// The most places that range writes may offer: if all places wait in the base, which takes 100 MB;
/// and if a few of each track do, for which they are listed, at eight bytes each.
const ALL_MAX: u64 = 1 << 20;
const LISTED_MAX: u64 = 1 << PLACE_BITS;

pub(super) static MEASURES: [Measure; 1] = [Measure::count(
    "expanded",
    "places",
    "places that range writes were expanded to",
)];

/// Schedulers that go by place alone.
pub(super) const BASES: &[&str] = &[
    "satf",
    "aged_satf",
    "sstf",
    "scan",
    "cscan",
    "look",
    "clook",
    "vscan",
];

/// Which places of a range write wait in the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Places {
    All,
    /// This many on each track.
    OfTrack(u64),
    /// The lowest alone.
    First,
}

/// An ordinary I/O that waits in the base: one of the stack's, or a place of a range write.
struct Entry {
    /// The I/O of the stack.
    of: IoId,
    /// As the base has it.
    io: Io,
}

/// A range write that waits.
#[derive(Clone, Copy)]
struct Parent {
    io: Io,
    offer: OfferId,
    /// Places of it that wait in the base.
    places: usize,
}

struct Expand {
    base: Box<dyn Scheduler>,
    which: Places,
    entries: Slab<Entry>,
    /// Entries of ordinary I/Os, by the names that the stack gives them.
    ordinary: Vec<Option<IoId>>,
    /// Range writes, in order of arrival.
    parents: Vec<Parent>,
    /// Where a write is to be expanded to. Empty between decisions.
    starts: Vec<Pba>,
    /// Entries that are cancelled. Empty between decisions.
    gone: Vec<usize>,
    expanded: u64,
}

impl Expand {
    fn boxed(knobs: &Knobs, env: &DriveEnv<'_>) -> Result<Box<dyn Scheduler>, ConfigError> {
        let which = match knobs.integer("options") {
            0 => Places::All,
            options => Places::OfTrack(options),
        };
        over(knobs.choice("base"), which, env)
    }
}

/// A base of this name, in which these places of range writes wait.
pub(super) fn over(
    base: &str,
    which: Places,
    env: &DriveEnv<'_>,
) -> Result<Box<dyn Scheduler>, ConfigError> {
    let base = find::<dyn Scheduler>(base)?;
    Ok(Box::new(Expand {
        base: (base.build)(&base.card().check(&[])?, env)?,
        which,
        entries: Slab::new(),
        ordinary: Vec::new(),
        parents: Vec::new(),
        starts: Vec::new(),
        gone: Vec::new(),
        expanded: 0,
    }))
}

impl Expand {
    /// Puts an ordinary I/O into the base.
    fn put(&mut self, now: Instant, of: IoId, io: &Io, streams: &Streams) -> IoId {
        let entry = self.entries.vacant_entry();
        let id = IoId(entry.key() as u32);
        let io = Io { id, ..*io };
        entry.insert(Entry { of, io });
        self.base.insert(now, &io, streams);
        id
    }

    /// Puts the places of range writes that have none in the base into it. Gives one of which
    /// nothing is left.
    fn expand(&mut self, view: &View<'_>) -> Option<IoId> {
        for index in 0..self.parents.len() {
            let Parent { io, offer, places } = self.parents[index];
            if places > 0 {
                continue;
            }
            let legal = view.offers.legal(offer);
            let mut starts = std::mem::take(&mut self.starts);
            places_of(&legal, view, self.which, &mut starts);
            for (number, at) in starts.iter().enumerate() {
                let place = Io {
                    sequence: io.sequence << PLACE_BITS | number as u64,
                    at: *at,
                    offer: None,
                    place: view.oracle.locate(*at),
                    ..io
                };
                self.put(view.now, io.id, &place, &Streams::default());
            }
            self.parents[index].places = starts.len();
            self.expanded += starts.len() as u64;
            starts.clear();
            self.starts = starts;
            if self.parents[index].places == 0 {
                return Some(self.parents.remove(index).io.id);
            }
        }
        None
    }

    /// Takes all places of range writes out of the base, as others have come.
    fn fold(&mut self, now: Instant) {
        let mut gone = std::mem::take(&mut self.gone);
        let places = self.entries.iter();
        let places = places.filter(|(_, entry)| !self.is_ordinary(entry));
        gone.extend(places.map(|(key, _)| key));
        for key in gone.drain(..) {
            let entry = self.entries.remove(key);
            self.base.withdraw(now, &entry.io);
        }
        self.gone = gone;
        self.parents.iter_mut().for_each(|parent| parent.places = 0);
    }

    /// A range write goes, and takes these blocks, if any: its other places are cancelled, and
    /// those of others that it covers.
    fn cancel(&mut self, now: Instant, id: IoId, taken: &Range<Pba>) {
        let goes = |entry: &Entry| {
            let own = entry.of == id;
            let (begin, end) = (entry.io.at, entry.io.at + entry.io.len);
            let overlaps = !taken.is_empty() && begin < taken.end && taken.start < end;
            own || overlaps
        };
        let mut gone = std::mem::take(&mut self.gone);
        let places = self.entries.iter();
        let places = places.filter(|(_, entry)| goes(entry) && !self.is_ordinary(entry));
        gone.extend(places.map(|(key, _)| key));
        for key in gone.drain(..) {
            let entry = self.entries.remove(key);
            self.base.withdraw(now, &entry.io);
            if let Some(parent) = self
                .parents
                .iter_mut()
                .find(|parent| parent.io.id == entry.of)
            {
                parent.places -= 1;
            }
        }
        self.gone = gone;
    }

    /// Whether it is no place of a range write.
    fn is_ordinary(&self, entry: &Entry) -> bool {
        self.ordinary.get(entry.of.index()) == Some(&Some(entry.io.id))
    }

    fn parent(&self, id: IoId) -> Option<usize> {
        self.parents.iter().position(|parent| parent.io.id == id)
    }
}

/// Where a range write may begin: everywhere, at so many places a track, or at the first place.
fn places_of(legal: &Legal<'_>, view: &View<'_>, which: Places, out: &mut Vec<Pba>) {
    if which == Places::First {
        return out.extend(legal.first(0, u64::MAX).map(Pba));
    }
    let geometry = view.oracle.arm().and_then(Arm::geometry);
    offered::all(legal, geometry, out);
    if let Places::OfTrack(options) = which {
        thin(geometry, options, out);
    }
}

/// Leaves so many places a track, the first at or behind each of as many equally spaced points of
/// it. Where tracks are not known all blocks count as one.
fn thin(geometry: Option<&dyn Geometry>, options: u64, places: &mut Vec<Pba>) {
    let all = (places.first().copied(), places.last().copied());
    let (Some(first), Some(last)) = all else {
        return;
    };
    let whole = (first, last.0 + 1 - first.0);
    let track = |at: Pba| match geometry {
        None => whole,
        Some(all) => all
            .track(all.position_of(at))
            .map_or(whole, |span| (span.first, span.blocks.0)),
    };
    let mut before = None;
    places.retain(|at| {
        let (begin, blocks) = track(*at);
        // How many points lie at or before it: a place stays if it is the first behind one.
        let points = (at.0 - begin.0) * options / blocks;
        let stays = before != Some((begin, points));
        before = Some((begin, points));
        stays
    });
}

impl Scheduler for Expand {
    fn insert(&mut self, now: Instant, io: &Io, streams: &Streams) {
        if let Some(offer) = io.offer {
            self.parents.push(Parent {
                io: *io,
                offer,
                places: 0,
            });
            return;
        }
        let sequence = io.sequence << PLACE_BITS;
        let id = self.put(now, io.id, &Io { sequence, ..*io }, streams);
        let index = io.id.index();
        if self.ordinary.len() <= index {
            self.ordinary.resize(index + 1, None);
        }
        self.ordinary[index] = Some(id);
    }

    fn places_max(&self) -> u64 {
        match self.which {
            Places::All => ALL_MAX,
            Places::OfTrack(_) => LISTED_MAX,
            Places::First => u64::MAX,
        }
    }

    fn withdraw(&mut self, now: Instant, io: &Io) {
        if io.offer.is_some() {
            let index = self.parent(io.id).expect("what is withdrawn waits");
            self.parents.remove(index);
            return self.cancel(now, io.id, &(io.at..io.at));
        }
        let entry = self.ordinary[io.id.index()].take();
        let entry = entry.expect("what is withdrawn waits");
        let entry = self.entries.remove(entry.index());
        self.base.withdraw(now, &entry.io);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        if view
            .offers
            .writable
            .is_some_and(|writable| writable.moves())
        {
            self.fold(view.now);
        }
        if let Some(exhausted) = self.expand(view) {
            return Next::Start(exhausted);
        }
        let id = match self.base.next(view) {
            Next::Start(id) => id,
            Next::Place(id, slot) => {
                let Entry { of, .. } = self.entries.remove(id.index());
                self.ordinary[of.index()] = None;
                return Next::Place(of, slot);
            }
            other => return other,
        };
        let entry = self.entries.remove(id.index());
        let Entry { of, io } = entry;
        if self.is_ordinary(&entry) {
            self.ordinary[of.index()] = None;
            return Next::Start(of);
        }
        let index = self.parent(of).expect("its range write waits");
        self.parents.remove(index);
        self.cancel(view.now, of, &(io.at..io.at + io.len));
        Next::Land(of, io.at)
    }

    fn len(&self) -> usize {
        let places: usize = self.parents.iter().map(|parent| parent.places).sum();
        self.base.len() - places + self.parents.len()
    }

    fn tell(&self, tell: Tell<'_>) {
        tell(&MEASURES[0], self.expanded);
    }

    fn audit(&self) {
        self.base.audit();
        assert_eq!(self.base.len(), self.entries.len());
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "expand",
    aliases: &["ecs", "expand_and_cancel"],
    summary: "a range write waits once for each place that it offers, and the first that is chosen cancels the others",
    source: "Anand and others, Avoiding file system micromanagement with range writes, OSDI 2008, section 4",
    knobs: &[
        Knob::choice(
            "base",
            "satf",
            BASES,
            "which scheduler chooses among all places",
        ),
        Knob::integer(
            "options",
            0,
            0..=65_536,
            "so many places a track, equally spaced; 0 is all",
        ),
    ],
    measures: &MEASURES,
    asks: &["oracle", OFFERED],
    prepared: false,
    promises: "",
    build: Expand::boxed,
};

#[cfg(test)]
#[expect(
    clippy::single_range_in_vec_init,
    reason = "an offer may have but one range"
)]
mod tests {
    use super::super::desk::Desk;
    use super::super::desk::Did::{Read, Write};

    #[test]
    fn the_first_that_is_chosen_cancels_the_others() {
        // Block 21 passes at 1 ms, when the arm is still on its way; of the others 6 comes first.
        let desk = Desk::new("expand").range_write(&[6..7, 11..12, 16..17, 21..22]);
        assert_eq!(desk.run_all(), [Write(11, 2)]);
        let desk = Desk::new("expand").range_write(&[6..7, 16..17, 21..22]);
        assert_eq!(desk.reads(&[18]).run_all(), [Write(6, 7), Read(18, 9)]);
    }

    #[test]
    fn a_place_that_another_one_takes_is_cancelled_too() {
        let desk = Desk::new("expand")
            .range_write(&[4..6])
            .range_write(&[4..6]);
        assert_eq!(desk.run_all(), [Write(4, 5), Write(5, 6)]);
        let desk = Desk::new("expand")
            .range_write(&[4..5])
            .range_write(&[4..5]);
        assert_eq!(desk.reads(&[60]).run_all(), [Write(4, 5), Read(60, 21)]);
    }

    #[test]
    fn options_are_equally_spaced_around_a_track() {
        // Of ten blocks the first, and the first behind the middle.
        let two = || Desk::new("expand:options=2").wait_ms(1);
        assert_eq!(two().range_write(&[0..10]).run_all(), [Write(5, 6)]);
        assert_eq!(two().range_write(&[2..5, 6..9]).run_all(), [Write(2, 3)]);
        assert_eq!(two().range_write(&[20..40]).run_all(), [Write(25, 6)]);
        let all = Desk::new("expand").wait_ms(1).range_write(&[0..10]);
        assert_eq!(all.run_all(), [Write(1, 2)]);
    }

    #[test]
    fn a_write_whose_options_are_gone_is_expanded_to_what_is_left() {
        // Both have block 3 alone at first; then one has 4 to 9 left, of which 4 comes first.
        let desk = Desk::new("expand:options=1").range_write(&[3..10]);
        let desk = desk.range_write(&[3..10]);
        assert_eq!(desk.run_all(), [Write(3, 4), Write(4, 5)]);
    }

    #[test]
    fn another_base_goes_its_own_way() {
        // LOOK goes upward from where the arm is, whatever passes first.
        let desk = Desk::new("expand:base=look").range_write(&[3..4, 60..61]);
        assert_eq!(desk.reads(&[20]).run_all(), [Write(3, 4), Read(20, 11)]);
    }

    #[test]
    fn an_open_write_goes_to_a_free_slot() {
        let desk = Desk::new("expand")
            .free(&[8, 14])
            .reads(&[6])
            .open_writes(1);
        assert_eq!(desk.run_all(), [Write(14, 5), Read(6, 7)]);
    }

    #[test]
    fn what_is_withdrawn_takes_no_place_of_others() {
        // All are expanded when the read goes. The first of the second begins before the only place
        // of the first, and reaches into it.
        let mut desk = Desk::new("expand")
            .reads(&[1])
            .long_range_write(&[5..7], 2)
            .long_range_write(&[4..7], 2);
        desk.step();
        assert_eq!(desk.withdraw(1).run_all(), [Write(4, 6)]);
    }

    #[test]
    fn a_withdrawn_range_write_is_not_served() {
        let desk = Desk::new("expand")
            .range_write(&[4..5])
            .range_write(&[7..9]);
        assert_eq!(desk.withdraw(0).run_all(), [Write(7, 8)]);
        let desk = Desk::new("expand").reads(&[5, 9]).withdraw(0);
        assert_eq!(desk.run_all(), [Read(9, 10)]);
    }
}
