//! The cleaner of a log: which segments it reads, and what of them is written anew, so that they
//! become free.
//!
//! It begins when there is less room than so many segments besides what is dirty, and takes
//! segments until there will be enough, as many at once as half of the cache takes, and as there is
//! room for. Each is read from its first live block to its last. When all are there, live blocks
//! become dirty, the oldest first, so that old ones come to lie together (TOCS 10 (1), 1992,
//! section 3.4). The log writes them as all others, and they keep their age. Then the cleaner looks
//! again, and waits for a checkpoint if it can do no more without one. O(segments) for a victim.
//!
//! It gains room only if what its segments have of dead blocks is more than what it writes to free
//! them: summaries, and all that leads to what is moved, which a checkpoint has to write. So a
//! checkpoint waits for what is being read; nothing is written to a segment that is being cleaned;
//! and if all that was cleaned before a checkpoint gained nothing, those with the fewest live
//! blocks are next. It ends when it has cleaned as many segments as there are, twice, and nothing
//! that has changed could be written in between: then the log gives up.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::FileSystem;
use super::acts::Run;
use super::files::Key;
use super::segments::CleanBy;

/// What is being cleaned.
#[derive(Clone, Debug, Default)]
pub(super) struct Cleaner {
    /// Whether it has begun and there is not enough room yet.
    active: bool,
    /// Segments that are being read, and what of them is still to be asked for and to come.
    victims: Vec<u64>,
    asks: VecDeque<Run>,
    coming: u64,
    /// Data that are to leave segments, all dirty and not on their way out: since when, and whether
    /// they have not changed besides.
    moves: BTreeMap<Key, (u64, bool)>,
    /// The same by since when they are dirty.
    row: BTreeMap<u64, Key>,
    /// Segments that were read since the last checkpoint: what lives there leaves by itself.
    done: BTreeSet<u64>,
    /// Segments of which something could not be read.
    bad: BTreeSet<u64>,
    /// Whether it can do no more before the next checkpoint.
    pub(super) waits: bool,
    /// Room for what it moves and for what leads to that.
    pub(super) needs: u64,
    /// Room behind the last checkpoint, and whether what was cleaned before it had gained none.
    had: u64,
    lean: bool,
    /// Segments that were cleaned since something that had changed was written.
    vain: u64,
    /// Segments that were cleaned, blocks that were read for it, and blocks that were moved.
    pub(super) cleaned: u64,
    pub(super) read: u64,
    pub(super) moved: u64,
}

impl Cleaner {
    /// Data that are to leave their segments, the longest dirty first.
    pub(super) fn moves(&self) -> impl Iterator<Item = Key> {
        self.row.values().copied()
    }

    /// A block of data that is dirty since then is to leave its segment.
    pub(super) fn begin_move(&mut self, key: Key, since: u64, unchanged: bool) {
        self.moves.insert(key, (since, unchanged));
        self.row.insert(since, key);
    }

    /// A block is written: if it is moved, whether it is as it was.
    pub(super) fn move_goes(&mut self, key: Key) -> Option<bool> {
        let moves = self.forget(key);
        if key.is_data() && moves != Some(true) {
            self.vain = 0;
        }
        moves
    }

    /// A segment is being read, and so much room is kept for it.
    #[cfg(test)]
    pub(super) fn begin_to_read(&mut self, segment: u64, needs: u64) {
        (self.victims, self.coming, self.needs) = (vec![segment], 1, needs);
    }

    /// Whether it reads.
    pub(super) fn reads(&self) -> bool {
        self.coming > 0
    }

    /// Whether it reads nothing and moves nothing.
    pub(super) fn is_idle(&self) -> bool {
        self.coming == 0 && self.moves.is_empty()
    }

    /// A checkpoint has ended, and there is so much room. If what was cleaned before it has cost
    /// all that it gained, segments with the fewest live blocks are next, until something that has
    /// changed has been written.
    pub(super) fn begin_anew(&mut self, room: u64) {
        let gained = self.done.is_empty() || room > self.had;
        self.lean = self.vain > 0 && (self.lean || !gained);
        self.had = room;
        self.done.clear();
    }

    /// A block has changed.
    pub(super) fn changed(&mut self, key: Key) {
        if let Some((_, unchanged)) = self.moves.get_mut(&key) {
            *unchanged = false;
        }
    }

    /// A block is to leave no more; if it was, whether it had not changed besides.
    pub(super) fn forget(&mut self, key: Key) -> Option<bool> {
        let (since, unchanged) = self.moves.remove(&key)?;
        self.row.remove(&since);
        Some(unchanged)
    }
}

impl FileSystem {
    /// Looks what is to be cleaned.
    fn plan_cleaning(&mut self) {
        let Some(log) = self.log.as_mut().filter(|log| !log.stuck) else {
            return;
        };
        let size = log.segments.size();
        let (room, dead) = (log.room(), log.segments.dead());
        let dirty = self.pages.len();
        let [below, until] = [log.settings.clean_below, log.settings.clean_until]
            .map(|one| one * size + dirty + log.above());
        // When nobody will change anything any more, room is needed for what is dirty alone.
        let needs = !log.is_synced() || log.is_scarce(dirty) && dirty > 0;
        let cleaner = &mut log.cleaner;
        cleaner.waits = false;
        cleaner.active = needs && room + dead < until && (cleaner.active || room < below);
        if !cleaner.is_idle() {
            return;
        }
        cleaner.needs = 0;
        if !needs || room >= until {
            return;
        }
        let before = self.pages.dirty().filter(|key| !key.is_data());
        let before = self.with_above(before.collect(), &BTreeSet::new());
        let goes_before = !before.is_empty();
        // Where cleaning costs all that it gains, it ends after going round twice.
        let log = self.log.as_ref().expect("it is a log");
        let is_vain = log.cleaner.vain > 2 * log.segments.count();
        let active = log.cleaner.active && !is_vain;
        let wanted = if active {
            until.saturating_sub(room + dead)
        } else {
            0
        };
        let leaving = self.choose_victims(before, wanted);
        let request = self.settings.request_blocks;
        let log = self.log.as_mut().expect("it is a log");
        let needs_room = log.need(leaving.len() as u64, request);
        log.cleaner.needs = needs_room;
        let waits = log.cleaner.coming == 0 && (dead > 0 || goes_before);
        log.cleaner.waits = needs && room < below && waits;
    }

    /// Chooses segments until so many blocks are gained, or there is no room to write what lives
    /// there and what leads to it; what goes before has to be written, too. Gives all that.
    fn choose_victims(&mut self, mut leaving: BTreeSet<Key>, wanted: u64) -> BTreeSet<Key> {
        let (most, request) = (self.settings.cache_blocks / 2, self.settings.request_blocks);
        let (mut sum, mut gained) = (0, 0);
        while gained < wanted {
            let log = self.log.as_ref().expect("it is a log");
            let room = log.room();
            let greedy = (sum == 0).then_some(CleanBy::Greedy);
            let by = match log.cleaner.lean {
                true => CleanBy::Greedy,
                false => log.settings.clean_by,
            };
            let mut ways = std::iter::once(by).chain(greedy);
            let found = ways.find_map(|by| {
                let segment = self.worst(by)?;
                let more = self.more_with(segment, &leaving);
                let (live, open) = (log.segments.live_in(segment), log.segments.open_in(segment));
                let needs = log.need((leaving.len() + more.len()) as u64, request) + open;
                let fits = needs <= room;
                (fits && (sum == 0 || sum + live <= most)).then_some((segment, more))
            });
            let Some((segment, more)) = found else { break };
            leaving.extend(more);
            let log = self.log.as_mut().expect("it is a log");
            let of = &mut log.segments;
            let (live, open) = (of.live_in(segment), of.open_in(segment));
            (sum, gained) = (sum + live, gained + of.size() - live - open);
            // What is moved is not to land where it leaves.
            of.close(segment);
            log.cleaner.victims.push(segment);
            self.ask_for(segment);
        }
        leaving
    }

    /// The segment that is most worth cleaning, of those that were not read since the last
    /// checkpoint.
    fn worst(&self, by: CleanBy) -> Option<u64> {
        let log = self.log.as_ref().expect("it is a log");
        let cleaner = &log.cleaner;
        let may = |one: u64| {
            let is_taken = cleaner.victims.contains(&one) || cleaner.done.contains(&one);
            log.written_now() != Some(one) && !is_taken && !cleaner.bad.contains(&one)
        };
        log.segments.worst(by, log.clock(), may)
    }

    /// What lives in a segment and all that leads to that, besides these.
    fn more_with(&self, segment: u64, besides: &BTreeSet<Key>) -> BTreeSet<Key> {
        let log = self.log.as_ref().expect("it is a log");
        let living = log.segments.living_in(segment).map(|(_, key, _)| key);
        self.with_above(living.collect(), besides)
    }

    /// These blocks and all that leads to them, but for some.
    fn with_above(&self, mut left: Vec<Key>, besides: &BTreeSet<Key>) -> BTreeSet<Key> {
        let mut all = BTreeSet::new();
        while let Some(key) = left.pop() {
            if !besides.contains(&key) && all.insert(key) {
                left.extend(self.leads_to(key));
            }
        }
        all
    }

    /// A segment is to be read.
    fn ask_for(&mut self, segment: u64) {
        let most = self.settings.request_blocks;
        let log = self.log.as_mut().expect("it is a log");
        let places: Vec<u64> = log.segments.living_in(segment).map(|(at, ..)| at).collect();
        let (first, last) = (places[0], places[places.len() - 1]);
        let cleaner = &mut log.cleaner;
        for begin in (first..=last).step_by(most as usize) {
            let len = most.min(last + 1 - begin);
            cleaner.asks.push_back((begin, len));
            cleaner.coming += 1;
            cleaner.read += len;
        }
        cleaner.cleaned += 1;
        cleaner.vain += 1;
    }

    /// What the cleaner wants to read next.
    pub fn next_read(&mut self) -> Option<Run> {
        self.plan_cleaning();
        self.log.as_mut()?.cleaner.asks.pop_front()
    }

    /// It has been read, if it could be.
    pub fn ended_read(&mut self, run: Run, done: bool) {
        let log = self.log.as_mut().expect("it is a log");
        let is_of = |segment: &&u64| log.segments.blocks_of(**segment).contains(&run.0);
        if !done {
            let bad = log.cleaner.victims.iter().find(is_of).copied();
            log.cleaner.bad.extend(bad);
        }
        log.cleaner.coming -= 1;
        if log.cleaner.coming > 0 {
            return;
        }
        let victims = std::mem::take(&mut log.cleaner.victims);
        log.cleaner.done.extend(&victims);
        let good = victims.iter().filter(|one| !log.cleaner.bad.contains(one));
        let living = good.flat_map(|segment| log.segments.living_in(*segment));
        for key in by_age(living.collect()) {
            let was_clean = !self.pages.has(key);
            if was_clean {
                self.pages.touch(key);
            }
            // What is on its way leaves by itself.
            let since = self.pages.since(key).filter(|_| key.is_data());
            let cleaner = &mut self.log.as_mut().expect("it is a log").cleaner;
            cleaner.moved += u64::from(was_clean);
            if let Some(since) = since {
                cleaner.begin_move(key, since, was_clean);
            }
        }
    }
}

/// What lives at some places and when it changed: the oldest first, of equals in the order in which
/// they lie.
fn by_age(mut living: Vec<(u64, Key, u64)>) -> Vec<Key> {
    living.sort_unstable_by_key(|(at, _, changed)| (*changed, *at));
    living.into_iter().map(|(_, key, _)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filesystem::ROOT;
    use crate::filesystem::flush::{Ended, Goes};
    use crate::filesystem::log_tests::small;
    use crate::filesystem::shape::BYTES;

    #[test]
    fn the_oldest_come_to_lie_together() {
        let key = |number| Key::Data(1, number);
        let living = vec![
            (70, key(0), 9),
            (80, key(1), 2),
            (75, key(2), 9),
            (60, key(3), 5),
        ];
        assert_eq!(by_age(living), [1, 3, 0, 2].map(key));
    }

    fn write_all(files: &mut FileSystem) {
        while let Some(going) = files.next_write() {
            let at = match &going.goes {
                Goes::Log(write) => write.at.expect("it is in row"),
                Goes::Checkpoint(at) => *at,
                other => panic!("{other:?} is of no log"),
            };
            files.ended(going, Ended::At(at));
        }
    }

    /// Data that have changed wait where the cleaner needs what is left, but for those that live
    /// where it cleans: else their segment never became free.
    #[test]
    fn what_has_changed_waits_for_room_but_leaves_a_segment_that_is_cleaned() {
        let mut files = small(false, 0.0);
        let file = files.make(0, ROOT, false).unwrap();
        files.write(file, 0, 10 * BYTES).unwrap();
        write_all(&mut files);
        files.write(file, 0, 5 * BYTES).unwrap();
        let log = files.log.as_mut().unwrap();
        log.cleaner.begin_to_read(1, log.room());
        assert!(
            files.next_write().is_none(),
            "the cleaner needs all that is left"
        );
        files.ended_read((42, 40), true);
        let going = files.next_write().expect("it leaves its segment");
        let keys: Vec<Key> = going.blocks.iter().map(|(key, _)| *key).collect();
        let data = keys.iter().filter(|key| matches!(key, Key::Data(1, _)));
        // Those that have changed, and those that have not and are moved.
        assert_eq!(data.count(), 10, "{keys:?}");
        let log = files.log.as_ref().unwrap();
        assert_eq!((log.cleaner.moved, log.cleaner.vain), (5 + 1, 0));
    }
}
