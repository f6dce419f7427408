//! The way back of a log that is at home on its drive: what comes after the last record that the
//! control block tells of.
//!
//! ```text
//! Ahead     takes one record after the other while each follows the one before
//! Through   from the first one that is not sound: looks through all that is left up to the bound of the log
//! Through -> Done, if nothing there has a higher number: the write that the power cut tore, or none
//! Through -> Walking again, if something has: all records below that number were written, so one that is not sound is damage
//! ```
//!
//! A header is enough to say that a write began, and then all before it had ended. The highest
//! number that is found may itself be torn. The youngest record has nothing that vouches for it, as
//! with a virtual log.
//!
//! A record tells the control block that it follows. If that is younger than the one that was
//! found, the latter is not the youngest: records may lie beyond its bound, so its log is not
//! taken.
//!
//! **Two drives with the log.** The one whose control block is younger has come further, and of
//! equal ones the one with the higher number ([`Reached`]). Every life writes a control block
//! before its first record, so a drive that was away for a life has an older one. A sound log is
//! taken beside one that is damaged only if it [covers](Recovery::covers) that one: has all that
//! was answered there. What a drive has of the log that is taken is looked up in its records, read
//! by the control block of that log ([`Has`]).

use super::Geometry;
use super::control::{CONTROL_BYTES, Control, is_alone, write_control};
use super::format::{Damage, DamageAt, Fault, Header};
use super::home::Home;
use super::layout::{CONTROL_LEN, control_places};
use super::log::Youngest;
use super::nvram::Nvram;
use super::recovery::{Recovered, Recovery, State, Step};
use crate::units::{BLOCK_BYTES, Blocks};

/// How far a log has come: the further, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reached {
    /// Number of the youngest control block.
    pub control: u64,
    /// Number of the record that comes next.
    pub next: u64,
}

/// What a drive has of the records of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Has {
    /// All.
    All,
    /// All but the youngest one, of which nothing says that it was whole before the power went.
    AllButYoungest,
    /// Less, or others.
    Less,
}

/// Whether a control block that was found by its number is younger than another one; both are low
/// halves.
fn is_younger(one: u32, other: u32) -> bool {
    one != other && one.wrapping_sub(other) < 1 << 31
}

/// A look at all blocks of a region, whatever they are: how far the youngest records there have
/// come.
#[derive(Clone, Copy, Debug)]
pub struct Survey {
    volume: u64,
    /// The low half of the control block that they follow, and the highest number of those that do.
    youngest: Option<(u32, u64)>,
}

impl Survey {
    /// Before it begins.
    pub fn new(geometry: &Geometry) -> Survey {
        let volume = geometry.volume;
        Survey {
            volume,
            youngest: None,
        }
    }

    /// Looks at a part of the region.
    pub fn look(&mut self, bytes: &[u8]) {
        for block in bytes.chunks_exact(BLOCK_BYTES as usize) {
            let Ok(header) = Header::read(block, self.volume) else {
                continue;
            };
            let (control, highest) = self.youngest.unwrap_or((header.control, 0));
            let (found, number) = (header.control, header.sequence);
            if found == control {
                self.youngest = Some((control, highest.max(number)));
            } else if is_younger(found, control) {
                self.youngest = Some((found, number));
            }
        }
    }

    /// How far they have come; nothing if there is no record. `near`: a control block whose number
    /// is not far from theirs.
    pub fn reached(&self, near: u64) -> Option<Reached> {
        let (control, highest) = self.youngest?;
        let ahead = control.wrapping_sub(near as u32).cast_signed();
        Some(Reached {
            control: near.wrapping_add_signed(ahead.into()),
            next: highest + 1,
        })
    }
}

impl Recovery {
    /// Begins with the control blocks at the ends of the region on a drive, which are so long:
    /// [`control_places`].
    ///
    /// # Errors
    /// Both are damaged, or newer, or of another volume or geometry.
    ///
    /// # Panics
    /// They are not as long as [`CONTROL_LEN`] says.
    pub fn on_drive(
        geometry: &Geometry,
        region: Blocks,
        [even, odd]: [&[u8]; 2],
    ) -> Result<Recovery, Damage> {
        let [at_even, at_odd] = control_places(region);
        let read = |at: Blocks, block: &[u8]| {
            assert_eq!(block.len() as u64, CONTROL_LEN.bytes(), "a control block");
            let block = &block[..CONTROL_BYTES];
            Control::parse(block, geometry, Home::Drive).map_err(|f| f.at(DamageAt::Control(at)))
        };
        let control = Control::younger(read(at_even, even), read(at_odd, odd))?;
        Ok(Recovery::by(control, Nvram::from_bytes(Vec::new())))
    }

    /// The way back of another drive's log by the control block of this one.
    pub fn of_another_drive(&self) -> Recovery {
        let control = Control {
            number: self.control,
            layout: self.layout,
            cursor: self.told.clone(),
            lacking: self.lacking,
            other: None,
        };
        Recovery::by(control, Nvram::from_bytes(Vec::new()))
    }

    /// How far a sound log has come, when all was read.
    pub fn reached(&self) -> Reached {
        Reached {
            control: self.control,
            next: self.next.sequence,
        }
    }

    /// Whether this log, which is sound, has all that was answered by another drive's, which is
    /// not: of that one its way back, as far as that came, and a look at its region. A drive of
    /// which nothing can be seen has no say. `index`: which of the two drives this one is.
    ///
    /// Records go to both drives, and one is answered when both have it. One that the damaged drive
    /// lacks is answered only if a control block says that this drive is alone. So a drive that has
    /// one record more, and no such control block, has one that was not answered. Of records that
    /// follow a control block by which the damaged drive lacks something, this drive has all that
    /// were answered: the damaged one may have got some on its way back.
    ///
    /// After this drive was given up, the damaged one may have got more of them, which follow younger
    /// control blocks. If both control blocks of this drive are sound, it got none of these. If the
    /// youngest sound one of the damaged drive is older than that by which this drive is alone, the
    /// damaged one was never whole after that: a drive that comes whole beside this one gets the
    /// same control block, and one that is alone gets two before anything is answered, one in each
    /// place. So nothing of those records was answered.
    pub fn covers(&self, index: usize, other: Option<&Recovery>, survey: &Survey) -> bool {
        let Reached { control, next } = self.reached();
        let near = other.map_or(control, |other| other.control);
        let surveyed = survey.reached(near);
        let told = other.map(|other| Reached {
            control: other.control,
            next: other.told.sequence,
        });
        let Some(seen) = surveyed.max(told) else {
            return true;
        };
        let is_told = other.filter(|other| other.control == seen.control);
        let one_more = match other {
            // If it says that this drive is alone, its last record was answered.
            Some(other) if other.control == seen.control => {
                !is_alone(other.lacking) && (other.other.is_none() || control == 1)
            }
            // The youngest control block is lost: where the next one would lie, there is this one.
            Some(other) => other.control + 1 == seen.control,
            None => false,
        };
        let is_alone_here = self.lacking[1 - index] && !self.lacking[index];
        let is_older = other.is_some_and(|other| other.control < control);
        if is_alone_here && self.other.is_none() && is_older {
            return true;
        }
        if seen.control > control {
            let on_its_way = seen.control == control + 1 && seen.next <= next;
            return on_its_way && is_told.is_some_and(|other| !is_alone(other.lacking));
        }
        if seen.control == control && is_alone_here {
            return true;
        }
        seen.control < control || seen.next <= next + u64::from(one_more)
    }

    /// What another drive has of the records of this log. Both were read by a control block that
    /// says the same.
    pub fn has(&self, other: &Recovery) -> Has {
        let same = |next: u64, trail: u32| (other.next.sequence, other.trail) == (next, trail);
        let next = self.next.sequence;
        match &self.youngest {
            _ if other.told != self.told => Has::Less,
            _ if same(next, self.trail) => Has::All,
            Some(((_, before), _)) if same(next - 1, *before) => Has::AllButYoungest,
            _ => Has::Less,
        }
    }

    /// Whether another drive's log was read by the control block of this one.
    pub fn has_control(&self, other: &Recovery) -> bool {
        self.control == other.control && self.told == other.told
    }

    /// The control block of this log, where it lies.
    pub fn control_block(&self) -> (Blocks, Vec<u8>) {
        let (layout, number) = (&self.layout, self.control);
        let mut block = write_control(layout, &self.told, number, self.lacking).to_vec();
        block.resize(CONTROL_LEN.bytes() as usize, 0);
        (layout.control_at(number), block)
    }

    /// The highest number that a control block on this drive may have: one that cannot be read may be
    /// the next.
    pub fn control_at_most(&self) -> u64 {
        self.control + u64::from(self.other.is_some())
    }

    /// Another drive has something of a control block with this number: the next one of this log is
    /// to be younger.
    pub fn outdo(&mut self, control: u64) {
        self.highest_control = self.highest_control.max(control);
    }

    /// Number of the next control block. It never lies where the youngest one does.
    pub(super) fn next_control(&self) -> u64 {
        let next = self.highest_control + 1;
        next + u64::from(next % 2 == self.control % 2)
    }

    /// As `finish`, but the youngest record is under way again.
    ///
    /// # Errors
    /// Two blocks lie in one slot.
    ///
    /// # Panics
    /// There is something left to read, or recovery has failed.
    pub fn finish_and_repeat(mut self) -> Result<Recovered, Damage> {
        let again = self.youngest.take().map(|((before, _), youngest)| {
            self.cursor = before;
            youngest
        });
        self.finish_before(again)
    }

    /// A record that is not older than the control block follows it, or one that is younger and not
    /// there.
    pub(super) fn check_control(&mut self, header: &Header, place: DamageAt) -> Result<(), Damage> {
        let allowed = self.control as u32;
        let is_new = header.sequence >= self.told.sequence;
        if self.layout.settings.home == Home::Nvram || !is_new || header.control == allowed {
            return Ok(());
        }
        let found = header.control;
        self.is_outdated |= is_younger(found, allowed);
        let fault = Fault::Control { found, allowed };
        let other = self.other.clone().filter(|_| self.is_outdated);
        Err(other.unwrap_or_else(|| fault.at(place)))
    }

    /// Takes the record that begins here if it follows, and then looks at the next one.
    pub(super) fn look_on(&mut self, at: u64, bytes: &[u8]) -> Result<Step, Damage> {
        let Ok(header) = self.header(bytes) else {
            return self.unsound(at, bytes);
        };
        let place = DamageAt::Log(self.layout.offset(at));
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
        self.youngest = Some(((self.cursor.clone(), self.trail), youngest));
        self.pass(at, &header);
        Ok(Step::Next)
    }

    /// From here on all is looked through.
    fn unsound(&mut self, at: u64, bytes: &[u8]) -> Result<Step, Damage> {
        self.state = State::Through;
        self.look_through(at, bytes)?;
        Ok(Step::Next)
    }

    /// Looks for records with higher numbers. Those that follow an older control block are of a
    /// life that was lost.
    pub(super) fn look_through(&mut self, at: u64, bytes: &[u8]) -> Result<(), Damage> {
        let blocks = bytes.chunks_exact(BLOCK_BYTES as usize);
        for (at, block) in (at..).zip(blocks) {
            let Ok(header) = Header::read(block, self.layout.geometry.volume) else {
                continue;
            };
            if header.sequence <= self.next.sequence {
                continue;
            }
            let place = DamageAt::Log(self.layout.offset(at));
            match self.check_control(&header, place) {
                Ok(()) => self.highest = self.highest.max(header.sequence),
                Err(damage) if self.is_outdated => return Err(damage),
                Err(_) => {}
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
