//! The map log: updates gather in NVRAM, go to the log in batches, and partial checkpoints keep the log short.
//!
//! `record` puts an entry into NVRAM, where it is safe at once. NVRAM has two halves; when one is full it is appended to
//! the log while the other fills, and nothing leaves NVRAM before the append is complete. Between batches go pieces of
//! checkpoints, as [`layout`](super::layout) has it, and when a portion of the map is whole, the oldest portion and the
//! updates after it become garbage.
//!
//! The log does no I/O. Who owns it asks `next_write`, writes the bytes to the region, and says `written`: one write at a
//! time. A piece holds the map as it is when the write is asked for. Entries recorded after that are replayed over it,
//! entries recorded before it may be too: they end in the same map, because all of them are replayed, in order.
//!
//! When both halves are full, `is_full` says so, and the caller waits for `written` before it records more.
//!
//! Source: FAST 2002, section 5. Cost: `record` some ten nanoseconds, `next_write` and `written` O(size of the write);
//! a buffer of one write.

use crate::units::{BLOCK_BYTES, Blocks};

use super::cursor::Cursor;
use super::format::{self, HEADER_BYTES, Header, Kind};
use super::layout::{Layout, Refused, Settings};
use super::nvram::{Half, Nvram};
use super::{Entry, Geometry, MapView, put_entries};

/// A map log at work.
#[derive(Debug)]
pub struct MapLog {
    layout: Layout,
    nvram: Nvram,
    cursor: Cursor,
    /// Number of the last control block.
    control: u64,
    /// The batch that fills.
    filling: u64,
    /// By half: entries, and their checksum.
    counts: [u32; 2],
    sums: [u32; 2],
    /// Portions that have to be complete as soon as nothing else is to do.
    wanted: u64,
    writing: Option<Writing>,
    buffer: Vec<u8>,
}

/// The write under way, whose bytes are in the buffer.
#[derive(Clone, Copy, Debug)]
struct Writing {
    kind: Kind,
    at: u64,
}

/// Bytes for the log region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogWrite<'a> {
    /// Where, from the begin of the region.
    pub offset: Blocks,
    /// What: whole blocks.
    pub bytes: &'a [u8],
}

impl MapLog {
    /// A log for a volume of which nothing is mapped yet.
    ///
    /// # Errors
    /// The geometry or the settings cannot be, or the region is too small.
    pub fn new(geometry: &Geometry, settings: &Settings) -> Result<MapLog, Refused> {
        MapLog::fresh(geometry, settings, true)
    }

    /// A log for a volume that begins with something mapped. It has asked for a round of checkpoints; until that is
    /// complete, recovery finds no map.
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
        let mut nvram = Nvram::blank(&layout);
        let cursor = Cursor::fresh(from_empty);
        let sums = [2, 1].map(|batch| nvram.reset(&layout, batch));
        nvram.set_control(1, &layout, &cursor);
        Ok(MapLog {
            layout,
            nvram,
            cursor,
            control: 1,
            filling: 1,
            counts: [0; 2],
            sums,
            wanted: 0,
            writing: None,
            buffer: Vec::new(),
        })
    }

    /// Goes on where recovery found the log's end; the halves of NVRAM come in order of age.
    pub(super) fn resume(
        layout: Layout,
        nvram: Nvram,
        cursor: Cursor,
        control: u64,
        halves: [Half; 2],
    ) -> MapLog {
        let [old, young] = halves;
        let mut log = MapLog {
            layout,
            nvram,
            cursor,
            control,
            filling: old.batch,
            counts: [0; 2],
            sums: [0; 2],
            wanted: 0,
            writing: None,
            buffer: Vec::new(),
        };
        for half in halves {
            let index = (half.batch % 2) as usize;
            (log.counts[index], log.sums[index]) = (half.count, half.sum);
        }
        log.keep_control();
        if old.batch <= log.cursor.batches {
            // The power went between the control block and this.
            log.reset(old.batch + 2);
            log.filling = young.batch;
        }
        log.fill_the_other();
        log
    }

    /// Puts an entry into NVRAM: from now on no power cut loses it.
    ///
    /// # Panics
    /// NVRAM is full, or the geometry has no such entry.
    #[inline]
    pub fn record(&mut self, entry: Entry) {
        if let Err(fault) = format::check_entry(&self.layout.geometry, &entry) {
            panic!("{fault}");
        }
        assert!(!self.is_full(), "NVRAM is full");
        let (batch, half) = (self.filling, (self.filling % 2) as usize);
        let (count, sum) = (self.counts[half], self.sums[half]);
        self.sums[half] = self.nvram.add(&self.layout, batch, count, sum, &entry);
        self.counts[half] = count + 1;
        if count + 1 == self.layout.half {
            self.fill_the_other();
        }
    }

    /// Whether nothing can be recorded before the next `written`.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.counts[(self.filling % 2) as usize] == self.layout.half
    }

    /// Entries that can be recorded before the next `written`.
    pub fn room(&self) -> u32 {
        let filling = self.layout.half - self.counts[(self.filling % 2) as usize];
        let other = self.filling - 1 <= self.cursor.batches;
        filling + if other { self.layout.half } else { 0 }
    }

    /// Moves on to the other half if this one is full and the other one's batch is in the log.
    fn fill_the_other(&mut self) {
        if self.is_full() && self.filling - 1 <= self.cursor.batches {
            self.filling += 1;
        }
    }

    /// Asks for a whole round of checkpoints as soon as nothing else is to write.
    pub fn checkpoint(&mut self) {
        self.wanted = self.cursor.begun + u64::from(self.layout.settings.portions);
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
        let batch = self.cursor.batches + 1;
        let full = self.counts[(batch % 2) as usize] == self.layout.half;
        let kind = match () {
            () if self.cursor.due(&self.layout) => Kind::Piece,
            () if full => Kind::Batch,
            () if !self.is_checkpointed() => Kind::Piece,
            () => return None,
        };
        match kind {
            Kind::Batch => self.put_batch(batch),
            Kind::Piece => self.put_piece(map),
        }
        let at = self.layout.place(self.cursor.head);
        let end = at + self.buffer.len() as u64 / BLOCK_BYTES;
        let used = end - self.cursor.tail(&self.layout).at;
        assert!(
            used <= self.layout.bound,
            "the log needs {used} blocks, more than {}",
            self.layout.bound
        );
        self.writing = Some(Writing { kind, at });
        self.under_way()
    }

    /// The write under way, for a second attempt if it failed.
    pub fn under_way(&self) -> Option<LogWrite<'_>> {
        let Writing { at, .. } = self.writing?;
        Some(LogWrite {
            offset: self.layout.offset(at),
            bytes: &self.buffer,
        })
    }

    /// The write under way is complete.
    ///
    /// # Panics
    /// None is under way.
    pub fn written(&mut self) {
        let Writing { kind, at } = self.writing.take().expect("a write is under way");
        match kind {
            Kind::Batch => self.cursor.add_batch(&self.layout, at),
            Kind::Piece => {
                let blocks = self.buffer.len() as u64 / BLOCK_BYTES;
                self.cursor.add_piece(&self.layout, at, blocks);
            }
        }
        // The control block first. Else recovery would have to look ahead for a half that is given away, and could.
        self.keep_control();
        if kind == Kind::Batch {
            self.reset(self.cursor.batches + 2);
            self.fill_the_other();
        }
    }

    fn keep_control(&mut self) {
        self.control += 1;
        self.nvram
            .set_control(self.control, &self.layout, &self.cursor);
    }

    fn reset(&mut self, batch: u64) {
        let half = (batch % 2) as usize;
        self.sums[half] = self.nvram.reset(&self.layout, batch);
        self.counts[half] = 0;
    }

    fn put_batch(&mut self, batch: u64) {
        let (layout, count) = (&self.layout, self.layout.half);
        let entries = self.nvram.entries(layout, batch, count);
        self.buffer.clear();
        self.buffer.resize(HEADER_BYTES, 0);
        self.buffer.extend_from_slice(entries);
        let bytes = layout.batch_blocks * BLOCK_BYTES;
        self.buffer.resize(bytes as usize, 0);
        let header = Header {
            kind: Kind::Batch,
            sequence: self.cursor.sequence,
            blocks: layout.batch_blocks as u32,
            number: batch,
            count,
            portion: 0,
            payload_sum: 0,
        };
        header.write(layout.geometry.volume, &mut self.buffer);
    }

    fn put_piece(&mut self, map: &dyn MapView) {
        let layout = &self.layout;
        let (portion, piece) = self.cursor.next_piece(layout);
        let entries = layout.piece(portion, piece);
        let count = entries.end - entries.start;
        let blocks = layout.piece_blocks(count);
        self.buffer.clear();
        self.buffer.resize((blocks * BLOCK_BYTES) as usize, 0);
        let payload = &mut self.buffer[HEADER_BYTES..][..count as usize * 4];
        put_entries(&layout.geometry, map, entries.start, payload);
        let header = Header {
            kind: Kind::Piece,
            sequence: self.cursor.sequence,
            blocks: blocks as u32,
            number: entries.start,
            count: count as u32,
            portion: portion as u32,
            payload_sum: 0,
        };
        header.write(layout.geometry.volume, &mut self.buffer);
    }

    /// What survives a power cut, at this instant.
    pub fn nvram(&self) -> &Nvram {
        &self.nvram
    }

    #[cfg(test)]
    pub(super) fn nvram_mut(&mut self) -> &mut Nvram {
        &mut self.nvram
    }

    /// What recovery would read of the region if the power went now, in order: from where, and how much. Nothing while the map
    /// is not in the log as a whole.
    pub fn recovery_reads(&self) -> impl Iterator<Item = (Blocks, Blocks)> {
        let (layout, cursor) = (&self.layout, &self.cursor);
        let (from, reach) = (cursor.tail(layout), cursor.reach(layout));
        let whole = cursor.complete(layout) >= layout.settings.portions.into();
        let until = match whole || cursor.begins_empty(from) {
            true => reach,
            false => from.at,
        };
        let reads = layout.reads(from.at, until);
        reads.map(|(at, end)| (layout.offset(at), Blocks(end - at)))
    }

    /// Blocks of the region that recovery needs, with the ends of the region that stay empty.
    pub fn used(&self) -> Blocks {
        Blocks(self.cursor.head - self.cursor.tail(&self.layout).at)
    }

    /// The most that `used` ever is.
    pub fn bound(&self) -> Blocks {
        Blocks(self.layout.bound)
    }

    /// The settings that the log was made with.
    pub fn settings(&self) -> &Settings {
        &self.layout.settings
    }

    /// Reads NVRAM again and panics where it is not what is remembered.
    pub fn audit(&self) {
        let batches = self.cursor.batches;
        let halves = Half::read_both(&self.nvram, &self.layout, batches);
        let halves = halves.unwrap_or_else(|damage| panic!("{damage}"));
        for half in halves {
            let index = (half.batch % 2) as usize;
            assert_eq!(half.count, self.counts[index], "entries of a half");
            assert_eq!(half.sum, self.sums[index], "checksum of a half");
        }
        assert!(self.filling > batches, "a batch in the log fills");
        assert!(self.filling <= batches + 2, "a batch was left out");
        assert!(self.used() <= self.bound(), "the log is too long");
    }
}

#[cfg(test)]
mod tests {
    use super::super::Map;
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
