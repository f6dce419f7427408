//! Which column means what, and how its values are read.
//!
//! Columns are matched by name, with the words that people use, as in the headers of tables
//! (`names.rs`). Numbers may have any width, texts may be plain or in a dictionary. A time without
//! a unit in its type or its name is decided by its magnitude when it is a time since 1970; a
//! smaller one must be explained by the user, since nothing else tells.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, TimeUnit as ArrowUnit};

use crate::TraceError;
use crate::csv::table::op_of;
use crate::decode::{Names, TimeUnit};
use crate::names::{Column, named};
use crate::record::{Flags, TraceOp};

/// Which fields mean something, as in the header of a table; in files of others, what is called a
/// flag or a priority need not be ours.
pub(super) fn meant(schema: &Schema, own: bool) -> Vec<(Column, usize)> {
    let mut meant: Vec<(Column, usize)> = Vec::new();
    for (at, field) in schema.fields().iter().enumerate() {
        let Some(column) = of_field(field) else {
            continue;
        };
        if !own && matches!(column, Column::Flags | Column::Priority) {
            continue;
        }
        match meant.iter_mut().find(|(known, _)| known.same(column)) {
            Some(known) if column.rank() < known.0.rank() => *known = (column, at),
            Some(_) => {}
            None => meant.push((column, at)),
        }
    }
    meant
}

/// What the name of a field says; a duration must say its unit, there or by its type.
fn of_field(field: &Field) -> Option<Column> {
    let (column, scale) = named(field.name())?;
    if !column.needs_unit() {
        return Some(column);
    }
    match field.data_type() {
        DataType::Duration(unit) => Some(column.scaled(arrow_unit_ns(*unit).unsigned_abs())),
        _ => (scale > 0).then_some(column),
    }
}

/// The field that means this, in whatever unit.
pub(super) fn find(meant: &[(Column, usize)], column: Column) -> Option<(Column, usize)> {
    meant.iter().find(|(found, _)| found.same(column)).copied()
}

/// As [`find`], but there must be one.
pub(super) fn must_find(
    schema: &Schema,
    meant: &[(Column, usize)],
    (what, column): (&str, Column),
) -> Result<(Column, usize), TraceError> {
    find(meant, column).ok_or_else(|| {
        let there = schema.fields().iter().map(|field| field.name().as_str());
        TraceError::unfit(format!(
            "has no column for the {what} (one of: {}); its columns: {}",
            column.names().join(", "),
            there.collect::<Vec<_>>().join(", ")
        ))
    })
}

/// Durations as ns; what is negative or too long becomes null.
pub(super) fn durations(
    column: &ArrayRef,
    unit_ns: u64,
) -> Result<PrimitiveArray<UInt64Type>, TraceError> {
    let data_type = column.data_type();
    if unit_ns == 1 && data_type.is_integer() {
        return unsigned(column);
    }
    // Texts may have digits behind the point too.
    let fraction = !data_type.is_integer() && !matches!(data_type, DataType::Duration(_));
    let clock = Clock {
        unit_ns: unit_ns as i64,
        fraction,
        absolute: false,
    };
    let ns: ArrayRef = Arc::new(clock.times(column)?);
    unsigned(&ns)
}

/// A column as unsigned numbers; what is negative, too large or no whole number becomes null.
pub(super) fn unsigned(column: &ArrayRef) -> Result<PrimitiveArray<UInt64Type>, TraceError> {
    let unfit = |error: arrow_schema::ArrowError| TraceError::unfit(error.to_string());
    if has_fractions(column.data_type()) {
        let values = cast(column, &DataType::Float64).map_err(unfit)?;
        // The largest as a float is one more than fits.
        let whole = |value: f64| value.fract() == 0.0 && (0.0..u64::MAX as f64).contains(&value);
        return Ok(values
            .as_primitive::<Float64Type>()
            .unary_opt(|value| whole(value).then_some(value as u64)));
    }
    let plain = cast(column, &DataType::UInt64).map_err(unfit)?;
    Ok(plain.as_primitive::<UInt64Type>().clone())
}

/// Whether numbers of this type may have digits behind the point, which a cast to whole ones would
/// drop.
fn has_fractions(data_type: &DataType) -> bool {
    data_type.is_floating() || data_type.is_decimal()
}

/// How the time column becomes ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Clock {
    /// Nanoseconds per unit.
    unit_ns: i64,
    /// Whether its values are fractions.
    fraction: bool,
    /// Whether it counts from 1970.
    pub(super) absolute: bool,
}

impl Clock {
    /// Nanoseconds per unit.
    pub(super) fn unit_ns(self) -> u64 {
        if self.fraction {
            1
        } else {
            self.unit_ns.unsigned_abs()
        }
    }

    /// Our own: ns from the start of the trace.
    pub(super) const OURS: Clock = Clock {
        unit_ns: 1,
        fraction: false,
        absolute: false,
    };

    /// The clock of a column, by its type, by what the user said, or by its first value. With it
    /// come words for the user.
    pub(super) fn of(
        field: &Field,
        said: Option<TimeUnit>,
        first: f64,
    ) -> Result<(Clock, Option<String>), TraceError> {
        let fraction = has_fractions(field.data_type());
        let clock = |unit_ns, absolute| Clock {
            unit_ns,
            fraction,
            absolute,
        };
        let typed = match field.data_type() {
            DataType::Timestamp(unit, _) => Some(clock(arrow_unit_ns(*unit), true)),
            DataType::Duration(unit) => Some(clock(arrow_unit_ns(*unit), false)),
            _ => None,
        };
        match (typed, said) {
            (Some(clock), None) => return Ok((clock, None)),
            (Some(_), Some(_)) => {
                let what = format!("the type of column `{}` says its unit", field.name());
                return Err(TraceError::without_effect("--time-unit", what));
            }
            (None, _) => {}
        }
        let guess = of_magnitude(first);
        let named = match named(field.name()) {
            Some((Column::Time, ns)) if ns > 0 => Some(ns as i64),
            _ => None,
        };
        if let (Some(_), Some(_)) = (said, named) {
            let what = format!("the name of column `{}` says its unit", field.name());
            return Err(TraceError::without_effect("--time-unit", what));
        }
        if let Some(told) = said.map(unit_ns).or(named) {
            let absolute = guess.is_some_and(|(unit, _)| unit == told);
            return Ok((clock(told, absolute), None));
        }
        match guess {
            Some((unit_ns, word)) => {
                let note = format!(
                    "times in `{}` are taken as {word} since 1970, by their magnitude",
                    field.name()
                );
                Ok((clock(unit_ns, true), Some(note)))
            }
            None => Err(TraceError::unfit(format!(
                "column `{}` holds numbers without a unit (the first is {first}); give --time-unit s, ms, us or ns",
                field.name()
            ))),
        }
    }

    /// A column as ns; what is no time or too large becomes null.
    pub(super) fn times(self, column: &ArrayRef) -> Result<PrimitiveArray<Int64Type>, TraceError> {
        let unfit = |error: arrow_schema::ArrowError| TraceError::unfit(error.to_string());
        let unit_ns = self.unit_ns;
        if self.fraction {
            let values = cast(column, &DataType::Float64).map_err(unfit)?;
            // Whole seconds and the rest apart keep what digits the column has.
            return Ok(values.as_primitive::<Float64Type>().unary_opt(|value| {
                let whole = value.trunc();
                let rest = ((value - whole) * unit_ns as f64).round() as i64;
                (whole.abs() < 9e18)
                    .then(|| (whole as i64).checked_mul(unit_ns)?.checked_add(rest))
                    .flatten()
            }));
        }
        let values = cast(column, &DataType::Int64).map_err(unfit)?;
        let values = values.as_primitive::<Int64Type>();
        Ok(match unit_ns {
            1 => values.clone(),
            _ => values.unary_opt(|value| value.checked_mul(unit_ns)),
        })
    }
}

fn arrow_unit_ns(unit: ArrowUnit) -> i64 {
    match unit {
        ArrowUnit::Second => 1_000_000_000,
        ArrowUnit::Millisecond => 1_000_000,
        ArrowUnit::Microsecond => 1_000,
        ArrowUnit::Nanosecond => 1,
    }
}

fn unit_ns(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Seconds => 1_000_000_000,
        TimeUnit::Milliseconds => 1_000_000,
        TimeUnit::Microseconds => 1_000,
        TimeUnit::Nanoseconds => 1,
    }
}

/// The unit in which a time is one of our days.
fn of_magnitude(first: f64) -> Option<(i64, &'static str)> {
    [
        (1e18, f64::INFINITY, 1, "ns"),
        (1e15, 1e18, 1_000, "us"),
        (1e12, 1e15, 1_000_000, "ms"),
        (1e9, 1e12, 1_000_000_000, "s"),
    ]
    .into_iter()
    .find(|(from, to, ..)| (*from..*to).contains(&first))
    .map(|(_, _, unit_ns, word)| (unit_ns, word))
}

/// The first value of a column as a number, for its magnitude only.
pub(super) fn first_number(column: &ArrayRef) -> Option<f64> {
    let values = cast(column, &DataType::Float64).ok()?;
    values.as_primitive::<Float64Type>().iter().flatten().next()
}

/// Operations, one per row; none where the row has none that makes sense.
pub(super) fn operations(column: &ArrayRef) -> Result<Vec<Option<TraceOp>>, TraceError> {
    if let DataType::Boolean = column.data_type() {
        let of = |write: Option<bool>| {
            write.map(|write| if write { TraceOp::Write } else { TraceOp::Read })
        };
        return Ok(column.as_boolean().iter().map(of).collect());
    }
    if column.data_type().is_numeric() {
        let of = |code: Option<u64>| match code {
            Some(0) => Some(TraceOp::Read),
            Some(1) => Some(TraceOp::Write),
            _ => None,
        };
        return Ok(unsigned(column)?.iter().map(of).collect());
    }
    by_text(column, |text| text.and_then(operation))
}

/// The operation that a word means: one of our own names, or what tables call it.
fn operation(word: &str) -> Option<TraceOp> {
    let own = TraceOp::ALL.into_iter().find(|op| op.name() == word);
    own.or_else(|| op_of(word.as_bytes()).map(|(op, _)| op))
}

/// Numbers of names, one per row; null gives `absent`.
pub(super) fn numbers(
    column: &ArrayRef,
    names: &mut Names,
    absent: Option<u32>,
) -> Result<Vec<Option<u32>>, TraceError> {
    by_text(column, |text| match text {
        Some(text) => Some(names.intern(text.as_bytes())),
        None => absent,
    })
}

/// How far a write may move, one per row, where that is said; none where the word is no such word.
pub(super) fn offers(column: &ArrayRef) -> Result<Vec<Option<Flags>>, TraceError> {
    by_text(column, |text| {
        match text.map(str::trim).filter(|text| !text.is_empty()) {
            Some(word) => Flags::parse_offer(word.as_bytes()),
            None => Some(Flags::default()),
        }
    })
}

/// Something per row that depends on its text only: with a dictionary it is found once per entry.
fn by_text<T: Copy>(
    column: &ArrayRef,
    mut of: impl FnMut(Option<&str>) -> Option<T>,
) -> Result<Vec<Option<T>>, TraceError> {
    if let Some(dictionary) = column.as_any_dictionary_opt() {
        if dictionary.values().is_empty() {
            return Ok((0..column.len()).map(|_| of(None)).collect());
        }
        let keys = dictionary.normalized_keys();
        // Entries that no row uses must not become names.
        let mut used = vec![false; dictionary.values().len()];
        for (row, key) in keys.iter().enumerate() {
            used[*key] |= column.is_valid(row);
        }
        let texts = texts(dictionary.values())?;
        let texts = texts.as_string::<i32>();
        let entries: Vec<Option<T>> = (0..texts.len())
            .map(|at| {
                (used[at] && texts.is_valid(at))
                    .then(|| of(Some(texts.value(at))))
                    .flatten()
            })
            .collect();
        let absent = if column.null_count() > 0 {
            of(None)
        } else {
            None
        };
        let at = |(row, key): (usize, usize)| {
            if column.is_valid(row) {
                entries[key]
            } else {
                absent
            }
        };
        return Ok(keys.into_iter().enumerate().map(at).collect());
    }
    let texts = texts(column)?;
    Ok(texts.as_string::<i32>().iter().map(of).collect())
}

fn texts(column: &ArrayRef) -> Result<ArrayRef, TraceError> {
    cast(column, &DataType::Utf8).map_err(|error| TraceError::unfit(error.to_string()))
}

#[cfg(test)]
mod tests {
    use arrow_array::{BooleanArray, Float64Array, Int32Array, Int64Array, StringArray};

    use super::*;

    fn clock(
        data_type: DataType,
        said: Option<TimeUnit>,
        first: f64,
    ) -> Result<(Clock, Option<String>), TraceError> {
        Clock::of(&Field::new("time", data_type, false), said, first)
    }

    #[test]
    fn a_unit_beside_a_type_that_has_one_is_refused() {
        let stamp = DataType::Timestamp(ArrowUnit::Microsecond, None);
        let error = clock(stamp, Some(TimeUnit::Milliseconds), 5.0).unwrap_err();
        assert!(error.to_string().contains("--time-unit"), "{error}");
    }

    #[test]
    fn units_come_from_the_type_the_user_or_the_magnitude() {
        let unit = |made: Result<(Clock, Option<String>), TraceError>| {
            let (clock, note) = made.unwrap();
            (clock.unit_ns, clock.absolute, note.is_some())
        };
        let stamp = DataType::Timestamp(ArrowUnit::Microsecond, None);
        assert_eq!(unit(clock(stamp, None, 5.0)), (1_000, true, false));
        assert_eq!(
            unit(clock(DataType::Int64, Some(TimeUnit::Milliseconds), 5.0)),
            (1_000_000, false, false)
        );
        for (first, expected) in [
            (1.6e18, 1),
            (1.6e15, 1_000),
            (1.6e12, 1_000_000),
            (1.6e9, 1_000_000_000),
        ] {
            assert_eq!(
                unit(clock(DataType::Int64, None, first)),
                (expected, true, true)
            );
        }
        let error = clock(DataType::Int64, None, 17.0).unwrap_err().to_string();
        assert!(error.contains("`time`"), "{error}");
        assert!(error.contains("--time-unit"), "{error}");
    }

    #[test]
    fn fractions_of_seconds_keep_their_digits() {
        let column: ArrayRef = Arc::new(Float64Array::from(vec![0.026_214, 1.5, f64::NAN, 1e300]));
        let (clock, _) = clock(DataType::Float64, Some(TimeUnit::Seconds), 0.0).unwrap();
        let times: Vec<Option<i64>> = clock.times(&column).unwrap().iter().collect();
        assert_eq!(times, [Some(26_214_000), Some(1_500_000_000), None, None]);
    }

    #[test]
    fn negative_numbers_are_no_lengths() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![4096, -1]));
        assert_eq!(
            unsigned(&column).unwrap().iter().collect::<Vec<_>>(),
            [Some(4096), None]
        );
    }

    #[test]
    fn operations_in_all_their_spellings() {
        use TraceOp::{Discard, Flush, Read, Write};
        let texts: ArrayRef = Arc::new(StringArray::from(vec![
            Some("R"),
            Some("Write"),
            Some("trim"),
            None,
            Some("?"),
            Some("flush"),
        ]));
        let expected = [
            Some(Read),
            Some(Write),
            Some(Discard),
            None,
            None,
            Some(Flush),
        ];
        assert_eq!(operations(&texts).unwrap(), expected);
        let packed = cast(
            &texts,
            &DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)),
        )
        .unwrap();
        assert_eq!(operations(&packed).unwrap(), expected);
        let codes: ArrayRef = Arc::new(Int32Array::from(vec![0, 1, 2]));
        assert_eq!(operations(&codes).unwrap(), [Some(Read), Some(Write), None]);
        let bools: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
        assert_eq!(operations(&bools).unwrap(), [Some(Write), Some(Read)]);
    }

    #[test]
    fn columns_are_found_whatever_their_case() {
        let field = |name| Field::new(name, DataType::Int64, false);
        let schema = Schema::new(vec![field("LBA"), field("Size"), field("bytes")]);
        let meant = meant(&schema, false);
        assert_eq!(meant, [(Column::Offset(512), 0), (Column::Length(1), 1)]);
        let time = ("time", Column::Time);
        let error = must_find(&schema, &meant, time).unwrap_err().to_string();
        assert!(error.contains("time"), "{error}");
        assert!(error.contains("LBA, Size, bytes"), "{error}");
    }
}
