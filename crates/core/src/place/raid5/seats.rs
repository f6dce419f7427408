//! Which drive has which place in an array, and what takes the place of one that is gone.
//!
//! An array is made of *seats*: strips, parities and what is bad are of seats. In the beginning
//! each drive has the seat of its number, and those behind the last seat are spares. When a drive
//! is gone, the next spare gets its seat, whichever array that is in; without one the seat is
//! vacant. What was sent to the drive before, and fails, is still of its seat. A drive that is
//! gone, or was, never gets a seat again: what it has is old.
//!
//! Spares are taken in their order, so the last one that has a seat tells which are left. Each has
//! an entry in NVRAM ([`maplog::rows`](crate::maplog::rows)), made before that of the spare before
//! it is removed. O(1).

use crate::ids::DriveId;
use crate::maplog::RowsTable;
use crate::maplog::rows::{Index, Kind, Noted};
use crate::op::Status;
use crate::place::gone::Gone;

/// A place in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seat(pub(super) u16);

impl Seat {
    pub(super) fn index(self) -> usize {
        self.0.into()
    }
}

/// Who has which seat.
pub(super) struct Seats {
    /// By seat: its drive, and the entry that says so of a spare.
    drives: Vec<(DriveId, Option<Index>)>,
    /// By drive: its seat, or the one that it had; none of a spare.
    seats: Vec<Option<Seat>>,
    /// By seat: whether its spare had all that could be had.
    rebuilt: Vec<bool>,
    /// By seat: the drive that had all of it last, if that is gone.
    lacks: Vec<Option<DriveId>>,
    /// The first spare that has none yet.
    next: u16,
    gone: Gone,
}

impl Seats {
    pub(super) fn new(seats: u16, spares: u16) -> Seats {
        let own = (0..seats).map(Seat);
        let none = (0..spares).map(|_| None);
        Seats {
            drives: (0..seats).map(|seat| (DriveId(seat), None)).collect(),
            seats: own.map(Some).chain(none).collect(),
            rebuilt: vec![false; seats.into()],
            lacks: vec![None; seats.into()],
            next: seats,
            gone: Gone::none(seats + spares),
        }
    }

    /// The drive that has a seat, also if it is gone.
    #[inline]
    pub(super) fn drive(&self, seat: Seat) -> DriveId {
        self.drives[seat.index()].0
    }

    /// The seat of a drive, or the one that it had; none of a spare.
    #[inline]
    pub(super) fn seat(&self, drive: DriveId) -> Option<Seat> {
        self.seats[drive.index()]
    }

    /// Whether the drive of a seat is gone.
    #[inline]
    pub(super) fn is_vacant(&self, seat: Seat) -> bool {
        self.gone.any() && self.gone.has(self.drive(seat))
    }

    /// Whether a drive is gone.
    pub(super) fn any_gone(&self) -> bool {
        self.gone.any()
    }

    /// Whether a spare has a seat.
    pub(super) fn is_spare(&self, seat: Seat) -> bool {
        self.drives[seat.index()].1.is_some()
    }

    /// Whether a spare has a seat that had all that could be had, in this life or an earlier one.
    pub(super) fn is_rebuilt(&self, seat: Seat) -> bool {
        self.rebuilt[seat.index()]
    }

    pub(super) fn is_gone(&self, drive: DriveId) -> bool {
        self.gone.has(drive)
    }

    /// Seats whose drives are there.
    pub(super) fn taken(&self) -> impl Iterator<Item = Seat> {
        let seats = (0..self.drives.len() as u16).map(Seat);
        seats.filter(|seat| !self.is_vacant(*seat))
    }

    /// Notes how a command has ended. The seat of its drive, if that is gone and nobody knew.
    pub(super) fn learn(&mut self, drive: DriveId, status: Status) -> Option<Seat> {
        let new = self.gone.learn(drive, status);
        self.seat(drive).filter(|_| new)
    }

    /// The drive of a seat is gone. Whether it had all of it.
    pub(super) fn vacate(&mut self, seat: Seat, was_whole: bool) {
        let drive = self.drive(seat);
        let lacks = &mut self.lacks[seat.index()];
        *lacks = lacks.filter(|_| !was_whole).or(Some(drive));
    }

    /// The drive that had all of a seat last, and those that had the seat since and are gone, too.
    /// Of an earlier life only the first is known that had it.
    pub(super) fn went(&self, seat: Seat) -> (DriveId, Vec<DriveId>) {
        let last = self.lacks[seat.index()].unwrap_or(DriveId(seat.0));
        let since = (last.0 + 1..self.next).map(DriveId);
        let spent = since.filter(|drive| self.seat(*drive) == Some(seat) && self.is_gone(*drive));
        (last, spent.collect())
    }

    /// The next spare gets a vacant seat, if one is left.
    pub(super) fn replace(&mut self, seat: Seat, table: &mut RowsTable) -> Option<DriveId> {
        let spare = DriveId(self.next);
        if spare.index() == self.seats.len() {
            return None;
        }
        self.note(spare, seat, Kind::Spare, table);
        Some(spare)
    }

    /// The spare that has a seat has all that can be had.
    pub(super) fn rebuilt(&mut self, seat: Seat, table: &mut RowsTable) {
        self.note(self.drive(seat), seat, Kind::Rebuilt, table);
    }

    fn note(&mut self, spare: DriveId, seat: Seat, kind: Kind, table: &mut RowsTable) {
        let at = u64::from(seat.0);
        let entry = table.add(&Noted {
            kind,
            drive: spare.0,
            from: at,
            to: at + 1,
        });
        self.sit((spare, kind), seat, entry, table);
    }

    /// What was found in the table. Of two spares with one seat the later one has it, and of two
    /// entries of a spare that counts which says that it was rebuilt: the power went before the
    /// entry of the first was removed.
    pub(super) fn resume(&mut self, entry: Index, noted: &Noted, table: &mut RowsTable) {
        let (spare, seat) = (DriveId(noted.drive), Seat(noted.from as u16));
        let before = self.drive(seat);
        let is_later = before < spare || before == spare && noted.kind == Kind::Rebuilt;
        match is_later {
            true => self.sit((spare, noted.kind), seat, entry, table),
            false => table.remove(entry),
        }
    }

    fn sit(
        &mut self,
        (spare, kind): (DriveId, Kind),
        seat: Seat,
        entry: Index,
        table: &mut RowsTable,
    ) {
        self.rebuilt[seat.index()] = kind == Kind::Rebuilt;
        let (_, before) = std::mem::replace(&mut self.drives[seat.index()], (spare, Some(entry)));
        before.into_iter().for_each(|before| table.remove(before));
        self.seats[spare.index()] = Some(seat);
        self.next = self.next.max(spare.0 + 1);
    }

    /// Recounts everything from scratch and panics on a contradiction. How many entries the table
    /// has for it.
    pub(super) fn audit(&self) -> usize {
        let own = |(seat, (drive, entry)): (usize, &(DriveId, Option<Index>))| {
            assert_eq!(self.seat(*drive), Some(Seat(seat as u16)), "{drive:?}");
            assert_eq!(entry.is_some(), drive.index() != seat, "{drive:?}");
            assert!(drive.0 < self.next, "{drive:?} is a spare");
            usize::from(entry.is_some())
        };
        self.drives.iter().enumerate().map(own).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maplog::Parities;
    use crate::op::Failure;

    const OF: Parities = Parities {
        volume: 1,
        drives: 8,
        arrays: 2,
        spares: 2,
        strip: 8,
        extent: 1,
        blocks: 1_000,
    };

    const GONE: Status = Status::Failed(Failure::Gone);

    /// Two spares of eight drives: one that fails where it sits, and none for the third.
    #[test]
    fn spares_are_taken_in_their_order_and_found_again() {
        let mut table = RowsTable::new(&OF);
        let mut seats = Seats::new(6, 2);
        assert_eq!(seats.seat(DriveId(6)), None);
        for (drive, seat, spare) in [(4, 4, Some(6)), (6, 4, Some(7)), (1, 1, None)] {
            assert_eq!(seats.learn(DriveId(drive), GONE), Some(Seat(seat)));
            assert_eq!(seats.learn(DriveId(drive), GONE), None, "it is known");
            assert!(seats.is_vacant(Seat(seat)));
            let taken = seats.replace(Seat(seat), &mut table);
            assert_eq!(taken, spare.map(DriveId));
            assert_eq!(seats.is_vacant(Seat(seat)), spare.is_none());
            assert_eq!(seats.audit(), table.len());
        }
        assert_eq!(seats.drive(Seat(4)), DriveId(7));
        assert_eq!(seats.seat(DriveId(4)), Some(Seat(4)), "the one that it had");
        let (mut table, found) = RowsTable::recover(&OF, table.bytes().to_vec()).unwrap();
        let mut seats = Seats::new(6, 2);
        for (entry, noted) in found {
            seats.resume(entry, &noted, &mut table);
        }
        assert_eq!(seats.drive(Seat(4)), DriveId(7));
        assert_eq!((seats.audit(), table.len()), (1, 1));
        assert_eq!(seats.replace(Seat(1), &mut table), None, "none is left");
    }

    /// Until another spare has the seat. In whichever order the entries are found, if the power
    /// went between the two.
    #[test]
    fn that_a_spare_was_rebuilt_is_found_again() {
        let mut table = RowsTable::new(&OF);
        let mut seats = Seats::new(6, 2);
        seats.replace(Seat(2), &mut table);
        assert!(!seats.is_rebuilt(Seat(2)));
        seats.rebuilt(Seat(2), &mut table);
        assert!(seats.is_rebuilt(Seat(2)));
        assert_eq!((seats.audit(), table.len()), (1, 1));
        seats.replace(Seat(2), &mut table);
        assert!(!seats.is_rebuilt(Seat(2)));
        for order in [[Kind::Spare, Kind::Rebuilt], [Kind::Rebuilt, Kind::Spare]] {
            let mut table = RowsTable::new(&OF);
            let mut seats = Seats::new(6, 2);
            for kind in order {
                let noted = Noted {
                    kind,
                    drive: 6,
                    from: 3,
                    to: 4,
                };
                let entry = table.add(&noted);
                seats.resume(entry, &noted, &mut table);
            }
            assert!(seats.is_rebuilt(Seat(3)), "{order:?}");
            assert_eq!((seats.audit(), table.len()), (1, 1));
            let (_, found) = RowsTable::recover(&OF, table.bytes().to_vec()).unwrap();
            assert_eq!(found[0].1.kind, Kind::Rebuilt);
        }
    }

    /// The power went between the entry of a spare and the end of the one before.
    #[test]
    fn of_two_spares_with_a_seat_the_later_one_has_it() {
        for order in [[6, 7], [7, 6]] {
            let mut table = RowsTable::new(&OF);
            let mut seats = Seats::new(6, 2);
            for drive in order {
                let noted = Noted {
                    kind: Kind::Spare,
                    drive,
                    from: 3,
                    to: 4,
                };
                let entry = table.add(&noted);
                seats.resume(entry, &noted, &mut table);
            }
            assert_eq!(seats.drive(Seat(3)), DriveId(7));
            assert_eq!((seats.audit(), table.len()), (1, 1));
        }
    }
}
