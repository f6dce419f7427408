//! Control blocks: what a log is of, how it is laid out, and how far it has come, in two places
//! that are written in turns.
//!
//! ```text
//! prelude (sequence = ordinal of the control block)
//! 32 geometry 15 | 47 portions 1 | 48 entries in NVRAM 4 | 52 begins known 2 | 54 flags 1 | 55 spread 1
//! 56 interval, largest write, region, head, sequence, batches, portions begun, pieces, blocks since: 8 each
//! 128 begins of portions, the oldest first: block 8 | sequence 8
//! ```
//!
//! flags: 1, the map was empty when the log began; 2 and 4, of the two drives that are to have the
//! log the first and the second does not have all of it, or is not there. Earlier releases set 2
//! alone, whichever drive it was, and nothing in NVRAM.
//!
//! In the place of one lies a mark (a prelude, of another magic word) where a drive was set aside:
//! no control block that is not younger counts there.
//!
//! The same bytes lie in NVRAM, and at both ends of a region on a drive. A block may tear: the
//! other one still holds.

use super::Geometry;
use super::cursor::{LogCursor, Start};
use super::format::{
    self, CONTROL, Damage, Fault, MARK, PRELUDE_BYTES, put, u16_at, u32_at, u64_at,
};
use super::home::Home;
use super::layout::{Layout, PORTIONS_MAX, Settings};
use crate::units::{BLOCK_BYTES, Blocks};

const STARTS_AT: usize = 128;
const FROM_EMPTY: u8 = 1;
const LACKING: [u8; 2] = [2, 4];
const STARTS_MAX: usize = 2 * PORTIONS_MAX as usize + 1;
/// A control block.
pub(super) const CONTROL_BYTES: usize = STARTS_AT + 16 * STARTS_MAX;

/// Which of the two drives that are to have a log do not have all of it.
pub type Lacking = [bool; 2];

/// Whether one drive alone has all of the log, or none has.
pub(super) fn is_alone(lacking: Lacking) -> bool {
    lacking.contains(&true)
}

/// Geometry, settings and cursor, as the newest sound control block has them.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) number: u64,
    pub(super) layout: Layout,
    pub(super) cursor: LogCursor,
    pub(super) lacking: Lacking,
    /// What is wrong with the other one, if something is.
    pub(super) other: Option<Damage>,
}

/// The control block of this number.
pub(super) fn write_control(
    layout: &Layout,
    cursor: &LogCursor,
    number: u64,
    lacking: Lacking,
) -> [u8; CONTROL_BYTES] {
    let mut block = [0; CONTROL_BYTES];
    let settings = layout.settings;
    put_geometry(&layout.geometry, &mut block);
    put(&mut block, 47, &[settings.portions]);
    put(&mut block, 48, &settings.nvram_entries.to_le_bytes());
    let starts = cursor.starts.len() as u16;
    put(&mut block, 52, &starts.to_le_bytes());
    let spread = layout.geometry.spread.to_byte();
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let [first, second] = LACKING;
    let flags =
        flag(cursor.from_empty, FROM_EMPTY) | flag(lacking[0], first) | flag(lacking[1], second);
    put(&mut block, 54, &[flags, spread]);
    let words = [
        settings.interval.0,
        settings.write_max.0,
        settings.region.0,
        cursor.head,
        cursor.sequence,
        cursor.batches,
        cursor.begun,
        cursor.pieces,
        cursor.since,
    ];
    for (index, word) in words.iter().enumerate() {
        put(&mut block, 56 + 8 * index, &word.to_le_bytes());
    }
    for (index, start) in cursor.starts.iter().enumerate() {
        let at = STARTS_AT + 16 * index;
        put(&mut block, at, &start.at.to_le_bytes());
        put(&mut block, at + 8, &start.sequence.to_le_bytes());
    }
    format::seal(&mut block, CONTROL, layout.geometry.volume, number);
    block
}

/// The mark of a drive that is set aside behind the control block of this number.
pub(super) fn write_mark(layout: &Layout, number: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK_BYTES as usize];
    let prelude = &mut block[..PRELUDE_BYTES];
    format::seal(prelude, MARK, layout.geometry.volume, number);
    block
}

impl Control {
    /// What the younger sound one of two control blocks says.
    pub(super) fn younger(
        even: Result<Control, Damage>,
        odd: Result<Control, Damage>,
    ) -> Result<Control, Damage> {
        match (even, odd) {
            // A newer release has been here, whatever an older one left in the other block.
            (Err(damage), _) | (_, Err(damage)) if matches!(damage.fault, Fault::Newer { .. }) => {
                Err(damage)
            }
            (Err(mark), other) | (other, Err(mark)) if mark.is_mark() => {
                match (other, mark.fault) {
                    // The drive is whole again since.
                    (Ok(sound), Fault::SetAside { control }) if sound.number > control => Ok(sound),
                    (_, fault) => Err(fault.at(mark.place)),
                }
            }
            (Ok(even), Ok(odd)) if even.number > odd.number => Ok(even),
            (Ok(_), Ok(odd)) => Ok(odd),
            (Ok(sound), Err(other)) | (Err(other), Ok(sound)) => Ok(Control {
                other: Some(other),
                ..sound
            }),
            // A log that is young has one block of zeros.
            (Err(even), Err(odd)) => {
                let magic = matches!(even.fault, Fault::Magic { .. });
                Err(if magic { odd } else { even })
            }
        }
    }

    /// What a control block says of a log at this home, which has to fit the volume.
    pub(super) fn parse(block: &[u8], geometry: &Geometry, home: Home) -> Result<Control, Fault> {
        if let Ok(control) = format::unseal(&block[..PRELUDE_BYTES], MARK, geometry.volume) {
            return Err(Fault::SetAside { control });
        }
        let number = format::unseal(block, CONTROL, geometry.volume)?;
        check_geometry(block, geometry)?;
        geometry.spread.check(block[55])?;
        let word = |index: usize| u64_at(block, PRELUDE_BYTES + 24 + 8 * index);
        let settings = Settings {
            home,
            nvram_entries: u32_at(block, 48),
            portions: block[47],
            interval: Blocks(word(0)),
            write_max: Blocks(word(1)),
            region: Blocks(word(2)),
        };
        // The checksum is right, so this was written so: by no release of this format.
        let layout = Layout::new(geometry, &settings)
            .map_err(|refused| Fault::outside(refused.what, refused.found, 0, 0))?;
        let kept = LogCursor::starts_max(settings.portions) as u64;
        let starts = u64::from(u16_at(block, 52));
        if starts != word(6).min(kept) {
            let allowed = word(6).min(kept);
            return Err(Fault::outside("portions known", starts, allowed, allowed));
        }
        let start = |index: usize| Start {
            at: u64_at(block, STARTS_AT + 16 * index),
            sequence: u64_at(block, STARTS_AT + 16 * index + 8),
        };
        let cursor = LogCursor {
            head: word(3),
            sequence: word(4),
            batches: word(5),
            begun: word(6),
            pieces: word(7),
            since: word(8),
            starts: (0..starts as usize).map(start).collect(),
            from_empty: block[54] & FROM_EMPTY != 0,
        };
        Ok(Control {
            number,
            layout,
            cursor,
            lacking: LACKING.map(|flag| block[54] & flag != 0),
            other: None,
        })
    }
}

/// Writes what a log is made for behind a prelude, up to byte 46.
fn put_geometry(geometry: &Geometry, block: &mut [u8]) {
    put(block, 32, &geometry.chunks.to_le_bytes());
    put(block, 36, &geometry.slots.to_le_bytes());
    put(block, 40, &geometry.unit.to_le_bytes());
    put(block, 44, &geometry.columns.to_le_bytes());
    put(block, 46, &[geometry.copies]);
}

/// What it was made for has to be what the volume is.
fn check_geometry(block: &[u8], geometry: &Geometry) -> Result<(), Fault> {
    let values = [
        ("chunks", u32_at(block, 32), geometry.chunks),
        ("slots", u32_at(block, 36), geometry.slots),
        ("chunks in a unit", u32_at(block, 40), geometry.unit),
        ("columns", u16_at(block, 44).into(), geometry.columns.into()),
        ("copies", block[46].into(), geometry.copies.into()),
    ];
    for (what, found, allowed) in values {
        if found != allowed {
            return Err(Fault::Geometry {
                what,
                found: found.into(),
                allowed: allowed.into(),
            });
        }
    }
    Ok(())
}
