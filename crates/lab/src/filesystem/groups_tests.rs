//! The allocator against a literal twin: vectors of whether a block is taken, gone through one by
//! one.

use std::ops::Range;

use nearslot_core::rng::Rng;

use super::groups::Groups;
use super::region::Region;
use super::shape::{MINI_GROUPS, Shape};

/// Blocks that are free, and what is promised by region.
struct Twin {
    shape: Shape,
    free: Vec<bool>,
    promised: Vec<(Region, u64)>,
}

impl Twin {
    fn new(shape: Shape) -> Twin {
        let blocks = shape.groups() * shape.group_blocks();
        let is_data = |block: u64| block % shape.group_blocks() >= shape.front();
        Twin {
            shape,
            free: (0..blocks).map(is_data).collect(),
            promised: Vec::new(),
        }
    }

    fn near(&self, goal: u64) -> Option<u64> {
        let (groups, size) = (self.shape.groups(), self.shape.group_blocks());
        let first = goal / size;
        let from_goal = (goal..(first + 1) * size).chain(first * size..goal);
        let others = (1..groups).flat_map(|step| {
            let group = (first + step) % groups;
            group * size..(group + 1) * size
        });
        let mut all = from_goal.chain(others);
        all.find(|block| self.free[*block as usize])
    }

    fn within(&self, region: Region) -> Range<u64> {
        let (size, begin) = (
            self.shape.group_blocks(),
            region.group() * self.shape.group_blocks(),
        );
        match region {
            Region::Group(_) => begin..begin + size,
            Region::Mini { mini, .. } => {
                let mini_size = size / MINI_GROUPS;
                begin + mini * mini_size..begin + (mini + 1) * mini_size
            }
        }
    }

    fn free_in(&self, region: Region) -> u64 {
        let within = self.within(region);
        within.filter(|block| self.free[*block as usize]).count() as u64
    }

    fn promised_to(&self, of: impl Fn(Region) -> bool) -> u64 {
        let all = self.promised.iter().filter(|(region, _)| of(*region));
        all.map(|(_, len)| len).sum()
    }

    /// Runs that are offered, or nothing.
    fn promise(&mut self, region: Region, len: u64) -> Option<Vec<Range<u64>>> {
        let group = Region::Group(region.group());
        let of_group = self.promised_to(|other| other.group() == region.group());
        let enough = of_group + len <= self.free_in(group);
        let of_mini = self.promised_to(|other| other == region);
        let enough = enough && (region == group || of_mini + len <= self.free_in(region));
        let mut runs: Vec<Range<u64>> = Vec::new();
        for block in self
            .within(region)
            .filter(|block| self.free[*block as usize])
        {
            match runs.last_mut() {
                Some(last) if last.end == block => last.end += 1,
                _ => runs.push(block..block + 1),
            }
        }
        runs.retain(|run| run.end - run.start >= len);
        if !enough || runs.is_empty() {
            return None;
        }
        self.promised.push((region, len));
        Some(runs)
    }
}

/// A region, drawn.
fn region(rng: &mut Rng, shape: &Shape) -> Region {
    let group = rng.below(shape.groups());
    match rng.chance(0.6) {
        true => Region::Mini {
            group,
            mini: rng.below(MINI_GROUPS),
        },
        false => Region::Group(group),
    }
}

/// A promised write ends: it has landed in some run of its region that is still free, or nowhere.
fn land(rng: &mut Rng, groups: &mut Groups, twin: &mut Twin) {
    let index = rng.below(twin.promised.len() as u64) as usize;
    let (region, len) = twin.promised.swap_remove(index);
    groups.release(region, len);
    let within = twin.within(region);
    let fits =
        |at: &u64| (*at..at + len).all(|block| block < within.end && twin.free[block as usize]);
    let places: Vec<u64> = within.clone().filter(fits).collect();
    if places.is_empty() || rng.chance(0.1) {
        return;
    }
    let at = places[rng.below(places.len() as u64) as usize];
    for block in at..at + len {
        groups.take(block);
        twin.free[block as usize] = false;
    }
}

#[test]
fn it_does_as_a_literal_twin_and_never_promises_too_much() {
    let mut counts = [0; 4];
    for seed in 0..40 {
        let rng = &mut Rng::stream(seed, "groups");
        let shape = Shape::new([128, 256, 512][seed as usize % 3], 1_600).unwrap();
        let (mut groups, mut twin) = (Groups::new(shape), Twin::new(shape));
        if seed % 2 == 1 {
            // Where most is taken, a block that becomes free joins runs that were too short.
            groups.fill(0.8, rng);
            let is_free = |block: u64| groups.is_free(block);
            twin.free = (0..twin.free.len() as u64).map(is_free).collect();
        }
        for _ in 0..600 {
            match rng.below(8) {
                0 => {
                    let goal = rng.below(twin.free.len() as u64);
                    // Where blocks are offered, the host takes none by itself.
                    if twin.promised.is_empty() {
                        let found = groups.take_near(goal);
                        assert_eq!(found, twin.near(goal));
                        found.inspect(|block| twin.free[*block as usize] = false);
                        counts[0] += 1;
                    }
                }
                1 => {
                    let is_data = |block: &u64| block % shape.group_blocks() >= shape.front();
                    let block = Some(rng.below(twin.free.len() as u64)).filter(is_data);
                    if let Some(block) = block.filter(|block| !twin.free[*block as usize]) {
                        groups.give(block);
                        twin.free[block as usize] = true;
                        counts[1] += 1;
                    }
                }
                2..5 if !twin.promised.is_empty() => {
                    land(rng, &mut groups, &mut twin);
                    counts[2] += 1;
                }
                _ => {
                    let (region, len) = (region(rng, &shape), 1 + rng.below(9));
                    assert_eq!(groups.promise(region, len), twin.promise(region, len));
                    counts[3] += 1;
                }
            }
            groups.check();
            assert_eq!(
                groups.free(),
                twin.free.iter().filter(|free| **free).count() as u64
            );
        }
    }
    assert!(counts.iter().all(|count| *count > 300), "{counts:?}");
}

/// Of every other block nothing is as long as a write; one that becomes free makes a run of three.
#[test]
fn a_run_that_was_not_there_is_found_when_a_block_of_it_becomes_free() {
    let shape = Shape::new(128, 256).unwrap();
    let mut groups = Groups::new(shape);
    let odd = (shape.front()..shape.group_blocks()).filter(|block| block % 2 == 1);
    odd.for_each(|block| groups.take(block));
    let mini = shape.group_blocks() / MINI_GROUPS;
    let freed = 5 * mini + 1;
    let regions = [Region::Mini { group: 0, mini: 5 }, Region::Group(0)];
    for region in regions {
        assert_eq!(groups.promise(region, 3), None);
    }
    groups.give(freed);
    for region in regions {
        let run = freed - 1..freed + 2;
        assert_eq!(groups.promise(region, 3), Some(vec![run]));
    }
}

#[test]
fn so_much_is_full_beforehand_as_is_said() {
    let shape = Shape::new(1_024, 2_048).unwrap();
    let mut groups = Groups::new(shape);
    let all = groups.free();
    groups.fill(0.75, &mut Rng::stream(1, "fill"));
    assert_eq!(
        groups.free(),
        all - 2 * ((1_024.0_f64 - 12.0) * 0.75).round() as u64
    );
    groups.check();
}

#[test]
fn directories_below_the_root_spread_and_others_stay_near_their_parent() {
    let shape = Shape::new(1_024, 8 * 1_024).unwrap();
    let mut groups = Groups::new(shape);
    let of = |groups: &Groups, inode: Option<u64>| groups.group_of_inode(inode.unwrap());
    let top: Vec<u64> = (0..9)
        .map(|_| {
            let inode = groups.inode_of_directory(None);
            of(&groups, inode)
        })
        .collect();
    assert_eq!(top, [0, 1, 2, 3, 4, 5, 6, 7, 0]);
    // A group owes its directories their files: 1,024 blocks at 256 to each are four.
    let below: Vec<u64> = (0..8)
        .map(|_| {
            let inode = groups.inode_of_directory(Some(3));
            of(&groups, inode)
        })
        .collect();
    assert_eq!(below, [3, 3, 3, 4, 4, 4, 5, 5]);
    // A file stays with its directory, and pays a debt.
    for _ in 0..2 {
        let inode = groups.inode_of_file(3);
        assert_eq!(of(&groups, inode), 3);
    }
    let inode = groups.inode_of_directory(Some(3));
    assert_eq!(of(&groups, inode), 3);
}

#[test]
fn files_leave_a_full_group_in_growing_steps() {
    let shape = Shape::new(128, 8 * 128).unwrap();
    let mut groups = Groups::new(shape);
    let found: Vec<u64> = (0..3 * 64)
        .map(|_| {
            let inode = groups.inode_of_file(2).unwrap();
            groups.group_of_inode(inode)
        })
        .collect();
    assert_eq!(
        [0, 63, 64, 127, 128, 191].map(|at| found[at]),
        [2, 2, 3, 3, 5, 5]
    );
}
