//! What is bad is computed and written: blocks whose write has failed, parities of rows that were
//! being written when the power went, all of a spare that took the place of a drive, and all of a
//! drive that was gone and is there again in another life.
//!
//! One strip, or what of it is bad, at a time in each array, and only while none of the array's
//! drives has anything else to do. With a rate (`rebuild_mib_s`) so much is begun by the clock
//! besides, whatever the drives do, and up to [`TOGETHER`] pieces at a time: less is done only
//! where the drives cannot. What was begun in spare time counts: the clock waits as long again.
//!
//! A piece that fails is tried again: in parts, as a bad block that a source has met is known by
//! then, or as often as [`TRIES`] says. What no drive tells is passed over. *Rebuilt* is a spare of
//! which all was tried while no other drive of its array was gone; what it holds is used from the
//! first block on.
//!
//! O(drives of an array, log n) of the runs of bad blocks for each piece, O(log arrays) for the
//! clock.

use super::Raid5;
use super::geometry::{Geometry, Rows, Stripe};
use super::seats::Seat;
use crate::agenda::Agenda;
use crate::contract::Drives;
use crate::plan::{Parity, Plan};
use crate::units::{BLOCK_BYTES, Blocks, Duration, Instant, Pba};

/// Pieces of an array at a time, by the clock.
const TOGETHER: u32 = 16;

/// How often a piece is tried again that failed though no block was found bad.
const TRIES: u8 = 3;

/// Consecutive blocks of a seat that are to be tried again.
#[derive(Clone, Copy)]
struct Again {
    seat: Seat,
    from: u64,
    to: u64,
    tried: u8,
}

/// How far an array is.
#[derive(Default)]
struct Progress {
    /// Pieces under way.
    under_way: u32,
    /// What has failed.
    again: Vec<Again>,
}

/// What has been looked at, and what is under way.
pub(super) struct Repair {
    /// By seat: what is bad before it was tried.
    tried: Vec<u64>,
    arrays: Vec<Progress>,
    /// By seat: since when a spare has been rebuilt.
    rebuilds: Vec<Option<Instant>>,
    /// How many there are of these.
    rebuilding: u32,
    /// How long others were rebuilt that went, or of whose array another drive did, before they had
    /// all.
    in_vain: Duration,
    /// Time for a block at the rate, in nanoseconds; 0 if there is no rate.
    block_ns: f64,
    /// By array: when its next piece is due whatever the drives do; never if nothing is left to
    /// repair, or there is no rate.
    due: Agenda,
    /// Whether a life has just begun with bad blocks.
    goes_on: bool,
    /// When something happened last.
    now: Instant,
}

impl Repair {
    pub(super) fn new(geometry: &Geometry, mib_s: f64) -> Repair {
        let seats = usize::from(geometry.seats());
        let block_ns = BLOCK_BYTES as f64 / (mib_s * 1_048_576.0) * 1e9;
        Repair {
            tried: vec![0; seats],
            arrays: (0..geometry.arrays).map(|_| Progress::default()).collect(),
            rebuilds: vec![None; seats],
            rebuilding: 0,
            in_vain: Duration::ZERO,
            block_ns: if mib_s > 0.0 { block_ns } else { 0.0 },
            due: Agenda::new(geometry.arrays as usize),
            goes_on: false,
            now: Instant::ZERO,
        }
    }

    /// It is so late.
    pub(super) fn at(&mut self, now: Instant) {
        self.now = now;
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due.least()
    }

    /// Something became bad there, in this array.
    pub(super) fn look_again(&mut self, seat: Seat, at: Pba, array: usize) {
        let tried = &mut self.tried[seat.index()];
        *tried = at.0.min(*tried);
        if self.stands(array) {
            self.due.set(array, Some(self.now));
        }
    }

    /// Whether there is a rate, and the clock of an array stands still.
    fn stands(&self, array: usize) -> bool {
        self.block_ns > 0.0 && self.due.due(array).is_none()
    }

    /// A piece of so many blocks has begun, or none: the next one is due when the rate allows it.
    fn due_after(&mut self, array: usize, piece: Option<Blocks>) {
        let time = |len: Blocks| Duration(((len.0 as f64 * self.block_ns) as u64).max(1));
        let due = piece.map(|len| self.now + time(len));
        self.due.set(array, due);
    }

    /// A spare begins with nothing.
    pub(super) fn rebuild(&mut self, seat: Seat) {
        let begun = self.rebuilds[seat.index()].replace(self.now);
        self.rebuilding += u32::from(begun.is_none());
    }

    /// Whether a seat is being rebuilt.
    pub(super) fn rebuilds(&self, seat: Seat) -> bool {
        self.rebuilds[seat.index()].is_some()
    }

    /// No more: its spare is gone, or has all that can be had. Since when it was.
    pub(super) fn end_rebuild(&mut self, seat: Seat) -> Option<Instant> {
        let begun = self.rebuilds[seat.index()].take();
        self.rebuilding -= u32::from(begun.is_some());
        begun
    }

    /// The same of a spare that does not have all: it was rebuilt for so long all the same.
    pub(super) fn end_in_vain(&mut self, seat: Seat) {
        if let Some(begun) = self.end_rebuild(seat) {
            self.in_vain.0 += self.now.since(begun).0;
        }
    }

    /// How long spares have been rebuilt that do not have all, all together: they are not rebuilt
    /// yet, or never were.
    pub(super) fn unfinished(&self) -> Duration {
        let begun = self.rebuilds.iter().flatten();
        let under_way: u64 = begun.map(|begun| self.now.since(*begun).0).sum();
        Duration(self.in_vain.0 + under_way)
    }

    /// A piece has ended.
    pub(super) fn ended(&mut self, array: usize) {
        self.arrays[array].under_way -= 1;
    }
}

impl Raid5 {
    /// A life begins in which so much is bad.
    pub(super) fn go_on(&mut self) {
        self.repair.goes_on = self.bad.any();
    }

    /// With the first request of such a life all drives are asked what they may do in spare time,
    /// the clock begins, and spares that were being rebuilt still are.
    pub(super) fn begin_repairs(&mut self, out: &mut Plan) {
        if !std::mem::take(&mut self.repair.goes_on) {
            return;
        }
        for seat in (0..self.geometry.seats()).map(Seat) {
            let Some((from, _)) = self.bad.first(seat, 0) else {
                continue;
            };
            if self.seats.is_spare(seat) && !self.seats.is_rebuilt(seat) {
                self.repair.rebuild(seat);
            }
            let array = self.geometry.array(seat);
            self.repair.look_again(seat, Pba(from), array);
        }
        let drives = self.seats.taken().map(|seat| self.seats.drive(seat));
        out.wake.extend(drives);
    }

    /// Repairs a piece of an array, if nothing else is to be done there.
    pub(super) fn repair_in_spare_time(
        &mut self,
        array: usize,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        let mut left = self.geometry.seats_of(array);
        let rests =
            left.all(|seat| self.seats.is_vacant(seat) || drives.idle(self.seats.drive(seat)));
        if !rests || self.repair.arrays[array].under_way > 0 {
            return;
        }
        let piece = self.repair_piece(array, out);
        if self.repair.due.due(array).is_some() {
            self.repair.due_after(array, piece);
        }
    }

    /// Repairs what is due by the clock.
    pub(super) fn repair_by_the_clock(&mut self, out: &mut Plan) {
        let mut from = 0;
        while let Some(array) = self.repair.due.due_by(self.repair.now, from) {
            // Where so many are under way the drives cannot: one that ends lets the next one begin.
            let piece = match self.repair.arrays[array].under_way < TOGETHER {
                true => self.repair_piece(array, out),
                false => None,
            };
            self.repair.due_after(array, piece);
            from = array + 1;
        }
    }

    /// Begins with the next piece of an array, and gives its length; none if nothing is left.
    pub(super) fn repair_piece(&mut self, array: usize, out: &mut Plan) -> Option<Blocks> {
        let Some((seat, stripe, rows, tried)) = self.next_bad(array) else {
            // What was passed over at last may have been all that was left.
            self.look_at_rebuilds(array);
            return None;
        };
        let member = stripe.member(seat);
        let job = self.job(stripe, (member, rows), out);
        self.work_mut(&job).repair = Some(tried);
        self.repair.arrays[array].under_way += 1;
        let parity = Parity {
            written: None,
            data: None,
            len: rows.len(),
            awaited: false,
        };
        let found = self.compute(&job, (member, rows), parity, out);
        self.heal(&job, (member, rows), found, out);
        Some(rows.len())
    }

    /// What of an array is to be repaired next: of one strip at most. From then on it is taken for
    /// tried.
    fn next_bad(&mut self, array: usize) -> Option<(Seat, Stripe, Rows, u8)> {
        while let Some(again) = self.repair.arrays[array].again.pop() {
            if let (Some((stripe, rows)), _) = self.first_told(again.seat, again.from, again.to) {
                let from = stripe.at(rows.to).0;
                let rest = Again { from, ..again };
                self.repair.arrays[array].again.push(rest);
                return Some((again.seat, stripe, rows, again.tried));
            }
        }
        for seat in self.geometry.seats_of(array) {
            let tried = self.repair.tried[seat.index()];
            let (found, tried) = self.first_told(seat, tried, self.geometry.used());
            self.repair.tried[seat.index()] = tried;
            if let Some((stripe, rows)) = found {
                return Some((seat, stripe, rows, 0));
            }
        }
        None
    }

    /// The first bad blocks of a seat between these that the others tell: of one strip at most. And
    /// up to where that looks.
    fn first_told(&self, seat: Seat, mut from: u64, to: u64) -> (Option<(Stripe, Rows)>, u64) {
        while !self.seats.is_vacant(seat) && from < to {
            let Some((first, behind)) = self.bad.first(seat, from).filter(|run| run.0 < to) else {
                break;
            };
            let (mut end, mut is_told) = (behind.min(to), true);
            let array = self.geometry.array(seat);
            for other in self.geometry.seats_of(array).filter(|other| *other != seat) {
                match self.bad.first(other, first) {
                    // A bad one begins there, or ends.
                    Some((begin, _)) if begin > first => end = end.min(begin),
                    Some((_, behind)) => (end, is_told) = (end.min(behind), false),
                    None => {}
                }
            }
            if is_told {
                let stripe = self.geometry.stripe_at(seat, Pba(first));
                let end = end.min(stripe.at(self.geometry.strip).0);
                let rows = stripe.rows(Pba(first), Blocks(end - first));
                return (Some((stripe, rows)), end);
            }
            from = end;
        }
        (None, from.max(to))
    }

    /// What was computed has been written.
    pub(super) fn healed(&mut self, work: u32, seat: Seat, len: Blocks) {
        match self.turns.work(work).repair {
            Some(_) => self.counts.repaired += 1,
            None => self.counts.healed += 1,
        }
        if self.repair.rebuilds(seat) {
            self.counts.rebuilt_blocks += len.0;
        }
    }

    /// An I/O of a repair has failed, and nothing stands in for it: all of it is tried again,
    /// without a block that was `found` to be bad, or so often.
    pub(super) fn failed_to_repair(&mut self, work: u32, found: bool) {
        let work = self.turns.work(work);
        let (Some(tried), Some(member)) = (work.repair, work.computed) else {
            return;
        };
        let stripe = self.geometry.stripe(work.stripe);
        let seat = stripe.seat(member);
        let again = Again {
            seat,
            from: stripe.at(work.rows.from).0,
            to: stripe.at(work.rows.to).0,
            tried: tried + u8::from(!found),
        };
        let list = &mut self.repair.arrays[self.geometry.array(seat)].again;
        let same = |one: &Again| (one.seat, one.from, one.to) == (seat, again.from, again.to);
        if again.tried <= TRIES && !list.iter().any(same) {
            list.push(again);
        }
    }

    /// A piece of a repair has ended.
    pub(super) fn repair_ended(&mut self, array: usize) {
        self.repair.ended(array);
        if self.repair.stands(array) && self.is_left(array) {
            self.repair.due.set(array, Some(self.repair.now));
        }
    }

    /// Whether something of an array was not tried.
    pub(super) fn is_left(&self, array: usize) -> bool {
        let used = self.geometry.used();
        let left = |seat: Seat| {
            let tried = self.repair.tried[seat.index()];
            let first = self.bad.first(seat, tried);
            !self.seats.is_vacant(seat) && first.is_some_and(|(from, _)| from < used)
        };
        let of_array = &self.repair.arrays[array];
        !of_array.again.is_empty() || self.geometry.seats_of(array).any(left)
    }

    /// Work on an array has ended: perhaps its spares are rebuilt.
    pub(super) fn look_at_rebuilds(&mut self, array: usize) {
        if self.repair.rebuilding == 0 || self.repair.arrays[array].under_way > 0 {
            return;
        }
        let mut seats = self.geometry.seats_of(array);
        if !seats.any(|seat| self.repair.rebuilds(seat)) || self.is_left(array) {
            return;
        }
        // Of two drives that are gone nothing is whole again.
        let is_away = |seat: &Seat| self.seats.is_vacant(*seat) || self.repair.rebuilds(*seat);
        let away = self.geometry.seats_of(array).filter(is_away).count();
        for seat in self.geometry.seats_of(array) {
            if away > 1 {
                self.repair.end_in_vain(seat);
            } else if let Some(begun) = self.repair.end_rebuild(seat) {
                let took = self.repair.now.since(begun);
                self.seats.rebuilt(seat, self.bad.table());
                self.counts.rebuilds += 1;
                self.counts.rebuild_ms += took.0 / 1_000_000;
                self.counts.last_rebuild_ms = self.repair.now.0 / 1_000_000;
            }
        }
    }

    /// Recounts everything from scratch and panics on a contradiction.
    pub(super) fn audit_repairs(&self) {
        for (array, progress) in self.repair.arrays.iter().enumerate() {
            let of_array = |work: &&super::turns::Work| {
                let seat = self.geometry.stripe(work.stripe).seat(0);
                work.repair.is_some() && self.geometry.array(seat) == array
            };
            let count = self.turns.works().filter(of_array).count();
            assert_eq!(progress.under_way as usize, count, "of array {array}");
        }
        let begun = self.repair.rebuilds.iter().flatten().count();
        assert_eq!(self.repair.rebuilding as usize, begun);
    }

    /// Bad blocks of spares that were not rebuilt: they still are, or another drive of their array
    /// went before.
    pub(super) fn left_to_rebuild(&self) -> u64 {
        let seats = self.seats.taken();
        let spares =
            seats.filter(|seat| self.seats.is_spare(*seat) && !self.seats.is_rebuilt(*seat));
        spares.map(|seat| self.bad.blocks(seat)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::of_study;
    use super::*;
    use crate::contract::Placement;
    use crate::maplog::rows::Kind;
    use crate::op::Op;
    use crate::place::busy::Busy;
    use crate::request::Request;

    /// It waits for a write to its stripe; meanwhile a block that it needs becomes bad.
    #[test]
    fn a_repair_that_is_refused_goes_again_but_for_what_is_lost() {
        let mut raid5 = of_study();
        let stripe = raid5.geometry.stripe(0);
        let (bad, other) = (stripe.seat(0), stripe.seat(1));
        raid5.mark(bad, Pba(0), Blocks(8), Kind::Bad);
        let now = Instant::ZERO;
        let (mut write, mut repair, mut out) = (Plan::default(), Plan::default(), Plan::default());
        let request = Request::new(1, Op::Write, 2 * 64, 8, now);
        raid5.plan(now, &request, &Busy, &mut write);
        assert_eq!(raid5.repair_piece(0, &mut repair), Some(Blocks(8)));
        raid5.mark(other, Pba(3), Blocks(1), Kind::Bad);
        for io in write.ios().chain(repair.ios()) {
            raid5.skipped(now, io.tag, io.drive, &Busy, &mut out);
        }
        assert_eq!(raid5.repair.arrays[0].under_way, 0);
        let pieces = std::iter::from_fn(|| raid5.next_bad(0));
        let rows: Vec<_> = pieces
            .map(|(seat, _, rows, _)| (seat, rows.from, rows.to))
            .collect();
        assert_eq!(rows, [(bad, 0, 3), (bad, 4, 8)]);
        assert_eq!(raid5.counts.lost, 0, "nobody asked for it");
    }
}
