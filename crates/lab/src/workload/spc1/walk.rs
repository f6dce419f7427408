//! The hierarchical reuse walk: places that come back soon often, and late seldom, at every scale
//! of time.
//!
//! Re-references of real data are self-similar. McNutt's model gets that from a random walk over
//! the leaves of a binary tree (McNutt, The Fractal Structure of Data Reference, 2000): a step goes
//! up some levels, each further one with a chance of 44 %, and comes down on any leaf below. Most
//! steps stay near, few go far, none leaves the tree. A leaf is 32 KiB, eight pages. The lowest
//! level is that of 128 leaves (`classic`) or 64 (`fixed`); the tree is the largest power of two of
//! leaves that fits the region. It lies anywhere in it, in another place for each walker.
//!
//! - A read takes the leaf's next page: a leaf counts its reads and goes round its pages, so that a
//!   page comes back after eight reads of its leaf. A leaf has one count whoever reads it, by its
//!   place in the region. As trees lie in different places, walkers that kept counts by the place
//!   in the tree would share those of leaves that they do not share (`counts=tree`).
//! - A write goes to one leaf in eight. Half of the writes take any page of it; the others the page
//!   that is read next (`classic`) or was read last (`fixed`). After 15 % of them the walker's next
//!   write is to the same page once more.
//!
//! Where walkers are in several contexts, a leaf counts for each context by itself. O(levels) a
//! step, about two draws.

use nearslot_core::op::Op;
use nearslot_core::rng::Rng;

/// Which of two walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// As in the first generator: steps of 128 leaves, writes ahead of reads.
    Classic,
    /// As it was meant: steps of 64 leaves, writes behind reads.
    Fixed,
}

/// By what a leaf's reads are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// Its place in the region.
    Address,
    /// Its place in the tree of who reads it.
    Tree,
}

/// Pages of a leaf.
pub(super) const LEAF_PAGES: u64 = 8;
/// Writes go to one leaf of so many.
const WRITE_LEAVES: u64 = 8;
const CLIMBS: f64 = 0.44;
const REPEATS: f64 = 0.15;
const FROM_HISTORY: f64 = 0.5;

impl Style {
    /// Levels that every step climbs.
    const fn lowest(self) -> u32 {
        match self {
            Style::Classic => 7,
            Style::Fixed => 6,
        }
    }

    /// Leaves without which there is no step.
    pub(super) const fn leaves_min(self) -> u64 {
        1 << self.lowest()
    }
}

/// A region that walkers share.
pub(super) struct Region {
    style: Style,
    counts: Counts,
    /// Its first page.
    start: u64,
    leaves: u64,
    /// Levels of a tree.
    height: u32,
    /// Which page of a leaf is read next: all leaves of the first context, then of the second.
    next: Vec<u8>,
}

/// Who walks.
pub(super) struct Walker {
    /// First leaf of its tree, counted in the region.
    tree: u64,
    /// The count of the first leaf of its tree.
    count: usize,
    /// Where it is, counted in its tree.
    leaf: u64,
    /// A write that is to be repeated: its leaf and its page.
    repeat: Option<(u64, u64)>,
}

impl Region {
    /// So many leaves from a page on, for walkers of so many contexts.
    pub(super) fn new(
        (style, counts): (Style, Counts),
        (start, leaves): (u64, u64),
        contexts: u64,
    ) -> Region {
        assert!(leaves >= style.leaves_min(), "a step needs room");
        Region {
            style,
            counts,
            start,
            leaves,
            height: leaves.ilog2(),
            next: vec![0; (leaves * contexts) as usize],
        }
    }

    /// A walker somewhere in its tree, which lies somewhere in the region.
    pub(super) fn walker(&self, context: u64, rng: &mut Rng) -> Walker {
        let leaves = 1 << self.height;
        let tree = rng.below(self.leaves - leaves + 1);
        let counted = match self.counts {
            Counts::Address => tree,
            Counts::Tree => 0,
        };
        Walker {
            tree,
            count: (self.leaves * context + counted) as usize,
            leaf: rng.below(leaves),
            repeat: None,
        }
    }

    /// The next page of a walker.
    #[inline]
    pub(super) fn step(&mut self, walker: &mut Walker, op: Op, rng: &mut Rng) -> u64 {
        let is_write = op == Op::Write;
        if is_write && let Some((leaf, page)) = walker.repeat.take() {
            walker.leaf = leaf;
            return self.page(walker, page);
        }
        let level = self.level(rng);
        let block = walker.leaf >> level << level;
        walker.leaf = block + rng.below(1 << level);
        if is_write {
            walker.leaf -= walker.leaf % WRITE_LEAVES;
        }
        let next = &mut self.next[walker.count + walker.leaf as usize];
        if !is_write {
            let page = u64::from(*next);
            *next = (*next + 1) % LEAF_PAGES as u8;
            return self.page(walker, page);
        }
        let page = match self.style {
            _ if !rng.chance(FROM_HISTORY) => rng.below(LEAF_PAGES),
            Style::Classic => u64::from(*next),
            Style::Fixed => (u64::from(*next) + LEAF_PAGES - 1) % LEAF_PAGES,
        };
        if rng.chance(REPEATS) {
            walker.repeat = Some((walker.leaf, page));
        }
        self.page(walker, page)
    }

    /// How many levels a step climbs.
    #[inline]
    fn level(&self, rng: &mut Rng) -> u32 {
        let mut level = self.style.lowest();
        while level < self.height && rng.chance(CLIMBS) {
            level += 1;
        }
        level
    }

    #[inline]
    fn page(&self, walker: &Walker, page: u64) -> u64 {
        self.start + (walker.tree + walker.leaf) * LEAF_PAGES + page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 4_000;

    /// The region, a walker and its random numbers.
    fn walk(style: Style, leaves: u64) -> (Region, Walker, Rng) {
        let mut rng = Rng::stream(1, "walk");
        let region = Region::new((style, Counts::Address), (START, leaves), 1);
        let walker = region.walker(0, &mut rng);
        (region, walker, rng)
    }

    fn leaf(page: u64) -> u64 {
        (page - START) / LEAF_PAGES
    }

    #[test]
    fn levels_fall_off_by_44_percent_and_end_at_the_tree() {
        for (style, lowest) in [(Style::Classic, 7), (Style::Fixed, 6)] {
            // 2,048 leaves fit, a tree of 12 levels does not.
            let (region, _, mut rng) = walk(style, 4_000);
            let mut counts = [0.0; 12];
            for _ in 0..200_000 {
                counts[region.level(&mut rng) as usize] += 1.0 / 200_000.0;
            }
            for (level, share) in counts.into_iter().enumerate() {
                let over = level as i32 - lowest;
                let expected = match level {
                    _ if over < 0 => 0.0,
                    11 => libm::pow(0.44, f64::from(over)),
                    _ => 0.56 * libm::pow(0.44, f64::from(over)),
                };
                assert!((share - expected).abs() < 0.005, "{level}: {share}");
            }
        }
    }

    #[test]
    fn a_step_stays_in_the_aligned_block_of_its_level() {
        // A tree of one level: every step goes anywhere in it, alike.
        let (mut region, mut walker, mut rng) = walk(Style::Fixed, 100);
        let mut counts = [0_u32; 64];
        for _ in 0..64_000 {
            let page = region.step(&mut walker, Op::Read, &mut rng);
            counts[(leaf(page) - walker.tree) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (850..1_150).contains(&count)));
        // A large one: steps within 128 leaves are as many as the levels say, which a step up
        // leaves by halves.
        let (mut region, mut walker, mut rng) = walk(Style::Classic, 1 << 16);
        let mut stays = 0;
        for _ in 0..100_000 {
            let from = walker.leaf >> 7;
            region.step(&mut walker, Op::Read, &mut rng);
            stays += u32::from(walker.leaf >> 7 == from);
        }
        let levels = (0..9).map(|over| libm::pow(0.22, f64::from(over)));
        let expected = levels.sum::<f64>() * 0.56;
        assert!((f64::from(stays) / 1e5 - expected).abs() < 0.005, "{stays}");
    }

    #[test]
    fn reads_of_a_leaf_go_round_its_pages_whoever_reads() {
        let mut rng = Rng::stream(2, "walk");
        let mut region = Region::new((Style::Classic, Counts::Address), (START, 200), 2);
        let mut walkers: Vec<Walker> = (0..6).map(|_| region.walker(0, &mut rng)).collect();
        // Their trees lie in different places, so a leaf has different numbers in them.
        assert!(walkers.iter().any(|one| one.tree != walkers[0].tree));
        assert!(walkers.iter().all(|one| one.tree <= 72));
        let mut expected = [0; 200];
        for turn in 0..20_000 {
            let page = region.step(&mut walkers[turn % 6], Op::Read, &mut rng);
            let leaf = leaf(page) as usize;
            assert_eq!((page - START) % LEAF_PAGES, expected[leaf], "turn {turn}");
            expected[leaf] = (expected[leaf] + 1) % LEAF_PAGES;
        }
        // Another context counts by itself.
        let mut other = region.walker(1, &mut rng);
        let mut expected = [0; 200];
        for _ in 0..5_000 {
            let page = region.step(&mut other, Op::Read, &mut rng);
            let leaf = leaf(page) as usize;
            assert_eq!((page - START) % LEAF_PAGES, expected[leaf]);
            expected[leaf] = (expected[leaf] + 1) % LEAF_PAGES;
        }
    }

    #[test]
    fn counts_by_the_tree_are_shared_by_leaves_of_different_places() {
        let mut rng = Rng::stream(2, "walk");
        let mut region = Region::new((Style::Classic, Counts::Tree), (START, 200), 1);
        let mut walkers: Vec<Walker> = (0..6).map(|_| region.walker(0, &mut rng)).collect();
        let mut expected = [0; 128];
        for turn in 0..20_000 {
            let walker = &mut walkers[turn % 6];
            let page = region.step(walker, Op::Read, &mut rng);
            let leaf = (leaf(page) - walker.tree) as usize;
            assert_eq!((page - START) % LEAF_PAGES, expected[leaf]);
            expected[leaf] = (expected[leaf] + 1) % LEAF_PAGES;
        }
    }

    #[test]
    fn writes_go_to_one_leaf_in_eight_and_half_of_them_follow_the_reads() {
        for (style, ahead) in [(Style::Classic, 0), (Style::Fixed, 7)] {
            let (mut region, mut walker, mut rng) = walk(style, 200);
            let (mut follows, mut fresh) = (0.0, 0.0);
            for _ in 0..60_000 {
                region.step(&mut walker, Op::Read, &mut rng);
                let repeated = walker.repeat.is_some();
                let page = region.step(&mut walker, Op::Write, &mut rng);
                assert_eq!((leaf(page) - walker.tree) % 8, 0);
                let next = u64::from(region.next[leaf(page) as usize]);
                if !repeated {
                    fresh += 1.0;
                    follows += f64::from(u8::from((page - START) % 8 == (next + ahead) % 8));
                }
            }
            // Of the other half one in eight happens to be that page.
            let share = follows / fresh;
            assert!((share - 0.5625).abs() < 0.01, "{style:?}: {share}");
        }
    }

    #[test]
    fn a_write_is_repeated_by_the_next_write_and_no_more() {
        let (mut region, mut walker, mut rng) = walk(Style::Classic, 200);
        let (mut set, mut writes) = (0.0, 0.0);
        let mut last = 0;
        for _ in 0..60_000 {
            let repeats = walker.repeat.is_some();
            let page = region.step(&mut walker, Op::Write, &mut rng);
            if repeats {
                assert_eq!(page, last);
                assert!(walker.repeat.is_none());
            } else {
                writes += 1.0;
                set += f64::from(u8::from(walker.repeat.is_some()));
            }
            last = page;
            // A read between them changes nothing of it, and goes on from where it is.
            let before = walker.repeat;
            region.step(&mut walker, Op::Read, &mut rng);
            assert_eq!(walker.repeat, before);
        }
        assert!((set / writes - 0.15).abs() < 0.006, "{}", set / writes);
    }
}
