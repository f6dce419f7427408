//! What is said of choices that failed requests or served wrong blocks, and of those under which
//! the queue grows beside them.
//!
//! One that failed a clearly greater share than another one does not win; one that failed more than
//! one in a hundred of its measured requests, flushes among them, is compared with none.

use super::{Names, hardly, word};
use crate::number::number;
use crate::outcome::{Rank, Ranking, Standing, Word};
use crate::verdict::caveats;

/// Those that are ranked by this.
pub(super) fn those(ranking: &Ranking, standing: Standing) -> Vec<&Rank> {
    let is = |rank: &&Rank| rank.standing == standing;
    ranking.ranks.iter().filter(is).collect()
}

/// Whether a choice serves what is asked, be it too late.
pub(super) fn serves(rank: &Rank) -> bool {
    matches!(rank.standing, Standing::KeepsUp | Standing::Overloaded)
}

/// The words of those standings that some choice of a ranking has.
fn found<'a>(ranking: &Ranking, words: [(Standing, &'a str); 3]) -> Vec<&'a str> {
    let there = |of: &(Standing, &str)| !those(ranking, of.0).is_empty();
    let found = words.into_iter().filter(there);
    found.map(|(_, words)| words).collect()
}

/// What happens under choices that do not keep up.
const UNDER: [(Standing, &str); 3] = [
    (Standing::Overloaded, "the queue grows"),
    (
        Standing::Failed,
        "more than 1 % of the measured requests failed",
    ),
    (Standing::WrongBlocks, "wrong blocks were served"),
];

/// What choices do that do not keep up.
const DO: [(Standing, &str); 3] = [
    (Standing::Overloaded, "are slower"),
    (
        Standing::Failed,
        "failed more than 1 % of their measured requests",
    ),
    (Standing::WrongBlocks, "served wrong blocks"),
];

/// What one choice does.
fn does(rank: &Rank) -> &'static str {
    match rank.standing {
        Standing::KeepsUp | Standing::Overloaded => "is slower",
        Standing::Failed => "failed more than 1 % of its measured requests",
        Standing::WrongBlocks => DO[2].1,
    }
}

/// The others behind so many that lead: all, unless of some it is undecided whether they are
/// slower, or too few of their answers are there.
fn who(ranking: &Ranking, leaders: usize) -> &'static str {
    let open = [Word::Undecided, Word::Equal].map(Some);
    let mut behind = ranking.ranks.iter().skip(leaders);
    match behind.any(|rank| open.contains(&word(rank))) {
        true => "others",
        false => "all others",
    }
}

/// Why the first wins over others none of which keeps up.
pub(super) fn others_do_not_serve(ranking: &Ranking) -> String {
    let told = found(ranking, UNDER);
    let alone = if told == [UNDER[0].1] {
        "it alone keeps up, "
    } else {
        ""
    };
    format!("{alone}under the others {}", told.join(" or "))
}

/// Why there is no word of the choices under one of several loads where none keeps up.
pub(super) fn no_word(ranking: &Ranking) -> String {
    match found(ranking, UNDER).as_slice() {
        [queue] if *queue == UNDER[0].1 => format!("none keeps up: {queue} under all choices"),
        told => format!("none wins, as under each choice {}", told.join(" or ")),
    }
}

impl Names<'_> {
    /// What is said of those behind so many that lead, but for those of which it is undecided or
    /// without an interval. One alone is named.
    pub(super) fn rest(&self, ranking: &Ranking, leaders: usize) -> String {
        let slower = |rank: &Rank| word(rank) == Some(Word::Slower);
        let is_told = |rank: &&Rank| slower(rank) || rank.standing != Standing::KeepsUp;
        let behind = ranking.ranks.iter().skip(leaders);
        let behind: Vec<&Rank> = behind.filter(is_told).collect();
        let mut told = found(ranking, DO);
        if behind.iter().any(|rank| slower(rank)) && told.first() != Some(&DO[0].1) {
            told.insert(0, DO[0].1);
        }
        let hardly = if told == [DO[0].1] {
            hardly(ranking)
        } else {
            String::new()
        };
        match behind.as_slice() {
            [] => String::new(),
            [one] => format!("; {} {}{hardly}", self.choice(one), does(one)),
            _ => format!("; {} {}{hardly}", who(ranking, leaders), told.join(", or ")),
        }
    }

    /// How many of its measured requests a run failed, in percent.
    fn failed_percent(&self, rank: &Rank) -> String {
        number(100.0 * self.basis(rank).failed_share())
    }

    /// Of those that keep up and failed a clearly smaller share of their requests than the first,
    /// the one that failed least.
    pub(super) fn fails_less<'b>(&self, ranking: &'b Ranking) -> Option<&'b Rank> {
        let best = self.basis(&ranking.ranks[0]);
        let mut less = those(ranking, Standing::KeepsUp);
        less.retain(|rank| caveats::fails_clearly_more(best, self.basis(rank)));
        let less = less.into_iter();
        less.min_by(|one, other| self.basis(one).by_failures(self.basis(other)))
    }

    /// That the first of a load does not win, since it failed more requests than another one.
    pub(super) fn fails(&self, best: &Rank, other: &Rank) -> String {
        format!(
            "No choice wins: {} failed {} % of its measured requests, {} {} %; of those that were answered it has the lowest mean, {} \
             ms against {}.",
            self.choice(best),
            self.failed_percent(best),
            self.choice(other),
            self.failed_percent(other),
            number(best.response_ms_mean),
            number(other.response_ms_mean),
        )
    }

    /// That all which served no wrong block failed many of their requests: the fewest and the most.
    pub(super) fn all_fail(&self, ranking: &Ranking) -> String {
        let failed = those(ranking, Standing::Failed);
        let (first, last) = (failed[0], failed[failed.len() - 1]);
        let all = failed.len() == ranking.ranks.len();
        let who = match failed.as_slice() {
            _ if all => "each".to_owned(),
            [only] => self.choice(only),
            _ => "each of the others".to_owned(),
        };
        let wrong = match those(ranking, Standing::WrongBlocks).as_slice() {
            [] => String::new(),
            wrong => format!("{} served wrong blocks, and ", self.choices(wrong)),
        };
        let share = match [first, last].map(|rank| self.failed_percent(rank)) {
            [least, most] if least == most => {
                format!("{least} % of its measured requests")
            }
            [least, most] => format!(
                "more than 1 % of its measured requests, from {least} % ({}) to {most} % ({})",
                self.choice(first),
                self.choice(last),
            ),
        };
        format!(
            "No choice wins: {wrong}{who} failed {share}; those that were answered are not compared."
        )
    }

    /// By how much the queue grew under the first and the last of those that answered what was
    /// asked.
    pub(super) fn overloaded(&self, ranking: &Ranking) -> String {
        let growth = |rank: &Rank| number(self.run(rank).queue_growth_rps.unwrap_or(0.0));
        let grew = those(ranking, Standing::Overloaded);
        let (first, last) = (grew[0], grew[grew.len() - 1]);
        let and = match grew.len() {
            1 => String::new(),
            _ => format!(" and by {} under {}", growth(last), self.choice(last)),
        };
        let others = found(ranking, DO)[1..].join(", or ");
        // Whether those that failed would keep up if they answered all, their queue does not tell.
        let (none, others) = match others.as_str() {
            "" => ("No choice keeps up", others),
            _ => ("No choice wins", format!("; all others {others}")),
        };
        format!(
            "{none}: the queue grows by {} requests a second under {}{and}{others}; response times tell how long the load is.",
            growth(first),
            self.choice(first),
        )
    }
}
