//! The way back of a log that is at home on its drive: what comes after the last record that the control block tells of.
//!
//! ```text
//! Ahead     takes one record after the other while each follows the one before
//! Through   from the first one that is not sound: looks through all that is left up to the bound of the log
//! Through -> Done, if nothing there has a higher number: the write that the power cut tore, or none
//! Through -> Walking again, if something has: all records below that number were written, so one that is not sound is damage
//! ```
//!
//! A header is enough to say that a write began, and then all before it had ended. The highest number that is found may
//! itself be torn. The youngest record has nothing that vouches for it, as with a virtual log.
//!
//! A record tells the control block that it follows. If that is younger than the one that was found, the latter is not the youngest:
//! records may lie beyond its bound, so its log is not taken.
//!
//! **Two drives with the log.** The one whose control block is younger has come further, and of equal ones the one with the higher
//! number ([`Reached`]). A log that is damaged tells how far it had come, as far as that can be seen: a sound one that is older is not taken
//! in its place. Every life writes a control block before its first record, so a drive that was away for a life has an older one.

use super::Geometry;
use super::control::{CONTROL_BYTES, Control};
use super::format::{Damage, Fault, Header, Place};
use super::home::Home;
use super::layout::CONTROL_BLOCKS;
use super::log::Youngest;
use super::nvram::Nvram;
use super::recovery::{Recovered, Recovery, State, Step};
use crate::units::{BLOCK_BYTES, Blocks};

/// What is read first: both control blocks.
pub const CONTROLS: Blocks = Blocks(2 * CONTROL_BLOCKS);

/// How far a log has come: the further, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reached {
    /// Number of the youngest control block.
    control: u64,
    /// Number of the record that comes next.
    next: u64,
}

impl Recovery {
    /// Begins with the control blocks at the head of the region on a drive.
    ///
    /// # Errors
    /// Both are damaged, or newer, or of another volume or geometry.
    ///
    /// # Panics
    /// There are not as many bytes as [`CONTROLS`] says.
    pub fn on_drive(geometry: &Geometry, controls: &[u8]) -> Result<Recovery, Damage> {
        assert_eq!(controls.len() as u64, CONTROLS.bytes(), "control blocks");
        let read = |index: u64| {
            let at = Blocks(index * CONTROL_BLOCKS);
            let block = &controls[at.bytes() as usize..][..CONTROL_BYTES];
            Control::parse(block, geometry, Home::Drive).map_err(|f| f.at(Place::Control(at)))
        };
        let control = Control::younger(read(0), read(1))?;
        Ok(Recovery::by(control, Nvram::from_bytes(Vec::new())))
    }

    /// How far a sound log has come, when all was read.
    pub fn reached(&self) -> Reached {
        Reached {
            control: self.control,
            next: self.next.sequence,
        }
    }

    /// How far a damaged log may have come, by all of its region that was [looked at](Recovery::survey).
    pub fn may_have_reached(&self) -> Reached {
        Reached {
            control: self.control + u64::from(self.is_outdated),
            next: self.told.sequence.max(self.highest + 1),
        }
    }

    /// Looks at a part of the region of a log that is damaged, for what tells how far it had come.
    pub fn survey(&mut self, bytes: &[u8]) {
        for block in bytes.chunks_exact(BLOCK_BYTES as usize) {
            let header = Header::read(block, self.layout.geometry.volume);
            if let Ok(header) = header
                && header.sequence >= self.told.sequence
            {
                _ = self.check_control(&header, Place::Map);
                self.highest = self.highest.max(header.sequence);
            }
        }
    }

    /// Whether another drive that has come as far as `other`, by a sound log, has the same records.
    pub fn is_like(&self, other: Reached) -> bool {
        let Reached { control, next } = self.reached();
        let torn = other.control + 1 == control && next == self.told.sequence;
        next == other.next && (control == other.control || torn)
    }

    /// Whether such a one lacks the youngest record alone.
    pub fn is_one_ahead_of(&self, other: Reached) -> bool {
        let Reached { control, next } = self.reached();
        control == other.control && next == other.next + 1 && self.youngest.is_some()
    }

    /// As `finish`, but the youngest record is under way again.
    ///
    /// # Errors
    /// Two blocks lie in one slot.
    ///
    /// # Panics
    /// There is something left to read, or recovery has failed.
    pub fn finish_and_repeat(mut self) -> Result<Recovered, Damage> {
        let again = self.youngest.take().map(|(before, youngest)| {
            self.cursor = before;
            youngest
        });
        self.finish_before(again)
    }

    /// A record that is not older than the control block follows it, or one that is younger and not there.
    pub(super) fn check_control(&mut self, header: &Header, place: Place) -> Result<(), Damage> {
        let allowed = self.control as u32;
        let is_new = header.sequence >= self.told.sequence;
        if self.layout.settings.home == Home::Nvram || !is_new || header.control == allowed {
            return Ok(());
        }
        let found = header.control;
        self.is_outdated |= found.wrapping_sub(allowed) < 1 << 31;
        let fault = Fault::Control { found, allowed };
        let other = self.other.clone().filter(|_| self.is_outdated);
        Err(other.unwrap_or_else(|| fault.at(place)))
    }

    /// Takes the record that begins here if it follows, and then looks at the next one.
    pub(super) fn look_on(&mut self, at: u64, bytes: &[u8]) -> Result<Step, Damage> {
        let Ok(header) = self.header(bytes) else {
            return self.unsound(at, bytes);
        };
        let place = Place::Log(self.layout.offset(at));
        if let Err(damage) = self.check_control(&header, place) {
            // What an earlier life left of a record that this one has not written.
            return match self.is_outdated {
                true => Err(damage),
                false => self.unsound(at, bytes),
            };
        }
        let Some(record) = bytes.get(..header.blocks as usize * BLOCK_BYTES as usize) else {
            return Ok(Step::More);
        };
        if header.check_payload(record).is_err() {
            return self.unsound(at, bytes);
        }
        self.apply(&header, record).map_err(|f| f.at(place))?;
        let youngest = Youngest {
            kind: header.kind,
            at,
            bytes: record.to_vec(),
        };
        self.youngest = Some((self.cursor.clone(), youngest));
        self.pass(at, &header);
        Ok(Step::Next)
    }

    /// From here on all is looked through.
    fn unsound(&mut self, at: u64, bytes: &[u8]) -> Result<Step, Damage> {
        self.state = State::Through;
        self.look_through(at, bytes)?;
        Ok(Step::Next)
    }

    /// Looks for records with higher numbers.
    pub(super) fn look_through(&mut self, at: u64, bytes: &[u8]) -> Result<(), Damage> {
        let blocks = bytes.chunks_exact(BLOCK_BYTES as usize);
        for (at, block) in (at..).zip(blocks) {
            let Ok(header) = Header::read(block, self.layout.geometry.volume) else {
                continue;
            };
            if header.sequence > self.next.sequence {
                self.check_control(&header, Place::Log(self.layout.offset(at)))?;
                self.highest = self.highest.max(header.sequence);
            }
        }
        Ok(())
    }

    /// All is read up to the bound.
    pub(super) fn read_all(&mut self) -> Result<(), Damage> {
        if self.highest > self.next.sequence {
            self.end = self.highest;
            self.begin(self.told.tail(&self.layout));
            return Ok(());
        }
        match self.conclude() {
            Ok(_) => Ok(()),
            Err(damage) => self.fall_back(damage),
        }
    }
}
