//! What is said of every write buffer: how large it is, how long an answer takes, and when what is
//! in it goes to the drives.

use crate::pages::{BLOCKS_OF_UNIT, Marks, PAGE, PAGE_BYTES};
use crate::registry::{ConfigError, Knob, Knobs, Need};
use crate::size::Size;
use crate::units::{Blocks, Duration};

/// What is found after a power cut: see `docs/design/0023-write-buffer.md`.
pub(super) const PROMISE: &str = "all that was answered, whatever the placement promises: what the buffer has stays there, and a table in NVRAM says which blocks that is";

/// No size was said.
const UNSET: &str = "unset";
/// A unit is what the placement writes together.
const AUTO: &str = "auto";
/// The setting that says how much goes to the drives together.
const UNIT: &str = "unit_kib";
/// The longest unit, in KiB.
const LONGEST: u64 = 16_384;

const SIZES: &str =
    "a number with its unit, as in 512MiB, 2GB or 1000lines; a line is a page of 4 KiB";
const UNITS: &str = "auto, or a multiple of 4 from 4 to 16384";

fn is_size(text: &str) -> bool {
    let size = text.parse::<Size>();
    text == UNSET || size.is_ok_and(|size| !size.is_share())
}

fn is_unit(text: &str) -> bool {
    let kib = text.parse::<u64>();
    text == AUTO || kib.is_ok_and(|kib| kib.is_multiple_of(4) && (4..=LONGEST).contains(&kib))
}

/// Settings of every write buffer.
pub(super) const KNOBS: &[Knob] = &COMMON;

pub(super) const SETTINGS: usize = 9;

/// The same, to be joined with those of a policy.
pub(super) const COMMON: [Knob; SETTINGS] = [
    Knob::text(
        "size",
        UNSET,
        is_size,
        SIZES,
        "how large it is: bytes, or lines of a page of 4 KiB",
    ),
    Knob::text(
        UNIT,
        AUTO,
        is_unit,
        UNITS,
        "bytes that go to the drives together, in KiB; auto is what the placement writes together, or so many of that as 64 KiB need",
    ),
    Knob::number(
        "write_us",
        180.0,
        0.0..=1e6,
        "time that the answer to a write takes that the buffer has room for, in microseconds",
    ),
    Knob::number(
        "read_us",
        10.0,
        0.0..=1e6,
        "time that the answer to a read takes which gets something from the buffer and nothing from drives, in microseconds",
    )
    .needing(Need::Reads),
    Knob::integer(
        "low_percent",
        80,
        0..=99,
        "how full it may be before anything goes to the drives, in percent",
    ),
    Knob::integer(
        "high_percent",
        90,
        1..=100,
        "how full it is when as many units as may go to the drives at a time; in between they grow in proportion",
    ),
    Knob::integer(
        "destage_units",
        20,
        1..=1_024,
        "units that are on their way to the drives at a time, at most",
    ),
    Knob::integer(
        "full_units",
        4,
        0..=1_024,
        "the same of units of which every block is there, however full the buffer is; with 0 these wait like others",
    ),
    Knob::integer(
        "retries",
        3,
        0..=100,
        "how often a unit that could not be written is tried again; then it stays in the buffer until it is written to again",
    )
    .needing(Need::Faults),
];

/// The settings as a stack needs them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buffering {
    /// Pages that it has room for.
    pub pages: u64,
    /// KiB of a unit; none if the placement says it.
    unit_kib: Option<u64>,
    /// How long the answer to a write takes.
    pub write_time: Duration,
    /// The same of a read.
    pub read_time: Duration,
    /// When units go.
    pub marks: Marks,
    /// How often one that could not be written is tried again.
    pub retries: u32,
}

impl Buffering {
    /// Of the settings of the buffer of this name.
    ///
    /// # Errors
    /// No size is said or there is room for no page, or for less than a unit that is said, or the
    /// marks are in the wrong order.
    pub fn of(name: &str, knobs: &Knobs) -> Result<Buffering, ConfigError> {
        let size = knobs.choice("size");
        if size == UNSET {
            let allowed = format!("set, as in {name}:size=64MiB: {SIZES}");
            return Err(ConfigError::value(&format!("{name}.size"), size, &allowed));
        }
        let pages = size.parse::<Size>()?.lines(0, PAGE_BYTES);
        if pages == 0 || pages > u64::from(u32::MAX / 2) {
            let allowed = "room for a page of 4 KiB at least, and for fewer than 2 billion";
            return Err(ConfigError::value(&format!("{name}.size"), size, allowed));
        }
        let unit_kib: Option<u64> = knobs.choice(UNIT).parse().ok();
        let room = pages * PAGE_BYTES / 1024;
        if let Some(kib) = unit_kib.filter(|kib| *kib > room) {
            let allowed = format!("auto, or at most the {room} KiB of {name}.size");
            let key = format!("{name}.{UNIT}");
            return Err(ConfigError::value(&key, &kib.to_string(), &allowed));
        }
        let (low, high) = (knobs.integer("low_percent"), knobs.integer("high_percent"));
        if low >= high {
            let allowed = format!("below {name}.high_percent, which is {high}");
            let key = format!("{name}.low_percent");
            return Err(ConfigError::value(&key, &low.to_string(), &allowed));
        }
        Ok(Buffering {
            pages,
            unit_kib,
            write_time: knobs.duration_us("write_us"),
            read_time: knobs.duration_us("read_us"),
            marks: Marks {
                low,
                high,
                units: knobs.integer("destage_units") as u32,
                full_units: knobs.integer("full_units") as u32,
            },
            retries: knobs.integer("retries") as u32,
        })
    }

    /// Pages of a unit above a placement that writes so many blocks together.
    pub fn unit_pages(&self, together: Blocks) -> u64 {
        match self.unit_kib {
            Some(kib) => kib * 1024 / PAGE_BYTES,
            None => {
                let together = together.0.max(1);
                (together * BLOCKS_OF_UNIT.div_ceil(together)).div_ceil(PAGE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_what_is_written_together_unless_it_is_said() {
        let pages = |unit_kib, blocks| {
            let marks = Marks {
                low: 80,
                high: 90,
                units: 1,
                full_units: 0,
            };
            let buffering = Buffering {
                pages: 1,
                unit_kib,
                write_time: Duration::ZERO,
                read_time: Duration::ZERO,
                marks,
                retries: 0,
            };
            buffering.unit_pages(Blocks(blocks))
        };
        assert_eq!(pages(None, 1), 16);
        assert_eq!(pages(None, 129), 17);
        assert_eq!(pages(None, 96), 24, "two of 48 KiB");
        assert_eq!(pages(None, 6 * 128), 96);
        assert_eq!(pages(Some(4), 6 * 128), 1);
        assert!(is_unit("auto") && is_unit("384") && !is_unit("6") && !is_unit("0"));
        assert!(is_size("40lines") && !is_size("1%"));
    }
}
