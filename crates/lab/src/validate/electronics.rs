//! The rows of `drive.csv` that begin with `full:`, as a drive's buffer, bus and overheads.
//!
//! The rows have the names of DiskSim 4.0's parameters. Every one of them is read; one that is
//! missing, unknown or has a value that the model does not have is an error. Two things of the
//! validated drives are not in those rows:
//!
//! - the rate of the bus, where `Bulk sector transfer time` is 0 and leaves it to the bus: it has
//!   to be fitted to what was measured ([`Electronics::bus_is_unknown`]);
//! - the times of an extra write disconnect: [`EXTRA_DISCONNECT`], published for the HP C2247A and
//!   C2249A, the only drives that have one.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use nearslot_core::drive::hdd::firmware::{
    BufferParameters, BusParameters, ExtraDisconnectParameters, Firmware, OverheadParameters,
    ReadAhead, RequestedBlocks, WatermarkOf, WriteBack, WriteBehind,
};
use nearslot_core::registry::{ConfigError, nearest};

use super::ValidateError;

/// What the `full:` rows say.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Electronics {
    pub(super) buffer: BufferParameters,
    pub(super) bus: BusParameters,
    pub(super) overheads: OverheadParameters,
}

/// DiskSim 4.0's validated specifications of the HP C2247A and C2249A.
const EXTRA_DISCONNECT: ExtraDisconnectParameters = ExtraDisconnectParameters {
    command_ms: 0.64244,
    disconnect_ms: 0.04551,
    pause_ms: 0.42885,
    disconnect_again_ms: 0.13437,
    seek_ms: 0.25,
};

/// How the names of the rows begin.
pub(super) const PREFIX: &str = "full: ";

impl Electronics {
    /// Reads the rows; `None` if there is none.
    ///
    /// # Errors
    /// A row that is missing, unknown, or not what it must be.
    pub(super) fn read(
        values: &BTreeMap<String, String>,
    ) -> Result<Option<Electronics>, ValidateError> {
        if !values.keys().any(|name| name.starts_with(PREFIX)) {
            return Ok(None);
        }
        let rows = Rows {
            values,
            read: RefCell::default(),
        };
        let electronics = Electronics {
            buffer: rows.buffer()?,
            bus: rows.bus()?,
            overheads: rows.overheads()?,
        };
        rows.without_effect()?;
        rows.check_all_read()?;
        Ok(Some(electronics))
    }

    /// Checks the values against what the model allows.
    ///
    /// # Errors
    /// The first thing wrong: the key, the value, what is allowed.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        Firmware::new(&self.buffer, &self.bus, &self.overheads).map(|_| ())
    }

    /// Whether the rows leave the rate of the bus open.
    pub(super) fn bus_is_unknown(&self) -> bool {
        self.bus.read_ms_per_block + self.bus.write_ms_per_block <= 0.0
    }
}

/// The rows, and which of them have been read.
struct Rows<'a> {
    values: &'a BTreeMap<String, String>,
    read: RefCell<BTreeSet<&'a str>>,
}

impl Rows<'_> {
    fn buffer(&self) -> Result<BufferParameters, ValidateError> {
        let read_ahead = self.read_ahead()?;
        let ahead_min = self.whole("Minimum read-ahead (blks)")?;
        Ok(BufferParameters {
            segments: self.whole("Number of buffer segments")?,
            segment_blocks: self.whole("Segment size (in blks)")?,
            write_segments_max: self.whole("Maximum number of write segments")?,
            dedicated_write_segment: self.flag("Use separate write segment")?,
            write_segment_blocks: None,
            write_back: WriteBack::Oldest,
            hits_while_writing: false,
            read_watermark: self.real("High (read) water mark")?,
            write_watermark: self.real("Low (write) water mark")?,
            watermark_of: match self.flag("Set watermark by reqsize")? {
                true => WatermarkOf::Request,
                false => WatermarkOf::Segment,
            },
            read_ahead,
            // The reference forces it to 0 where nothing is read ahead.
            read_ahead_min_blocks: if read_ahead == ReadAhead::None {
                0
            } else {
                ahead_min
            },
            read_ahead_max_blocks: self.whole("Maximum read-ahead (blks)")?,
            requested_blocks: self.requested_blocks()?,
            read_ahead_on_hit: self.flag("Read-ahead on idle hit")?,
            read_whole_track: self.flag("Read any free blocks")?,
            write_behind: self.write_behind()?,
            join_writes: self.flag("Combine seq writes")?,
            accept_while_writing: self.flag("Allow write prebuffering")?,
            stop_within_sector: self.flag("Stop prefetch in sector")?,
            write_ends_read_ahead: self.flag("Write hit stop prefetch")?,
            room_at_sector_start: self.flag("Read directly to buffer")?,
            partial_hit_at_once: self.flag("Immed transfer partial hit")?,
            zero_latency_reads: self.flag("Immediate buffer read")?,
            zero_latency_writes: self.flag("Immediate buffer write")?,
            // Off in every validated drive, and so not among the rows.
            read_hits_on_next_block: false,
            read_hits_within_turn: false,
            read_hits_on_writes: self.flag("Allow read hits on write data")?,
        })
    }

    fn read_ahead(&self) -> Result<ReadAhead, ValidateError> {
        let name = "Buffer continuous read";
        match self.whole(name)? {
            0 => Ok(ReadAhead::None),
            1 => Ok(ReadAhead::WithinTrack),
            2 => Ok(ReadAhead::WithinCylinder),
            3 => Ok(ReadAhead::Blocks),
            4 => Ok(ReadAhead::TrackEnd),
            _ => Err(self.wrong(name, "0 to 4")),
        }
    }

    fn requested_blocks(&self) -> Result<RequestedBlocks, ValidateError> {
        let name = "Read-ahead over requested";
        match self.text(name)? {
            "-1" => Ok(RequestedBlocks::Forget),
            "0" => Ok(RequestedBlocks::Keep),
            "1" => Ok(RequestedBlocks::Yield),
            _ => Err(self.wrong(name, "-1, 0 or 1")),
        }
    }

    fn write_behind(&self) -> Result<WriteBehind, ValidateError> {
        let name = "Fast write level";
        match self.whole(name)? {
            0 => Ok(WriteBehind::None),
            1 => Ok(WriteBehind::Sequential),
            2 => Ok(WriteBehind::Any),
            _ => Err(self.wrong(name, "0 to 2")),
        }
    }

    fn bus(&self) -> Result<BusParameters, ValidateError> {
        let block_ms = self.real("Bulk sector transfer time")?;
        Ok(BusParameters {
            read_ms_per_block: block_ms,
            write_ms_per_block: block_ms,
            hold_during_reads: self.flag("Hold bus entire read xfer")?,
            hold_during_writes: self.flag("Hold bus entire write xfer")?,
        })
    }

    fn overheads(&self) -> Result<OverheadParameters, ValidateError> {
        let scale = self.real("Time scale for overheads")?;
        let scaled = |name: &str| self.real(name).map(|ms| ms * scale);
        // With write-behind a write counts as a hit whatever the buffer holds, without it as a
        // miss.
        let hit = (
            scaled("Write hit over. after read")?,
            scaled("Write hit over. after write")?,
        );
        let miss = (
            scaled("Write miss over. after read")?,
            scaled("Write miss over. after write")?,
        );
        let write = if self.write_behind()? == WriteBehind::None {
            miss
        } else {
            hit
        };
        Ok(OverheadParameters {
            command_ms: scaled("Per-request overhead time")?,
            read_hit_after_read_ms: scaled("Read hit over. after read")?,
            read_hit_after_write_ms: scaled("Read hit over. after write")?,
            read_miss_after_read_ms: scaled("Read miss over. after read")?,
            read_miss_after_write_ms: scaled("Read miss over. after write")?,
            write_after_read_ms: write.0,
            write_after_write_ms: write.1,
            read_completion_ms: scaled("Read completion overhead")?,
            write_completion_ms: scaled("Write completion overhead")?,
            data_preparation_ms: scaled("Data preparation overhead")?,
            reselect_ms: scaled("First reselect overhead")?,
            reselect_again_ms: scaled("Other reselect overhead")?,
            read_disconnect_after_read_ms: scaled("Read disconnect afterread")?,
            read_disconnect_after_write_ms: scaled("Read disconnect afterwrite")?,
            write_disconnect_ms: scaled("Write disconnect overhead")?,
            // The reference does not scale this one.
            write_seek_min_ms: self.real("Minimum seek delay")?,
            extra_disconnect: self.flag("Extra write disconnect")?.then(|| extra(scale)),
        })
    }

    /// Rows that say nothing to a drive that knows one command at a time.
    fn without_effect(&self) -> Result<(), ValidateError> {
        let name = "Preseeking level";
        match self.whole::<u64>(name)? {
            0..=2 => Ok(()),
            _ => Err(self.wrong(name, "0 to 2")),
        }
    }

    fn check_all_read(&self) -> Result<(), ValidateError> {
        let read = self.read.borrow();
        let known: Vec<&str> = read.iter().copied().collect();
        let of_us = self
            .values
            .keys()
            .filter_map(|name| name.strip_prefix(PREFIX));
        match of_us.into_iter().find(|name| !read.contains(name)) {
            None => Ok(()),
            Some(name) => Err(self.wrong(name, &nearest_of(name, &known))),
        }
    }

    fn text(&self, name: &str) -> Result<&str, ValidateError> {
        match self.values.get_key_value(&format!("{PREFIX}{name}")) {
            Some((key, value)) => {
                self.read.borrow_mut().insert(&key[PREFIX.len()..]);
                Ok(value)
            }
            None => Err(ValidateError::Parameter {
                name: format!("drive.csv, {PREFIX}{name}"),
                value: "missing".to_owned(),
                allowed: "a row of drive.csv".to_owned(),
            }),
        }
    }

    fn whole<T: TryFrom<u64>>(&self, name: &str) -> Result<T, ValidateError> {
        let number = self.text(name)?.parse::<u64>().ok();
        let fitting = number.and_then(|number| T::try_from(number).ok());
        fitting.ok_or_else(|| self.wrong(name, "a whole number"))
    }

    fn real(&self, name: &str) -> Result<f64, ValidateError> {
        let number = self.text(name)?.parse::<f64>().ok();
        let fitting = number.filter(|number| number.is_finite() && *number >= 0.0);
        fitting.ok_or_else(|| self.wrong(name, "a number from 0"))
    }

    fn flag(&self, name: &str) -> Result<bool, ValidateError> {
        match self.text(name)? {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(self.wrong(name, "0 or 1")),
        }
    }

    fn wrong(&self, name: &str, allowed: &str) -> ValidateError {
        let name = format!("{PREFIX}{name}");
        ValidateError::Parameter {
            value: self.values.get(&name).cloned().unwrap_or_default(),
            name: format!("drive.csv, {name}"),
            allowed: allowed.to_owned(),
        }
    }
}

fn extra(scale: f64) -> ExtraDisconnectParameters {
    ExtraDisconnectParameters {
        command_ms: EXTRA_DISCONNECT.command_ms * scale,
        disconnect_ms: EXTRA_DISCONNECT.disconnect_ms * scale,
        pause_ms: EXTRA_DISCONNECT.pause_ms * scale,
        disconnect_again_ms: EXTRA_DISCONNECT.disconnect_again_ms * scale,
        seek_ms: EXTRA_DISCONNECT.seek_ms * scale,
    }
}

/// What is allowed in place of an unknown row.
fn nearest_of(name: &str, known: &[&str]) -> String {
    let hint = nearest(name, known).map(|near| format!("; did you mean `{near}`?"));
    format!("a parameter that the model has{}", hint.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of the HP C2247A, but for those that a test changes.
    fn rows(changes: &[(&str, &str)]) -> BTreeMap<String, String> {
        let text = include_str!("../../tests/data/full_rows.csv");
        let mut values: BTreeMap<String, String> = text
            .lines()
            .filter_map(|line| line.split_once(','))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        for (name, value) in changes {
            values.insert(format!("{PREFIX}{name}"), (*value).to_owned());
        }
        values
    }

    fn read(changes: &[(&str, &str)]) -> Result<Electronics, String> {
        let read = Electronics::read(&rows(changes)).map_err(|error| error.to_string())?;
        Ok(read.expect("there are rows"))
    }

    #[test]
    fn every_row_finds_its_place() {
        let drive = read(&[]).unwrap();
        assert!(drive.bus_is_unknown());
        assert_eq!(drive.buffer.segments, 2);
        assert_eq!(drive.buffer.read_ahead, ReadAhead::Blocks);
        assert_eq!(drive.overheads.extra_disconnect, Some(EXTRA_DISCONNECT));
        // Without write-behind the overheads of a miss count.
        let write = |level| {
            read(&[
                ("Fast write level", level),
                ("Write hit over. after read", "9"),
            ])
        };
        assert!(write("0").unwrap().overheads.write_after_read_ms < 1.0);
        assert!(write("2").unwrap().overheads.write_after_read_ms > 8.0);
    }

    #[test]
    fn the_time_scale_applies_to_overheads() {
        let half = read(&[("Time scale for overheads", "0.5")])
            .unwrap()
            .overheads;
        let whole = read(&[]).unwrap().overheads;
        assert!((half.reselect_ms * 2.0 - whole.reselect_ms).abs() < 1e-12);
        assert!((half.write_seek_min_ms - whole.write_seek_min_ms).abs() < 1e-12);
    }

    #[test]
    fn unknown_missing_and_impossible_rows_are_named() {
        let unknown = read(&[("Segment sice (in blks)", "4")]).unwrap_err();
        assert!(
            unknown.contains("did you mean `Segment size (in blks)`"),
            "{unknown}"
        );
        for (name, value) in [
            ("Fast write level", "3"),
            ("Buffer continuous read", "5"),
            ("Preseeking level", "3"),
            ("Read any free blocks", "2"),
            ("Read-ahead over requested", "2"),
            ("Segment size (in blks)", "-1"),
            ("Data preparation overhead", "NaN"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.contains(name), "{error}");
            assert!(error.contains(value), "{error}");
        }
        let mut values = rows(&[]);
        values.remove("full: Preseeking level");
        let missing = Electronics::read(&values).unwrap_err().to_string();
        assert!(missing.contains("Preseeking level"), "{missing}");
        assert!(missing.contains("missing"), "{missing}");
    }

    #[test]
    fn no_rows_are_no_electronics() {
        assert_eq!(Electronics::read(&BTreeMap::new()).unwrap(), None);
    }
}
