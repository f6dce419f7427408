//! Which choice is best, what an interrupted search claims, and which configuration is told.

use super::answer::Answer;
use super::*;
use crate::scenario::Scenario;

#[test]
fn rates_begin_where_the_requests_come_within_virtual_time() {
    let mut base = Scenario::over(Load::Workload("poisson:requests=50000000".parse().unwrap()));
    base.set("drive", "null").unwrap();
    let points = grid::points(&base, &[]).unwrap();
    let how = How {
        objectives: crate::objective::objectives(&["mean < 1 ms".to_owned()]).unwrap(),
        find: Find::Rate,
        resolution_percent: 2.0,
        jobs: None,
    };
    let found = choices(&points, None, &how, &Control::default()).unwrap();
    let slowest = found[0].axis.values[0];
    assert!((0.0108..0.0111).contains(&slowest), "{slowest}");
}

/// A choice that holds by its estimates up to a depth, and surely up to another.
fn choice(holds: i64, surely: i64) -> Choice {
    let base = Scenario::over(Load::Workload("iometer".parse().unwrap()));
    let point = grid::points(&base, &[]).unwrap().remove(0);
    let axis = Axis::new(Find::Depth, &point, None, (200, 0.02)).unwrap();
    let mut search = Search::new((0, axis.values.len() as i64 - 1), 0, 1);
    for at in 0..=holds + 1 {
        let answer = Answer {
            surely: at <= surely,
            estimate: at <= holds,
            possibly: at <= holds,
        };
        search.learn(at, answer);
    }
    Choice::new(&point, axis, search)
}

#[test]
fn of_choices_that_hold_as_far_the_one_that_surely_holds_farther_is_best() {
    let best_of = |choices: &[Choice]| best(choices).map(|(index, _)| index);
    assert_eq!(
        best_of(&[choice(5, 2), choice(5, 4), choice(4, 4)]),
        Some(1)
    );
    assert_eq!(best_of(&[choice(5, 2), choice(6, 1)]), Some(1));
    // Of equals, the first.
    assert_eq!(best_of(&[choice(5, 2), choice(5, 2)]), Some(0));
    assert_eq!(best_of(&[choice(-1, -1)]), None);
}

#[test]
fn a_choice_that_holds_as_far_as_the_best_does_as_well() {
    let (best, same, less) = (choice(5, 4), choice(5, 2), choice(3, 3));
    assert_eq!(same.against(&best, 5).word, Word::Same);
    assert_ne!(less.against(&best, 5).word, Word::Same);
    // It surely fails at a depth that the best one surely holds.
    let against = Against {
        word: Word::Less,
        at: None,
    };
    assert_eq!(less.against(&best, 5), against);
}

/// What is known of two choices when a search ends before the second one was tried.
fn interrupted() -> Capacity {
    let how = How {
        objectives: crate::objective::objectives(&["mean < 1 ms".to_owned()]).unwrap(),
        find: Find::Depth,
        resolution_percent: 2.0,
        jobs: None,
    };
    let Choice { point, axis, .. } = choice(-1, -1);
    let ends = (0, axis.values.len() as i64 - 1);
    let mut tried = Search::new(ends, 3, 1);
    tried.learn(3, Answer::HOLDS);
    let untried = Search::new(ends, 3, 1);
    let axis_of = || Axis::new(Find::Depth, &point, None, (200, 0.02)).unwrap();
    let untried = Choice::new(&point, axis_of(), untried);
    let mut found = summed_up(vec![untried, Choice::new(&point, axis, tried)], &how);
    found.choices[0].choice = "drive=slow".to_owned();
    found.choices[1].choice = "drive=fast".to_owned();
    found.choices[1].config = serde_json::json!({ "drive": "fast" });
    found
}

#[test]
fn an_interrupted_search_claims_no_setting_that_was_never_tried() {
    let capacity = interrupted();
    let (headline, details) = words::sentences(&capacity, false);
    let said = format!("{headline} {}", details.join(" "));
    for claim in [
        "hardest setting there is",
        "holds even",
        "no setting surely fails",
        "Whether",
    ] {
        assert!(!said.contains(claim), "{claim}: {said}");
    }
    assert!(headline.contains("slow not tried"), "{headline}");
    assert_eq!(capacity.choices[0].against_best, None);
    // The same at the last setting is the end.
    let mut ended = interrupted();
    ended.choices[1].holds = Some(ended.choices[1].hardest);
    let (headline, details) = words::sentences(&ended, false);
    assert!(headline.contains("the hardest setting there is"));
    assert!(details.iter().any(|detail| detail.contains("holds even")));
}

#[test]
fn after_an_interruption_nothing_is_said_to_do_as_well() {
    let mut capacity = interrupted();
    let mut other = interrupted().choices.remove(1);
    let word = |word| Some(Against { word, at: None });
    (other.choice, other.against_best) = ("drive=other".to_owned(), word(Word::Same));
    capacity.choices.push(other);
    let said = |capacity: &Capacity| words::sentences(capacity, false).1.join(" ");
    assert!(said(&capacity).contains("as well as fast"));
    forget_same(&mut capacity.choices);
    assert!(!said(&capacity).contains("as well as"));
    capacity.choices[2].against_best = word(Word::Less);
    forget_same(&mut capacity.choices);
    assert_eq!(capacity.choices[2].against_best, word(Word::Less));
}

#[test]
fn a_configuration_is_told_of_the_choice_that_ran_with_it() {
    let mut capacity = interrupted();
    let mut third = interrupted().choices.remove(1);
    third.choice = "drive=faster".to_owned();
    third.config = serde_json::json!({ "drive": "faster" });
    capacity.choices.push(third);
    let facts = setup::facts(&capacity);
    let told: Vec<&str> = facts.iter().map(|(_, fact)| fact.as_str()).collect();
    for own in ["fast: drive=\"fast\"", "faster: drive=\"faster\""] {
        assert!(told.contains(&own), "{told:?}");
    }
    assert!(!told.iter().any(|fact| fact.starts_with("slow")));
}

/// A number says nothing of what it is, in a table and in a sentence.
#[test]
fn a_choice_that_is_a_number_keeps_its_key() {
    let mut capacity = interrupted();
    capacity.choices[0].choice = "place.disks=2".to_owned();
    capacity.choices[1].choice = "place.disks=4".to_owned();
    let rows = columns::rows(&capacity);
    assert_eq!(
        [&rows[0][0], &rows[1][0]],
        ["place.disks=2", "place.disks=4"]
    );
    let (headline, _) = words::sentences(&capacity, false);
    assert!(headline.starts_with("place.disks=4 holds"), "{headline}");
    assert!(headline.contains("place.disks=2 not tried"), "{headline}");
    let rows = columns::rows(&interrupted());
    assert_eq!([&rows[0][0], &rows[1][0]], ["slow", "fast"]);
}

/// Of many choices a headline names the best, the next and the last.
#[test]
fn a_headline_of_a_dozen_has_few_clauses() {
    let mut capacity = interrupted();
    let first = capacity.choices.remove(1);
    let mut all = vec![first];
    for number in (2..=12).rev() {
        let mut other = interrupted().choices.remove(1);
        other.choice = format!("drive=d{number}");
        other.holds = Some(f64::from(13 - number) / 4.0);
        all.push(other);
    }
    capacity.best = Some(0);
    capacity.choices = all;
    let (headline, _) = words::sentences(&capacity, false);
    let end = "; of 11 others the next is d2 up to 2.75, and the last d12 up to 0.25.";
    assert!(headline.starts_with("fast holds"), "{headline}");
    assert!(headline.ends_with(end), "{headline}");
    capacity.choices.truncate(3);
    let (headline, _) = words::sentences(&capacity, false);
    assert!(
        headline.ends_with(", d11 up to 0.5, d12 up to 0.25."),
        "{headline}"
    );
}
