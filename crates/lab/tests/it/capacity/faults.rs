//! Capacities of drives that fail, at once or from an instant on.

use super::*;

/// Where a twentieth of the requests fail, the 94th percentile of all of them is the 99th of the
/// others. A percentile beyond what is answered holds nowhere, and the words say why.
#[test]
fn a_request_that_fails_misses_a_percentile() {
    let faulty = |slo: &str| {
        let faults = "injected:timeout_share=0.05:timeout_ms=0.001";
        let settings = [("drive", "null"), ("faults", faults)];
        let base = synthetic("poisson:requests=20000", &settings);
        found(&points(&base, &[]), &how(slo, Find::Rate))
    };
    let none = faulty("p99 < 600 us");
    assert_eq!(none.choices[0].holds, None);
    assert!(none.headline.contains("fail"), "{}", none.headline);
    assert_eq!(none.choices[0].limit, None);
    let some = faulty("p90 < 600 us");
    let holds = some.choices[0].holds.unwrap();
    // The others wait for those that fail, which take a little longer.
    let truth = rate_of_percentile(0.9 / 0.95, 0.6);
    assert!((holds / truth - 1.0).abs() < 0.05, "{holds}, not {truth}");
    assert!(
        some.headline.contains("requests failed"),
        "{}",
        some.headline
    );
}

/// A mean is of answers, unless more than one in a hundred are none.
#[test]
fn a_mean_is_missed_where_more_than_one_in_a_hundred_fail() {
    let of = |share: &str| format!("injected:timeout_share={share}:timeout_ms=0.001");
    let base = synthetic("poisson:requests=20000", &[("drive", "null")]);
    let vary = format!("faults={},{}", of("0.007"), of("0.014"));
    let both = found(&points(&base, &[&vary]), &how("mean < 300 us", Find::Rate));
    let holds: Vec<bool> = both.choices.iter().map(|one| one.holds.is_some()).collect();
    assert_eq!(holds, [true, false]);
    assert_eq!(both.choices[1].against_best.unwrap().word, Word::Less);
    let told = said(&both);
    let why = " requests fail there: a mean is missed where more than 1 % of its requests fail.";
    assert_eq!(told.matches(why).count(), 1, "{told}");
}

/// A run of which less than half comes after its faults begin does not show what they do: such a
/// setting does not hold, and the search looks below it.
#[test]
fn what_ends_before_its_faults_begin_is_not_shown_to_hold() {
    let of = |vary: &[&str]| {
        let base = synthetic("poisson:requests=20000", &[("drive", "null")]);
        found(&points(&base, vary), &how("p95 < 1 ms", Find::Rate))
    };
    // Runs of less than 20 s end before the fault. Far longer ones miss the objective.
    let below = of(&["faults=injected:slow_factor=8:slow_from_s=20"]);
    let choice = &below.choices[0];
    let (holds, fails) = (choice.holds.unwrap(), choice.fails.unwrap());
    assert!((60.0..120.0).contains(&holds), "{holds} {fails}");
    assert!(fails < 1.05 * holds, "{holds} {fails}");
    assert!(choice.surely_fails.unwrap() < 1_000.0, "{choice:?}");
    assert!(choice.tried.iter().any(|tried| tried.at > 1_030.0));
    for tried in choice.tried.iter().filter(|tried| tried.at > 1_030.0) {
        assert!(
            tried.word == Outcome::NotShown || tried.word == Outcome::SurelyFails,
            "{tried:?}"
        );
    }
    // Those of less than 120 s are mostly without it, and longer ones hold.
    let at = ["faults=none,injected:slow_factor=5:slow_from_s=60"];
    let both = of(&at);
    let [without, late] = both.choices.as_slice() else {
        panic!("two choices");
    };
    assert!(without.holds.unwrap() > 2_000.0, "{without:?}");
    assert!((155.0..170.0).contains(&late.holds.unwrap()), "{late:?}");
    let short = late.tried.iter().filter(|tried| tried.at > 175.0);
    let words: Vec<Outcome> = short.map(|tried| tried.word).collect();
    assert!(words.contains(&Outcome::NotShown), "{words:?}");
    assert!(!words.contains(&Outcome::SurelyHolds), "{words:?}");
    assert_eq!(
        (late.fails, late.surely_fails, late.contradicted),
        (None, None, false)
    );
    let against = late.against_best.unwrap();
    assert_eq!((against.word, against.at), (Word::Undecided, None));
    let told = said(&both);
    assert!(!told.contains("95 % confidence"), "{told}");
    assert!(!told.contains("as well as"), "{told}");
    let headline = &both.headline;
    assert!(headline.ends_with(" after 60 s."), "{headline}");
}

/// Thousands of requests a second, and a fault after a minute: the runs that hold are over long
/// before.
#[test]
fn what_holds_before_its_faults_begin_is_told_as_such() {
    let of = |faults: &str| {
        let settings = [("drive", "null"), ("faults", faults)];
        let base = synthetic("poisson:requests=20000", &settings);
        found(&points(&base, &[]), &how("p95 < 300 us", Find::Rate))
    };
    let kinds = |capacity: &Capacity| -> Vec<WarningKind> {
        let warnings = capacity.warnings.iter();
        warnings.map(|warning| warning.kind).collect()
    };
    let late = of("injected:slow_factor=3:slow_from_s=60");
    let choice = &late.choices[0];
    assert!(kinds(&late).contains(&WarningKind::BeforeFaults));
    assert!(choice.holds.is_none_or(|holds| holds < 340.0), "{choice:?}");
    let not_shown = |tried: &Tried| tried.word == Outcome::NotShown;
    assert!(choice.tried.iter().any(not_shown), "{choice:?}");
    // From the beginning on it is too slow at the easiest rate, and nothing is to be added.
    let at_once = of("injected:slow_factor=4");
    assert_eq!(at_once.choices[0].holds, None);
    assert_eq!(kinds(&at_once), []);
    assert!(!at_once.headline.contains("they begin after"));
}

/// With its one drive gone nothing holds; without the fault much does, and that is no capacity.
#[test]
fn what_holds_only_without_its_faults_is_not_told_to_hold_nowhere() {
    let settings = [("drive", "null"), ("faults", "injected:gone_at_s=60")];
    let base = synthetic("poisson:requests=20000", &settings);
    let none = found(&points(&base, &[]), &how("p95 < 1 ms", Find::Rate));
    assert_eq!(none.choices[0].holds, None);
    let headline = &none.headline;
    for told in [
        "is shown to hold `p95 < 1 ms` nowhere",
        "without its faults, which says nothing of what they do there: ",
    ] {
        assert!(headline.contains(told), "{headline}");
    }
    let contradicted = said(&none).contains("is harder than one at which it failed");
    assert!(!contradicted, "{}", said(&none));
}

#[test]
fn failures_are_told_of_each_choice_at_its_own_load() {
    let faults = |share: &str| format!("injected:timeout_share={share}:timeout_ms=0.001");
    let vary = format!("faults=none,{},{}", faults("0.02"), faults("0.03"));
    let base = synthetic("poisson:requests=5000", &[("drive", "null")]);
    let both = found(&points(&base, &[&vary]), &how("p90 < 600 us", Find::Rate));
    let told = both.choices[1..].iter().map(|choice| {
        let at = choice.holds.unwrap();
        let tried = choice
            .tried
            .iter()
            .find(|tried| tried.at.total_cmp(&at).is_eq());
        (tried.unwrap().failed, at)
    });
    for (failed, at) in told {
        assert!(failed > 50, "{failed}");
        let headline = &both.headline;
        assert!(
            headline.contains(&format!("{failed} of 5000 ")),
            "{headline}"
        );
        assert!(
            headline.contains(&format!(" at {at} requests/s")),
            "{headline}"
        );
    }
    assert!(
        both.headline.contains(" requests failed under "),
        "{}",
        both.headline
    );
}

/// A choice of which too little is answered to tell a mean fails, and the others are searched on;
/// so does one that answers nothing at all.
#[test]
fn a_choice_that_fails_nearly_all_does_not_end_the_search_for_a_mean() {
    let base = synthetic("poisson:requests=2000", &[("drive", "null")]);
    let most = "injected:timeout_share=0.99:timeout_ms=0.001";
    let vary = format!("faults=none,{most},injected:gone_at_s=0");
    let all = found(&points(&base, &[&vary]), &how("mean < 300 us", Find::Rate));
    let holds: Vec<bool> = all.choices.iter().map(|one| one.holds.is_some()).collect();
    assert_eq!(holds, [true, false, false]);
    assert!(all.complete);
    let told = said(&all);
    let why = "requests fail there: a mean is missed where more than 1 % of its requests fail";
    assert_eq!(told.matches(why).count(), 2, "{told}");
    for failing in &all.choices[1..] {
        assert_eq!(failing.against_best.unwrap().word, Word::Less);
        let first = &failing.tried[0];
        assert_eq!(
            (first.word, first.readings[0].ms),
            (Outcome::SurelyFails, None)
        );
    }
}

/// What is too few for all choices is told of the run that had them.
#[test]
fn requests_that_are_too_few_are_told_of_their_run() {
    let base = synthetic("poisson:requests=200", &[("drive", "null")]);
    let points = points(&base, &["sched=fcfs,satf"]);
    let how = how("mean < 300 us", Find::Rate);
    let error = capacity(&points, None, &how, &Control::default()).unwrap_err();
    let told = error.to_string();
    assert!(told.contains("the run sched=fcfs rate_rps="), "{told}");
}

#[test]
fn of_many_choices_that_fail_requests_only_some_are_listed() {
    let faults = "injected:timeout_share=0.02:timeout_ms=0.001";
    let settings = [("drive", "null"), ("faults", faults)];
    let base = synthetic("poisson:requests=2000", &settings);
    let vary = "sched=fcfs,sstf,look,scan,cscan,clook,satf,vscan";
    let many = found(&points(&base, &[vary]), &how("p90 < 600 us", Find::Rate));
    let headline = &many.headline;
    assert!(
        headline.contains(" and some under 2 more choices: they miss"),
        "{headline}"
    );
    let six = found(
        &points(&base, &["sched=fcfs,sstf,look,scan,cscan,clook"]),
        &how("p90 < 600 us", Find::Rate),
    );
    assert!(!six.headline.contains("some under"), "{}", six.headline);
}

/// All reads come before all writes: half of a run comes after its faults, and yet no read meets
/// them.
#[test]
fn an_objective_on_reads_is_shown_by_reads() {
    let of = |first: char| {
        let second = if first == 'R' { 'W' } else { 'R' };
        let op = |number: u64| if number < 1_000 { first } else { second };
        let rows = (0..2_000_u64).map(|number| {
            let ms = number as f64 / 1e3;
            format!("{ms},{},{},4096\n", op(number), number * 8_192)
        });
        let (load, loaded) = table("ts_s,op,offset,size", rows);
        let mut base = Scenario::over(Load::Trace(load));
        base.set("drive", "null").unwrap();
        base.set("faults", "injected:slow_add_ms=0.01:slow_from_s=1")
            .unwrap();
        let points = points(&base, &[]);
        let how = how("read p95 < 1 ms", Find::Speed);
        let found = capacity(&points, Some(&loaded), &how, &Control::default()).unwrap();
        (found.choices[0].holds.unwrap(), found.headline)
    };
    // Half of these reads come within a second at half the speed, and of those behind the writes at
    // one and a half.
    let (before, headline) = of('R');
    assert!((0.48..0.52).contains(&before), "{before}");
    let told = " % of the reads of its run there come after they begin";
    assert!(headline.contains(told), "{headline}");
    let (behind, _) = of('W');
    assert!((1.45..1.55).contains(&behind), "{behind}");
}

/// An objective on times says nothing of what was read, so the headline does.
#[test]
fn wrong_blocks_are_told_of_the_choice_that_served_them() {
    let vary = "faults=none,injected:rot_per_tib=8000000:rot_within_s=0";
    let settings = [("drive", "seagate-cheetah-9lp")];
    let base = synthetic("poisson:requests=2000", &settings);
    let both = found(&points(&base, &[vary]), &how("mean < 30 ms", Find::Rate));
    let headline = &both.headline;
    assert!(headline.contains("rot_within_s=0 served "), "{headline}");
    assert!(headline.contains(" wrong blocks at "), "{headline}");
}

/// A few requests that fail are no reason for a percentile that many miss, and where too few are
/// asked for, none nearer to the middle helps.
#[test]
fn a_percentile_is_not_missed_for_fewer_failures_than_it_allows() {
    let settings = [
        ("drive", "cloud-gp2-100gib"),
        ("faults", "injected:timeout_share=0.001:timeout_ms=100"),
    ];
    for slo in ["p90 < 1 ms", "p95 < 1 ms"] {
        let base = synthetic("poisson:requests=5000", &settings);
        let capacity = found(&points(&base, &[]), &how(slo, Find::Rate));
        let text = capacity.to_string();
        assert!(!text.contains("and so miss it"), "{slo}: {text}");
    }
}
