//! Which places of a drive are free, track by track: what a write without an address chooses from.
//!
//! A *slot* holds what is written at once (4 KB, say) and lies on one track as a whole; the last
//! blocks of a track that fill no slot are not used. Slots are numbered through the drive, so a map
//! needs four bytes for one. [`Tracks`] says where they lie and never changes; a [`FreeMap`] has a
//! bit for each.
//!
//! A track's bits fill words of their own, so the next free slot round the track is a shift and a
//! count of zeros (Zhang and others, FAST 2002, keep such masks too). Counts by track and by
//! cylinder skip what is full. Memory: at least a word of bits and two bytes a track; 24 bytes a
//! track and two bits a slot more, shared by all maps of a drive.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::units::{Angle, Blocks, Pba};

/// Lower bits of a slot's number that a group has: fewer than most tracks have slots, so a track is
/// found in a step or two.
const NEARBY_BITS: u32 = 4;

/// A place for one write, numbered through the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// A track, as far as it matters to those who write into its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    /// Its first block.
    pub first: Pba,
    /// Number of its first slot.
    pub first_slot: u32,
    /// Angle at which the first slot begins.
    pub angle: Angle,
    /// Slots on it.
    pub slots: u16,
    /// Sectors on it, those without a block counted: how far apart slots begin.
    pub sectors: u16,
    /// Whether its slots follow each other without a skipped sector.
    pub straight: bool,
}

/// What a drive says of a track.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Its first block.
    pub first: Pba,
    /// Angle at which that begins.
    pub angle: Angle,
    /// Its blocks.
    pub blocks: Blocks,
    /// Its sectors, those without a block counted.
    pub sectors: u32,
    /// How many of its blocks follow each other from the first one on without a skipped sector.
    pub contiguous: Blocks,
}

/// Where the slots of a drive lie.
#[derive(Debug)]
pub struct Tracks {
    slot: Blocks,
    surfaces: u32,
    /// By cylinder, then by surface; some have no slots.
    tracks: Vec<Track>,
    /// Words of bits that a track has in a map.
    words: usize,
    slots: u32,
    /// The lowest block of each cylinder and those above.
    lowest: Vec<Pba>,
    /// The first block behind all slots of each cylinder and those below.
    highest: Vec<Pba>,
    /// A track near each group of slots.
    nearby: Vec<u32>,
    /// Slots that are never free: a part of theirs lies elsewhere. In order.
    broken: Vec<Slot>,
}

/// How many tracks and slots a drive has at most: known without finding them, so before memory is
/// taken for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Tracks, those without a slot counted.
    pub tracks: u64,
    /// Slots, if no sector is spare or defective.
    pub slots: u64,
    /// Slots of the track that has most.
    pub on_track: u64,
}

impl Room {
    /// About how many bytes [`Tracks`] take while they are found.
    pub fn tracks_bytes(&self) -> u64 {
        // The list that is under way is copied when it grows.
        let of_track = size_of::<Span>() + 2 * size_of::<Track>();
        self.tracks.saturating_mul(of_track as u64)
    }

    /// About how many bytes a [`FreeMap`] takes.
    pub fn map_bytes(&self) -> u64 {
        let bits = self.on_track.div_ceil(64).saturating_mul(8);
        self.tracks.saturating_mul(bits.saturating_add(2))
    }
}

/// Why a drive has no slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncountable {
    /// No track has room for one.
    None,
    /// More than 32 bits can number.
    TooMany,
}

impl Tracks {
    /// Slots of `slot` blocks on tracks that are given by cylinder, then by surface; `broken` says
    /// of a slot's first block that it is no place to write. It is asked of tracks on which blocks
    /// do not follow each other.
    ///
    /// # Errors
    /// There is no slot, or there are too many.
    pub fn new(
        slot: Blocks,
        surfaces: u32,
        of_drive: impl Iterator<Item = Span>,
        broken: impl Fn(Pba) -> bool,
    ) -> Result<Tracks, Uncountable> {
        let mut found = Tracks {
            slot,
            surfaces,
            tracks: Vec::new(),
            words: 1,
            slots: 0,
            lowest: Vec::new(),
            highest: Vec::new(),
            nearby: Vec::new(),
            broken: Vec::new(),
        };
        for span in of_drive {
            found.push(&span, &broken)?;
        }
        if u64::from(found.slots) == found.broken.len() as u64 {
            return Err(Uncountable::None);
        }
        assert_eq!(found.tracks.len() % surfaces as usize, 0, "whole cylinders");
        found.lowest = found.lowest_blocks();
        found.highest = found.highest_blocks();
        found.nearby = found.tracks_nearby();
        Ok(found)
    }

    fn push(&mut self, span: &Span, broken: &impl Fn(Pba) -> bool) -> Result<(), Uncountable> {
        let slots = u16::try_from(span.blocks.0 / self.slot.0);
        let slots = slots.map_err(|_| Uncountable::TooMany)?;
        let sectors = u16::try_from(span.sectors).map_err(|_| Uncountable::TooMany)?;
        let first_slot = self.slots;
        let end = first_slot.checked_add(slots.into());
        self.slots = end.ok_or(Uncountable::TooMany)?;
        let straight = self.begin(slots.into()) <= span.contiguous;
        // Where blocks follow each other, none lies elsewhere: millions of slots need not be asked
        // for.
        for number in (0..u32::from(slots)).filter(|_| !straight) {
            if broken(span.first + self.begin(number)) {
                self.broken.push(Slot(first_slot + number));
            }
        }
        self.tracks.push(Track {
            first: span.first,
            first_slot,
            angle: span.angle,
            slots,
            sectors,
            straight,
        });
        self.words = self.words.max(usize::from(slots).div_ceil(64));
        Ok(())
    }

    fn lowest_blocks(&self) -> Vec<Pba> {
        let mut above = Pba(u64::MAX);
        let cylinders = self.tracks.chunks(self.surfaces as usize).rev();
        let mut lowest: Vec<Pba> = cylinders
            .map(|cylinder| {
                let with_slots = cylinder.iter().filter(|track| track.slots > 0);
                above = with_slots.map(|track| track.first).fold(above, Pba::min);
                above
            })
            .collect();
        lowest.reverse();
        lowest
    }

    fn highest_blocks(&self) -> Vec<Pba> {
        let mut below = Pba(0);
        let cylinders = self.tracks.chunks(self.surfaces as usize);
        let highest = cylinders.map(|cylinder| {
            let with_slots = cylinder.iter().filter(|track| track.slots > 0);
            below = with_slots
                .map(|track| track.first + self.begin(track.slots.into()))
                .fold(below, Pba::max);
            below
        });
        highest.collect()
    }

    /// The least distance in blocks from `at` to the begin of any slot in this cylinder or above,
    /// or below.
    pub fn blocks_to(&self, at: Pba, cylinder: u32, upward: bool) -> Blocks {
        let cylinder = cylinder as usize;
        match upward {
            true => Blocks(self.lowest[cylinder].0.saturating_sub(at.0)),
            false => Blocks(at.0.saturating_sub(self.highest[cylinder].0)),
        }
    }

    /// The cylinder in which a block lies, by number.
    pub fn cylinder_at(&self, at: Pba) -> u32 {
        let above = self.lowest.partition_point(|lowest| *lowest <= at);
        above.saturating_sub(1) as u32
    }

    /// Blocks before the slot of this number on its track.
    #[inline]
    fn begin(&self, number: u32) -> Blocks {
        Blocks(u64::from(number) * self.slot.0)
    }

    /// Blocks in a slot.
    #[inline]
    pub fn slot_blocks(&self) -> Blocks {
        self.slot
    }

    /// Memory that it takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.tracks)
            + size_of_val(&*self.lowest)
            + size_of_val(&*self.highest)
            + size_of_val(&*self.nearby)
            + size_of_val(&*self.broken)
    }

    /// Slots of the drive, broken ones counted.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Slots that can be written.
    pub fn usable(&self) -> u64 {
        u64::from(self.slots) - self.broken.len() as u64
    }

    /// Cylinders that the arm moves over.
    #[inline]
    pub fn cylinders(&self) -> u32 {
        self.tracks.len() as u32 / self.surfaces
    }

    /// Surfaces of a cylinder.
    #[inline]
    pub fn surfaces(&self) -> u32 {
        self.surfaces
    }

    /// Number of a track.
    #[inline]
    pub fn number(&self, cylinder: u32, surface: u32) -> usize {
        (cylinder * self.surfaces + surface) as usize
    }

    /// A track.
    #[inline]
    pub fn track(&self, number: usize) -> &Track {
        &self.tracks[number]
    }

    /// First block of a slot of a track.
    #[inline]
    pub fn block(&self, track: usize, number: u32) -> Pba {
        self.tracks[track].first + self.begin(number)
    }

    /// First block of a slot.
    #[inline]
    pub fn at(&self, slot: Slot) -> Pba {
        let (track, number) = self.place(slot);
        self.block(track, number)
    }

    /// The track of a slot, and its number there.
    #[inline]
    pub fn place(&self, slot: Slot) -> (usize, u32) {
        let mut track = self.nearby[(slot.0 >> NEARBY_BITS) as usize] as usize;
        // Of tracks that begin with the same slot, only the last has any.
        while let Some(next) = self.tracks.get(track + 1)
            && next.first_slot <= slot.0
        {
            track += 1;
        }
        (track, slot.0 - self.tracks[track].first_slot)
    }

    /// The last track that begins at or before each slot whose lower bits are 0.
    fn tracks_nearby(&self) -> Vec<u32> {
        let slots = (0..=self.slots).step_by(1 << NEARBY_BITS);
        let behind = |slot: u32| {
            self.tracks
                .partition_point(|track| track.first_slot <= slot)
        };
        slots.map(|slot| behind(slot) as u32 - 1).collect()
    }
}

/// Which slots are free.
#[derive(Clone, Debug)]
pub struct FreeMap {
    tracks: Arc<Tracks>,
    bits: Vec<u64>,
    by_track: Vec<u16>,
    by_cylinder: Vec<u32>,
    free: u64,
    left: Left,
}

/// How the writes before a run left a drive, besides what is free on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The block that was written last; none if nothing was.
    pub at: Option<Pba>,
    /// Whether the sweep went upward.
    pub upward: bool,
}

impl FreeMap {
    /// A map in which nothing is free.
    pub fn full(tracks: Arc<Tracks>) -> FreeMap {
        FreeMap {
            bits: vec![0; tracks.tracks.len() * tracks.words],
            by_track: vec![0; tracks.tracks.len()],
            by_cylinder: vec![0; tracks.cylinders() as usize],
            free: 0,
            left: Left {
                at: None,
                upward: true,
            },
            tracks,
        }
    }

    /// A map in which everything is free that can be written.
    pub fn empty(tracks: Arc<Tracks>) -> FreeMap {
        let mut map = FreeMap::full(Arc::clone(&tracks));
        for (index, track) in tracks.tracks.iter().enumerate() {
            let bits = &mut map.bits[index * tracks.words..][..tracks.words];
            for (word, bits) in bits.iter_mut().enumerate() {
                let left = u32::from(track.slots).saturating_sub(word as u32 * 64);
                *bits = u64::MAX.checked_shl(left).map_or(u64::MAX, |rest| !rest);
            }
            map.by_track[index] = track.slots;
            map.by_cylinder[index / tracks.surfaces as usize] += u32::from(track.slots);
            map.free += u64::from(track.slots);
        }
        tracks.broken.iter().for_each(|slot| map.take(*slot));
        map
    }

    /// The map of the same drive if nothing were on it.
    pub fn emptied(&self) -> FreeMap {
        FreeMap::empty(Arc::clone(&self.tracks))
    }

    /// Where the slots lie.
    #[inline]
    pub fn tracks(&self) -> &Tracks {
        &self.tracks
    }

    /// Memory that it takes, without the tracks.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.bits) + size_of_val(&*self.by_track) + size_of_val(&*self.by_cylinder)
    }

    /// How the writes before a run left the drive.
    #[inline]
    pub fn left(&self) -> Left {
        self.left
    }

    /// The writes before a run end like this.
    pub fn leave(&mut self, left: Left) {
        self.left = left;
    }

    /// How many slots are free.
    #[inline]
    pub fn free(&self) -> u64 {
        self.free
    }

    /// How many are free on a track.
    #[inline]
    pub fn on_track(&self, track: usize) -> u16 {
        self.by_track[track]
    }

    /// How many are free in a cylinder.
    #[inline]
    pub fn in_cylinder(&self, cylinder: u32) -> u32 {
        self.by_cylinder[cylinder as usize]
    }

    /// Whether some slot of these cylinders is free.
    pub fn any_in(&self, cylinders: RangeInclusive<u32>) -> bool {
        let (low, high) = (*cylinders.start() as usize, *cylinders.end() as usize);
        low <= high && self.by_cylinder[low..=high].iter().any(|free| *free > 0)
    }

    /// Whether a slot is free.
    #[inline]
    pub fn has(&self, slot: Slot) -> bool {
        let (track, number) = self.tracks.place(slot);
        let word = self.bits[track * self.tracks.words + (number / 64) as usize];
        word >> (number % 64) & 1 == 1
    }

    /// A slot becomes free.
    ///
    /// # Panics
    /// It is free.
    pub fn release(&mut self, slot: Slot) {
        let (track, set) = self.flip(slot);
        assert!(set, "{slot:?} is free already");
        self.by_track[track] += 1;
        self.by_cylinder[track / self.tracks.surfaces as usize] += 1;
        self.free += 1;
    }

    /// A slot is taken.
    ///
    /// # Panics
    /// It is not free.
    pub fn take(&mut self, slot: Slot) {
        let (track, set) = self.flip(slot);
        assert!(!set, "{slot:?} is not free");
        self.by_track[track] -= 1;
        self.by_cylinder[track / self.tracks.surfaces as usize] -= 1;
        self.free -= 1;
    }

    /// Turns a slot's bit; its track, and whether it is set now.
    fn flip(&mut self, slot: Slot) -> (usize, bool) {
        let (track, number) = self.tracks.place(slot);
        let word = &mut self.bits[track * self.tracks.words + (number / 64) as usize];
        *word ^= 1 << (number % 64);
        (track, *word >> (number % 64) & 1 == 1)
    }

    /// The first free slot of a track from this number on, round the track.
    #[inline]
    pub fn next_on_track(&self, track: usize, from: u32) -> Option<u32> {
        let words = self.tracks.words;
        let bits = &self.bits[track * words..][..words];
        if let [only] = bits {
            let ahead = only & u64::MAX.checked_shl(from).unwrap_or(0);
            let found = if ahead == 0 { *only } else { ahead };
            return (found != 0).then(|| found.trailing_zeros());
        }
        let behind = |from: u32| crate::bits::first(bits, from.into(), true);
        let found = behind(from).or_else(|| behind(0));
        found.map(|number| number as u32)
    }

    /// The last free slot of a track before this number.
    pub fn last_before(&self, track: usize, number: u32) -> Option<u32> {
        let words = self.tracks.words;
        let bits = &self.bits[track * words..][..words];
        let until = u64::from(number).min(words as u64 * 64);
        crate::bits::last(bits, until, true).map(|number| number as u32)
    }

    /// All free slots, in order.
    pub fn iter(&self) -> impl Iterator<Item = Slot> {
        let bits = self.bits.chunks(self.tracks.words);
        let tracks = self.tracks.tracks.iter().zip(bits);
        tracks.flat_map(|(track, bits)| {
            let first = track.first_slot;
            numbers(bits).map(move |number| Slot(first + number))
        })
    }

    /// Recounts everything from scratch and panics on a contradiction.
    pub fn audit(&self) {
        let surfaces = self.tracks.surfaces as usize;
        let mut all = 0;
        for (cylinder, of_cylinder) in self.by_track.chunks(surfaces).enumerate() {
            let sum: u32 = of_cylinder.iter().map(|free| u32::from(*free)).sum();
            assert_eq!(
                sum, self.by_cylinder[cylinder],
                "free in cylinder {cylinder}"
            );
            all += u64::from(sum);
        }
        assert_eq!(all, self.free, "free on the drive");
        for (track, bits) in self.bits.chunks(self.tracks.words).enumerate() {
            let counted: u32 = bits.iter().map(|word| word.count_ones()).sum();
            assert_eq!(counted, u32::from(self.by_track[track]), "track {track}");
        }
    }
}

/// Numbers of the bits that are set, in order.
fn numbers(bits: &[u64]) -> impl Iterator<Item = u32> {
    let (mut index, mut word) = (0, bits[0]);
    std::iter::from_fn(move || {
        while word == 0 {
            index += 1;
            word = *bits.get(index)?;
        }
        let number = index as u32 * 64 + word.trailing_zeros();
        word &= word - 1;
        Some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::collections::BTreeSet;

    fn span(first: u64, blocks: u64, sectors: u64) -> Span {
        Span {
            first: Pba(first),
            angle: Angle(0),
            blocks: Blocks(blocks),
            sectors: sectors as u32,
            contiguous: Blocks(blocks),
        }
    }

    /// 3 cylinders of 2 tracks of `blocks` blocks; the second track of the first cylinder has none.
    fn tracks(blocks: u64, slot: u64) -> Arc<Tracks> {
        let one = |number: u64| {
            let len = if number == 1 { 0 } else { blocks };
            let mut span = span(number * blocks, len, blocks);
            if number == 2 {
                span.contiguous = Blocks(slot);
            }
            span
        };
        let broken = |at: Pba| at == Pba(2 * blocks + slot);
        Arc::new(Tracks::new(Blocks(slot), 2, (0..6).map(one), broken).unwrap())
    }

    #[test]
    fn slots_lie_on_one_track_each() {
        let tracks = tracks(20, 8);
        assert_eq!((tracks.slots(), tracks.usable()), (10, 9));
        assert_eq!(tracks.at(Slot(0)), Pba(0));
        assert_eq!(tracks.at(Slot(1)), Pba(8));
        assert_eq!(
            (tracks.place(Slot(2)), tracks.at(Slot(2))),
            ((2, 0), Pba(40))
        );
    }

    #[test]
    fn a_drive_without_room_has_no_slots() {
        let one = std::iter::once(span(0, 7, 7));
        let error = Tracks::new(Blocks(8), 1, one, |_| false).unwrap_err();
        assert_eq!(error, Uncountable::None);
    }

    #[test]
    fn what_is_broken_is_never_free() {
        let map = FreeMap::empty(tracks(20, 8));
        assert_eq!(map.free(), 9);
        assert!(!map.has(Slot(3)));
        assert!(map.has(Slot(2)));
        map.audit();
    }

    #[test]
    fn it_does_what_a_set_does() {
        for (blocks, slot) in [(24, 1), (500, 3), (8, 8)] {
            let tracks = tracks(blocks, slot);
            let mut map = FreeMap::full(Arc::clone(&tracks));
            let (mut set, mut rng) = (BTreeSet::new(), Rng::stream(1, "set"));
            for _ in 0..3_000 {
                let slot = Slot(rng.below(tracks.slots().into()) as u32);
                if set.remove(&slot) {
                    map.take(slot);
                } else {
                    set.insert(slot);
                    map.release(slot);
                }
                let track = rng.below(6) as usize;
                let on = *tracks.track(track);
                let from = rng.below(u64::from(on.slots) + 1) as u32;
                let of_track = |number: &u32| set.contains(&Slot(on.first_slot + number));
                let round = (from..on.slots.into()).chain(0..from.min(on.slots.into()));
                assert_eq!(map.next_on_track(track, from), round.clone().find(of_track));
                assert_eq!(
                    usize::from(map.on_track(track)),
                    round.filter(of_track).count()
                );
            }
            map.audit();
            assert!(map.iter().eq(set.iter().copied()));
            assert_eq!(map.any_in(0..=2), !set.is_empty());
        }
    }

    #[test]
    #[should_panic(expected = "is not free")]
    fn a_slot_is_taken_once() {
        let mut map = FreeMap::empty(tracks(24, 8));
        map.take(Slot(0));
        map.take(Slot(0));
    }
}
