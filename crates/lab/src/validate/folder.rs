//! A drive's folder in the layout of the reference tables, as parameters.
//!
//! `drive.csv`, `zones.csv` and `seek_curve.csv` must be there; `slips.csv` and `remaps.csv` may be missing, which
//! means that there are none. Everything is read as a drive file would be, so the same checks apply.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nearslot_core::drive::hdd::parameters::{HeadOrder, Parameters, Sparing, Zone};
use nearslot_core::drive::hdd::seek::drawn_on;
use nearslot_core::registry::ConfigError;

use super::ValidateError;
use super::electronics::Electronics;
use super::table::{Row, Table};

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
        let drive = Drive::read(path)?;
        let zones = Zones::read(path)?;
        let mut real = drive.parameters(zones.zones, seek_curve(path)?)?;
        let mut ideal = real.ideal();
        for (zone, (in_ideal, in_real)) in zones.blocks.iter().enumerate() {
            ideal.zones[zone].blocks = Some(*in_ideal);
            real.zones[zone].blocks = Some(*in_real);
        }
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

    /// Parameters of this folder contradict each other.
    pub(super) fn config(&self, error: ConfigError) -> ValidateError {
        ValidateError::Drive {
            folder: self.path.display().to_string(),
            error,
        }
    }
}

/// `drive.csv`: one parameter a row.
struct Drive {
    values: BTreeMap<String, String>,
    sparing: Sparing,
}

impl Drive {
    fn read(path: &Path) -> Result<Drive, ValidateError> {
        let table = Table::require(path, "drive.csv")?;
        let [parameter, value] = table.columns(["parameter", "value"])?;
        let values = table
            .rows()
            .map(|row| (row.text(parameter).to_owned(), row.text(value).to_owned()));
        let mut drive = Drive {
            values: values.collect(),
            sparing: Sparing::None,
        };
        drive.sparing = drive.read_sparing()?;
        Ok(drive)
    }

    fn text(&self, name: &str) -> Result<&str, ValidateError> {
        let found = self.values.get(name).map(String::as_str);
        found.ok_or_else(|| ValidateError::Parameter {
            name: name.to_owned(),
            value: "missing".to_owned(),
            allowed: "a row of drive.csv".to_owned(),
        })
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T, ValidateError> {
        let text = self.text(name)?;
        text.parse()
            .map_err(|_| self.wrong(name, std::any::type_name::<T>()))
    }

    fn wrong(&self, name: &str, allowed: &str) -> ValidateError {
        ValidateError::Parameter {
            name: name.to_owned(),
            value: self.values.get(name).cloned().unwrap_or_default(),
            allowed: allowed.to_owned(),
        }
    }

    fn read_sparing(&self) -> Result<Sparing, ValidateError> {
        match self.text("sparing_scheme")? {
            "0" => Ok(Sparing::None),
            "1" => Ok(Sparing::ZoneEndTracks),
            "8" => Ok(Sparing::CylinderRanges {
                cylinders: self.number("sparing_range_cylinders")?,
            }),
            "9" => Ok(Sparing::ZoneEnd),
            _ => Err(self.wrong("sparing_scheme", "0 (none), 1, 8 or 9")),
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
        // One specification counts a cylinder less than its zones have. What the zones say is what is used.
        let used = zones
            .last()
            .map_or(0, |zone| zone.cylinders.1.saturating_add(1));
        let cylinders = used.max(self.number("cylinders")?);
        Ok(Parameters {
            kind: "hdd".to_owned(),
            description: Some(self.text("model")?.to_owned()),
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

fn seek_curve(path: &Path) -> Result<Vec<(u32, f64)>, ValidateError> {
    let table = Table::require(path, "seek_curve.csv")?;
    let [distance, time] = table.columns(["distance_cyl", "time_ms"])?;
    let point = |row: Row<'_>| Ok((row.number(distance)?, row.real(time)?));
    table.rows().map(point).collect()
}

/// `zones.csv` with the defects of `slips.csv` and `remaps.csv`.
struct Zones {
    zones: Vec<Zone>,
    /// Blocks of each zone without and with spares.
    blocks: Vec<(u64, u64)>,
}

impl Zones {
    fn read(path: &Path) -> Result<Zones, ValidateError> {
        let table = Table::require(path, "zones.csv")?;
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
            next = (next.0 + blocks.0, next.1 + blocks.1);
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
        Ok(read)
    }

    fn read_slips(&mut self, path: &Path) -> Result<(), ValidateError> {
        let Some(table) = Table::read(path, "slips.csv")? else {
            return Ok(());
        };
        let [zone, position] = table.columns(["zone", "position"])?;
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
