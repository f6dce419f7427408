//! Where strips and parities lie.
//!
//! Left-symmetric: the parity of an array's stripes goes from its last drive to its first, one
//! drive a stripe, and each stripe's data begin on the drive after its parity. So consecutive
//! strips of the volume lie on consecutive drives, across stripes too: as many strips in a row as
//! an array has drives are read by all its arms, each once. With left-asymmetric rotation, where
//! data always begin on the first drive, two of any such row would meet.
//!
//! All of a stripe lies at the same address of each of its drives: a *row* is one block of each,
//! and the parity's block is the exclusive or of the others. Extents of `extent` stripes go round
//! over the arrays.
//!
//! Source: Lee and Katz, "Performance consequences of parity placement in disk arrays", ASPLOS
//! 1991. O(1).

use super::seats::Seat;
use crate::io::Data;
use crate::maplog::Parities;
use crate::registry::{ConfigError, Knob, Knobs};
use crate::units::{BLOCK_BYTES, Blocks, Extent, Lba, Pba};

/// How a volume lies on its arrays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    /// Blocks of a strip.
    pub(super) strip: u64,
    /// Strips of a stripe that have data.
    pub(super) data: u64,
    pub(super) arrays: u64,
    /// Drives without a seat.
    pub(super) spares: u16,
    /// Stripes of an array before the next one's turn.
    extent: u64,
    /// Stripes of an array.
    stripes: u64,
}

/// One stripe, and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stripe {
    pub(super) number: u64,
    /// Its array's first seat.
    first: u64,
    /// Drives of an array.
    width: u64,
    /// Which of these has the parity.
    parity: u64,
    /// Where it begins on each of them.
    at: u64,
}

/// Rows of a stripe, counted from its first one: from the first to before the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) from: u64,
    pub(super) to: u64,
}

/// What a request covers of a strip: a member of its stripe, 0 for the first strip, and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) member: u64,
    pub(super) rows: Rows,
}

impl Rows {
    pub(super) fn len(&self) -> Blocks {
        Blocks(self.to - self.from)
    }

    /// The rows of both and those between.
    pub(super) fn hull(&self, other: &Rows) -> Rows {
        Rows {
            from: self.from.min(other.from),
            to: self.to.max(other.to),
        }
    }

    /// The rows of both.
    pub(super) fn within(&self, other: &Rows) -> Option<Rows> {
        let (from, to) = (self.from.max(other.from), self.to.min(other.to));
        (from < to).then_some(Rows { from, to })
    }
}

impl Piece {
    /// What of it lies in these rows.
    pub(super) fn within(&self, rows: &Rows) -> Option<Piece> {
        let rows = self.rows.within(rows)?;
        Some(Piece { rows, ..*self })
    }
}

impl Stripe {
    /// Where a member lies: a strip by its number, or the parity behind the last of them.
    pub(super) fn seat(&self, member: u64) -> Seat {
        let place = (self.parity + 1 + member) % self.width;
        Seat((self.first + place) as u16)
    }

    /// Which member a seat of its array has.
    pub(super) fn member(&self, seat: Seat) -> u64 {
        let place = u64::from(seat.0) - self.first;
        (place + self.width - self.parity - 1) % self.width
    }

    /// The member that is the parity.
    pub(super) fn parity(&self) -> u64 {
        self.width - 1
    }

    /// Where a row lies on each drive.
    pub(super) fn at(&self, row: u64) -> Pba {
        Pba(self.at + row)
    }

    /// The rows of these blocks of a drive.
    pub(super) fn rows(&self, at: Pba, len: Blocks) -> Rows {
        let from = at.0 - self.at;
        let to = from + len.0;
        Rows { from, to }
    }
}

/// How far arrays go side by side.
pub(super) const EXTENT: Knob = Knob::integer(
    "extent_stripes",
    1,
    1..=1_048_576,
    "arrays above 1: stripes on one of them before the next one's turn",
);

/// Drives that do not make up so many arrays.
fn misfit(disks: u64, arrays: u64, spares: u64) -> ConfigError {
    let least = 3 * arrays + spares;
    let what = match spares {
        0 => format!("a multiple of {arrays}, the arrays"),
        _ => format!("the sum of the spares, {spares}, and a multiple of {arrays}, the arrays"),
    };
    let allowed = format!("{what}, and at least {least}: an array has three drives or more");
    ConfigError::value("disks", &disks.to_string(), &allowed)
}

impl Geometry {
    /// By its knobs, on drives of so many blocks.
    ///
    /// # Errors
    /// The drives do not divide into arrays of three or more, not even one extent fits on a drive,
    /// or an extent is said where there is one array.
    pub(super) fn new(knobs: &Knobs, drive: Blocks) -> Result<Geometry, ConfigError> {
        let (disks, arrays) = (knobs.integer("disks"), knobs.integer("arrays"));
        let spares = knobs.integer("spares");
        let seats = disks.saturating_sub(spares);
        if !seats.is_multiple_of(arrays) || seats / arrays < 3 {
            return Err(misfit(disks, arrays, spares));
        }
        let (strip_kib, extent) = (knobs.integer("strip_kib"), knobs.integer(EXTENT.name));
        let strip = strip_kib * 1024 / BLOCK_BYTES;
        if strip > drive.0 {
            let allowed = format!("no more than the {} KiB of a drive", drive.bytes() / 1024);
            return Err(ConfigError::value(
                "strip_kib",
                &strip_kib.to_string(),
                &allowed,
            ));
        }
        if arrays == 1
            && let Some((knob, value)) = knobs.first_given([&EXTENT].into_iter())
        {
            let allowed = "left out where arrays = 1: no other array has a turn";
            return Err(ConfigError::value(knob.name, &value.to_string(), allowed));
        }
        let fitting = drive.0 / strip;
        if extent > fitting {
            let allowed = format!("at most {fitting}, the stripes that a drive has room for");
            return Err(ConfigError::value(
                EXTENT.name,
                &extent.to_string(),
                &allowed,
            ));
        }
        Ok(Geometry {
            strip,
            data: seats / arrays - 1,
            arrays,
            spares: spares as u16,
            extent,
            stripes: fitting / extent * extent,
        })
    }

    /// What a table in NVRAM is of.
    pub(super) fn parities(&self, volume: u64, blocks: Blocks) -> Parities {
        Parities {
            volume,
            drives: self.drives(),
            arrays: self.arrays as u16,
            spares: self.spares,
            strip: self.strip,
            extent: self.extent,
            blocks: blocks.0,
        }
    }

    /// Drives of an array.
    pub(super) fn width(&self) -> u64 {
        self.data + 1
    }

    /// Places for drives in arrays.
    pub(super) fn seats(&self) -> u16 {
        (self.width() * self.arrays) as u16
    }

    pub(super) fn drives(&self) -> u16 {
        self.seats() + self.spares
    }

    /// Which array a seat belongs to.
    pub(super) fn array(&self, seat: Seat) -> usize {
        (u64::from(seat.0) / self.width()) as usize
    }

    /// The seats of an array.
    pub(super) fn seats_of(&self, array: usize) -> impl DoubleEndedIterator<Item = Seat> + use<> {
        let first = array as u64 * self.width();
        (first..first + self.width()).map(|seat| Seat(seat as u16))
    }

    /// Blocks of data in a stripe.
    pub(super) fn stripe_blocks(&self) -> u64 {
        self.data * self.strip
    }

    /// Blocks of each drive that are in use.
    pub(super) fn used(&self) -> u64 {
        self.stripes * self.strip
    }

    /// Blocks of the volume.
    pub(super) fn capacity(&self) -> Blocks {
        Blocks(self.stripe_blocks() * self.stripes * self.arrays)
    }

    fn of_array(&self, array: u64, local: u64) -> Stripe {
        let round = local / self.extent;
        let extent = round * self.arrays + array;
        let width = self.width();
        Stripe {
            number: extent * self.extent + local % self.extent,
            first: array * width,
            width,
            parity: width - 1 - local % width,
            at: local * self.strip,
        }
    }

    /// Where a stripe of the volume lies.
    pub(super) fn stripe(&self, number: u64) -> Stripe {
        let extent = number / self.extent;
        let local = extent / self.arrays * self.extent + number % self.extent;
        self.of_array(extent % self.arrays, local)
    }

    /// The stripe that a block at a seat belongs to.
    pub(super) fn stripe_at(&self, seat: Seat, at: Pba) -> Stripe {
        self.of_array(self.array(seat) as u64, at.0 / self.strip)
    }

    /// The volume's blocks from a row of a strip on.
    pub(super) fn data(&self, stripe: &Stripe, member: u64, row: u64) -> Data {
        let strip = stripe.number * self.data + member;
        Data::from(Lba(strip * self.strip + row))
    }

    /// The stripes that a range touches.
    pub(super) fn stripes(&self, extent: &Extent) -> std::ops::Range<u64> {
        let size = self.stripe_blocks();
        extent.start.0 / size..extent.end().0.div_ceil(size)
    }

    /// What of a range falls on the strips of a stripe, in their order.
    pub(super) fn pieces(
        &self,
        stripe: &Stripe,
        extent: &Extent,
    ) -> impl Iterator<Item = Piece> + use<> {
        let begin = stripe.number * self.stripe_blocks();
        let from = extent.start.0.max(begin) - begin;
        let to = extent.end().0.min(begin + self.stripe_blocks()) - begin;
        let strip = self.strip;
        (from / strip..to.div_ceil(strip)).map(move |member| {
            let first = member * strip;
            Piece {
                member,
                rows: Rows {
                    from: from.max(first) - first,
                    to: to.min(first + strip) - first,
                },
            }
        })
    }
}
