//! AMP as its paper has it, with a page's numbers each under its name, beside ours over random
//! sequences.

#![cfg(test)]

use std::collections::BTreeMap;

use super::TABLE;
use super::volume::{LAST, Volume};
use crate::contract::{Found, Pattern, Prefetch, STAYS};
use crate::ids::Track;
use crate::registry::{KnobValue, PrefetchEnv};
use crate::rng::Rng;
use crate::units::Blocks;

/// What is known of a track.
#[derive(Clone, Debug, Default)]
struct Page {
    row: u64,
    /// The last of its group.
    last: Option<u64>,
    degree: u64,
    distance: u64,
    read: bool,
    old: bool,
    trigger: bool,
    /// The first of a group that a trigger has sent for.
    first: bool,
}

struct Twin {
    pages: BTreeMap<u64, Page>,
    threshold: u64,
    start: u64,
    asynchronous: u64,
    most: u64,
    spares_all: bool,
    brought: Vec<(u64, u64)>,
}

impl Twin {
    fn last_of(&self, track: u64) -> Option<u64> {
        let last = self.pages.get(&track)?.last?;
        let there = self.pages.get(&last)?;
        (there.last == Some(last)).then_some(last)
    }

    fn newest(&mut self, track: u64) -> Option<&mut Page> {
        let last = self.last_of(track)?;
        let last = self.last_of(last + 1).unwrap_or(last);
        self.pages.get_mut(&last)
    }

    fn state(&mut self, track: u64, of_read: u64) -> (u64, u64) {
        let begin = match self.start {
            0 => of_read.min(self.most),
            start => start,
        };
        let distance = self.asynchronous / 2;
        let newest = self.newest(track);
        newest.map_or((begin, distance), |page| (page.degree, page.distance))
    }

    fn group(&mut self, first: u64, by_trigger: bool, (degree, distance): (u64, u64)) {
        let is_long = degree > self.asynchronous;
        let (degree, distance) = match is_long {
            true => (degree.max(distance + 1), distance),
            false => (degree, self.asynchronous / 2),
        };
        let last = (first + degree - 1).min(LAST);
        let begin = if by_trigger { first } else { first - 1 };
        self.brought.push((begin, last));
        for track in first..=last {
            let page = Page {
                last: Some(last),
                first: by_trigger && track == first,
                trigger: is_long
                    && last < LAST
                    && track == first.max(last.saturating_sub(distance)),
                ..Page::default()
            };
            self.pages.insert(track, page);
        }
        if first <= last {
            let page = self.pages.get_mut(&last).unwrap();
            (page.degree, page.distance) = (degree, distance);
        }
    }

    fn asked(&mut self, track: u64, found: Found, of_read: u64) -> Pattern {
        let before = track
            .checked_sub(1)
            .and_then(|before| self.pages.get(&before));
        let row = match before {
            Some(page) if page.last.is_none() => page.row,
            Some(page) if page.read => self.threshold,
            _ => 0,
        };
        let threshold = self.threshold;
        let page = self.pages.entry(track).or_default();
        let was = page.clone();
        (page.read, page.trigger) = (true, false);
        if page.last.is_none() && page.row == 0 {
            page.row = threshold.min(row + 1);
        }
        let row_now = page.row;
        if found == Found::Missed {
            if row < threshold {
                return Pattern::Random;
            }
            let state = self.state(track - 1, of_read);
            self.group(track + 1, false, state);
            let row = threshold;
            let page = Page {
                row,
                read: true,
                ..Page::default()
            };
            self.pages.insert(track, page);
            return Pattern::Sequential;
        }
        let Some(last) = was.last else {
            return match row_now == threshold {
                true => Pattern::Sequential,
                false => Pattern::Random,
            };
        };
        let most = self.most;
        if !was.read
            && was.first
            && found == Found::Coming
            && let Some(page) = self.newest(track)
        {
            page.distance = (most - 1).min(page.distance + 1);
        }
        if !was.read
            && last == track
            && !was.old
            && let Some(page) = self.newest(track)
        {
            page.degree = most.min(page.degree + of_read);
        }
        if was.trigger {
            let state = self.state(track, of_read);
            self.group(last + 1, true, state);
        }
        Pattern::Sequential
    }

    /// It has to make room; whether it stays.
    fn unread(&mut self, track: u64) -> bool {
        let Some(page) = self.pages.get_mut(&track) else {
            return false;
        };
        let stays = page
            .last
            .is_some_and(|last| last == track || self.spares_all);
        if stays && !page.read {
            page.old = true;
            if let Some(page) = self.newest(track) {
                page.degree = 1.max(page.degree - 1);
                page.distance = page.distance.saturating_sub(1).min(page.degree - 1);
            }
        }
        stays
    }
}

/// Both, over the same tracks.
struct Both {
    amp: Box<dyn Prefetch>,
    twin: Twin,
    volume: Volume,
    /// By track that was brought: whether it had to make room since.
    told: BTreeMap<u64, bool>,
}

impl Both {
    fn new(settings: &[(&str, &str)]) -> Both {
        let spec = TABLE.iter().find(|spec| spec.name == "amp").unwrap();
        let knobs: Vec<_> = settings
            .iter()
            .map(|(key, value)| ((*key).to_owned(), KnobValue::parse(value)))
            .collect();
        let knobs = spec.card().check(&knobs).unwrap();
        let stripe = Blocks(1);
        let of = |name| knobs.integer(name);
        Both {
            amp: (spec.build)(&knobs, &PrefetchEnv { stripe }).unwrap(),
            twin: Twin {
                pages: BTreeMap::new(),
                threshold: of("threshold"),
                start: of("start"),
                asynchronous: of("asynchronous"),
                most: of("most"),
                spares_all: knobs.choice("spare") == "unread",
                brought: Vec::new(),
            },
            volume: Volume::default(),
            told: BTreeMap::new(),
        }
    }

    fn asked(&mut self, track: u64, found: Found, of_read: u64) {
        let read = (track, of_read);
        let pattern = self.volume.find(&mut *self.amp, read, found);
        let own = self.twin.asked(track, found, of_read);
        let brought = &mut self.volume.brought;
        assert_eq!((pattern, &*brought), (own, &self.twin.brought), "{track}");
        for (first, last) in brought.drain(..) {
            self.told.extend((first..=last).map(|track| (track, false)));
        }
        self.twin.brought.clear();
    }

    /// A track has to make room, and stays once for each time that it is brought if it is to.
    fn leaves(&mut self, track: u64) {
        let Some(note) = self.volume.notes.get(&track).copied() else {
            return;
        };
        let is_first = self.told.insert(track, true) == Some(false);
        let stays = is_first && note & STAYS != 0;
        if !stays {
            self.volume.notes.remove(&track);
        }
        if is_first {
            self.amp.unread(Track(track), note, &mut self.volume);
            assert_eq!(stays, self.twin.unread(track), "{track}");
        }
        if !stays {
            self.twin.pages.remove(&track);
        }
    }
}

/// Three readers, some of whose tracks are missed in part or on their way; any track may have to
/// make room. How many groups were late.
fn run(seed: u64, settings: &[(&str, &str)]) -> u64 {
    let rng = &mut Rng::stream(seed, "amp");
    let mut both = Both::new(settings);
    let mut next = [0, 40, 80];
    for _ in 0..4_000 {
        let reader = rng.below(3) as usize;
        if rng.chance(0.03) {
            next[reader] = rng.below(LAST + 1);
        }
        let of_read = 1 + rng.below(3);
        for track in next[reader]..(next[reader] + of_read).min(LAST + 1) {
            let found = match both.volume.notes.contains_key(&track) {
                false => Found::Missed,
                true if rng.chance(0.1) => Found::Missed,
                true if rng.chance(0.3) => Found::Coming,
                true => Found::There,
            };
            both.asked(track, found, of_read);
        }
        next[reader] = (next[reader] + of_read) % (LAST + 1);
        for _ in 0..rng.below(4) {
            both.leaves(rng.below(LAST + 1));
        }
    }
    let mut late = 0;
    both.amp.tell(&mut |measure, number| {
        if measure.name == "late_groups" {
            late = number;
        }
    });
    late
}

#[test]
fn amp_brings_what_its_paper_brings() {
    let mut late = 0;
    for seed in 0..20 {
        for settings in [
            &[("most", "12")] as &[_],
            &[("most", "12"), ("spare", "last"), ("threshold", "1")],
            &[
                ("most", "20"),
                ("asynchronous", "1"),
                ("start", "3"),
                ("threshold", "2"),
            ],
            &[("most", "3"), ("asynchronous", "0"), ("threshold", "1")],
            &[("most", "9"), ("asynchronous", "9"), ("threshold", "1")],
        ] {
            late += run(seed, settings);
        }
    }
    assert!(late > 100, "{late} groups were late");
}
