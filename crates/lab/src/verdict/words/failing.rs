//! What is said of choices that failed requests, and of those under which the queue grows beside them.
//!
//! One that failed a clearly greater share than another one does not win; one that failed more than one in a hundred of its measured
//! reads and writes has no 99th percentile and is compared with none.

use super::{Names, word};
use crate::number::number;
use crate::outcome::{Rank, Ranking, Word};
use crate::verdict::caveats;

impl Names<'_> {
    /// How many of its reads and writes a run failed, in percent.
    pub(super) fn failed_percent(&self, rank: &Rank) -> String {
        number(100.0 * self.basis(rank).failed_share())
    }

    /// Of those that keep up and failed a clearly smaller share of their requests than the first, the one that failed least.
    pub(super) fn fails_less<'b>(&self, ranking: &'b Ranking) -> Option<&'b Rank> {
        let best = self.basis(&ranking.ranks[0]);
        let others = ranking.ranks[1..].iter();
        let keep_up = others.filter(|rank| word(rank) != Some(Word::Overloaded));
        let less = keep_up.filter(|rank| caveats::fails_clearly_more(best, self.basis(rank)));
        less.min_by(|one, other| self.basis(one).by_failures(self.basis(other)))
    }

    /// That the first of a load does not win, since it failed more requests than another one.
    pub(super) fn fails(&self, best: &Rank, other: &Rank) -> String {
        format!(
            "None wins: {} failed {} % of its requests, {} {} %; of those that were answered it has the lowest mean, {} ms against {}.",
            self.choice(best),
            self.failed_percent(best),
            self.choice(other),
            self.failed_percent(other),
            number(best.response_ms_mean),
            number(other.response_ms_mean),
        )
    }

    /// Those that failed many of their requests, where the first did not.
    pub(super) fn failed<'b>(&self, ranking: &'b Ranking) -> Vec<&'b Rank> {
        let is = |rank: &&Rank| word(rank) == Some(Word::Failed);
        ranking.ranks.iter().filter(is).collect()
    }

    /// That all failed many of their requests: the fewest and the most.
    pub(super) fn all_fail(&self, first: &Rank, last: &Rank) -> String {
        format!(
            "None wins: each failed more than 1 % of its requests, from {} % ({}) to {} % ({}); those that were answered are not \
             compared.",
            self.failed_percent(first),
            self.choice(first),
            self.failed_percent(last),
            self.choice(last),
        )
    }

    /// By how much the queue grew under the first and the last of those that did not fail many of their requests.
    pub(super) fn overloaded(&self, ranking: &Ranking) -> String {
        let growth = |rank: &Rank| number(self.run(rank).queue_growth_rps.unwrap_or(0.0));
        let answered = ranking.ranks.len() - self.failed(ranking).len();
        let (first, last) = (&ranking.ranks[0], &ranking.ranks[answered - 1]);
        let and = match answered {
            1 => String::new(),
            _ => format!(" and by {} under {}", growth(last), self.choice(last)),
        };
        let failed = if answered < ranking.ranks.len() {
            "; all others failed more than 1 % of their requests"
        } else {
            ""
        };
        format!(
            "None keeps up: the queue grows by {} requests a second under {}{and}{failed}; response times tell how long the load \
             is.",
            growth(first),
            self.choice(first),
        )
    }

    /// Why there is no word of the choices under one of several loads where none keeps up, or each failed many of its requests.
    pub(super) fn no_word(&self, ranking: &Ranking) -> String {
        let why = if self.basis(&ranking.ranks[0]).fails() {
            "none wins, as each choice failed more than 1 % of its requests"
        } else if self.failed(ranking).is_empty() {
            "none keeps up: the queue grows under all choices"
        } else {
            "none keeps up: the queue grows, or more than 1 % of requests failed"
        };
        why.to_owned()
    }
}
