//! Striping: consecutive units of the volume on consecutive columns, round and round.
//!
//! A column is a drive, or the drives that hold copies of the same blocks. Of one request all that
//! falls on a column is one run of its blocks, however many units that are. O(columns touched) per
//! request.

use crate::io::Data;
use crate::registry::{ConfigError, Knob};
use crate::units::{BLOCK_BYTES, Blocks, Extent, Lba, Pba};

/// How a volume is spread over columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Striping {
    pub(super) columns: u64,
    /// In blocks.
    pub(super) unit: u64,
}

/// A run of blocks on one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) column: u64,
    pub(super) at: Pba,
    pub(super) len: Blocks,
    /// The volume's block at its beginning.
    pub(super) first: Lba,
}

/// The size of a unit.
pub(super) const UNIT: Knob = Knob::integer(
    "stripe_kib",
    64,
    1..=1_048_576,
    "KiB on one drive before the next one's turn",
);

/// How many drives a product of factors asks for.
///
/// # Errors
/// It is no whole number, or too large.
pub(super) fn drives_of(factors: &[(&str, f64)]) -> Result<u16, ConfigError> {
    let product: f64 = factors.iter().map(|(_, factor)| factor).product();
    let whole = libm::round(product);
    if (product - whole).abs() < 1e-6 && (1.0..=1_024.0).contains(&whole) {
        return Ok(whole as u16);
    }
    let names: Vec<&str> = factors.iter().map(|(name, _)| *name).collect();
    Err(ConfigError::value(
        &names.join(" x "),
        &product.to_string(),
        "a whole number of drives from 1 to 1024",
    ))
}

/// A unit of the stripe in chunks of this size.
///
/// # Errors
/// It is no whole number of them.
pub(super) fn unit_in_chunks(stripe_kib: u64, chunk_kib: u64) -> Result<u64, ConfigError> {
    if stripe_kib.is_multiple_of(chunk_kib) {
        return Ok(stripe_kib / chunk_kib);
    }
    let allowed = format!("a multiple of {chunk_kib}, the KiB that are written as a whole");
    Err(ConfigError::value(
        "stripe_kib",
        &stripe_kib.to_string(),
        &allowed,
    ))
}

impl Striping {
    /// Of blocks, from a number of columns and the knob [`UNIT`].
    pub(super) fn new(columns: u64, unit_kib: u64) -> Striping {
        Striping {
            columns,
            unit: unit_kib * 1024 / BLOCK_BYTES,
        }
    }

    /// Blocks of a volume whose columns have this many each: whole units only.
    ///
    /// # Errors
    /// Not even one unit fits on a column.
    pub(super) fn capacity(&self, column: Blocks) -> Result<Blocks, ConfigError> {
        let units = column.0 / self.unit;
        if units == 0 {
            let kib = (Blocks(self.unit).bytes() / 1024).to_string();
            let allowed = format!("no more than the {} KiB of a drive", column.bytes() / 1024);
            return Err(ConfigError::value("stripe_kib", &kib, &allowed));
        }
        Ok(Blocks(units * self.unit * self.columns))
    }

    /// The column of a block of the volume, and its number there.
    pub(super) fn place(&self, block: u64) -> (u64, u64) {
        if self.columns == 1 {
            return (0, block);
        }
        let unit = block / self.unit;
        let row = unit / self.columns;
        (unit % self.columns, row * self.unit + block % self.unit)
    }

    /// The columns that have some of these blocks, each once; all if no blocks are named.
    pub(super) fn columns_of(&self, extent: &Extent) -> impl Iterator<Item = u64> + use<> {
        let columns = self.columns;
        let (first, units) = match extent.len {
            Blocks(0) => (0, columns),
            len => {
                let first = extent.start.0 / self.unit;
                let last = (extent.start.0 + len.0 - 1) / self.unit;
                (first, (last - first + 1).min(columns))
            }
        };
        (first..first + units).map(move |unit| unit % columns)
    }

    /// Which of the volume's blocks a piece holds.
    pub(super) fn data(&self, piece: &Piece) -> Data {
        let others = self.unit * (self.columns - 1);
        Data::striped(piece.first, Blocks(self.unit), Blocks(others))
    }

    /// Which of the volume's blocks lie on a column from this block of it on.
    pub(super) fn data_at(&self, column: u64, at: u64) -> Data {
        if self.columns == 1 {
            return Data::from(Lba(at));
        }
        let unit = at / self.unit * self.columns + column;
        self.data(&Piece {
            column,
            at: Pba(at),
            len: Blocks(0),
            first: Lba(unit * self.unit + at % self.unit),
        })
    }

    /// What of a range falls on each column that it touches.
    pub(super) fn pieces(&self, extent: &Extent) -> impl Iterator<Item = Piece> + use<> {
        let (striping, start, end) = (*self, extent.start.0, extent.end().0);
        let first = start / self.unit;
        let behind = end.div_ceil(self.unit);
        let touched = first..behind.min(first + self.columns);
        touched.map(move |unit| {
            let first = start.max(unit * striping.unit);
            let (column, at) = striping.place(first);
            let last = unit + (behind - 1 - unit) / striping.columns * striping.columns;
            let (_, last_block) = striping.place(end.min((last + 1) * striping.unit) - 1);
            Piece {
                column,
                at: Pba(at),
                len: Blocks(last_block + 1 - at),
                first: Lba(first),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Any stripe, and some blocks of it.
    fn drawn(rng: &mut Rng) -> (Striping, Extent) {
        let striping = Striping {
            columns: 1 + rng.below(5),
            unit: 1 + rng.below(6),
        };
        let extent = Extent {
            start: Lba(rng.below(100)),
            len: Blocks(1 + rng.below(60)),
        };
        (striping, extent)
    }

    #[test]
    fn pieces_hold_every_block_once_where_it_belongs() {
        let mut rng = Rng::stream(1, "striping");
        for _ in 0..2_000 {
            let (striping, extent) = drawn(&mut rng);
            let of_piece = |piece: Piece| {
                let data = striping.data(&piece);
                (0..piece.len.0).map(move |index| {
                    let place = (piece.column, piece.at.0 + index);
                    assert_eq!(striping.place(data.block(index).0), place);
                    let from_there = striping.data_at(place.0, place.1);
                    assert_eq!(from_there.block(0), data.block(index));
                    place
                })
            };
            let mut found: Vec<_> = striping.pieces(&extent).flat_map(of_piece).collect();
            let blocks = extent.start.0..extent.end().0;
            let mut expected: Vec<_> = blocks.map(|block| striping.place(block)).collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{striping:?} {extent:?}");
        }
    }

    #[test]
    fn a_column_is_flushed_once_if_it_has_some_of_the_blocks() {
        let mut rng = Rng::stream(2, "striping");
        for _ in 0..2_000 {
            let (striping, drawn) = drawn(&mut rng);
            let len = Blocks(if rng.chance(0.1) { 0 } else { drawn.len.0 });
            let extent = Extent { len, ..drawn };
            let mut found: Vec<u64> = striping.columns_of(&extent).collect();
            found.sort_unstable();
            let mut expected: Vec<u64> = match extent.len.0 {
                0 => (0..striping.columns).collect(),
                _ => striping.pieces(&extent).map(|piece| piece.column).collect(),
            };
            expected.sort_unstable();
            assert_eq!(found, expected, "{striping:?} {extent:?}");
        }
    }

    #[test]
    fn units_go_round() {
        let striping = Striping::new(3, 4);
        assert_eq!(striping.place(0), (0, 0));
        assert_eq!(striping.place(8), (1, 0));
        assert_eq!(striping.place(25), (0, 9));
        assert_eq!(striping.capacity(Blocks(17)).unwrap(), Blocks(48));
        let error = striping.capacity(Blocks(7)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "stripe_kib = 4 (allowed: no more than the 3 KiB of a drive)"
        );
    }
}
