//! What parts count: each tells what its card says, no more and no less.

use std::collections::BTreeSet;

use nearslot_core::config::{DriveConfig, KINDS, PartConfig, StackConfig};
use nearslot_core::contract::Faults;
use nearslot_core::registry::Kind;

use crate::conformance::drives::EMPIRICAL;
use crate::support::complete_disk;

/// A part by its name, with what it cannot be without.
fn settled(name: &str) -> PartConfig {
    match name {
        "injected" => "injected:slow_add_ms=1".parse().expect("it is well formed"),
        _ => PartConfig::named(name),
    }
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
                *config
                    .parts
                    .get_mut(kind.key())
                    .expect("a kind of the table") = settled(part.name);
                let Ok(assembly) = config.build() else {
                    continue;
                };
                let mut told = BTreeSet::new();
                let mut tell = |key, name| _ = (key == kind.key()).then(|| told.insert(name));
                assembly
                    .stack
                    .tell(&mut |key, measure, _| tell(key, measure.name));
                for drive in &assembly.drives {
                    drive.tell(&mut |measure, _| tell(<dyn Faults>::CARD.key, measure.name));
                }
                assert_eq!(told, declared, "{} of {}", part.name, kind.key());
                told_any += told.len();
            }
        }
    }
    assert!(told_any > 0, "no part counts anything");
}
