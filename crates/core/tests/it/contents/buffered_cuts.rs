//! Power cuts of volumes under write buffers, at any instant: all that was answered is there, in
//! the buffer or on the drives, and gets to the drives in the end.
//!
//! Over drives whose cache a power cut empties, over arrays whose rows were being written, with
//! units on their way, after units were given up, and again while what the first cut has left goes
//! to the drives. The planted faults stay: a table in NVRAM that says something else has to be seen
//! by who reads.

use std::collections::BTreeMap;

use nearslot_core::maplog::BufferTable;
use nearslot_core::maplog::buffered::{Index, Kept, Whose};
use nearslot_core::op::Op;
use nearslot_core::pages::PAGE;
use nearslot_core::rng::Rng;
use nearslot_core::units::{Duration, Lba};

use crate::contents::buffered::told;
use crate::contents::failing::{Failing, Slip, written};
use crate::contents::faults::is_seen;
use crate::contents::load;
use crate::contents::model::Stamp;
use crate::contents::parity::{lives, read_all};
use crate::contents::rig::{Left, Rig};
use crate::contents::setups::{BUFFERED, Setup};

/// What a life goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The table says nothing.
    Nothing,
    /// A page of it is forgotten.
    Forgotten,
    /// It is that of an earlier instant, with what was in the buffer then: of what was written
    /// again an older version comes back, also of what went past the buffer meanwhile.
    Earlier,
    /// What was on its way to the drives counts as there.
    Going,
}

/// Setups whose volume goes on over the same drives without anything that these have to tell.
fn setups() -> impl Iterator<Item = (u64, &'static Setup)> {
    let names = ["linear", "stripe", "concat", "raid5"];
    (0..).zip(
        BUFFERED
            .iter()
            .filter(move |setup| names.contains(&setup.name())),
    )
}

/// The table of a buffer, to be changed.
fn table(rig: &Rig, left: &Left) -> (BufferTable, Vec<(Index, Kept)>) {
    let whose = Whose {
        volume: Rng::stream(rig.seed(), "volume").bits(),
        blocks: rig.volumes().span().0,
        page: PAGE,
    };
    let bytes = left.buffer.clone().expect("there is a buffer");
    BufferTable::recover(&whose, bytes).expect("it is sound")
}

/// What was in the buffer at an instant.
type Before = (Vec<u8>, BTreeMap<u64, Stamp>);

/// The power goes, and what it leaves of the buffer is not what was there.
fn cut(rig: &mut Rig, rng: &mut Rng, fault: Fault, before: Option<Before>) {
    let mut left = rig.left();
    let (mut table, found) = table(rig, &left);
    let (going, volumes) = (rig.contents.on_their_way(), rig.volumes());
    let is_of = |block: &u64, kept: &Kept| volumes.page(Lba(*block)) == kept.page;
    let forgets = |kept: &Kept| match fault {
        Fault::Nothing => true,
        Fault::Forgotten => found.first().is_some_and(|(_, first)| first == kept),
        Fault::Going => going.iter().any(|block| is_of(block, kept)),
        Fault::None | Fault::Earlier => false,
    };
    let forgotten: Vec<(Index, Kept)> = found
        .iter()
        .copied()
        .filter(|(_, kept)| forgets(kept))
        .collect();
    for (index, kept) in forgotten {
        table.remove(index);
        let buffered = &mut rig.contents.buffered;
        buffered.retain(|block, _| !is_of(block, &kept));
    }
    left.buffer = Some(table.bytes().to_vec());
    if let Some((bytes, buffered)) = before.filter(|_| fault == Fault::Earlier) {
        left.buffer = Some(bytes);
        rig.contents.buffered = buffered;
    }
    rig.cut_with(rng, Some(&left));
}

/// Requests come, and somewhere among them the power goes; once, or again while the buffer goes to
/// the drives. How many units were on their way.
fn suffer(rig: &mut Rig, setup: &Setup, rng: &mut Rng, fault: Fault) -> u64 {
    load::churn(rig, setup, 2, rng);
    let bytes = rig.left().buffer.expect("there is a buffer");
    let before = (bytes, rig.contents.buffered.clone());
    for _ in 0..20 {
        let start = rng.below(rig.blocks().min(300));
        let most = [8, 24, 500][rng.below(3) as usize];
        let len = (1 + rng.below(most)).min(rig.blocks() - start);
        rig.submit(Op::Write, start, len, 0);
        rig.run_until(rig.now + Duration::from_us(rng.below(3_000)));
    }
    rig.run_until(rig.now + Duration::from_us(rng.below(150_000)));
    let mut going = u64::from(!rig.contents.on_their_way().is_empty());
    cut(rig, rng, fault, Some(before));
    for _ in 0..rng.below(3) {
        let (start, op) = (
            rng.below(rig.blocks()),
            [Op::Read, Op::Write][rng.below(2) as usize],
        );
        rig.submit(op, start, 1, 0);
        rig.run_until(rig.now + Duration::from_us(rng.below(40_000)));
        going += u64::from(!rig.contents.on_their_way().is_empty());
        cut(rig, rng, fault, None);
    }
    going
}

/// A rig without failures, or with some that are told from the beginning.
fn rig(setup: &Setup, kind: &str, seed: u64) -> Rig {
    let built = setup.build(kind, "satf", seed);
    let drives = built.drives.len();
    let mut rig = Rig::over(setup, built);
    (rig.rules.off, rig.contents.may_fail) = (true, true);
    rig.contents.loses = kind == "complete disk";
    rig.failing = Some(Failing::none(drives));
    rig.fill();
    rig.settle();
    rig
}

/// Nothing fails: all is there after each cut, and parities fit.
fn check(kind: &str, fault: Fault) {
    let (mut going, mut lent, mut set_back, mut compared) = (0, 0, 0, 0);
    for (index, setup) in setups() {
        for life in lives(index) {
            let seed = 10 * life + index;
            let mut rig = rig(setup, kind, seed);
            let mut rng = Rng::stream(seed, "buffered cuts");
            for _ in 0..6 {
                going += suffer(&mut rig, setup, &mut rng, fault);
                read_all(&mut rig);
                rig.check_cut();
            }
            assert_eq!(rig.failed, 0, "{setup:?}");
            rig.contents.check_parities();
            lent += rig.contents.lent;
            set_back += rig.contents.set_back;
            compared += rig.contents.compared;
        }
    }
    assert!(going > 50, "units were on their way at {going} cuts");
    assert!(lent > 5_000, "{lent} blocks were in the buffer");
    assert!(compared > 100_000, "only {compared} blocks were compared");
    // All that is written is forced.
    assert_eq!(set_back, 0, "blocks that caches have lost");
}

fn check_over_disks(fault: Fault) {
    check("disk", fault);
}

fn check_over_caches(fault: Fault) {
    check("complete disk", fault);
}

#[test]
fn a_power_cut_leaves_what_was_answered() {
    check_over_disks(Fault::None);
}

#[test]
fn a_power_cut_that_takes_caches_leaves_what_was_answered() {
    check_over_caches(Fault::None);
}

/// Units that were given up are tried again in the next life, in which nothing fails any more.
#[test]
fn what_was_given_up_is_there_after_a_power_cut_and_goes_to_the_drives() {
    let (mut given_up, mut compared) = (0, 0);
    for (index, setup) in setups() {
        for life in lives(index) {
            let seed = 10 * life + index;
            let mut rig = written(setup, seed, Slip::None, |_| 0.5);
            rig.failing.as_mut().expect("some fail").timeouts = 0.5;
            let mut rng = Rng::stream(seed, "given up");
            load::churn(&mut rig, setup, 6, &mut rng);
            rig.settle();
            given_up += told(&rig, "given_up_pages");
            rig.failing.as_mut().expect("some fail").calm();
            rig.cut(&mut rng, true);
            assert_eq!(told(&rig, "given_up_pages"), 0);
            let kept = rig.contents.buffered.keys().copied();
            let kept: Vec<u64> = kept.collect();
            let failed = rig.failed;
            for block in kept {
                rig.submit(Op::Read, block, 1, 0);
            }
            rig.settle();
            assert_eq!(rig.failed, failed, "{setup:?}");
            // All of it goes when that much is written elsewhere.
            load::storm(&mut rig, setup, &mut rng);
            rig.settle();
            assert_eq!(told(&rig, "given_up_pages"), 0);
            load::scan(&mut rig, setup, &mut rng);
            rig.settle();
            compared += rig.contents.compared;
        }
    }
    assert!(given_up > 100, "{given_up} pages were given up");
    assert!(compared > 10_000, "only {compared} blocks were compared");
}

#[test]
fn what_a_table_does_not_say_is_seen() {
    let words = "allowed were";
    for fault in [Fault::Nothing, Fault::Forgotten, Fault::Earlier] {
        is_seen(check_over_disks, fault, words);
        is_seen(check_over_caches, fault, words);
    }
    is_seen(check_over_disks, Fault::Going, words);
    is_seen(check_over_caches, Fault::Going, words);
}

/// Nobody guesses what to do with blocks for which there is no buffer, or one of another size.
#[test]
fn a_buffer_that_does_not_fit_is_refused() {
    let setup = Setup::of("linear").buffering("lrw:size=40lines:unit_kib=16");
    let mut rig = rig(&setup, "disk", 1);
    (0..30).for_each(|unit| rig.submit(Op::Write, unit * 32, PAGE, 0));
    let (left, kept) = (rig.left(), rig.contents.buffered.len() as u64 / PAGE);
    let refused = |writes: &'static str, seed: u64, left: &Left| {
        let config = setup.buffering(writes).config("disk", "satf", seed);
        let error = config.recover(left).err();
        error.map_or_else(String::new, |error| error.to_string())
    };
    assert_eq!(kept, 30);
    let says = |found: &str| {
        format!(
            "write buffer: found {found}, and it has to be one with room for 40 pages, as its NVRAM has {kept} of them"
        )
    };
    assert_eq!(refused("none", 1, &left), says("none"));
    let other = refused("wow:size=48lines", 1, &left);
    assert_eq!(other, says("wow with room for 48 pages"));
    assert_eq!(
        refused("cscan:size=40lines:unit_kib=4:low_percent=3", 1, &left),
        ""
    );
    let volume = refused("lrw:size=40lines", 2, &left);
    assert!(volume.contains("belongs to volume"), "{volume}");
    let mut damaged = rig.left();
    damaged.buffer.as_mut().expect("there is one")[70] ^= 4;
    let error = refused("lrw:size=40lines", 1, &damaged);
    let says = "NVRAM of the write buffer is damaged: NVRAM, byte ";
    assert!(error.starts_with(says), "{error}");
    // One that has nothing may be another one.
    let fresh = setup.config("disk", "satf", 1).build().expect("it is one");
    let bytes = fresh.stack.nvram_of_buffer().map(<[u8]>::to_vec);
    damaged.buffer = bytes;
    assert_eq!(refused("none", 1, &damaged), "");
    assert_eq!(refused("lrw:size=7lines", 1, &damaged), "");
    damaged.buffer = None;
    assert_eq!(refused("lrw:size=7lines", 1, &damaged), "");
}
