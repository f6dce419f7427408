//! The parameters of a disk drive, as its file holds them, and what must be true of them.
//!
//! A drive is data. The words are ours; the scheme numbers in the comments are those of DiskSim 4.0
//! and of the reference tables. All mistakes are found here: what passes can be built and run.

use serde::{Deserialize, Serialize};

use super::firmware::{BufferParameters, BusParameters, Firmware, OverheadParameters};
use crate::drive::queued::{DEPTH_KNOB, DEPTH_MAX};
use crate::drive::{CAPACITY_MAX, file};
use crate::registry::ConfigError;

/// A disk drive with its layout and mechanics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Always `hdd`.
    pub kind: String,
    /// What it is, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The year in which it was first sold. The model does not read it: it tells which disks of the
    /// catalog are of today. One of the catalog without it is taken only where it is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year: Option<u32>,
    /// Revolutions per minute.
    pub rpm: f64,
    /// Recording surfaces.
    pub heads: u32,
    /// Cylinders that the arm reaches, used or not.
    pub cylinders: u32,
    /// Least time of a move that changes the head, in milliseconds.
    pub head_switch_ms: f64,
    /// Added to every move before a write, in milliseconds; negative in drives that write earlier
    /// than they read.
    pub write_settle_ms: f64,
    /// Commands that the drive holds and sorts by itself unless its knob says otherwise; 1, which
    /// is no queue, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
    /// How heads follow each other in successive cylinders.
    #[serde(default)]
    pub head_order: HeadOrder,
    /// Where spare sectors are.
    #[serde(default)]
    pub sparing: Sparing,
    /// Where the arm is at time 0.
    #[serde(default)]
    pub start_cylinder: u32,
    /// The active head at time 0.
    #[serde(default)]
    pub start_head: u32,
    /// The angle under the heads at time 0, in turns.
    #[serde(default)]
    pub start_angle_turns: f64,
    /// Seek time in milliseconds by distance in cylinders, up to the last cylinder; straight lines
    /// in between.
    pub seek_ms: Vec<(u32, f64)>,
    /// The seek times were measured, so one may lie below that of a shorter distance.
    #[serde(default)]
    pub seek_measured: bool,
    /// The on-board buffer; without it only arm and platters are modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<BufferParameters>,
    /// The bus; only with a buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus: Option<BusParameters>,
    /// What the electronics spend; only with a buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overheads: Option<OverheadParameters>,
    /// Zones, outermost first.
    pub zones: Vec<Zone>,
    /// Where the numbers come from and how sure they are: for people, and printed by `show`. The
    /// model does not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<toml::Table>,
}

/// Cylinders with the same number of sectors per track.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// First and last cylinder.
    pub cylinders: (u32, u32),
    /// Sectors of 512 bytes on a track, spare ones included.
    pub sectors_per_track: u32,
    /// How far the first sector is behind that of the track before, in the same cylinder.
    #[serde(default)]
    pub track_skew_sectors: i64,
    /// The same from the last track of a cylinder to the first of the next.
    #[serde(default)]
    pub cylinder_skew_sectors: i64,
    /// Angle at which the zone's first sector starts, in sectors.
    #[serde(default)]
    pub first_block_offset_sectors: i64,
    /// Sectors before the zone's first block.
    #[serde(default)]
    pub reserved_sectors_at_front: u64,
    /// Spare sectors, or tracks, of the zone or of each range, as `sparing` says.
    #[serde(default)]
    pub spares: u64,
    /// Blocks of the zone; what its geometry and spares leave if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u64>,
    /// Defective positions that are skipped: sectors of the zone, or tracks if whole tracks are
    /// spare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slips: Vec<u64>,
    /// Defective positions, as above, and the spare ones that hold their blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remaps: Vec<(u64, u64)>,
}

/// How heads follow each other in successive cylinders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadOrder {
    /// ArmPosition 0 first in every cylinder (mapping scheme 0).
    #[default]
    Ascending,
    /// Descending in every second cylinder of a zone (mapping scheme 1).
    AlternatingInZone,
    /// Descending in every cylinder of odd number (mapping scheme 2).
    Alternating,
}

/// Where spare sectors are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "at", deny_unknown_fields)]
pub enum Sparing {
    /// There are none.
    #[default]
    None,
    /// Sectors at the end of a zone (sparing scheme 9).
    ZoneEnd,
    /// Tracks at the end of a zone (sparing scheme 1).
    ZoneEndTracks,
    /// Sectors at the end of every track (sparing scheme 3).
    TrackEnd,
    /// None are kept: a zone is shorter by its slips (sparing scheme 7).
    Slips,
    /// Sectors at the end of every range of this many cylinders (sparing scheme 8).
    CylinderRanges {
        /// Cylinders in a range.
        cylinders: u32,
    },
}

/// The keys of `sparing` with their types, whichever of them go together.
#[derive(Deserialize)]
struct SparingAlone {
    #[serde(rename = "sparing")]
    _sparing: SparingKeys,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SparingKeys {
    #[serde(rename = "at")]
    _at: SparingWord,
    #[serde(rename = "cylinders")]
    _cylinders: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SparingWord {
    None,
    ZoneEnd,
    ZoneEndTracks,
    CylinderRanges,
}

impl Parameters {
    /// Reads and checks a drive's file.
    ///
    /// # Errors
    /// The first thing wrong: the key, the value, what is allowed.
    pub fn read(table: &toml::Table) -> Result<Parameters, ConfigError> {
        // A choice that is a table loses the keys of its values on its way: they are looked at
        // first.
        if let Some(sparing @ toml::Value::Table(_)) = table.get("sparing") {
            let alone = toml::Table::from_iter([("sparing".to_owned(), sparing.clone())]);
            file::read::<SparingAlone>(&alone)?;
        }
        file::read_checked(table, Parameters::check)
    }

    /// The drive's electronics, if they are described.
    ///
    /// # Errors
    /// The first thing wrong: the key, the value, what is allowed.
    pub fn firmware(&self) -> Result<Option<Firmware>, ConfigError> {
        let bus = self.bus.clone().unwrap_or_default();
        let overheads = self.overheads.clone().unwrap_or_default();
        match &self.buffer {
            Some(buffer) => Firmware::new(buffer, &bus, &overheads).map(Some),
            None if self.bus.is_some() || self.overheads.is_some() => {
                let allowed = "a [buffer] beside [bus] and [overheads]";
                Err(ConfigError::value("buffer", "missing", allowed))
            }
            None => Ok(None),
        }
    }

    /// The same drive without spare sectors and defects.
    pub fn ideal(&self) -> Parameters {
        let mut ideal = self.clone();
        ideal.sparing = Sparing::None;
        for zone in &mut ideal.zones {
            zone.spares = 0;
            zone.blocks = None;
            zone.slips.clear();
            zone.remaps.clear();
        }
        ideal
    }

    /// Checks what holds between parameters.
    ///
    /// # Errors
    /// The first thing wrong: the key, the value, what is allowed.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Some(year) = self.year {
            in_range("year", year, 1956, 2100)?;
        }
        in_range("rpm", self.rpm, 100.0, 1e5)?;
        in_range("heads", self.heads, 1, 4_096)?;
        in_range("cylinders", self.cylinders, 1, CYLINDERS_MAX)?;
        in_range("head_switch_ms", self.head_switch_ms, 0.0, 1e3)?;
        in_range("write_settle_ms", self.write_settle_ms, -1e3, 1e3)?;
        let depth = self.queue_depth.unwrap_or(1);
        in_range(DEPTH_KNOB, depth.into(), 1, DEPTH_MAX)?;
        in_range("start_cylinder", self.start_cylinder, 0, self.cylinders - 1)?;
        in_range("start_head", self.start_head, 0, self.heads - 1)?;
        in_range(
            "start_angle_turns",
            self.start_angle_turns,
            0.0,
            1.0 - 1e-10,
        )?;
        if let Sparing::CylinderRanges { cylinders } = self.sparing {
            in_range("sparing.cylinders", cylinders, 1, self.cylinders)?;
        }
        self.firmware()?;
        self.check_seek()?;
        self.check_order()?;
        for (index, zone) in self.zones.iter().enumerate() {
            let named = |mut error: ConfigError| {
                error.key = format!("zones[{index}].{}", error.key);
                error
            };
            zone.check(self.heads, self.sparing).map_err(named)?;
        }
        let sectors = self.zones.iter().map(|zone| zone.sectors(self.heads));
        in_range("sectors of all zones", sectors.sum(), 1, CAPACITY_MAX)
    }

    fn check_seek(&self) -> Result<(), ConfigError> {
        let farthest = self.cylinders - 1;
        let least = farthest.min(2) as usize;
        if self.seek_ms.len() < least {
            let text = format!("{} points", self.seek_ms.len());
            let allowed = format!("at least {least}");
            return Err(ConfigError::value("seek_ms", &text, &allowed));
        }
        let mut before = (0, 0.0);
        for (index, &(distance, ms)) in self.seek_ms.iter().enumerate() {
            if distance <= before.0 {
                let allowed = format!("distances that rise, so above {} here", before.0);
                let key = format!("seek_ms[{index}] distance");
                return Err(ConfigError::value(&key, &distance.to_string(), &allowed));
            }
            let key = format!("seek_ms[{index}] time");
            in_range(&key, ms, 0.0, 4e3)?;
            if ms < before.1 && !self.seek_measured {
                let allowed = format!(
                    "times that do not fall, so {} or more here; with seek_measured = true they may",
                    before.1
                );
                return Err(ConfigError::value(&key, &ms.to_string(), &allowed));
            }
            before = (distance, ms);
        }
        if before.0 < farthest {
            let allowed = format!(
                "a last distance of {farthest} or more, from the first of {} cylinders to the last",
                self.cylinders
            );
            return Err(ConfigError::value(
                "seek_ms, its last distance",
                &before.0.to_string(),
                &allowed,
            ));
        }
        Ok(())
    }

    fn check_order(&self) -> Result<(), ConfigError> {
        if self.zones.is_empty() {
            return Err(ConfigError::value("zones", "none", "at least one zone"));
        }
        let mut next = 0;
        for (index, zone) in self.zones.iter().enumerate() {
            let (first, last) = zone.cylinders;
            let error = |allowed: String| {
                let text = format!("[{first}, {last}]");
                Err(ConfigError::value(
                    &format!("zones[{index}].cylinders"),
                    &text,
                    &allowed,
                ))
            };
            if first > last {
                return error("first not above last".to_owned());
            }
            if first < next {
                return error(format!(
                    "zones outermost first that do not overlap; the one before ends at {}",
                    next - 1
                ));
            }
            if last >= self.cylinders {
                return error(format!("below cylinders = {}", self.cylinders));
            }
            next = last + 1;
        }
        self.check_ends()
    }

    /// Zones may leave cylinders between them out. Those in front of the first and behind the last
    /// would only make seeks of a drive that has other cylinders.
    fn check_ends(&self) -> Result<(), ConfigError> {
        let (front, back) = (&self.zones[0], &self.zones[self.zones.len() - 1]);
        let error = |index: usize, (first, last): (u32, u32), allowed: String| {
            let (key, text) = (
                format!("zones[{index}].cylinders"),
                format!("[{first}, {last}]"),
            );
            Err(ConfigError::value(&key, &text, &allowed))
        };
        let cylinders = self.cylinders;
        if front.cylinders.0 > 0 {
            let allowed =
                format!("a first zone that begins with 0, the first of cylinders = {cylinders}");
            return error(0, front.cylinders, allowed);
        }
        if back.cylinders.1 < cylinders - 1 {
            let allowed = format!(
                "a last zone that ends with {}, the last of cylinders = {cylinders}; or cylinders = {}",
                cylinders - 1,
                back.cylinders.1 + 1
            );
            return error(self.zones.len() - 1, back.cylinders, allowed);
        }
        Ok(())
    }
}

impl Zone {
    /// Cylinders of the zone.
    pub fn cylinder_count(&self) -> u64 {
        u64::from(self.cylinders.1 - self.cylinders.0) + 1
    }

    /// Tracks of the zone.
    pub fn tracks(&self, heads: u32) -> u64 {
        self.cylinder_count() * u64::from(heads)
    }

    /// Sectors of the zone, used or not.
    pub fn sectors(&self, heads: u32) -> u64 {
        self.tracks(heads) * u64::from(self.sectors_per_track)
    }

    /// Blocks that the zone holds: as given, or what geometry and spares leave; `None` if nothing
    /// is left.
    pub fn blocks(&self, heads: u32, sparing: Sparing) -> Option<u64> {
        if self.blocks.is_some() {
            return self.blocks;
        }
        let spare_sectors = match sparing {
            Sparing::None => Some(0),
            Sparing::ZoneEnd => Some(self.spares),
            Sparing::ZoneEndTracks => self.spares.checked_mul(self.sectors_per_track.into()),
            Sparing::TrackEnd => self.spares.checked_mul(self.tracks(heads)),
            Sparing::Slips => Some(self.slips.len() as u64),
            Sparing::CylinderRanges { cylinders } => self
                .spares
                .checked_mul(self.cylinder_count() / u64::from(cylinders)),
        };
        let used = spare_sectors?.checked_add(self.reserved_sectors_at_front)?;
        self.sectors(heads).checked_sub(used)
    }

    fn check(&self, heads: u32, sparing: Sparing) -> Result<(), ConfigError> {
        let sectors = u64::from(self.sectors_per_track);
        in_range("sectors_per_track", sectors, 1, 65_535)?;
        // A skew is a part of a turn.
        let most = i64::from(self.sectors_per_track) - 1;
        in_range("track_skew_sectors", self.track_skew_sectors, -most, most)?;
        in_range(
            "cylinder_skew_sectors",
            self.cylinder_skew_sectors,
            -most,
            most,
        )?;
        let (offset, most) = (self.first_block_offset_sectors, 1 << 40);
        in_range("first_block_offset_sectors", offset, -most, most)?;
        self.check_spares(heads, sparing)?;
        let last = match sparing {
            Sparing::ZoneEndTracks => self.sectors(heads) / sectors - 1,
            _ => self.sectors(heads) - 1,
        };
        for (index, slip) in self.slips.iter().enumerate() {
            in_range(&format!("slips[{index}]"), *slip, 0, last)?;
        }
        for (index, (defect, replacement)) in self.remaps.iter().enumerate() {
            in_range(&format!("remaps[{index}] defect"), *defect, 0, last)?;
            in_range(
                &format!("remaps[{index}] replacement"),
                *replacement,
                0,
                last,
            )?;
        }
        Ok(())
    }

    fn check_spares(&self, heads: u32, sparing: Sparing) -> Result<(), ConfigError> {
        let defects = self.slips.len() + self.remaps.len();
        if sparing == Sparing::None && (defects > 0 || self.spares > 0) {
            let text = format!("{} with {defects} defects", self.spares);
            return Err(ConfigError::value(
                "spares",
                &text,
                "none, as the drive has no sparing",
            ));
        }
        if let Sparing::CylinderRanges { cylinders } = sparing {
            let range = u64::from(self.sectors_per_track) * u64::from(heads);
            in_range("spares", self.spares, 0, range * u64::from(cylinders) - 1)?;
        }
        match sparing {
            Sparing::TrackEnd => self.check_track_spares(heads)?,
            Sparing::Slips => in_range("spares", self.spares, 0, 0)?,
            _ => {}
        }
        let total = self.sectors(heads);
        match self.blocks(heads, sparing) {
            Some(blocks @ 1..) if self.fits(blocks, total) => Ok(()),
            blocks => {
                let text = blocks.map_or("less than none".to_owned(), |b| b.to_string());
                let allowed = format!(
                    "1 to what its {total} sectors leave besides reserve, spares and slips"
                );
                Err(ConfigError::value("blocks", &text, &allowed))
            }
        }
    }

    /// Every track is mapped by itself, and has room for its own slips only.
    fn check_track_spares(&self, heads: u32) -> Result<(), ConfigError> {
        let sectors = u64::from(self.sectors_per_track);
        in_range("spares", self.spares, 0, sectors - 1)?;
        if self.tracks(heads) > TRACKS_MAX {
            let text = self.tracks(heads).to_string();
            let allowed =
                format!("at most {TRACKS_MAX} tracks in a zone with spares on every track");
            return Err(ConfigError::value("cylinders", &text, &allowed));
        }
        let mut slips = self.slips.clone();
        slips.sort_unstable();
        for on_track in slips.chunk_by(|a, b| a / sectors == b / sectors) {
            if on_track.len() as u64 > self.spares {
                let text = format!("{} on track {}", on_track.len(), on_track[0] / sectors);
                let allowed = format!("at most its {} spares", self.spares);
                return Err(ConfigError::value("slips", &text, &allowed));
            }
        }
        Ok(())
    }

    fn fits(&self, blocks: u64, total: u64) -> bool {
        let used = blocks.checked_add(self.reserved_sectors_at_front);
        used.is_some_and(|used| used <= total)
    }
}

/// A zone whose tracks are mapped one by one has no more of them than this, so that its map stays
/// within half a gibibyte.
const TRACKS_MAX: u64 = 16_000_000;
/// Cylinders of a disk at most.
pub const CYLINDERS_MAX: u32 = 4_000_000;

/// Checks a number against what is allowed.
fn in_range<T: PartialOrd + std::fmt::Display>(
    key: &str,
    value: T,
    min: T,
    max: T,
) -> Result<(), ConfigError> {
    if min <= value && value <= max {
        return Ok(());
    }
    let allowed = format!("{min} to {max}");
    Err(ConfigError::value(key, &value.to_string(), &allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) const SMALL: &str = "
        kind = 'hdd'
        rpm = 6000
        heads = 2
        cylinders = 10
        head_switch_ms = 0.5
        write_settle_ms = 0.25
        sparing = { at = 'zone-end' }
        seek_ms = [[1, 1.0], [9, 5.0]]
        [[zones]]
        cylinders = [0, 4]
        sectors_per_track = 10
        spares = 5
        slips = [3]
        [[zones]]
        cylinders = [5, 9]
        sectors_per_track = 8
    ";

    fn read(text: &str) -> Result<Parameters, ConfigError> {
        Parameters::read(&text.parse().unwrap())
    }

    fn error(from: &str, to: &str) -> String {
        assert!(SMALL.contains(from), "{from} is not in the sample");
        read(&SMALL.replace(from, to)).unwrap_err().to_string()
    }

    #[test]
    fn a_small_drive_is_read_and_counted() {
        let drive = read(SMALL).unwrap();
        assert_eq!(drive.zones[0].blocks(2, drive.sparing), Some(95));
        assert_eq!(drive.ideal().zones[0].blocks(2, Sparing::None), Some(100));
    }

    #[test]
    fn what_is_written_reads_back() {
        let drive = read(SMALL).unwrap();
        assert_eq!(read(&toml::to_string(&drive).unwrap()).unwrap(), drive);
    }

    #[test]
    fn overlapping_zones_are_named() {
        let text = error("[5, 9]", "[4, 9]");
        assert_eq!(
            text,
            "zones[1].cylinders = [4, 9] (allowed: zones outermost first that do not overlap; the one before \
             ends at 4)"
        );
    }

    #[test]
    fn an_unknown_key_of_a_zone_is_named_with_the_nearest() {
        let text = error("slips", "slip");
        assert!(
            text.starts_with("unknown key of zones[0] `slip` = [3]; did you mean `slips`?"),
            "{text}"
        );
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(error("[9, 5.0]", "[1, 5.0]").contains("seek_ms[1] distance = 1"));
        assert!(error("rpm = 6000", "rpm = 0").contains("rpm = 0"));
        let year = error("rpm = 6000", "rpm = 6000\nyear = 97");
        assert_eq!(year, "year = 97 (allowed: 1956 to 2100)");
        let depth = |n: &str| error("heads = 2", &format!("heads = 2\nqueue_depth = {n}"));
        assert_eq!(depth("0"), "queue_depth = 0 (allowed: 1 to 256)");
        assert_eq!(depth("257"), "queue_depth = 257 (allowed: 1 to 256)");
        assert!(error("spares = 5", "spares = 100").contains("zones[0].blocks = 0"));
        assert!(error("slips = [3]", "slips = [100]").contains("zones[0].slips[0] = 100"));
        assert!(error("'zone-end'", "'none'").contains("the drive has no sparing"));
        assert!(error("'zone-end'", "'zone-start'").contains("zone-start"));
        assert!(error("[5, 9]", "[5, 10]").contains("below cylinders = 10"));
        let heads = error("heads = 2", "heads = -2");
        assert_eq!(heads, "heads = -2 (allowed: a whole number, 1 to 4096)");
    }

    #[test]
    fn zones_reach_from_the_first_cylinder_to_the_last() {
        assert_eq!(
            error("[0, 4]", "[1, 4]"),
            "zones[0].cylinders = [1, 4] (allowed: a first zone that begins with 0, the first of cylinders = 10)"
        );
        assert_eq!(
            error("[5, 9]", "[5, 8]"),
            "zones[1].cylinders = [5, 8] (allowed: a last zone that ends with 9, the last of cylinders = 10; or cylinders = 9)"
        );
        // Between them, some may be left out.
        assert!(read(&SMALL.replace("[5, 9]", "[7, 9]")).is_ok());
    }
}
