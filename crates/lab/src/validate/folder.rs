//! A drive's folder in the layout of the reference tables, as parameters.
//!
//! `drive.csv`, `zones.csv` and `seek_curve.csv` must be there; `slips.csv` and `remaps.csv` may be
//! missing, which means that there are none. Everything is read as a drive file would be, so the
//! same checks apply.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nearslot_core::drive::CAPACITY_MAX;
use nearslot_core::drive::hdd::parameters::{HeadOrder, Parameters, Sparing, Zone};
use nearslot_core::drive::hdd::seek::drawn_on;
use nearslot_core::registry::{ConfigError, nearest};

use super::ValidateError;
use super::electronics::{self, Electronics};
use super::table::{Column, Row, Table, kind};

/// What a folder says of its drive.
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// The model's name.
    pub(super) model: String,
    /// With spare sectors and defects.
    pub(super) real: Parameters,
    /// Without them.
    pub(super) ideal: Parameters,
    /// Buffer, bus and overheads, if the folder describes them.
    pub(super) electronics: Option<Electronics>,
}

impl Folder {
    /// Reads the drive of a folder.
    ///
    /// # Errors
    /// A file that is missing or malformed, or parameters that contradict each other.
    pub(super) fn read(path: &Path) -> Result<Folder, ValidateError> {
        check_needed(path)?;
        let drive = Drive::read(path)?;
        let zones = Zones::read(path)?;
        let mut real = drive.parameters(zones.zones, seek_curve(path)?)?;
        let mut ideal = real.ideal();
        for parameters in [&real, &ideal] {
            parameters.check().map_err(|error| config(path, error))?;
        }
        for (zone, (in_ideal, in_real)) in zones.blocks.iter().enumerate() {
            for (parameters, name, given) in [
                (&mut ideal, "blocks_ideal", *in_ideal),
                (&mut real, "blocks_real", *in_real),
            ] {
                check_zone_blocks(parameters, zone, name, given)?;
                parameters.zones[zone].blocks = Some(given);
            }
        }
        drive.check_blocks(&zones.blocks)?;
        let folder = Folder {
            electronics: Electronics::read(&drive.values)?,
            path: path.to_owned(),
            model: drive.text("model")?.to_owned(),
            real,
            ideal,
        };
        for parameters in [&folder.real, &folder.ideal] {
            parameters.check().map_err(|error| folder.config(error))?;
        }
        Ok(folder)
    }

    /// Tables in the folder whose names mean nothing here.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub(super) fn unknown_tables(&self, results: &[&str]) -> Result<Vec<String>, ValidateError> {
        let folder = self.path.display().to_string();
        let unreadable = |error: std::io::Error| ValidateError::unreadable(&folder, &error);
        let mut unknown = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name();
            let name = name.to_string_lossy();
            let table = Path::new(&*name)
                .extension()
                .is_some_and(|ext| ext == "csv");
            if table && !KNOWN.contains(&&*name) && !results.contains(&&*name) {
                unknown.push(name.into_owned());
            }
        }
        unknown.sort_unstable();
        Ok(unknown)
    }

    /// Parameters of this folder contradict each other.
    pub(super) fn config(&self, error: ConfigError) -> ValidateError {
        config(&self.path, error)
    }
}

fn config(path: &Path, error: ConfigError) -> ValidateError {
    ValidateError::Drive {
        folder: path.display().to_string(),
        error,
    }
}

/// Files that every folder must have, with what they hold.
const NEEDED: [(&str, &str); 3] = [
    ("drive.csv", "one parameter a row"),
    (
        "zones.csv",
        "where each zone begins and ends, its sectors per track, skews and blocks",
    ),
    ("seek_curve.csv", "seek times by distance"),
];
/// Files that are read besides those and the results.
const KNOWN: [&str; 9] = [
    "drive.csv",
    "zones.csv",
    "seek_curve.csv",
    "slips.csv",
    "remaps.csv",
    "layout_ideal.csv",
    "layout_real.csv",
    "summary.csv",
    "measured.csv",
];

/// Names all files at once that a folder lacks and needs.
fn check_needed(path: &Path) -> Result<(), ValidateError> {
    let missing = NEEDED.iter().filter(|(file, _)| !path.join(file).is_file());
    let (files, holds): (Vec<&str>, Vec<String>) = missing
        .map(|(file, holds)| (*file, format!("{file}: {holds}")))
        .unzip();
    if files.is_empty() {
        return Ok(());
    }
    Err(ValidateError::Missing {
        folder: path.display().to_string(),
        file: files.join(", no "),
        needed: format!(
            "a drive's folder has drive.csv, zones.csv and seek_curve.csv ({})",
            holds.join("; ")
        ),
    })
}

/// `drive.csv`: one parameter a row.
struct Drive {
    values: BTreeMap<String, String>,
    sparing: Sparing,
}

impl Drive {
    fn read(path: &Path) -> Result<Drive, ValidateError> {
        let table = Table::require(path, "drive.csv", "it describes the drive")?;
        let [parameter, value] = table.columns(["parameter", "value"])?;
        let unit = table.optional("unit");
        table.check_all_read()?;
        table.check_rows("it describes the drive, one parameter a row")?;
        let mut values = BTreeMap::new();
        for row in table.rows() {
            let (name, text) = (row.text(parameter), row.text(value));
            if !name.starts_with(electronics::PREFIX) && !PARAMETERS.contains(&name) {
                let hint = nearest(name, &PARAMETERS);
                let hint = hint.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                let allowed = format!("a parameter that the model has{hint}");
                return Err(row.wrong(parameter, &allowed));
            }
            if let Some(unit) = unit {
                check_unit(&row, name, unit)?;
            }
            if values.insert(name.to_owned(), text.to_owned()).is_some() {
                return Err(row.wrong(parameter, &"a parameter that no row above gives"));
            }
        }
        let mut drive = Drive {
            values,
            sparing: Sparing::None,
        };
        drive.sparing = drive.read_sparing()?;
        Ok(drive)
    }

    /// Checks what the drive says of its blocks, if it does.
    fn check_blocks(&self, blocks: &[(u64, u64)]) -> Result<(), ValidateError> {
        let ideal: u64 = blocks.iter().map(|(ideal, _)| ideal).sum();
        let real: u64 = blocks.iter().map(|(_, real)| real).sum();
        for (name, sum) in [("blocks_ideal", ideal), ("blocks_real", real)] {
            if self.values.contains_key(name) && self.number::<u64>(name)? != sum {
                return Err(self.wrong(name, &format!("{sum}, the blocks of all zones")));
            }
        }
        Ok(())
    }

    fn text(&self, name: &str) -> Result<&str, ValidateError> {
        let found = self.values.get(name).map(String::as_str);
        found.ok_or_else(|| ValidateError::Parameter {
            name: format!("drive.csv, {name}"),
            value: "missing".to_owned(),
            allowed: "a row of drive.csv".to_owned(),
        })
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T, ValidateError> {
        let text = self.text(name)?;
        text.parse().map_err(|_| self.wrong(name, kind::<T>()))
    }

    fn wrong(&self, name: &str, allowed: &str) -> ValidateError {
        ValidateError::Parameter {
            name: format!("drive.csv, {name}"),
            value: self.values.get(name).cloned().unwrap_or_default(),
            allowed: allowed.to_owned(),
        }
    }

    fn read_sparing(&self) -> Result<Sparing, ValidateError> {
        match self.text("sparing_scheme")? {
            "0" => Ok(Sparing::None),
            "1" => Ok(Sparing::ZoneEndTracks),
            "3" => Ok(Sparing::TrackEnd),
            "7" => Ok(Sparing::Slips),
            "8" => Ok(Sparing::CylinderRanges {
                cylinders: self.number("sparing_range_cylinders")?,
            }),
            "9" => Ok(Sparing::ZoneEnd),
            _ => Err(self.wrong("sparing_scheme", "0 (none), 1, 3, 7, 8 or 9")),
        }
    }

    fn parameters(
        &self,
        zones: Vec<Zone>,
        seek_ms: Vec<(u32, f64)>,
    ) -> Result<Parameters, ValidateError> {
        let head_order = match self.text("mapping_scheme")? {
            "0" => HeadOrder::Ascending,
            "1" => HeadOrder::AlternatingInZone,
            "2" => HeadOrder::Alternating,
            _ => return Err(self.wrong("mapping_scheme", "0, 1 or 2")),
        };
        if self.number::<u64>("sector_bytes")? != nearslot_core::units::BLOCK_BYTES {
            return Err(self.wrong("sector_bytes", "512"));
        }
        // One specification counts a cylinder less than its zones have. What the zones say is what
        // is used.
        let used = zones
            .last()
            .map_or(0, |zone| zone.cylinders.1.saturating_add(1));
        let named: u32 = self.number("cylinders")?;
        if named.saturating_add(1) < used {
            return Err(self.wrong("cylinders", &format!("at least {used}, as the zones have")));
        }
        let cylinders = used.max(named);
        Ok(Parameters {
            kind: "hdd".to_owned(),
            description: Some(self.text("model")?.to_owned()),
            year: None,
            queue_depth: None,
            rpm: self.number("rpm")?,
            heads: self.number("heads")?,
            cylinders,
            head_switch_ms: self.number("head_switch_ms")?,
            write_settle_ms: self.number("write_settle_ms")?,
            head_order,
            sparing: self.sparing,
            buffer: None,
            bus: None,
            overheads: None,
            start_cylinder: self.number("start_cylinder")?,
            start_head: self.number("start_head")?,
            start_angle_turns: self.number("start_angle_rev")?,
            // What was measured may have dents, and end before the last cylinder.
            seek_ms: drawn_on(seek_ms, cylinders),
            seek_measured: true,
            zones,
            calibration: None,
        })
    }
}

/// Checks that a zone holds as many blocks as its sectors leave besides reserve, spares and slips.
fn check_zone_blocks(
    parameters: &Parameters,
    zone: usize,
    name: &str,
    given: u64,
) -> Result<(), ValidateError> {
    let left = parameters.zones[zone].blocks(parameters.heads, parameters.sparing);
    match left {
        Some(left) if left == given => Ok(()),
        _ => Err(ValidateError::Parameter {
            name: format!("zones.csv, {name} of zone {zone}"),
            value: given.to_string(),
            allowed: format!(
                "{}, what its sectors leave besides reserve and spares",
                left.map_or("no number".to_owned(), |left| left.to_string())
            ),
        }),
    }
}

/// Parameters of `drive.csv` but for those of the electronics.
const PARAMETERS: [&str; 15] = [
    "model",
    "rpm",
    "heads",
    "cylinders",
    "blocks_ideal",
    "blocks_real",
    "sector_bytes",
    "head_switch_ms",
    "write_settle_ms",
    "mapping_scheme",
    "sparing_scheme",
    "sparing_range_cylinders",
    "start_cylinder",
    "start_head",
    "start_angle_rev",
];

/// Checks the unit of a parameter, where it has one: a time in another unit would be off by a
/// factor.
fn check_unit(row: &Row<'_>, name: &str, unit: Column) -> Result<(), ValidateError> {
    let expected = match name {
        "rpm" => "rev/min",
        "sector_bytes" => "bytes",
        _ if name.ends_with("_ms") => "ms",
        // Times of the electronics have one, counts and flags have none.
        _ if name.starts_with(electronics::PREFIX) && !row.text(unit).is_empty() => "ms",
        _ => return Ok(()),
    };
    match row.text(unit) {
        found if found == expected => Ok(()),
        _ => Err(row.wrong(unit, &expected)),
    }
}

fn seek_curve(path: &Path) -> Result<Vec<(u32, f64)>, ValidateError> {
    let table = Table::require(path, "seek_curve.csv", "it gives the seek times")?;
    let [distance, time] = table.columns(["distance_cyl", "time_ms"])?;
    table.check_all_read()?;
    table.check_rows("it gives seek times by distance")?;
    let point = |row: Row<'_>| Ok((row.number(distance)?, row.real(time)?));
    table.rows().map(point).collect()
}

/// First block behind a zone that begins at `first` and has so many.
fn end(row: &Row<'_>, column: Column, first: u64, blocks: u64) -> Result<u64, ValidateError> {
    let end = first.checked_add(blocks);
    end.filter(|end| *end <= CAPACITY_MAX).ok_or_else(|| {
        let most = CAPACITY_MAX - first;
        row.wrong(
            column,
            &format!("up to {most}, as no drive has more than {CAPACITY_MAX} blocks"),
        )
    })
}

/// `zones.csv` with the defects of `slips.csv` and `remaps.csv`.
struct Zones {
    zones: Vec<Zone>,
    /// Blocks of each zone without and with spares.
    blocks: Vec<(u64, u64)>,
}

impl Zones {
    fn read(path: &Path) -> Result<Zones, ValidateError> {
        let table = Table::require(path, "zones.csv", "it describes the zones")?;
        let [zone, first_cylinder, last_cylinder, sectors] =
            table.columns(["zone", "first_cyl", "last_cyl", "sectors_per_track"])?;
        let [track_skew, cylinder_skew, offset, reserved, spares] = table.columns([
            "track_skew_sectors",
            "cylinder_skew_sectors",
            "first_block_offset_sectors",
            "reserved_sectors_at_front",
            "spares",
        ])?;
        let [first_ideal, ideal, first_real, real] = table.columns([
            "first_lba_ideal",
            "blocks_ideal",
            "first_lba_real",
            "blocks_real",
        ])?;
        let slips = table.optional("n_slips");
        table.check_all_read()?;
        table.check_rows(
            "each zone needs one, with its cylinders, sectors per track, skews and blocks",
        )?;
        let mut read = Zones {
            zones: Vec::new(),
            blocks: Vec::new(),
        };
        let mut next = (0, 0);
        for (index, row) in table.rows().enumerate() {
            let follows = |column, expected: u64, what: &str| match row.number::<u64>(column)? {
                found if found == expected => Ok(()),
                _ => Err(row.wrong(column, &format!("{expected}, {what}"))),
            };
            follows(zone, index as u64, "as zones are numbered from 0 in order")?;
            follows(first_ideal, next.0, "where the zone before ends")?;
            follows(first_real, next.1, "where the zone before ends")?;
            let blocks: (u64, u64) = (row.number(ideal)?, row.number(real)?);
            next.0 = end(&row, ideal, next.0, blocks.0)?;
            next.1 = end(&row, real, next.1, blocks.1)?;
            read.blocks.push(blocks);
            read.zones.push(Zone {
                cylinders: (row.number(first_cylinder)?, row.number(last_cylinder)?),
                sectors_per_track: row.number(sectors)?,
                track_skew_sectors: row.number(track_skew)?,
                cylinder_skew_sectors: row.number(cylinder_skew)?,
                first_block_offset_sectors: row.number(offset)?,
                reserved_sectors_at_front: row.number(reserved)?,
                spares: row.number(spares)?,
                blocks: None,
                slips: Vec::new(),
                remaps: Vec::new(),
            });
        }
        read.read_slips(path)?;
        read.read_remaps(path)?;
        if let Some(slips) = slips {
            read.check_slips(&table, slips)?;
        }
        Ok(read)
    }

    fn check_slips(&self, table: &Table, slips: Column) -> Result<(), ValidateError> {
        for (row, zone) in table.rows().zip(&self.zones) {
            if row.number::<usize>(slips)? != zone.slips.len() {
                let allowed = format!("{}, as slips.csv has for this zone", zone.slips.len());
                return Err(row.wrong(slips, &allowed));
            }
        }
        Ok(())
    }

    fn read_slips(&mut self, path: &Path) -> Result<(), ValidateError> {
        let Some(table) = Table::read(path, "slips.csv")? else {
            return Ok(());
        };
        let [zone, position] = table.columns(["zone", "position"])?;
        table.check_all_read()?;
        for row in table.rows() {
            let index: usize = row.number(zone)?;
            let of = self.zones.get_mut(index);
            let of = of.ok_or_else(|| row.wrong(zone, &"a zone of zones.csv"))?;
            of.slips.push(row.number(position)?);
        }
        Ok(())
    }

    fn read_remaps(&mut self, path: &Path) -> Result<(), ValidateError> {
        let Some(table) = Table::read(path, "remaps.csv")? else {
            return Ok(());
        };
        let [zone, defect, replacement] =
            table.columns(["zone", "defect_position", "replacement_position"])?;
        table.check_all_read()?;
        for row in table.rows() {
            let index: usize = row.number(zone)?;
            let of = self.zones.get_mut(index);
            let of = of.ok_or_else(|| row.wrong(zone, &"a zone of zones.csv"))?;
            of.remaps
                .push((row.number(defect)?, row.number(replacement)?));
        }
        Ok(())
    }
}
