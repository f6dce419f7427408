//! Queues of lines, from which any line may be taken: what most caches are made of.
//!
//! A queue is a log. A line that joins is written behind the last one, and a word of the line says in which queue it is and where. A line
//! that is taken leaves its entry behind, which a bit then says is dead; so nothing has to be linked, and what is moved most, the newest, lies side
//! by side. The oldest line is the first entry that is alive: bits are looked at 64 at a time. When a log is full, those that are alive
//! move up to its front. That is when at least three in four entries are dead, so it costs O(1) per line that joined.
//!
//! An entry may have a mark, which stays with the line as long as that stays where it is. A hand may point at an entry. Four bytes for each line that
//! is known, four to sixteen and two bits for each that is in a queue.

use prefetch_index::prefetch_index;

use crate::ids::Line;

/// Entries of a log that need not be full of dead ones before it is compacted.
const LOG_MIN: usize = 1 << 10;
/// A log has room for so many times the lines that are in it.
const ROOM: usize = 4;
/// Bits of a place that say where in its log a line is.
const POSITION_BITS: u32 = 29;
/// In no queue.
const NOWHERE: u32 = u32::MAX;

/// `N` queues, at most seven with what is aside.
#[derive(Clone, Debug)]
pub(super) struct Queues<const N: usize> {
    /// By line: its queue, and its position there.
    places: Vec<u32>,
    logs: [Log; N],
}

/// The entries of a queue, the oldest first.
#[derive(Clone, Debug, Default)]
struct Log {
    lines: Vec<Line>,
    /// Whether the line of an entry is still there.
    alive: Vec<u64>,
    marks: Vec<u64>,
    /// No entry before this word is alive.
    head: usize,
    /// Where the hand points.
    hand: usize,
    len: usize,
    /// Entries at which it is compacted.
    limit: usize,
}

/// The bit of an entry: which word has it, and where.
#[inline]
const fn bit(position: usize) -> (usize, u64) {
    (position / 64, 1 << (position % 64))
}

impl Log {
    /// The first entry that is alive, from this one on.
    #[inline]
    fn next(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.alive.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.alive.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// The first entry that is alive and not marked, from this one on. Those before it lose their marks.
    #[inline]
    fn pass(&mut self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut seen = u64::MAX << (from % 64);
        loop {
            let alive = *self.alive.get(word)?;
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
            let Some(position) = self.lines.len().checked_sub(1) else {
                (self.head, self.hand) = (0, 0);
                return None;
            };
            let (word, bit) = bit(position);
            if self.alive[word] & bit != 0 {
                return Some(position);
            }
            self.lines.pop();
            self.head = self.head.min(position / 64);
            self.hand = self.hand.min(position);
        }
    }

    /// Writes a line behind all others. Its position.
    #[inline]
    fn push(&mut self, line: Line) -> usize {
        let position = self.lines.len();
        let (word, bit) = bit(position);
        if word == self.alive.len() {
            self.alive.push(0);
            self.marks.push(0);
        }
        self.lines.push(line);
        self.alive[word] |= bit;
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

    /// Moves all that is alive to the front; `moved` is told of each line and its new position.
    #[cold]
    fn compact(&mut self, mut moved: impl FnMut(Line, usize)) {
        let mut to = 0;
        let mut from = self.first();
        let mut hand = None;
        while let Some(position) = from {
            let (word, own) = bit(position);
            let is_marked = self.marks[word] & own != 0;
            if position >= self.hand {
                hand.get_or_insert(to);
            }
            let line = self.lines[position];
            self.take(position);
            self.len += 1;
            let (word, own) = bit(to);
            self.lines[to] = line;
            self.alive[word] |= own;
            if is_marked {
                self.marks[word] |= own;
            }
            moved(line, to);
            to += 1;
            from = self.next(position + 1);
        }
        self.lines.truncate(to);
        self.alive.truncate(to.div_ceil(64));
        self.marks.truncate(to.div_ceil(64));
        self.head = 0;
        self.hand = hand.unwrap_or(0);
        self.limit = (ROOM * to).max(LOG_MIN);
    }
}

impl<const N: usize> Queues<N> {
    /// Empty ones.
    pub(super) fn new() -> Queues<N> {
        let log = || Log {
            limit: LOG_MIN,
            ..Log::default()
        };
        Queues {
            places: Vec::new(),
            logs: std::array::from_fn(|_| log()),
        }
    }

    /// Lines below this number may come.
    pub(super) fn reserve(&mut self, lines: u32) {
        if self.places.len() < lines as usize {
            self.places.resize(lines as usize, NOWHERE);
        }
    }

    /// A line will be asked for in a moment: what is known of it is fetched from memory meanwhile.
    #[inline]
    pub(super) fn fetch(&self, line: Line) {
        prefetch_index(&self.places, line.index());
    }

    /// In which queue a line is, or as what it is aside.
    #[inline]
    pub(super) fn of(&self, line: Line) -> Option<usize> {
        let place = self.places[line.index()];
        (place != NOWHERE).then_some((place >> POSITION_BITS) as usize)
    }

    /// How many lines a queue has.
    #[inline]
    pub(super) fn len(&self, queue: usize) -> usize {
        self.logs[queue].len
    }

    /// A line that is in no queue joins one.
    #[inline]
    pub(super) fn push(&mut self, queue: usize, line: Line) {
        let log = &mut self.logs[queue];
        if log.lines.len() >= log.limit {
            let places = &mut self.places;
            log.compact(|line, position| places[line.index()] = place(queue, position));
        }
        let position = log.push(line);
        self.places[line.index()] = place(queue, position);
    }

    /// A line leaves its queue, if it is in one.
    #[inline]
    pub(super) fn take(&mut self, line: Line) {
        #[cfg(test)]
        steps::count();
        let place = std::mem::replace(&mut self.places[line.index()], NOWHERE);
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

    /// A line leaves its queue and is only known to be this from then on: a number that is no queue's.
    #[inline]
    pub(super) fn set_aside(&mut self, line: Line, what: usize) {
        self.take(line);
        self.places[line.index()] = place(what, 0);
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
        self.places[line.index()] = NOWHERE;
        Some(line)
    }

    /// The oldest line leaves its queue, and joins another one, or the same, as the newest.
    #[inline]
    pub(super) fn shift(&mut self, from: usize, to: usize) -> Option<Line> {
        let (line, _) = self.take_first(from)?;
        self.push(to, line);
        Some(line)
    }

    /// The same where that queue may have `most` lines: its oldest goes for it, or the line joins none if that is 0.
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

    /// The oldest line without a mark leaves its queue. Those before it lose their marks and become the newest.
    #[inline]
    pub(super) fn pop_unmarked(&mut self, queue: usize) -> Option<Line> {
        loop {
            let (line, was_marked) = self.take_first(queue)?;
            if !was_marked {
                self.places[line.index()] = NOWHERE;
                return Some(line);
            }
            self.push(queue, line);
        }
    }

    /// Takes the oldest entry of a queue, and says whether it was marked. Where its line is has to be told by whoever asks: that is a word which is in
    /// no cache of the processor, and need not be read, as it is known what it says.
    #[inline]
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
        let place = self.places[line.index()];
        let (word, bit) = bit(position(place));
        self.logs[(place >> POSITION_BITS) as usize].marks[word] |= bit;
    }

    /// Whether a line is marked.
    #[inline]
    pub(super) fn is_marked(&self, line: Line) -> bool {
        let place = self.places[line.index()];
        let (word, bit) = bit(position(place));
        self.logs[(place >> POSITION_BITS) as usize].marks[word] & bit != 0
    }

    /// Moves the hand to the first line without a mark, from where it points towards the newest one and on from the oldest. Those that it
    /// passes lose their marks. That line leaves, and the hand points at the next one.
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
        self.places[line.index()] = NOWHERE;
        Some(line)
    }

    /// Recounts everything and panics on a contradiction.
    pub(super) fn audit(&self) {
        for (queue, log) in self.logs.iter().enumerate() {
            let mut found = 0;
            let mut from = log.next(0);
            while let Some(position) = from {
                let of = self.places[log.lines[position].index()];
                assert_eq!(of, place(queue, position), "where a line is");
                found += 1;
                from = log.next(position + 1);
            }
            assert_eq!(found, log.len, "lines of queue {queue}");
            let known = self.places.iter().filter(|of| **of != NOWHERE);
            let here = known.filter(|of| (**of >> POSITION_BITS) as usize == queue);
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

/// How much tests let a policy do, so that one which goes round in a circle fails instead of never ending.
#[cfg(test)]
pub(super) mod steps {
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<(u64, &'static str)> = const { Cell::new((u64::MAX, "")) };
    }

    /// So many looks for the oldest and takes of a line are allowed from now on, in this thread, to the policy of this name.
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

    /// A queue as anybody would write it: lines with their marks, the oldest first, and the number of the line at which the hand points.
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
