//! What runs of hosts say: how long the application took until it was up, or each of several; or
//! else how many rounds were late, or what processes read and wrote.
//!
//! Which requests there are hangs on the answers, so means of requests are not compared; no run is
//! ranked by them.

use crate::host::KEY;
use crate::number::{list, number, seconds};
use crate::outcome::{ApplicationFound, Run};

/// Loads that are told one by one; of more, where to look.
const LOADS_MAX: usize = 4;
/// Times that are told of one load; of more, the first and the last.
const GROUPS_MAX: usize = 3;
/// Applications that are told one by one, where a run starts several; of more, where to look.
const APPLICATIONS_MAX: usize = 4;
/// Runs without an application that are told of one load.
const RUNS_MAX: usize = 6;

/// A number that a host has measured.
fn of(run: &Run, name: &str) -> Option<f64> {
    run.measure(KEY, name).map(|number| number.value())
}

/// Whether all of these are runs of hosts.
pub(super) fn are_all(runs: &[&Run]) -> bool {
    !runs.is_empty() && runs.iter().all(|run| !run.processes.is_empty())
}

/// The headline, which tells the best alone where there is much to tell, and then details.
pub(super) fn sentences(runs: &[&Run]) -> (String, Vec<String>) {
    if !runs.iter().any(|run| of(run, "not_up").is_some()) {
        return of_processes(runs);
    }
    if !runs.iter().any(|run| run.applications.len() > 1) {
        return of_application(ANY, runs);
    }
    let mut names: Vec<&str> = Vec::new();
    for application in runs.iter().flat_map(|run| &run.applications) {
        if !names.contains(&&*application.name) {
            names.push(&application.name);
        }
    }
    let told = names.iter().take(APPLICATIONS_MAX).map(|name| {
        let whose = Application(Some(name));
        let those = runs.iter().filter(|run| whose.found(run).is_some());
        of_application(whose, &those.copied().collect::<Vec<_>>())
    });
    let (headlines, details): (Vec<String>, Vec<Vec<String>>) = told.unzip();
    let more = names.len().saturating_sub(APPLICATIONS_MAX);
    let more = (more > 0).then(|| format!("{more} more applications stand in the table."));
    let details = details.concat().into_iter().chain(more);
    (headlines.join(" "), details.collect())
}

/// What runs say of an application.
fn of_application(whose: Application<'_>, runs: &[&Run]) -> (String, Vec<String>) {
    if let [run] = runs {
        return (format!("{}.", whose.begin(&whose.alone(run))), Vec::new());
    }
    let mut loads = loads(whose, runs);
    if loads.len() > 1 && loads.iter().any(|load| load.runs.len() > 1) {
        return (firsts(whose, &loads), details(&loads));
    }
    // With one choice, the loads are what differs.
    let all = match loads.len() {
        1 => loads.swap_remove(0),
        _ => Load {
            name: "",
            runs: runs.to_vec(),
            whose,
            of: |run| format!("under {}", run.load),
        },
    };
    let (told, left_out) = all.told(GROUPS_MAX);
    let details = left_out.then(|| all.sentence(usize::MAX));
    (all.under(&told), details.into_iter().collect())
}

/// The runs by load.
fn loads<'a>(whose: Application<'a>, runs: &[&'a Run]) -> Vec<Load<'a>> {
    let mut loads: Vec<Load<'_>> = Vec::new();
    for run in runs {
        match loads.iter_mut().find(|load| load.name == run.load) {
            Some(load) => load.runs.push(run),
            None => loads.push(Load {
                name: &run.load,
                runs: vec![run],
                whose,
                of: |run| format!("with {}", name(run)),
            }),
        }
    }
    loads
}

/// The application of this name; or, where each run starts one at most, that one.
#[derive(Clone, Copy)]
struct Application<'a>(Option<&'a str>);

/// The only one of each run.
const ANY: Application<'static> = Application(None);

/// How start-ups of it went.
struct Found {
    /// The mean, in seconds, of those that were up.
    took: Option<f64>,
    up: f64,
    not_up: f64,
    /// Of the latter, those of which a request failed.
    failed: f64,
}

impl Found {
    fn is_started(&self) -> bool {
        self.up + self.not_up > 0.0
    }
}

impl Application<'_> {
    /// What it is called in a sentence.
    fn subject(self) -> String {
        self.0.map_or("the application".to_owned(), str::to_owned)
    }

    /// A sentence begins; a name stays as it is.
    fn begin(self, said: &str) -> String {
        match self.0.is_some_and(|name| said.starts_with(name)) {
            true => said.to_owned(),
            false => capital(said),
        }
    }

    /// `None` if the run was not to start it.
    fn found(self, run: &Run) -> Option<Found> {
        let failed = |of: &ApplicationFound| of.failed as f64;
        let Some(name) = self.0 else {
            return Some(Found {
                not_up: of(run, "not_up")?,
                took: of(run, "startup_s"),
                up: of(run, "up").unwrap_or(0.0),
                failed: run.applications.iter().map(failed).sum(),
            });
        };
        let one = run.applications.iter().find(|one| one.name == name)?;
        Some(Found {
            took: one.mean_s,
            up: one.up as f64,
            not_up: (one.not_up + one.failed) as f64,
            failed: failed(one),
        })
    }

    /// After how long it was up, if it was.
    fn took(self, run: &Run) -> Option<f64> {
        self.found(run)?.took
    }

    /// What one run says.
    fn alone(self, run: &Run) -> String {
        let subject = self.subject();
        match self.took(run) {
            Some(_) => format!("{subject} is up after {}", self.after(run)),
            None => format!("{subject} {}", self.not_up(&[run])),
        }
    }

    /// After how long it was up; of several start-ups the mean, how many these were, and how many
    /// were not up.
    fn after(self, run: &Run) -> String {
        let Some(found) = self.found(run) else {
            return String::new();
        };
        let (took, up) = (seconds(found.took.unwrap_or(0.0)), found.up);
        match found.not_up {
            0.0 if up < 2.0 => took,
            0.0 => format!("{took} on average over {up} start-ups"),
            not => format!("{took} on average over {up} of {} start-ups", up + not),
        }
    }

    /// Why it was not up, whichever of these runs one looks at.
    fn not_up(self, runs: &[&Run]) -> &'static str {
        let found = || runs.iter().filter_map(|run| self.found(run));
        let late = found().any(|found| found.not_up > found.failed || !found.is_started());
        match (late, found().any(|found| found.failed > 0.0)) {
            _ if !found().any(|found| found.is_started()) => "was not started before the run ended",
            (_, false) => "was not up when the run ended",
            (true, true) => "was not up when the run ended, or requests of it failed",
            (false, true) => "was not up, as requests of it failed",
        }
    }
}

/// Runs under one load.
struct Load<'a> {
    name: &'a str,
    whose: Application<'a>,
    runs: Vec<&'a Run>,
    /// With what, or under what, one of them was made.
    of: fn(&Run) -> String,
}

impl Load<'_> {
    /// Each time after which the application was up, soonest first, with those whose runs it was;
    /// and the runs where it was not.
    fn groups(&self) -> (Vec<(String, Vec<String>)>, Vec<&Run>) {
        let took = |run: &Run| self.whose.took(run);
        let runs = self.runs.iter().copied();
        let (mut up, down): (Vec<&Run>, Vec<&Run>) = runs.partition(|run| took(run).is_some());
        let took = |run: &Run| took(run).unwrap_or(0.0);
        up.sort_by(|one, other| took(one).total_cmp(&took(other)));
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        for run in up {
            let (time, who) = (self.whose.after(run), (self.of)(run));
            match groups.last_mut() {
                Some((last, all)) if *last == time => all.push(who),
                _ => groups.push((time, vec![who])),
            }
        }
        (groups, down)
    }

    /// Whether these are all of its runs, and several.
    fn are_all(&self, those: &[String]) -> bool {
        those.len() > 1 && those.len() == self.runs.len()
    }

    /// What its runs say, of at most so many times; and whether any were left out.
    fn told(&self, most: usize) -> (String, bool) {
        let (whose, subject) = (self.whose, self.whose.subject());
        let (groups, down) = self.groups();
        let each = |(time, those): &(String, Vec<String>)| match self.are_all(those) {
            true => format!("{time} with all {}", those.len()),
            false => format!("{time} {}", joined(those)),
        };
        let left_out = groups.len() > most;
        let up = match groups.as_slice() {
            [] => {
                let told = format!("in each run {subject} {}", whose.not_up(&down));
                return (told, false);
            }
            [first, between @ .., last] if left_out => {
                let between: usize = between.iter().map(|(_, those)| those.len()).sum();
                format!(
                    "{}, {between} more in between, and at the latest {}",
                    each(first),
                    each(last)
                )
            }
            all => list(&all.iter().map(each).collect::<Vec<_>>()),
        };
        let those: Vec<String> = down.iter().map(|run| (self.of)(run)).collect();
        let down = match down.is_empty() {
            true => String::new(),
            false => format!("; {} it {}", joined(&those), whose.not_up(&down)),
        };
        (format!("{subject} is up after {up}{down}"), left_out)
    }

    /// What was said, and under which load.
    fn under(&self, said: &str) -> String {
        match self.name {
            "" => format!("{}.", self.whose.begin(said)),
            name => format!("Under {name}: {said}."),
        }
    }

    fn sentence(&self, most: usize) -> String {
        self.under(&self.told(most).0)
    }
}

/// `with a, b and c`.
fn joined(those: &[String]) -> String {
    let mut words = those.to_vec();
    for word in words.iter_mut().skip(1) {
        *word = word
            .split_once(' ')
            .map_or(word.clone(), |(_, rest)| rest.to_owned());
    }
    list(&words)
}

/// With whom an application is up first, under which loads; then where it does not matter, or it is
/// up with nobody.
fn firsts(whose: Application<'_>, loads: &[Load<'_>]) -> String {
    // By who had the application up first: under which loads, and after how long.
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let [mut alike, mut never] = [Vec::new(), Vec::new()];
    for load in loads {
        let (groups, _) = load.groups();
        let Some((time, those)) = groups.first() else {
            never.push(load.name.to_owned());
            continue;
        };
        let under = format!("{} ({time})", load.name);
        let who = joined(those);
        match found.iter_mut().find(|(other, _)| *other == who) {
            _ if load.are_all(those) => alike.push(under),
            Some((_, those)) => those.push(under),
            None => found.push((who, vec![under])),
        }
    }
    let under = |those: &[String]| match loads.len() <= LOADS_MAX {
        true => format!("under {}", list(those)),
        false => format!("under {} of {} loads", those.len(), loads.len()),
    };
    let first = found
        .iter()
        .map(|(who, those)| format!("{who} {}", under(those)));
    let first: Vec<String> = first.collect();
    let up = whose.begin(&format!("{} is up first", whose.subject()));
    // Of several, each sentence names the one that it is about.
    let (same, it) = match whose.0 {
        None => ("all choices take the same".to_owned(), "it"),
        Some(name) => (format!("{name} takes the same with all choices"), name),
    };
    let told = [
        (!first.is_empty()).then(|| format!("{up} {}.", first.join(", "))),
        (!alike.is_empty()).then(|| format!("{} {same}.", capital(&under(&alike)))),
        (!never.is_empty())
            .then(|| format!("{} {it} is up with no choice.", capital(&under(&never)))),
    ];
    told.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What is to be said of each load, of the first few.
fn details(loads: &[Load<'_>]) -> Vec<String> {
    let told = loads.iter().take(LOADS_MAX);
    let told = told.map(|load| load.sentence(GROUPS_MAX));
    told.chain(more_loads(loads)).collect()
}

/// What runs without an application say.
fn of_processes(runs: &[&Run]) -> (String, Vec<String>) {
    if let [run] = runs {
        return (format!("{}.", capital(&without(run))), Vec::new());
    }
    let loads = loads(ANY, runs);
    let moved = |run: &&&Run| {
        let names = ["read_mb_s", "written_mb_s"];
        names.map(|name| of(run, name).unwrap_or(0.0)).iter().sum()
    };
    let by = |one: &&&Run, other: &&&Run| f64::total_cmp(&moved(one), &moved(other));
    let (least, most) = (runs.iter().min_by(by), runs.iter().max_by(by));
    let (Some(least), Some(most)) = (least, most) else {
        return (String::new(), Vec::new());
    };
    let [low, high] = [least, most].map(|run| number(moved(&run)));
    let headline = match low == high {
        true => format!("Processes read and write {low} MB/s in each run."),
        false => format!(
            "Processes read and write from {low} MB/s ({}) to {high} MB/s ({}).",
            least.label, most.label
        ),
    };
    let details = loads.iter().take(LOADS_MAX).map(|load| {
        let said = load.runs.iter().take(RUNS_MAX);
        let mut said: Vec<String> = said
            .map(|run| format!("{}: {}", name(run), without(run)))
            .collect();
        if load.runs.len() > RUNS_MAX {
            let more = load.runs.len() - RUNS_MAX;
            said.push(format!("{more} more stand in the table"));
        }
        match load.name {
            // It begins with a label, which stays as it is.
            "" => format!("{}.", said.join("; ")),
            _ => load.under(&said.join("; ")),
        }
    });
    (headline, details.chain(more_loads(&loads)).collect())
}

/// How many loads are not told one by one, if any.
fn more_loads(loads: &[Load<'_>]) -> Option<String> {
    let more = loads.len().saturating_sub(LOADS_MAX);
    (more > 0).then(|| format!("{more} more loads stand in the table."))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// What a run without an application says.
fn without(run: &Run) -> String {
    let moved = |name: &str| number(of(run, name).unwrap_or(0.0));
    let moves = format!(
        "processes read {} and write {} MB/s, of memory and drives; drives move {}",
        moved("read_mb_s"),
        moved("written_mb_s"),
        number(run.throughput_mb_s)
    );
    match of(run, "late_percent") {
        Some(late) => format!(
            "at {} % of the times at which a round was due it was late or did not begin; {moves}",
            number(late)
        ),
        None => moves,
    }
}

/// What answers, in a word.
fn name(run: &Run) -> String {
    match run.choice.as_str() {
        "" => run.label.clone(),
        choice => choice.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::outcome::{Number, ProcessFound};

    /// How often an application was up and after how long, was not, and failed.
    fn application(name: &str, [up, not_up, failed]: [u64; 3], took: f64) -> ApplicationFound {
        ApplicationFound {
            name: name.to_owned(),
            up,
            not_up,
            failed,
            mean_s: (up > 0).then_some(took),
        }
    }

    fn run((load, choice): (&str, &str), numbers: &[(&str, f64)]) -> Run {
        let numbers = numbers
            .iter()
            .map(|(name, number)| ((*name).to_owned(), Number::Quantity(*number)));
        Run {
            load: load.to_owned(),
            choice: choice.to_owned(),
            label: format!("{load} {choice}").trim().to_owned(),
            processes: vec![ProcessFound::default()],
            measures: BTreeMap::from([(KEY.to_owned(), numbers.collect())]),
            ..Run::default()
        }
    }

    fn told(runs: &[Run]) -> (String, Vec<String>) {
        sentences(&runs.iter().collect::<Vec<_>>())
    }

    fn up(load: &str, choice: &str, took: f64) -> Run {
        run((load, choice), &[("not_up", 0.0), ("startup_s", took)])
    }

    fn down(load: &str, choice: &str) -> Run {
        run((load, choice), &[("not_up", 1.0)])
    }

    #[test]
    fn who_is_up_is_told_in_the_order_of_how_soon_and_who_is_not_behind_that() {
        let (none, bfq) = (down("", "none"), up("", "bfq", 1.5));
        let alone = |run: &Run| told(std::slice::from_ref(run)).0;
        assert_eq!(alone(&bfq), "The application is up after 1.5 s.");
        assert_eq!(
            alone(&none),
            "The application was not up when the run ended."
        );
        let (headline, details) = told(&[none, up("", "cfq", 30.0), bfq]);
        assert_eq!(
            headline,
            "The application is up after 1.5 s with bfq and 30 s with cfq; with none it was not up when the run ended."
        );
        assert!(details.is_empty(), "{details:?}");
    }

    /// Times that look the same are told once; of many the first and the last, and all of them in
    /// the details.
    #[test]
    fn equal_times_are_told_once_and_of_many_the_ends() {
        let alike = [up("", "a", 1.9381), up("", "b", 1.9379)];
        assert_eq!(
            told(&alike).0,
            "The application is up after 1.938 s with all 2."
        );
        let many = [
            up("", "a", 1.0),
            up("", "b", 1.0),
            up("", "c", 2.0),
            up("", "d", 3.0),
            up("", "e", 4.0),
            down("", "f"),
        ];
        let (headline, details) = told(&many);
        assert_eq!(
            headline,
            "The application is up after 1 s with a and b, 2 more in between, and at the latest 4 s with e; with f it was not up when the run ended."
        );
        assert_eq!(
            details,
            [
                "The application is up after 1 s with a and b, 2 s with c, 3 s with d and 4 s with e; with f it was not up when the run ended."
            ]
        );
    }

    #[test]
    fn of_several_loads_the_headline_tells_who_is_first() {
        let (headline, details) = told(&[
            up("beside=0r0w", "none", 2.0),
            up("beside=0r0w", "bfq", 2.0),
            up("beside=5r-seq", "none", 50.0),
            up("beside=5r-seq", "bfq", 3.0),
            down("beside=5w-seq", "none"),
            up("beside=5w-seq", "bfq", 9.0),
            down("beside=9w-seq", "none"),
            down("beside=9w-seq", "bfq"),
        ]);
        assert_eq!(
            headline,
            "The application is up first with bfq under beside=5r-seq (3 s) and beside=5w-seq (9 s). \
             Under beside=0r0w (2 s) all choices take the same. Under beside=9w-seq it is up with no choice."
        );
        assert_eq!(
            details,
            [
                "Under beside=0r0w: the application is up after 2 s with all 2.",
                "Under beside=5r-seq: the application is up after 3 s with bfq and 50 s with none.",
                "Under beside=5w-seq: the application is up after 9 s with bfq; with none it was not up when the run ended.",
                "Under beside=9w-seq: in each run the application was not up when the run ended."
            ]
        );
        let many: Vec<Run> = (0..6)
            .flat_map(|seed| {
                let load = format!("seed={seed}");
                [up(&load, "bfq", 1.0), up(&load, "none", 2.0)]
            })
            .collect();
        let (headline, details) = told(&many);
        assert_eq!(
            headline,
            "The application is up first with bfq under 6 of 6 loads."
        );
        assert_eq!(details.len(), 5);
        assert_eq!(details[4], "2 more loads stand in the table.");
    }

    #[test]
    fn several_start_ups_are_told_by_their_mean_and_equals_together() {
        let twice = [("not_up", 0.0), ("up", 2.0), ("startup_s", 1.5)];
        let fell = [("not_up", 1.0), ("up", 1.0), ("startup_s", 3.0)];
        let failed = [("not_up", 2.0), ("up", 0.0)];
        let of_failed = |not_up| Run {
            applications: vec![application("bash", [0, not_up, 1], 0.0)],
            ..run(("", "d"), &failed)
        };
        let alone = |run: &Run| told(std::slice::from_ref(run)).0;
        assert_eq!(
            alone(&Run {
                measures: run(("", ""), &[("not_up", 1.0)]).measures,
                ..of_failed(0)
            }),
            "The application was not up, as requests of it failed."
        );
        let runs = [
            run(("", "a"), &twice),
            run(("", "b"), &fell),
            run(("", "c"), &twice),
            of_failed(1),
        ];
        assert_eq!(
            told(&runs).0,
            "The application is up after 1.5 s on average over 2 start-ups with a and c and 3 s on average over 1 of 2 start-ups with b; with d it was not up when the run \
             ended, or requests of it failed."
        );
    }

    /// Two applications in a run; the second one takes twice as long, or is not up.
    fn both(load: &str, choice: &str, took: f64, [up, not_up, failed]: [u64; 3]) -> Run {
        let [bash, xterm] = [[1, 0, 0], [up, not_up, failed]];
        Run {
            applications: vec![
                application("bash", bash, took),
                application("xterm", xterm, 2.0 * took),
            ],
            ..run((load, choice), &[("not_up", 0.0), ("startup_s", 99.0)])
        }
    }

    #[test]
    fn each_of_several_applications_is_named() {
        let (up, twice) = ([1, 0, 0], [2, 0, 1]);
        let alone = |run: Run| told(&[run]).0;
        assert_eq!(
            alone(both("", "", 0.5, up)),
            "bash is up after 0.5 s. xterm is up after 1 s."
        );
        assert_eq!(
            alone(both("", "", 0.5, [0, 0, 0])),
            "bash is up after 0.5 s. xterm was not started before the run ended."
        );
        let (headline, _) = told(&[
            both("", "none", 5.0, twice),
            both("", "bfq", 0.5, [0, 0, 1]),
        ]);
        assert_eq!(
            headline,
            "bash is up after 0.5 s with bfq and 5 s with none. xterm is up after 10 s on average over 2 of 3 start-ups with none; \
             with bfq it was not up, as requests of it failed."
        );
        let (headline, details) = told(&[
            both("beside=0r0w", "none", 2.0, up),
            both("beside=0r0w", "bfq", 2.0, up),
            both("beside=9w-seq", "none", 50.0, [0, 1, 0]),
            both("beside=9w-seq", "bfq", 3.0, [0, 1, 0]),
        ]);
        assert_eq!(
            headline,
            "bash is up first with bfq under beside=9w-seq (3 s). Under beside=0r0w (2 s) bash takes the same with all choices. \
             Under beside=0r0w (4 s) xterm takes the same with all choices. Under beside=9w-seq xterm is up with no choice."
        );
        assert_eq!(details.len(), 4);
        assert_eq!(
            details[3],
            "Under beside=9w-seq: in each run xterm was not up when the run ended."
        );
    }

    #[test]
    fn of_many_applications_some_are_named() {
        let all = (1..=6).map(|number| application(&format!("a{number}"), [1, 0, 0], 1.0));
        let run = Run {
            applications: all.collect(),
            ..up("", "", 1.0)
        };
        let (headline, details) = told(&[run]);
        assert!(headline.ends_with("a4 is up after 1 s."), "{headline}");
        assert_eq!(details, ["2 more applications stand in the table."]);
    }

    #[test]
    fn with_one_choice_the_loads_are_told() {
        let runs = [
            up("beside=5r-seq", "bfq", 3.0),
            up("beside=0r0w", "bfq", 2.0),
            down("beside=5w-seq", "bfq"),
        ];
        let (headline, details) = told(&runs);
        assert_eq!(
            headline,
            "The application is up after 2 s under beside=0r0w and 3 s under beside=5r-seq; under beside=5w-seq it was not up when the run ended."
        );
        assert!(details.is_empty(), "{details:?}");
    }

    #[test]
    fn without_an_application_it_is_told_what_was_late_and_what_was_moved() {
        let moved = [("read_mb_s", 80.0), ("written_mb_s", 0.0)];
        let alone = told(&[run(("", ""), &moved)]).0;
        assert_eq!(
            alone,
            "Processes read 80.00 and write 0.000 MB/s, of memory and drives; drives move 0.000."
        );
        let late = [
            ("read_mb_s", 80.0),
            ("written_mb_s", 2.0),
            ("late_percent", 25.0),
        ];
        let (headline, details) = told(&[run(("", "a"), &late), run(("", "b"), &moved)]);
        assert_eq!(
            headline,
            "Processes read and write from 80.00 MB/s (b) to 82.00 MB/s (a)."
        );
        let many: Vec<Run> = (0..8)
            .map(|number| run(("", &format!("c{number}")), &moved))
            .collect();
        assert!(
            told(&many).1[0].ends_with("; 2 more stand in the table."),
            "none is left out without a word"
        );
        let alike = [run(("", "a"), &moved), run(("", "b"), &moved)];
        assert_eq!(
            told(&alike).0,
            "Processes read and write 80.00 MB/s in each run."
        );
        assert_eq!(
            details,
            [
                "a: at 25.00 % of the times at which a round was due it was late or did not begin; processes read 80.00 and write 2.000 MB/s, of memory and \
                 drives; drives move 0.000; b: processes read 80.00 and write 0.000 MB/s, of memory and drives; drives move 0.000."
            ]
        );
    }
}
