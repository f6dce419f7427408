//! AMP: each sequence has a degree and a trigger of its own, and both go by what becomes of what
//! was brought.
//!
//! *Groups.* A sequence that misses a track brings as many behind it as its degree says: so a slow
//! sequence takes little of the cache, and a fast one is read in long pieces. If these are more
//! than a few, a track some way before the end of the group is its trigger: when that is asked for,
//! the next group is brought. The best degree of a steady sequence is what it asks for while a
//! track stays in the cache, and the best distance of a trigger what it asks for while a group
//! comes.
//!
//! *The degree* rises when the last track of a group is asked for, by the tracks of that read: all
//! of the group was of use. It falls by one for each track that had to make room before anybody
//! asked for it: the group was too long. Such a track stays once more, and if it is the last does
//! not raise the degree when it is asked for. *The distance* rises by one when the first track of a
//! group is asked for while the group is on its way, as it was sent for too late, and falls when
//! the degree falls.
//!
//! There is no table of sequences. The note of a group's last track has degree and distance, the
//! notes of the others how far away that is: as in the paper, which has them in what is known of
//! pages. So they live as long as what they are about, and there may be any number of sequences.
//! The newest group of a sequence has what counts: that behind the last track, if it was sent for.
//!
//! *Readings.* The paper counts pages, also those of a read; here it is tracks. Its text speaks of
//! the last page of a group that reaches the end of the list unread and stays, and then of any page
//! that does. If it is every one (`spare=unread`, as in an implementation that was looked at), the
//! degree comes to what theory says and nothing is missed; if it is the last alone, one track of
//! each group is missed. Which tracks make a sequence (counted as SARC does), the degree of the
//! first group, and the largest one are not in the text. What is late is told when it is asked for,
//! not when it has come.
//!
//! *It loses* where sequences are short, or the cache changes faster than a degree that rises by
//! one read for each group; and what is known of a sequence goes with the last track of its group.
//! A cache that remembers what has left takes a track that stays for one that has come back. O(1)
//! for a track that is asked for, and for one that is brought, since that stays once at most.

use super::common::{SEQUENCE_MISSES, TRACK, TRIGGERS};
use crate::contract::{Around, Found, Pattern, Prefetch, STAYS, Touch};
use crate::ids::Track;
use crate::measure::{Measure, Tell};
use crate::pages::PREFETCH_COUNTS;
use crate::registry::{ConfigError, Knob, Knobs, Spec, joined};

/// In a note: the degree, if it is the last track of a group; how far that is, if it is another one
/// of a group; else how many in a row were asked for up to it.
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

/// Where a group ends of which this track is one.
fn end_of(track: u64, note: u32) -> u64 {
    match note & LAST {
        0 => track + u64::from(note & NUMBER),
        _ => track,
    }
}

/// The last track of a group, if it is there.
fn last_of(track: u64, note: u32, tracks: &mut dyn Around) -> Option<u64> {
    if note & GROUPED == 0 {
        return None;
    }
    let last = end_of(track, note);
    let note = tracks.note(Track(last))?;
    (*note & LAST != 0).then_some(last)
}

/// The note of the last track of the newest group of a sequence that this track belongs to.
fn newest(track: u64, note: u32, tracks: &mut dyn Around) -> Option<&mut u32> {
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
            let state = self.state(track, note, touch.tracks, tracks);
            self.counts.triggers += 1;
            self.bring(end_of(track, note), false, state, tracks);
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
        "unread",
        &["unread", "last"],
        "which tracks of a group stay once more when they have to make room unread, and make the next one shorter: every one, or the last; the paper can be read both ways",
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
    promises: "",
    build: |knobs, _| build(knobs).map(|made| Box::new(made) as Box<dyn Prefetch>),
};

fn build(knobs: &Knobs) -> Result<Amp, ConfigError> {
    let most = knobs.integer("most");
    for knob in ["start", "asynchronous"] {
        let value = knobs.integer(knob);
        if value > most {
            let allowed = format!("{value} at least, or less with amp.{knob} = {most} as well");
            return Err(ConfigError::value("amp.most", &most.to_string(), &allowed));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::volume::{LAST as END, Volume};
    use crate::registry::KnobValue;

    fn made(knobs: &[(&str, i64)]) -> Amp {
        let knobs = knobs.iter().copied();
        let knobs: Vec<_> = knobs
            .map(|(key, value)| (key.to_owned(), KnobValue::Integer(value)))
            .collect();
        let knobs = Knobs::check("amp", KNOBS, &knobs).unwrap();
        let mut amp = build(&knobs).unwrap();
        amp.spares_all = false;
        amp
    }

    /// What is known at the end of a group.
    fn known(volume: &Volume, last: u64) -> (u32, u32) {
        let note = volume.notes[&last];
        assert_eq!(note & LAST, LAST, "{last}");
        let state = State::of(note);
        (state.degree, state.distance)
    }

    /// A track has to make room.
    fn leaves(amp: &mut Amp, volume: &mut Volume, track: u64) {
        let note = volume.notes[&track];
        if note & STAYS == 0 {
            volume.notes.remove(&track);
        }
        amp.unread(Track(track), note, volume);
    }

    /// A sequence that has asked for tracks 10 to 13, the last of which it missed, and a first
    /// group of so many.
    fn begun(start: i64) -> (Amp, Volume) {
        let mut amp = made(&[("start", start), ("most", 16)]);
        let mut volume = Volume::default();
        for track in 10..14 {
            volume.ask(&mut amp, track);
        }
        assert_eq!(volume.brought, [(13, 13 + start as u64)]);
        (amp, volume)
    }

    #[test]
    fn the_first_group_is_as_long_as_what_is_asked_for_if_nothing_is_said() {
        let (mut amp, mut volume) = (made(&[]), Volume::default());
        for track in 10..13 {
            volume.ask(&mut amp, track);
        }
        volume.find(&mut amp, (13, 2), Found::Missed);
        assert_eq!(volume.brought, [(13, 15)]);
        assert_eq!(known(&volume, 15), (2, 2));
    }

    #[test]
    fn what_is_missed_behind_a_track_that_nobody_has_asked_for_is_no_sequence() {
        let (mut amp, mut volume) = begun(2);
        assert_eq!(volume.ask(&mut amp, 16), Pattern::Random);
        assert_eq!(volume.brought.len(), 1);
    }

    #[test]
    fn the_degree_rises_by_the_read_that_comes_to_the_end_of_a_group() {
        let (mut amp, mut volume) = begun(3);
        volume.ask(&mut amp, 14);
        assert_eq!(known(&volume, 16).0, 3);
        volume.find(&mut amp, (15, 2), Found::There);
        volume.find(&mut amp, (16, 2), Found::There);
        assert_eq!(known(&volume, 16).0, 5);
        volume.ask(&mut amp, 16);
        assert_eq!(known(&volume, 16).0, 5, "once for a group");
        volume.ask(&mut amp, 17);
        assert_eq!(volume.brought[1], (17, 22));
        assert_eq!(known(&volume, 22), (5, 2));
    }

    #[test]
    fn the_degree_has_a_limit() {
        let (mut amp, mut volume) = begun(15);
        for track in 14..29 {
            volume.find(&mut amp, (track, 4), Found::There);
        }
        assert_eq!(volume.brought[1], (29, 43));
        assert_eq!(known(&volume, 43).0, 16);
    }

    #[test]
    fn both_fall_when_the_end_of_a_group_has_to_make_room_unread() {
        let (mut amp, mut volume) = begun(6);
        leaves(&mut amp, &mut volume, 19);
        assert_eq!(known(&volume, 19), (5, 1));
        // It stays, and does not raise the degree.
        for track in 14..20 {
            volume.ask(&mut amp, track);
        }
        assert_eq!((amp.counts.falls, amp.counts.rises), (1, 0));
    }

    #[test]
    fn neither_falls_when_another_track_has_to_or_one_that_was_asked_for() {
        let (mut amp, mut volume) = begun(6);
        leaves(&mut amp, &mut volume, 15);
        assert!(!volume.notes.contains_key(&15));
        volume.ask(&mut amp, 19);
        let before = known(&volume, 19);
        leaves(&mut amp, &mut volume, 19);
        assert_eq!(known(&volume, 19), before);
        assert_eq!(amp.counts.falls, 0);
    }

    #[test]
    fn there_is_a_least_of_both() {
        let (mut amp, mut volume) = begun(2);
        for _ in 0..3 {
            leaves(&mut amp, &mut volume, 15);
        }
        assert_eq!(known(&volume, 15), (1, 0));
    }

    #[test]
    fn every_track_stays_and_counts_if_that_is_asked_for() {
        let mut amp = made(&[("start", 6)]);
        amp.spares_all = true;
        let mut volume = Volume::default();
        for track in 10..14 {
            volume.ask(&mut amp, track);
        }
        leaves(&mut amp, &mut volume, 15);
        leaves(&mut amp, &mut volume, 16);
        assert!(volume.notes.contains_key(&15));
        assert_eq!(known(&volume, 19), (4, 0));
    }

    #[test]
    fn only_long_groups_have_triggers_and_those_send_for_the_next_group_once() {
        let (mut amp, mut volume) = begun(4);
        for track in 14..17 {
            volume.ask(&mut amp, track);
        }
        assert_eq!(volume.brought.len(), 1);
        let (mut amp, mut volume) = begun(5);
        for track in [14, 15, 16, 16] {
            volume.ask(&mut amp, track);
        }
        assert_eq!(volume.brought[1..], [(19, 23)]);
        assert_eq!(known(&volume, 23), (5, 2));
    }

    #[test]
    fn the_distance_rises_if_a_group_is_on_its_way_when_it_is_asked_for() {
        let (mut amp, mut volume) = begun(5);
        // One that was missed cannot be sent for earlier.
        volume.find(&mut amp, (14, 1), Found::Coming);
        assert_eq!(amp.counts.late, 0);
        for track in 15..19 {
            volume.ask(&mut amp, track);
        }
        // The end of the first group raised the degree of the second, which was sent for by then.
        assert_eq!(known(&volume, 23), (6, 2));
        volume.find(&mut amp, (19, 1), Found::Coming);
        volume.find(&mut amp, (19, 1), Found::Coming);
        volume.find(&mut amp, (20, 1), Found::Coming);
        assert_eq!(known(&volume, 23), (6, 3));
        // The trigger of this group is where it was; that of the next is earlier.
        volume.ask(&mut amp, 21);
        assert_eq!(volume.brought[2], (24, 29));
        assert_eq!(volume.notes[&26] & TRIGGER, TRIGGER);
    }

    #[test]
    fn a_group_that_came_in_time_leaves_the_distance_as_it_is() {
        let (mut amp, mut volume) = begun(5);
        for track in 14..20 {
            volume.ask(&mut amp, track);
        }
        assert_eq!(known(&volume, 23), (6, 2));
    }

    #[test]
    fn a_group_is_longer_than_its_distance() {
        let (mut amp, mut volume) = begun(5);
        for track in 14..17 {
            volume.ask(&mut amp, track);
        }
        let note = volume.notes.get_mut(&23).unwrap();
        *note = State {
            degree: 5,
            distance: 7,
        }
        .into(*note);
        for track in 17..22 {
            volume.ask(&mut amp, track);
        }
        assert_eq!(volume.brought[2], (24, 31));
        assert_eq!(volume.notes[&24] & TRIGGER, TRIGGER);
    }

    #[test]
    fn a_sequence_of_which_nothing_is_known_any_more_begins_anew() {
        let (mut amp, mut volume) = begun(6);
        let last = volume.notes.get_mut(&19).unwrap();
        *last = State {
            degree: 9,
            distance: 2,
        }
        .into(*last);
        volume.notes.remove(&19);
        for track in 14..18 {
            volume.ask(&mut amp, track);
        }
        assert_eq!(volume.brought[1], (20, 25));
    }

    #[test]
    fn the_last_group_ends_with_the_volume() {
        let mut amp = made(&[("start", 6)]);
        let mut volume = Volume::default();
        for track in END - 5..=END {
            volume.ask(&mut amp, track);
        }
        assert_eq!(volume.brought, [(END - 2, END)]);
        let mut amp = made(&[("start", 6)]);
        let mut volume = Volume::default();
        for track in END - 3..=END {
            volume.ask(&mut amp, track);
        }
        assert_eq!(volume.brought, [(END, END)]);
        assert!(!volume.notes.contains_key(&(END + 1)));
    }
}
