//! A map's log at home on two drives: what one of them has lost, the other one has, and older data
//! are never found in its place.

use super::world::{Cut, World};
use super::{config, events_per_cut};

const PLACES: [&str; 2] = [
    "ew_array:dm=2:dd=2:foreground=2:map=log:home=drive",
    "distorted_mirror:stripe_kib=8:foreground=2:map=log:home=drive",
];

fn world(place: &str) -> World {
    World::new(config(place, "satf_ew"))
}

/// The drives that have the log.
fn drives(place: &str) -> [usize; 2] {
    [0, world(place).cut(0).second_log()]
}

/// What is found is right, or the volume is refused. Whether it came back.
fn is_right_if_it_comes_back(cut: Cut, all: bool) -> bool {
    let recovered = cut.recover();
    recovered.map(|mut found| found.check(all)).is_ok()
}

/// Of two drives one may be ahead by a record that was not answered: a bad sector there takes
/// nothing, either.
#[test]
fn one_bad_sector_never_takes_a_volume() {
    for place in PLACES {
        let (mut world, drives) = (world(place), drives(place));
        for event in 0..900 {
            world.step();
            let cut = world.cut(event).with_an_unreadable_sector(event, &drives);
            let recovered = cut.recover();
            recovered
                .unwrap_or_else(|error| panic!("{place}, event {event}: {error}"))
                .check(event % 99 == 0);
        }
    }
}

/// A drive was set aside long ago, and the other one has lost both control blocks: its records tell
/// that it has come further.
#[test]
fn an_old_log_is_not_taken_where_the_other_has_lost_its_control_blocks() {
    for place in PLACES {
        for (one, other) in [(0, 1), (1, 0)] {
            let (mut world, drives) = (world(place), drives(place));
            let (one, other) = (drives[one], drives[other]);
            let mut before = world.cut(0);
            let (mut same, mut refused) = (0, 0);
            for event in 0..240_u64 {
                world.step();
                let cut = world.cut(event).without_controls_of(one);
                same += u64::from(is_right_if_it_comes_back(cut.clone(), false));
                let old = cut.with_log_of(other, &before);
                refused += u64::from(!is_right_if_it_comes_back(old, event % 39 == 0));
                if event % 60 == 9 {
                    before = world.cut(event);
                }
            }
            assert!(same > 120, "{place}: {same} of 240 came back");
            assert!(refused > 120, "{place}: {refused} of 240 were refused");
        }
    }
}

/// A control block is torn on one drive, and in the next life another one: the first was made whole
/// again before.
#[test]
fn a_control_block_torn_on_one_drive_is_written_again_there() {
    let mut twice = 0;
    for place in PLACES {
        let (mut world, drives) = (world(place), drives(place));
        for event in 0..300 {
            world.step();
            let Some(torn) = world.cut(event).with_a_torn_control_of(drives[1]) else {
                continue;
            };
            let mut next = torn.recover().expect("the other drive has it").go_on();
            for again in 0..40 {
                next.step();
                let Some(torn) = next.cut(again).with_a_torn_control_of(drives[1]) else {
                    continue;
                };
                let recovered = torn.without_log_of(drives[0]).recover();
                recovered
                    .unwrap_or_else(|error| panic!("{place}, event {event}, {again}: {error}"))
                    .check(false);
                twice += 1;
            }
        }
    }
    assert!(twice > 100, "{twice} control blocks were torn twice");
}

/// A drive that has the log does not answer for a while, and then again.
struct SetAside {
    place: &'static str,
    world: World,
    /// The drive that does not answer, and the other one.
    mute: usize,
    other: usize,
}

impl SetAside {
    /// Until seven of its writes have failed; how many others were written since the first.
    fn does_not_answer(&mut self, life: u64) -> u64 {
        let failures = self.world.map_failures();
        self.mute(Some(self.mute));
        let (mut first, mut near) = (None, 0);
        for event in 0.. {
            self.world.step();
            let now = self.world.map_failures();
            is_right_if_it_comes_back(self.world.cut(event), false);
            // What is answered now may be on the other drive alone.
            near = match first {
                None => 12,
                Some(_) => u64::saturating_sub(near, 1),
            };
            for number in 0..1 + 2 * near {
                let seed = 1_000 * life + 100 * event + number;
                let damaged = self.world.cut(event);
                let damaged = damaged.with_an_unreadable_sector(seed, &[self.other]);
                is_right_if_it_comes_back(damaged, false);
            }
            if now > failures && first.is_none() {
                first = Some(self.world.log_writes());
            }
            if now - failures >= 7 {
                break;
            }
        }
        self.mute(None);
        // Six are those that did not succeed since.
        self.world.log_writes() - first.expect("one failed") - 6
    }

    fn mute(&mut self, drive: Option<usize>) {
        let place = config(self.place, "satf_ew");
        let world = std::mem::replace(&mut self.world, World::new(place));
        self.world = world.muting(drive);
    }

    /// From when it is marked on, it says so or has all of the log; at how many cuts the latter.
    fn answers(&mut self) -> u64 {
        let (mut is_marked, mut is_whole) = (false, 0);
        for event in 0..300 {
            self.world.step();
            let cut = self.world.cut(event);
            is_marked |= self.world.is_marked(self.mute);
            if !is_marked || self.world.writes_control() {
                continue;
            }
            match cut.without_log_of(self.other).recover() {
                Ok(mut recovered) => {
                    is_whole += 1;
                    recovered.check(event % 20 == 0);
                }
                Err(error) => {
                    let told = error.to_string();
                    // Of two damaged logs the first is told.
                    let is_told = told.contains("was set aside");
                    assert_eq!(is_told, self.mute == 0, "{}: {told}", self.place);
                    assert_eq!(is_whole, 0, "{}: {told}", self.place);
                }
            }
        }
        is_whole
    }
}

/// The log goes on with the drive that answers. What it says then is not lost for an older log,
/// even where that drive is damaged; and when the other one answers again, it is made whole.
#[test]
fn a_drive_that_does_not_answer_is_set_aside_and_made_whole_again() {
    // With one copy before the answer, or a write would wait for the other drive anyway.
    let places = [
        "ew_array:dm=2:dd=2:map=log:home=drive",
        "distorted_mirror:stripe_kib=8:map=log:home=drive",
    ];
    let (mut since, mut whole, mut cuts) = (0, 0, 0);
    for (place, which) in places
        .into_iter()
        .flat_map(|place| [(place, 0), (place, 1)])
    {
        let drives = drives(place);
        let mut one = SetAside {
            place,
            world: world(place),
            mute: drives[which],
            other: drives[1 - which],
        };
        let lives = 1.max(3 / events_per_cut());
        cuts += 300 * lives;
        for life in 0..lives {
            (0..50).for_each(|_| one.world.step());
            since += one.does_not_answer(life);
            whole += one.answers();
        }
    }
    assert!(since > 3, "{since} writes after a time-out");
    assert!(whole > cuts / 4, "whole at {whole} cuts of {cuts}");
}

/// The last drive that has all of the log is gone while the other one is on its way.
struct OnItsWay {
    place: &'static str,
    one: usize,
    other: usize,
    world: World,
}

impl OnItsWay {
    /// A drive was set aside; so many events after it answers again the other one is gone.
    fn new(place: &'static str, events: usize) -> OnItsWay {
        let (mut world, drives) = (world(place), drives(place));
        let (one, other) = (drives[events % 2], drives[1 - events % 2]);
        (0..50).for_each(|_| world.step());
        let mut world = world.muting(Some(other));
        while world.map_failures() == 0 {
            world.step();
        }
        let mut world = world.muting(None);
        (0..events).for_each(|_| world.step());
        let world = world.losing(one);
        OnItsWay {
            place,
            one,
            other,
            world,
        }
    }

    /// From when the other drive is whole on, nothing that was answered is lost. At how many cuts
    /// it is.
    fn becomes_whole(&mut self) -> u64 {
        let (mut is_marked, mut is_whole) = (false, 0);
        for event in 0..300 {
            self.world.step();
            let cut = self.world.cut(event);
            // Before it is marked its old log is taken. While a control block is on its way a cut
            // has it or not.
            is_marked |= self.world.is_marked(self.other);
            if !is_marked || self.world.writes_control() {
                continue;
            }
            match cut.recover() {
                Ok(mut recovered) => {
                    is_whole += 1;
                    recovered.check(event % 50 == 0);
                }
                Err(error) => assert_eq!(is_whole, 0, "{}, event {event}: {error}", self.place),
            }
        }
        assert!(!self.world.has_lost_its_map(), "{}", self.place);
        is_whole
    }

    /// Until the other drive is whole the power goes at each event, and then the one that was gone
    /// is there again. What the other one has got is of a life that was lost: it does not keep it
    /// from being made whole.
    fn is_there_again(&mut self) -> u64 {
        let (mut is_marked, mut is_whole) = (false, 0);
        for event in 0.. {
            self.world.step();
            let cut = self.world.cut(event);
            is_marked |= self.world.is_marked(self.other);
            if !is_marked {
                continue;
            }
            if cut.clone().recover().is_ok() {
                break;
            }
            let mut next = cut.with_all_drives().recover().expect("one has all");
            next.check(false);
            let mut next = next.go_on();
            for again in 0..150 {
                next.step();
                let cut = next.cut(again).without_log_of(self.one);
                match cut.recover() {
                    Ok(mut recovered) => {
                        is_whole += 1;
                        recovered.check(again % 50 == 0);
                    }
                    Err(error) => {
                        let told = error.to_string();
                        assert!(
                            told.contains("was set aside"),
                            "{}, event {event}, {again}: {told}",
                            self.place
                        );
                    }
                }
            }
        }
        is_whole
    }
}

/// Nothing is lost, and answers wait until the other drive is whole.
#[test]
fn the_map_is_not_lost_while_the_other_drive_is_on_its_way() {
    let (mut whole, mut cuts) = (0, 0);
    let step = events_per_cut().min(3);
    for place in PLACES {
        for events in (0..10).step_by(step as usize) {
            whole += OnItsWay::new(place, events).becomes_whole();
            cuts += 300;
        }
    }
    assert!(whole > cuts / 3, "whole at {whole} cuts of {cuts}");
}

#[test]
fn what_a_drive_on_its_way_has_got_in_a_life_that_was_lost_is_passed_over() {
    let mut whole = 0;
    for place in PLACES {
        whole += OnItsWay::new(place, 2).is_there_again();
    }
    assert!(whole > 1_000, "whole at {whole} cuts");
}
