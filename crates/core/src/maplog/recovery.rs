//! The way back: from NVRAM and the log region to the map as it was when the power went.
//!
//! ```text
//! Walking   reads records from the tail on, in order of their numbers, up to the last that NVRAM knows of
//! Ahead     reads the next record too: a control block that is damaged may have told of it
//! Done      all of the map is known; `finish` replays NVRAM and checks the whole
//! Walking -> Ahead -> Done, or -> Walking again from an older portion, or an error
//! ```
//!
//! That is the way with NVRAM. Where the log is at home on its drive, more lies ahead:
//! `recovery_on_drive`.
//!
//! A sound piece makes its entries *known*; a sound batch updates them. A damaged piece leaves
//! known what an older one has made known, because all updates since are replayed over that. A
//! damaged batch makes everything unknown until pieces that were written later. So an older
//! checkpoint is used exactly where that is safe. Where entries stay unknown at the end, the walk
//! begins anew at an older portion as long as no write has reached it; then the first damage is the
//! error. A record whose header is damaged hides where the next one begins, and ends a walk too.
//!
//! The record behind the last one that NVRAM knows of may be torn, and is then no damage: its
//! entries are in NVRAM. There is one at most, since a control block is written before the next
//! record begins. Even if it is whole it is not taken, but written again: the power cut may have
//! torn it on another drive with the log. It is taken only where nothing else has what it has: if a
//! control block is damaged, the half of NVRAM that it was written from may belong to a later batch
//! by now.
//!
//! What is read depends on NVRAM alone, not on what lies there: the log can say beforehand what its
//! recovery will read. Of a record that the end of a read cuts, the begin is kept until the rest
//! comes.
//!
//! Recovery does no I/O. Who owns it asks `next_read`, gives what was read to `feed` until there is
//! none, and calls `finish`. Memory: the map, a byte a piece, a record, and the bits of [`unique`]
//! at the end.
//!
//! Source: FAST 2002, section 5: "scan the log region from the youngest checkpoint, replay NVRAM";
//! that records are taken oldest first is inferred. Cost: a checksum and a copy of what is read, a
//! random access an update.

use crate::units::{BLOCK_BYTES, Blocks};

use super::control::{Control, Lacking};
use super::cursor::{LogCursor, Start};
use super::format::{Damage, DamageAt, ENTRY_BYTES, Fault, HEADER_BYTES, Header, Kind};
use super::home::Home;
use super::in_nvram::InNvram;
use super::keeper::Keeper;
use super::layout::Layout;
use super::log::{MapLog, Youngest};
use super::nvram::{Half, Nvram};
use super::on_drive::OnDrive;
use super::{Geometry, Map, NOWHERE, format, nvram, take_entries, unique};

/// Damages that recovery remembers.
const NOTES_MAX: usize = 16;

/// A map on its way back.
#[derive(Debug)]
pub struct Recovery {
    pub(super) layout: Layout,
    /// Nothing, if the log is at home on its drive.
    nvram: Nvram,
    /// Number of the control block, and what is wrong with the other one.
    pub(super) control: u64,
    pub(super) other: Option<Damage>,
    /// As the control block has it.
    pub(super) lacking: Lacking,
    /// As the control block has it.
    pub(super) told: LogCursor,
    /// The same, moved on by what is found behind.
    pub(super) cursor: LogCursor,
    map: Map,
    /// By piece, through all portions.
    known: Vec<bool>,
    pub(super) state: State,
    /// The next record.
    pub(super) next: Start,
    /// Whether a record was taken that NVRAM does not know of.
    takes_more: bool,
    /// Number of the first record that nothing vouches for.
    pub(super) end: u64,
    /// The highest number that a record has which lies behind one that is not sound; 0 if none has.
    /// For a home on the drive.
    pub(super) highest: u64,
    /// Whether a record follows a younger control block than the one that was found.
    pub(super) is_outdated: bool,
    /// A checksum over the headers of the records from the tail on: two drives with the same have
    /// the same records.
    pub(super) trail: u32,
    /// The youngest record that nothing vouches for, and the log before it. For a home on the
    /// drive.
    pub(super) youngest: Option<(Before, Youngest)>,
    /// The highest number of a control block that any drive has: the next one is higher. For a home
    /// on the drive.
    pub(super) highest_control: u64,
    /// Where the next read begins, counted through all laps.
    at: u64,
    /// Behind the last read of this walk.
    until: u64,
    /// The begin of the next record, if the end of a read has cut it.
    carry: Vec<u8>,
    /// Where else a walk can begin, the oldest first.
    older: Vec<Start>,
    notes: Vec<Damage>,
    /// Why the first walk came to nothing.
    failed: Option<Damage>,
}

/// A log before its youngest record: how far it has come, and the checksum of what it has.
pub(super) type Before = (LogCursor, u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Walking,
    Ahead,
    Through,
    Done,
}

/// What recovery comes to.
#[derive(Debug)]
pub struct Recovered {
    /// The map, with every entry that was recorded.
    pub map: Map,
    /// The log, ready to go on.
    pub log: MapLog,
    /// Whether the log has a record that another drive may lack, as NVRAM does not know of it.
    pub has_more: bool,
    /// Damage that did no harm, because what it hit was known from elsewhere. The first sixteen.
    pub notes: Vec<Damage>,
}

/// How a record ended the look at what was read.
pub(super) enum Step {
    /// It was taken; the next one follows, if there is one.
    Next,
    /// It is not in the bytes as a whole.
    More,
}

impl Recovery {
    /// Begins with what was found in NVRAM.
    ///
    /// # Errors
    /// NVRAM is damaged, newer, or of another volume or geometry.
    pub fn new(geometry: &Geometry, nvram: Nvram) -> Result<Recovery, Damage> {
        let control = nvram.read_control(geometry)?;
        Ok(Recovery::by(control, nvram))
    }

    /// Begins with what a control block says.
    pub(super) fn by(control: Control, nvram: Nvram) -> Recovery {
        let Control {
            number,
            layout,
            cursor,
            lacking,
            other,
        } = control;
        let geometry = &layout.geometry;
        let pieces = layout.first_piece(layout.settings.portions.into());
        let mut older = cursor.older(&layout);
        older.reverse();
        let mut recovery = Recovery {
            nvram,
            control: number,
            other,
            lacking,
            takes_more: false,
            next: cursor.tail(&layout),
            end: cursor.sequence,
            highest: 0,
            is_outdated: false,
            trail: 0,
            youngest: None,
            highest_control: number,
            told: cursor.clone(),
            cursor,
            map: Map::all(geometry, 0),
            known: vec![false; pieces as usize],
            state: State::Walking,
            at: 0,
            until: 0,
            carry: Vec::new(),
            older,
            notes: Vec::new(),
            failed: None,
            layout,
        };
        recovery.begin(recovery.next);
        recovery
    }

    /// Which of the two drives that are to have the log do not have all of it, as the control block
    /// has it.
    pub fn lacking(&self) -> Lacking {
        self.lacking
    }

    /// Blocks of the log region, as the control block has it.
    pub fn region(&self) -> Blocks {
        self.layout.settings.region
    }

    /// Begins a walk.
    pub(super) fn begin(&mut self, from: Start) {
        self.cursor.clone_from(&self.told);
        self.youngest = None;
        self.takes_more = false;
        let empty = self.cursor.begins_empty(from);
        if empty {
            let copies = self.map.copies.iter_mut();
            copies.for_each(|copy| copy.fill(NOWHERE));
        }
        self.known.fill(empty);
        self.trail = 0;
        self.next = from;
        (self.at, self.until) = (from.at, self.reach());
        self.carry.clear();
        self.state = State::Walking;
        self.turn();
    }

    /// Behind the last block that is read.
    fn reach(&self) -> u64 {
        let tail = self.told.tail(&self.layout);
        self.told.looks(&self.layout, tail)
    }

    /// Looks ahead when all is read that is vouched for.
    fn turn(&mut self) {
        if self.state == State::Walking && self.next.sequence == self.end {
            self.state = State::Ahead;
        }
    }

    /// What to read from the region now: from where, and how much. Nothing when all was read.
    pub fn next_read(&self) -> Option<(Blocks, Blocks)> {
        let (at, end) = self.ahead()?;
        Some((self.layout.offset(at), Blocks(end - at)))
    }

    /// The blocks of the next read.
    fn ahead(&self) -> Option<(u64, u64)> {
        let mut reads = self.layout.reads(self.at, self.until);
        reads.next().filter(|_| self.state != State::Done)
    }

    /// Takes what was read.
    ///
    /// # Errors
    /// It is damaged, and no older checkpoint can do without it.
    ///
    /// # Panics
    /// It is not as long as asked for.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        let (begin, end) = self.ahead().expect("nothing was to read");
        let asked = (end - begin) * BLOCK_BYTES;
        assert_eq!(bytes.len() as u64, asked, "bytes of the read");
        self.at = end;
        let mut carry = std::mem::take(&mut self.carry);
        loop {
            if self.state == State::Through {
                if let Err(damage) = self.look_through(begin, bytes) {
                    return self.fall_back(damage);
                }
                break carry.clear();
            }
            let at = self.layout.place(self.next.at);
            let cut = at < begin;
            if cut {
                let largest = (self.layout.record_max * BLOCK_BYTES) as usize;
                let lacking = (largest - carry.len()).min(bytes.len());
                carry.extend_from_slice(&bytes[..lacking]);
            }
            let from = (at.saturating_sub(begin) * BLOCK_BYTES) as usize;
            let rest = if cut {
                Some(&*carry)
            } else {
                bytes.get(from..)
            };
            let Some(rest) = rest.filter(|rest| !rest.is_empty()) else {
                break carry.clear();
            };
            let step = match self.state {
                State::Walking => self.walk(at, rest),
                State::Ahead => self.look(at, rest),
                State::Through | State::Done => return Ok(()),
            };
            match step {
                Ok(Step::Next) => self.turn(),
                Ok(Step::More) if cut => break,
                Ok(Step::More) => break carry = rest.to_vec(),
                Err(damage) => return self.fall_back(damage),
            }
        }
        self.carry = carry;
        match self.state {
            State::Done => Ok(()),
            _ if self.at < self.until => Ok(()),
            State::Ahead | State::Through if self.layout.settings.home == Home::Drive => {
                self.read_all()
            }
            _ => self.fall_back(self.unended()),
        }
    }

    /// What is vouched for does not end where it should.
    fn unended(&self) -> Damage {
        let (at, last) = (self.layout.place(self.next.at), self.cursor.head);
        let fault = Fault::outside("block of the log, counted through all laps,", at, 0, last);
        fault.at(DamageAt::Log(self.layout.offset(at)))
    }

    /// Takes the record that begins here, damaged or not.
    fn walk(&mut self, at: u64, bytes: &[u8]) -> Result<Step, Damage> {
        let place = DamageAt::Log(self.layout.offset(at));
        let header = self.header(bytes).map_err(|fault| fault.at(place))?;
        let Some(record) = bytes.get(..header.blocks as usize * BLOCK_BYTES as usize) else {
            return Ok(Step::More);
        };
        self.check_control(&header, place)?;
        match header.check_payload(record) {
            Ok(()) => self.apply(&header, record).map_err(|f| f.at(place))?,
            Err(fault) => {
                self.note(fault.at(place));
                if header.kind == Kind::Batch {
                    self.known.fill(false);
                }
            }
        }
        self.pass(at, &header);
        Ok(Step::Next)
    }

    /// Takes the record that begins here if it is whole: NVRAM does not know of it. Whatever it is,
    /// all of its place is read before it is looked at.
    fn look(&mut self, at: u64, bytes: &[u8]) -> Result<Step, Damage> {
        if self.layout.settings.home == Home::Drive {
            return self.look_on(at, bytes);
        }
        if (bytes.len() as u64) < self.layout.record_max * BLOCK_BYTES {
            return Ok(Step::More);
        }
        if self.is_vouched_for() {
            return self.conclude();
        }
        let found = self.header(bytes).ok().and_then(|header| {
            let record = bytes.get(..header.blocks as usize * BLOCK_BYTES as usize)?;
            header.check_payload(record).ok()?;
            Some((header, record))
        });
        if let Some((header, record)) = found {
            let place = DamageAt::Log(self.layout.offset(at));
            self.apply(&header, record).map_err(|f| f.at(place))?;
            self.pass(at, &header);
            self.takes_more = true;
        }
        self.conclude()
    }

    /// Whether the records so far and NVRAM have all of the map.
    fn is_vouched_for(&self) -> bool {
        let halves = || Half::read_both(&self.nvram, &self.layout, self.cursor.batches);
        self.known.iter().all(|known| *known) && halves().is_ok()
    }

    /// Moves on behind a record; the cursor too, if it had not come so far.
    pub(super) fn pass(&mut self, at: u64, header: &Header) {
        if header.sequence == self.cursor.sequence {
            let blocks = header.blocks.into();
            self.cursor.add(&self.layout, header.kind, at, blocks);
        }
        if header.sequence == self.told.tail(&self.layout).sequence {
            self.trail = 0;
        }
        self.trail = header.follow(self.trail);
        self.next = Start {
            at: at + u64::from(header.blocks),
            sequence: header.sequence + 1,
        };
    }

    fn note(&mut self, damage: Damage) {
        if self.notes.len() < NOTES_MAX && !self.notes.contains(&damage) {
            self.notes.push(damage);
        }
    }

    /// Reads a header, which has to be that of the record whose turn it is, and fit the layout.
    pub(super) fn header(&self, bytes: &[u8]) -> Result<Header, Fault> {
        let layout = &self.layout;
        let header = Header::read(bytes, layout.geometry.volume)?;
        if header.sequence != self.next.sequence {
            return Err(Fault::Sequence {
                found: header.sequence,
                allowed: self.next.sequence,
            });
        }
        let (blocks, count) = match header.kind {
            Kind::Batch => layout.batch(header.count),
            Kind::Piece => {
                let (_, entries) = self.piece(&header)?;
                let count = entries.end - entries.start;
                (layout.piece_blocks(count), count)
            }
        };
        for (what, found, allowed) in [
            ("blocks of a record", header.blocks, blocks),
            ("entries of a record", header.count, count),
        ] {
            if u64::from(found) != allowed {
                return Err(Fault::outside(what, found.into(), allowed, allowed));
            }
        }
        Ok(header)
    }

    /// The piece that a header is of, by its number through all portions, and its entries.
    fn piece(&self, header: &Header) -> Result<(u64, std::ops::Range<u64>), Fault> {
        let (layout, portion) = (&self.layout, u64::from(header.portion));
        let portions = u64::from(layout.settings.portions);
        if portion >= portions {
            return Err(Fault::outside("portion", portion, 0, portions - 1));
        }
        let first = layout.piece(portion, 0);
        let of_piece = first.end - first.start;
        let piece = header.number.wrapping_sub(first.start) / of_piece;
        let entries = layout.piece(portion, piece.min(layout.pieces(portion) - 1));
        if entries.start != header.number {
            let (start, number) = (entries.start, header.number);
            return Err(Fault::outside("first entry", number, start, start));
        }
        Ok((layout.first_piece(portion) + piece, entries))
    }

    /// Takes the entries of a sound record.
    pub(super) fn apply(&mut self, header: &Header, record: &[u8]) -> Result<(), Fault> {
        let payload = &record[HEADER_BYTES..];
        let geometry = &self.layout.geometry;
        if header.kind == Kind::Batch {
            let entries = &payload[..header.count as usize * ENTRY_BYTES];
            return replay(geometry, &mut self.map, entries);
        }
        let (number, entries) = self.piece(header)?;
        let slots = &payload[..header.count as usize * 4];
        let taken = take_entries(geometry, &mut self.map, entries.start, slots);
        taken.map_err(|entry| {
            let bytes = &slots[(entry - entries.start) as usize * 4..];
            format::slot_fault(geometry, format::u32_at(bytes, 0))
        })?;
        self.known[number as usize] = true;
        Ok(())
    }

    /// All that there is was read.
    pub(super) fn conclude(&mut self) -> Result<Step, Damage> {
        let Some(number) = self.known.iter().position(|known| !known) else {
            self.state = State::Done;
            return Ok(Step::Next);
        };
        let mut portion = 0;
        while self.layout.first_piece(portion + 1) <= number as u64 {
            portion += 1;
        }
        let piece = number as u64 - self.layout.first_piece(portion);
        let entries = self.layout.piece(portion, piece);
        let lost = Fault::Lost {
            first: entries.start,
            last: entries.end - 1,
        };
        Err(lost.at(DamageAt::Map))
    }

    /// A walk came to nothing: the next one begins at an older portion, if there is one.
    pub(super) fn fall_back(&mut self, damage: Damage) -> Result<(), Damage> {
        // What is lost matters less than where the damage is by which it was lost.
        let lost = matches!(damage.fault, Fault::Lost { .. });
        let cause = self.notes.first().filter(|_| lost).cloned();
        if !lost {
            self.note(damage.clone());
        }
        let failed = self.failed.get_or_insert(cause.unwrap_or(damage)).clone();
        match self.older.pop() {
            Some(start) => {
                self.begin(start);
                Ok(())
            }
            None => {
                self.state = State::Done;
                Err(failed)
            }
        }
    }

    /// Replays NVRAM over what was read; the map, and the log to go on with.
    ///
    /// # Errors
    /// NVRAM is damaged, or two blocks lie in one slot.
    ///
    /// # Panics
    /// There is something left to read, or recovery has failed.
    pub fn finish(self) -> Result<Recovered, Damage> {
        self.finish_before(None)
    }

    /// The same, before a record that is to be written again.
    pub(super) fn finish_before(mut self, again: Option<Youngest>) -> Result<Recovered, Damage> {
        assert_eq!(self.state, State::Done, "something is left to read");
        assert!(self.known.iter().all(|known| *known), "recovery has failed");
        let layout = self.layout;
        let keeper: Box<dyn Keeper> = match layout.settings.home {
            Home::Nvram => Box::new(self.replay_nvram()?),
            Home::Drive => {
                let entries = again.as_ref().map(|of| of.entries(layout.geometry.volume));
                let tail = self.told.tail(&layout);
                Box::new(OnDrive::resume(
                    self.next_control() - 1,
                    tail,
                    entries.unwrap_or_default(),
                ))
            }
        };
        unique::check(&layout.geometry, &self.map, &[])?;
        let log = MapLog::resume(layout, keeper, self.cursor);
        Ok(Recovered {
            map: self.map,
            log: match again {
                Some(youngest) => log.resume_writing(youngest),
                None => log,
            },
            has_more: self.takes_more,
            notes: self.notes,
        })
    }

    /// Replays what the log does not have.
    fn replay_nvram(&mut self) -> Result<InNvram, Damage> {
        let (layout, batches) = (&self.layout, self.cursor.batches);
        let halves = Half::read_both(&self.nvram, layout, batches)?;
        for half in halves.iter().filter(|half| half.batch > batches) {
            let entries = self.nvram.entries(layout, half.batch, half.count);
            let replayed = replay(&layout.geometry, &mut self.map, entries);
            let place = DamageAt::Nvram(nvram::word_at(layout, half.batch));
            replayed.map_err(|fault| fault.at(place))?;
        }
        let nvram = self.nvram.clone();
        Ok(InNvram::resume(
            layout,
            nvram,
            &self.cursor,
            (self.control, self.lacking),
            halves,
        ))
    }
}

/// Enters updates, in order.
fn replay(geometry: &Geometry, map: &mut Map, entries: &[u8]) -> Result<(), Fault> {
    for bytes in entries.chunks_exact(ENTRY_BYTES) {
        map.set(format::take_entry(geometry, bytes)?);
    }
    Ok(())
}
