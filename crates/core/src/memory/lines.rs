//! What is in memory, what is on its way there, and what a policy says of it.

use super::buffer::Changed;
use super::counts::Counts;
use super::orders::Orders;
use super::shape::{Mask, Shape, bits, runs};
use super::{Move, between, common};
use crate::contract::{Around, Cache, Entering, Found, Pattern, STAYS, Why};
use crate::directory::Directory;
use crate::ids::{Line, RequestId, Track};
use crate::measure::Measure;
use crate::op::Op;
use crate::request::Request;
use crate::sorted::{Keyed, Sorted};
use crate::units::Extent;

/// What is known of a track, a bit for each page.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    track: u64,
    /// In memory.
    present: Mask,
    /// On their way. They may be in memory too, if a write has put them there meanwhile.
    coming: Mask,
    /// On their way, but a write has passed.
    spoiled: Mask,
    /// Being written.
    writing: Mask,
    /// Being written by several, at least for a while.
    contested: Mask,
    /// In the write buffer, or a part of them, so that the drives have something older.
    dirty: Mask,
    /// All of them in the write buffer.
    whole: Mask,
    /// Brought, or on their way, and never asked for.
    ahead: Mask,
    /// In memory, brought and never asked for, in lines that stay once more when they are to make
    /// room.
    spared: Mask,
    /// The prefetcher's.
    note: u32,
    /// Whether a read asks for it, or it is to be brought.
    wanted: bool,
    /// Whether the prefetcher knows that a part of what it has brought had to make room before
    /// anybody asked for it.
    told: bool,
}

impl Held {
    fn is_known(&self) -> bool {
        self.wanted || self.present | self.coming != 0
    }
}

/// A page that is being written by more than one.
#[derive(Clone, Copy, Debug)]
struct Contested {
    page: u64,
    others: u32,
}

impl Keyed for Contested {
    type Key = u64;

    fn key(&self) -> u64 {
        self.page
    }
}

/// Tracks that are to be brought, from the first to the last.
pub(super) type Wanted = (u64, u64);

/// A track that had to make room, and its note.
pub(super) type Unread = (u64, u32);

/// Lines and tracks.
pub(super) struct Lines {
    cache: Box<dyn Cache>,
    shape: Shape,
    directory: Directory,
    /// By the number of a track.
    held: Vec<Held>,
    /// Pages that there is room for, and that are taken.
    room: u64,
    taken: u64,
    /// See [`Cache::counts_pages`].
    by_pages: bool,
    whole_lines: bool,
    /// By page: writers beside one.
    contested: Sorted<Contested>,
    /// Pages that reads got from the write buffer.
    pub(super) lent: u64,
    /// Lines that left for others so far.
    let_go: u64,
    /// What the prefetcher wants; empty but while a read is dealt with.
    pub(super) wanted: Vec<Wanted>,
    /// What had to make room before anybody asked for it, of which the prefetcher does not know
    /// yet.
    pub(super) unread: Vec<Unread>,
    pub(super) counts: Counts,
}

/// The tracks of one volume, as a prefetcher sees them.
pub(super) struct OfVolume<'a> {
    lines: &'a mut Lines,
    /// The volume's first track.
    first: u64,
    /// Its last one, as it counts there.
    last: Track,
}

impl Lines {
    pub(super) fn new(
        cache: Box<dyn Cache>,
        shape: Shape,
        capacity: u32,
        whole_lines: bool,
    ) -> Lines {
        Lines {
            by_pages: cache.counts_pages(),
            cache,
            room: u64::from(capacity) * shape.line,
            shape,
            directory: Directory::default(),
            held: Vec::new(),
            taken: 0,
            whole_lines,
            contested: Sorted::default(),
            lent: 0,
            let_go: 0,
            wanted: Vec::new(),
            unread: Vec::new(),
            counts: Counts::default(),
        }
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    /// What is around the tracks of the volume that begins with this one.
    pub(super) fn of_volume(&mut self, first: u64) -> OfVolume<'_> {
        let last = self.shape.last();
        OfVolume {
            lines: self,
            first,
            last,
        }
    }

    /// The pages that a read asks for, from the first to before the last; none if it goes around the
    /// memory, as it must, which is counted.
    pub(super) fn take_up(&mut self, extent: &Extent) -> Option<(u64, u64)> {
        let (first, end) = self.shape.volumes.touched(extent);
        let passes = self.must_pass(first, end);
        self.counts.passed += u64::from(passes);
        (!passes).then_some((first, end))
    }

    /// Whether a read of these pages has to go around the memory: what it wants is not there, and
    /// cannot be brought into it now.
    fn must_pass(&self, first: u64, end: u64) -> bool {
        let mut tracks = self.shape.tracks(first, end);
        tracks.any(|(track, mask)| {
            let slot = self.directory.find(track);
            slot.is_some_and(|slot| {
                let held = &self.held[slot as usize];
                let elsewhere = held.writing | held.spoiled | held.dirty;
                elsewhere & !(held.present | held.whole) & mask != 0
            })
        })
    }

    /// What the policy knows of lines lies elsewhere than what is known of their track: so that
    /// both come from memory at a time.
    #[inline]
    fn fetch(&self, slot: u32, mask: Mask) {
        for (line, _) in self.shape.lines_of(slot, mask) {
            self.cache.fetch(line);
        }
    }

    /// A read begins with a track: its number, which of these pages are neither there nor on their
    /// way, and what that makes of them.
    pub(super) fn look(&mut self, track: u64, mask: Mask) -> (u32, Mask, Found) {
        let slot = self.number(track);
        self.fetch(slot, mask);
        let held = &mut self.held[slot as usize];
        let there = held.present | held.whole;
        let away = if held.wanted {
            // It is to be brought for the same read.
            0
        } else {
            mask & !(there | held.coming)
        };
        held.wanted = true;
        let found = match (mask & !there, away) {
            (0, _) => Found::There,
            (_, 0) => Found::Coming,
            _ => Found::Missed,
        };
        (slot, away, found)
    }

    /// A read asks for these pages of a track, of which some are `away`, as a part of this. It gets
    /// those that are in memory. Those that are on their way, and those that it has to bring, which
    /// are on their way from now on.
    pub(super) fn ask(
        &mut self,
        (slot, mask, away): (u32, Mask, Mask),
        request: &Request,
        pattern: Pattern,
        orders: &mut Orders,
    ) -> (Mask, Mask) {
        let held = self.held[slot as usize];
        let (there, lent) = (mask & held.present, mask & held.whole & !held.present);
        let coming = mask & held.coming & !(held.present | held.whole);
        let mut bring = mask & !(there | lent | coming);
        let early = held.ahead & mask;
        self.counts.useful += u64::from((early & there).count_ones());
        self.counts.hit += u64::from(there.count_ones());
        self.counts.joined += u64::from(coming.count_ones());
        self.counts.missed += u64::from(bring.count_ones());
        // Before a hit lets lines go.
        self.serve(slot, there, request, orders);
        self.lend(slot, lent, request, orders);
        for (line, own) in self.shape.lines_of(slot, mask) {
            if self.cache.holds(line) {
                self.cache.hit(line);
                self.see_off(orders);
            } else if own & away != 0 {
                self.cache.miss_in(line, pattern);
            } else if own & bring != 0 {
                // The prefetcher wants it for the same read: no miss of the sequence, but one of
                // the line.
                self.cache.miss(line);
            }
            if self.whole_lines && own & bring != 0 {
                bring |= own & !self.cannot_come(slot);
            }
        }
        let held = &mut self.held[slot as usize];
        held.ahead &= !mask;
        held.coming |= bring;
        (coming, bring)
    }

    /// Pages of a track that need not be brought, or cannot be.
    fn cannot_come(&self, slot: u32) -> Mask {
        let held = &self.held[slot as usize];
        let behind = self.shape.beyond(held.track);
        held.present | held.coming | held.writing | held.dirty | behind
    }

    /// A track that the prefetcher wants: which of its pages are on their way from now on.
    pub(super) fn send_for(&mut self, track: u64) -> Mask {
        let slot = self.number(track);
        let all = bits(0, self.shape.track);
        let bring = all & !self.cannot_come(slot);
        let held = &mut self.held[slot as usize];
        held.wanted = false;
        held.coming |= bring;
        held.ahead |= bring;
        held.told = false;
        held.spared = 0;
        self.forget_note(slot);
        bring
    }

    /// What is in memory of a track will be asked for soon.
    pub(super) fn expect(&mut self, track: u64) {
        let slot = self.number(track);
        let there = self.held[slot as usize].present;
        for (line, _) in self.shape.lines_of(slot, there) {
            self.cache.expect(line);
        }
    }

    /// A read is done with a track.
    pub(super) fn looked(&mut self, slot: u32) {
        self.held[slot as usize].wanted = false;
        // All of it may be in the write buffer alone.
        self.forget_note(slot);
    }

    /// A job has ended that brought these pages of a track. If it has not failed, they enter, but
    /// for those that a write has passed or that are there.
    pub(super) fn come(
        &mut self,
        (track, mask): (u64, Mask),
        arrival: Option<(RequestId, Pattern, Why)>,
        orders: &mut Orders,
    ) {
        let slot = self.number(track);
        let held = &mut self.held[slot as usize];
        let enter = mask & held.coming & !held.spoiled;
        held.coming &= !mask;
        held.spoiled &= !mask;
        if let Some((job, pattern, why)) = arrival {
            for (line, own) in self.shape.lines_of(slot, enter) {
                let is_expected = why == Why::Brought && self.cache.holds(line);
                self.enter(line, own & enter, (pattern, why), orders);
                self.keep(slot, own & enter, (job, None), orders);
                if is_expected && self.cache.holds(line) {
                    self.cache.expect(line);
                }
            }
        }
        let held = &mut self.held[slot as usize];
        held.ahead &= held.present | held.coming;
        self.forget_note(slot);
    }

    /// A read gets pages of a track that were on their way for another one.
    pub(super) fn joined(&mut self, track: u64, mask: Mask, orders: &mut Orders) {
        let slot = self.number(track);
        self.hit_again(slot, mask, false, orders);
    }

    /// Lines with these pages are asked for, as far as they are in memory: one may go as another
    /// one is hit.
    fn hit_again(&mut self, slot: u32, mask: Mask, by_write: bool, orders: &mut Orders) {
        for (line, _) in self.shape.lines_of(slot, mask) {
            if self.cache.holds(line) {
                match by_write {
                    true => self.cache.hit_by_write(line),
                    false => self.cache.hit(line),
                }
                self.see_off(orders);
            }
        }
    }

    /// A write or discard begins: pages that are on their way are spoiled; what is in memory, or
    /// enters with a write as one of this pattern, is as it will be.
    pub(super) fn change(
        &mut self,
        request: &Request,
        entering: Option<Pattern>,
        orders: &mut Orders,
    ) {
        let volumes = self.shape.volumes;
        let (first, end) = volumes.touched(&request.extent);
        let (whole, whole_end) = volumes.covered(&request.extent);
        for (track, mask) in self.shape.tracks(first, end) {
            let slot = self.number(track);
            self.fetch(slot, mask);
            let held = &mut self.held[slot as usize];
            held.spoiled |= mask & held.coming;
            let contested = mask & held.writing;
            held.contested |= contested;
            held.writing |= mask;
            if contested != 0 {
                self.contest(slot, contested);
                self.drop_pages(slot, contested, orders);
            }
            if request.op == Op::Discard {
                self.drop_pages(slot, mask, orders);
                continue;
            }
            let there = mask & self.held[slot as usize].present;
            let writes = (request.id, Some(request.extent));
            self.keep(slot, there, writes, orders);
            self.hit_again(slot, there, true, orders);
            if let Some(pattern) = entering {
                let all = self.shape.part(track, whole, whole_end);
                let held = &self.held[slot as usize];
                let enter = all & !(held.present | held.contested);
                for (line, own) in self.shape.lines_of(slot, enter) {
                    if !self.cache.holds(line) {
                        self.cache.miss(line);
                    }
                    self.enter(line, own & enter, (pattern, Why::Written), orders);
                    self.keep(slot, own & enter, writes, orders);
                }
            }
        }
    }

    /// A write or discard has ended.
    pub(super) fn changed(&mut self, request: &Request, done: bool, orders: &mut Orders) {
        let (first, end) = self.shape.volumes.touched(&request.extent);
        for (track, mask) in self.shape.tracks(first, end) {
            let slot = self.number(track);
            let still = self.leave_to_others(slot, mask);
            let held = &mut self.held[slot as usize];
            held.writing &= !mask | still;
            held.contested &= held.writing;
            if !done {
                self.drop_pages(slot, mask, orders);
            }
        }
    }

    /// The write buffer has some of a page, or all of it, or nothing any more.
    pub(super) fn mark(&mut self, (page, dirty, whole): Changed) {
        let pages = self.shape.track;
        let slot = self.number(page / pages);
        let held = &mut self.held[slot as usize];
        let bit = bits(page % pages, page % pages + 1);
        let set = |mask: &mut Mask, is: bool| match is {
            true => *mask |= bit,
            false => *mask &= !bit,
        };
        set(&mut held.dirty, dirty);
        set(&mut held.whole, whole);
    }

    /// Pages of a track have one writer more beside the first.
    fn contest(&mut self, slot: u32, mask: Mask) {
        for page in self.pages(slot, mask) {
            let known = self.contested.take(&page);
            let others = known.map_or(1, |known| known.others + 1);
            self.contested.insert(Contested { page, others });
        }
    }

    /// A writer of pages of a track has ended: those that have others.
    fn leave_to_others(&mut self, slot: u32, mask: Mask) -> Mask {
        let first = self.first_page(slot);
        let contested = self.held[slot as usize].contested & mask;
        let mut still = 0;
        for page in self.pages(slot, contested) {
            let Some(known) = self.contested.take(&page) else {
                continue;
            };
            still |= bits(page - first, page - first + 1);
            if known.others > 1 {
                let others = known.others - 1;
                self.contested.insert(Contested { page, others });
            }
        }
        still
    }

    pub(super) fn tell(
        &self,
        prefetches: bool,
        told: &mut dyn FnMut(&'static str, &'static Measure, u64),
    ) {
        self.counts.tell(prefetches, told);
        self.cache
            .tell(&mut |measure, number| told(super::counts::CACHE, measure, number));
    }

    /// Recounts everything and panics on a contradiction; `coming` is how many pages jobs are to
    /// bring, `in_buffer` how many the write buffer has.
    pub(super) fn audit(&self, coming: u64, in_buffer: u64) {
        let (mut on_their_way, mut taken, mut lines, mut dirty) = (0, 0, 0, 0);
        for (slot, held) in (0..).zip(&self.held) {
            assert!(!held.wanted, "nobody asks for track {}", held.track);
            assert_eq!(held.spoiled & !held.coming, 0, "what is spoiled is to come");
            let contested = held.contested & (held.present | !held.writing);
            assert_eq!(
                contested, 0,
                "what several write is in memory, or nobody writes it"
            );
            let there = held.present | held.coming;
            assert_eq!(held.ahead & !there, 0, "what was brought is somewhere");
            assert!(
                (held.note, held.spared, held.told) == (0, 0, false) || there != 0,
                "the note of a track that is gone"
            );
            assert!(held.spared == 0 || held.told, "who spares it knows of it");
            let stale = held.dirty & held.coming & !held.spoiled;
            assert_eq!(stale, 0, "what comes is older than what the buffer has");
            assert_eq!(held.whole & !held.dirty, 0, "whole, but not there");
            dirty += u64::from(held.dirty.count_ones());
            on_their_way += u64::from(held.coming.count_ones());
            let all = bits(0, self.shape.track);
            for (line, own) in self.shape.lines_of(slot, all) {
                let holds = self.cache.holds(line);
                assert!(holds || held.present & own == 0, "pages without a line");
                lines += usize::from(holds);
                taken += match self.by_pages {
                    true => u64::from((held.present & own).count_ones()),
                    false if holds => self.shape.line,
                    false => 0,
                };
            }
        }
        assert_eq!(on_their_way, coming, "pages that jobs are to bring");
        assert_eq!(taken, self.taken, "pages in memory");
        assert_eq!(dirty, in_buffer, "pages in the write buffer");
        assert_eq!(lines, self.cache.len(), "lines of the cache");
        assert!(taken <= self.room, "{taken} pages where {} fit", self.room);
        assert!(self.wanted.is_empty(), "nobody brought what was wanted");
        assert!(self.unread.is_empty(), "the prefetcher was not told");
        self.cache.audit();
    }

    /// Whether something is there, and nothing had to leave for it so far.
    pub(super) fn hold_all(&self) -> bool {
        self.taken > 0 && self.let_go == 0
    }

    /// Whether all of a track is in memory.
    #[cfg(test)]
    pub(super) fn is_there(&self, track: Track) -> bool {
        let slot = self.directory.find(track.0);
        let there = slot.map(|slot| self.held[slot as usize].present);
        there == Some(bits(0, self.shape.track))
    }

    /// The track that a line is of.
    #[cfg(test)]
    pub(super) fn track_of(&self, line: Line) -> Track {
        let (slot, _) = self.shape.place(line);
        Track(self.held[slot as usize].track)
    }

    /// Another policy, before anything was asked.
    #[cfg(test)]
    pub(super) fn replace(&mut self, cache: Box<dyn Cache>) {
        self.by_pages = cache.counts_pages();
        self.cache = cache;
    }

    /// Pages of room that are taken.
    #[cfg(test)]
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    fn number(&mut self, track: u64) -> u32 {
        let slot = self.directory.number(track);
        if slot as usize == self.held.len() {
            self.held.push(Held {
                track,
                ..Held::default()
            });
            self.cache.reserve(
                u32::try_from((u64::from(slot) + 1) * self.shape.lines())
                    .expect("a volume has fewer than 4 billion lines that were touched"),
            );
        }
        slot
    }

    /// Pages of a line enter, and others leave for them.
    fn enter(
        &mut self,
        line: Line,
        pages: Mask,
        (pattern, why): (Pattern, Why),
        orders: &mut Orders,
    ) {
        let count = pages.count_ones();
        let need = |holds: bool, lines: &Lines| match (lines.by_pages, holds) {
            (true, _) => u64::from(count),
            (false, true) => 0,
            (false, false) => lines.shape.line,
        };
        // One that makes room for itself enters anew.
        while self.taken + need(self.cache.holds(line), self) > self.room {
            assert!(!self.cache.is_empty(), "a cache has room for a line");
            if let Some(gone) = self.cache.leave(line)
                && !self.stays(gone)
            {
                self.drop_line(gone, orders);
            }
        }
        let holds = self.cache.holds(line);
        self.taken += need(holds, self);
        if holds {
            self.cache.grow(line, count);
        } else {
            if why == Why::Brought {
                self.cache.miss(line);
            }
            let entering = Entering {
                why,
                pattern,
                pages: count,
            };
            self.cache.enter_as(line, entering);
        }
        let (slot, _) = self.shape.place(line);
        self.held[slot as usize].present |= pages;
        self.see_off(orders);
    }

    /// A line has left the cache for another one. Whether it stays once more: then it enters again,
    /// as if it had been brought anew.
    fn stays(&mut self, line: Line) -> bool {
        self.tell_unread(line);
        let (slot, own) = self.shape.place(line);
        let held = &mut self.held[slot as usize];
        let stays = held.spared & held.ahead & own != 0;
        held.spared &= !own;
        if stays {
            let there = held.present & own;
            self.cache.miss(line);
            let entering = Entering {
                why: Why::Brought,
                pattern: Pattern::Sequential,
                pages: there.count_ones(),
            };
            self.cache.enter_as(line, entering);
        }
        stays
    }

    /// A line has to make room: if nobody has asked for some of it, the prefetcher is to know.
    fn tell_unread(&mut self, line: Line) {
        self.let_go += 1;
        let (slot, own) = self.shape.place(line);
        let held = &mut self.held[slot as usize];
        let unread = held.ahead & held.present;
        if unread & own != 0 && !held.told {
            held.told = true;
            if held.note & STAYS != 0 {
                held.spared = unread;
            }
            self.unread.push((held.track, held.note));
        }
    }

    /// Lines that the policy has let go by itself.
    fn see_off(&mut self, orders: &mut Orders) {
        while let Some(gone) = self.cache.left() {
            self.tell_unread(gone);
            self.drop_line(gone, orders);
        }
    }

    fn drop_line(&mut self, line: Line, orders: &mut Orders) {
        let (slot, own) = self.shape.place(line);
        let there = self.held[slot as usize].present & own;
        self.taken -= match self.by_pages {
            true => u64::from(there.count_ones()),
            false => self.shape.line,
        };
        self.forget(slot, there, orders);
    }

    /// Pages leave whose line stays, as nobody knows any more what they hold.
    fn drop_pages(&mut self, slot: u32, mask: Mask, orders: &mut Orders) {
        let there = self.held[slot as usize].present & mask;
        if self.by_pages {
            self.taken -= u64::from(there.count_ones());
            for (line, own) in self.shape.lines_of(slot, there) {
                self.cache.shrink(line, (there & own).count_ones());
            }
        }
        self.forget(slot, there, orders);
    }

    fn forget(&mut self, slot: u32, there: Mask, orders: &mut Orders) {
        let held = &mut self.held[slot as usize];
        let unasked = held.ahead & there;
        self.counts.wasted += u64::from(unasked.count_ones());
        held.present &= !there;
        held.ahead &= !unasked;
        let gone = self.extents(slot, there);
        orders.push_moves(gone.map(Move::Drop));
        self.forget_note(slot);
    }

    fn forget_note(&mut self, slot: u32) {
        let held = &mut self.held[slot as usize];
        if !held.is_known() {
            held.note = 0;
            held.told = false;
            held.spared = 0;
        }
    }

    /// A read gets what it wants of these pages from memory.
    fn serve(&self, slot: u32, there: Mask, request: &Request, orders: &mut Orders) {
        orders.push_moves(self.extents(slot, there).map(|extent| Move::Serve {
            to: request.id,
            extent: within(&request.extent, extent),
        }));
    }

    /// A read gets what it wants of these pages from the write buffer.
    fn lend(&mut self, slot: u32, lent: Mask, request: &Request, orders: &mut Orders) {
        self.lent += u64::from(lent.count_ones());
        orders.push_moves(self.extents(slot, lent).map(|extent| Move::Lend {
            to: request.id,
            extent: within(&request.extent, extent),
        }));
    }

    /// These pages, or what of them lies within an extent, are in memory as a job has brought them,
    /// or a request writes them.
    fn keep(
        &self,
        slot: u32,
        mask: Mask,
        (of, all): (RequestId, Option<Extent>),
        orders: &mut Orders,
    ) {
        let present = self.held[slot as usize].present;
        orders.push_moves(self.extents(slot, mask & present).map(|extent| Move::Keep {
            of,
            extent: all.map_or(extent, |all| within(&all, extent)),
        }));
    }

    /// The blocks of these pages of a track, in runs.
    fn extents(&self, slot: u32, mask: Mask) -> impl Iterator<Item = Extent> + use<> {
        let (shape, first) = (self.shape, self.first_page(slot));
        runs(mask).map(move |(from, to)| {
            let (from, to) = shape.volumes.blocks(first + from, first + to);
            between(from, to)
        })
    }

    /// The numbers of these pages of a track.
    fn pages(&self, slot: u32, mask: Mask) -> impl Iterator<Item = u64> + use<> {
        let first = self.first_page(slot);
        runs(mask).flat_map(move |(from, to)| first + from..first + to)
    }

    fn first_page(&self, slot: u32) -> u64 {
        self.held[slot as usize].track * self.shape.track
    }
}

/// What of a run of blocks lies within an extent: some.
fn within(all: &Extent, run: Extent) -> Extent {
    common(all, run.start.0, run.end().0)
}

impl Around for OfVolume<'_> {
    fn last(&self) -> Track {
        self.last
    }

    #[inline]
    fn note(&mut self, track: Track) -> Option<&mut u32> {
        // What lies behind the end is nowhere: the next volume's is another's.
        if track > self.last {
            return None;
        }
        let slot = self.lines.directory.find(self.first + track.0)?;
        let held = &mut self.lines.held[slot as usize];
        held.is_known().then_some(&mut held.note)
    }

    fn bring(&mut self, first: Track, last: Track) {
        let last = last.min(self.last);
        if first > last {
            return;
        }
        let (first, last) = (self.first + first.0, self.first + last.0);
        for track in first..=last {
            let slot = self.lines.number(track);
            self.lines.held[slot as usize].wanted = true;
        }
        self.lines.wanted.push((first, last));
    }
}
