//! The contracts of what lies above a placement: which lines of a volume stay in memory, what is
//! brought before it is asked for, and which unit of a write buffer goes to the drives next.

use super::{Entering, Pattern};
use crate::ids::{Line, Track, Unit};
use crate::measure::Tell;
use crate::units::Blocks;

/// How much of a part of a track is in memory when a read asks for that part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// All of it.
    There,
    /// All that is not there is on its way, or is to be brought for the same read.
    Coming,
    /// Some of it is neither.
    Missed,
}

/// A read asks for a part of a track.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// The track.
    pub track: Track,
    /// How much of that part is in memory.
    pub found: Found,
    /// How many tracks the read touches, which it asks for one by one from the first on.
    pub tracks: u64,
    /// The last of them.
    pub last: Track,
}

/// A bit of a track's note. If a track is to make room though nobody has asked for it since it was
/// brought, and its note has this bit, it stays once more, as if it had just come.
pub const STAYS: u32 = 1 << 31;

/// What is brought before it is asked for.
///
/// It goes by *tracks*: so many consecutive blocks of the volume. It is told of every track that a
/// read touches, whether all of it is there or not, and may want others to be brought. What it has
/// to know of a track it keeps in the track's note, which is 0 when the first page of it is asked
/// for or brought, and forgotten with the last.
pub trait Prefetch: Send {
    /// A read asks for a part of a track. Returns whether that is part of a sequence.
    fn asked(&mut self, touch: Touch, tracks: &mut dyn Around) -> Pattern;

    /// A track that was brought had to make room, and nobody has asked for some of its pages.
    /// Called once each time that a track is brought, with its note at that moment. The track may
    /// have gone, or it stays ([`STAYS`]). Nothing may be brought during this call.
    fn unread(&mut self, _track: Track, _note: u32, _tracks: &mut dyn Around) {}

    /// The most tracks that it brings together. A cache must have room for them.
    fn group(&self) -> u64 {
        0
    }

    /// Tells what it has counted so far, of the measures on its card.
    fn tell(&self, _tell: Tell<'_>) {}
}

/// The tracks of a volume, as who prefetches sees them.
pub trait Around {
    /// The last track of the volume.
    fn last(&self) -> Track;

    /// The note of a track; none if nothing of it is in the cache, nor on its way.
    fn note(&mut self, track: Track) -> Option<&mut u32>;

    /// Brings what is missing of these tracks, from the first to the last, after the pages that
    /// were asked for. Pages that are there already are told to the cache as expected
    /// ([`Cache::expect`]).
    fn bring(&mut self, first: Track, last: Track);
}

/// How a unit of a write buffer was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Whether it waited, and a page that it had was written again.
    pub again: bool,
    /// Whether its last write was part of a sequence, if the policy wants sequences to be told from
    /// the rest ([`Destage::run`]).
    pub sequence: bool,
    /// Pages of it of which something is in the buffer now.
    pub pages: u64,
    /// Whether it waits again only since it could not be written to the drives.
    pub failed: bool,
}

/// Which unit of a write buffer goes to the drives next.
///
/// A unit *waits* from the first write to it until it goes. One that goes is the buffer's affair:
/// if it has something again when it has gone, or could not be written, it is written anew as far
/// as this is concerned.
pub trait Destage: Send {
    /// A unit is written: from now on it waits, if it did not before.
    fn written(&mut self, unit: Unit, how: &Written);

    /// How much is written in a row before what follows is part of a sequence; none if that does
    /// not matter.
    fn run(&self) -> Option<Blocks> {
        None
    }

    /// One that waits goes; none if none waits.
    fn next(&mut self) -> Option<Unit>;

    /// This one, which waits, goes out of turn: all of it is there, or somebody waits until it has
    /// gone.
    fn take(&mut self, unit: Unit);

    /// How many wait.
    fn len(&self) -> usize;

    /// Whether none does.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How many lines [`Cache::ask`] looks ahead: when a line is asked for, the cache fetches what it
/// knows of the line that comes so many later ([`Cache::fetch`]). If there were fewer, that would
/// not have come from memory in time; if there were many more, it would have left the processor's
/// nearest cache again.
pub const SOON: usize = 16;

/// Which lines of a volume stay in memory. It names lines by numbers and knows nothing of what is
/// in them.
///
/// A line that is asked for is hit or missed. One that was missed enters when it has been brought,
/// and before, others leave if there is no room. One that is brought beforehand, or written, is
/// missed as it enters. These calls suit a simulation of the cache alone, where a line that was
/// missed enters at once, and a stack, where it enters when a drive has brought it.
pub trait Cache: Send {
    /// Lines below this number may be asked for from now on.
    fn reserve(&mut self, lines: u32);

    /// A line will be asked for in a moment: the policy may fetch what it knows of it from memory.
    #[inline]
    fn fetch(&self, _line: Line) {}

    /// Whether a line is in the cache.
    fn holds(&self, line: Line) -> bool;

    /// How many lines are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A line that is in the cache is asked for.
    fn hit(&mut self, line: Line);

    /// A line that is in the cache is written.
    fn hit_by_write(&mut self, line: Line) {
        self.hit(line);
    }

    /// From now on there is room for so many lines. If it has more, these leave when
    /// [`Cache::leave`] asks for them.
    fn resize(&mut self, _lines: u32) {}

    /// A line that is not in the cache is asked for, or is to enter though nobody has asked for it.
    fn miss(&mut self, _line: Line) {}

    /// A line leaves, so that this one may enter, which was missed. None if the cache is empty.
    fn leave(&mut self, incoming: Line) -> Option<Line>;

    /// A line that was missed enters; there is room.
    fn enter(&mut self, line: Line);

    /// The same as [`Cache::miss`], by a cache that tells sequences from the rest.
    fn miss_in(&mut self, line: Line, _pattern: Pattern) {
        self.miss(line);
    }

    /// The same as [`Cache::enter`], by a cache that goes by why a line enters, tells sequences
    /// from the rest, or counts pages.
    fn enter_as(&mut self, line: Line, _entering: Entering) {
        self.enter(line);
    }

    /// More pages of a line that is in the cache have come.
    fn grow(&mut self, _line: Line, _pages: u32) {}

    /// Pages of a line that is in the cache are gone; the line stays.
    fn shrink(&mut self, _line: Line, _pages: u32) {}

    /// A line that is in the cache will be asked for soon: a sequence comes to it.
    fn expect(&mut self, _line: Line) {}

    /// Whether its capacity is counted in pages: a line of which few have come leaves room for
    /// others. Else each takes the room of a whole one.
    fn counts_pages(&self) -> bool {
        false
    }

    /// A line that has left with a hit, or beside another one, and of which nobody was told. Asked
    /// after each of these.
    fn left(&mut self) -> Option<Line> {
        None
    }

    /// Whether it always has the lines that were asked for last, as many as it holds, where nothing
    /// belongs to a sequence. One pass then tells what it misses there at any number of sizes.
    fn is_recency(&self) -> bool {
        false
    }

    /// Whether it wants to know when each line is asked for the next time.
    #[inline]
    fn looks_ahead(&self) -> bool {
        false
    }

    /// When the line that is asked for now is asked for the next time; told before it is hit or
    /// missed, if it looks ahead.
    #[inline]
    fn look_ahead(&mut self, _next: u32) {}

    /// These lines are asked for one after the other, and each that was missed enters at once, in a
    /// cache that has room for so many lines. How many were missed. If it looks ahead, `next` says
    /// of each when it is asked for the next time; else it is not looked at.
    fn ask(&mut self, capacity: usize, asked: &[Line], next: &[u32]) -> u64 {
        let mut misses = 0;
        for (index, line) in asked.iter().copied().enumerate() {
            self.fetch(asked[(index + SOON).min(asked.len() - 1)]);
            if self.looks_ahead() {
                self.look_ahead(next[index]);
            }
            if self.holds(line) {
                self.hit(line);
            } else {
                misses += 1;
                self.miss_in(line, Pattern::Random);
                while self.len() >= capacity {
                    self.leave(line);
                }
                self.enter(line);
            }
            while self.left().is_some() {}
        }
        misses
    }

    /// Tells what it has counted so far, of the measures on its card.
    fn tell(&self, _tell: Tell<'_>) {}

    /// Recounts everything from scratch and panics on a contradiction.
    fn audit(&self) {}
}
