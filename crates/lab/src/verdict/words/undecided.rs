//! What is said where the first has the lowest mean and it is undecided whether others are slower.
//!
//! Those whose means are below that of the first which surely is slower lead with it. Others stand
//! behind such: their mean is longer, and yet it may be by chance, as one request that took very
//! long can make it. They lead nothing, and the headline says why, in a sentence of its own.

use super::{Names, capital};
use crate::number::rising;
use crate::outcome::Rank;
use crate::verdict::caveats;

impl Names<'_> {
    /// What is said of those that cannot be told apart, with the lowest means; of one alone, that
    /// it has the lowest.
    pub(super) fn undecided(&self, leaders: &[&Rank]) -> String {
        let (who, last) = (self.choices(leaders), leaders.len() - 1);
        let means = means(leaders);
        if last == 0 {
            return format!("{who} has the lowest mean, {means} ms");
        }
        format!("Undecided between {who}: {means} ms on average")
    }

    /// Why those are not told apart though their means are far from each other.
    pub(super) fn uneven(&self, leaders: &[&Rank]) -> String {
        let last = leaders.len() - 1;
        let why = caveats::uneven(self.judged[leaders[0].run], self.judged[leaders[last].run]);
        why.map_or(String::new(), |why| format!(" {}.", capital(&why)))
    }

    /// Of whom it is undecided whether they are slower than the first, behind others that are: a
    /// few requests may make such a mean.
    pub(super) fn open(&self, first: &Rank, open: &[&Rank]) -> String {
        let Some(last) = open.last() else {
            return String::new();
        };
        let means = means(open);
        let why = caveats::uneven(self.judged[first.run], self.judged[last.run]);
        let why = why.map_or(String::new(), |why| format!(", as {why}"));
        let are = if open.len() == 1 { "is" } else { "are" };
        format!(
            " Whether {}, with {means} ms, {are} slower is undecided{why}.",
            self.choices(open)
        )
    }

    /// The same as [`Self::undecided`] and [`Self::open`] under one of several loads.
    pub(super) fn undecided_at(&self, leaders: &[&Rank], open: &[&Rank]) -> String {
        let who = self.choices(leaders);
        let lead = match leaders {
            [_] => format!("{who} has the lowest mean"),
            _ => format!("it is undecided between {who}"),
        };
        let are = if open.len() == 1 { "is" } else { "are" };
        match self.choices(open).as_str() {
            "" => lead,
            open => format!("{lead}, and whether {open} {are} slower is undecided"),
        }
    }
}

/// Their means, which rise.
fn means(ranks: &[&Rank]) -> String {
    let means = ranks.iter().map(|rank| rank.response_ms_mean);
    rising(&means.collect::<Vec<_>>())
}
