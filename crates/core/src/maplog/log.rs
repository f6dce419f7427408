//! The map log: updates gather in NVRAM, go to the log in batches, and partial checkpoints keep the
//! log short.
//!
//! With NVRAM, `record` puts an entry there, where it is safe at once. NVRAM has two halves; when
//! one is full it is appended to the log while the other fills, and nothing leaves NVRAM before the
//! append is complete. Without, an entry is `at_risk` until the batch that has it is written
//! (`keeper` has both ways). Between batches go pieces of checkpoints, as [`layout`](super::layout)
//! has it, and when a portion of the map is whole, the oldest portion and the updates after it
//! become garbage.
//!
//! The log does no I/O. Who owns it asks `next_write`, writes the bytes to the region, and says
//! `written`: one write at a time. A piece holds the map as it is when the write is asked for.
//! Entries recorded after that are replayed over it, entries recorded before it may be too: they
//! end in the same map, because all of them are replayed, in order.
//!
//! When both halves are full, `is_full` says so, and the caller waits for `written` before it
//! records more.
//!
//! Source: FAST 2002, section 5. Cost: `record` some ten nanoseconds, `next_write` and `written`
//! O(size of the write); a buffer of one write.

use crate::units::{BLOCK_BYTES, Blocks};

use super::control::{Lacking, write_mark};
use super::cursor::{LogCursor, Start};
use super::format::{self, ENTRY_BYTES, HEADER_BYTES, Header, Kind};
use super::home::Home;
use super::in_nvram::InNvram;
use super::keeper::Keeper;
use super::layout::{CONTROL_LEN, Layout, Refused, Settings, control_places};
use super::nvram::Nvram;
use super::on_drive::OnDrive;
use super::{Entry, Geometry, MapView, put_entries};

/// A map log at work.
#[derive(Debug)]
pub struct MapLog {
    layout: Layout,
    keeper: Box<dyn Keeper>,
    cursor: LogCursor,
    /// Portions that have to be complete as soon as nothing else is to do.
    wanted: u64,
    writing: Option<Writing>,
    buffer: Vec<u8>,
}

/// The write under way, whose bytes are in the buffer.
#[derive(Clone, Copy, Debug)]
enum Writing {
    /// A record, at this block of all laps.
    Record { kind: Kind, at: u64 },
    /// A control block, at this block of the region.
    Control(Blocks),
}

/// Bytes for the log region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogWrite<'a> {
    /// Where, from the begin of the region.
    pub offset: Blocks,
    /// What: whole blocks.
    pub bytes: &'a [u8],
    /// Whether it is a control block, without which nothing else in the region counts.
    pub is_control: bool,
}

/// The youngest record that recovery found, to be written again: where, and its bytes.
#[derive(Clone, Debug)]
pub(super) struct Youngest {
    pub(super) kind: Kind,
    pub(super) at: u64,
    pub(super) bytes: Vec<u8>,
}

impl Youngest {
    /// Its updates.
    pub(super) fn entries(&self, volume: u64) -> &[u8] {
        let header = Header::read(&self.bytes, volume).expect("it was read before");
        match self.kind {
            Kind::Batch => &self.bytes[HEADER_BYTES..][..header.count as usize * ENTRY_BYTES],
            Kind::Piece => &[],
        }
    }
}

impl MapLog {
    /// A log for a volume of which nothing is mapped yet.
    ///
    /// # Errors
    /// The geometry or the settings cannot be, or the region is too small.
    pub fn new(geometry: &Geometry, settings: &Settings) -> Result<MapLog, Refused> {
        MapLog::fresh(geometry, settings, true)
    }

    /// A log for a volume that begins with something mapped. It has asked for a round of
    /// checkpoints; until that is complete, recovery finds no map.
    ///
    /// # Errors
    /// The geometry or the settings cannot be, or the region is too small.
    pub fn of_filled(geometry: &Geometry, settings: &Settings) -> Result<MapLog, Refused> {
        let mut log = MapLog::fresh(geometry, settings, false)?;
        log.checkpoint();
        Ok(log)
    }

    fn fresh(
        geometry: &Geometry,
        settings: &Settings,
        from_empty: bool,
    ) -> Result<MapLog, Refused> {
        let layout = Layout::new(geometry, settings)?;
        let cursor = LogCursor::fresh(from_empty);
        let keeper: Box<dyn Keeper> = match settings.home {
            Home::Nvram => Box::new(InNvram::blank(&layout, &cursor)),
            Home::Drive => Box::new(OnDrive::resume(0, cursor.tail(&layout), &[])),
        };
        Ok(MapLog::resume(layout, keeper, cursor))
    }

    /// Goes on where recovery found the log's end.
    pub(super) fn resume(layout: Layout, keeper: Box<dyn Keeper>, cursor: LogCursor) -> MapLog {
        MapLog {
            layout,
            keeper,
            cursor,
            wanted: 0,
            writing: None,
            buffer: Vec::new(),
        }
    }

    /// The same, before a record whose write is under way still.
    pub(super) fn resume_writing(self, youngest: Youngest) -> MapLog {
        let Youngest { kind, at, bytes } = youngest;
        MapLog {
            writing: Some(Writing::Record { kind, at }),
            buffer: bytes,
            ..self
        }
    }

    /// Takes an entry. With NVRAM no power cut loses it from now on; else it is at risk until the
    /// batch that has it is written.
    ///
    /// # Panics
    /// NVRAM is full, or the geometry has no such entry.
    #[inline]
    pub fn record(&mut self, entry: Entry) {
        if let Err(fault) = format::check_entry(&self.layout.geometry, &entry) {
            panic!("{fault}");
        }
        assert!(!self.is_full(), "NVRAM is full");
        self.keeper.record(&self.layout, &self.cursor, &entry);
    }

    /// Whether nothing can be recorded before the next `written`.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.keeper.is_full(&self.layout)
    }

    /// Entries that can be recorded before the next `written`.
    pub fn room(&self) -> u32 {
        self.keeper.room(&self.layout, &self.cursor)
    }

    /// Entries that were recorded and that a power cut would lose: the youngest ones.
    pub fn at_risk(&self) -> usize {
        self.keeper.at_risk()
    }

    /// Forgets the entries that are at risk: they are recorded again later. Recovery has to pass
    /// over those that are in a batch under way.
    pub fn take_back(&mut self) {
        self.keeper.take_back();
    }

    /// From now on these drives do not have all of the log. If that leaves one alone, and the log is
    /// at home on its drive, what was written since is not safe before a control block says so.
    pub fn tell_lacking(&mut self, lacking: Lacking) {
        self.keeper
            .tell_lacking(&self.layout, &self.cursor, lacking);
    }

    /// One control block more has to say it: in the place of the other one lies a mark.
    pub fn tell_again(&mut self) {
        self.keeper.tell_again();
    }

    /// Whether a control block says it, if one drive alone has the log.
    pub fn has_told(&self) -> bool {
        self.keeper.has_told()
    }

    /// A mark for a drive that is set aside, so that no control block counts which it has, and
    /// where it goes.
    pub fn mark(&self) -> (Blocks, Vec<u8>) {
        let writes_control = matches!(self.writing, Some(Writing::Control(_)));
        let number = self.keeper.control() + u64::from(writes_control);
        let at = self.layout.control_at(number);
        (at, write_mark(&self.layout, number))
    }

    /// Asks for a whole round of checkpoints as soon as nothing else is to write: of portions that
    /// begin behind the record under way.
    pub fn checkpoint(&mut self) {
        let (_, piece) = self.cursor.next_piece(&self.layout);
        let begins = |kind| kind == Kind::Piece && piece == 0;
        let begins = matches!(self.writing, Some(Writing::Record { kind, .. }) if begins(kind));
        let begun = self.cursor.begun + u64::from(begins);
        self.wanted = begun + u64::from(self.layout.settings.portions);
    }

    /// Whether no round of checkpoints that was asked for is still to come.
    pub fn is_checkpointed(&self) -> bool {
        self.cursor.complete(&self.layout) >= self.wanted
    }

    /// What to write to the region now; nothing while a write is under way or when none is needed.
    pub fn next_write(&mut self, map: &dyn MapView) -> Option<LogWrite<'_>> {
        if self.writing.is_some() {
            return None;
        }
        let round = !self.is_checkpointed();
        let (layout, cursor, buffer) = (&self.layout, &self.cursor, &mut self.buffer);
        if let Some(offset) = self.keeper.due(layout, cursor, buffer) {
            self.writing = Some(Writing::Control(offset));
            return self.under_way();
        }
        let due = cursor.due(layout);
        let control = self.keeper.control() as u32;
        let entries = match due {
            true => None,
            false => self.keeper.batch(layout, cursor.batches + 1, round),
        };
        let record = Record {
            layout,
            cursor,
            control,
        };
        let kind = match entries {
            Some(entries) => record.batch(entries, buffer),
            None if due || round => record.piece(map, buffer),
            None => return None,
        };
        let at = layout.place(cursor.head);
        let used = at + buffer.len() as u64 / BLOCK_BYTES - cursor.tail(layout).at;
        let bound = layout.bound;
        assert!(
            used <= bound,
            "the log needs {used} blocks, more than {bound}"
        );
        self.writing = Some(Writing::Record { kind, at });
        self.under_way()
    }

    /// The write under way, for a second attempt if it failed.
    pub fn under_way(&self) -> Option<LogWrite<'_>> {
        let (offset, is_control) = match self.writing? {
            Writing::Record { at, .. } => (self.layout.offset(at), false),
            Writing::Control(offset) => (offset, true),
        };
        Some(LogWrite {
            offset,
            bytes: &self.buffer,
            is_control,
        })
    }

    /// The write under way is complete.
    ///
    /// # Panics
    /// None is under way.
    pub fn written(&mut self) {
        let layout = &self.layout;
        match self.writing.take().expect("a write is under way") {
            Writing::Record { kind, at } => {
                let blocks = self.buffer.len() as u64 / BLOCK_BYTES;
                self.cursor.add(layout, kind, at, blocks);
                self.keeper.advanced(layout, &self.cursor, kind);
            }
            Writing::Control(_) => self.keeper.kept(layout, &self.cursor),
        }
    }

    /// What survives a power cut beside the drives, at this instant.
    pub fn nvram(&self) -> &Nvram {
        self.keeper.nvram()
    }

    #[cfg(test)]
    pub(super) fn nvram_mut(&mut self) -> &mut Nvram {
        self.keeper.nvram_mut()
    }

    /// Number of the next record.
    pub fn next_number(&self) -> u64 {
        self.cursor.sequence
    }

    /// Number of the oldest record that the log still needs.
    pub fn oldest_number(&self) -> u64 {
        self.cursor.tail(&self.layout).sequence
    }

    /// What recovery would read of the region if the power went now and took the write under way,
    /// in order: from where, and how much. Nothing while the map is not in the log as a whole.
    pub fn recovery_reads(&self) -> impl Iterator<Item = (Blocks, Blocks)> {
        self.reads_from(self.keeper.tail(&self.layout, &self.cursor))
    }

    /// The same where the control block under way has been written.
    pub fn recovery_reads_behind(&self) -> impl Iterator<Item = (Blocks, Blocks)> {
        self.reads_from(self.cursor.tail(&self.layout))
    }

    fn reads_from(&self, from: Start) -> impl Iterator<Item = (Blocks, Blocks)> + use<> {
        let (layout, cursor) = (self.layout, &self.cursor);
        let whole = cursor.complete(&layout) >= layout.settings.portions.into();
        let found = whole || cursor.begins_empty(from);
        let until = match found {
            true => cursor.looks(&layout, from),
            false => from.at,
        };
        let controls = match layout.settings.home {
            Home::Drive if found => control_places(layout.settings.region).to_vec(),
            _ => Vec::new(),
        };
        let controls = controls.into_iter().map(|at| (at, CONTROL_LEN));
        let reads = layout.reads(from.at, until);
        let reads = reads.map(move |(at, end)| (layout.offset(at), Blocks(end - at)));
        controls.chain(reads)
    }

    /// Blocks of the region that recovery needs, with the ends of the region that stay empty.
    pub fn used(&self) -> Blocks {
        let Start { at, .. } = self.cursor.tail(&self.layout);
        Blocks(self.cursor.head - at)
    }

    /// The most that `used` ever is.
    pub fn bound(&self) -> Blocks {
        Blocks(self.layout.bound)
    }

    /// The settings that the log was made with.
    pub fn settings(&self) -> &Settings {
        &self.layout.settings
    }

    /// Panics where something is not what is remembered, reading NVRAM again.
    pub fn audit(&self) {
        self.keeper.audit(&self.layout, &self.cursor);
        assert!(self.used() <= self.bound(), "the log is too long");
    }
}

/// A record that is put together.
struct Record<'a> {
    layout: &'a Layout,
    cursor: &'a LogCursor,
    control: u32,
}

impl Record<'_> {
    fn batch(&self, entries: &[u8], buffer: &mut Vec<u8>) -> Kind {
        let count = (entries.len() / ENTRY_BYTES) as u32;
        let (blocks, _) = self.layout.batch(count);
        buffer.clear();
        buffer.resize(HEADER_BYTES, 0);
        buffer.extend_from_slice(entries);
        buffer.resize((blocks * BLOCK_BYTES) as usize, 0);
        self.seal(Kind::Batch, self.cursor.batches + 1, count, 0, buffer)
    }

    fn piece(&self, map: &dyn MapView, buffer: &mut Vec<u8>) -> Kind {
        let layout = self.layout;
        let (portion, piece) = self.cursor.next_piece(layout);
        let entries = layout.piece(portion, piece);
        let count = entries.end - entries.start;
        let blocks = layout.piece_blocks(count);
        buffer.clear();
        buffer.resize((blocks * BLOCK_BYTES) as usize, 0);
        let payload = &mut buffer[HEADER_BYTES..][..count as usize * 4];
        put_entries(&layout.geometry, map, entries.start, payload);
        self.seal(
            Kind::Piece,
            entries.start,
            count as u32,
            portion as u32,
            buffer,
        )
    }

    fn seal(&self, kind: Kind, number: u64, count: u32, portion: u32, buffer: &mut [u8]) -> Kind {
        let header = Header {
            kind,
            sequence: self.cursor.sequence,
            blocks: (buffer.len() as u64 / BLOCK_BYTES) as u32,
            number,
            count,
            portion,
            payload_sum: 0,
            control: self.control,
        };
        header.write(self.layout.geometry.volume, buffer);
        kind
    }
}

#[cfg(test)]
mod tests {
    use super::super::Map;
    use super::super::world::of_pieces;
    use super::*;
    use crate::maplog::Spread;

    const GEOMETRY: Geometry = Geometry {
        volume: 1,
        chunks: 100,
        copies: 1,
        columns: 1,
        unit: 100,
        spread: Spread::ByCopy,
        slots: 200,
    };

    fn log() -> MapLog {
        let mut settings = Settings {
            home: Home::Nvram,
            nvram_entries: 6,
            portions: 2,
            interval: Blocks(2),
            write_max: Blocks(1),
            region: Blocks(0),
        };
        settings.region = settings.region_min(&GEOMETRY).unwrap();
        MapLog::new(&GEOMETRY, &settings).unwrap()
    }

    fn entry(chunk: u32) -> Entry {
        Entry {
            copy: 0,
            chunk,
            slot: chunk,
            alone: false,
        }
    }

    #[test]
    fn one_half_fills_while_the_other_is_written() {
        let (mut log, map) = (log(), Map::empty(&GEOMETRY));
        assert_eq!(log.next_write(&map), None);
        for chunk in 0..3 {
            log.record(entry(chunk));
        }
        assert!(!log.is_full());
        let write = log.next_write(&map).unwrap();
        assert_eq!((write.offset, write.bytes.len()), (Blocks(0), 512));
        assert_eq!(log.room(), 3);
        for chunk in 3..6 {
            log.record(entry(chunk));
            log.audit();
        }
        assert!(log.is_full());
        assert_eq!(log.next_write(&map), None, "one at a time");
        log.written();
        log.audit();
        assert_eq!(log.room(), 3);
        assert_eq!(log.next_write(&map).unwrap().offset, Blocks(1));
    }

    #[test]
    #[should_panic(expected = "NVRAM is full")]
    fn nothing_is_recorded_over_what_is_not_in_the_log() {
        let mut log = log();
        (0..7).for_each(|chunk| log.record(entry(chunk)));
    }

    #[test]
    fn checkpoints_come_between_batches_and_make_room() {
        let (mut log, map) = (log(), Map::empty(&GEOMETRY));
        let mut kinds = String::new();
        for chunk in 0..36 {
            log.record(entry(chunk));
            while let Some(write) = log.next_write(&map) {
                kinds.push(match Header::read(write.bytes, 1).unwrap().kind {
                    Kind::Batch => 'b',
                    Kind::Piece => 'p',
                });
                log.written();
            }
        }
        // Two blocks of updates to each portion, which is one piece.
        assert_eq!(kinds, "bbpbbpbbpbbpbbpbbp");
        // The second youngest portion, two batches, the youngest.
        assert_eq!(log.used(), Blocks(4));
    }

    /// Whatever is under way, what begins behind it is all that the log needs when the round is
    /// complete.
    #[test]
    fn a_round_of_checkpoints_begins_behind_the_record_under_way() {
        let (geometry, settings) = of_pieces();
        let home = Home::Drive;
        let mut settings = Settings { home, ..settings };
        settings.region = settings.region_min(&geometry).unwrap();
        let map = Map::empty(&geometry);
        for writes in 0..60 {
            let mut log = MapLog::new(&geometry, &settings).unwrap();
            for chunk in 0..writes {
                log.record(entry(chunk));
                log.next_write(&map).expect("there is an entry");
                log.written();
            }
            log.record(entry(writes));
            let write = log.next_write(&map).expect("there is an entry");
            let is_record = !write.is_control;
            let behind = log.next_number() + u64::from(is_record);
            log.checkpoint();
            log.written();
            while log.next_write(&map).is_some() {
                log.written();
            }
            let oldest = log.oldest_number();
            assert!(oldest >= behind, "{writes} writes: {oldest} is needed");
        }
    }

    #[test]
    fn a_filled_map_begins_with_a_round_of_checkpoints() {
        let (log, map) = (log(), Map::empty(&GEOMETRY));
        let mut log = MapLog::of_filled(&GEOMETRY, log.settings()).unwrap();
        for _ in 0..2 {
            assert!(!log.is_checkpointed());
            assert!(log.next_write(&map).is_some());
            log.written();
        }
        assert!(log.is_checkpointed());
        assert_eq!(log.next_write(&map), None);
    }
}
