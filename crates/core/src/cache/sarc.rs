//! SARC: two lists, one of what sequences bring and one of the rest, and a boundary between them
//! that makes one more page worth the same on either side.
//!
//! Sequences and everything else compete for one cache. What a page is worth to the rest is
//! measured: hits in the last pages of its list, its *bottom*, are what would be lost without them.
//! What a page is worth to sequences is modelled, since a list of them has no such hits: the longer
//! the list, the fewer of the data that were brought beforehand leave unread, and the sum over all
//! sequences falls by about twice their rate of misses over the length of the list. Counted between
//! two hits in the bottom of the rest, the two compare as
//!
//! ```text
//!   ratio = 2 * misses of sequences * pages of the bottom / pages of sequences
//! ```
//!
//! with 1. Above 1 sequences deserve more room, below less. How far it is from 1 (by one at most)
//! is how fast their *goal* moves: by half of that with each line that leaves. If their list is
//! longer than the goal a line of theirs leaves, else one of the rest; if either is shorter than a
//! bottom, the older line of both. A cache that almost never has hits in the bottom of the rest
//! learns from those in the bottom of sequences: with a very large ratio the goal rises.
//!
//! Whether a line is in the bottom of its list is told by time stamps (`lists.rs`). Who prefetches
//! says what belongs to a sequence; without a prefetcher this is LRU.
//!
//! *Other boundaries*, to hold it against. With `boundary=age` the older line of both lists leaves,
//! as with LRU. With `boundary=share` sequences have a share of the cache that does not move.
//!
//! *Settings.* The bottom and the large ratio are believed to be those of the paper, whose text
//! does not have them; nor does it say whether the goal moves by half a page or half a line. The
//! goal stays within the cache without a bottom; one that has fallen to 0 begins anew where
//! sequences are, as one that was never set. Fractions are counted in integers. O(1).

use super::in_memory::{COMMON, SETTINGS};
use super::lists::{self, BOTTOM, Lists, REST, SEQUENCES};
use crate::contract::{Cache, Entering, Pattern};
use crate::ids::Line;
use crate::measure::{Measure, Tell};
use crate::pages::CACHE_COUNTS;
use crate::registry::{CacheEnv, ConfigError, Knob, Knobs, Need, Spec, joined};

/// Fractions are counted in units of one over this.
const ONE: i64 = 1 << 20;

/// What says which list a line leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Boundary {
    /// The goal, which moves.
    Worth,
    /// The goal, which stays.
    Share,
    /// The age of the oldest lines.
    Age,
}

struct Sarc {
    lists: Lists,
    boundary: Boundary,
    /// Misses of sequences since the last hit in the bottom of the rest.
    misses: u64,
    /// Which way the goal moves, and how fast: from -1 to 1, in fractions.
    lean: i64,
    /// Pages that sequences are to have, in fractions.
    goal: i64,
    /// The largest goal, in fractions.
    goal_most: i64,
    /// The ratio above which hits in the bottom of sequences count, in fractions.
    large: i64,
    /// By how many halves the goal moves.
    step: i64,
}

impl Sarc {
    /// In fractions.
    fn ratio(&self) -> i64 {
        let worth = 2 * u128::from(self.misses) * u128::from(self.lists.bottom()) * ONE as u128;
        let ratio = worth.checked_div(self.lists.pages(SEQUENCES).into());
        i64::try_from(ratio.unwrap_or(0)).unwrap_or(i64::MAX)
    }

    /// The line that is to leave.
    fn victim(&mut self) -> Option<Line> {
        let [rest, sequences] = [REST, SEQUENCES].map(|list| self.lists.oldest(list));
        let (Some(rest), Some(sequences)) = (rest, sequences) else {
            return rest.or(sequences).map(|(line, _)| line);
        };
        let bottom = self.lists.bottom();
        let is_short = [REST, SEQUENCES].map(|list| self.lists.pages(list) < bottom);
        let of_sequences = match self.boundary {
            Boundary::Age => sequences.1 < rest.1,
            Boundary::Worth if is_short != [false; 2] => sequences.1 < rest.1,
            _ => self.lists.pages(SEQUENCES) as i64 * ONE > self.goal,
        };
        Some(if of_sequences { sequences } else { rest }.0)
    }
}

impl Cache for Sarc {
    fn reserve(&mut self, lines: u32) {
        self.lists.reserve(lines);
    }

    #[inline]
    fn fetch(&self, line: Line) {
        self.lists.fetch(line);
    }

    fn holds(&self, line: Line) -> bool {
        self.lists.list(line).is_some()
    }

    fn len(&self) -> usize {
        self.lists.len()
    }

    fn hit(&mut self, line: Line) {
        let (list, is_bottom) = self.lists.hit(line);
        if is_bottom {
            let ratio = self.ratio();
            if list == REST {
                self.lean = (ratio - ONE).clamp(-ONE, ONE);
                self.misses = 0;
            } else if ratio > self.large {
                self.lean = ONE;
            }
        }
        self.lists.promote(list, line);
    }

    fn miss(&mut self, line: Line) {
        self.miss_in(line, Pattern::Random);
    }

    fn miss_in(&mut self, _line: Line, pattern: Pattern) {
        self.misses += u64::from(pattern == Pattern::Sequential);
        self.lists.miss(pattern);
    }

    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        let line = self.victim()?;
        self.lists.leave(line);
        if self.boundary == Boundary::Worth {
            self.goal = match self.goal {
                0 => self.lists.pages(SEQUENCES) as i64 * ONE,
                goal => goal + self.lean * self.step / 2,
            };
            self.goal = self.goal.clamp(0, self.goal_most);
        }
        Some(line)
    }

    fn enter(&mut self, line: Line) {
        self.enter_as(line, Entering::BY_ITSELF);
    }

    fn enter_as(&mut self, line: Line, entering: Entering) {
        self.lists.enter(line, entering.pattern, entering.pages);
    }

    fn grow(&mut self, line: Line, pages: u32) {
        self.lists.grow(line, pages);
    }

    fn shrink(&mut self, line: Line, pages: u32) {
        self.lists.shrink(line, pages);
    }

    fn expect(&mut self, line: Line) {
        self.lists.promote(SEQUENCES, line);
    }

    fn counts_pages(&self) -> bool {
        true
    }

    fn is_recency(&self) -> bool {
        true
    }

    fn tell(&self, tell: Tell<'_>) {
        self.lists.tell(tell);
        tell(&GOAL, (self.goal / ONE) as u64);
    }

    fn audit(&self) {
        self.lists.audit();
    }
}

const GOAL: Measure = Measure::count(
    "goal_pages",
    "pages",
    "pages that sequences were to have at the end",
)
.of_run();

const OWN_MEASURES: [Measure; lists::MEASURES.len() + 1] = joined(lists::MEASURES, [GOAL]);

static MEASURES: [Measure; OWN_MEASURES.len() + CACHE_COUNTS.len()] =
    joined(OWN_MEASURES, CACHE_COUNTS);

const OWN_KNOBS: [Knob; 5] = [
    Knob::choice(
        "boundary",
        "worth",
        &["worth", "share", "age"],
        "which list a line leaves: as a page is worth more on the one side or the other; as sequences have more than a share of the cache; that of the older line",
    )
    .needing(Need::Sequences),
    SHARE,
    BOTTOM,
    Knob::number(
        "large_ratio",
        20.0,
        1.0..=1e6,
        "the ratio above which hits in the bottom of sequences let their goal rise",
    )
    .needing(Need::Sequences),
    Knob::choice(
        "step",
        "page",
        &["page", "line"],
        "of what the goal moves by half at most with each line that leaves",
    )
    .needing(Need::Sequences),
];

const SHARE: Knob = Knob::number(
    "share_percent",
    10.0,
    0.0..=100.0,
    "what sequences have of the cache where boundary = share",
)
.needing(Need::Sequences);

static KNOBS: [Knob; OWN_KNOBS.len() + SETTINGS] = joined(OWN_KNOBS, COMMON);

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "sarc",
    aliases: &[],
    summary: "two lists, of sequences and of the rest, with a boundary that makes a page worth the same on either side",
    source: "Gill and Modha, SARC: Sequential Prefetching in Adaptive Replacement Cache, USENIX Annual Technical Conference 2005",
    knobs: &KNOBS,
    measures: &MEASURES,
    asks: &["prefetch"],
    prepared: false,
    promises: "",
    build: |knobs, env| build(knobs, env).map(|made| Box::new(made) as Box<dyn Cache>),
};

fn build(knobs: &Knobs, env: &CacheEnv) -> Result<Sarc, ConfigError> {
    let boundary = match knobs.choice("boundary") {
        "share" => Boundary::Share,
        "age" => Boundary::Age,
        _ => Boundary::Worth,
    };
    let idle = |knob: &&Knob| match knob.name {
        "share_percent" => boundary != Boundary::Share,
        "large_ratio" | "step" => boundary != Boundary::Worth,
        _ => false,
    };
    if let Some((knob, value)) = knobs.first_given(OWN_KNOBS.iter().filter(idle)) {
        let choice = knobs.choice("boundary");
        let allowed = format!("left out where boundary = {choice}: nothing goes by it");
        let key = format!("sarc.{}", knob.name);
        return Err(ConfigError::value(&key, &value.to_string(), &allowed));
    }
    let lists = Lists::of(knobs, env);
    let pages = u64::from(env.capacity) * u64::from(env.line_pages);
    let share = pages as f64 * knobs.number("share_percent") / 100.0;
    Ok(Sarc {
        goal: match boundary {
            Boundary::Share => share as i64 * ONE,
            _ => 0,
        },
        goal_most: (pages - lists.bottom()) as i64 * ONE,
        lists,
        boundary,
        misses: 0,
        lean: 0,
        large: (knobs.number("large_ratio") * ONE as f64) as i64,
        step: match knobs.choice("step") {
            "line" => env.line_pages.into(),
            _ => 1,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::KnobValue;

    /// Pages of a line.
    const PAGES: u32 = 8;

    fn entering(pattern: Pattern, pages: u32) -> Entering {
        Entering {
            pattern,
            pages,
            ..Entering::BY_ITSELF
        }
    }

    /// Sequences have 46 lines, of 1,000 in all.
    fn with_sequences() -> Sarc {
        let mut sarc = Sarc {
            lists: Lists::new(160),
            boundary: Boundary::Worth,
            misses: 0,
            lean: 0,
            goal: 0,
            goal_most: 7_840 * ONE,
            large: 20 * ONE,
            step: 1,
        };
        sarc.reserve(100);
        for line in 0..46 {
            sarc.enter_as(Line(line), entering(Pattern::Sequential, PAGES));
        }
        sarc
    }

    #[test]
    fn hits_in_the_bottom_of_sequences_count_where_the_ratio_is_very_large() {
        for (misses, ratio, lean) in [(20, 17.39, 0), (40, 34.78, ONE)] {
            let mut sarc = with_sequences();
            sarc.misses = misses;
            assert!((sarc.ratio() as f64 / ONE as f64 - ratio).abs() < 0.005);
            sarc.hit(Line(0));
            assert_eq!((sarc.lean, sarc.misses), (lean, misses));
        }
    }

    #[test]
    fn a_hit_in_the_bottom_of_the_rest_says_which_way_the_goal_moves() {
        for (misses, lean) in [
            (0, -ONE),
            (1, ONE * 320 / 368 - ONE),
            (2, ONE * 640 / 368 - ONE),
            (9, ONE),
        ] {
            let mut sarc = with_sequences();
            for line in 50..90 {
                sarc.enter_as(Line(line), entering(Pattern::Random, PAGES));
            }
            sarc.misses = misses;
            // The newest is not in the bottom: 160 of 320 pages.
            sarc.hit(Line(89));
            assert_eq!((sarc.lean, sarc.misses), (0, misses));
            sarc.hit(Line(55));
            assert_eq!((sarc.lean, sarc.misses), (lean, 0));
            // The goal begins where sequences are, and moves by half of that with each line that
            // leaves.
            assert_eq!(sarc.leave(Line(99)), Some(Line(0)));
            assert_eq!(sarc.goal, 360 * ONE);
            sarc.leave(Line(99));
            assert_eq!(sarc.goal, 360 * ONE + lean / 2);
        }
    }

    #[test]
    fn the_goal_stays_within_the_cache() {
        let mut sarc = with_sequences();
        for (goal, lean, then) in [
            (7_840 * ONE - 1, ONE, 7_840 * ONE),
            (1, -ONE, 0),
            (5 * ONE, -ONE, 5 * ONE - ONE / 2),
        ] {
            (sarc.goal, sarc.lean) = (goal, lean);
            sarc.leave(Line(99));
            assert_eq!(sarc.goal, then);
        }
    }

    #[test]
    fn the_goal_may_move_by_half_a_line() {
        let mut sarc = with_sequences();
        (sarc.step, sarc.goal, sarc.lean) = (PAGES.into(), 100 * ONE, -ONE);
        sarc.leave(Line(99));
        assert_eq!(sarc.goal, 96 * ONE);
    }

    #[test]
    fn if_a_list_is_shorter_than_a_bottom_the_older_line_leaves() {
        let mut sarc = with_sequences();
        sarc.enter_as(Line(60), entering(Pattern::Random, PAGES));
        sarc.hit(Line(0));
        for line in (1..46).chain([60, 0]) {
            // First those of sequences, as long as these are older.
            assert_eq!(sarc.leave(Line(99)), Some(Line(line)));
        }
        assert_eq!(sarc.leave(Line(99)), None);
        sarc.audit();
    }

    /// The stamps tell about the same as a bottom that is counted.
    #[test]
    fn stamps_find_the_bottom() {
        let mut cache = set(1_000, &[("bottom_percent", "20")]).unwrap();
        cache.reserve(3_000);
        let mut order: Vec<Line> = Vec::new();
        let mut rng = crate::rng::Rng::stream(3, "bottom");
        let (mut agreed, mut asked) = (0, 0);
        let hits = |cache: &dyn Cache| {
            let mut hits = 0;
            cache.tell(&mut |measure, number| {
                if measure.name == "rest_bottom_hits" {
                    hits = number;
                }
            });
            hits
        };
        for _ in 0..40_000 {
            let (one, other) = (rng.below(2_000), rng.below(2_000));
            let line = Line(one.min(other) as u32);
            if cache.holds(line) {
                let place = order.iter().position(|one| *one == line).unwrap();
                let before = hits(&cache);
                cache.hit(line);
                let told = hits(&cache) > before;
                agreed += u64::from(told == (place < 200));
                asked += 1;
                order.remove(place);
            } else {
                if order.len() == 1_000 {
                    assert_eq!(cache.leave(line), Some(order.remove(0)));
                }
                cache.enter(line);
            }
            order.push(line);
        }
        assert!(
            asked > 10_000 && agreed * 10 > asked * 9,
            "{agreed} of {asked}"
        );
    }

    fn set(capacity: u32, knobs: &[(&str, &str)]) -> Result<Sarc, ConfigError> {
        let knobs = knobs.iter().copied();
        let knobs: Vec<_> = knobs
            .map(|(key, value)| (key.to_owned(), KnobValue::parse(value)))
            .collect();
        build(
            &Knobs::check("sarc", &KNOBS, &knobs)?,
            &CacheEnv::of_pages(capacity),
        )
    }

    /// One of 300 lines is asked for; what leaves for it, if one does.
    fn ask(cache: &mut dyn Cache, line: Line, pattern: Pattern) -> Option<Line> {
        if cache.holds(line) {
            cache.hit(line);
            return None;
        }
        cache.miss_in(line, pattern);
        let left = (cache.len() == 100).then(|| cache.leave(line).unwrap());
        cache.enter_as(line, entering(pattern, 1));
        left
    }

    fn asked(rng: &mut crate::rng::Rng) -> (Line, Pattern) {
        let (one, other) = (rng.below(300), rng.below(300));
        let line = Line(one.min(other) as u32);
        match rng.chance(0.4) {
            true => (line, Pattern::Sequential),
            false => (line, Pattern::Random),
        }
    }

    #[test]
    fn where_the_older_line_leaves_it_is_lru() {
        let mut cache = set(100, &[("boundary", "age")]).unwrap();
        let lru = &super::super::lru::SPEC;
        let mut lru =
            (lru.build)(&lru.card().check(&[]).unwrap(), &CacheEnv::of_pages(100)).unwrap();
        cache.reserve(300);
        lru.reserve(300);
        let mut rng = crate::rng::Rng::stream(5, "age");
        for _ in 0..20_000 {
            let (line, pattern) = asked(&mut rng);
            let left = ask(&mut cache, line, pattern);
            assert_eq!(left, ask(&mut *lru, line, pattern));
        }
    }

    #[test]
    fn a_share_does_not_move() {
        let mut cache = set(100, &[("boundary", "share"), ("share_percent", "30")]).unwrap();
        cache.reserve(300);
        let mut rng = crate::rng::Rng::stream(6, "share");
        for step in 0..20_000 {
            let (line, pattern) = asked(&mut rng);
            ask(&mut cache, line, pattern);
            let mut pages = 0;
            cache.tell(&mut |measure, number| {
                if measure.name == "sequence_pages" {
                    pages = number;
                }
            });
            assert!(step < 2_000 || (29..=31).contains(&pages), "{pages}");
        }
    }

    #[test]
    fn settings_of_another_boundary_have_no_effect() {
        for (knobs, named) in [
            ([("boundary", "age"), ("step", "line")], "sarc.step"),
            (
                [("boundary", "share"), ("large_ratio", "5")],
                "sarc.large_ratio",
            ),
            (
                [("boundary", "worth"), ("share_percent", "5")],
                "sarc.share_percent",
            ),
        ] {
            let error = set(100, &knobs).err().unwrap().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
