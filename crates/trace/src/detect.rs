//! Which format a trace is in, from its first bytes.
//!
//! Certain magics come first, then binary formats without one, in the order of the table. Text is
//! tried line by line: each reader is scored by the share of the first non-empty lines that it can
//! parse, and the best is taken if that is nearly all. Otherwise the two nearest are named with the
//! first line that does not fit them, since that line is mostly the answer.

use super::decode::{Format, Naming, Probe};
use super::{FORMATS, TraceError};

/// Bytes of the start that are looked at: 4096 records of the largest binary format without a
/// magic.
pub(crate) const SAMPLE_BYTES: usize = 160 << 10;

/// Text lines that are looked at.
const LINES_MAX: usize = 64;

/// Share of lines in percent that the chosen reader must be able to parse.
const FIT_PERCENT: usize = 90;

/// Bytes of a line that are shown in a message.
const SHOWN_MAX: usize = 80;

/// The start of a stream.
#[derive(Clone, Copy)]
pub(crate) struct Sample<'a> {
    pub(crate) bytes: &'a [u8],
    /// Whether this is all of it.
    pub(crate) complete: bool,
    /// Length of the whole stream, where known.
    pub(crate) size: Option<u64>,
}

/// The format called `name`.
///
/// # Errors
/// There is none; names the nearest and all.
pub(crate) fn named(name: &str) -> Result<&'static Format, TraceError> {
    if let Some(format) = FORMATS.iter().find(|format| format.name == name) {
        return Ok(format);
    }
    let what = format!(
        "there is no trace format `{name}`; there are: {}",
        all_names()
    );
    Err(TraceError::wrong("--trace-format", what))
}

fn all_names() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    names.join(", ")
}

/// The format that the sample is in.
///
/// # Errors
/// The stream is empty, or no format fits.
pub(crate) fn detect(sample: Sample<'_>) -> Result<&'static Format, TraceError> {
    if sample.bytes.is_empty() {
        return Err(TraceError::unfit("is empty"));
    }
    if let Some(format) = FORMATS
        .iter()
        .find(|format| is_magic_of(format, sample.bytes))
    {
        return Ok(format);
    }
    if is_text(sample.bytes) {
        return detect_text(sample);
    }
    let fits = |format: &Format| matches!(format.probe, Probe::Binary(is) if is(sample.bytes, sample.size));
    match FORMATS.iter().find(|format| fits(format)) {
        Some(format) => Ok(format),
        None => Err(TraceError::unfit(format!(
            "is binary, but of no known format (starts with {}); name it with --trace-format, one of: {}",
            shown_bytes(sample.bytes),
            all_names()
        ))),
    }
}

/// Whether the bytes begin with the magic of a format that has one.
pub(crate) fn is_magic_of(format: &Format, bytes: &[u8]) -> bool {
    matches!(format.probe, Probe::Magic(is) if is(bytes))
}

/// Text has no control bytes but white space; a damaged spot of one in fifty is tolerated.
fn is_text(bytes: &[u8]) -> bool {
    let control =
        |byte: &&u8| **byte < b' ' && !matches!(**byte, b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    bytes.iter().filter(control).count() * 50 <= bytes.len()
}

/// How well one text format fits.
struct Score<'a> {
    format: &'static Format,
    fitting: usize,
    first_bad: Option<(usize, &'a [u8])>,
}

fn detect_text(sample: Sample<'_>) -> Result<&'static Format, TraceError> {
    let lines = sample_lines(sample);
    if lines.is_empty() {
        return Err(TraceError::unfit("holds only blank lines and comments"));
    }
    if let Some(format) = named_columns(&lines, Naming::ColumnsAndUnits) {
        return Ok(format);
    }
    let mut scores: Vec<Score<'_>> = FORMATS
        .iter()
        .filter_map(|format| match format.probe {
            Probe::Line(parses) | Probe::Doubtful { parses, .. } => {
                Some(score(format, parses, &lines))
            }
            _ => None,
        })
        .collect();
    // The sort is stable: among equals the table's order decides.
    scores.sort_by_key(|score| std::cmp::Reverse(score.fitting));
    if let Some(best) = scores.first()
        && best.fitting * 100 >= lines.len() * FIT_PERCENT
    {
        return doubted(best.format, &lines).map_or(Ok(best.format), Err);
    }
    if let Some(format) = named_columns(&lines, Naming::Columns) {
        return Ok(format);
    }
    Err(proposed(&lines).unwrap_or_else(|| unknown_text(&scores, &lines)))
}

/// The error where lines parse, but what they say together speaks against their format.
fn doubted(format: &Format, lines: &[(usize, &[u8])]) -> Option<TraceError> {
    let Probe::Doubtful { parses, against } = format.probe else {
        return None;
    };
    let lines: Vec<&[u8]> = lines.iter().map(|(_, line)| *line).collect();
    let lines: Vec<&[u8]> = lines.into_iter().filter(|line| parses(line)).collect();
    let why = against(&lines)?;
    Some(TraceError::unfit(format!(
        "has lines as the format {name} has them ({summary}), but {why}: if it is in that format, say --trace-format {name}; if not, \
         put a line above all others that names the columns",
        name = format.name,
        summary = format.summary,
    )))
}

/// The error where all lines look like a format that has to be named.
fn proposed(lines: &[(usize, &[u8])]) -> Option<TraceError> {
    let looks = |format: &&&Format| match format.probe {
        Probe::Named(parses) => lines.iter().all(|(_, line)| parses(line)),
        _ => false,
    };
    let format = FORMATS.iter().find(looks)?;
    let (number, line) = lines.first()?;
    Some(TraceError::unfit(format!(
        "may be in the format {name} ({summary}), but other tables look like it, too (line {number}: {}); if it is, say \
         --trace-format {name}",
        shown(line),
        name = format.name,
        summary = format.summary,
    )))
}

/// The format whose first line names just this.
fn named_columns(lines: &[(usize, &[u8])], naming: Naming) -> Option<&'static Format> {
    let (_, first) = lines.first()?;
    let names = |format: &&Format| matches!(format.probe, Probe::Header { names, .. } if names(first) == naming);
    FORMATS.iter().copied().find(names)
}

/// A first line that does not parse may be a header and counts as fitting once another line does.
fn score<'a>(
    format: &'static Format,
    parses: fn(&[u8]) -> bool,
    lines: &[(usize, &'a [u8])],
) -> Score<'a> {
    let bad: Vec<usize> = (0..lines.len())
        .filter(|at| !parses(lines[*at].1))
        .collect();
    let header = usize::from(bad.first() == Some(&0) && bad.len() < lines.len());
    Score {
        format,
        fitting: lines.len() - bad.len() + header,
        first_bad: bad.get(header).map(|at| lines[*at]),
    }
}

/// The first lines that are neither blank nor comments, with their numbers from 1.
fn sample_lines<'a>(sample: Sample<'a>) -> Vec<(usize, &'a [u8])> {
    let bytes = sample
        .bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(sample.bytes);
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    if !sample.complete && lines.len() > 1 {
        lines.pop();
    }
    lines
        .into_iter()
        .enumerate()
        .map(|(at, line)| (at + 1, line.strip_suffix(b"\r").unwrap_or(line)))
        .filter(|(_, line)| !line.trim_ascii().is_empty() && !line.starts_with(b"#"))
        .take(LINES_MAX)
        .collect()
}

/// What the first line lacks, if it looks like a header that does not name enough.
fn lacking(lines: &[(usize, &[u8])]) -> Option<String> {
    let (number, first) = lines.first()?;
    let second = lines.get(1).map(|(_, line)| *line);
    let told = FORMATS.iter().find_map(|format| match format.probe {
        Probe::Header { lacks, .. } => lacks(first, second),
        _ => None,
    })?;
    Some(format!("; line {number} {told}"))
}

fn unknown_text(scores: &[Score<'_>], lines: &[(usize, &[u8])]) -> TraceError {
    let mut what = "is text of no known format".to_owned();
    for score in scores.iter().take(2).filter(|score| score.fitting > 0) {
        what += &format!(
            "; {} fits {} of {} lines",
            score.format.name,
            score.fitting,
            lines.len()
        );
        if let Some((number, line)) = score.first_bad {
            what += &format!(", not line {number}: {}", shown(line));
        }
    }
    let lacking = lacking(lines);
    if lacking.is_none()
        && scores.iter().all(|score| score.fitting == 0)
        && let Some((number, line)) = scores.first().and_then(|score| score.first_bad)
    {
        what += &format!("; line {number} fits none: {}", shown(line));
    }
    let (header, or) = match lacking {
        Some(told) => (told, "or "),
        None => (String::new(), ""),
    };
    TraceError::unfit(format!(
        "{what}{header}; {or}name it with --trace-format, one of: {}",
        all_names()
    ))
}

/// A line as messages show it: printable, quoted and cut.
pub(crate) fn shown(line: &[u8]) -> String {
    let cut = &line[..line.len().min(SHOWN_MAX)];
    let dots = if line.len() > SHOWN_MAX { "..." } else { "" };
    format!("{:?}{dots}", String::from_utf8_lossy(cut))
}

fn shown_bytes(bytes: &[u8]) -> String {
    let hex: Vec<String> = bytes
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    hex.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Result<&'static str, String> {
        let sample = Sample {
            bytes,
            complete: true,
            size: Some(bytes.len() as u64),
        };
        detect(sample)
            .map(|format| format.name)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_is_said_to_be_empty() {
        assert!(of(b"").unwrap_err().contains("is empty"));
        assert!(
            of(b"\n# only a comment\n\r\n")
                .unwrap_err()
                .contains("only blank lines")
        );
    }

    #[test]
    fn unknown_text_shows_its_first_line() {
        let error = of(b"\n dear diary,\nnothing happened\n").unwrap_err();
        assert!(error.contains("is text of no known format"), "{error}");
    }

    #[test]
    fn a_table_that_looks_like_a_format_by_chance_is_not_taken_for_it() {
        let times = "0,R,4096,4096,700\n150,W,0,512,90\n310,R,8192,4096,650\n";
        let error = of(times.as_bytes()).unwrap_err();
        assert!(error.contains("say --trace-format alibaba"), "{error}");
        assert!(error.contains("names the columns"), "{error}");
        let volumes = "3,R,4096,4096,700\n1,W,0,512,790\n2,R,8192,4096,850\n";
        assert_eq!(of(volumes.as_bytes()), Ok("alibaba"));
    }

    #[test]
    fn garbage_shows_its_first_bytes() {
        let garbage: Vec<u8> = (0..999_u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        let error = of(&garbage).unwrap_err();
        assert!(
            error.contains("of no known format (starts with 00 9e 3c"),
            "{error}"
        );
    }

    #[test]
    fn a_wrong_name_lists_the_right_ones() {
        let error = named("vscsii").err().unwrap().to_string();
        assert!(error.contains("`vscsii`; there are: "), "{error}");
        assert!(error.contains("vscsi"), "{error}");
    }
}
