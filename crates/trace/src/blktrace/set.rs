//! The files that the processors of one machine wrote, as one stream.
//!
//! A request that arrives on one processor is often answered on another, so the files are merged
//! event by event, before any meaning is made of them. The file with the earliest event gives
//! events until another has an earlier one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::event::{Event, Key, Parser};
use super::meaning;
use super::requests::Requests;
use crate::TraceError;
use crate::decode::{FileReader, Sink, TimeMeaning};
use crate::input::{self, Input};

/// Bytes of a file that are parsed at a time.
const WINDOW_BYTES: usize = 64 << 10;

/// Events given out in one call.
const PORTION_EVENTS: usize = 8192;

/// The end of the name of a per-CPU file.
const MARK: &str = ".blktrace.";

/// The set that a path stands for: all files with the same base, in the order of their processors.
/// The path may be one of them, or the base as blkparse takes it. None when it is neither.
///
/// # Errors
/// The directory cannot be read.
pub(crate) fn siblings(path: &Path) -> std::io::Result<Option<(PathBuf, Vec<PathBuf>)>> {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let base = match split(&name) {
        Some((base, _)) => base.to_owned(),
        None if path.exists() => return Ok(None),
        None => name.strip_suffix(".blktrace").unwrap_or(&name).to_owned(),
    };
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    if base.is_empty() || !folder.is_dir() {
        return Ok(None);
    }
    let mut found: BTreeMap<(u32, OsString), PathBuf> = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let text = name.to_string_lossy().into_owned();
        if let Some((_, cpu)) = split(&text).filter(|(other, _)| *other == base) {
            let file = path.with_file_name(&name);
            found.insert((cpu, name), file);
        }
    }
    let files: Vec<PathBuf> = found.into_values().collect();
    Ok((!files.is_empty()).then(|| (path.with_file_name(base), files)))
}

/// `base.blktrace.cpu`, perhaps compressed.
fn split(name: &str) -> Option<(&str, u32)> {
    let plain = name
        .strip_suffix(".gz")
        .or(name.strip_suffix(".zst"))
        .unwrap_or(name);
    let (base, cpu) = plain.rsplit_once(MARK)?;
    Some((base, cpu.parse().ok()?))
}

/// One processor's file.
struct Lane {
    input: Input,
    parser: Parser,
    events: Vec<Event>,
    given: usize,
    ended: bool,
}

impl Lane {
    /// Reads on until there is an event or the end.
    fn fill(&mut self, out: &mut Sink) -> Result<(), TraceError> {
        if self.given < self.events.len() {
            return Ok(());
        }
        self.events.clear();
        self.given = 0;
        out.anomalies.set_place(&self.input.name);
        while self.events.is_empty() && !self.ended {
            let Input {
                bytes,
                name,
                containers,
            } = &mut self.input;
            let (seen, last) = bytes
                .look(WINDOW_BYTES * 2)
                .map_err(|source| input::damaged(source, name, containers))?;
            let used = self
                .parser
                .parse(seen, last, &mut self.events, out)
                .map_err(|error| error.in_file(name))?;
            self.ended = last && used == seen.len();
            assert!(used > 0 || self.ended, "a window holds any record");
            bytes.consume(used);
        }
        // Buffers of one processor are nearly in order; what is not, is put right behind the merge.
        Ok(())
    }

    fn head(&self) -> Option<&Event> {
        self.events.get(self.given)
    }
}

/// All files of a set.
pub(crate) struct PerCpu {
    lanes: Vec<Lane>,
    heads: BinaryHeap<Reverse<(Key, usize)>>,
    requests: Requests,
    primed: bool,
}

impl PerCpu {
    pub(crate) fn new(inputs: Vec<Input>, strict: bool) -> PerCpu {
        let lane = |input| Lane {
            input,
            parser: Parser::new(strict),
            events: Vec::new(),
            given: 0,
            ended: false,
        };
        PerCpu {
            lanes: inputs.into_iter().map(lane).collect(),
            heads: BinaryHeap::new(),
            requests: Requests::default(),
            primed: false,
        }
    }

    fn show_head(&mut self, lane: usize, out: &mut Sink) -> Result<(), TraceError> {
        self.lanes[lane].fill(out)?;
        if let Some(head) = self.lanes[lane].head() {
            self.heads.push(Reverse((head.key(), lane)));
        }
        Ok(())
    }

    /// Takes the events of the earliest file that come before those of all others.
    fn take_run(&mut self, lane: usize) {
        let rival = self.heads.peek().map(|Reverse(head)| *head);
        let lane_events = &mut self.lanes[lane];
        let rest = &lane_events.events[lane_events.given..];
        let run = match rival {
            None => rest.len(),
            Some(rival) => rest
                .iter()
                .take_while(|event| (event.key(), lane) < rival)
                .count(),
        };
        self.requests.events().extend_from_slice(&rest[..run]);
        lane_events.given += run;
    }
}

impl FileReader for PerCpu {
    fn read(&mut self, out: &mut Sink) -> Result<bool, TraceError> {
        if !self.primed {
            for lane in 0..self.lanes.len() {
                self.show_head(lane, out)?;
            }
            self.primed = true;
        }
        while self.requests.events().len() < PORTION_EVENTS {
            let Some(Reverse((_, lane))) = self.heads.pop() else {
                out.anomalies.set_place("");
                self.requests.finish(out);
                return Ok(false);
            };
            self.take_run(lane);
            self.show_head(lane, out)?;
        }
        out.anomalies.set_place("");
        self.requests.advance(out);
        Ok(true)
    }

    fn stop(&mut self, out: &mut Sink) {
        self.requests.finish(out);
    }

    fn time(&self) -> TimeMeaning {
        let epoch_unix_ns = self.lanes.iter().find_map(|lane| lane.parser.epoch_unix_ns);
        meaning(self.requests.kind(), epoch_unix_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_and_any_of_its_files_find_the_set() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in [
            "sda.blktrace.0",
            "sda.blktrace.2",
            "sda.blktrace.10.gz",
            "sdb.blktrace.0",
            "sda.blktrace.x",
            "sda.txt",
        ] {
            std::fs::write(at(name), "").unwrap();
        }
        let set = ["sda.blktrace.0", "sda.blktrace.2", "sda.blktrace.10.gz"]
            .map(at)
            .to_vec();
        let expected = Some((at("sda"), set));
        for name in ["sda.blktrace.2", "sda", "sda.blktrace", "sda.blktrace.7"] {
            assert_eq!(siblings(&at(name)).unwrap(), expected, "{name}");
        }
        assert_eq!(siblings(&at("sda.txt")).unwrap(), None);
        assert_eq!(siblings(&at("sdc")).unwrap(), None);
    }
}
