//! The verdict in sentences, made once here and shown by every form of the results.
//!
//! A choice *wins* only where the interval of its difference to every other excludes 0, and where
//! it fails no clearly greater share of its requests than any other that keeps up: requests that
//! failed are in no mean, so the others' mean would be held against that of those requests which it
//! served. To rank by failures first was refused: how many milliseconds a failure is worth nobody
//! can say but the reader, so both are told. Only a run that failed more than one in a hundred is
//! behind the others, or one that served wrong blocks where another one did not. A run without an
//! interval is told as such, and takes none from the others. Names are as short as they can be:
//! where one key is varied, its values alone.
//!
//! However many choices there are, the first sentence of a headline says who leads, by how much and
//! over whom. What is undecided, and what speaks against it, are sentences of their own behind it.

mod described;
mod failing;
mod undecided;

use failing::{no_word, others_do_not_serve, serves, those};

use super::{Judged, caveats, drives, ratio};
use crate::measure::Basis;
use crate::number::{APART, list, number, rate, some, times};
use crate::outcome::{Rank, Ranking, Role, Run, Standing, Traced, Varied, Word, is_name};

/// Loads that are listed one by one; of more only their number is told, and the range of what they
/// say.
const LISTED_MAX: usize = 6;

/// How many times faster a choice is stands beside each of so many loads; of more the range is told.
const RATIOS_MAX: usize = 3;

/// Where all means are within this ratio of the best, it is said how near they are.
const HARDLY: f64 = 1.05;

/// Who leads under a load.
enum Lead<'a> {
    /// One is faster than all others.
    Wins(&'a Rank),
    /// These did the same, and are faster than the rest.
    Equal(Vec<&'a Rank>),
    /// The first has the lowest mean, but cannot be told from the others here; nor, though others
    /// with lower means than theirs are slower, from these.
    Undecided(Vec<&'a Rank>, Vec<&'a Rank>),
    /// The one with the lowest mean has no interval, so none can be told from it.
    TooFew(&'a Rank),
    /// The one with the lowest mean failed a clearly greater share of its requests than the other,
    /// which keeps up too.
    Fails(&'a Rank, &'a Rank),
    /// No choice keeps up, and the queue grew under the first.
    Overloaded,
    /// The first failed many of its requests, as did all others that served no wrong block.
    AllFail,
}

/// The headline, and what else there is to say.
pub(super) fn sentences(
    judged: &[Judged<'_>],
    rankings: &[Ranking],
    varied: &[Varied],
    baseline: Option<&str>,
) -> (String, Vec<String>) {
    let runs: Vec<&Run> = judged.iter().map(|(run, _)| *run).collect();
    let runs = runs.as_slice();
    let names = Names { varied, judged };
    let one_load = runs.iter().all(|run| run.load == runs[0].load);
    let mut more = Vec::from_iter(drives::sentence(runs, varied));
    more.extend(flushes(runs));
    more.extend(traced(runs));
    match (runs, rankings) {
        ([], _) => ("No run was finished.".to_owned(), Vec::new()),
        ([run], _) => (single(run), more),
        (_, []) => (names.described(runs), more),
        (_, [ranking]) if one_load => with(names.under_one_load(ranking), more),
        _ => with(names.over_loads(rankings, baseline), more),
    }
}

/// A verdict with more details.
fn with(
    (headline, mut details): (String, Vec<String>),
    more: Vec<String>,
) -> (String, Vec<String>) {
    details.extend(more);
    (headline, details)
}

/// Where flushes take longer than what is compared, and far longer in one run than in another under
/// its load, that they do: no mean and no place is about them.
fn flushes(runs: &[&Run]) -> Option<String> {
    let means = runs
        .iter()
        .filter_map(|run| Some((run, run.flush_response_ms?.mean)));
    let by_mean = |one: &(_, f64), other: &(_, f64)| one.1.total_cmp(&other.1);
    let long = means
        .clone()
        .filter(|(run, mean)| *mean > run.response_ms.mean);
    let (longest, most) = long.max_by(by_mean)?;
    let of_load = means.filter(|(run, _)| run.load == longest.load);
    let (shortest, least) = of_load.min_by(by_mean)?;
    (most >= FLUSHES_APART * least).then(|| {
        format!(
            "Flushes are in none of these times: they took from {} ms on average ({}) to {} ms ({}).",
            number(least),
            shortest.label,
            number(most),
            longest.label
        )
    })
}

/// Means of flushes that are so many times apart are told.
const FLUSHES_APART: f64 = 2.0;

/// The response times that the trace tells, and how far the model is from them; of several runs,
/// the nearest and the farthest.
fn traced(runs: &[&Run]) -> Vec<String> {
    let told = runs.iter().filter_map(|run| run.traced.as_ref());
    let Some(Traced { response_ms, .. }) = told.clone().next() else {
        return Vec::new();
    };
    let tail = response_ms.p99.map_or(String::new(), |p99| {
        format!(" and {} ms at p99", number(p99))
    });
    let mut begin = format!(
        "As traced, these requests took {} ms on average{tail}",
        number(response_ms.mean)
    );
    let mut shares = told.filter_map(|traced| traced.demerit_share).peekable();
    if shares.peek().is_some() && shares.all(|share| share > UNLIKE) {
        begin += ", and the drive is nothing like the traced one";
    }
    let mut apart: Vec<(f64, String, &str)> = runs
        .iter()
        .filter_map(|run| apart(run, run.traced.as_ref()?))
        .collect();
    apart.sort_by(|one, other| one.0.total_cmp(&other.0));
    let how = "root mean square of the distances at equal ranks";
    vec![match &apart[..] {
        [] => format!("{begin}."),
        [(_, far, _)] => {
            format!("{begin}; the model's distribution is apart from that by {far} ({how}).")
        }
        [(_, near, _), .., (_, far, _)] if near == far => {
            format!("{begin}; the distribution of each run is apart from that by {far} ({how}).")
        }
        [(_, near, nearest), .., (_, far, farthest)] => format!(
            "{begin}; nearest to that is the distribution of {nearest}, apart by {near}; farthest is that of {farthest}, by {far} \
             ({how})."
        ),
    }]
}

/// Beyond this share of the traced mean a distance says only that the drive is another one.
const UNLIKE: f64 = 5.0;

/// How far a run is from what was traced: in milliseconds, in words, and which run.
fn apart<'a>(run: &'a Run, traced: &Traced) -> Option<(f64, String, &'a str)> {
    let ms = traced.demerit_ms?;
    let share = match traced.demerit_share {
        None => String::new(),
        Some(share) if share > UNLIKE => {
            format!(" (its mean is {} ms)", number(run.response_ms.mean))
        }
        Some(share) => format!(", {:.0} % of that mean", share * 100.0),
    };
    Some((ms, format!("{} ms{share}", number(ms)), &run.label))
}

fn single(run: &Run) -> String {
    if let Some(growth) = run.queue_growth_rps {
        let growth = number(growth);
        return format!(
            "The queue grows by {growth} requests a second: response times tell how long the load is."
        );
    }
    let mean = number(run.response_ms.mean);
    let sure = match run.response_ms.ci95 {
        Some(interval) => format!("95 % interval {}", between(interval)),
        None if run.pending > 0 => "interrupted, and part of a run has no interval".to_owned(),
        None => "too few requests, or too uneven ones, to say how sure that is".to_owned(),
    };
    let (many, unit) = rate(run.throughput_rps);
    let many = number(many);
    format!("{mean} ms on average ({sure}), {many} requests/{unit}.")
}

fn between([low, high]: [f64; 2]) -> String {
    format!("{} to {}", number(low), number(high))
}

fn word(rank: &Rank) -> Option<Word> {
    rank.against_best.as_ref().map(|difference| difference.word)
}

/// How choices and loads are called.
struct Names<'a> {
    varied: &'a [Varied],
    judged: &'a [Judged<'a>],
}

impl Names<'_> {
    fn run(&self, rank: &Rank) -> &Run {
        self.judged[rank.run].0
    }

    fn basis(&self, rank: &Rank) -> &Basis {
        self.judged[rank.run].1
    }

    /// The one key of this role with several values, if there is just one.
    fn only(&self, role: Role) -> Option<&Varied> {
        let mut of = self.varied.iter().filter(|varied| varied.role == role);
        of.next().filter(|_| of.next().is_none())
    }

    /// The settings without their key if it is the only one, and says of a choice what it is.
    fn short<'b>(&self, role: Role, settings: &'b str) -> &'b str {
        match (self.only(role), settings.split_once('=')) {
            (Some(_), Some((_, value))) if role == Role::Load || is_name(value) => value,
            _ => settings,
        }
    }

    fn choice(&self, rank: &Rank) -> String {
        self.short(Role::Choice, &rank.choice).to_owned()
    }

    fn lead<'b>(&self, ranking: &'b Ranking) -> Lead<'b> {
        let best = &ranking.ranks[0];
        match best.standing {
            Standing::KeepsUp => {}
            Standing::Overloaded => return Lead::Overloaded,
            Standing::Failed | Standing::WrongBlocks => return Lead::AllFail,
        }
        let mut leaders = those(ranking, Standing::KeepsUp);
        leaders.retain(|rank| word(rank) != Some(Word::TooFew));
        let slower = |rank: &&Rank| word(rank) == Some(Word::Slower);
        let first_slower = leaders.iter().position(slower);
        let mut open = leaders.split_off(first_slower.unwrap_or(leaders.len()));
        open.retain(|rank| !slower(rank));
        let others = &leaders[1..];
        let alone = others.is_empty() && open.is_empty();
        match self.fails_less(ranking).filter(|_| alone) {
            Some(other) => Lead::Fails(best, other),
            None if alone && self.tells_nothing(ranking) => Lead::TooFew(best),
            None if alone => Lead::Wins(best),
            None if open.is_empty()
                && others.iter().all(|rank| word(rank) == Some(Word::Equal)) =>
            {
                Lead::Equal(leaders)
            }
            None => Lead::Undecided(leaders, open),
        }
    }

    /// Whether intervals that are missing leave nothing to be said of the first: its own, or those
    /// of all others that keep up.
    fn tells_nothing(&self, ranking: &Ranking) -> bool {
        let keep_up = those(ranking, Standing::KeepsUp);
        let [best, others @ ..] = keep_up.as_slice() else {
            return false;
        };
        let open = |rank: &&Rank| word(rank) == Some(Word::TooFew);
        let any = others.iter().any(open);
        any && (others.iter().all(open) || self.has_no_interval(best))
    }

    fn has_no_interval(&self, rank: &Rank) -> bool {
        self.basis(rank).batches_ms.is_none()
    }

    /// Those that keep up and of which too few requests were answered to tell.
    fn without_interval<'b>(&self, ranking: &'b Ranking) -> Vec<&'b Rank> {
        let is = |rank: &&Rank| word(rank) == Some(Word::TooFew) && self.has_no_interval(rank);
        ranking.ranks.iter().filter(is).collect()
    }

    /// What is said of runs without an interval beside others that have one.
    fn untold(&self, ranking: &Ranking) -> String {
        match self.without_interval(ranking).as_slice() {
            [] => String::new(),
            some => format!(
                " Of {} there are too few answers to tell.",
                self.choices(some)
            ),
        }
    }

    fn choices(&self, ranks: &[&Rank]) -> String {
        let names = ranks.iter().map(|rank| self.choice(rank));
        some(&names.collect::<Vec<_>>())
    }

    fn under_one_load(&self, ranking: &Ranking) -> (String, Vec<String>) {
        let mean = |rank: &Rank| number(rank.response_ms_mean);
        let untold = self.untold(ranking);
        match self.lead(ranking) {
            Lead::Fails(best, other) => (self.fails(best, other), Vec::new()),
            Lead::Wins(best) => self.winner(ranking, best),
            Lead::Equal(leaders) => {
                let who = if leaders.len() == ranking.ranks.len() {
                    "All choices".to_owned()
                } else {
                    self.choices(&leaders)
                };
                let (mean, rest) = (mean(leaders[0]), self.rest(ranking, leaders.len()));
                let headline = format!("{who} do the same: {mean} ms on average{rest}.{untold}");
                (headline, self.ahead(ranking, leaders[0], "Each is"))
            }
            Lead::Undecided(leaders, open) => {
                let (lead, why) = (self.undecided(&leaders), self.uneven(&leaders));
                let (rest, open) = (
                    self.rest(ranking, leaders.len()),
                    self.open(leaders[0], &open),
                );
                let headline = format!("{lead}{rest}.{why}{open}{untold}");
                let who = format!("{} is", self.choice(leaders[0]));
                (headline, self.ahead(ranking, leaders[0], &who))
            }
            Lead::Overloaded => (self.overloaded(ranking), Vec::new()),
            Lead::AllFail => (self.all_fail(ranking), Vec::new()),
            Lead::TooFew(best) => (self.too_few(ranking, best), Vec::new()),
        }
    }

    /// What is left to say where intervals are missing: means, and which is the lowest if they
    /// differ.
    fn too_few(&self, ranking: &Ranking, best: &Rank) -> String {
        let keep_up = those(ranking, Standing::KeepsUp);
        let others = keep_up[1..].iter();
        let have = others.filter(|rank| !self.has_no_interval(rank)).count();
        let (rest, mean) = (
            self.rest(ranking, keep_up.len()),
            number(best.response_ms_mean),
        );
        let is_equal = |rank: &&Rank| {
            rank.response_ms_mean
                .total_cmp(&best.response_ms_mean)
                .is_eq()
        };
        let equal = keep_up.iter().all(is_equal);
        let who = match equal {
            true if keep_up.len() == ranking.ranks.len() => "all choices".to_owned(),
            true => self.choices(&keep_up),
            false => self.choice(best),
        };
        let has = match equal {
            true => format!("have the same mean, {mean} ms"),
            false => format!("has the lowest mean, {mean} ms"),
        };
        match (have, self.has_no_interval(best)) {
            (0, true) => format!("Too few requests to tell: {who} {has}{rest}."),
            (_, true) => format!("Of {who}, which {has}, there are too few answers to tell{rest}."),
            _ if equal && who == "all choices" => {
                let untold = self.untold(ranking);
                format!("All choices {has}{rest}.{untold}")
            }
            _ => format!("{who} {has}{rest}.{}", self.untold(ranking)),
        }
    }

    /// How much faster than the baseline one of several that lead is, as a detail; `who` is what
    /// the sentence begins with.
    fn ahead(&self, ranking: &Ranking, rank: &Rank, who: &str) -> Vec<String> {
        let lead = self.lead_over_baseline(ranking, rank);
        Vec::from_iter(lead.map(|lead| format!("{who} {lead}.")))
    }

    fn winner(&self, ranking: &Ranking, best: &Rank) -> (String, Vec<String>) {
        let (next, beside) = (next(ranking), beside(ranking));
        let is_next = next.run;
        let untold = self.untold(ranking);
        let lead = next.against_best.as_ref().and_then(|next| next.ci95_ms);
        let next = match (next.ratio_to_best, lead) {
            (Some(ratio), Some(lead)) => format!(
                "the next, {}, takes {} as long (by {} ms)",
                self.choice(next),
                times(ratio),
                between(lead),
            ),
            _ => others_do_not_serve(ranking),
        };
        let (who, mean) = (self.choice(best), number(best.response_ms_mean));
        let lead = self.lead_over_baseline(ranking, best);
        let (wins, but) = (wins(beside.ratio_to_best), self.but(best, beside));
        match lead {
            Some(lead) => {
                let detail = (ranking.baseline != Some(is_next)).then(|| capital(&next) + ".");
                let headline = format!("{who} {wins}: {mean} ms on average, {lead}.{but}{untold}");
                (headline, detail.into_iter().collect())
            }
            None => {
                let headline = format!("{who} {wins}: {mean} ms on average; {next}.{but}{untold}");
                (headline, Vec::new())
            }
        }
    }

    /// What limits a win over another, in sentences: its tail, and a queue that may grow.
    fn but(&self, best: &Rank, other: &Rank) -> String {
        // One that does not serve what is asked is compared with none.
        let other = if serves(other) { other } else { best };
        let (won, lost) = (self.run(best), self.run(other));
        let mut but = String::new();
        if caveats::longer_tail(won, lost) {
            let of = self.choice(other);
            but += &format!(
                " But its p99 is longer than that of {of}, {}.",
                caveats::tails(won, lost)
            );
        }
        let mut grows = vec![(lost, other), (won, best)];
        grows.dedup_by_key(|(_, rank)| rank.run);
        grows.retain(|(run, _)| caveats::may_grow(run));
        let told = |(run, rank): &(&Run, &Rank)| (self.choice(rank), caveats::offered(run));
        match grows.iter().map(told).collect::<Vec<_>>().as_slice() {
            [] => {}
            [(name, offered)] => {
                but += &format!(
                    " But under {name} the queue may grow ({offered}), and then the mean tells how long the load is."
                );
            }
            [(one, offered), .., (other, too)] => {
                but += &format!(
                    " But under {one} the queue may grow ({offered}), and under {other}, too ({too}), and then the means tell how long the load is."
                );
            }
        }
        but
    }

    /// How much faster than the baseline a run is, if it is.
    fn lead_over_baseline(&self, ranking: &Ranking, rank: &Rank) -> Option<String> {
        let difference = rank.against_baseline.as_ref()?;
        let [low, high] = difference
            .ci95_ms
            .filter(|_| difference.word == Word::Faster)?;
        let base = ranking
            .ranks
            .iter()
            .find(|other| Some(other.run) == ranking.baseline)?;
        let faster = times(ratio(base.response_ms_mean, rank.response_ms_mean));
        Some(format!(
            "{faster} as fast as {} (by {} ms, with 95 % confidence)",
            self.choice(base),
            between([-high, -low]),
        ))
    }

    fn over_loads(&self, rankings: &[Ranking], baseline: Option<&str>) -> (String, Vec<String>) {
        let mut said: Vec<(usize, String)> = Vec::new();
        let mut winners: Vec<((&str, &str), Vec<&Ranking>)> = Vec::new();
        // Whether they tell anything of the choices, and in which words.
        let mut others: Vec<((bool, String), Vec<&Ranking>)> = Vec::new();
        for ranking in rankings {
            let all = ranking.ranks.len();
            let (tells, open) = match self.lead(ranking) {
                Lead::Wins(best) => {
                    let choice = best.choice.as_str();
                    let verb = wins(beside(ranking).ratio_to_best);
                    push(&mut winners, (choice, verb), ranking);
                    continue;
                }
                Lead::Equal(leaders) if leaders.len() == all => {
                    (false, "all choices do the same".to_owned())
                }
                Lead::Equal(leaders) => (
                    true,
                    format!("{} do the same, and lead", self.choices(&leaders)),
                ),
                Lead::Undecided(leaders, open) => {
                    let tells = leaders.len() < all;
                    (tells, self.undecided_at(&leaders, &open))
                }
                Lead::TooFew(_) => (false, "there are too few requests to tell".to_owned()),
                Lead::Fails(best, other) => {
                    let (who, other) = (self.choice(best), self.choice(other));
                    let open = format!(
                        "none wins, as {who}, with the lowest mean, failed a greater share of its measured requests \
                         than {other}"
                    );
                    (true, open)
                }
                Lead::Overloaded | Lead::AllFail => (false, no_word(ranking)),
            };
            push(&mut others, (tells, open), ranking);
        }
        for ((choice, verb), won) in &winners {
            let ratios = self.ratios(choice, won, baseline);
            let but = self.but_at(choice, won, baseline);
            let (who, at) = (self.short(Role::Choice, choice), self.at(won, rankings));
            said.push((won.len(), format!("{who} {verb} at {at}{ratios}.{but}")));
        }
        // The one that wins most often comes first; a tie keeps the order of the grid.
        said.sort_by_key(|(won, _)| std::cmp::Reverse(*won));
        // Loads that tell nothing of the choices come last.
        others.sort_by_key(|((tells, _), _)| !tells);
        let open = others.iter().map(|((_, what), at)| {
            let ahead = self.ahead_of_baseline(at);
            (0, format!("At {} {what}{ahead}.", self.at(at, rankings)))
        });
        said.extend(open);
        let mut sentences = said.into_iter().map(|(_, sentence)| sentence);
        (sentences.next().unwrap_or_default(), sentences.collect())
    }

    /// How much faster than the baseline the first is where nothing has won, if it is under each of
    /// these loads.
    fn ahead_of_baseline(&self, rankings: &[&Ranking]) -> String {
        let ratio = |ranking: &&Ranking| {
            let first = &ranking.ranks[0];
            let faster = first.against_baseline.as_ref()?.word == Word::Faster;
            let base = ranking.ranks.iter();
            let mut base = base.filter(|rank| faster && Some(rank.run) == ranking.baseline);
            Some((self.choice(base.next()?), base_ratio(ranking)?))
        };
        let found: Option<Vec<(String, f64)>> = rankings.iter().map(ratio).collect();
        let Some(found) = found.filter(|found| !found.is_empty()) else {
            return String::new();
        };
        let ratios = || found.iter().map(|(_, ratio)| *ratio);
        let (least, most) = (
            ratios().fold(f64::INFINITY, f64::min),
            ratios().fold(0.0, f64::max),
        );
        let range = match (times(least), times(most)) {
            (least, most) if least == most => least,
            (least, most) => format!("{least} to {most}"),
        };
        format!(", the first of them {range} as fast as {}", found[0].0)
    }

    /// What limits wins under several loads, in sentences: where the tail is longer, and where a queue may grow.
    fn but_at(&self, winner: &str, won: &[&Ranking], baseline: Option<&str>) -> String {
        let at = |is: &dyn Fn(&Run, &Run) -> bool| {
            let pair = |ranking: &Ranking| {
                let (best, other) = (self.run(&ranking.ranks[0]), beside(ranking));
                is(best, if serves(other) { self.run(other) } else { best })
            };
            let loads = won.iter().filter(|ranking| pair(ranking));
            let loads = loads.map(|ranking| self.short(Role::Load, &ranking.load).to_owned());
            let mut loads: Vec<String> = loads.collect();
            if loads.len() > LISTED_MAX {
                loads = vec![format!("{} of these loads", loads.len())];
            }
            list(&loads)
        };
        let tails = at(&caveats::longer_tail);
        let grows = at(&|best, other| caveats::may_grow(best) || caveats::may_grow(other));
        let of = match baseline {
            Some(baseline) if baseline != winner => self.short(Role::Choice, baseline),
            _ => "the next",
        };
        let mut but = String::new();
        if !tails.is_empty() {
            but += &format!(" But its p99 is longer than that of {of} at {tails}.");
        }
        if !grows.is_empty() {
            but += &format!(
                " But at {grows} a queue may grow, and then the mean tells how long the load is."
            );
        }
        but
    }

    /// How much faster the winner is than the baseline, load by load; than the next where it is the
    /// baseline itself.
    fn ratios<'r>(&self, winner: &str, won: &[&'r Ranking], baseline: Option<&str>) -> String {
        let over_base = baseline.filter(|baseline| *baseline != winner);
        let ratio = |ranking: &&'r Ranking| {
            let other = beside(ranking);
            let told = over_base.is_none() || Some(other.run) == ranking.baseline;
            let ratio = other.ratio_to_best.filter(|_| told && baseline.is_some());
            Some((*ranking, ratio?))
        };
        let found: Vec<(&Ranking, f64)> = won.iter().filter_map(ratio).collect();
        let than = match over_base {
            Some(baseline) => self.short(Role::Choice, baseline).to_owned(),
            None => "the next".to_owned(),
        };
        if found.is_empty() {
            return String::new();
        }
        if found.len() > RATIOS_MAX {
            let least = found
                .iter()
                .map(|(_, ratio)| *ratio)
                .fold(f64::INFINITY, f64::min);
            let most = found.iter().map(|(_, ratio)| *ratio).fold(0.0, f64::max);
            return format!(": {} to {} as fast as {than}", times(least), times(most));
        }
        let at = |index: usize, (ranking, ratio): (&Ranking, f64)| {
            let as_fast = if index == 0 {
                format!(" as fast as {than}")
            } else {
                String::new()
            };
            format!(
                "{}{as_fast} at {}",
                times(ratio),
                self.short(Role::Load, &ranking.load)
            )
        };
        let words: Vec<String> = found
            .into_iter()
            .enumerate()
            .map(|(index, one)| at(index, one))
            .collect();
        format!(": {}", words.join(", "))
    }

    /// Some of all loads: `every depth above 1`, `depth 4 and 8`, `3 of 6 loads`.
    fn at(&self, some: &[&Ranking], all: &[Ranking]) -> String {
        let short = |ranking: &Ranking| self.short(Role::Load, &ranking.load).to_owned();
        let Some(key) = self.only(Role::Load).map(|varied| plain_key(&varied.key)) else {
            return match some.len() {
                many if many == all.len() => format!("each of the {many} loads"),
                many if many > LISTED_MAX => format!("{many} of {} loads", all.len()),
                _ => list(
                    &some
                        .iter()
                        .map(|ranking| short(ranking))
                        .collect::<Vec<_>>(),
                ),
            };
        };
        if some.len() == all.len() {
            return format!("every {key}");
        }
        let value = |ranking: &Ranking| short(ranking).parse::<f64>().ok();
        let inside: Option<Vec<f64>> = some.iter().map(|ranking| value(ranking)).collect();
        let outside = all
            .iter()
            .filter(|one| some.iter().all(|other| other.load != one.load));
        let outside: Option<Vec<f64>> = outside.map(value).collect();
        if let (Some(inside), Some(outside)) = (inside, outside)
            && inside.len() > 1
        {
            let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if least(&inside) > most(&outside) {
                return format!("every {key} above {}", most(&outside));
            }
            if most(&inside) < least(&outside) {
                return format!("every {key} below {}", least(&outside));
            }
        }
        if some.len() > LISTED_MAX {
            return format!("{} of {} values of {key}", some.len(), all.len());
        }
        let values: Vec<String> = some.iter().map(|ranking| short(ranking)).collect();
        format!("{key} {}", list(&values))
    }
}

/// How many times longer than the best the baseline takes.
fn base_ratio(ranking: &Ranking) -> Option<f64> {
    let mut ranks = ranking.ranks.iter();
    ranks
        .find(|rank| Some(rank.run) == ranking.baseline)?
        .ratio_to_best
}

/// The next behind the winner that can be told from it.
fn next(ranking: &Ranking) -> &Rank {
    let decided = |rank: &&Rank| word(rank) != Some(Word::TooFew);
    let next = ranking.ranks[1..].iter().find(decided);
    next.expect("a choice wins over one that has an interval")
}

/// Who is told beside the winner: the baseline where that surely is slower, else the next.
fn beside(ranking: &Ranking) -> &Rank {
    let is_base = |rank: &&Rank| Some(rank.run) == ranking.baseline;
    let base = ranking.ranks[1..].iter().find(is_base);
    let slower = base.filter(|rank| word(rank) == Some(Word::Slower));
    slower.unwrap_or_else(|| next(ranking))
}

/// What is said of a choice that surely is faster than the one told beside it, which takes so many
/// times as long. If that is hardly slower, it is no win that anybody would notice.
fn wins(other: Option<f64>) -> &'static str {
    match other {
        Some(ratio) if ratio > 1.0 && ratio < APART => "is ahead by less than 0.5 %",
        _ => "wins",
    }
}

/// By how little all are behind the best, if it is so little that nobody would notice.
fn hardly(ranking: &Ranking) -> String {
    let ratios = ranking.ranks.iter().map(|rank| rank.ratio_to_best);
    let most = ratios.fold(1.0, |most, ratio| {
        ratio.map_or(f64::INFINITY, |ratio| ratio.max(most))
    });
    if most < HARDLY {
        format!(", by at most {:.1} %", 100.0 * (most - 1.0))
    } else {
        String::new()
    }
}

/// Adds a ranking to those under the same heading.
fn push<'a, T: PartialEq>(into: &mut Vec<(T, Vec<&'a Ranking>)>, heading: T, ranking: &'a Ranking) {
    match into.iter_mut().find(|(other, _)| *other == heading) {
        Some((_, rankings)) => rankings.push(ranking),
        None => into.push((heading, vec![ranking])),
    }
}

/// `workload.depth` as `depth`.
fn plain_key(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, knob)| knob)
}

fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
