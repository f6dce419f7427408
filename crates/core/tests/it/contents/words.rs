//! Words that say what goes wrong on drives, drawn at random: kinds of faults beside each other, how
//! often, when and on which drives.

use nearslot_core::rng::Rng;

use crate::contents::drawn::one_of;
use crate::contents::parity::lives;
use crate::contents::setups::{DRIVES, Setup};
use crate::support::number;

/// Draws words, of so many drives.
pub(crate) type Draw = fn(&mut Rng, u64) -> Vec<String>;

fn latent(rng: &mut Rng, mends: bool) -> String {
    format!(
        "latent_per_tib={}:latent_run_blocks={}:latent_within_s={}:latent_mend={mends}:tries_ms={}",
        one_of(rng, &[2_000_000, 4_000_000, 8_000_000]),
        1 + rng.below(9),
        one_of(rng, &[5, 15, 30]),
        one_of(rng, &[0, 5, 20]),
    )
}

fn time_outs(rng: &mut Rng) -> String {
    let share = one_of(rng, &[0.02, 0.05, 0.1]);
    let ms = one_of(rng, &[12, 30, 60]);
    format!("timeout_share={share}:timeout_ms={ms}")
}

/// A drive goes, or two do.
fn gone(rng: &mut Rng, drives: u64) -> String {
    let [first, second] = [1 + rng.below(12), 1 + rng.below(15)];
    let drive = rng.below(drives);
    let word = format!("gone_at_s={first}:gone_drive={drive}");
    if drives == 1 || rng.chance(0.5) {
        return word;
    }
    let other = (drive + 1 + rng.below(drives - 1)) % drives;
    format!("{word}:second_gone_at_s={second}:second_gone_drive={other}")
}

fn slow(rng: &mut Rng, drives: u64) -> String {
    format!(
        "slow_factor={}:slow_add_ms={}:slow_share={}:slow_from_s={}:slow_drive={}",
        one_of(rng, &[2, 3, 10]),
        one_of(rng, &[0.0, 1.5]),
        one_of(rng, &[0.1, 0.4, 1.0]),
        one_of(rng, &[0, 4]),
        rng.below(drives),
    )
}

fn rot(rng: &mut Rng) -> String {
    let within = one_of(rng, &[5, 15]);
    format!("rot_per_tib=8000000:rot_within_s={within}")
}

fn share(rng: &mut Rng, name: &str, of: &[f64]) -> String {
    format!("{name}={}", one_of(rng, of))
}

/// What drives tell.
pub(crate) fn told(rng: &mut Rng, drives: u64) -> Vec<String> {
    let mut words = Vec::new();
    if rng.chance(0.6) {
        let mends = rng.chance(0.7);
        words.push(latent(rng, mends));
    }
    if rng.chance(0.4) {
        words.push(time_outs(rng));
    }
    if !words.is_empty() && rng.chance(0.2) {
        words.push(format!("drive={}", rng.below(drives)));
    }
    if rng.chance(0.3) {
        words.push(gone(rng, drives));
    }
    if rng.chance(0.3) {
        words.push(slow(rng, drives));
    }
    words
}

/// What they do not tell.
pub(crate) fn silent(rng: &mut Rng, _drives: u64) -> Vec<String> {
    let mut words = Vec::new();
    for name in ["lost_share", "misdirected_share"] {
        if rng.chance(0.5) {
            words.push(share(rng, name, &[0.005, 0.01, 0.02]));
        }
    }
    if rng.chance(0.5) {
        words.push(share(rng, "torn_share", &[0.02, 0.05]));
    }
    if rng.chance(0.5) {
        words.push(rot(rng));
    }
    words
}

/// What they do not tell, and tell if their sectors are protected: only rot, which another copy or
/// a parity mends, or anything else beside it.
pub(crate) fn caught(rng: &mut Rng, drives: u64) -> Vec<String> {
    if rng.chance(0.4) {
        return vec![rot(rng)];
    }
    let mut words = silent(rng, drives);
    if rng.chance(0.3) {
        words.push(latent(rng, true));
    }
    words
}

/// What they do not tell, of writes that fail for bad blocks, too: these stay bad.
pub(crate) fn mixed(rng: &mut Rng, _drives: u64) -> Vec<String> {
    let mut words = vec![latent(rng, false)];
    words.push(share(rng, "misdirected_share", &[0.1, 0.3]));
    words.push(share(rng, "lost_share", &[0.02, 0.05]));
    words.push(share(rng, "torn_share", &[0.05, 0.1]));
    words
}

/// A setup with such words: one that they fit, since a drive that is gone does not get slow.
pub(crate) fn with(setup: &Setup, draw: Draw, rng: &mut Rng) -> Setup {
    let drives = setup.build("disk", "satf", 0).drives.len() as u64;
    loop {
        let words = draw(rng, drives);
        // They live as long as the test does.
        let faults = format!("injected:{}", words.join(":")).leak();
        let setup = Setup { faults, ..*setup };
        if !words.is_empty() && setup.config("disk", "satf", 0).build().is_ok() {
            return setup;
        }
    }
}

/// A life to be lived: its setup, its drives and its seed.
pub(crate) type Life = (Setup, &'static str, u64);

/// Lives of all these setups, each with faults of its own; `NEARSLOT_LIVES` says how many of each,
/// and `NEARSLOT_DRAW`, from which number on.
pub(crate) fn each(
    setups: impl Iterator<Item = &'static Setup>,
    draw: Draw,
    name: &str,
) -> impl Iterator<Item = Life> {
    let numbered = (0..).zip(setups);
    let all =
        numbered.flat_map(|(index, setup)| lives(index).map(move |life| (index, life, setup)));
    all.map(move |(index, life, setup)| {
        let seed = 1_000 * (number("NEARSLOT_DRAW", 0) + life) + index;
        let mut rng = Rng::stream(seed, name);
        let setup = with(setup, draw, &mut rng);
        let kind = one_of(&mut rng, &DRIVES);
        (setup, kind, seed)
    })
}
