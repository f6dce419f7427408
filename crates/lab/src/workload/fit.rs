//! Addresses of a trace that do not fit the drive: an error, unless the user says what is to be
//! done.
//!
//! Nothing is done to a trace that fits. Otherwise, in blocks of 512 bytes, with `c` the drive's
//! capacity:
//!
//! - `wrap`: the start is taken modulo `c` rounded down to 8 blocks, so that 4 KiB alignment
//!   survives. A request that would then straddle the end of the drive starts at block 0 instead:
//!   runs stay runs, a stream crossing the end goes on at the front.
//! - `scale`: the start is multiplied by `c` / (the first block behind the trace's highest) and
//!   rounded down to 8 blocks; a request that would end behind the drive is moved back to the last
//!   multiple of 8 blocks at which it fits. Distances keep their proportions; runs become
//!   overlapping.
//! - `truncate`: requests that end behind the drive are left out and counted.
//!
//! A request longer than the whole drive cannot be wrapped or scaled and is an error. O(1) per
//! request.

use nearslot_core::registry::ConfigError;
use nearslot_core::units::{BLOCK_BYTES, Blocks, Extent, Lba};

use crate::catalog::large_enough;
use crate::survey::Summary;

words! {
    /// What is done about addresses beyond the drive.
    Mode as "fit" {
        /// They are an error.
        None = "none",
        /// Modulo the drive.
        Wrap = "wrap",
        /// Shrunk in proportion.
        Scale = "scale",
        /// Left out and counted.
        Truncate = "truncate",
    }
}

/// Alignment that survives: 4 KiB, the page of operating systems and the sector of modern drives.
const ALIGNMENT: u64 = 8;

/// How far requests reach.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// First byte behind the highest that they touch.
    pub(super) end_bytes: u64,
    /// Most blocks that one of them touches.
    pub(super) blocks_max: u64,
    /// Bytes of the longest.
    pub(super) len_max: u64,
}

impl Reach {
    /// Of all requests of a trace with one device.
    pub(super) fn of(summary: &Summary) -> Reach {
        Reach {
            end_bytes: summary.end_bytes(),
            blocks_max: summary.blocks_max,
            len_max: summary.len_max,
        }
    }
}

/// What a load goes onto.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    blocks: Blocks,
    /// For messages.
    name: &'a str,
    /// Blocks of one of its drives.
    drive: Blocks,
}

impl<'a> From<(Blocks, &'a str)> for Holder<'a> {
    /// A drive by itself.
    fn from((blocks, name): (Blocks, &'a str)) -> Holder<'a> {
        Holder::over((blocks, name), blocks)
    }
}

impl<'a> Holder<'a> {
    /// A volume of so many blocks over drives that have so many each.
    pub fn over((blocks, name): (Blocks, &'a str), drive: Blocks) -> Holder<'a> {
        Holder {
            blocks,
            name,
            drive,
        }
    }

    /// A part of it.
    pub(super) fn part(self, of: u64) -> Holder<'a> {
        let blocks = Blocks(self.blocks.0 / of);
        Holder { blocks, ..self }
    }

    pub(super) fn blocks(self) -> Blocks {
        self.blocks
    }

    pub(super) fn name(self) -> &'a str {
        self.name
    }

    /// The drives of the catalog on which it would have so many bytes, in words.
    pub(super) fn large_enough(self, bytes: u64) -> String {
        let blocks = u128::from(bytes.div_ceil(BLOCK_BYTES));
        let drive = (blocks * u128::from(self.drive.0)).div_ceil(u128::from(self.blocks.0.max(1)));
        large_enough(Blocks(u64::try_from(drive).unwrap_or(u64::MAX)))
    }
}

/// Places requests on one drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    capacity: u64,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Whole,
    Wrap { modulus: u64 },
    Scale { end: u64 },
    Truncate,
}

impl Fit {
    /// How the trace that `summary` describes goes onto a drive or a volume.
    ///
    /// # Errors
    /// It has addresses beyond the drive and `mode` is [`Mode::None`], or a single request is
    /// longer than the drive.
    pub fn new<'a>(
        mode: Mode,
        summary: &Summary,
        holder: impl Into<Holder<'a>>,
    ) -> Result<Fit, ConfigError> {
        Fit::reaching(mode, Reach::of(summary), holder.into())
    }

    /// The same for requests of which only their reach is known.
    ///
    /// # Errors
    /// As [`Fit::new`].
    pub(super) fn reaching(
        mode: Mode,
        reach: Reach,
        holder: Holder<'_>,
    ) -> Result<Fit, ConfigError> {
        let (end, capacity) = (reach.end_bytes.div_ceil(BLOCK_BYTES), holder.blocks.0);
        let how = match mode {
            _ if end <= capacity => How::Whole,
            Mode::None => return Err(beyond(reach, holder)),
            Mode::Truncate => How::Truncate,
            _ if reach.blocks_max > capacity => return Err(too_long(reach, holder)),
            Mode::Wrap => How::Wrap {
                modulus: aligned(capacity).max(1),
            },
            Mode::Scale => How::Scale { end },
        };
        Ok(Fit { capacity, how })
    }

    /// What is in effect, as results spell it: `none` where the trace fits, whatever was allowed.
    pub const fn name(&self) -> &'static str {
        match self.how {
            How::Whole => "none",
            How::Wrap { .. } => "wrap",
            How::Scale { .. } => "scale",
            How::Truncate => "truncate",
        }
    }

    /// Whether requests may be left out.
    pub const fn leaves_out(&self) -> bool {
        matches!(self.how, How::Truncate)
    }

    /// Whether requests may be put elsewhere.
    pub const fn moves(&self) -> bool {
        matches!(self.how, How::Wrap { .. } | How::Scale { .. })
    }

    /// The blocks that `len` bytes from `offset` touch, on the drive; `None` if they are beyond it
    /// and stay so.
    #[inline]
    pub fn place(&self, offset: u64, len: u64) -> Option<Extent> {
        let start = offset / BLOCK_BYTES;
        let blocks = offset.checked_add(len)?.div_ceil(BLOCK_BYTES) - start;
        let start = match self.how {
            How::Whole | How::Truncate => start,
            How::Wrap { modulus } => match start % modulus {
                start if start + blocks > self.capacity => 0,
                start => start,
            },
            How::Scale { end } => {
                let last = self.capacity.checked_sub(blocks)?;
                aligned(self.scaled(start, end).min(last))
            }
        };
        let fits = start.checked_add(blocks)? <= self.capacity;
        fits.then_some(Extent {
            start: Lba(start),
            len: Blocks(blocks),
        })
    }

    /// Kept apart, as this long division would be the greater part of [`Fit::place`], and most
    /// traces fit.
    #[inline(never)]
    fn scaled(&self, start: u64, end: u64) -> u64 {
        let scaled = u128::from(start) * u128::from(self.capacity) / u128::from(end);
        scaled as u64
    }
}

const fn aligned(block: u64) -> u64 {
    block - block % ALIGNMENT
}

fn beyond(reach: Reach, holder: Holder<'_>) -> ConfigError {
    let end = reach.end_bytes;
    ConfigError::value(
        "highest address of the trace",
        &format!("{} bytes ({})", end - 1, gigabytes(end)),
        &format!(
            "below the capacity of {}, {} bytes ({}); {}; or say --fit wrap, scale or truncate",
            holder.name,
            holder.blocks.bytes(),
            gigabytes(holder.blocks.bytes()),
            holder.large_enough(end)
        ),
    )
}

fn too_long(reach: Reach, holder: Holder<'_>) -> ConfigError {
    ConfigError::value(
        "longest request of the trace",
        &format!("{} bytes", reach.len_max),
        &format!(
            "at most the capacity of {}, {} bytes; or --fit truncate, which leaves it out",
            holder.name,
            holder.blocks.bytes()
        ),
    )
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.2} GB", bytes as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use nearslot_trace::{Record, TraceOp};

    use super::*;
    use crate::survey::Survey;

    fn summary(requests: &[(u64, u64)]) -> Summary {
        let records: Vec<Record> = requests
            .iter()
            .map(|&(offset, len)| Record::new(0, TraceOp::Read, offset, len, 0))
            .collect();
        let mut survey = Survey::new();
        survey.record(&records);
        survey.finish()
    }

    fn place(mode: Mode, requests: &[(u64, u64)], capacity: u64) -> Vec<Option<(u64, u64)>> {
        let fit = Fit::new(mode, &summary(requests), (Blocks(capacity), "toy")).unwrap();
        let place = |&(offset, len): &(u64, u64)| fit.place(offset, len);
        let places = requests.iter().map(place);
        places
            .map(|place| place.map(|extent| (extent.start.0, extent.len.0)))
            .collect()
    }

    #[test]
    fn bytes_become_every_block_touched() {
        let requests = [(0, 512), (511, 2), (1000, 24), (1024, 1)];
        let blocks = place(Mode::None, &requests, 3);
        assert_eq!(
            blocks,
            [Some((0, 1)), Some((0, 2)), Some((1, 1)), Some((2, 1))]
        );
    }

    #[test]
    fn beyond_the_drive_is_an_error_that_names_everything() {
        let error = Fit::new(
            Mode::None,
            &summary(&[(1 << 20, 4096)]),
            (Blocks(100), "toy"),
        );
        let text = error.unwrap_err().to_string();
        for part in [
            "1052671 bytes",
            "toy",
            "51200 bytes",
            "--fit wrap, scale or truncate",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_volume_with_room_to_spare_needs_larger_disks() {
        let told = |volume: u64, drive: u64| {
            let requests = [(8_000_000_000, 4_096)];
            let holder = Holder::over((Blocks(volume), "offering over toy"), Blocks(drive));
            let error = Fit::new(Mode::None, &summary(&requests), holder);
            error.unwrap_err().to_string()
        };
        let alike = told(100, 100);
        assert!(
            alike.contains("of the catalog these are large enough: the disks seagate-cheetah-9lp"),
            "{alike}"
        );
        // Four fifths of 9.1 GB are not 8 GB.
        let spare = told(80, 100);
        assert!(
            spare.contains("of the catalog these are large enough: the disks scsi-10k-73gb"),
            "{spare}"
        );
        let array = told(800, 100);
        assert!(
            array.contains("of the catalog these are large enough: the disks hp-c2247a"),
            "{array}"
        );
        // A drive for each of three volumes.
        let part = Holder::over((Blocks(300), "toys"), Blocks(100)).part(3);
        let words = part.large_enough(8_000_000_000);
        assert!(words.contains("seagate-cheetah-9lp"), "{words}");
    }

    #[test]
    fn beyond_the_drive_the_disks_that_are_large_enough_are_named() {
        let told = |end_gb: u64| {
            let requests = [(end_gb * 1_000_000_000 - 4_096, 4_096)];
            let error = Fit::new(Mode::None, &summary(&requests), (Blocks(100), "toy"));
            error.unwrap_err().to_string()
        };
        let five = told(5);
        assert!(
            five.contains("of the catalog these are large enough: the disks seagate-cheetah-9lp, scsi-10k-73gb, desktop-7200-90mb, modern-20tb, and the flash drives plextor-px-256m5s, sata-tlc-500gb, nvme-tlc-1tb;"),
            "{five}"
        );
        let large = told(900);
        assert!(
            large.contains("of the catalog these are large enough: the disks desktop-7200-90mb, modern-20tb, and the flash drives nvme-tlc-1tb;"),
            "{large}"
        );
        let huge = told(90_000);
        assert!(
            huge.contains("no drive of the catalog is large enough"),
            "{huge}"
        );
    }

    #[test]
    fn wrapping_keeps_alignment_and_moves_straddlers_to_the_front() {
        // 100 blocks: modulus 96. Block 96 becomes 0, 190 becomes 94, where 8 blocks straddle the
        // end.
        let requests = [(96 * 512, 4096), (190 * 512, 512), (190 * 512, 4096)];
        let blocks = place(Mode::Wrap, &requests, 100);
        assert_eq!(blocks, [Some((0, 8)), Some((94, 1)), Some((0, 8))]);
    }

    #[test]
    fn scaling_keeps_proportions_and_the_end() {
        // 1000 blocks onto 100: a tenth, rounded down to 8; the last is moved back to 88.
        let requests = [(500 * 512, 512), (900 * 512, 512), (988 * 512, 12 * 512)];
        let blocks = place(Mode::Scale, &requests, 100);
        assert_eq!(blocks, [Some((48, 1)), Some((88, 1)), Some((88, 12))]);
    }

    #[test]
    fn truncating_leaves_out_and_a_request_longer_than_the_drive_cannot_move() {
        let requests = [(0, 512), (99 * 512, 1024), (0, 101 * 512)];
        assert_eq!(
            place(Mode::Truncate, &requests, 100),
            [Some((0, 1)), None, None]
        );
        for mode in [Mode::Wrap, Mode::Scale] {
            let error = Fit::new(mode, &summary(&requests), (Blocks(100), "toy")).unwrap_err();
            assert!(error.to_string().contains("51712 bytes"), "{error}");
        }
    }

    #[test]
    fn a_trace_that_fits_is_left_alone() {
        let fit = Fit::new(Mode::Scale, &summary(&[(512, 512)]), (Blocks(100), "toy")).unwrap();
        assert_eq!(
            (fit.name(), fit.place(512, 512).unwrap().start.0),
            ("none", 1)
        );
    }

    proptest! {
        #[test]
        fn every_place_is_on_the_drive(
            requests in prop::collection::vec((0_u64..1 << 40, 1_u64..1 << 20), 1..50),
            capacity in 4_096_u64..1 << 30,
        ) {
            for mode in [Mode::Wrap, Mode::Scale, Mode::Truncate] {
                let fit = Fit::new(mode, &summary(&requests), (Blocks(capacity), "toy")).unwrap();
                for &(offset, len) in &requests {
                    let blocks = (offset + len).div_ceil(512) - offset / 512;
                    match fit.place(offset, len) {
                        Some(extent) => {
                            prop_assert!(extent.end().0 <= capacity);
                            prop_assert_eq!(extent.len.0, blocks);
                        }
                        None => prop_assert!(fit.leaves_out() && (offset + len) > capacity * 512),
                    }
                }
            }
        }
    }
}
