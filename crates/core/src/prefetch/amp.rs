//! AMP: each sequence has a degree and a trigger of its own, and both go by what becomes of what was brought.
//!
//! *Groups.* A sequence that misses a track brings as many behind it as its degree says; so a slow sequence takes little of the cache, and a fast one is read in long pieces. If
//! that is more than a few, a track some way before the end of the group is its trigger: when that is asked for, the next group is brought. The best degree of a steady sequence is
//! what it asks for while a track stays in the cache, and the best distance of a trigger what it asks for while a group comes.
//!
//! *The degree* rises when the last track of a group is asked for, by the tracks of that read: all of the group was of use. It falls by one when that track had to make room before: the
//! group was too long. Then the track stays once more, so that what is known of the sequence is not lost with it, and does not raise the degree when it is asked for. *The distance* rises by one when the first
//! track of a group is asked for while the group is on its way: it was sent for too late. It falls when the degree falls.
//!
//! There is no table of sequences: the note of a group's last track has degree and distance, and those of the others how far away that is. So they are where the paper has them, in what is known of pages,
//! live as long as what they are about, and there may be any number of sequences. The newest group of a sequence has what counts: that behind the last track, if it was sent for.
//!
//! *Readings.* The paper counts pages and the pages of a read; here it is tracks. It is told in its text that the last page of a group stays once more; implementations that the author of this file has read have every unread page stay, and lower the degree for each
//! (`spare`). Which tracks make a sequence (counted as SARC does), the degree of the first group and the largest one are not in the text. *It loses* where sequences are short, as each learns anew, and where the cache
//! lets a group's last track go after it was asked for and before the next is: then it begins anew. A cache that remembers what has left takes a track that stays for one that has come back. O(1) for a track that is asked for, and for one
//! that is brought: a track stays once at most each time.

use super::common::{SEQUENCE_MISSES, TRACK, TRIGGERS};
use crate::contract::{Around, Found, Pattern, Prefetch, STAYS, Touch};
use crate::ids::Track;
use crate::measure::{Measure, Tell};
use crate::pages::PREFETCH_COUNTS;
use crate::registry::{ConfigError, Knob, Knobs, Spec, joined};

/// In a note: the degree, if it is the last track of a group; how far that is, if it is another one of a group; else how many in a row were asked for up to it.
const NUMBER: u32 = 0xfff;
/// The bits of the distance between a trigger and the last track, in the note of that.
const DISTANCE: u32 = NUMBER << DISTANCE_AT;
const DISTANCE_AT: u32 = 12;
/// It belongs to a group.
const GROUPED: u32 = 1 << 24;
/// It is the last of one.
const LAST: u32 = 1 << 25;
/// It is the first of one that a trigger has sent for.
const FIRST: u32 = 1 << 26;
/// It is the trigger.
const TRIGGER: u32 = 1 << 27;
/// It was asked for.
const READ: u32 = 1 << 28;
/// It had to make room, and stays once more.
const OLD: u32 = 1 << 29;

/// What is known of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    degree: u32,
    distance: u32,
}

impl State {
    fn of(note: u32) -> State {
        State {
            degree: note & NUMBER,
            distance: (note & DISTANCE) >> DISTANCE_AT,
        }
    }

    fn into(self, note: u32) -> u32 {
        note & !(NUMBER | DISTANCE) | self.degree | self.distance << DISTANCE_AT
    }
}

struct Amp {
    threshold: u32,
    /// The degree of the first group; none if it is what the read asks for.
    start: Option<u32>,
    /// Groups of more tracks have triggers.
    asynchronous: u32,
    most: u32,
    /// Whether every track of a group stays once more, and not the last alone.
    spares_all: bool,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    misses: u64,
    triggers: u64,
    tracks: u64,
    rises: u64,
    falls: u64,
    late: u64,
}

/// The last track of a group, if it is there.
fn last_of(track: u64, note: u32, tracks: &mut dyn Around) -> Option<u64> {
    let last = match note & LAST {
        0 if note & GROUPED == 0 => return None,
        0 => track + u64::from(note & NUMBER),
        _ => track,
    };
    let note = tracks.note(Track(last))?;
    (*note & LAST != 0).then_some(last)
}

/// The note of the last track of the newest group of a sequence that this track belongs to.
fn newest<'a>(track: u64, note: u32, tracks: &'a mut dyn Around) -> Option<&'a mut u32> {
    let last = last_of(track, note, tracks)?;
    let behind = last + 1;
    let next = match tracks.note(Track(behind)) {
        Some(note) => {
            let note = *note;
            last_of(behind, note, tracks)
        }
        None => None,
    };
    tracks.note(Track(next.unwrap_or(last)))
}

impl Amp {
    /// What is known of the sequence of this track; what one begins with, if nothing is.
    fn state(&self, track: u64, note: u32, of_read: u64, tracks: &mut dyn Around) -> State {
        if let Some(note) = newest(track, note, tracks) {
            return State::of(*note);
        }
        let of_read = of_read.min(self.most.into()) as u32;
        State {
            degree: self.start.unwrap_or(of_read),
            distance: self.asynchronous / 2,
        }
    }

    /// Brings a group behind a track, and what that lacks if it was missed.
    fn bring(&mut self, behind: u64, missed: bool, state: State, tracks: &mut dyn Around) {
        let mut state = state;
        let triggers = state.degree > self.asynchronous;
        if triggers {
            state.degree = state.degree.max(state.distance + 1);
        } else {
            state.distance = self.asynchronous / 2;
        }
        let (first, end) = (behind + 1, tracks.last().0);
        let last = end.min(behind + u64::from(state.degree));
        tracks.bring(Track(if missed { behind } else { first }), Track(last));
        if last < first {
            return;
        }
        let all = if self.spares_all { STAYS } else { 0 };
        for track in first..=last {
            set(track, GROUPED | all | (last - track) as u32, tracks);
        }
        set(last, state.into(GROUPED | LAST | STAYS), tracks);
        if !missed {
            mark(first, FIRST, tracks);
        }
        if triggers && last < end {
            let trigger = last.saturating_sub(state.distance.into()).max(first);
            mark(trigger, TRIGGER, tracks);
        }
        self.counts.tracks += last - behind;
    }

    /// A track of a group is asked for, the first time since it was brought.
    fn asked_first(&mut self, touch: Touch, note: u32, tracks: &mut dyn Around) {
        let track = touch.track.0;
        if note & FIRST != 0
            && touch.found == Found::Coming
            && let Some(newest) = newest(track, note, tracks)
        {
            let mut state = State::of(*newest);
            state.distance = (state.distance + 1).min(self.most - 1);
            *newest = state.into(*newest);
            self.counts.late += 1;
        }
        if note & LAST != 0
            && note & OLD == 0
            && let Some(newest) = newest(track, note, tracks)
        {
            let mut state = State::of(*newest);
            let risen = u64::from(state.degree) + touch.tracks;
            state.degree = risen.min(self.most.into()) as u32;
            *newest = state.into(*newest);
            self.counts.rises += 1;
        }
    }
}

/// The note of a track that is to be brought.
fn set(track: u64, note: u32, tracks: &mut dyn Around) {
    *tracks.note(Track(track)).expect("it is to be brought") = note;
}

fn mark(track: u64, bit: u32, tracks: &mut dyn Around) {
    *tracks.note(Track(track)).expect("it is to be brought") |= bit;
}

impl Prefetch for Amp {
    fn asked(&mut self, touch: Touch, tracks: &mut dyn Around) -> Pattern {
        let track = touch.track.0;
        let before = match track.checked_sub(1) {
            Some(before) => tracks.note(Track(before)).map(|note| *note),
            None => None,
        };
        // How many were asked for in a row before it.
        let row = match before {
            Some(note) if note & GROUPED == 0 => note & NUMBER,
            Some(note) if note & READ != 0 => self.threshold,
            _ => 0,
        };
        let own = tracks.note(touch.track).expect("it is asked for");
        let note = *own;
        *own = (note | READ) & !TRIGGER;
        if note & (GROUPED | NUMBER) == 0 {
            *own |= self.threshold.min(row + 1);
        }
        if touch.found == Found::Missed {
            if row < self.threshold {
                return Pattern::Random;
            }
            let before = before.expect("it was asked for");
            let state = self.state(track - 1, before, touch.tracks, tracks);
            self.counts.misses += 1;
            self.bring(track, true, state, tracks);
            set(track, self.threshold | READ, tracks);
            return Pattern::Sequential;
        }
        if note & GROUPED == 0 {
            return match *own & NUMBER == self.threshold {
                true => Pattern::Sequential,
                false => Pattern::Random,
            };
        }
        if note & READ == 0 {
            self.asked_first(touch, note, tracks);
        }
        if note & TRIGGER != 0 {
            let last = match note & LAST {
                0 => track + u64::from(note & NUMBER),
                _ => track,
            };
            let state = self.state(track, note, touch.tracks, tracks);
            self.counts.triggers += 1;
            self.bring(last, false, state, tracks);
        }
        Pattern::Sequential
    }

    fn unread(&mut self, track: Track, note: u32, tracks: &mut dyn Around) {
        if note & STAYS == 0 || note & READ != 0 {
            return;
        }
        if let Some(note) = tracks.note(track) {
            *note |= OLD;
        }
        if let Some(newest) = newest(track.0, note, tracks) {
            let mut state = State::of(*newest);
            state.degree = state.degree.saturating_sub(1).max(1);
            state.distance = state.distance.saturating_sub(1).min(state.degree - 1);
            *newest = state.into(*newest);
            self.counts.falls += 1;
        }
    }

    fn group(&self) -> u64 {
        u64::from(self.most) + 1
    }

    fn tell(&self, tell: Tell<'_>) {
        let counts = &self.counts;
        let numbers = [
            counts.misses,
            counts.triggers,
            counts.tracks,
            counts.rises,
            counts.falls,
            counts.late,
        ];
        for (measure, number) in OWN_MEASURES.iter().zip(numbers) {
            tell(measure, number);
        }
    }
}

const OWN_MEASURES: [Measure; 6] = [
    SEQUENCE_MISSES,
    TRIGGERS,
    Measure::count(
        "group_tracks",
        "tracks",
        "tracks of groups, both of those that were missed and of those that were sent for before",
    ),
    Measure::count(
        "rises",
        "groups",
        "groups whose last track was asked for in time, after which the next is longer",
    ),
    Measure::count(
        "falls",
        "tracks",
        "tracks that had to make room unread, after which the next group is shorter",
    ),
    Measure::count(
        "late_groups",
        "groups",
        "groups that were on their way when they were asked for, after which the next is sent for earlier",
    ),
];

static MEASURES: [Measure; PREFETCH_COUNTS.len() + 6] = joined(OWN_MEASURES, PREFETCH_COUNTS);

/// Tracks that a degree may be at most.
const MOST: i64 = 2_048;

static KNOBS: &[Knob] = &[
    Knob::integer(
        "threshold",
        3,
        1..=255,
        "tracks in a row that make a sequence; the paper does not say",
    ),
    Knob::integer(
        "start",
        0,
        0..=MOST,
        "tracks of the first group of a sequence; 0 is as many as are asked for; the paper does not say",
    ),
    Knob::integer(
        "asynchronous",
        4,
        0..=MOST,
        "groups of more tracks have a trigger, the first half as many before the end; as many as most is never",
    ),
    Knob::integer(
        "most",
        128,
        2..=MOST,
        "tracks of a group at most; the paper does not say",
    ),
    Knob::choice(
        "spare",
        "last",
        &["last", "unread"],
        "which tracks of a group stay once more when they have to make room unread, and make the next one shorter: the last, or every one",
    ),
    TRACK,
];

pub(super) static SPEC: Spec<dyn Prefetch> = Spec {
    name: "amp",
    aliases: &[],
    summary: "groups of each sequence as long, and sent for as early, as what becomes of them says",
    source: "Gill and Bathen, AMP: Adaptive Multi-stream Prefetching in a Shared Cache, USENIX Conference on File and Storage Technologies 2007",
    knobs: KNOBS,
    measures: &MEASURES,
    asks: &[],
    prepared: false,
    build: |knobs, _| build(knobs).map(|made| Box::new(made) as Box<dyn Prefetch>),
};

fn build(knobs: &Knobs) -> Result<Amp, ConfigError> {
    let most = knobs.integer("most");
    for knob in ["start", "asynchronous"] {
        let value = knobs.integer(knob);
        if value > most {
            let allowed = format!("at most most = {most}");
            let key = format!("amp.{knob}");
            return Err(ConfigError::value(&key, &value.to_string(), &allowed));
        }
    }
    let start = knobs.integer("start") as u32;
    Ok(Amp {
        threshold: knobs.integer("threshold") as u32,
        start: (start > 0).then_some(start),
        asynchronous: knobs.integer("asynchronous") as u32,
        most: most as u32,
        spares_all: knobs.choice("spare") == "unread",
        counts: Counts::default(),
    })
}
