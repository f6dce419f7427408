//! Measures that are declared: by a part on its card, by a measurement of the lab beside its code.
//!
//! A run has numbers under two names, that of who counts and that of what is counted. Columns, the
//! page and the Python package find them by these tables, so one more measure is one more line
//! where it is counted.
//!
//! Parts of a stack count from the begin of a run. What they have counted when the first measured
//! request comes is taken off at the end, as their declarations say: so a share of hits is one of
//! the requests whose times are told.

use std::collections::BTreeMap;

use nearslot_core::config::Kinds;
use nearslot_core::contract::{Drive, Faults};
use nearslot_core::drive;
use nearslot_core::measure::{Measure, Over};
use nearslot_core::registry::Kind;
use nearslot_core::stack::Stack;

use super::{busy, recovery, served};
use crate::filesystem;
use crate::host;
use crate::outcome::{Declared, Measures, Number, Run};
use crate::workload::Synthetic;

/// Who counts, and what.
pub(crate) struct Table {
    /// The key of a kind of parts, or of a measurement.
    pub(crate) key: &'static str,
    pub(crate) measures: Vec<&'static Measure>,
}

/// All measures that a run may have: those of the parts of these kinds, and those of the lab. Of a
/// kind, parts may share one.
pub(crate) fn tables(kinds: Kinds) -> Vec<Table> {
    let of_kind = kinds.iter().map(|kind| {
        let parts = kind.kind.parts();
        of_cards(kind.key(), parts.iter().map(|part| part.measures))
    });
    let of_drives = of_cards(drive::KEY, drive::measures());
    let of_lab = of_lab().map(|(key, measures)| Table {
        key,
        measures: measures.iter().collect(),
    });
    let of_loads = Synthetic::table().iter().map(|spec| spec.measures);
    let of_loads = of_cards(Synthetic::CARD.key, of_loads);
    let tables = of_kind.chain([of_drives]).chain(of_lab);
    tables.chain([of_loads]).collect()
}

/// What the lab counts, with who is said to have counted it.
fn of_lab() -> [(&'static str, &'static [Measure]); 5] {
    [
        (recovery::KEY, recovery::MEASURES),
        (busy::KEY, busy::MEASURES),
        (served::KEY, served::MEASURES),
        (host::KEY, host::MEASURES),
        (filesystem::KEY, filesystem::MEASURES),
    ]
}

/// What the lab counts of the parts of the kind with this key, beside what they count themselves.
pub fn beside(key: &str) -> impl Iterator<Item = &'static Measure> {
    let of_kind = of_lab().into_iter().filter(move |(of, _)| *of == key);
    of_kind.flat_map(|(_, measures)| measures)
}

/// All that is on some cards.
fn of_cards(key: &'static str, cards: impl Iterator<Item = &'static [Measure]>) -> Table {
    let mut measures: Vec<&'static Measure> = Vec::new();
    for measure in cards.flatten() {
        match measures.iter().find(|other| other.name == measure.name) {
            Some(other) => assert_eq!(*other, measure, "parts of a kind mean the same"),
            None => measures.push(measure),
        }
    }
    Table { key, measures }
}

/// What these runs have of all that may be, in the order of the tables.
pub(crate) fn declared(kinds: Kinds, runs: &[Run]) -> Vec<Declared> {
    let mut found = Vec::new();
    for Table { key, measures } in tables(kinds) {
        let there = |measure: &&&Measure| runs.iter().any(|run| run.has(key, measure.name));
        found.extend(measures.iter().filter(there).map(|measure| Declared {
            of: key.to_owned(),
            name: measure.name.to_owned(),
            unit: measure.unit.to_owned(),
            help: measure.told(),
        }));
    }
    found
}

/// What the parts of a stack and its drives have counted so far. What several parts of a kind count
/// adds up.
#[derive(Default)]
pub(crate) struct Counts(BTreeMap<(&'static str, &'static str), (&'static Measure, u64)>);

impl Counts {
    pub(crate) fn of(stack: &Stack, drives: &[Box<dyn Drive>]) -> Counts {
        let mut counts = Counts::default();
        stack.tell(&mut |key, measure, number| counts.add(key, measure, number));
        for drive in drives {
            drive.tell(&mut |measure, number| counts.add(drive::KEY, measure, number));
        }
        counts
    }

    fn add(&mut self, key: &'static str, measure: &'static Measure, number: u64) {
        self.0.entry((key, measure.name)).or_insert((measure, 0)).1 += number;
    }

    fn number(&self, of: (&'static str, &'static str)) -> u64 {
        self.0.get(&of).map_or(0, |(_, number)| *number)
    }

    /// As they are told: what is of the measured part without what was counted before. A mean over
    /// nothing is not told.
    fn told(&self, before: &Counts) -> Measures {
        let since = |of: (&'static str, &'static str)| {
            let since = self.number(of).checked_sub(before.number(of));
            since.unwrap_or_else(|| {
                panic!("{of:?} has fallen, and what counts from the begin of a run only grows")
            })
        };
        let mut found = Measures::new();
        for (&(key, name), (measure, number)) in &self.0 {
            let number = match measure.over {
                Over::Run => Some(*number),
                Over::Measured => Some(since((key, name))),
                Over::Mean(counted) => since((key, name)).checked_div(since((key, counted))),
            };
            let of_kind = found.entry(key.to_owned()).or_default();
            of_kind.extend(number.map(|number| (name.to_owned(), Number::Count(number))));
        }
        found
    }
}

/// What the parts of a stack and its drives have counted since `before`, and what has gone wrong on
/// its drives.
pub(crate) fn counted(stack: &Stack, drives: &[Box<dyn Drive>], before: &Counts) -> Measures {
    let mut counts = Counts::of(stack, drives);
    for drive in drives {
        let key = <dyn Faults as Kind>::CARD.key;
        drive.tell_faults(&mut |measure, number| {
            let whole = measure.over == Over::Run;
            assert!(whole, "nobody has asked the drives before: {measure:?}");
            counts.add(key, measure, number);
        });
    }
    counts.told(before)
}

#[cfg(test)]
pub(crate) mod tests {
    use nearslot_core::config::{KINDS, StackKind};
    use nearslot_core::contract::{Drives, Merging, Next, Placement, Scheduler, Shape, View};
    use nearslot_core::drive;
    use nearslot_core::io::Io;
    use nearslot_core::measure::Tell;
    use nearslot_core::plan::Plan;
    use nearslot_core::registry::{ConfigError, KindCard, Of, Spec};
    use nearslot_core::request::Request;
    use nearslot_core::stack::Lane;
    use nearslot_core::stream::Streams;
    use nearslot_core::units::{Blocks, Instant};

    use super::*;

    const LOOKS: &[Measure] = &[Measure::count("looks", "looks", "how often it was asked")];

    /// A scheduler that counts, though no table has it.
    struct Counting;

    impl Scheduler for Counting {
        fn insert(&mut self, _: Instant, _: &Io, _: &Streams) {}

        fn withdraw(&mut self, _now: Instant, _io: &Io) {}

        fn next(&mut self, _view: &View<'_>) -> Next {
            Next::Empty
        }

        fn len(&self) -> usize {
            0
        }

        fn tell(&self, tell: Tell<'_>) {
            tell(&LOOKS[0], 7);
        }
    }

    /// A placement that nobody asks.
    struct Nowhere;

    impl Placement for Nowhere {
        fn shape(&self) -> Shape {
            Shape::of(Blocks(8))
        }

        fn plan(&mut self, _: Instant, _: &Request, _: &dyn Drives, _: &mut Plan) {}
    }

    /// A kind of such parts.
    enum Watcher {}

    impl Kind for Watcher {
        const CARD: KindCard = KindCard {
            key: "sched",
            word: "watcher",
            plural: "watchers",
            summary: "who looks",
            asked: false,
            within: None,
            needs: None,
        };

        type Env<'a> = ();

        type Error = ConfigError;

        fn table() -> &'static [&'static Spec<Watcher>] {
            static PART: Spec<Watcher> = Spec {
                name: "counting",
                aliases: &[],
                summary: "it looks and counts",
                source: "",
                knobs: &[],
                measures: LOOKS,
                asks: &[],
                prepared: false,
                promises: "",
                build: |_, ()| panic!("it is built by the test"),
            };
            // Two parts that share a measure have one column.
            static TABLE: &[&Spec<Watcher>] = &[&PART, &PART];
            TABLE
        }
    }

    pub(crate) fn kinds() -> Kinds {
        let watcher = StackKind {
            kind: Of::<Watcher>::KIND,
            default: "counting",
        };
        vec![watcher].leak()
    }

    /// A stack over two drives that counts on both.
    pub(crate) fn run() -> Run {
        let text = "kind = 'null'\ncapacity_blocks = 1000\nservice_us = 1.0\n";
        let (blueprint, _) = drive::read("of the test", text, &[]).unwrap();
        let lane = || Lane {
            scheduler: Box::new(Counting),
            oracle: blueprint.exact(),
            capacity: blueprint.capacity(),
            depth: 1,
            merging: Merging::None,
            lands: false,
            zones: None,
        };
        let stack = Stack::new(Box::new(Nowhere), vec![lane(), lane()]);
        Run {
            measures: counted(&stack, &[], &Counts::default()),
            ..Run::default()
        }
    }

    #[test]
    fn what_a_part_counts_is_in_the_results_by_its_declaration_alone() {
        let run = run();
        let json = serde_json::to_value(&run).unwrap();
        assert_eq!(json["measures"]["sched"]["looks"], 14, "of both drives");
        let tables = tables(kinds());
        assert_eq!((tables[0].key, tables[0].measures.len()), ("sched", 1));
        let told = declared(kinds(), &[Run::default(), run]);
        assert_eq!(told.len(), 1);
        assert_eq!(
            (told[0].of.as_str(), told[0].name.as_str()),
            ("sched", "looks")
        );
        assert_eq!(told[0].help, "how often it was asked");
        assert!(declared(KINDS, &[Run::default()]).is_empty());
    }

    #[test]
    fn what_was_counted_before_is_taken_off_as_is_declared() {
        static HITS: Measure = Measure::count("hits", "requests", "what was found");
        static ROOM: Measure = Measure::count("room", "pages", "what is free at the end").of_run();
        static LOOKS: Measure = Measure::count("looks", "lines", "what was asked for");
        static HELD: Measure = Measure::count("held", "pages", "what was there").mean_over(&LOOKS);
        let of = |numbers: [u64; 4]| {
            let mut counts = Counts::default();
            for (measure, number) in [&HITS, &ROOM, &LOOKS, &HELD].into_iter().zip(numbers) {
                counts.add("cache", measure, number);
            }
            counts
        };
        let told = |before: &Counts| {
            let told = of([50, 7, 20, 300]).told(before);
            let number = |name| told["cache"].get(name).map(|number| number.value() as u64);
            ["hits", "room", "looks", "held"].map(number)
        };
        assert_eq!(told(&of([30, 9, 15, 100])), [20, 7, 5, 40].map(Some));
        assert_eq!(told(&Counts::default()), [50, 7, 20, 15].map(Some));
        let nothing_since = told(&of([50, 9, 20, 300]));
        assert_eq!(nothing_since, [Some(0), Some(7), Some(0), None]);
    }
}
