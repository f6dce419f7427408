//! An allocator of our own: new blocks of all files go as long writes, each to where it is quickest
//! to write and to read by a measured table.
//!
//! What a range write of one block per block gives away (docs/design/0029-range-writes.md), and
//! what is done instead:
//!
//! - *A command for each block.* Blocks that need a place and want the same group go together, the
//!   longest dirty first, of however many files. A short write waits while another of its group is
//!   under way, as more may come to go with it: Nagle's rule ("Congestion control in IP/TCP
//!   internetworks", RFC 896, 1984). Inodes and bitmaps that lie side by side go together as well.
//! - *A place that fits the head and nobody else.* Only a write that *opens* is offered all that is
//!   free in its group, as heads are elsewhere or nothing more is to come. Those that *go on* have
//!   a place each, in the order of their blocks: of all places ahead the one that costs least a
//!   block by [`Skips`], what is read and what is written together. It is so far behind the last
//!   one that heads reach it in time, in reads as well, and a long run farther off beats short ones
//!   that are near.
//! - *Pieces that grow short as a group fills.* What was passed over stays free, and a group that
//!   was gone through is left for the next.
//! - *Inodes that are written over and over, and a turn each time.* What has a place goes in
//!   rounds: when no new block is under way, or as many have landed since as half the cache holds.
//!   So a power cut loses at most that much more than what is dirty.
//!
//! Departures from ext2: files lie by directory alone, not by who writes them, since blocks that
//! are placed late do not mix. Sources: delayed allocation, and many blocks at once: Mathur and
//! others, "The new ext4 filesystem", OLS 2007; gaps that fit the drive: [`super::skips`];
//! log-structured writes that thread through what is free: Rosenblum and Ousterhout, TOCS 10 (1),
//! 1992, section 3.2.
//!
//! When not to use it: where blocks have to be on the medium one by one, as it waits for company;
//! where a drive is not the one that was measured. Costs: O(blocks that wait) and O(places within
//! [`skips::SKIPS`] blocks) for a write that goes on, O(runs of a group) for one that opens.
//!
//! [`skips::SKIPS`]: super::skips::SKIPS

use std::ops::Range;

use super::FileSystem;
use super::files::Key;
use super::flush::{Ended, Goes, Going, Windows, row};
use super::shape::INODES;
use super::skips::Skips;

/// Places that a write is to have that opens; it is cut in halves until there are so many.
const PLACES: u64 = 64;

/// How writes go on in a group.
#[derive(Clone, Debug, Default)]
struct Course {
    /// Where the last one ends, by its place in the group, and how long it is.
    end: u64,
    last: u64,
    /// How often the group was gone through.
    laps: u64,
    /// How many are under way, and whether that is one that opens.
    under_way: u64,
    opens: bool,
}

/// The state of the allocator.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    courses: Vec<Course>,
    /// Writes of new blocks under way, in all groups.
    under_way: u64,
    /// The group where the last write went, if that was of new blocks.
    at: Option<u64>,
    /// New blocks that have landed since the last round, and since when must be dirty what goes in
    /// it.
    landed: u64,
    round: u64,
}

impl Runs {
    /// Nothing is under way.
    pub(super) fn new(groups: u64) -> Runs {
        Runs {
            courses: vec![Course::default(); groups as usize],
            under_way: 0,
            at: None,
            landed: 0,
            round: 0,
        }
    }
}

impl FileSystem {
    /// The write that goes next by these tables; none if nothing may.
    pub(super) fn next_of_runs(&mut self, skips: &Skips) -> Option<Going> {
        if let Some(going) = self.next_new(skips) {
            return Some(going);
        }
        if self.runs.under_way == 0 || self.runs.landed >= self.settings.cache_blocks / 2 {
            self.runs.round = self.pages.number();
            self.runs.landed = 0;
        }
        self.next_placed()
    }

    /// The next write of new blocks.
    fn next_new(&mut self, skips: &Skips) -> Option<Going> {
        let (wanted, mut keys) = self.new_blocks()?;
        let most = keys.len() as u64;
        let is_short = most < self.settings.request_blocks;
        let (group, opens) = self.goes_to(wanted, is_short)?;
        let (under_way, is_opening) = {
            let course = &self.runs.courses[group as usize];
            (course.under_way, course.opens)
        };
        // Where the next ones go on is not known until it has landed.
        if is_opening {
            return None;
        }
        let (len, runs) = match opens {
            true => self.all_places(group, most),
            false => self.place_ahead(skips, group, most),
        };
        // More may come while others are under way.
        if under_way > 0 && is_short && len == most {
            return None;
        }
        let windows = Windows { group, opens, runs };
        self.enter_windows(&windows, len);
        keys.truncate(len as usize);
        Some(self.begin(&keys, Goes::Into(windows)))
    }

    /// New blocks that may go and want the same group: the longest dirty first, as many as a
    /// request may have.
    fn new_blocks(&self) -> Option<(u64, Vec<Key>)> {
        let mut from = 0;
        let mut all = std::iter::from_fn(|| {
            let (since, key) = self.pages.dirty_from(from)?;
            from = since + 1;
            Some((self.wants(key), key))
        });
        let (group, first) = all.find_map(|(group, key)| Some((group?, key)))?;
        let others = all.filter(|(wanted, _)| *wanted == Some(group));
        let keys = std::iter::once(first).chain(others.map(|(_, key)| key));
        let keys = keys.take(self.settings.request_blocks as usize).collect();
        Some((group, keys))
    }

    /// The group that a block wants to lie in, if it needs a place and may go.
    fn wants(&self, key: Key) -> Option<u64> {
        let file = key.file()?;
        let of = &self.files[file as usize];
        let goes = of.at(key).is_none() && self.may_go(key);
        goes.then(|| match of.last {
            Some(last) => self.groups.shape().group_of(last),
            None => self.group_of(file),
        })
    }

    /// The group where new blocks go that want to lie in this one, and whether that opens. Of those
    /// that have room it is the nearest behind that was gone through least.
    fn goes_to(&mut self, wanted: u64, is_short: bool) -> Option<(u64, bool)> {
        let count = self.groups.shape().groups();
        loop {
            let all = (0..count).map(|step| (wanted + step) % count);
            let with_room = all.filter(|group| self.groups.has_open(*group));
            let laps = |group: &u64| self.runs.courses[*group as usize].laps;
            let group = with_room.min_by_key(laps)?;
            let is_there = self.runs.at == Some(group);
            let course = &mut self.runs.courses[group as usize];
            let opens = course.under_way == 0 && (is_short || !is_there);
            if opens || course.opens || self.groups.has_open_from(group, course.end) {
                return Some((group, opens));
            }
            course.laps += 1;
            course.end = 0;
        }
    }

    /// All places in a group for so many blocks, or for a part of them.
    fn all_places(&self, group: u64, most: u64) -> (u64, Vec<Range<u64>>) {
        let mut len = most;
        loop {
            let runs = self.groups.open_runs(group, len);
            let places: u64 = runs.iter().map(|run| (run.end - run.start) / len).sum();
            if places >= PLACES || len == 1 {
                return (len, runs);
            }
            len = len.div_ceil(2);
        }
    }

    /// The place ahead that costs least a block, and how many blocks it takes; beyond the table the
    /// next one.
    fn place_ahead(&self, skips: &Skips, group: u64, most: u64) -> (u64, Vec<Range<u64>>) {
        let course = &self.runs.courses[group as usize];
        let end = self.groups.shape().begin(group) + course.end;
        let mut best: Option<(Range<u64>, u64)> = None;
        let ahead = skips.reach(end) + most;
        for run in self.groups.open_ahead(group, course.end, ahead) {
            for at in run.clone() {
                let len = (run.end - at).min(most);
                let Some(cost) = skips.cost(end, course.last, at - end, len) else {
                    break;
                };
                let costs_less = |(other, of): &(Range<u64>, u64)| {
                    let other = other.end - other.start;
                    u128::from(cost) * u128::from(other) < u128::from(*of) * u128::from(len)
                };
                if best.as_ref().is_none_or(costs_less) {
                    best = Some((at..at + len, cost));
                }
            }
        }
        let run = best.map(|(run, _)| run).unwrap_or_else(|| {
            let run = self.groups.open_run(group, course.end, most);
            run.expect("the group has room")
        });
        (run.end - run.start, vec![run])
    }

    /// A write of `len` blocks goes into these windows.
    fn enter_windows(&mut self, windows: &Windows, len: u64) {
        let begin = self.groups.shape().begin(windows.group);
        let course = &mut self.runs.courses[windows.group as usize];
        course.under_way += 1;
        course.opens = windows.opens;
        self.runs.under_way += 1;
        self.runs.at = Some(windows.group);
        if !windows.opens {
            let place = windows.runs[0].clone();
            (course.end, course.last) = (place.end - begin, len);
            self.groups.close(place);
        }
    }

    /// A write of so many blocks has ended that went into windows.
    pub(super) fn leave_windows(&mut self, windows: &Windows, len: u64, how: Ended) {
        let begin = self.groups.shape().begin(windows.group);
        let course = &mut self.runs.courses[windows.group as usize];
        course.under_way -= 1;
        course.opens = false;
        self.runs.under_way -= 1;
        if let Ended::At(at) = how {
            self.runs.landed += len;
            if windows.opens {
                (course.end, course.last) = (at + len - begin, len);
            }
        }
        if !windows.opens {
            self.groups.reopen(windows.runs[0].clone());
        }
    }

    /// The next write of this round of what has a place.
    fn next_placed(&mut self) -> Option<Going> {
        let mut from = 0;
        while let Some((since, key)) = self.pages.dirty_from(from) {
            if since >= self.runs.round {
                return None;
            }
            from = since + 1;
            let Some(at) = self.address(key).filter(|_| self.may_go(key)) else {
                continue;
            };
            let keys = match key {
                Key::Data(..) | Key::Indirect(..) => {
                    let (first, len) = self.beside(key, Some(at));
                    row(first, len)
                }
                _ => self.side_by_side(key, at),
            };
            let at = self.address(keys[0]).expect("it has a place");
            self.runs.at = None;
            return Some(self.begin(&keys, Goes::To(at)));
        }
        None
    }

    fn may_go(&self, key: Key) -> bool {
        self.pages.may_go(key) && self.order.may_go(key)
    }

    /// Inodes and bitmaps that may go and lie in a row with this one.
    fn side_by_side(&self, key: Key, at: u64) -> Vec<Key> {
        let most = self.settings.request_blocks as usize;
        let goes = |at: u64| self.fixed_at(at).filter(|key| self.may_go(*key));
        let below = (0..at).rev().map_while(goes).take(most - 1);
        let mut keys: Vec<Key> = below.collect();
        keys.reverse();
        keys.push(key);
        let left = most - keys.len();
        keys.extend((at + 1..).map_while(goes).take(left));
        keys
    }

    /// The inodes or bitmap that have this place.
    fn fixed_at(&self, at: u64) -> Option<Key> {
        let shape = self.groups.shape();
        let group = shape.group_of(at);
        if group >= shape.groups() {
            return None;
        }
        let of_group = shape.group_inodes() / INODES;
        let first = group * of_group;
        let mut all = (first..first + of_group).map(Key::Inodes);
        let bits = [Key::BitsOfBlocks(group), Key::BitsOfInodes(group)];
        let mut bits = bits.into_iter();
        bits.find(|key| self.address(*key) == Some(at)).or_else(|| {
            let step = at.checked_sub(shape.inodes_at(first))?;
            all.nth(step as usize)
        })
    }
}
