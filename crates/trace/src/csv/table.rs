//! Reads rows of a table once it is known which column is what: numbers in place, without splitting
//! the line first.
//!
//! Cost: a nanosecond or two a column.

use super::columns::{Clock, Columns, Delimiter, OpNames, TIME_UNIT};
use super::date;
use crate::decode::{Options, Sink};
use crate::names::Column;
use crate::record::{Flags, Record, TraceOp, has_class};
use crate::rwbs::Rwbs;
use crate::text::{Cursor, Odd, SECOND_NS, excerpt};

/// A tick of a Windows FILETIME in ns, and how many passed from 1601 to 1970.
const TICK_NS: u64 = 100;
const TICKS_TO_1970: i64 = 116_444_736_000_000_000;
/// Requests end here at most.
const BYTES_MAX: u64 = 1 << 63;

/// What a duration may be.
pub(super) const DURATION_ALLOWED: &str =
    "a number from 0, such as 1500, 1.25 or 8.7e-05, or -1 where it is not known";

/// What a priority may be.
pub(super) const PRIORITY_ALLOWED: &str = "0 for none, or Linux's class << 13 | level, where the class is 1 (real-time), \
    2 (best effort) or 3 (idle): 16388 is level 4 of best effort";

/// How rows are read.
pub(super) struct Table {
    pub(super) columns: Columns,
    delimiter: Delimiter,
    pub(super) timed: bool,
    pub(super) has_op: bool,
    pub(super) has_device: bool,
    /// Digits behind the decimal point of times, the most so far.
    digits: u32,
    /// Whether times count from 1970; the first row says it.
    pub(super) absolute: Option<bool>,
    pub(super) told_numbers: bool,
    /// Whether the user gave a unit for all times of the trace.
    unit_said: bool,
    /// Whether a row is bad if a duration or the priority in it is wrong, or if it has more fields
    /// than there are columns.
    strict: bool,
}

/// The fields of a row. What the table has no column for is empty.
pub(super) struct Row<'a> {
    pub(super) record: Record,
    pub(super) offset: Option<u64>,
    pub(super) length: Option<u64>,
    pub(super) device: &'a [u8],
    pub(super) client: &'a [u8],
    /// Whether the operation was written as `0` or `1`.
    pub(super) numbered: bool,
    /// Whether a duration was written as -1: it is not known.
    pub(super) untimed: bool,
    /// The field of a duration, if it has something else.
    pub(super) no_duration: Option<&'a [u8]>,
    /// The field of the priority, if it has something else.
    pub(super) no_priority: Option<&'a [u8]>,
    /// The fields behind the last column that the header names, if there are any.
    pub(super) beyond: Option<&'a [u8]>,
    /// Whether the arrival is a date without its offset from UTC.
    pub(super) zoneless: bool,
}

impl Row<'_> {
    const EMPTY: Row<'static> = Row {
        record: Record::new(0, TraceOp::Read, 0, 0, 0),
        offset: Some(0),
        length: Some(0),
        device: b"",
        client: b"",
        numbered: false,
        untimed: false,
        no_duration: None,
        no_priority: None,
        beyond: None,
        zoneless: false,
    };
}

impl Table {
    pub(super) fn new(mut columns: Columns, options: &Options) -> Table {
        if let (Clock::Unknown, Some(unit)) = (columns.clock, options.time_unit) {
            columns.clock = Clock::Unit(unit.ns());
            columns.clock_told = Some(TIME_UNIT);
        }
        Table {
            delimiter: columns.delimiter.unwrap_or(Delimiter::Blanks),
            timed: columns.has(Column::Time),
            has_op: columns.has(Column::Op),
            has_device: columns.has(Column::Device),
            columns,
            digits: 0,
            absolute: None,
            told_numbers: false,
            unit_said: options.time_unit.is_some(),
            strict: options.strict,
        }
    }

    /// Settles what only a row can tell: the delimiter and the unit of times.
    pub(super) fn first_row(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        if self.columns.delimiter.is_none() {
            self.delimiter = Delimiter::of(line);
            self.columns.delimiter = Some(self.delimiter);
        }
        if !self.timed {
            return self.without_time(out);
        }
        let mut cursor = self.start(line);
        for column in &self.columns.columns {
            if *column == Column::Time {
                break;
            }
            self.text(&mut cursor).ok_or(Odd::Malformed)?;
            self.pass(&mut cursor).ok_or(Odd::Malformed)?;
        }
        let mut field = cursor;
        if self.text(&mut field).is_some_and(date::is_date) {
            return self.take_dates();
        }
        self.refuse_unit()?;
        cursor.byte(b'"');
        if self.columns.clock == Clock::Unknown {
            let mut number = cursor;
            let sign = number.byte(b'-').map_or("", |()| "-");
            let first = number.number().ok_or(Odd::Malformed)?;
            self.columns.clock = match sign {
                "" => clock_of(first),
                _ => None,
            }
            .ok_or_else(|| self.unit_unknown(&format!("{sign}{first}")))?;
            let taken = counted(self.columns.clock);
            out.note(format!(
                "the first time, {first}, has no unit and was taken as {taken} by its size"
            ));
        }
        self.absolute = Some(match self.columns.clock {
            Clock::Unit(_) => {
                let first = self.time(&mut cursor).ok_or(Odd::Malformed)?;
                (1_000_000_000..4_000_000_000).contains(&(first / SECOND_NS as i64))
            }
            Clock::Filetime | Clock::Dates | Clock::Unknown => true,
        });
        Ok(())
    }

    /// The unit of all times was said, though the header names one.
    fn refuse_unit(&self) -> Result<(), Odd> {
        if !self.unit_said || self.columns.clock_told == Some(TIME_UNIT) {
            return Ok(());
        }
        let at = self.columns.columns.iter();
        let at = at.take_while(|column| **column != Column::Time).count();
        let named = match self.columns.is_our_own() {
            true => "these are the columns of our own tables, whose times are ns".to_owned(),
            false => format!("the header names the unit of times: {}", self.called(at)),
        };
        Err(Odd::Unused(
            TIME_UNIT,
            format!("{named}; --columns ts={}:UNIT,... says otherwise", at + 1),
        ))
    }

    /// The first time has no unit, and its size tells none.
    fn unit_unknown(&self, first: &str) -> Odd {
        let mut columns = self.columns.columns.iter().zip(&self.columns.names);
        let name = columns.find(|(column, _)| **column == Column::Time);
        let name = name.map_or(String::new(), |(_, name)| format!(" ({name})"));
        Odd::Fatal(format!(
            "the first time is {first} and its column{name} names no unit; say --time-unit s, ms, us or ns"
        ))
    }

    /// No column tells when requests came.
    fn without_time(&mut self, out: &mut Sink) -> Result<(), Odd> {
        if self.columns.clock_told.is_some() {
            let why = "no column of the table tells times".to_owned();
            return Err(Odd::Unused(TIME_UNIT, why));
        }
        out.note(Sink::WITHOUT_TIME);
        self.absolute = Some(false);
        Ok(())
    }

    /// The first time is a date, so all are, whatever unit the name of their column says.
    fn take_dates(&mut self) -> Result<(), Odd> {
        let unit_said = self.unit_said.then_some(TIME_UNIT);
        if let Some(option) = self.columns.clock_told.or(unit_said) {
            return Err(Odd::Unused(
                option,
                "its times are dates, which have no unit".to_owned(),
            ));
        }
        self.columns.clock = Clock::Dates;
        self.absolute = Some(true);
        Ok(())
    }

    /// The first field of a row; a tab in front of it is a column.
    fn start<'a>(&self, line: &'a [u8]) -> Cursor<'a> {
        let mut cursor = Cursor::new(line);
        if self.delimiter != Delimiter::Byte(b'\t') {
            cursor.blanks();
        }
        cursor
    }

    pub(super) fn row<'a>(&mut self, line: &'a [u8]) -> Option<Row<'a>> {
        let mut row = Row::EMPTY;
        let mut cursor = self.start(line);
        for at in 0..self.columns.columns.len() {
            if at > 0 {
                self.pass(&mut cursor)?;
            }
            self.field(self.columns.columns[at], &mut cursor, &mut row)?;
        }
        // What follows must be another column.
        let mut rest = cursor;
        if rest.end().is_none() {
            self.pass(&mut cursor)?;
            row.beyond = self.beyond(cursor);
        }
        (!self.strict || row.beyond.is_none()).then_some(row)
    }

    /// What stands behind the columns that the header names, if anything does; `cursor` is behind
    /// the last that is read.
    fn beyond<'a>(&self, mut cursor: Cursor<'a>) -> Option<&'a [u8]> {
        let named = self.columns.named;
        if named == 0 {
            return None;
        }
        for _ in self.columns.columns.len()..named {
            self.text(&mut cursor)?;
            self.pass(&mut cursor)?;
        }
        let empty =
            |byte: &u8| self.delimiter == Delimiter::Byte(*byte) || byte.is_ascii_whitespace();
        let rest = cursor.rest().trim_ascii();
        (!rest.iter().all(empty)).then_some(rest)
    }

    /// What is wrong with a line that is no row: which column, what stands there, and what may.
    #[cold]
    pub(super) fn wrong(&mut self, line: &[u8]) -> Odd {
        let (mut cursor, mut row) = (self.start(line), Row::EMPTY);
        let mut field = cursor;
        for at in 0..self.columns.columns.len() {
            if at > 0 && self.pass(&mut cursor).is_none() {
                let ended = cursor.end().is_some();
                return Odd::Wrong(match ended {
                    true => format!("the row ends before {}", self.called(at)),
                    false => self.not_allowed(at - 1, field),
                });
            }
            field = cursor;
            let ended = cursor.rest().is_empty();
            let column = self.columns.columns[at];
            if self.field(column, &mut cursor, &mut row).is_none() {
                return Odd::Wrong(match ended {
                    true => format!("the row ends before {}", self.called(at)),
                    false => self.not_allowed(at, field),
                });
            }
        }
        let mut rest = cursor;
        if self.pass(&mut rest).is_some()
            && let Some(found) = self.beyond(rest)
        {
            let last = self.called(self.columns.named - 1);
            let found = excerpt(found);
            return Odd::Wrong(format!("the row goes on behind {last} with `{found}`"));
        }
        let last = self.columns.columns.len() - 1;
        Odd::Wrong(self.not_allowed(last, field))
    }

    /// A column by its number and its name.
    fn called(&self, at: usize) -> String {
        match self.columns.names.get(at).map(String::as_str) {
            None | Some("") => format!("column {}", at + 1),
            Some(name) => format!("column {} ({name})", at + 1),
        }
    }

    fn not_allowed(&self, at: usize, mut field: Cursor<'_>) -> String {
        let found = excerpt(self.text(&mut field).unwrap_or_default());
        let allowed = match (self.columns.columns[at], &self.columns.ops) {
            (Column::Op, Some(OpNames { read, write })) => {
                format!("{} or {}", excerpt(read), excerpt(write))
            }
            (Column::Op, None) => {
                "R, W, 0, 1, read, write, flush, discard, write_zeroes, or a tracepoint's letters"
                    .to_owned()
            }
            (Column::Time, _) if self.columns.clock == Clock::Filetime => {
                "a whole number of ticks of 100 ns".to_owned()
            }
            (Column::Time, _) if self.columns.clock == Clock::Dates => self.dates_allowed(),
            (Column::Time, _) if self.columns.clock == Clock::Unknown => {
                format!(
                    "a number, such as 1500 or 1.25, or {}",
                    self.dates_allowed()
                )
            }
            (Column::Time, _) => {
                let of = counted(self.columns.clock);
                format!("a number of {of}, such as 1500 or 1.25, of at most 146 years")
            }
            (Column::Service(_) | Column::Response(_), _) => DURATION_ALLOWED.to_owned(),
            (Column::Offset(scale) | Column::Length(scale), _) => {
                format!("a whole number from 0 to {}", BYTES_MAX / scale)
            }
            (Column::Flags, _) => format!(
                "a whole number from 0 to 65535, or words joined by |: {} (one of the last four at most)",
                Flags::WORDS.map(|(word, _)| word).join(", ")
            ),
            (Column::Offer, _) if Flags::parse_offer(found.as_bytes()).is_some() => {
                "the same as in flags, or nothing".to_owned()
            }
            (Column::Offer, _) => format!(
                "{}, or nothing",
                Flags::OFFERS.map(|(word, _)| word).join(", ")
            ),
            (Column::Priority, _) => PRIORITY_ALLOWED.to_owned(),
            (Column::Device | Column::Client | Column::Ignored, _) => "a name".to_owned(),
        };
        format!("{} is `{found}`, allowed is {allowed}", self.called(at))
    }

    fn dates_allowed(&self) -> String {
        let joined = match self.delimiter {
            Delimiter::Blanks => "; where blanks separate columns, with a T in it or in quotes",
            Delimiter::Byte(_) => "",
        };
        format!("{}{joined}", date::ALLOWED)
    }

    #[inline]
    fn field<'a>(
        &mut self,
        column: Column,
        cursor: &mut Cursor<'a>,
        row: &mut Row<'a>,
    ) -> Option<()> {
        match column {
            Column::Time if self.columns.clock == Clock::Dates => return self.date(cursor, row),
            Column::Time => row.record.ts = unquoted(cursor, |cursor| self.time(cursor))?,
            Column::Offset(scale) => row.offset = unquoted(cursor, whole)?.checked_mul(scale),
            Column::Length(scale) => row.length = unquoted(cursor, whole)?.checked_mul(scale),
            Column::Op => return self.op(cursor, row),
            Column::Ignored => return self.text(cursor).map(|_| ()),
            Column::Device => {
                row.device = self.text(cursor).filter(|name| !name.is_empty())?;
            }
            Column::Client => row.client = self.text(cursor)?,
            Column::Flags
            | Column::Offer
            | Column::Priority
            | Column::Service(_)
            | Column::Response(_)
                if self.is_blank(cursor) => {}
            Column::Flags | Column::Offer => return self.flags(column, cursor, row),
            Column::Priority => return self.priority(cursor, row),
            Column::Service(unit) => row.record.service_ns = self.duration(cursor, unit, row)?,
            Column::Response(unit) => row.record.response_ns = self.duration(cursor, unit, row)?,
        }
        Some(())
    }

    /// What else is said of a request, in either column. Two that say otherwise how far it may move
    /// are none.
    fn flags<'a>(&self, column: Column, cursor: &mut Cursor<'a>, row: &mut Row<'a>) -> Option<()> {
        let text = self.text(cursor)?;
        let flags = match column {
            Column::Flags => Flags::parse(text)?,
            _ => Flags::parse_offer(text)?,
        };
        let flags = row.record.flags.with(flags);
        row.record.flags = Some(flags).filter(|flags| flags.offers() < 2)?;
        Some(())
    }

    /// How long a request took. A field that has something else is passed over and told: the
    /// request is good without it.
    fn duration<'a>(&self, cursor: &mut Cursor<'a>, unit: u64, row: &mut Row<'a>) -> Option<u64> {
        let start = *cursor;
        if let Some(took) = self.took(cursor, unit) {
            row.untimed |= took == Record::UNKNOWN;
            return Some(took);
        }
        if self.strict {
            return None;
        }
        *cursor = start;
        row.no_duration = Some(self.text(cursor)?);
        Some(Record::UNKNOWN)
    }

    /// Reads a field that is a duration as a whole.
    fn took(&self, cursor: &mut Cursor<'_>, unit: u64) -> Option<u64> {
        self.alone(cursor, |cursor| took(cursor, unit))
    }

    /// How urgent a request is. A field that has something else is passed over and told: the
    /// request is good without it.
    fn priority<'a>(&self, cursor: &mut Cursor<'a>, row: &mut Row<'a>) -> Option<()> {
        let start = *cursor;
        if let Some(priority) = self.alone(cursor, |cursor| priority(whole(cursor)?)) {
            row.record.priority = priority;
            row.record.flags = row.record.flags.with(Flags::PRIORITY);
            return Some(());
        }
        if self.strict {
            return None;
        }
        *cursor = start;
        row.no_priority = Some(self.text(cursor)?);
        Some(())
    }

    /// Reads a field in which nothing else stands; it may be in quotes.
    fn alone<'a, T>(
        &self,
        cursor: &mut Cursor<'a>,
        read: impl FnOnce(&mut Cursor<'a>) -> Option<T>,
    ) -> Option<T> {
        let value = unquoted(cursor, read)?;
        let (mut end, mut next) = (*cursor, *cursor);
        end.end().or_else(|| self.pass(&mut next)).map(|()| value)
    }

    fn op<'a>(&mut self, cursor: &mut Cursor<'a>, row: &mut Row<'a>) -> Option<()> {
        let text = self.text(cursor)?;
        if let Some(OpNames { read, write }) = &self.columns.ops {
            row.record.op = match text {
                text if text == read => TraceOp::Read,
                text if text == write => TraceOp::Write,
                _ => return None,
            };
            return Some(());
        }
        row.numbered = matches!(text, b"0" | b"1");
        let (op, flags) = op_of(text)?;
        row.record.op = op;
        row.record.flags = row.record.flags.with(flags);
        Some(())
    }

    fn date(&mut self, cursor: &mut Cursor<'_>, row: &mut Row<'_>) -> Option<()> {
        let stamp = date::read(self.text(cursor)?)?;
        row.record.ts = stamp.ns;
        row.zoneless = !stamp.has_zone;
        self.digits = self.digits.max(stamp.digits);
        Some(())
    }

    fn time(&mut self, cursor: &mut Cursor<'_>) -> Option<i64> {
        let start = cursor.rest();
        let negative = cursor.byte(b'-').is_some();
        let unit = match self.columns.clock {
            Clock::Unit(unit) => unit,
            Clock::Filetime => {
                let ticks = i64::try_from(cursor.number()?).ok()?;
                return ticks
                    .checked_sub(TICKS_TO_1970)?
                    .checked_mul(TICK_NS as i64);
            }
            Clock::Dates | Clock::Unknown => return None,
        };
        let (ts, digits) = cursor.decimal_and_digits(unit)?;
        if let Some(b'e' | b'E') = cursor.peek() {
            return scientific(start, cursor, unit);
        }
        self.digits = self.digits.max(digits);
        Some(if negative { -ts } else { ts })
    }

    /// What stands in a field, without quotes and blanks around.
    fn text<'a>(&self, cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
        if cursor.byte(b'"').is_some() {
            return cursor.field(b'"');
        }
        match self.delimiter {
            Delimiter::Byte(byte) => Some(cursor.before(byte).trim_ascii()),
            Delimiter::Blanks => cursor.token(),
        }
    }

    fn is_blank(&self, cursor: &Cursor<'_>) -> bool {
        match self.delimiter {
            Delimiter::Byte(byte) => cursor.peek().is_none_or(|next| next == byte),
            Delimiter::Blanks => false,
        }
    }

    /// Goes on to the next field.
    fn pass(&self, cursor: &mut Cursor<'_>) -> Option<()> {
        match self.delimiter {
            Delimiter::Byte(b'\t') => cursor.byte(b'\t'),
            Delimiter::Byte(byte) => {
                if cursor.peek() != Some(byte) {
                    cursor.blanks();
                }
                cursor.byte(byte)?;
                cursor.blanks();
                Some(())
            }
            Delimiter::Blanks => cursor.gap(),
        }
    }

    pub(super) fn resolution_ns(&self) -> u64 {
        match self.columns.clock {
            Clock::Unit(unit) => (unit / 10_u64.pow(self.digits)).max(1),
            Clock::Dates => SECOND_NS / 10_u64.pow(self.digits),
            Clock::Filetime => TICK_NS,
            Clock::Unknown => 1,
        }
    }
}

/// The unit of a clock in words, for messages.
fn counted(clock: Clock) -> &'static str {
    match clock {
        Clock::Unit(SECOND_NS) => "seconds",
        Clock::Unit(1_000_000) => "milliseconds",
        Clock::Unit(1_000) => "microseconds",
        Clock::Unit(_) => "nanoseconds",
        Clock::Filetime => "Windows FILETIME",
        Clock::Dates | Clock::Unknown => "no unit",
    }
}

/// The unit of an absolute time of today by its size.
fn clock_of(time: u64) -> Option<Clock> {
    Some(match time {
        // 1981 to 2044.
        120_000_000_000_000_000..140_000_000_000_000_000 => Clock::Filetime,
        1_000_000_000..1_000_000_000_000 => Clock::Unit(SECOND_NS),
        1_000_000_000_000..1_000_000_000_000_000 => Clock::Unit(1_000_000),
        1_000_000_000_000_000..1_000_000_000_000_000_000 => Clock::Unit(1_000),
        1_000_000_000_000_000_000.. => Clock::Unit(1),
        _ => return None,
    })
}

/// A duration; with -1 many tools say that they do not know it.
fn took(cursor: &mut Cursor<'_>, unit: u64) -> Option<u64> {
    let start = cursor.rest();
    if cursor.byte(b'-').is_some() {
        return (whole(cursor)? == 1).then_some(Record::UNKNOWN);
    }
    let took = cursor.decimal(unit)?;
    let took = match cursor.peek() {
        Some(b'e' | b'E') => scientific(start, cursor, unit)?,
        _ => took,
    };
    Some(took.unsigned_abs())
}

/// What is read of a field, which may stand in quotes.
#[inline]
fn unquoted<'a, T>(
    cursor: &mut Cursor<'a>,
    read: impl FnOnce(&mut Cursor<'a>) -> Option<T>,
) -> Option<T> {
    let quoted = cursor.byte(b'"').is_some();
    let found = read(cursor)?;
    if quoted {
        cursor.byte(b'"')?;
    }
    Some(found)
}

/// A whole number, perhaps written with zeros behind a point.
fn whole(cursor: &mut Cursor<'_>) -> Option<u64> {
    let value = cursor.number()?;
    if cursor.byte(b'.').is_some() {
        while cursor.byte(b'0').is_some() {}
    }
    Some(value)
}

/// A time as floats are printed, `1.25e-05`; `start` is all from its sign on, `cursor` stands at
/// the `e`.
#[cold]
fn scientific(start: &[u8], cursor: &mut Cursor<'_>, unit: u64) -> Option<i64> {
    let mantissa = &start[..start.len() - cursor.rest().len()];
    cursor.any()?;
    let small = cursor.byte(b'-').is_some();
    if !small {
        cursor.byte(b'+');
    }
    let exponent = i32::try_from(cursor.number()?).ok().filter(|it| *it < 40)?;
    let decimals = memchr::memchr(b'.', mantissa).map_or(0, |point| mantissa.len() - point - 1);
    let exponent = if small { -exponent } else { exponent } - i32::try_from(decimals).ok()?;
    let mut digits = mantissa.iter().filter(|byte| byte.is_ascii_digit());
    let value = digits.try_fold(0_i128, |value, digit| {
        value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))
    })?;
    let value = value.checked_mul(i128::from(unit))?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    let value = if exponent < 0 {
        value / power
    } else {
        value.checked_mul(power)?
    };
    let sign = if mantissa.starts_with(b"-") { -1 } else { 1 };
    i64::try_from(sign * value).ok()
}

/// A priority as Linux keeps it. A level needs a class: Linux takes one without a class for no
/// priority.
fn priority(number: u64) -> Option<u16> {
    let number = u16::try_from(number).ok()?;
    (number == 0 || has_class(number)).then_some(number)
}

/// What people write for an operation.
pub(crate) fn op_of(text: &[u8]) -> Option<(TraceOp, Flags)> {
    const WORDS: [(&str, TraceOp); 20] = [
        ("read", TraceOp::Read),
        ("write", TraceOp::Write),
        ("false", TraceOp::Read),
        ("true", TraceOp::Write),
        ("rd", TraceOp::Read),
        ("wr", TraceOp::Write),
        ("rs", TraceOp::Read),
        ("ws", TraceOp::Write),
        ("flush", TraceOp::Flush),
        ("f", TraceOp::Flush),
        ("sync", TraceOp::Flush),
        ("fsync", TraceOp::Flush),
        ("datasync", TraceOp::Flush),
        ("discard", TraceOp::Discard),
        ("d", TraceOp::Discard),
        ("trim", TraceOp::Discard),
        ("unmap", TraceOp::Discard),
        ("write_zeroes", TraceOp::WriteZeroes),
        ("zero", TraceOp::WriteZeroes),
        ("other", TraceOp::Other),
    ];
    match text {
        b"R" | b"r" | b"0" => return Some((TraceOp::Read, Flags::default())),
        b"W" | b"w" | b"1" => return Some((TraceOp::Write, Flags::default())),
        _ => {}
    }
    // A tracepoint's letters tell more than the words do.
    if let Some(rwbs) = Rwbs::parse(text) {
        return Some((rwbs.op(u64::MAX), rwbs.flags));
    }
    let word = WORDS
        .iter()
        .find(|(word, _)| text.eq_ignore_ascii_case(word.as_bytes()));
    word.map(|(_, op)| (*op, Flags::default()))
}
