//! Where an objective stops holding, along one axis, with as few runs as will do.
//!
//! Settings are whole numbers, and a greater one is harder to serve. Each that was tried says
//! whether the objective holds by its estimate, by the unfavourable end of its confidence interval
//! (*surely*), and by the favourable end (*possibly*). Each of the three has a boundary. The search
//! looks for that of the estimate first: from where it starts it walks with doubling steps until
//! the boundary lies between two settings, then cuts the distance in three, as two runs go at a
//! time. Only then does it look for the other two, which lie on either side of it;
//! the distance between those is how uncertain the answer is.
//!
//! The search supposes that what is harder never serves better. Where the settings that were tried
//! contradict this, the boundary is the first that failed, and [`Boundaries::contradicted`] says
//! so; what is sure is uneven more often ([`Boundaries::unevenly_sure`]). Which settings are tried
//! hangs on nothing but what was learned from these, so a choice reaches as far in any company.
//!
//! Of drives in an array it cannot be supposed that what is harder never serves better, as writes
//! that meet on a wide stripe wait for each other. So where the most drives fail, a few settings between are tried ([`Search::may_turn`]);
//! if one holds, the boundary is looked for behind that. O(log(range)) runs.

use std::collections::BTreeMap;

use super::answer::Answer;

/// Parts of all settings of which one is tried at least, where the easiest may serve worse.
const PARTS: i64 = 8;

/// Which of the three.
type Sense = fn(&Answer) -> bool;

const SURELY: Sense = |answer| answer.surely;
const ESTIMATE: Sense = |answer| answer.estimate;
const POSSIBLY: Sense = |answer| answer.possibly;

/// A search in progress.
#[derive(Clone, Debug)]
pub(super) struct Search {
    /// Least and greatest setting.
    lowest: i64,
    highest: i64,
    start: i64,
    /// The first step from where it starts.
    step: i64,
    tried: BTreeMap<i64, Answer>,
    /// Whether the easiest setting may serve worse than one that is harder.
    turns: bool,
    /// Whether it is looked for where the objective surely holds, and where it surely fails.
    seeks_surely: bool,
    seeks_possibly: bool,
}

/// Between which two settings a boundary lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Boundary {
    /// The hardest setting tried that holds, with all that were tried below it; none if the lowest
    /// fails.
    pub(super) holds: Option<i64>,
    /// The first setting tried that fails; none if the highest holds.
    pub(super) fails: Option<i64>,
}

/// What a search came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Boundaries {
    /// By the estimate.
    pub(super) estimate: Boundary,
    /// By the unfavourable ends.
    pub(super) surely: Boundary,
    /// By the favourable ends.
    pub(super) possibly: Boundary,
    /// Whether the objective held at a setting harder than one at which it failed.
    pub(super) contradicted: bool,
    /// Whether it surely held at one that is harder than one at which it did not surely hold, or
    /// may have held at one that is harder than one at which it surely failed.
    pub(super) unevenly_sure: bool,
}

impl Search {
    pub(super) fn new((lowest, highest): (i64, i64), start: i64, step: i64) -> Search {
        assert!(
            lowest <= highest,
            "no setting between {lowest} and {highest}"
        );
        assert!(step >= 1, "a step leads somewhere");
        Search {
            lowest,
            highest,
            start: start.clamp(lowest, highest),
            step,
            tried: BTreeMap::new(),
            turns: false,
            seeks_surely: true,
            seeks_possibly: true,
        }
    }

    /// The easiest setting may serve worse than one that is harder.
    pub(super) fn may_turn(&mut self) {
        self.turns = true;
    }

    /// No easier setting is surer: where the objective surely holds is not looked for.
    pub(super) fn leave_surely(&mut self) {
        self.seeks_surely = false;
    }

    /// No harder setting is surer: where the objective surely fails is not looked for.
    pub(super) fn leave_possibly(&mut self) {
        self.seeks_possibly = false;
    }

    /// A setting was tried.
    pub(super) fn learn(&mut self, setting: i64, answer: Answer) {
        assert!(!answer.surely || answer.estimate, "what is sure holds");
        assert!(
            !answer.estimate || answer.possibly,
            "what holds is possible"
        );
        self.tried.insert(setting, answer);
    }

    /// What to try next, all at a time; nothing when the boundaries are found.
    pub(super) fn next(&self) -> Vec<i64> {
        if self.tried.is_empty() {
            return vec![self.start];
        }
        let estimate = self.inside(ESTIMATE, 2);
        if !estimate.is_empty() {
            return estimate;
        }
        if self.turns && self.boundary(ESTIMATE).holds.is_none() {
            return self.between().into_iter().collect();
        }
        let mut outer = Vec::new();
        for (seeks, sense) in [(self.seeks_surely, SURELY), (self.seeks_possibly, POSSIBLY)] {
            if seeks {
                outer.extend(self.inside(sense, 1));
            }
        }
        outer.dedup();
        outer
    }

    /// What was found; complete when there is nothing more to try.
    pub(super) fn found(&self) -> Boundaries {
        let estimate = self.boundary(ESTIMATE);
        let held = !self.turns || estimate.holds.is_some();
        Boundaries {
            estimate,
            surely: self.boundary(SURELY),
            possibly: self.boundary(POSSIBLY),
            contradicted: self.easiest() > self.lowest || held && self.contradicted(ESTIMATE),
            unevenly_sure: self.contradicted(SURELY) || self.contradicted(POSSIBLY),
        }
    }

    /// The easiest setting that counts: if the easiest of all fails and may serve worse than a harder
    /// one, the first that holds.
    fn easiest(&self) -> i64 {
        let easiest = self.tried.get(&self.lowest);
        let turned = self.turns && easiest.is_some_and(|answer| !answer.estimate);
        let first = || self.tried.iter().find(|(_, answer)| answer.estimate);
        let first = turned.then(first).flatten();
        first.map_or(self.lowest, |(setting, _)| *setting)
    }

    /// The middle of the widest part of all settings in which none was tried, if that is wide.
    fn between(&self) -> Option<i64> {
        let ends = self.tried.keys().copied().chain([self.highest + 1]);
        let parts = ends.clone().zip(ends.skip(1));
        let (from, to) = parts.max_by_key(|(from, to)| to - from)?;
        let is_wide = to - from > ((self.highest - self.lowest) / PARTS).max(1);
        is_wide.then_some(from + (to - from) / 2)
    }

    fn boundary(&self, sense: Sense) -> Boundary {
        let tried = self.tried.range(self.easiest()..);
        let fails = tried.clone().find(|(_, answer)| !sense(answer));
        let fails = fails.map(|(setting, _)| *setting);
        let below = tried.take_while(|(setting, _)| fails.is_none_or(|fails| **setting < fails));
        Boundary {
            holds: below.last().map(|(setting, _)| *setting),
            fails,
        }
    }

    fn contradicted(&self, sense: Sense) -> bool {
        let hardest = self.tried.iter().rfind(|(_, answer)| sense(answer));
        let fails = self.boundary(sense).fails;
        matches!((hardest, fails), (Some((held, _)), Some(failed)) if *held > failed)
    }

    /// Settings that would narrow a boundary; none if it is as narrow as it gets.
    fn inside(&self, sense: Sense, width: usize) -> Vec<i64> {
        match self.boundary(sense) {
            Boundary {
                holds: Some(holds),
                fails: Some(fails),
            } => cut(holds, fails, width),
            Boundary {
                holds: Some(holds),
                fails: None,
            } if holds < self.highest => {
                vec![self.highest.min(holds.saturating_add(self.stride(holds)))]
            }
            Boundary {
                holds: None,
                fails: Some(fails),
            } if fails > self.easiest() => {
                vec![self.lowest.max(fails.saturating_sub(self.stride(fails)))]
            }
            _ => Vec::new(),
        }
    }

    /// Steps double with the way from the start.
    fn stride(&self, from: i64) -> i64 {
        let way = from.saturating_sub(self.start).saturating_abs();
        self.step.max(way)
    }
}

/// Whole numbers that divide the open interval evenly.
fn cut(from: i64, to: i64, width: usize) -> Vec<i64> {
    let parts = width as i64 + 1;
    let mut inside: Vec<i64> = (1..parts)
        .map(|part| from + (to - from) * part / parts)
        .filter(|at| *at > from)
        .collect();
    inside.dedup();
    inside
}

#[cfg(test)]
mod tests {
    use nearslot_core::rng::Rng;

    use super::*;

    /// Holds surely up to the first, by estimate up to the second, possibly up to the third.
    fn answer(setting: i64, (surely, estimate, possibly): (i64, i64, i64)) -> Answer {
        Answer {
            surely: setting <= surely,
            estimate: setting <= estimate,
            possibly: setting <= possibly,
        }
    }

    fn search(mut search: Search, truth: (i64, i64, i64)) -> (Boundaries, usize) {
        loop {
            let next = search.next();
            if next.is_empty() {
                return (search.found(), search.tried.len());
            }
            for setting in next {
                assert!((search.lowest..=search.highest).contains(&setting));
                assert!(!search.tried.contains_key(&setting), "{setting} again");
                search.learn(setting, answer(setting, truth));
            }
        }
    }

    #[test]
    fn all_three_boundaries_are_found_wherever_they_lie() {
        for start in [-50, 0, 37, 100] {
            for surely in -51_i64..=100 {
                let truth = (surely, surely + surely.rem_euclid(4), surely + 9);
                let (found, runs) = search(Search::new((-50, 100), start, 5), truth);
                let check = |boundary: Boundary, last: i64| {
                    assert_eq!(boundary.holds, (last >= -50).then_some(last.min(100)));
                    assert_eq!(boundary.fails, (last < 100).then_some(last.max(-51) + 1));
                };
                check(found.surely, truth.0);
                check(found.estimate, truth.1);
                check(found.possibly, truth.2);
                assert!(!found.contradicted);
                assert!(runs <= 30, "{runs} runs for {truth:?} from {start}");
            }
        }
    }

    /// Asks every setting, and takes the last that holds before the first that fails.
    fn scanned((lowest, highest): (i64, i64), last: i64) -> Boundary {
        let mut boundary = Boundary {
            holds: None,
            fails: None,
        };
        for setting in lowest..=highest {
            if setting > last {
                boundary.fails = Some(setting);
                break;
            }
            boundary.holds = Some(setting);
        }
        boundary
    }

    #[test]
    fn a_scan_of_all_settings_finds_the_same() {
        let mut rng = Rng::stream(1, "capacity");
        let mut below = |limit: i64| rng.below(limit as u64) as i64;
        for _ in 0..2_000 {
            let lowest = below(2_000) - 1_000;
            let range = (lowest, lowest + below(500));
            let surely = range.0 - 20 + below(range.1 - range.0 + 40);
            let estimate = surely + below(30);
            let truth = (surely, estimate, estimate + below(30));
            let (start, step) = (range.0 + below(500), 1 + below(40));
            let (found, _) = search(Search::new(range, start, step), truth);
            assert_eq!(found.surely, scanned(range, truth.0));
            assert_eq!(found.estimate, scanned(range, truth.1));
            assert_eq!(found.possibly, scanned(range, truth.2));
        }
    }

    #[test]
    fn what_no_setting_is_sure_of_is_not_looked_for() {
        for (surely, possibly) in [(true, false), (false, true)] {
            let mut search = Search::new((0, 1_000), 500, 1);
            if surely {
                search.leave_surely();
            }
            if possibly {
                search.leave_possibly();
            }
            while let [setting, ..] = *search.next() {
                search.learn(setting, answer(setting, (100, 400, 900)));
            }
            let found = search.found();
            let narrow = |boundary: Boundary| boundary.fails == boundary.holds.map(|at| at + 1);
            assert!(narrow(found.estimate));
            assert_eq!(narrow(found.surely), !surely);
            assert_eq!(narrow(found.possibly), !possibly);
        }
    }

    /// The easiest fails, as does the hardest; between them a part holds that is wide enough to be
    /// met.
    #[test]
    fn what_holds_between_settings_that_fail_is_found() {
        let mut rng = Rng::stream(1, "turns");
        let mut below = |limit: i64| rng.below(limit as u64) as i64;
        for _ in 0..1_000 {
            let highest = 8 + below(300);
            let wide = highest / PARTS + 1;
            let from = 1 + below(highest - wide);
            let to = from + wide + below(highest - wide - from + 1) - 1;
            let holds = |setting: i64| (from..=to).contains(&setting);
            for turns in [true, false] {
                let start = highest - below(from.min(highest / 2) + 1);
                let mut search = Search::new((0, highest), start, 1);
                search.turns = turns;
                while let next @ [_, ..] = &search.next()[..] {
                    for setting in next {
                        assert!(!search.tried.contains_key(setting), "{setting} again");
                        search.learn(*setting, answer(i64::from(!holds(*setting)), (0, 0, 0)));
                    }
                }
                let found = search.found();
                let met = search.tried.keys().any(|setting| holds(*setting));
                assert!(met || !turns, "{from} to {to} of {highest}");
                if met && search.tried.contains_key(&0) {
                    assert_eq!(found.estimate.holds, turns.then_some(to));
                    assert!(found.contradicted);
                }
            }
        }
    }

    /// Where nothing holds, what may hold somewhere contradicts nothing that is told of drives.
    #[test]
    fn what_may_hold_is_no_contradiction_where_nothing_holds() {
        let (fails, may_hold) = (answer(1, (0, 0, 0)), answer(1, (0, 0, 1)));
        for turns in [true, false] {
            let mut search = Search::new((0, 10), 5, 1);
            search.turns = turns;
            search.learn(0, fails);
            search.learn(5, may_hold);
            let found = search.found();
            assert_eq!(found.estimate.holds, None);
            assert_eq!((found.contradicted, found.unevenly_sure), (false, true));
        }
    }

    #[test]
    fn a_setting_that_holds_above_one_that_fails_is_told() {
        let mut search = Search::new((0, 10), 5, 1);
        let holds = answer(0, (0, 0, 0));
        let fails = answer(1, (0, 0, 0));
        search.learn(5, fails);
        search.learn(6, holds);
        search.learn(4, holds);
        let found = search.found();
        assert_eq!(
            (found.estimate.holds, found.estimate.fails),
            (Some(4), Some(5))
        );
        assert!(found.contradicted);
        assert!(search.next().is_empty());
    }

    /// How sure a setting is does not hang on its own hardness alone: that is no contradiction.
    #[test]
    fn a_setting_that_is_surer_than_an_easier_one_is_told_by_itself() {
        let mut search = Search::new((0, 10), 5, 1);
        let holds = |surely| Answer {
            surely,
            ..Answer::HOLDS
        };
        search.learn(4, holds(true));
        search.learn(5, holds(false));
        assert!(!search.found().unevenly_sure);
        search.learn(6, holds(true));
        let found = search.found();
        assert_eq!((found.contradicted, found.unevenly_sure), (false, true));
        assert_eq!(
            (found.surely.holds, found.estimate.holds),
            (Some(4), Some(6))
        );
    }
}
