//! The prefetcher of SARC: sequences are told by counters of tracks, and brought in groups, the
//! next before it is asked for.
//!
//! *Detection.* A track that is asked for the first time since it came counts one more than the
//! track before it, up to a threshold, or one if that is not in memory. There is no table of
//! sequences, so there may be any number of them. A track is sequential when its counter is at the
//! threshold.
//!
//! *Synchronous.* A sequence misses a track: that and the tracks that follow are brought, to a
//! degree, rounded up to the end of a stripe, since the drives of an array read a stripe together.
//! *Asynchronous.* A track some way before the end of the group is its trigger: when that is asked
//! for, the next group is brought. So a steady sequence misses at its beginning only.
//!
//! *The anomaly.* Plain LRU may let the unread tracks of a group leave before those of the next
//! group, which are younger though they are needed later; then more prefetching, or a larger cache,
//! may miss more. The remedy: when a trigger is asked for, the unread tracks of its group become as
//! young as the next group.
//!
//! *Readings.* The paper's text tests the counter of the track itself; an implementer's walk
//! through the algorithm that of the track before, one track later (`test`). Threshold, degree and
//! distance of the trigger are not in the text; degree and distance are believed to be those of the
//! paper. O(1) for a track that is asked for, and for one that is brought.

use super::common::{SEQUENCE_MISSES, TRACK, TRIGGERS};
use crate::contract::{Around, Found, Pattern, Prefetch, Touch};
use crate::ids::Track;
use crate::measure::{Measure, Tell};
use crate::pages::PREFETCH_COUNTS;
use crate::registry::{ConfigError, Knob, Knobs, PrefetchEnv, Spec, joined};
use crate::units::BLOCK_BYTES;

/// The counter of a track, in its note. 0 is unset.
const COUNTER: u32 = 0xff;
/// The track is the trigger of its group.
const TRIGGER: u32 = 1 << 8;

struct Sarc {
    threshold: u32,
    /// Whether a track is sequential by the counter of the one before it.
    by_previous: bool,
    degree: u64,
    /// Tracks of a stripe.
    stripe: u64,
    /// Tracks between a trigger and the end of its group; none without asynchronous prefetching.
    trigger: Option<u64>,
    remedy: bool,
    counts: [u64; 2],
}

impl Sarc {
    /// The last track of the group that begins with this one.
    fn end_of_group(&self, first: Track) -> u64 {
        let end = first.0 + self.degree;
        end + (self.stripe - 1 - end % self.stripe)
    }

    fn bring(&self, from: Track, end: u64, tracks: &mut dyn Around) {
        let end = end.min(tracks.last().0);
        tracks.bring(from, Track(end));
        if let Some(distance) = self.trigger
            && from.0 <= end
        {
            let trigger = end.saturating_sub(distance).max(from.0);
            // One of an older group may be among them.
            for track in from.0..=end {
                if let Some(note) = tracks.note(Track(track)) {
                    *note &= !TRIGGER;
                }
            }
            if let Some(note) = tracks.note(Track(trigger)) {
                *note |= TRIGGER;
            }
        }
    }
}

/// The counter of a track, 0 if it is unset; none if the track is not in memory.
fn counter(track: Option<u64>, tracks: &mut dyn Around) -> Option<u32> {
    let note = tracks.note(Track(track?))?;
    Some(*note & COUNTER)
}

impl Prefetch for Sarc {
    fn asked(&mut self, touch: Touch, tracks: &mut dyn Around) -> Pattern {
        let track = touch.track;
        let before = counter(track.0.checked_sub(1), tracks);
        let threshold = self.threshold;
        let note = tracks.note(track).expect("it is asked for");
        let is_trigger = *note & TRIGGER != 0;
        *note &= !TRIGGER;
        if *note & COUNTER == 0 {
            *note |= before.map_or(1, |before| threshold.min(before + 1));
        }
        let own = *note & COUNTER;
        if touch.found == Found::Missed {
            let reached = if self.by_previous {
                before == Some(threshold)
            } else {
                own == threshold
            };
            if reached {
                *note = *note & !COUNTER | threshold;
                self.counts[0] += 1;
                self.bring(track, self.end_of_group(track), tracks);
                return Pattern::Sequential;
            }
            return Pattern::Random;
        }
        if is_trigger {
            self.counts[1] += 1;
            let from = match (self.remedy, self.trigger) {
                (false, Some(distance)) => track.0 + distance + 1,
                _ => track.0 + 1,
            };
            self.bring(Track(from), self.end_of_group(track), tracks);
        }
        match own == threshold {
            true => Pattern::Sequential,
            false => Pattern::Random,
        }
    }

    fn group(&self) -> u64 {
        self.degree + self.stripe
    }

    fn tell(&self, tell: Tell<'_>) {
        for (measure, number) in OWN_MEASURES.iter().zip(self.counts) {
            tell(measure, number);
        }
    }
}

const OWN_MEASURES: [Measure; 2] = [SEQUENCE_MISSES, TRIGGERS];

static MEASURES: [Measure; PREFETCH_COUNTS.len() + 2] = joined(OWN_MEASURES, PREFETCH_COUNTS);

static KNOBS: &[Knob] = &[
    Knob::integer(
        "threshold",
        3,
        2..=255,
        "tracks in a row that make a sequence",
    ),
    Knob::choice(
        "test",
        "previous",
        &["previous", "own"],
        "whose counter has to be at the threshold: that of the track before, or of the track itself",
    ),
    Knob::integer(
        "degree",
        24,
        1..=4_096,
        "tracks that are brought beyond the one that is missed, or is the trigger",
    ),
    Knob::integer(
        "stripe_tracks",
        0,
        0..=4_096,
        "groups end where so many tracks end together; 0 is a stripe of the volume",
    ),
    Knob::choice(
        "mode",
        "both",
        &["both", "sync"],
        "whether groups are also brought before a track is missed",
    ),
    Knob::integer(
        "trigger",
        3,
        0..=4_095,
        "how many tracks before the end of a group the next one is sent for",
    ),
    Knob::flag(
        "remedy",
        true,
        "whether the unread tracks of a group become young again when the next one is sent for",
    ),
    TRACK,
];

pub(super) static SPEC: Spec<dyn Prefetch> = Spec {
    name: "sarc",
    aliases: &[],
    summary: "sequences by counters of tracks; groups on a miss, and the next group before it is asked for",
    source: "Gill and Modha, SARC: Sequential Prefetching in Adaptive Replacement Cache, USENIX Annual Technical Conference 2005",
    knobs: KNOBS,
    measures: &MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, env| build(knobs, env).map(|made| Box::new(made) as Box<dyn Prefetch>),
};

fn build(knobs: &Knobs, env: &PrefetchEnv) -> Result<Sarc, ConfigError> {
    let sync = knobs.choice("mode") == "sync";
    let of_groups = ["trigger", "remedy"];
    let set = knobs.first_given(KNOBS.iter().filter(|knob| of_groups.contains(&knob.name)));
    if let (true, Some((knob, value))) = (sync, set) {
        let allowed = "left out where mode = sync: there are no triggers";
        let key = format!("sarc.{}", knob.name);
        return Err(ConfigError::value(&key, &value.to_string(), allowed));
    }
    let (degree, trigger) = (knobs.integer("degree"), knobs.integer("trigger"));
    if !sync && trigger >= degree {
        let allowed = format!("less than degree = {degree}, as the trigger is one of the group");
        return Err(ConfigError::value(
            "sarc.trigger",
            &trigger.to_string(),
            &allowed,
        ));
    }
    let track = knobs.integer(TRACK.name) * 1024 / BLOCK_BYTES;
    Ok(Sarc {
        threshold: knobs.integer("threshold") as u32,
        by_previous: knobs.choice("test") == "previous",
        degree,
        stripe: match knobs.integer("stripe_tracks") {
            0 => (env.stripe.0 / track).max(1),
            tracks => tracks,
        },
        trigger: (!sync).then_some(trigger),
        remedy: knobs.flag("remedy"),
        counts: [0; 2],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::volume::Volume;
    use crate::registry::KnobValue;
    use crate::units::Blocks;

    fn made(knobs: &[(&str, i64)]) -> Sarc {
        let knobs = knobs.iter().copied();
        let knobs: Vec<_> = knobs
            .map(|(key, value)| (key.to_owned(), KnobValue::Integer(value)))
            .collect();
        let knobs = Knobs::check("sarc", KNOBS, &knobs).unwrap();
        // Six tracks.
        let stripe = Blocks(6 * 64);
        build(&knobs, &PrefetchEnv { stripe }).unwrap()
    }

    #[test]
    fn a_track_counts_once_however_often_it_is_asked_for() {
        let (mut sarc, mut volume) = (made(&[]), Volume::default());
        // 101 counts before 100 does; so 103 is the third in a row, not the fourth.
        for track in [101, 100, 101, 102, 103] {
            let pattern = volume.ask(&mut sarc, track);
            assert_eq!(pattern, Pattern::Random, "{track}");
        }
        assert_eq!(volume.brought, []);
    }

    #[test]
    fn a_group_ends_with_a_stripe_and_its_trigger_brings_the_next_one_once() {
        let (mut sarc, mut volume) = (made(&[("degree", 8)]), Volume::default());
        for track in 0..4 {
            volume.ask(&mut sarc, track);
        }
        // 3 and 8 more are 0 to 11, two stripes.
        assert_eq!(volume.brought, [(3, 11)]);
        for track in [7, 8, 8, 9] {
            volume.ask(&mut sarc, track);
        }
        assert_eq!(volume.brought, [(3, 11), (9, 17)]);
        assert_eq!(sarc.counts, [1, 1]);
    }

    #[test]
    fn the_last_group_ends_with_the_volume_and_has_its_trigger_there() {
        let (mut sarc, mut volume) = (made(&[]), Volume::default());
        for track in 107..111 {
            volume.ask(&mut sarc, track);
        }
        assert_eq!(volume.brought, [(110, 119)]);
        assert_eq!(volume.notes[&116] & TRIGGER, TRIGGER);
    }

    #[test]
    fn a_track_that_a_sequence_misses_is_part_of_it_whatever_it_counted_before() {
        let (mut sarc, mut volume) = (made(&[]), Volume::default());
        volume.notes.insert(13, 1);
        for track in 10..13 {
            volume.ask(&mut sarc, track);
        }
        // A part of it was there.
        volume.find(&mut sarc, (13, 1), Found::Missed);
        assert_eq!(volume.notes[&13] & COUNTER, 3);
        assert_eq!(volume.ask(&mut sarc, 14), Pattern::Sequential);
    }
}
