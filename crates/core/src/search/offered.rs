//! The place of an offer that a range write reaches first.
//!
//! *Hierarchical-range scheduling* (Anand and others, OSDI 2008): cylinders are visited outward
//! from the arm, those only that have a place to offer, until the seek alone takes longer than the
//! best place so far. On a track the next place behind the heads, when they arrive there, is the
//! only one that can win. So the choice is the one that trying all places would give, and its cost
//! goes with the tracks within reach and not with the places on them: at most a price for each
//! track of the offer.
//!
//! A place of which a block is remapped lies elsewhere, and would take two seeks. It is taken only
//! if an offer has no other.

use std::ops::Range;

use crate::contract::{Arm, Geometry};
use crate::freemap::Track;
use crate::offer::Legal;
use crate::op::Op;
use crate::position::{ArmPosition, Landing, Search};
use crate::units::{Blocks, Instant, Pba};

use super::openings::{Nearest, Openings};

/// The answer of [`Oracle::nearest_offered`](crate::contract::Oracle::nearest_offered) for an arm
/// that knows the [`angle_on_arrival`](Arm::angle_on_arrival), on a drive whose tracks lie as
/// `geometry` says.
pub fn by_track<A: Arm + ?Sized>(
    arm: &A,
    geometry: &dyn Geometry,
    (now, before): (Instant, Instant),
    legal: &Legal<'_>,
) -> Option<Landing> {
    let places = Offered { legal, geometry };
    let search = Search {
        before,
        ..Search::anywhere(now)
    };
    let mut best = Nearest::new(arm, &search, &places);
    best.outward();
    let found = best.found.map(|found| Landing {
        at: found.at,
        start: found.start,
    });
    found.or_else(|| places.remapped(arm, now, before))
}

/// The same for an arm whose price of a place is its distance in blocks from `from`: the nearest on
/// one side or the other.
pub fn by_block<A: Arm + ?Sized>(
    arm: &A,
    from: Pba,
    (now, before): (Instant, Instant),
    legal: &Legal<'_>,
) -> Option<Landing> {
    let [below, above] = [legal.last(from.0, 0), legal.first(from.0, u64::MAX)];
    let landings = [below, above].into_iter().flatten().map(Pba);
    let landings = landings.map(|at| priced(arm, now, at, legal.len()));
    let nearest = landings.min_by_key(|landing| (landing.start, landing.at));
    nearest.filter(|landing| landing.start < before)
}

/// The cylinders between which all places of an offer lie, for whoever asks for the nearest of them
/// again and again: a search that cannot win ends before it begins.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    low: u32,
    high: u32,
}

impl Reach {
    /// Nothing is said of an offer over more of the drive than one part in so many.
    const WIDEST: u64 = 4;

    /// Of what `legal` was cut from, on a drive of `capacity` blocks. Where a block is remapped
    /// nothing is said, and an arm without tracks says nothing of cylinders.
    pub fn of(legal: &Legal<'_>, arm: Option<&dyn Arm>, capacity: Blocks) -> Reach {
        let span = legal.span();
        let blocks = Blocks(span.end - span.start);
        let geometry = arm
            .and_then(Arm::geometry)
            .filter(|_| blocks.0 > 0 && blocks.0 < capacity.0 / Reach::WIDEST)
            .filter(|geometry| !geometry.remapped(Pba(span.start), blocks));
        let Some(geometry) = geometry else {
            let (low, high) = (0, u32::MAX);
            return Reach { low, high };
        };
        let cylinder = |at| geometry.position_of(Pba(at)).cylinder;
        Reach {
            low: cylinder(span.start),
            high: cylinder(span.end - 1),
        }
    }

    /// How many cylinders the nearest place is away at least.
    #[inline]
    pub fn distance(&self, from: u32) -> u32 {
        let below = self.low.saturating_sub(from);
        below.max(from.saturating_sub(self.high))
    }
}

/// A place, and when a write begins there.
fn priced<A: Arm + ?Sized>(arm: &A, now: Instant, at: Pba, len: u64) -> Landing {
    let place = arm.locate(at);
    let start = now + arm.positioning_time(now, Op::Write, &place, Blocks(len));
    Landing { at, start }
}

/// All places where a write may begin, but those of which a block is remapped; if there are no
/// others, the first of these.
pub fn all(legal: &Legal<'_>, geometry: Option<&dyn Geometry>, out: &mut Vec<Pba>) {
    let mut from = 0;
    while let Some(at) = first_at_home(legal, geometry, from..u64::MAX) {
        out.push(Pba(at));
        from = at + 1;
    }
    if out.is_empty() {
        out.extend(legal.first(0, u64::MAX).map(Pba));
    }
}

/// The first place in a range of blocks of which no block is remapped.
fn first_at_home(
    legal: &Legal<'_>,
    geometry: Option<&dyn Geometry>,
    within: Range<u64>,
) -> Option<u64> {
    let len = Blocks(legal.len());
    let mut from = within.start;
    loop {
        let at = legal.first(from, within.end)?;
        if geometry.is_none_or(|geometry| !geometry.remapped(Pba(at), len)) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// What is left of an offer, on a drive.
struct Offered<'a> {
    legal: &'a Legal<'a>,
    geometry: &'a dyn Geometry,
}

/// A track with a place.
struct OnTrack {
    cylinder: u32,
    on: Track,
}

impl Offered<'_> {
    /// The first cylinder from this one on that has a place.
    fn cylinder_from(&self, cylinder: u32) -> Option<u32> {
        let begin = self.geometry.cylinder_blocks(cylinder).start;
        let at = self.legal.first(begin.0, u64::MAX)?;
        Some(self.geometry.position_of(Pba(at)).cylinder)
    }

    /// The last cylinder up to this one that has a place.
    fn cylinder_until(&self, cylinder: u32) -> Option<u32> {
        let end = self.geometry.cylinder_blocks(cylinder).end;
        let at = self.legal.last(end.0, 0)?;
        Some(self.geometry.position_of(Pba(at)).cylinder)
    }

    /// The first place from a block on whose blocks are all at home.
    fn first(&self, from: u64, until: u64) -> Option<u64> {
        first_at_home(self.legal, Some(self.geometry), from..until)
    }

    /// The first place of an offer of which every place is remapped.
    fn remapped<A: Arm + ?Sized>(&self, arm: &A, now: Instant, before: Instant) -> Option<Landing> {
        let first = self.legal.first(0, u64::MAX)?;
        if self.first(first, u64::MAX).is_some() {
            return None;
        }
        Some(priced(arm, now, Pba(first), self.legal.len()))
            .filter(|landing| landing.start < before)
    }
}

impl Openings for Offered<'_> {
    type Track = OnTrack;
    type Name = Pba;

    #[inline]
    fn surfaces(&self) -> u32 {
        self.geometry.surfaces()
    }

    #[inline]
    fn step(&self) -> Blocks {
        Blocks(1)
    }

    #[inline]
    fn len(&self) -> Blocks {
        Blocks(self.legal.len())
    }

    fn track(&self, at: ArmPosition) -> Option<OnTrack> {
        let span = self.geometry.track(at)?;
        let end = span.first + span.blocks;
        self.legal.first(span.first.0, end.0)?;
        let on = Track {
            first: span.first,
            first_slot: 0,
            angle: span.angle,
            slots: span.blocks.0 as u16,
            sectors: span.sectors as u16,
            straight: span.contiguous >= span.blocks,
        };
        let cylinder = at.cylinder;
        Some(OnTrack { cylinder, on })
    }

    #[inline]
    fn of(&self, track: &OnTrack) -> Track {
        track.on
    }

    #[inline]
    fn cylinder(&self, track: &OnTrack) -> u32 {
        track.cylinder
    }

    #[inline]
    fn next(&self, track: &OnTrack, from: u32) -> Option<u32> {
        let begin = track.on.first.0;
        let end = begin + u64::from(track.on.slots);
        let middle = (begin + u64::from(from)).min(end);
        let ahead = self.first(middle, end);
        let at = ahead.or_else(|| self.first(begin, middle))?;
        Some((at - begin) as u32)
    }

    #[inline]
    fn place(&self, track: &OnTrack, number: u32) -> (Pba, Pba) {
        let at = track.on.first + Blocks(number.into());
        (at, at)
    }
}

impl<A: Arm + ?Sized> Nearest<'_, A, Offered<'_>> {
    /// Considers the cylinders that have a place, outward from the arm, and stops where nothing can
    /// win any more.
    fn outward(&mut self) {
        let (arm, places, now) = (self.arm, self.places, self.search.now);
        let here = arm.writes_from().cylinder;
        let mut up = places.cylinder_from(here);
        let mut down = here
            .checked_sub(1)
            .and_then(|below| places.cylinder_until(below));
        loop {
            let [above, below] = [up, down].map(|next| next.map(|next| next.abs_diff(here)));
            let downward = match (above, below) {
                (None, None) => return,
                (Some(above), Some(below)) => below <= above,
                (above, _) => above.is_none(),
            };
            let next = if downward { &mut down } else { &mut up };
            let cylinder = next.expect("there is one on this side");
            let distance = cylinder.abs_diff(here);
            if self.out_of_reach(now + arm.write_at_least(distance)) {
                return;
            }
            *next = match downward {
                true => cylinder
                    .checked_sub(1)
                    .and_then(|below| places.cylinder_until(below)),
                false => places.cylinder_from(cylinder + 1),
            };
            self.consider_cylinder(cylinder);
        }
    }
}
