//! Opens a trace and gives its requests in batches, in the order of time.
//!
//! All that the parts of the pipeline leave open is decided here: which files belong together,
//! times relative to the first request, the span, the limit, and what the header says at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::blktrace;
use super::columns::{Asked, Columns};
use super::decode::{Anomaly, Format, Options, Sink, TimeKind, TimeMeaning};
use super::header::{Census, Device, Header};
use super::input;
use super::merge::{Feed, Merge, all_or_none};
use super::order::{FIRST_HELD, Shared};
use super::record::Record;
use super::sort::Sorted;
use super::source::{Setup, Source};
use super::span::{Busiest, Cut, Span};
use super::spool::{Spool, spool};
use super::spread::{Spread, Spreader};
use super::{FORMATS, TraceError};
use crate::file_identity::{Identity, Kind, Place};

/// Requests in a batch: they and what is made of them stay in the cache.
const BATCH_RECORDS: usize = 4096;

/// Devices that are named where the one that is asked for is not there.
const LISTED_MAX: usize = 12;

/// A gap that is told (1 h): the clock was set, or the trace has a hole.
const GAP_NS: i64 = 3_600_000_000_000;

/// Default reorder window.
const WINDOW_NS: u64 = 1_000_000_000;

/// How a trace is read.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Name of the format; detected when none.
    pub format: Option<String>,
    /// What the formats leave open.
    pub decode: Options,
    /// Keep only this device.
    pub device: Option<String>,
    /// Only what came in this part of the trace.
    pub span: Span,
    /// Stop after this many requests (of the span), in the order of time.
    pub limit: Option<u64>,
    /// How far requests may be out of order, in ns.
    pub reorder_window_ns: u64,
    /// Whether somebody asked for this window: then it must have an effect.
    pub reorder_asked: bool,
    /// Sort the whole trace first, through temporary files when it is long; the window then does
    /// not matter.
    pub sort: bool,
    /// What is done with coarse time stamps.
    pub spread: Spread,
    /// Whether somebody asked for that, so that it is an error if no stamp is coarse.
    pub spread_asked: bool,
    /// Keep the trace's own clock (Unix time where the format tells it) instead of starting at 0.
    pub absolute: bool,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            format: None,
            decode: Options::default(),
            device: None,
            span: Span::Whole,
            limit: None,
            reorder_window_ns: WINDOW_NS,
            reorder_asked: false,
            sort: false,
            spread: Spread::Even,
            spread_asked: false,
            absolute: false,
        }
    }
}

/// An open trace.
pub struct TraceReader {
    merge: Merge,
    shared: Shared,
    kept: Census,
    spreader: Option<Spreader>,
    cut: Option<Cut>,
    header: Header,
    /// Whether the meaning of times is known.
    understood: bool,
    /// What is taken from the format's times.
    base: Option<i64>,
    how: OpenOptions,
    newest: i64,
    ended: bool,
    /// Whether coarse times are spread: not where nobody sees them.
    spreads: bool,
    /// Requests on the way from records to columns.
    records: Vec<Record>,
    columns: Columns,
    /// The first time stamp of the file, and whether there is another.
    stamp: Option<(i64, bool)>,
    /// Kept alive as long as it is read.
    _spool: Option<Spool>,
}

/// All files that [`open()`] reads for these: with one per-CPU file of a blktrace, the whole set.
///
/// # Errors
/// A folder cannot be read.
pub fn files(paths: &[PathBuf], format: Option<&str>) -> Result<Vec<PathBuf>, TraceError> {
    let items = items(paths, format)?.into_iter();
    Ok(items.flat_map(Item::into_files).collect())
}

/// Opens the files of one trace; `-` is standard input.
///
/// # Errors
/// A file cannot be read, is empty or of no known format, or an option is out of range.
pub fn open(paths: &[PathBuf], how: &OpenOptions) -> Result<TraceReader, TraceError> {
    check(paths, how)?;
    distinct(paths, &items(paths, how.format.as_deref())?)?;
    match how.span {
        Span::Busiest(length) => open_busiest(paths, how, Busiest::new(length)),
        Span::Whole | Span::Between { .. } => open_span(paths, how),
    }
}

/// Reads the trace once to find its busiest window, and opens that.
fn open_busiest(
    paths: &[PathBuf],
    how: &OpenOptions,
    mut busiest: Busiest,
) -> Result<TraceReader, TraceError> {
    let (spool, files) = spool(paths)?;
    let whole = OpenOptions {
        span: Span::Whole,
        limit: None,
        ..how.clone()
    };
    let (mut reader, mut batch) = (open_span(&files, &whole)?, Vec::new());
    while reader.next_batch(&mut batch)? {
        busiest.record(&batch);
    }
    let span = busiest
        .finish()
        .map_err(|error| error.in_file(&reader.header.files.join(", ")))?;
    let how = OpenOptions {
        span,
        ..how.clone()
    };
    let mut reader = open_span(&files, &how)?;
    reader.header.span = span.read(true);
    if spool.is_some() {
        reader.header.files = paths.iter().map(|path| input::display(path)).collect();
    }
    reader._spool = spool;
    Ok(reader)
}

/// Opens a trace of which it is known what is to be read.
fn open_span(paths: &[PathBuf], how: &OpenOptions) -> Result<TraceReader, TraceError> {
    let items = items(paths, how.format.as_deref())?;
    let setup = Setup {
        format: how.format.as_deref(),
        options: &how.decode,
        window_ns: (!how.sort).then(|| i64::try_from(how.reorder_window_ns).unwrap_or(i64::MAX)),
        count: items.len(),
    };
    let mut shared = Shared {
        sink: Sink::default(),
        only_device: how.device.clone(),
        left_out: Census::default(),
        understood: 0,
        late: false,
    };
    let (files, sources) = sources(&items, paths, &setup, &mut shared)?;
    let header = Header {
        span: how.span.read(false),
        ..header(files, &sources, how)?
    };
    let mut feeds: Vec<Box<dyn Feed>> = sources
        .into_iter()
        .map(|source| Box::new(source) as Box<dyn Feed>)
        .collect();
    if how.sort {
        feeds = vec![Box::new(Sorted::new(feeds))];
    }
    Ok(TraceReader {
        merge: Merge::new(feeds),
        shared,
        kept: Census::default(),
        spreader: None,
        cut: Cut::of(how.span),
        header,
        understood: false,
        base: None,
        how: how.clone(),
        newest: i64::MAX,
        ended: false,
        spreads: true,
        records: Vec::new(),
        columns: Columns::default(),
        stamp: None,
        _spool: None,
    })
}

/// The files by name, and what reads them.
fn sources(
    items: &[Item],
    paths: &[PathBuf],
    setup: &Setup<'_>,
    shared: &mut Shared,
) -> Result<(Vec<String>, Vec<Source>), TraceError> {
    let mut files = Vec::new();
    let mut sources = Vec::new();
    for item in items {
        match item {
            Item::One(path) => {
                let input = input::open(path)?;
                sources.push(Source::new(input, device_name(path, paths), setup)?);
                files.push(input::display(path));
            }
            Item::PerCpu(base, set) => {
                sources.push(Source::per_cpu(base, set, setup)?);
                files.extend(set.iter().map(|path| input::display(path)));
                shared.sink.note(format!(
                    "per-CPU files merged: {} of {}",
                    set.len(),
                    input::display(base)
                ));
            }
        }
    }
    Ok((files, sources))
}

/// What is read as one stream.
enum Item {
    One(PathBuf),
    /// Base name and per-CPU files of a blktrace.
    PerCpu(PathBuf, Vec<PathBuf>),
}

impl Item {
    fn into_files(self) -> Vec<PathBuf> {
        match self {
            Item::One(path) => vec![path],
            Item::PerCpu(_, files) => files,
        }
    }
}

/// Finds the other files of per-CPU sets, each set once however many of its files were named.
fn items(paths: &[PathBuf], format: Option<&str>) -> Result<Vec<Item>, TraceError> {
    let may_be_set = format.is_none_or(|format| format == blktrace::FORMAT.name);
    let mut items = Vec::new();
    let mut sets = BTreeSet::new();
    for path in paths {
        let set = match may_be_set && path != Path::new("-") {
            true => blktrace::siblings(path).map_err(|source| TraceError::Io {
                path: input::display(path),
                source,
            })?,
            false => None,
        };
        match set {
            None => items.push(Item::One(path.clone())),
            Some((base, files)) => {
                // A set may be named by several of its files, and its folder by several paths.
                let first = files.first().and_then(|file| Place::of(file).ok());
                if first.is_none_or(|first| sets.insert(first.identity)) {
                    items.push(Item::PerCpu(base, files));
                }
            }
        }
    }
    Ok(items)
}

fn check(paths: &[PathBuf], how: &OpenOptions) -> Result<(), TraceError> {
    let stdin = paths.iter().filter(|path| *path == Path::new("-")).count();
    if paths.is_empty() {
        return Err(TraceError::unfit("no trace file was named").in_file("trace"));
    }
    if stdin > 1 {
        return Err(TraceError::unfit("can be read only once").in_file("standard input"));
    }
    if how.limit == Some(0) {
        return Err(
            TraceError::unfit("a limit of 0 requests leaves nothing; at least 1").in_file("limit"),
        );
    }
    Ok(())
}

/// What is known before the first request.
fn header(files: Vec<String>, sources: &[Source], how: &OpenOptions) -> Result<Header, TraceError> {
    let all: Vec<&Format> = sources.iter().map(Source::format).collect();
    effective(&all, how).map_err(|error| error.in_file(&files.join(", ")))?;
    let mut formats: Vec<&str> = all.iter().map(|format| format.name).collect();
    formats.dedup();
    Ok(Header {
        files,
        ..Header::made(&formats.join(", "), &[], &[])
    })
}

/// Every option has an effect on one of the formats at least.
fn effective(formats: &[&Format], how: &OpenOptions) -> Result<(), TraceError> {
    for choice in how.decode.chosen() {
        if formats
            .iter()
            .any(|format| format.options.contains(&choice))
        {
            continue;
        }
        let takers = FORMATS
            .iter()
            .filter(|format| format.options.contains(&choice));
        let takers: Vec<&str> = takers.map(|format| format.name).collect();
        let found = formats.first().map_or("", |format| format.name);
        let what = format!(
            "it needs a trace in the format {}, and this is {found}",
            takers.join(" or ")
        );
        return Err(TraceError::without_effect(choice.option(), what));
    }
    Ok(())
}

/// No file is read twice, by whatever paths it is named.
fn distinct(paths: &[PathBuf], items: &[Item]) -> Result<(), TraceError> {
    let of_sets = items.iter().filter_map(|item| match item {
        Item::One(_) => None,
        Item::PerCpu(_, files) => Some(files),
    });
    for all in std::iter::once(paths).chain(of_sets.map(Vec::as_slice)) {
        let mut seen: BTreeMap<Identity, &Path> = BTreeMap::new();
        for path in all {
            let place = match path == Path::new("-") {
                true => Place::of_stdin(),
                false => Place::of(path).ok(),
            };
            let Some(place) = place.filter(|place| place.kind == Kind::File) else {
                continue;
            };
            if let Some(other) = seen.insert(place.identity, path) {
                return Err(TraceError::Twice {
                    path: input::display(path),
                    other: input::display(other),
                });
            }
        }
    }
    Ok(())
}

/// The device of a file that holds just one: its file name, or its path where that is not clear.
fn device_name(path: &Path, all: &[PathBuf]) -> String {
    let same = all
        .iter()
        .filter(|other| other.file_name() == path.file_name())
        .count();
    match path.file_name() {
        Some(name) if same == 1 => name.to_string_lossy().into_owned(),
        _ => input::display(path),
    }
}

impl TraceReader {
    /// Replaces `out` by the next requests in the order of time, some thousands; false when there
    /// are no more.
    ///
    /// # Errors
    /// The trace is damaged, too far out of order, or holds no request that is wanted.
    pub fn next_batch(&mut self, out: &mut Vec<Record>) -> Result<bool, TraceError> {
        out.clear();
        while out.is_empty() && !self.ended {
            self.read(out)?;
        }
        if self.ended {
            self.check_end()?;
        }
        Ok(!out.is_empty())
    }

    /// The next requests in the order of time as columns, some thousands, for those to whom times
    /// do not matter; none when there are no more. A file whose format tells no more than columns
    /// hold gives them without a detour over records. A trace that is read so is read so to its
    /// end.
    ///
    /// # Errors
    /// As for [`TraceReader::next_batch`], but that time stamps are not spread.
    pub fn next_columns(&mut self) -> Result<Option<Asked<'_>>, TraceError> {
        self.spreads = false;
        if self.ended {
            self.check_end()?;
            return Ok(None);
        }
        if self.cut.is_some() || !self.merge.fill_columns(&mut self.shared)? {
            return self.columns_of_records();
        }
        let given = self.finish_columns()?;
        let (asked, _) = self.merge.columns();
        Ok((given > 0).then(|| asked.split_at(given).0))
    }

    /// The same by way of records.
    fn columns_of_records(&mut self) -> Result<Option<Asked<'_>>, TraceError> {
        let mut records = std::mem::take(&mut self.records);
        let more = self.next_batch(&mut records)?;
        self.columns.clear();
        records.iter().for_each(|record| self.columns.push(record));
        self.records = records;
        let all = 0..self.columns.count();
        Ok(more.then(|| self.columns.asked(all)))
    }

    /// What `read` does with records, for the columns that are ready. How many of them are given.
    fn finish_columns(&mut self) -> Result<usize, TraceError> {
        let (_, times) = self.merge.columns();
        let ready = times.len();
        if let (Some(first), Some(last)) = (times.first().copied(), times.last().copied()) {
            self.begin(first, last)?;
        }
        let left = self.how.limit.map(|limit| limit - self.header.requests);
        let given = left.map_or(ready, |left| {
            usize::try_from(left).map_or(ready, |left| left.min(ready))
        });
        if given > 0 {
            let (asked, times) = self.merge.columns();
            self.kept.count_asked(&asked.split_at(given).0);
            let (first, last) = (times[0], times[given - 1]);
            let base = self.base(first);
            if (last - base).saturating_sub(self.newest.min(first - base)) > GAP_NS {
                let times = self.merge.columns().1[..given].to_vec();
                times.iter().for_each(|time| self.note_gap(time - base));
            }
            self.newest = last - base;
        }
        self.header.requests += given as u64;
        self.header.limited = left == Some(given as u64);
        self.finish_read(given == 0)?;
        match self.ended && given == 0 {
            true => self.check_end().map(|()| 0),
            false => Ok(given),
        }
    }

    /// What is known of the trace so far; complete after the last batch.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The span that is read, with the busiest window found.
    pub fn span(&self) -> Span {
        self.how.span
    }

    /// Whether there was what was asked for.
    fn check_end(&self) -> Result<(), TraceError> {
        let requests = self.header.requests;
        let fault = self.cut.as_ref().filter(|_| !self.header.limited);
        if let Some(what) = fault.and_then(|cut| cut.fault(requests)) {
            return Err(TraceError::unfit(what).in_file(&self.header.files.join(", ")));
        }
        if requests == 0 {
            return Err(self.nothing());
        }
        Ok(())
    }

    fn read(&mut self, out: &mut Vec<Record>) -> Result<(), TraceError> {
        self.merge.fill(&mut self.shared, BATCH_RECORDS, out)?;
        let ended = out.is_empty();
        if let (Some(first), Some(last)) = (out.first(), out.last()) {
            self.begin(first.ts, last.ts)?;
        }
        if let Some(spreader) = &mut self.spreader {
            spreader
                .spread(out, ended)
                .map_err(|error| error.in_file(&self.header.files[0]))?;
        }
        let passed = self.cut.as_mut().is_some_and(|cut| cut.keep(out));
        self.finish_batch(out);
        self.finish_read(ended || passed)
    }

    /// Requests of these times are read: if they are the first, it is known now what times mean.
    fn begin(&mut self, first: i64, last: i64) -> Result<(), TraceError> {
        let (stamp, several) = self.stamp.get_or_insert((first, false));
        *several |= last != *stamp;
        if !self.understood {
            self.understand()
                .map_err(|error| error.in_file(&self.header.files.join(", ")))?;
            self.understood = true;
        }
        Ok(())
    }

    /// Some were read: whether those were the last, and what is known by now.
    fn finish_read(&mut self, ended: bool) -> Result<(), TraceError> {
        if ended || self.header.limited {
            self.merge.stop(&mut self.shared);
            self.ended = true;
        }
        self.tell();
        if self.ended {
            // Only now: a fio iolog may begin without a wait and have some later.
            self.check_timed()
                .and_then(|()| self.check_window(ended))
                .map_err(|error| error.in_file(&self.header.files.join(", ")))?;
        }
        Ok(())
    }

    /// Whether a window that was asked for has done anything, where all was read.
    fn check_window(&self, all: bool) -> Result<(), TraceError> {
        let in_vain = self.how.reorder_asked && !self.shared.late;
        let whole = all && !self.header.limited && self.cut.is_none();
        if in_vain && whole {
            let what = format!(
                "it needs requests out of order behind the first {FIRST_HELD}, which are sorted anyhow, and there are none"
            );
            return Err(TraceError::without_effect("--reorder-ms", what));
        }
        Ok(())
    }

    /// Whether all files have times, and more than one.
    fn check_timed(&mut self) -> Result<(), TraceError> {
        let timed = |time: &TimeMeaning| Some(time.kind != TimeKind::None);
        all_or_none(self.merge.feeds(), timed, ["has times", "has none"])?;
        let header = &mut self.header;
        let one_time = header.requests > 1 && matches!(self.stamp, Some((_, false)));
        if one_time && header.time_kind != TimeKind::None {
            header.time_kind = TimeKind::None;
            header.notes.push(Sink::ONE_TIME.to_owned());
        }
        Ok(())
    }

    /// Fixes what times mean, once the first requests are there.
    fn understand(&mut self) -> Result<(), TraceError> {
        all_or_none(
            self.merge.feeds(),
            |time| (time.kind != TimeKind::None).then_some(time.epoch_unix_ns.is_some()),
            [
                "tells the date and time of its requests",
                "counts their times from a beginning that it does not tell",
            ],
        )?;
        let times: Vec<TimeMeaning> = self.merge.feeds().iter().map(|feed| feed.time()).collect();
        let time = times[0];
        self.header.resolution_ns = times
            .iter()
            .map(|time| time.resolution_ns)
            .max()
            .unwrap_or(1);
        self.spreader = Spreader::for_resolution(self.header.resolution_ns, self.how.spread);
        if self.spreader.is_none() && self.how.spread_asked && self.how.spread != Spread::None {
            let what = format!(
                "it needs time stamps coarser than 1 ms, and these have steps of {} ns",
                self.header.resolution_ns
            );
            return Err(TraceError::without_effect("--spread", what));
        }
        if !self.spreads {
            self.spreader = None;
        }
        if self.spreader.is_some()
            && times
                .iter()
                .any(|other| other.resolution_ns != time.resolution_ns)
        {
            self.spreader = None;
            self.shared
                .sink
                .note("time stamps are not spread: the files have different resolutions");
        }
        self.header.spread = self.spreader.as_ref().map(|_| self.how.spread);
        Ok(())
    }

    /// What is taken from all times, by the first request that goes out.
    fn base(&mut self, first: i64) -> i64 {
        if let Some(base) = self.base {
            return base;
        }
        let epoch = self.merge.feeds()[0].time().epoch_unix_ns;
        let base = if self.how.absolute {
            self.header.epoch_unix_ns = epoch.map(|_| 0);
            -epoch.unwrap_or(0)
        } else {
            self.header.epoch_unix_ns = epoch.and_then(|epoch| epoch.checked_add(first));
            first
        };
        self.base = Some(base);
        base
    }

    /// Limit, relative time, and counts.
    fn finish_batch(&mut self, out: &mut Vec<Record>) {
        if let Some(limit) = self.how.limit {
            let left = limit - self.header.requests;
            out.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            self.header.limited = out.len() as u64 == left;
        }
        self.header.requests += out.len() as u64;
        let Some(first) = out.first() else {
            return;
        };
        let base = self.base(first.ts);
        for record in out.iter_mut() {
            record.ts -= base;
            self.kept.count(record);
            self.note_gap(record.ts);
        }
    }

    /// A request came at this time; a long one without any is told.
    fn note_gap(&mut self, ts: i64) {
        if ts.saturating_sub(self.newest) > GAP_NS {
            let (from, to) = (self.newest as f64 / 1e9, ts as f64 / 1e9);
            let anomalies = &mut self.shared.sink.anomalies;
            anomalies.set_place("");
            anomalies.note(Anomaly::ClockStep, || {
                format!("no request between {from:.3} s and {to:.3} s")
            });
        }
        self.newest = ts;
    }

    /// Brings the header up to date.
    fn tell(&mut self) {
        let sink = &self.shared.sink;
        let header = &mut self.header;
        for name in &sink.devices.all()[header.devices.len()..] {
            header.devices.push(Device {
                name: name.clone(),
                ..Device::default()
            });
        }
        for (dev, device) in header.devices.iter_mut().enumerate() {
            let ((kept, end), (left, left_end)) = (self.kept.of(dev), self.shared.left_out.of(dev));
            device.requests = kept + left;
            device.end_byte = end.max(left_end);
        }
        let new = header.clients.len();
        header.clients.extend_from_slice(&sink.clients.all()[new..]);
        header.understood = self.shared.understood;
        header.stamp_step_ns = self.spreader.as_ref().and_then(Spreader::step_ns);
        header.time_kind = self.merge.feeds()[0].time().kind;
        header.object_ids = sink.object_ids;
        header.version.clone_from(&sink.version);
        header.notes.clone_from(&sink.notes);
        header.anomalies = sink.anomalies.clone();
    }

    /// Why there is not one request.
    fn nothing(&self) -> TraceError {
        let all = self.header.devices.iter();
        let all = all.filter(|device| device.requests > 0);
        let devices: Vec<String> = all
            .map(|device| match device.requests {
                1 => format!("{} (1 request)", device.name),
                requests => format!("{} ({requests} requests)", device.name),
            })
            .collect();
        if let (Some(name), false) = (&self.how.device, devices.is_empty()) {
            let listed = &devices[..devices.len().min(LISTED_MAX)];
            let more = match devices.len() - listed.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let what = format!(
                "has no device `{name}`, as --device asks; it has: {}{more}",
                listed.join(", ")
            );
            return TraceError::unfit(what).in_file(&self.header.files.join(", "));
        }
        let mut what = format!("holds no request that {} can read", self.header.format);
        if let Some((_, example)) = self.header.anomalies.examples().first() {
            what += &format!(" (first oddity: {example})");
        } else if let Some(note) = self.header.notes.first() {
            what += &format!(": {note}");
        }
        TraceError::unfit(what).in_file(&self.header.files.join(", "))
    }
}
