//! A capacity in sentences, made once here and shown by every form of it.

use super::failures::{failures, reached};
use super::filling::not_steady;
use super::names::{name, position};
use super::{Capacity, Find, Outcome, Reached, SHOWN_FROM, Tried, Word};
use crate::number::{counted, list, seconds, times};
use crate::objective;

/// Choices that are listed one by one; of more only their number is told.
const LISTED_MAX: usize = 6;
/// Choices beside the best that a headline names with how far they hold; of more it names the next
/// and the last.
const BESIDE_MAX: usize = 3;

/// What has to hold, in words.
pub(super) fn objectives(capacity: &Capacity) -> String {
    objective::text(&capacity.objectives.iter().collect::<Vec<_>>())
}

/// The headline, and what else there is to say; `made_arrays` if several drives stand where one was
/// named.
pub(super) fn sentences(capacity: &Capacity, made_arrays: bool) -> (String, Vec<String>) {
    let mut details = Vec::new();
    if let Some(best) = capacity.best {
        details.extend(today(capacity, &capacity.choices[best]));
        details.extend(against(capacity, best));
    }
    details.extend(ends(capacity));
    details.extend(failures(capacity));
    details.extend(not_steady(capacity));
    let choices = capacity.choices.iter().filter(|found| found.contradicted);
    details.extend(choices.map(|found| contradicted(capacity, found)));
    let uneven = capacity
        .choices
        .iter()
        .filter(|found| found.unevenly_sure && found.holds.is_some());
    details.extend(uneven.map(|found| unevenly_sure(capacity, found)));
    let several = |found: &Reached| found.tried.iter().any(|tried| tried.at > 1.0);
    if made_arrays && capacity.choices.iter().any(several) {
        details.push(
            "Placement linear is one drive; several are striped here (placement stripe). --place names another placement.".to_owned(),
        );
    }
    if !capacity.complete {
        details.push("The search was interrupted: true boundaries may lie anywhere between the settings that were tried.".to_owned());
    }
    details.push(cost(capacity));
    let more = [
        wrong_blocks(capacity),
        requests_failed(capacity),
        before_faults(capacity),
    ];
    let headline = more
        .into_iter()
        .flatten()
        .fold(headline(capacity), |said, more| format!("{said} {more}"));
    (headline, details)
}

fn headline(capacity: &Capacity) -> String {
    let slo = objectives(capacity);
    let Some(best) = capacity.best.map(|best| &capacity.choices[best]) else {
        return nowhere(capacity, &slo);
    };
    let mut order: Vec<&Reached> = capacity.choices.iter().collect();
    order.retain(|found| !std::ptr::eq(*found, best));
    let hardness = |found: &Reached| match (found.holds, capacity.find) {
        (None, _) => f64::NEG_INFINITY,
        (Some(value), Find::Drives) => -value,
        (Some(value), _) => value,
    };
    order.sort_by(|one, other| hardness(other).total_cmp(&hardness(one)));
    let mut text = format!(
        "{} holds {slo} {}",
        name(capacity, best),
        reach(capacity, best)
    );
    let told =
        |found: &Reached| format!("{} {}", name(capacity, found), short(capacity.find, found));
    match order.as_slice() {
        [next, .., last] if order.len() > BESIDE_MAX => {
            let (others, next, last) = (order.len(), told(next), told(last));
            text += &format!("; of {others} others the next is {next}, and the last {last}");
        }
        few => few
            .iter()
            .for_each(|found| text += &format!(", {}", told(found))),
    }
    text + "."
}

/// What the answer is about: each choice with the setting that is told of it.
fn shown(capacity: &Capacity) -> impl Iterator<Item = (&Reached, &Tried)> {
    let all = capacity.choices.iter();
    all.filter_map(|found| Some((found, found.shown()?)))
}

/// That wrong blocks were served there. An objective on times says nothing of them.
fn wrong_blocks(capacity: &Capacity) -> Option<String> {
    let serving: Vec<_> = shown(capacity)
        .filter(|(_, tried)| tried.wrong_blocks > 0)
        .collect();
    let (found, tried) = serving.iter().max_by_key(|(_, tried)| tried.wrong_blocks)?;
    let (who, place) = (name(capacity, found), position(capacity.find, tried.at));
    let count = counted(tried.wrong_blocks, "wrong block");
    Some(match serving.len() {
        1 => format!("{who} served {count} {place}."),
        all => format!("{all} choices served wrong blocks, {who} the most: {count} {place}."),
    })
}

/// That requests failed there.
fn requests_failed(capacity: &Capacity) -> Option<String> {
    let failing: Vec<_> = shown(capacity)
        .filter(|(_, tried)| tried.failed > 0)
        .collect();
    let listed = failing.iter().take(LISTED_MAX).enumerate();
    let listed = listed.map(|(index, (found, tried))| {
        let all = match index {
            0 => format!("{} failed", counted(tried.requests, "request")),
            _ => tried.requests.to_string(),
        };
        let (who, place) = (name(capacity, found), position(capacity.find, tried.at));
        format!("{} of {all} under {who} {place}", tried.failed)
    });
    let mut told: Vec<String> = listed.collect();
    let more = failing.len() - told.len();
    if more > 0 {
        let choices = if more == 1 { "choice" } else { "choices" };
        told.push(format!("some under {more} more {choices}"));
    }
    (!told.is_empty()).then(|| {
        format!(
            "{}: they miss a percentile, and are in no mean.",
            list(&told)
        )
    })
}

/// From where on choices are not told, since too little of their runs comes after their faults
/// begin.
fn before_faults(capacity: &Capacity) -> Option<String> {
    let told = capacity.choices.iter().filter_map(|found| {
        let tried = found.first_not_shown()?;
        let onset = tried.onset?;
        let (begin, who) = (seconds(onset.begin_s), name(capacity, found));
        let (most, why) = match onset.never_came() {
            true => {
                let ended = seconds(onset.ended_s);
                ("", format!("its run ends there after {ended}, and they begin after {begin}"))
            }
            false => {
                let share = (1_000.0 * onset.share).floor() / 10.0;
                let half = 100.0 * SHOWN_FROM;
                let why = format!(
                    "{share} % of the {} of its run there come after they begin ({half} % are wanted), which is after {begin}",
                    onset.of.requests()
                );
                ("mostly ", why)
            }
        };
        let place = position(capacity.find, tried.at);
        let so = match found.fails {
            None => "so what it takes from there on is not known",
            // It fails at easier ones with them.
            Some(_) => "which says nothing of what they do there",
        };
        Some(format!("{who} holds {place} {most}without its faults, {so}: {why}."))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// That no choice holds anything, with the range.
fn nowhere(capacity: &Capacity, slo: &str) -> String {
    let Some(first) = capacity.choices.first() else {
        return "Nothing was asked.".to_owned();
    };
    let shown = capacity
        .choices
        .iter()
        .all(|found| found.first_not_shown().is_none());
    let who = match capacity.choices.as_slice() {
        [only] if shown => format!("{} holds {slo} nowhere", name(capacity, only)),
        [only] => format!("{} is shown to hold {slo} nowhere", name(capacity, only)),
        _ if shown => format!("None holds {slo}"),
        _ => format!("None is shown to hold {slo}"),
    };
    if capacity.choices.iter().any(|found| found.tried.is_empty()) || !capacity.complete {
        return format!("{who} among the settings that were tried before the interruption.");
    }
    let easiest = position(capacity.find, first.easiest);
    let nearest = nearest(capacity).map_or_else(String::new, |text| format!(": {text}"));
    format!("{who}, not even {easiest}, the easiest setting{nearest}.")
}

/// Where a harder setting has served better than an easier one: which of them is told.
fn contradicted(capacity: &Capacity, found: &Reached) -> String {
    let who = name(capacity, found);
    let (holds, held, it) = match capacity.objectives.len() {
        1 => ("objective holds", "objective held", "it"),
        _ => ("objectives hold", "objectives held", "one"),
    };
    let position = |value| position(capacity.find, value);
    let held_there = |tried: &&Tried| matches!(tried.word, Outcome::SurelyHolds | Outcome::Holds);
    let most = found.tried.first().filter(|most| !held_there(most));
    match found.holds.zip(most) {
        Some((fewest, most)) => format!(
            "Under {who} the {holds} {}, but {it} fails {}: more are not always faster there, and of those between only some were tried.",
            position(fewest),
            position(most.at),
        ),
        None => format!(
            "Under {who} the {held} at a setting that is harder than one at which {it} failed: what is told is the first failure."
        ),
    }
}

/// Where a harder setting is surer than an easier one: which of them is told.
fn unevenly_sure(capacity: &Capacity, found: &Reached) -> String {
    format!(
        "Under {} a harder setting is surer than an easier one: what is told is the last before one that is not sure to hold, and the first that is sure to fail.",
        name(capacity, found)
    )
}

/// What was reached at the easiest setting where the only objective is missed by least.
fn nearest(capacity: &Capacity) -> Option<String> {
    let [objective] = capacity.objectives.as_slice() else {
        return None;
    };
    let first = |found: &Reached| Some((name(capacity, found), found.tried.first()?.clone()));
    let all = capacity.choices.iter().filter_map(first);
    let known = all.filter_map(|(who, tried)| {
        if tried.word == Outcome::NotShown {
            return None;
        }
        let ms = tried.readings[0].reached_ms()?;
        Some((ms, who, tried))
    });
    let (_, who, tried) = known.min_by(|one, other| one.0.total_cmp(&other.0))?;
    let reached = reached(objective, &tried.readings[0], &tried);
    Some(match capacity.choices.as_slice() {
        [_] => reached,
        _ => format!("with {who}, which is nearest, {reached}"),
    })
}

/// How far a choice holds, with how sure that is.
fn reach(capacity: &Capacity, found: &Reached) -> String {
    let find = capacity.find;
    let Some(holds) = found.holds else {
        return "nowhere".to_owned();
    };
    let none = match capacity.complete {
        _ if found.not_shown.is_some() => "no harder setting was shown to hold or fail",
        true => "no setting surely fails",
        false => "no setting that was tried surely fails",
    };
    let nowhere = match find == Find::Drives && found.contradicted {
        true => "surely with none that was tried",
        false => "surely nowhere",
    };
    let limits = match (found.surely_holds, found.surely_fails) {
        (Some(surely), Some(fails)) => format!(
            " (surely {} {surely}, surely not {} {fails})",
            to(find),
            from(find)
        ),
        (None, Some(fails)) => format!(" ({nowhere}, surely not {} {fails})", from(find)),
        (Some(surely), None) => format!(" (surely {} {surely}; {none})", to(find)),
        (None, None) => format!(" ({nowhere}; {none})"),
    };
    let bound = if found.to_the_end() {
        ", the hardest setting there is"
    } else {
        ""
    };
    format!("{} {}{bound}{limits}", to(find), find.words(holds))
}

fn short(find: Find, found: &Reached) -> String {
    match found.holds {
        Some(holds) => format!("{} {holds}", to(find)),
        None if found
            .tried
            .first()
            .is_some_and(|tried| tried.at.total_cmp(&found.easiest).is_eq()) =>
        {
            format!("not even {}", position(find, found.easiest))
        }
        None if found.tried.is_empty() => "not tried".to_owned(),
        None => "nowhere so far".to_owned(),
    }
}

/// The word in front of the hardest setting that holds.
pub(super) fn to(find: Find) -> &'static str {
    match find {
        Find::Drives => "with",
        Find::Speed | Find::Rate | Find::Depth | Find::Bsu => "up to",
    }
}

/// The word in front of the easiest setting that fails.
pub(super) fn from(find: Find) -> &'static str {
    match find {
        Find::Drives => "with",
        Find::Speed | Find::Rate | Find::Depth | Find::Bsu => "from",
    }
}

/// How much of the capacity the recorded load uses.
fn today(capacity: &Capacity, best: &Reached) -> Option<String> {
    let told = capacity.find == Find::Speed && best.not_shown.is_none();
    let holds = best.holds.filter(|_| told)?;
    let who = name(capacity, best);
    Some(if holds < 1.0 {
        format!(
            "The recorded load itself is {} what {who} takes.",
            times(1.0 / holds)
        )
    } else {
        let percent = 100.0 / holds;
        let decimals = match percent {
            _ if percent >= 9.95 => 0,
            _ if percent >= 0.95 => 1,
            _ => 2,
        };
        format!("The recorded load is {percent:.decimals$} % of what {who} takes.")
    })
}

/// Which differences to the best one are decided.
fn against(capacity: &Capacity, best: usize) -> Vec<String> {
    let best = name(capacity, &capacity.choices[best]);
    let kinds = [
        (Word::Same, true),
        (Word::Less, false),
        (Word::Less, true),
        (Word::Undecided, true),
        (Word::Undecided, false),
    ];
    let said = kinds.into_iter().filter_map(|(word, compared)| {
        let (who, place) = those(capacity, word, compared);
        let takes = takes(capacity.find, who.len());
        let (one, names) = (who.len() == 1, list(&who));
        let sentence = match (word, compared) {
            (Word::Same, _) => {
                let verb = if one { "does" } else { "do" };
                format!("{names} {verb} as well as {best}, to within the resolution.")
            }
            (Word::Less, false) => {
                let fails = if one { "it surely fails" } else { "they surely fail" };
                format!("{names} {takes} {best}, with 95 % confidence: {fails} where {best} surely holds.")
            }
            (Word::Less, true) => format!(
                "{names} {takes} {best}, with 95 % confidence: {place} the interval of the difference excludes 0."
            ),
            (Word::Undecided, true) => format!(
                "Whether {names} {takes} {best} is undecided: {place} the interval of the difference contains 0."
            ),
            (Word::Undecided, false) => format!(
                "Whether {names} {takes} {best} is undecided: there is no run of both at the same setting that tells."
            ),
        };
        (!who.is_empty()).then_some(sentence)
    });
    said.collect()
}

/// The choices of which this is known of the difference to the best one, by batches at a setting or
/// not, and that setting.
fn those(capacity: &Capacity, word: Word, compared: bool) -> (Vec<String>, String) {
    let is = |found: &&Reached| {
        found.against_best.is_some_and(|against| {
            against.word == word && (word == Word::Same || against.at.is_some() == compared)
        })
    };
    let found: Vec<&Reached> = capacity.choices.iter().filter(is).collect();
    let names = found.iter().map(|found| name(capacity, found));
    let place = found.first().and_then(|found| found.against_best?.at);
    let place = place.map_or_else(String::new, |at| position(capacity.find, at));
    (names.collect(), place)
}

fn takes(find: Find, how_many: usize) -> &'static str {
    match (find, how_many) {
        (Find::Drives, 1) => "needs more drives than",
        (Find::Drives, _) => "need more drives than",
        (_, 1) => "takes less than",
        (_, _) => "take less than",
    }
}

/// Why some choices that hold nothing were not tried any easier, and why some were not tried any
/// harder.
fn ends(capacity: &Capacity) -> Vec<String> {
    let fails = capacity
        .choices
        .iter()
        .filter(|found| found.holds.is_none());
    let begin = |found: &Reached| {
        let because = found.easiest_because.as_ref()?;
        let (who, easiest) = (name(capacity, found), capacity.find.words(found.easiest));
        Some(format!("{who} is tried with at most {easiest}: {because}."))
    };
    let begins = fails.filter_map(begin);
    let reached = capacity.choices.iter().filter(|found| found.to_the_end());
    let end = |found: &Reached| {
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
    begins.chain(reached.map(end)).collect()
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
    let runs = match runs {
        1 => "1 run".to_owned(),
        _ => format!("{runs} runs"),
    };
    let early = match early {
        0 => "none ended early".to_owned(),
        _ => format!("{early} ended early, as an objective was surely missed"),
    };
    format!(
        "The search took {runs} ({early}) with {simulated_requests} requests together: {} those of one comparison at one setting.",
        times(ratio)
    )
}

/// What the settings are, and how far apart.
pub(super) fn settings(capacity: &Capacity) -> String {
    let percent = capacity.resolution_percent;
    let apart = match capacity.find {
        Find::Speed | Find::Rate => format!(", {percent} % apart"),
        Find::Depth | Find::Bsu | Find::Drives => {
            format!(": whole numbers, neighbours or at most {percent} % apart")
        }
    };
    let what = match capacity.find {
        Find::Speed => "speeds (times the recorded one)",
        Find::Rate => "rates (requests/s)",
        Find::Depth => "depths (requests in flight)",
        Find::Bsu => "numbers of BSUs (50 requests/s each)",
        Find::Drives => "numbers of drives",
    };
    format!("settings are {what}{apart}")
}

/// What the axis is called, and in what it is told.
pub(super) fn axis(find: Find) -> (&'static str, &'static str) {
    match find {
        Find::Speed => ("speed", "times the recorded one"),
        Find::Rate => ("rate", "requests/s"),
        Find::Depth => ("depth", "requests in flight"),
        Find::Bsu => ("bsu", "50 requests/s each"),
        Find::Drives => ("drives", ""),
    }
}
