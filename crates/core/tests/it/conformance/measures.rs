//! What parts count: each tells what its card says, no more and no less.

use std::collections::BTreeSet;

use nearslot_core::config::{DriveConfig, KINDS, PartConfig, StackConfig};
use nearslot_core::contract::{Cache, Faults, Prefetch};
use nearslot_core::drive;
use nearslot_core::registry::Kind;

use crate::conformance::drives::{EMPIRICAL, SSD};
use crate::support::complete_disk;

/// A part by its kind and name, with what it cannot be without.
fn settled(kind: &str, name: &str) -> PartConfig {
    let word = match (kind, name) {
        (_, "injected") => "injected:slow_add_ms=1:rot_per_tib=1".to_owned(),
        ("cache" | "buffer", _) if name != "none" => format!("{name}:size=1000lines"),
        _ => name.to_owned(),
    };
    word.parse().expect("it is well formed")
}

/// A drive on which a part has everything to count that it may.
fn drive_for(name: &str) -> PartConfig {
    match name {
        // Without protection no drive knows what it has caught.
        "injected" => "of the test:protection=on"
            .parse()
            .expect("it is well formed"),
        _ => PartConfig::named("of the test"),
    }
}

#[test]
fn every_part_tells_the_measures_of_its_card() {
    let disk = complete_disk();
    let mut told_any = 0;
    for kind in KINDS {
        for part in kind.kind.parts() {
            let declared: BTreeSet<&str> = part.measures.iter().map(|one| one.name).collect();
            assert_eq!(declared.len(), part.measures.len(), "{}", part.name);
            for text in [&disk, EMPIRICAL] {
                let drive = DriveConfig {
                    part: drive_for(part.name),
                    text: text.to_owned(),
                };
                let mut config = StackConfig::over(drive, 1);
                let parts = &mut config.parts;
                if kind.key() == <dyn Prefetch>::CARD.key {
                    *parts.of_mut::<dyn Cache>() = settled("cache", "lru");
                }
                let part_of_kind = parts.get_mut(kind.key());
                *part_of_kind.expect("a kind of the table") = settled(kind.key(), part.name);
                let Ok(assembly) = config.build() else {
                    continue;
                };
                let mut told = BTreeSet::new();
                let mut tell = |key, name| _ = (key == kind.key()).then(|| told.insert(name));
                assembly
                    .stack
                    .tell(&mut |key, measure, _| tell(key, measure.name));
                for drive in &assembly.drives {
                    drive.tell_faults(&mut |measure, _| tell(<dyn Faults>::CARD.key, measure.name));
                }
                assert_eq!(told, declared, "{} of {}", part.name, kind.key());
                told_any += told.len();
            }
        }
    }
    assert!(told_any > 0, "no part counts anything");
}

#[test]
fn every_drive_tells_the_measures_of_its_kind() {
    for text in [&complete_disk(), EMPIRICAL, SSD] {
        let table = text.parse().expect("it is TOML");
        let kind = drive::kind_of("of the test", &table).expect("it has a kind");
        let (blueprint, _) = drive::read("of the test", text, &[]).expect("it is valid");
        let mut told = Vec::new();
        blueprint
            .drive()
            .tell(&mut |measure, _| told.push(measure.name));
        let declared: Vec<&str> = kind.measures.iter().map(|measure| measure.name).collect();
        assert_eq!(told, declared, "{}", kind.name);
    }
}
