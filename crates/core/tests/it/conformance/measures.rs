//! What parts count: each tells what its card says, no more and no less.

use std::collections::BTreeSet;

use nearslot_core::config::{DriveConfig, KINDS, PartConfig, StackConfig};

use crate::conformance::drives::EMPIRICAL;
use crate::support::complete_disk;

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
                    part: PartConfig::named("of the test"),
                    text: text.to_owned(),
                };
                let mut config = StackConfig::over(drive, 1);
                *config
                    .parts
                    .get_mut(kind.key())
                    .expect("a kind of the table") = PartConfig::named(part.name);
                let Ok(assembly) = config.build() else {
                    continue;
                };
                let mut told = BTreeSet::new();
                assembly.stack.tell(&mut |key, measure, _| {
                    if key == kind.key() {
                        told.insert(measure.name);
                    }
                });
                assert_eq!(told, declared, "{} of {}", part.name, kind.key());
                told_any += told.len();
            }
        }
    }
    assert!(told_any > 0, "no part counts anything");
}
