//! How a log region is used: sizes of what is appended, when a piece of a checkpoint is due, and
//! how much room all of it needs at most.
//!
//! The map is cut into M *portions* (four in the paper's figure), a portion into *pieces* small
//! enough for one write. While `interval` blocks of updates are appended, the pieces of one portion
//! go between them, evenly; then the next portion's turn comes. Once M portions are whole in the
//! log, what lies before the oldest of these M is garbage.
//!
//! So what is needed holds at most M whole portions and one that is nearly so, with the updates
//! appended meanwhile:
//!
//! ```text
//! bound = (M + 1) * (largest portion + interval + batch - 1) + (largest record - 1)
//! ```
//!
//! The last term is the end of the region where a record might not fit whole. A region of that size
//! never overflows; the log asserts it at each write. More of it keeps older checkpoints longer,
//! for the day when a younger one is damaged.
//!
//! A long interval appends little, and makes recovery read and replay much. In the default a
//! quarter as many blocks of updates are appended as of checkpoints: 40 KiB of log for the 1.75 MiB
//! of data that fill half of NVRAM, while recovery, for which an update costs more than all its
//! other bytes, has few to replay.
//!
//! Source: FAST 2002, section 5 (partial checkpoints, bounded log). Departure: the paper writes a
//! portion at once; cut into pieces it never holds up an update for long.

use crate::units::{BLOCK_BYTES, Blocks};

use super::Geometry;
use super::format::{ENTRY_BYTES, HEADER_BYTES};
use super::home::Home;

/// Portions are found again by their begins, of which NVRAM keeps two rounds.
pub(super) const PORTIONS_MAX: u8 = 16;
/// What the word that commits an entry to NVRAM can count.
const HALF_MAX: u32 = (1 << 24) - 1;
/// What recovery reads at once: 1 MiB, so that a drive hardly notices where one read ends. In tests
/// so few that records are cut.
const READ: u64 = if cfg!(test) { 5 } else { 2_048 };
/// A control block of a log that is at home on its drive: one lies before the records, one behind
/// them.
pub(super) const CONTROL_BLOCKS: u64 = 8;
/// The same, as a length.
pub const CONTROL_LEN: Blocks = Blocks(CONTROL_BLOCKS);
/// 32 MiB: beyond that a write holds up a drive for long.
const WRITE_MAX_MAX: u64 = 1 << 16;

/// What can be set. Fixed when a log is made; NVRAM remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What keeps the log beside its records.
    pub home: Home,
    /// Entries that NVRAM has room for, in two halves: one fills while the other is appended to the
    /// log. Without NVRAM half of it is the most that one batch has.
    pub nvram_entries: u32,
    /// Portions that the map is checkpointed in (M).
    pub portions: u8,
    /// Blocks of updates appended from the begin of one portion to that of the next.
    pub interval: Blocks,
    /// The largest write.
    pub write_max: Blocks,
    /// The log region, with the control blocks that lie in it.
    pub region: Blocks,
}

/// A setting that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {found}, allowed is {allowed}")]
pub struct Refused {
    /// Which.
    pub what: &'static str,
    /// What was asked for.
    pub found: u64,
    /// What may be asked for.
    pub allowed: String,
}

impl Refused {
    pub(super) fn new(what: &'static str, found: u64, allowed: impl Into<String>) -> Refused {
        let allowed = allowed.into();
        Refused {
            what,
            found,
            allowed,
        }
    }

    fn unless(what: &'static str, found: u64, first: u64, last: u64) -> Result<(), Refused> {
        if (first..=last).contains(&found) {
            return Ok(());
        }
        Err(Refused::new(what, found, format!("{first} to {last}")))
    }
}

impl Settings {
    /// NVRAM, four portions, batches of 4 KiB, writes of 256 KiB at most, a quarter as many blocks
    /// of updates as of checkpoints, and the smallest region that will do.
    ///
    /// # Errors
    /// The geometry cannot be.
    pub fn fitting(geometry: &Geometry) -> Result<Settings, Refused> {
        let of_batch = (4_096 - HEADER_BYTES) / ENTRY_BYTES;
        let mut settings = Settings {
            home: Home::Nvram,
            nvram_entries: 2 * of_batch as u32,
            portions: 4.min(geometry.entries()) as u8,
            interval: Blocks(1),
            write_max: Blocks(512),
            region: Blocks(0),
        };
        let portion = Layout::sized(geometry, &settings)?.portion_blocks;
        settings.interval = Blocks(portion.div_ceil(4));
        settings.region = settings.region_min(geometry)?;
        Ok(settings)
    }

    /// The most that the log ever needs with these settings, which is the smallest region allowed.
    ///
    /// # Errors
    /// The settings or the geometry cannot be, whatever the region.
    pub fn region_min(&self, geometry: &Geometry) -> Result<Blocks, Refused> {
        let layout = Layout::sized(geometry, self)?;
        Ok(Blocks(2 * layout.head + layout.bound))
    }
}

/// The sizes that follow from geometry and settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) geometry: Geometry,
    pub(super) settings: Settings,
    /// Entries of one half of NVRAM, which make one batch.
    pub(super) half: u32,
    /// Blocks of the largest record.
    pub(super) record_max: u64,
    /// Blocks of the region before the records, and as many behind them.
    pub(super) head: u64,
    /// Blocks of the region that records go round in.
    pub(super) lap: u64,
    /// The most of them that are ever needed.
    pub(super) bound: u64,
    piece_entries: u64,
    /// Blocks of the largest portion.
    portion_blocks: u64,
}

impl Layout {
    pub(super) fn new(geometry: &Geometry, settings: &Settings) -> Result<Layout, Refused> {
        let layout = Layout::sized(geometry, settings)?;
        let (found, bound) = (settings.region.0, 2 * layout.head + layout.bound);
        if found < bound {
            let what = "blocks of the log region";
            return Err(Refused::new(what, found, format!("at least {bound}")));
        }
        Ok(layout)
    }

    /// Everything but whether the region is large enough.
    fn sized(geometry: &Geometry, settings: &Settings) -> Result<Layout, Refused> {
        geometry.check()?;
        let Settings {
            home,
            nvram_entries,
            portions,
            interval,
            write_max,
            region,
        } = *settings;
        let largest = u64::from(PORTIONS_MAX).min(geometry.entries());
        Refused::unless("portions", portions.into(), 1, largest)?;
        let what = "blocks of the largest write";
        Refused::unless(what, write_max.0, 1, WRITE_MAX_MAX)?;
        Refused::unless("blocks between checkpoints", interval.0, 1, 1 << 40)?;
        let room = write_max.bytes() as usize - HEADER_BYTES;
        let half_max = u64::from(HALF_MAX).min((room / ENTRY_BYTES) as u64);
        Refused::unless("entries in NVRAM", nvram_entries.into(), 2, 2 * half_max)?;
        let half = nvram_entries / 2;
        let batch_blocks = blocks(half as usize * ENTRY_BYTES);
        let portion = geometry.entries().div_ceil(portions.into());
        let piece_entries = portion.min(room as u64 / 4);
        let piece_blocks = blocks(piece_entries as usize * 4);
        let rest = match portion % piece_entries {
            0 => 0,
            rest => blocks(rest as usize * 4),
        };
        let portion_blocks = portion / piece_entries * piece_blocks + rest;
        let record_max = batch_blocks.max(piece_blocks);
        let round = portion_blocks + interval.0 + batch_blocks - 1;
        let head = match home {
            Home::Nvram => 0,
            Home::Drive => CONTROL_BLOCKS,
        };
        Ok(Layout {
            geometry: *geometry,
            settings: *settings,
            half,
            head,
            lap: region.0.saturating_sub(2 * head),
            record_max,
            bound: (u64::from(portions) + 1) * round + record_max - 1,
            piece_entries,
            portion_blocks,
        })
    }

    /// The entries of a portion, counted copy by copy.
    fn portion(&self, portion: u64) -> std::ops::Range<u64> {
        let (entries, portions) = (self.geometry.entries(), u64::from(self.settings.portions));
        portion * entries / portions..(portion + 1) * entries / portions
    }

    /// Pieces of a portion.
    pub(super) fn pieces(&self, portion: u64) -> u64 {
        let entries = self.portion(portion);
        (entries.end - entries.start).div_ceil(self.piece_entries)
    }

    /// The entries of a piece.
    pub(super) fn piece(&self, portion: u64, piece: u64) -> std::ops::Range<u64> {
        let of_portion = self.portion(portion);
        let first = of_portion.start + piece * self.piece_entries;
        first..of_portion.end.min(first + self.piece_entries)
    }

    /// Blocks of a record with so many entries of the map.
    pub(super) fn piece_blocks(&self, entries: u64) -> u64 {
        blocks(entries as usize * 4)
    }

    /// The number of a portion's first piece, through the map.
    pub(super) fn first_piece(&self, portion: u64) -> u64 {
        (0..portion).map(|before| self.pieces(before)).sum()
    }

    /// Blocks and entries that a batch has which says that it has so many: one that is at home in
    /// NVRAM is always full.
    pub(super) fn batch(&self, count: u32) -> (u64, u64) {
        let count = match self.settings.home {
            Home::Nvram => self.half,
            Home::Drive => count.clamp(1, self.half),
        };
        (blocks(count as usize * ENTRY_BYTES), count.into())
    }

    /// Where a record goes that would begin at this block, counted without end: where the region's
    /// end could cut the largest one, at its begin.
    pub(super) fn place(&self, at: u64) -> u64 {
        match at % self.lap + self.record_max > self.lap {
            true => at.next_multiple_of(self.lap),
            false => at,
        }
    }

    /// The reads that take recovery from one block to another, both counted without end: begin and
    /// end of each. They depend on nothing that lies there; the region's end ends a read.
    pub(super) fn reads(&self, from: u64, until: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let lap = self.lap;
        let read = move |from: u64| {
            let lap_ends = from - from % lap + lap;
            (from, until.min(lap_ends).min(from + READ))
        };
        let first = Some(read(from)).filter(|_| from < until);
        std::iter::successors(first, move |(_, end)| (*end < until).then(|| read(*end)))
    }

    /// Where the control block of this number lies: the two ends of a region fail by themselves,
    /// unlike neighbours.
    pub(super) fn control_at(&self, number: u64) -> Blocks {
        control_places(self.settings.region)[(number % 2) as usize]
    }

    /// The block of the region.
    pub(super) fn offset(&self, at: u64) -> Blocks {
        Blocks(self.head + at % self.lap)
    }
}

/// Where the control blocks of even and of odd numbers lie in a region on a drive.
pub fn control_places(region: Blocks) -> [Blocks; 2] {
    [Blocks(0), Blocks(region.0 - CONTROL_BLOCKS)]
}

/// Blocks of a record with so many bytes of payload.
fn blocks(payload: usize) -> u64 {
    ((HEADER_BYTES + payload) as u64).div_ceil(BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maplog::Spread;

    const GEOMETRY: Geometry = Geometry {
        volume: 1,
        chunks: 10_000,
        copies: 2,
        columns: 3,
        unit: 16,
        spread: Spread::ByCopy,
        slots: 20_000,
    };

    #[test]
    fn pieces_make_up_the_map() {
        let settings = Settings {
            portions: 3,
            write_max: Blocks(8),
            ..Settings::fitting(&GEOMETRY).unwrap()
        };
        let layout = Layout::sized(&GEOMETRY, &settings).unwrap();
        let mut next = 0;
        for portion in 0..3 {
            let mut of_portion = 0;
            for piece in 0..layout.pieces(portion) {
                let entries = layout.piece(portion, piece);
                assert_eq!(entries.start, next);
                assert!(entries.end > entries.start);
                next = entries.end;
                let blocks = layout.piece_blocks(entries.end - entries.start);
                assert!(blocks <= 8, "{blocks}");
                of_portion += blocks;
            }
            assert!(of_portion <= layout.portion_blocks);
        }
        assert_eq!(next, 20_000);
        // 4096 bytes less 64, in entries of four: 6,667 entries make 6 whole pieces of 1,008 and
        // one of 619.
        assert_eq!(layout.portion_blocks, 6 * 8 + 5);
    }

    #[test]
    fn the_bound_is_the_formula() {
        let settings = Settings::fitting(&GEOMETRY).unwrap();
        // 5,000 entries of four bytes and a header; a quarter of it.
        assert_eq!(settings.interval, Blocks(10));
        assert_eq!(settings.nvram_entries, 896);
        assert_eq!(settings.region, Blocks(5 * (40 + 10 + 8 - 1) + 40 - 1));
        assert!(Layout::new(&GEOMETRY, &settings).is_ok());
    }

    #[test]
    fn a_region_too_small_states_the_minimum() {
        let fitting = Settings::fitting(&GEOMETRY).unwrap();
        let settings = Settings {
            region: Blocks(fitting.region.0 - 1),
            ..fitting
        };
        let refused = Layout::new(&GEOMETRY, &settings).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "blocks of the log region is 323, allowed is at least 324"
        );
    }

    #[test]
    fn settings_that_cannot_be_are_refused() {
        let refused = |change: fn(&mut Settings)| {
            let mut settings = Settings::fitting(&GEOMETRY).unwrap();
            change(&mut settings);
            settings.region_min(&GEOMETRY).unwrap_err().to_string()
        };
        assert_eq!(
            refused(|settings| settings.portions = 17),
            "portions is 17, allowed is 1 to 16"
        );
        assert_eq!(
            refused(|settings| settings.nvram_entries = 1),
            "entries in NVRAM is 1, allowed is 2 to 58240"
        );
        assert_eq!(
            refused(|settings| settings.write_max = Blocks(0)),
            "blocks of the largest write is 0, allowed is 1 to 65536"
        );
        assert_eq!(
            refused(|settings| settings.interval = Blocks(0)),
            "blocks between checkpoints is 0, allowed is 1 to 1099511627776"
        );
    }

    #[test]
    fn the_regions_end_ends_a_read() {
        let layout = Layout::new(&GEOMETRY, &Settings::fitting(&GEOMETRY).unwrap()).unwrap();
        let reads = |from, until| layout.reads(from, until).collect::<Vec<_>>();
        let region = layout.settings.region.0;
        assert_eq!(region, 324);
        let round = [(317, 322), (322, 324), (324, 329), (329, 331)];
        assert_eq!(reads(317, 331), round);
        let second = round.map(|(from, until)| (from + region, until + region));
        assert_eq!(reads(region + 317, region + 331), second);
        assert_eq!(reads(0, 5), [(0, 5)]);
        assert_eq!(reads(7, 7), []);
    }

    #[test]
    fn a_record_that_the_end_could_cut_begins_anew() {
        let layout = Layout::new(&GEOMETRY, &Settings::fitting(&GEOMETRY).unwrap()).unwrap();
        let region = layout.settings.region.0;
        assert_eq!(layout.place(region - 40), region - 40);
        assert_eq!(layout.place(region - 39), region);
        assert_eq!(layout.place(region), region);
        assert_eq!(layout.offset(2 * region + 5), Blocks(5));
    }
}
