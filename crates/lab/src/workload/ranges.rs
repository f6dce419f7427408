//! Range writes in a closed loop: each offers some places within a part of the drive, and lands
//! where it is quickest.
//!
//! `depth` requests are in flight. A write draws `targets` places of the span, each a multiple of
//! `align_blocks`, and offers a range at each: the place itself, so many blocks from there on, its
//! track, or the span as a whole; one that has a single place to go to is an ordinary write. A read
//! reads at one such place. Nothing is kept: when a write is answered its blocks are free again, so
//! a region never fills up. Where all that is offered is being written by others, a write fails as
//! exhausted. On a drive with zones blocks are free again only when their zone is reset, which the
//! load does when a zone is full ([`zones`]); there a write offers whole zones, and a read reads
//! what was written.
//!
//! This is the load of the disk experiments of the study of range writes, where a span of 4,096
//! blocks is a block group: Anand and others, "Avoiding file system micromanagement with range
//! writes", OSDI 2008, section 4. A few random numbers for each target.

use std::ops::Range;
use std::sync::Arc;

use nearslot_core::contract::Geometry;
use nearslot_core::ids::RequestId;
use nearslot_core::offer::Offer;
use nearslot_core::op::Op;
use nearslot_core::registry::{ConfigError, Knob, Knobs, Spec};
use nearslot_core::request::{Reply, Request};
use nearslot_core::rng::Rng;
use nearslot_core::units::{BLOCK_BYTES, Instant, Pba};
use nearslot_core::zones::ZoneShape;

mod zones;

use self::zones::Kept;
use super::access;
use super::closed::{Loop, Refill};
use super::{LoadEnv, Synthetic, Workload};

/// How far around a place a write may land.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    /// Nowhere else.
    Place,
    /// So many blocks from there on.
    Blocks(u64),
    /// On its track.
    Track,
    /// In its zone.
    Zone,
    /// In the whole span.
    Span,
}

impl Within {
    fn read(text: &str) -> Option<Within> {
        match text {
            "place" => Some(Within::Place),
            "track" => Some(Within::Track),
            "zone" => Some(Within::Zone),
            "span" => Some(Within::Span),
            number => {
                let blocks = number.parse().ok().filter(|blocks| *blocks > 0)?;
                Some(Within::Blocks(blocks))
            }
        }
    }
}

struct Ranges {
    room: Loop,
    rng: Rng,
    left: u64,
    number: u64,
    read_share: f64,
    span: Range<u64>,
    len: u64,
    align: u64,
    targets: u64,
    within: Within,
    geometry: Option<Arc<dyn Geometry>>,
    /// What it knows of the zones of its span, if the drive has zones.
    zones: Option<Kept>,
    /// Ranges of the write that is being made.
    ranges: Vec<Range<u64>>,
    /// What the last write offers.
    offer: Option<Arc<Offer>>,
    /// Completions of range writes so far.
    heard: u64,
}

fn wrong<T>(key: &str, value: impl ToString, allowed: &str) -> Result<T, ConfigError> {
    Err(ConfigError::value(key, &value.to_string(), allowed))
}

impl Ranges {
    fn new(knobs: &Knobs, env: &LoadEnv<'_>, room: Loop) -> Result<Ranges, ConfigError> {
        let [at, blocks] = ["at_block", "span_blocks"].map(|key| knobs.integer(key));
        let rest = env.capacity.0.saturating_sub(at);
        let span = if blocks == 0 { rest } else { blocks };
        if at >= env.capacity.0 || span > rest {
            let allowed = format!("a span within the drive's {} blocks", env.capacity);
            return match blocks > rest && at < env.capacity.0 {
                true => wrong("span_blocks", blocks, &allowed),
                false => wrong("at_block", at, &allowed),
            };
        }
        let mut made = Ranges {
            room,
            rng: Rng::stream(env.seed, env.label),
            left: knobs.integer("requests"),
            number: 0,
            read_share: knobs.number("read_share"),
            span: at..at + span,
            len: access::one_size(knobs)?,
            align: knobs.integer("align_blocks"),
            targets: knobs.integer("targets"),
            within: Within::read(knobs.choice("within")).expect("the card accepted it"),
            geometry: env.geometry(),
            zones: None,
            ranges: Vec::new(),
            offer: None,
            heard: 0,
        };
        match env.zones() {
            None => made.check(knobs, env)?,
            Some(shape) => {
                made.check_on_zones(knobs, &shape)?;
                made.zones = Some(Kept::new(shape, &made.span, made.len));
            }
        }
        Ok(made)
    }

    /// Whether what is written and offered fits on a drive with zones.
    fn check_on_zones(&self, knobs: &Knobs, shape: &ZoneShape) -> Result<(), ConfigError> {
        let ZoneShape {
            blocks,
            conventional,
            ..
        } = *shape;
        let Range { start, end } = self.span;
        let (len, align) = (self.len, self.align);
        if start < conventional || !start.is_multiple_of(blocks) {
            let allowed = format!(
                "where a zone begins: a multiple of zone_blocks, which is {blocks}, and at least {conventional}, behind what is written anywhere"
            );
            return wrong("at_block", start, &allowed);
        }
        if !(end - start).is_multiple_of(blocks) {
            let allowed =
                format!("a multiple of zone_blocks, which is {blocks}, or 0, all from at_block on");
            return wrong("span_blocks", end - start, &allowed);
        }
        if !matches!(self.within, Within::Zone | Within::Span) {
            let allowed = "zone or span on a drive with zones, where writes land at pointers alone";
            return wrong("within", knobs.choice("within"), allowed);
        }
        if self.within == Within::Span && self.targets > 1 {
            let allowed = "1 beside within=span, which offers the whole span already";
            return wrong("targets", self.targets, allowed);
        }
        let longest = shape.longest();
        if len > longest {
            let allowed = format!(
                "at most {} on this drive, which writes {longest} blocks of a zone at a time and splits none",
                longest * BLOCK_BYTES
            );
            return wrong("size", len * BLOCK_BYTES, &allowed);
        }
        if ![len, blocks, conventional]
            .iter()
            .all(|begin| begin.is_multiple_of(align))
        {
            let allowed = format!(
                "what divides {len} blocks, which are written, and where zones begin: pointers follow from these"
            );
            return wrong("align_blocks", align, &allowed);
        }
        Ok(())
    }

    /// Whether what is written and offered fits.
    fn check(&self, knobs: &Knobs, env: &LoadEnv<'_>) -> Result<(), ConfigError> {
        let Range { start, end } = self.span;
        let (len, align, span) = (self.len, self.align, end - start);
        // A place is a multiple of the alignment, and the first of the span may lie a little behind
        // its begin.
        if start.next_multiple_of(align) + len > end {
            let allowed = format!("a size that fits into the span at a multiple of {align} blocks");
            return wrong("size", format!("{} bytes", len * BLOCK_BYTES), &allowed);
        }
        if let Within::Blocks(blocks) = self.within
            && (blocks < len || blocks > span)
        {
            let allowed = format!("{len} blocks, which is what is written, to {span}, the span");
            return wrong("within", blocks, &allowed);
        }
        if self.within == Within::Span && self.targets > 1 {
            let allowed = "1 beside within=span, which offers the whole span already";
            return wrong("targets", self.targets, allowed);
        }
        if self.within == Within::Track && self.geometry.is_none() {
            let allowed = "place, span or a number of blocks: the drive has no tracks";
            return wrong("within", "track", allowed);
        }
        if self.within == Within::Zone {
            let allowed = "place, track, span or a number of blocks: the drive has no zones";
            return wrong("within", "zone", allowed);
        }
        let (places, most) = (self.places(env), env.places_max);
        if places > most {
            let allowed = format!(
                "what offers at most {most} places, which this scheduler lists one by one; here it is up to {places}"
            );
            return wrong("within", knobs.choice("within"), &allowed);
        }
        Ok(())
    }

    /// How many places a write offers at most.
    fn places(&self, env: &LoadEnv<'_>) -> u64 {
        let Range { start, end } = self.span;
        let blocks = match self.within {
            Within::Place | Within::Zone => self.len,
            Within::Blocks(blocks) => blocks,
            Within::Track => longest_track(env, &self.span),
            Within::Span => end - start,
        };
        self.targets * (blocks.saturating_sub(self.len) / self.align + 1)
    }

    /// A place of the span.
    fn place(&mut self) -> u64 {
        let first = self.span.start.next_multiple_of(self.align);
        let places = (self.span.end - self.len - first) / self.align + 1;
        first + self.rng.below(places) * self.align
    }

    /// What is offered around a place.
    fn around(&self, at: u64) -> Range<u64> {
        let Range { start, end } = self.span;
        match self.within {
            Within::Place => at..at + self.len,
            Within::Span => start..end,
            Within::Zone => self
                .zones
                .as_ref()
                .map_or(start..end, |zones| zones.around(at)),
            Within::Blocks(blocks) => {
                let begin = at.min(end - blocks);
                begin..(begin + blocks).max(at + self.len)
            }
            Within::Track => {
                let geometry = self.geometry.as_ref().expect("it was looked for");
                let track = geometry.track(geometry.position_of(Pba(at)));
                let track = track.map_or(at..at, |track| {
                    track.first.0..(track.first + track.blocks).0
                });
                // What is written may be longer than a track, or end on the next one.
                let begin = track.start.clamp(start, at);
                begin..track.end.min(end).max(at + self.len)
            }
        }
    }

    /// A write that offers its targets; where the first of them lies.
    fn offer(&mut self) -> u64 {
        let first = self.place();
        if self.within == Within::Span && self.offer.is_some() {
            return first;
        }
        let mut ranges = std::mem::take(&mut self.ranges);
        ranges.push(self.around(first));
        for _ in 1..self.targets {
            let at = self.place();
            ranges.push(self.around(at));
        }
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        // Two places that overlap are one in the offer, as long as both together.
        ranges.dedup_by(|next, before| {
            let overlaps = next.start < before.end;
            before.end = if overlaps {
                before.end.max(next.end)
            } else {
                before.end
            };
            overlaps
        });
        let offer = Offer::list(ranges.clone(), self.align);
        self.offer = Some(Arc::new(offer.expect("ranges of the span are in order")));
        ranges.clear();
        self.ranges = ranges;
        first
    }
}

impl Ranges {
    /// The reset of a zone, if one is due.
    fn reset(&mut self, now: Instant) -> Option<Request> {
        let number = self.number - 1;
        let zones = self.zones.as_mut()?;
        let Range { start, end } = zones.next_reset(RequestId(number))?;
        Some(Request::new(number, Op::Discard, start, end - start, now))
    }
}

/// Blocks of the longest track in a part of the drive, if a scheduler needs to know; as many on
/// each of a cylinder.
fn longest_track(env: &LoadEnv<'_>, span: &Range<u64>) -> u64 {
    let geometry = env.geometry().filter(|_| env.places_max < u64::MAX);
    let Some(geometry) = geometry else {
        return 0;
    };
    let [first, last] = [span.start, span.end - 1].map(|at| geometry.position_of(Pba(at)).cylinder);
    let blocks = |cylinder| {
        let of = geometry.cylinder_blocks(cylinder);
        (of.end.0 - of.start.0).div_ceil(geometry.surfaces().into())
    };
    (first.min(last)..=first.max(last))
        .map(blocks)
        .max()
        .unwrap_or(0)
}

impl Workload for Ranges {
    fn next_arrival(&self) -> Option<Instant> {
        let room = self.room.room();
        let may_ask = self.zones.as_ref().is_none_or(|zones| zones.may_ask());
        room.filter(|_| self.left > 0 && may_ask)
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        self.next_arrival()?;
        self.room.enter();
        self.left -= 1;
        self.number += 1;
        if let Some(reset) = self.reset(now) {
            return Some(reset);
        }
        let reads = self.rng.chance(self.read_share);
        // A write with one place to go to is an ordinary one.
        let ordinary = reads || self.within == Within::Place && self.targets == 1;
        let op = if reads { Op::Read } else { Op::Write };
        let at = match (&mut self.zones, ordinary) {
            (Some(zones), true) => zones.written(&mut self.rng),
            (Some(zones), false) => {
                zones.asks();
                self.offer()
            }
            (None, true) => self.place(),
            (None, false) => self.offer(),
        };
        Some(Request {
            sync: true,
            offered: !ordinary,
            ..Request::new(self.number - 1, op, at, self.len, now)
        })
    }

    fn offer(&mut self) -> (Arc<Offer>, u64) {
        let offer = self.offer.as_ref().expect("a write was made");
        (Arc::clone(offer), self.heard)
    }

    fn replied(&mut self, now: Instant, reply: &Reply) {
        if let Some(zones) = &mut self.zones {
            zones.replied(reply);
        }
        self.heard += u64::from(reply.request.offered);
        self.room.leave(now);
    }

    fn refill(&self) -> Refill {
        self.room.refill()
    }
}

pub(super) const TARGETS: Knob = Knob::integer(
    "targets",
    1,
    1..=65_536,
    "places of the span that a write offers",
);

pub(super) static SPEC: Spec<Synthetic> = Spec {
    name: "ranges",
    aliases: &["range_writes"],
    summary: "closed loop of range writes: each offers places of a span, and lands where it is quickest",
    source: "Anand and others, Avoiding file system micromanagement with range writes, OSDI 2008, section 4",
    knobs: &[
        Knob::integer("depth", 16, 1..=1_048_576, "requests in flight"),
        super::iometer::REFILL,
        Knob::number("read_share", 0.0, 0.0..=1.0, "share of requests that read"),
        access::SIZE,
        Knob::integer(
            "span_blocks",
            4_096,
            0..=i64::MAX,
            "512-byte blocks of the part of the drive that is used; 0 is all from at_block on",
        ),
        Knob::integer("at_block", 0, 0..=i64::MAX, "where that part begins"),
        Knob::text(
            "within",
            "track",
            |text| Within::read(text).is_some(),
            "place, track, zone, span or a number of 512-byte blocks",
            "how far around a place a write may land: nowhere else, on its track, in its zone, in the span, or so many blocks from there on; on a \
             drive with zones zone or span",
        ),
        TARGETS,
        Knob::integer(
            "align_blocks",
            1,
            1..=131_072,
            "writes begin at multiples of so many 512-byte blocks",
        ),
        access::REQUESTS,
    ],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, env| {
        let depth = knobs.integer("depth");
        let refill = knobs.choice("refill").parse()?;
        let ranges = Ranges::new(knobs, env, Loop::new(depth, refill))?;
        Ok(Box::new(Synthetic {
            requests: Some(ranges.left),
            depth: Some(depth),
            workload: Box::new(ranges),
        }))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memo::SHARED;
    use crate::workload::Below;
    use crate::workload::access::tests::synthetic;

    /// Ranges that the first writes offer.
    fn offered(word: &str) -> Vec<(u64, Arc<Offer>)> {
        let mut made = synthetic(word).unwrap();
        let workload = &mut made.workload;
        let next = || {
            let request = workload.poll(Instant::ZERO)?;
            assert!(request.offered);
            Some((request.extent.start.0, workload.offer().0))
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_write_offers_what_it_is_told_to_around_its_places() {
        let word = "ranges:depth=100:requests=100:size=1k:at_block=64:span_blocks=1024";
        let mut ordinary = synthetic(&format!("{word}:within=place")).unwrap();
        assert!(!ordinary.workload.poll(Instant::ZERO).unwrap().offered);
        for (at, offer) in offered(&format!("{word}:within=100")) {
            let begin = at.min(64 + 1024 - 100);
            assert_eq!(
                (offer.first(0, 9_999, 2), offer.end()),
                (Some(begin), begin + 100)
            );
        }
        for (_, offer) in offered(&format!("{word}:within=span")) {
            assert_eq!(
                (offer.first(0, 9_999, 2), offer.end()),
                (Some(64), 64 + 1024)
            );
        }
        let several = offered(&format!("{word}:within=place:targets=20:align_blocks=2"));
        let places = |offer: &Offer| {
            let fits = |at: &u64| offer.first(*at, at + 1, 2) == Some(*at);
            (0..9_999).filter(fits).count()
        };
        let counts: Vec<usize> = several.iter().map(|(_, offer)| places(offer)).collect();
        assert!(
            counts.iter().all(|count| (15..=20).contains(count)),
            "{counts:?}"
        );
    }

    /// What lists all places takes no offer of a whole drive.
    #[test]
    fn more_places_than_a_scheduler_lists_are_refused() {
        let disk = "kind = 'hdd'
            rpm = 6000
            heads = 2
            cylinders = 100
            head_switch_ms = 0.5
            write_settle_ms = 0.25
            seek_ms = [[1, 1.0], [99, 9.0]]
            [[zones]]
            cylinders = [0, 9]
            sectors_per_track = 80
            track_skew_sectors = 2
            cylinder_skew_sectors = 3
            [[zones]]
            cylinders = [10, 99]
            sectors_per_track = 50
            track_skew_sectors = 2
            cylinder_skew_sectors = 3";
        let (disk, _) = nearslot_core::drive::read("disk", disk, &[]).unwrap();
        for (word, places) in [
            ("within=64:size=512", 64),
            ("within=64:size=512:targets=4", 256),
            ("within=64:size=4k:align_blocks=8", 8),
            ("within=span:span_blocks=4096:size=4k:align_blocks=8", 512),
            ("within=track:size=512:span_blocks=5000", 80),
            ("within=track:size=512:span_blocks=5000:at_block=2000", 50),
        ] {
            let part = format!("ranges:{word}").parse().unwrap();
            let made = |places_max| {
                let env = LoadEnv {
                    seed: 1,
                    label: "workload/0",
                    capacity: disk.capacity(),
                    drive: Some(Below {
                        memo: &SHARED,
                        blueprint: &*disk,
                        identity: "disk",
                        place: "linear",
                    }),
                    places_max,
                };
                crate::workload::synthetic(&part, &env).err()
            };
            assert!(made(places).is_none(), "{word}");
            let refused = made(places - 1).expect(word).to_string();
            let expected = format!("here it is up to {places}");
            assert!(refused.contains(&expected), "{word}: {refused}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (word, expected) in [
            (
                "size=4m",
                "size = 4194304 bytes (allowed: a size that fits into the span",
            ),
            (
                "span_blocks=999999999999",
                "span_blocks = 999999999999 (allowed: a span within",
            ),
            (
                "at_block=999999999999",
                "at_block = 999999999999 (allowed: a span within",
            ),
            (
                "within=7",
                "within = 7 (allowed: 8 blocks, which is what is written, to 4096",
            ),
            ("within=5000", "within = 5000 (allowed: 8 blocks"),
            (
                "within=span:targets=2",
                "targets = 2 (allowed: 1 beside within=span",
            ),
            (
                "within=track",
                "within = track (allowed: place, span or a number",
            ),
            (
                "within=0",
                "within = 0 (allowed: place, track, zone, span or a number",
            ),
            (
                "size=4k/1+8k/1:within=span",
                "size = 4k/1+8k/1 (allowed: one size)",
            ),
        ] {
            let error = synthetic(&format!("ranges:{word}")).err().expect(word);
            assert!(error.to_string().contains(expected), "{word}: {error}");
        }
    }
}
