//! Queues of lines, from which any line may be taken: what most caches are made of.
//!
//! A queue is a log. A line that joins is written behind the last one, and a word of the line says
//! in which queue it is and where. A line that is taken leaves its entry behind, which a bit then
//! says is dead; so nothing has to be linked, and what is moved most, the newest, lies side by
//! side. The oldest line is the first entry that is alive: bits are looked at 64 at a time. When a
//! log is full, those that are alive move up to its front. That is when at least three in four
//! entries are dead, so it costs O(1) per line that joined.
//!
//! An entry may have a mark, which stays with the line as long as that stays where it is. A hand
//! may point at an entry. Four bytes for each line that is known, and up to seventeen for each that
//! is in a queue.

use prefetch_index::prefetch_index;

use crate::ids::Line;

/// Entries of a log that need not be full of dead ones before it is compacted.
const LOG_MIN: usize = 1 << 10;
/// A log has room for so many times the lines that are in it.
const ROOM: usize = 4;
/// What is known of a line is fetched from memory so many entries before it gets a new place.
const COMPACT_SOON: usize = 64;
/// Bits of a place that say where in its log a line is.
const POSITION_BITS: u32 = 29;
/// In no queue.
const NOWHERE: u32 = u32::MAX;

/// `N` queues, at most seven with what is aside, and something that lies beside the place of each
/// line: what is looked at whenever that is, as another array would be another line of the
/// processor's cache.
#[derive(Clone, Debug)]
pub(super) struct Queues<const N: usize, B = ()> {
    lines: Vec<Known<B>>,
    logs: [Log; N],
}

/// What is known of a line.
#[derive(Clone, Copy, Debug)]
struct Known<B> {
    /// Its queue, and its position there.
    place: u32,
    beside: B,
}

/// The entries of a queue, the oldest first. Its memory is there before it is needed: most of what
/// is done here is to write an entry, and nothing has to grow then.
#[derive(Clone, Debug)]
struct Log {
    lines: Vec<Line>,
    /// Behind the newest entry.
    end: usize,
    /// Whether the line of an entry is still there.
    alive: Vec<u64>,
    marks: Vec<u64>,
    /// No entry before this word is alive.
    head: usize,
    /// Where the hand points.
    hand: usize,
    len: usize,
}

/// The bit of an entry: which word has it, and where.
#[inline]
const fn bit(position: usize) -> (usize, u64) {
    (position / 64, 1 << (position % 64))
}

impl Log {
    /// An empty one.
    fn new() -> Log {
        Log {
            lines: vec![Line(0); LOG_MIN],
            end: 0,
            alive: vec![0; LOG_MIN / 64],
            marks: vec![0; LOG_MIN / 64],
            head: 0,
            hand: 0,
            len: 0,
        }
    }

    /// The first entry that is alive, from this one on.
    #[inline]
    fn next(&self, from: usize) -> Option<usize> {
        let alive = &self.alive[..self.end.div_ceil(64)];
        let mut word = from / 64;
        let mut bits = alive.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *alive.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// The first entry that is alive and not marked, from this one on. Those before it lose their
    /// marks.
    #[inline]
    fn pass(&mut self, from: usize) -> Option<usize> {
        let words = self.end.div_ceil(64);
        let mut word = from / 64;
        let mut seen = u64::MAX << (from % 64);
        loop {
            let alive = *self.alive[..words].get(word)?;
            let unmarked = alive & !self.marks[word] & seen;
            if unmarked != 0 {
                // All below the lowest of them.
                seen &= (unmarked & unmarked.wrapping_neg()) - 1;
                self.marks[word] &= !seen;
                return Some(word * 64 + unmarked.trailing_zeros() as usize);
            }
            self.marks[word] &= !seen;
            (word, seen) = (word + 1, u64::MAX);
        }
    }

    /// The oldest entry that is alive.
    #[inline]
    fn first(&mut self) -> Option<usize> {
        let first = self.next(self.head * 64)?;
        self.head = first / 64;
        Some(first)
    }

    /// The newest entry that is alive. Those behind it, which are not, go.
    #[inline]
    fn last(&mut self) -> Option<usize> {
        loop {
            let Some(position) = self.end.checked_sub(1) else {
                (self.head, self.hand) = (0, 0);
                return None;
            };
            let (word, bit) = bit(position);
            if self.alive[word] & bit != 0 {
                return Some(position);
            }
            self.end = position;
            self.head = self.head.min(position / 64);
            self.hand = self.hand.min(position);
        }
    }

    /// Whether no entry can be written before it is compacted.
    #[inline]
    fn is_full(&self) -> bool {
        self.end == self.lines.len()
    }

    /// Writes a line behind all others. Its position.
    #[inline]
    fn push(&mut self, line: Line) -> usize {
        let position = self.end;
        let (word, bit) = bit(position);
        self.lines[position] = line;
        self.alive[word] |= bit;
        self.end += 1;
        self.len += 1;
        position
    }

    #[inline]
    fn take(&mut self, position: usize) {
        let (word, bit) = bit(position);
        self.alive[word] &= !bit;
        self.marks[word] &= !bit;
        self.len -= 1;
    }

    /// Moves all that is alive to the front. What is known of each line is told its new position,
    /// as a place in this queue.
    #[cold]
    #[inline(never)]
    fn compact<B>(&mut self, queue: usize, known: &mut [Known<B>]) {
        let mut to = 0;
        let mut from = self.first();
        let mut hand = None;
        while let Some(position) = from {
            let (word, own) = bit(position);
            let is_marked = self.marks[word] & own != 0;
            if position >= self.hand {
                hand.get_or_insert(to);
            }
            // Lines are anywhere, so what is known of them is in no cache of the processor.
            let soon = self.lines[(position + COMPACT_SOON).min(self.end - 1)];
            prefetch_index(&*known, soon.index());
            let line = self.lines[position];
            self.take(position);
            self.len += 1;
            let (word, own) = bit(to);
            self.lines[to] = line;
            self.alive[word] |= own;
            if is_marked {
                self.marks[word] |= own;
            }
            known[line.index()].place = place(queue, to);
            to += 1;
            from = self.next(position + 1);
        }
        let room = (ROOM * to).max(LOG_MIN);
        self.lines.resize(room, Line(0));
        self.alive.resize(room.div_ceil(64), 0);
        self.marks.resize(room.div_ceil(64), 0);
        self.end = to;
        self.head = 0;
        self.hand = hand.unwrap_or(0);
    }
}

impl<const N: usize, B: Copy + Default> Queues<N, B> {
    /// Empty ones.
    pub(super) fn new() -> Queues<N, B> {
        Queues {
            lines: Vec::new(),
            logs: std::array::from_fn(|_| Log::new()),
        }
    }

    /// Lines below this number may come.
    pub(super) fn reserve(&mut self, lines: u32) {
        if self.lines.len() < lines as usize {
            let unknown = Known {
                place: NOWHERE,
                beside: B::default(),
            };
            self.lines.resize(lines as usize, unknown);
        }
    }

    /// A line will be asked for in a moment: what is known of it is fetched from memory meanwhile.
    #[inline]
    pub(super) fn fetch(&self, line: Line) {
        prefetch_index(&self.lines, line.index());
    }

    /// All lines that may come.
    pub(super) fn known(&self) -> impl Iterator<Item = Line> + use<N, B> {
        (0..self.lines.len() as u32).map(Line)
    }

    /// In which queue a line is, or as what it is aside.
    #[inline]
    pub(super) fn of(&self, line: Line) -> Option<usize> {
        let place = self.lines[line.index()].place;
        (place != NOWHERE).then_some((place >> POSITION_BITS) as usize)
    }

    /// What lies beside the place of a line.
    #[inline]
    pub(super) fn beside(&self, line: Line) -> &B {
        &self.lines[line.index()].beside
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn beside_mut(&mut self, line: Line) -> &mut B {
        &mut self.lines[line.index()].beside
    }

    /// How many lines a queue has.
    #[inline]
    pub(super) fn len(&self, queue: usize) -> usize {
        self.logs[queue].len
    }

    /// A line that is in no queue joins one.
    #[inline(always)]
    pub(super) fn push(&mut self, queue: usize, line: Line) {
        let log = &mut self.logs[queue];
        if log.is_full() {
            log.compact(queue, &mut self.lines);
        }
        let position = log.push(line);
        self.lines[line.index()].place = place(queue, position);
    }

    /// A line leaves its queue, if it is in one.
    #[inline]
    pub(super) fn take(&mut self, line: Line) {
        #[cfg(test)]
        steps::count();
        let place = std::mem::replace(&mut self.lines[line.index()].place, NOWHERE);
        let queue = (place >> POSITION_BITS) as usize;
        if queue < N {
            self.logs[queue].take(position(place));
        }
    }

    /// A line leaves its queue, and joins this one, or the same, as the newest.
    #[inline]
    pub(super) fn renew(&mut self, queue: usize, line: Line) {
        self.take(line);
        self.push(queue, line);
    }

    /// A line leaves its queue and is only known to be this from then on: a number that is no
    /// queue's.
    #[inline]
    pub(super) fn set_aside(&mut self, line: Line, what: usize) {
        self.take(line);
        self.lines[line.index()].place = place(what, 0);
    }

    /// The oldest line of a queue.
    #[inline]
    pub(super) fn first(&mut self, queue: usize) -> Option<Line> {
        #[cfg(test)]
        steps::count();
        let log = &mut self.logs[queue];
        log.first().map(|position| log.lines[position])
    }

    /// The newest line of a queue.
    #[inline]
    pub(super) fn last(&mut self, queue: usize) -> Option<Line> {
        let log = &mut self.logs[queue];
        log.last().map(|position| log.lines[position])
    }

    /// The oldest line leaves its queue.
    #[inline]
    pub(super) fn pop(&mut self, queue: usize) -> Option<Line> {
        let (line, _) = self.take_first(queue)?;
        self.lines[line.index()].place = NOWHERE;
        Some(line)
    }

    /// The oldest line leaves its queue, and joins another one, or the same, as the newest.
    #[inline]
    pub(super) fn shift(&mut self, from: usize, to: usize) -> Option<Line> {
        let (line, _) = self.take_first(from)?;
        self.push(to, line);
        Some(line)
    }

    /// The same where that queue may have `most` lines: its oldest goes for it, or the line joins
    /// none if that is 0.
    #[inline]
    pub(super) fn shift_of_most(&mut self, from: usize, to: usize, most: usize) -> Option<Line> {
        if self.len(to) >= most {
            self.pop(to);
        }
        match most {
            0 => self.pop(from),
            _ => self.shift(from, to),
        }
    }

    /// The oldest line without a mark leaves its queue. Those before it lose their marks and become
    /// the newest.
    #[inline]
    pub(super) fn pop_unmarked(&mut self, queue: usize) -> Option<Line> {
        loop {
            let (line, was_marked) = self.take_first(queue)?;
            if !was_marked {
                self.lines[line.index()].place = NOWHERE;
                return Some(line);
            }
            self.push(queue, line);
        }
    }

    /// Takes the oldest entry of a queue, and says whether it was marked. Where its line is has to
    /// be told by whoever asks: that is a word which is in no cache of the processor, and need not
    /// be read, as it is known what it says.
    #[inline(always)]
    fn take_first(&mut self, queue: usize) -> Option<(Line, bool)> {
        #[cfg(test)]
        steps::count();
        let log = &mut self.logs[queue];
        let position = log.first()?;
        let (word, bit) = bit(position);
        let was_marked = log.marks[word] & bit != 0;
        log.take(position);
        Some((log.lines[position], was_marked))
    }

    /// Marks a line, until it leaves its queue or the hand passes it.
    #[inline]
    pub(super) fn mark(&mut self, line: Line) {
        let place = self.lines[line.index()].place;
        let (word, bit) = bit(position(place));
        self.logs[(place >> POSITION_BITS) as usize].marks[word] |= bit;
    }

    /// Whether a line is marked.
    #[inline]
    pub(super) fn is_marked(&self, line: Line) -> bool {
        let place = self.lines[line.index()].place;
        let (word, bit) = bit(position(place));
        self.logs[(place >> POSITION_BITS) as usize].marks[word] & bit != 0
    }

    /// Moves the hand to the first line without a mark, from where it points towards the newest one
    /// and on from the oldest. Those that it passes lose their marks. That line leaves, and the
    /// hand points at the next one.
    pub(super) fn sweep(&mut self, queue: usize) -> Option<Line> {
        let log = &mut self.logs[queue];
        let oldest = log.first()?;
        let at = match log.pass(log.hand) {
            Some(at) => at,
            // All from there on had marks, and from the oldest one on perhaps all before it.
            None => log.pass(oldest).or_else(|| log.pass(oldest))?,
        };
        let line = log.lines[at];
        log.take(at);
        // Behind the newest it begins anew, though newer ones come.
        log.hand = log.next(at + 1).unwrap_or(0);
        self.lines[line.index()].place = NOWHERE;
        Some(line)
    }

    /// Recounts everything and panics on a contradiction.
    pub(super) fn audit(&self) {
        for (queue, log) in self.logs.iter().enumerate() {
            let mut found = 0;
            let mut from = log.next(0);
            while let Some(position) = from {
                let of = self.lines[log.lines[position].index()].place;
                assert_eq!(of, place(queue, position), "where a line is");
                found += 1;
                from = log.next(position + 1);
            }
            assert_eq!(found, log.len, "lines of queue {queue}");
            let places = self.lines.iter().map(|known| known.place);
            let known = places.filter(|of| *of != NOWHERE);
            let here = known.filter(|of| (*of >> POSITION_BITS) as usize == queue);
            assert_eq!(
                here.count(),
                log.len,
                "lines that say they are in queue {queue}"
            );
        }
    }
}

#[inline]
fn place(queue: usize, position: usize) -> u32 {
    debug_assert!(position < 1 << POSITION_BITS, "a log is that long");
    (queue as u32) << POSITION_BITS | position as u32
}

#[inline]
fn position(place: u32) -> usize {
    (place & ((1 << POSITION_BITS) - 1)) as usize
}

/// How much tests let a policy do, so that one which goes round in a circle fails instead of never
/// ending.
#[cfg(test)]
pub(super) mod steps {
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<(u64, &'static str)> = const { Cell::new((u64::MAX, "")) };
    }

    /// From now on, in this thread, the policy of this name may look for the oldest line or take a
    /// line out `steps` times in all.
    pub(in crate::cache) fn allow(steps: u64, policy: &'static str) {
        LEFT.set((steps, policy));
    }

    pub(super) fn count() {
        let (left, policy) = LEFT.get();
        assert!(
            left > 0,
            "{policy} goes round in a circle: no request takes that many steps"
        );
        LEFT.set((left - 1, policy));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::rng::Rng;

    /// A queue as anybody would write it: lines with their marks, the oldest first, and the number
    /// of the line at which the hand points.
    #[derive(Default)]
    struct Twin {
        queues: [VecDeque<(Line, bool)>; 2],
        hand: Option<Line>,
    }

    impl Twin {
        fn take(&mut self, line: Line) {
            for queue in &mut self.queues {
                queue.retain(|(one, _)| *one != line);
            }
        }

        fn pop_unmarked(&mut self, queue: usize) -> Option<Line> {
            let queue = &mut self.queues[queue];
            while queue.front()?.1 {
                let (line, _) = queue.pop_front()?;
                queue.push_back((line, false));
            }
            queue.pop_front().map(|(line, _)| line)
        }

        fn shift(&mut self, from: usize, to: usize) -> Option<Line> {
            let (line, _) = self.queues[from].pop_front()?;
            self.queues[to].push_back((line, false));
            Some(line)
        }

        fn sweep(&mut self) -> Option<Line> {
            let queue = &mut self.queues[0];
            let place = |line| queue.iter().position(|(one, _)| *one == line);
            let mut at = self.hand.and_then(place).unwrap_or(0);
            while queue.get(at)?.1 {
                queue[at].1 = false;
                at = (at + 1) % queue.len();
            }
            let (line, _) = queue.remove(at)?;
            self.hand = queue.get(at).map(|(line, _)| *line);
            Some(line)
        }
    }

    #[test]
    fn a_log_is_a_queue() {
        for seed in 0..8 {
            let mut rng = Rng::stream(seed, "queues");
            let (mut queues, mut twin) = (Queues::<2>::new(), Twin::default());
            let lines = [20, 3_000][seed as usize % 2];
            queues.reserve(lines);
            for _ in 0..20_000 {
                let line = Line(rng.below(lines.into()) as u32);
                let queue = rng.below(2) as usize;
                match rng.below(9) {
                    0 | 1 if queues.of(line).is_none() => {
                        queues.push(queue, line);
                        twin.queues[queue].push_back((line, false));
                    }
                    0..=2 if twin.hand != Some(line) && queues.of(line).is_some() => {
                        queues.renew(queue, line);
                        twin.take(line);
                        twin.queues[queue].push_back((line, false));
                    }
                    3 => {
                        let popped = twin.queues[1].pop_front().map(|(line, _)| line);
                        assert_eq!(queues.pop(1), popped);
                    }
                    4 => assert_eq!(queues.sweep(0), twin.sweep()),
                    5 => assert_eq!(queues.pop_unmarked(1), twin.pop_unmarked(1)),
                    6 => assert_eq!(queues.shift(1, queue), twin.shift(1, queue)),
                    _ if queues.of(line).is_some() => {
                        queues.mark(line);
                        let mut one = twin.queues.iter_mut().flatten();
                        one.find(|(one, _)| *one == line).unwrap().1 = true;
                    }
                    _ => {}
                }
                let newest = twin.queues[0].back().map(|(line, _)| *line);
                if rng.chance(0.2) {
                    assert_eq!(queues.last(0), newest);
                }
                let lens = [0, 1].map(|queue| queues.len(queue));
                assert_eq!(lens, [0, 1].map(|queue| twin.queues[queue].len()));
            }
            queues.audit();
            for queue in 0..2 {
                while let Some(line) = queues.pop(queue) {
                    assert_eq!(twin.queues[queue].pop_front().unwrap().0, line);
                }
            }
        }
    }
}
