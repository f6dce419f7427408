//! How large a cache is to be: a share of what the trace asks for, bytes, or lines.

use std::fmt;
use std::str::FromStr;

use crate::registry::ConfigError;

/// Units of bytes, the longest word first.
const UNITS: [(&str, u64); 8] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// How a size is spelled.
pub const ALLOWED: &str = "a number with its unit, as in 1%, 512MiB, 2GB or 1000lines; units are %, lines, kB, MB, GB, TB, KiB, MiB, GiB and TiB; a share is above 0 % and 100 % at \
     most, and lines are whole and fewer than 10^15";

/// The size of a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// A share of all lines that the trace asks for, in percent.
    Percent(f64),
    /// This many bytes, with the unit in which they were given.
    Bytes(f64, &'static str),
    /// This many lines.
    Lines(u64),
}

impl Size {
    /// Whether it is in bytes.
    pub fn is_bytes(self) -> bool {
        matches!(self, Size::Bytes(..))
    }

    /// Whether it depends on what the trace asks for.
    pub fn is_share(self) -> bool {
        matches!(self, Size::Percent(_))
    }

    /// Bytes of a unit.
    fn unit(word: &str) -> u64 {
        let mut units = UNITS.iter().filter(|(name, _)| *name == word);
        units.next().map_or(1, |(_, bytes)| *bytes)
    }

    /// Lines of `line_bytes` of a cache of this size, where the trace asks for `footprint` lines in
    /// all. Parts of a line are left out.
    pub fn lines(self, footprint: u64, line_bytes: u64) -> u64 {
        match self {
            // As exact as decimal shares are meant: 0.1 % of 10,000 is 10.
            Size::Percent(percent) => (footprint as f64 * percent / 100.0 + 1e-9) as u64,
            Size::Bytes(count, unit) => {
                (count * Size::unit(unit) as f64 / line_bytes as f64 + 1e-9) as u64
            }
            Size::Lines(lines) => lines,
        }
    }
}

impl FromStr for Size {
    type Err = ConfigError;

    fn from_str(word: &str) -> Result<Size, ConfigError> {
        let word = word.trim();
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_');
        let wrong = || ConfigError::value("size", word, ALLOWED);
        let (number, unit) = word.split_at(end.ok_or_else(wrong)?);
        let number: f64 = number.replace('_', "").parse().map_err(|_| wrong())?;
        let whole = number.fract().abs() == 0.0 && number < 1e15;
        let known = UNITS.iter().find(|(name, _)| *name == unit.trim());
        let size = match (unit.trim(), known) {
            ("%", _) if number <= 100.0 => Size::Percent(number),
            ("lines" | "line", _) if whole => Size::Lines(number as u64),
            (_, Some((name, _))) => Size::Bytes(number, name),
            _ => return Err(wrong()),
        };
        if number > 0.0 { Ok(size) } else { Err(wrong()) }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Percent(percent) => write!(f, "{percent}%"),
            Size::Bytes(count, unit) => write!(f, "{count}{unit}"),
            Size::Lines(1) => write!(f, "1line"),
            Size::Lines(lines) => write!(f, "{lines}lines"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit() {
        let lines = |word: &str| word.parse::<Size>().map(|size| size.lines(48_974, 4_096));
        assert_eq!(lines("0.1%"), Ok(48));
        assert_eq!(lines("100%"), Ok(48_974));
        assert_eq!(lines("512MiB"), Ok(131_072));
        assert_eq!(lines("1.5GB"), Ok(366_210));
        assert_eq!(lines("1_000lines"), Ok(1_000));
        for wrong in [
            "", "10", "0%", "101%", "-1%", "1 apple", "1.5lines", "1e3%", "..%",
        ] {
            let error = wrong.parse::<Size>().unwrap_err().to_string();
            assert!(error.contains("512MiB"), "{wrong}: {error}");
            for (unit, _) in UNITS {
                assert!(ALLOWED.contains(&format!(" {unit}")), "{unit}");
            }
        }
    }

    #[test]
    fn one_line_is_told_as_one() {
        for (word, told) in [("1lines", "1line"), ("1line", "1line"), ("2line", "2lines")] {
            assert_eq!(word.parse::<Size>().unwrap().to_string(), told);
        }
    }

    #[test]
    fn shares_are_as_exact_as_they_are_spelled() {
        for (percent, lines) in [("0.1%", 10), ("29%", 2_900), ("58%", 5_800), ("0.29%", 29)] {
            assert_eq!(percent.parse::<Size>().unwrap().lines(10_000, 512), lines);
        }
    }
}
