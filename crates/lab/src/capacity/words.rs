//! A capacity in sentences, made once here and shown by every form of it.

use super::{Capacity, Find, Found, Word};
use crate::grid::Point;
use crate::number::times;
use crate::verdict::list;

/// What has to hold, in words.
pub(super) fn objectives(capacity: &Capacity) -> String {
    let texts: Vec<String> = capacity
        .objectives
        .iter()
        .map(ToString::to_string)
        .collect();
    format!("`{}`", texts.join(" and "))
}

/// The choice's settings, without their key if it is the only one.
pub(super) fn name(capacity: &Capacity, found: &Found) -> String {
    match (capacity.varied.as_slice(), found.choice.split_once('=')) {
        ([] | [_], Some((_, value))) => value.to_owned(),
        _ => found.choice.clone(),
    }
}

/// The headline, and what else there is to say.
pub(super) fn sentences(capacity: &Capacity, points: &[Point]) -> (String, Vec<String>) {
    let mut details = Vec::new();
    if let Some(best) = capacity.best {
        details.extend(today(capacity, &capacity.choices[best]));
        details.extend(against(capacity, best));
        details.extend(ends(capacity));
    }
    for found in capacity.choices.iter().filter(|found| found.contradicted) {
        details.push(format!(
            "Under {} the objective held at a setting that is harder than one at which it failed: what is told is the first failure.",
            name(capacity, found)
        ));
    }
    if capacity.find == Find::Drives {
        let striped = points
            .iter()
            .all(|point| point.scenario.place.name == "stripe");
        if striped {
            details
                .push("Drives are striped (placement stripe); --place says otherwise.".to_owned());
        }
    }
    if !capacity.complete {
        details.push("The search was interrupted: true boundaries may lie anywhere between the settings that were tried.".to_owned());
    }
    details.push(cost(capacity));
    (headline(capacity), details)
}

fn headline(capacity: &Capacity) -> String {
    let slo = objectives(capacity);
    let Some(best) = capacity.best.map(|best| &capacity.choices[best]) else {
        return nowhere(capacity, &slo);
    };
    let mut order: Vec<&Found> = capacity.choices.iter().collect();
    order.retain(|found| !std::ptr::eq(*found, best));
    let hardness = |found: &Found| match (found.holds, capacity.find) {
        (None, _) => f64::NEG_INFINITY,
        (Some(value), Find::Drives) => -value,
        (Some(value), _) => value,
    };
    order.sort_by(|one, other| hardness(other).total_cmp(&hardness(one)));
    let mut text = format!(
        "{} holds {slo} {}",
        name(capacity, best),
        reach(capacity.find, best)
    );
    for found in order {
        text += &format!(
            ", {} {}",
            name(capacity, found),
            short(capacity.find, found)
        );
    }
    text + "."
}

/// That no choice holds anything, with the range.
fn nowhere(capacity: &Capacity, slo: &str) -> String {
    let Some(first) = capacity.choices.first() else {
        return "Nothing was asked.".to_owned();
    };
    let who = match capacity.choices.as_slice() {
        [only] => format!("{} holds {slo} nowhere", name(capacity, only)),
        _ => format!("None holds {slo}"),
    };
    if capacity.choices.iter().any(|found| found.tried.is_empty()) || !capacity.complete {
        return format!("{who} among the settings that were tried before the interruption.");
    }
    let easiest = capacity.find.words(first.easiest);
    format!("{who}, not even at {easiest}, the easiest setting.")
}

/// How far a choice holds, with how sure that is.
fn reach(find: Find, found: &Found) -> String {
    let Some(holds) = found.holds else {
        return "nowhere".to_owned();
    };
    let limits = match (found.surely_holds, found.surely_fails) {
        (Some(surely), Some(fails)) => format!(
            " (surely {} {surely}, surely not {} {fails})",
            to(find),
            from(find)
        ),
        (None, Some(fails)) => format!(" (surely nowhere, surely not {} {fails})", from(find)),
        (Some(surely), None) => format!(" (surely {} {surely}; no setting surely fails)", to(find)),
        (None, None) => " (surely nowhere; no setting surely fails)".to_owned(),
    };
    let bound = if found.fails.is_none() {
        ", the hardest setting there is"
    } else {
        ""
    };
    format!("{} {}{bound}{limits}", to(find), find.words(holds))
}

fn short(find: Find, found: &Found) -> String {
    match found.holds {
        Some(holds) => format!("{} {holds}", to(find)),
        None if found
            .tried
            .first()
            .is_some_and(|tried| tried.at.total_cmp(&found.easiest).is_eq()) =>
        {
            format!("not even {}", position(find, found.easiest))
        }
        None => "nowhere so far".to_owned(),
    }
}

/// The word in front of the hardest setting that holds.
pub(super) fn to(find: Find) -> &'static str {
    match find {
        Find::Drives => "with",
        Find::Speed | Find::Rate | Find::Depth => "up to",
    }
}

/// The word in front of the easiest setting that fails.
pub(super) fn from(find: Find) -> &'static str {
    match find {
        Find::Drives => "with",
        Find::Speed | Find::Rate | Find::Depth => "from",
    }
}

/// How much of the capacity the recorded load uses.
fn today(capacity: &Capacity, best: &Found) -> Option<String> {
    let holds = best.holds.filter(|_| capacity.find == Find::Speed)?;
    let who = name(capacity, best);
    Some(if holds < 1.0 {
        format!(
            "The recorded load itself is {} what {who} takes.",
            times(1.0 / holds)
        )
    } else {
        format!(
            "The recorded load is {:.0} % of what {who} takes.",
            100.0 / holds
        )
    })
}

/// Which differences to the best one are decided.
fn against(capacity: &Capacity, best: usize) -> Vec<String> {
    let best = name(capacity, &capacity.choices[best]);
    let at = |found: &&Found, word: Word, tried: bool| {
        found.against_best.is_some_and(|against| {
            against.word == word && (against.at.is_some() == tried || word == Word::Same)
        })
    };
    let of = |word: Word, tried: bool| {
        let found: Vec<&Found> = capacity
            .choices
            .iter()
            .filter(|found| at(found, word, tried))
            .collect();
        let names: Vec<String> = found.iter().map(|found| name(capacity, found)).collect();
        let place = found.first().and_then(|found| found.against_best?.at);
        let place = place.map_or_else(String::new, |at| position(capacity.find, at));
        (names, place)
    };
    let mut said = Vec::new();
    let (same, _) = of(Word::Same, true);
    if !same.is_empty() {
        let verb = if same.len() == 1 { "does" } else { "do" };
        said.push(format!(
            "{} {verb} as well as {best}, to within the resolution.",
            list(&same)
        ));
    }
    let (less, place) = of(Word::Less, true);
    if !less.is_empty() {
        let takes = takes(capacity.find, less.len());
        said.push(format!(
            "{} {takes} {best}, with 95 % confidence: {place} the interval of the difference excludes 0.",
            list(&less)
        ));
    }
    let (before, _) = of(Word::Less, false);
    if !before.is_empty() {
        let (takes, fails) = match before.len() {
            1 => (takes(capacity.find, 1), "it surely fails"),
            many => (takes(capacity.find, many), "they surely fail"),
        };
        said.push(format!(
            "{} {takes} {best}, with 95 % confidence: {fails} where {best} surely holds.",
            list(&before)
        ));
    }
    let (open, place) = of(Word::Undecided, true);
    if !open.is_empty() {
        let takes = takes(capacity.find, open.len());
        said.push(format!(
            "Whether {} {takes} {best} is undecided: {place} the interval of the difference contains 0.",
            list(&open)
        ));
    }
    let (apart, _) = of(Word::Undecided, false);
    if !apart.is_empty() {
        let takes = takes(capacity.find, apart.len());
        said.push(format!(
            "Whether {} {takes} {best} is undecided: there is no run of both at the same setting.",
            list(&apart)
        ));
    }
    said
}

fn takes(find: Find, how_many: usize) -> &'static str {
    match (find, how_many) {
        (Find::Drives, 1) => "needs more drives than",
        (Find::Drives, _) => "need more drives than",
        (_, 1) => "takes less than",
        (_, _) => "take less than",
    }
}

fn position(find: Find, at: f64) -> String {
    match find {
        Find::Drives => format!("with {}", find.words(at)),
        Find::Speed | Find::Rate | Find::Depth => format!("at {}", find.words(at)),
    }
}

/// Why some choices were not tried any harder.
fn ends(capacity: &Capacity) -> Vec<String> {
    let bound = |found: &&Found| found.holds.is_some() && found.fails.is_none();
    let reached = capacity.choices.iter().filter(bound);
    let end = |found: &Found| {
        let because = found.hardest_because.clone();
        let because = because.unwrap_or_else(|| "the end of what is tried".to_owned());
        format!(
            "{} holds even {} {}: {because}.",
            name(capacity, found),
            if capacity.find == Find::Drives {
                "with"
            } else {
                "at"
            },
            capacity.find.words(found.hardest)
        )
    };
    reached.map(end).collect()
}

fn cost(capacity: &Capacity) -> String {
    let Capacity {
        runs,
        simulated_requests,
        requests,
        choices,
        ..
    } = capacity;
    let one = requests * choices.len() as u64;
    let ratio = *simulated_requests as f64 / one.max(1) as f64;
    let early = choices.iter().flat_map(|found| &found.tried);
    let early = early.filter(|tried| tried.ended_early).count();
    format!(
        "{runs} runs ({early} of them ended early, for an objective was surely missed) with {simulated_requests} requests: {} those of \
         one comparison at one setting.",
        times(ratio)
    )
}

/// Settings that are a percent apart are told with how far.
pub(super) fn resolution(capacity: &Capacity) -> String {
    let percent = capacity.resolution_percent;
    match capacity.find {
        Find::Speed | Find::Rate => format!("settings are {percent} % apart"),
        Find::Depth | Find::Drives => {
            format!("whole numbers, at most {percent} % apart or neighbours")
        }
    }
}

/// What the axis is called, and in what it is told.
pub(super) fn axis(find: Find) -> (&'static str, &'static str) {
    match find {
        Find::Speed => ("speed", "times the recorded one"),
        Find::Rate => ("rate", "requests/s"),
        Find::Depth => ("depth", "requests in flight"),
        Find::Drives => ("drives", ""),
    }
}
