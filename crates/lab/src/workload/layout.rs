//! Where the requests of a trace go: the one device that it has, or each of several volumes to a
//! place of its own.
//!
//! - *concat*: the volumes lie one behind the other in the address space of the placement, in the
//!   order in which the trace names them. A volume is as large as its highest address shows, and
//!   begins at a multiple of 1 MiB, as partitions do. What is to be done about addresses beyond the
//!   drive is done to them all together.
//! - *own-drives*: the n-th volume has the n-th drive; block b of it is block b there. The
//!   placement is [`OWN_DRIVES_PLACE`], so each drive has a queue and a scheduler of its own. Every
//!   volume is fitted to its drive alone, and a flush of it goes to that drive.
//!
//! Which of them is never guessed. O(1) a request.

use nearslot_core::config::PartConfig;
use nearslot_core::registry::{ConfigError, KnobValue};
use nearslot_core::units::{BLOCK_BYTES, Blocks, Extent, Lba};
use nearslot_trace::{Header, Record};

use super::fit::{Fit, Holder, Mode, Reach};
use crate::outcome::VolumePlace;
use crate::survey::Summary;

words! {
    /// How several volumes of a trace are placed.
    Volumes {
        /// One behind the other on one drive, or on an array.
        Concat = "concat",
        /// Each on a drive of its own.
        OwnDrives = "own-drives",
    }
}

/// The placement that puts volumes on drives of their own.
const OWN_DRIVES_PLACE: &str = "concat";

/// Volumes begin at multiples of this: 1 MiB, as partitions do.
const ALIGNMENT_BYTES: u64 = 1 << 20;

/// Devices that an error lists.
const LISTED_MAX: usize = 8;

/// Places the requests of every device of one trace.
#[derive(Clone, Debug)]
pub struct Layout {
    /// How all requests are placed, if there is one device.
    only: Option<Part>,
    /// Else by device of the reader; none for devices without requests.
    parts: Vec<Option<Part>>,
    volumes: Vec<VolumePlace>,
}

/// How the addresses of one device are placed: moved, fitted, and moved again.
#[derive(Clone, Copy, Debug)]
struct Part {
    before_bytes: u64,
    fit: Fit,
    after: Blocks,
    /// Blocks from there on that a flush of the device covers; none if it covers all that there is.
    flushed: Blocks,
}

/// Devices with requests: number, name, requests, first byte behind the highest.
struct Used<'a> {
    dev: usize,
    name: &'a str,
    requests: u64,
    end_bytes: u64,
}

fn used<'a>(header: &'a Header, summary: &Summary) -> Vec<Used<'a>> {
    let devices = header.devices.iter().zip(&summary.devices).enumerate();
    devices
        .filter(|(_, (_, found))| found.requests > 0)
        .map(|(dev, (device, found))| Used {
            dev,
            name: &device.name,
            requests: found.requests,
            end_bytes: found.end_bytes,
        })
        .collect()
}

/// What `own-drives` makes of the placement for a trace of so many volumes.
pub fn own_drives(volumes: usize) -> PartConfig {
    PartConfig {
        name: OWN_DRIVES_PLACE.to_owned(),
        knobs: vec![("disks".to_owned(), KnobValue::Integer(volumes as i64))],
    }
}

/// Whether the volumes of a trace are placed as it needs: several are, and one has nothing to be
/// placed among.
///
/// # Errors
/// It has several and nobody said how, or one.
pub fn check(how: Option<Volumes>, header: &Header, summary: &Summary) -> Result<(), ConfigError> {
    let used = used(header, summary);
    match (how, used.as_slice()) {
        (None, [] | [_]) | (Some(_), [_, _, ..]) => Ok(()),
        (Some(how), _) => {
            let name = used.first().map_or("", |only| only.name);
            let allowed = format!("left out: the trace has one device, {name}");
            Err(ConfigError::value("volumes", how.word(), &allowed))
        }
        (None, several) => Err(undecided(several)),
    }
}

fn undecided(several: &[Used<'_>]) -> ConfigError {
    let listed = several.iter().take(LISTED_MAX);
    let mut listed: Vec<String> = listed
        .map(|used| format!("{} ({} requests)", used.name, used.requests))
        .collect();
    if several.len() > LISTED_MAX {
        listed.push(format!("and {} more", several.len() - LISTED_MAX));
    }
    ConfigError::value(
        "devices of the trace",
        &format!("{}: {}", several.len(), listed.join(", ")),
        "one, or a word on how several are replayed: --device NAME takes one of them; --volumes concat places one behind the \
         other on one drive (or on an array, with --place); --volumes own-drives gives each a drive of its own",
    )
}

impl Layout {
    /// How the trace goes onto drives.
    ///
    /// # Errors
    /// Volumes have addresses beyond what there is and `mode` is [`Mode::None`], or a request is
    /// longer than a drive.
    pub fn new<'a>(
        how: Option<Volumes>,
        mode: Mode,
        (header, summary): (&Header, &Summary),
        holder: impl Into<Holder<'a>>,
    ) -> Result<Layout, ConfigError> {
        check(how, header, summary)?;
        let holder = holder.into();
        let used = used(header, summary);
        let mut layout = Layout {
            only: None,
            parts: vec![None; summary.devices.len()],
            volumes: Vec::new(),
        };
        match how {
            None => {
                return Fit::new(mode, summary, holder).map(Layout::from);
            }
            Some(Volumes::Concat) => layout.concat(&used, mode, summary, holder)?,
            Some(Volumes::OwnDrives) => {
                let each = holder.part(used.len() as u64);
                layout.own_drives(&used, mode, summary, each)?;
            }
        }
        Ok(layout)
    }

    fn concat(
        &mut self,
        used: &[Used<'_>],
        mode: Mode,
        summary: &Summary,
        holder: Holder<'_>,
    ) -> Result<(), ConfigError> {
        let mut starts = Vec::new();
        let mut end = 0_u64;
        for volume in used {
            let start = end.next_multiple_of(ALIGNMENT_BYTES);
            starts.push(start);
            end = start.saturating_add(volume.end_bytes);
        }
        if mode == Mode::None && end > holder.blocks().bytes() {
            return Err(too_large(used.len(), end, holder));
        }
        let reach = Reach {
            end_bytes: end,
            ..Reach::of(summary)
        };
        let fit = Fit::reaching(mode, reach, holder)?;
        for (volume, start) in used.iter().zip(starts) {
            let part = Part {
                before_bytes: start,
                ..Part::whole(fit)
            };
            self.add(volume, part, None);
        }
        Ok(())
    }

    fn own_drives(
        &mut self,
        used: &[Used<'_>],
        mode: Mode,
        summary: &Summary,
        each: Holder<'_>,
    ) -> Result<(), ConfigError> {
        for (number, volume) in (0_u16..).zip(used) {
            let reach = Reach {
                end_bytes: volume.end_bytes,
                ..Reach::of(summary)
            };
            let fit = Fit::reaching(mode, reach, each).map_err(|error| ConfigError {
                key: format!("{}, device {}", error.key, volume.name),
                ..error
            })?;
            let part = Part {
                after: Blocks(u64::from(number) * each.blocks().0),
                flushed: each.blocks(),
                ..Part::whole(fit)
            };
            self.add(volume, part, Some(number));
        }
        Ok(())
    }

    fn add(&mut self, volume: &Used<'_>, part: Part, drive: Option<u16>) {
        self.parts[volume.dev] = Some(part);
        self.volumes.push(VolumePlace {
            device: volume.name.to_owned(),
            requests: volume.requests,
            end_bytes: volume.end_bytes,
            drive,
            first_block: part.before_bytes / BLOCK_BYTES,
        });
    }

    /// Where the volumes lie; empty for a single device.
    pub fn volumes(&self) -> &[VolumePlace] {
        &self.volumes
    }

    /// The first block of the place of each volume, in their order, in which they rise; `None` for
    /// a single device, or if a request of one volume may be put into the place of another.
    pub(crate) fn begins(&self) -> Option<Vec<u64>> {
        let shared = self.volumes.iter().any(|volume| volume.drive.is_none());
        if self.volumes.is_empty() || (shared && self.all().any(|part| part.fit.moves())) {
            return None;
        }
        let begin = |part: &Part| part.before_bytes / BLOCK_BYTES + part.after.0;
        Some(self.parts.iter().flatten().map(begin).collect())
    }

    fn all(&self) -> impl Iterator<Item = &Part> {
        self.only.iter().chain(self.parts.iter().flatten())
    }

    /// What is done to addresses, as results spell it: `none` if all fit.
    pub fn fit(&self) -> &'static str {
        let names = self.all().map(|part| part.fit.name());
        names.max_by_key(|name| *name != "none").unwrap_or("none")
    }

    /// Whether requests may be left out.
    pub fn leaves_out(&self) -> bool {
        self.all().any(|part| part.fit.leaves_out())
    }

    fn part(&self, record: &Record) -> Option<&Part> {
        match &self.only {
            Some(only) => Some(only),
            None => self.parts.get(record.dev as usize)?.as_ref(),
        }
    }

    /// Whether blocks that [`Layout::place`] gave begin elsewhere than the record's own, since the
    /// trace does not fit.
    #[inline]
    pub fn is_moved(&self, record: &Record, extent: &Extent) -> bool {
        let part = self.part(record).filter(|part| part.fit.moves());
        part.is_some_and(|part| {
            let own = record.offset.saturating_add(part.before_bytes) / BLOCK_BYTES;
            own + part.after.0 != extent.start.0
        })
    }

    /// The blocks that a flush covers: those of its device, if that has drives of its own; else none,
    /// which stands for all.
    #[inline]
    pub fn flushed(&self, record: &Record) -> Extent {
        let part = self.part(record);
        let (after, len) = part.map_or_else(Default::default, |part| (part.after, part.flushed));
        let start = Lba(after.0);
        Extent { start, len }
    }

    /// The blocks that a record touches; `None` if they are beyond the drive and stay so.
    #[inline]
    pub fn place(&self, record: &Record) -> Option<Extent> {
        let part = self.part(record)?;
        let offset = record.offset.checked_add(part.before_bytes)?;
        let extent = part.fit.place(offset, record.len)?;
        Some(Extent {
            start: Lba(extent.start.0 + part.after.0),
            ..extent
        })
    }
}

impl Part {
    const fn whole(fit: Fit) -> Part {
        Part {
            before_bytes: 0,
            fit,
            after: Blocks(0),
            flushed: Blocks(0),
        }
    }
}

impl From<Fit> for Layout {
    /// The layout of a trace with one device.
    fn from(fit: Fit) -> Layout {
        Layout {
            only: Some(Part::whole(fit)),
            parts: Vec::new(),
            volumes: Vec::new(),
        }
    }
}

fn too_large(count: usize, end: u64, holder: Holder<'_>) -> ConfigError {
    let (capacity, drive) = (holder.blocks(), holder.name());
    let fitting = holder.large_enough(end);
    ConfigError::value(
        &format!("{count} volumes one behind the other"),
        &format!("{end} bytes ({:.2} GB)", end as f64 / 1e9),
        &format!(
            "no more than the capacity of {drive}, {} bytes ({:.2} GB); {fitting}; or say --volumes own-drives, or --fit wrap, \
             scale or truncate",
            capacity.bytes(),
            capacity.bytes() as f64 / 1e9
        ),
    )
}

#[cfg(test)]
mod tests {
    use nearslot_trace::TraceOp;

    use super::*;
    use crate::survey::Survey;

    const MIB: u64 = 1 << 20;

    /// Three devices, the middle one without requests: 1 MiB + 4 KiB, none, 512 KiB.
    fn trace() -> (Header, Summary, Vec<Record>) {
        let at = |dev, end: u64| Record::new(0, TraceOp::Read, end - 4096, 4096, dev);
        let records = vec![at(0, MIB + 4096), at(2, MIB / 2), at(0, 4096)];
        let mut survey = Survey::new();
        survey.record(&records);
        let header = Header::made("toy", &["a", "b", "c"], &[]);
        (header, survey.finish(), records)
    }

    fn layout(how: Option<Volumes>, mode: Mode, capacity: u64) -> Result<Layout, String> {
        let (header, summary, _) = trace();
        let drive = (Blocks(capacity), "toy");
        Layout::new(how, mode, (&header, &summary), drive).map_err(|error| error.to_string())
    }

    fn starts(layout: &Layout) -> Vec<Option<u64>> {
        let records = trace().2;
        let start = |record| layout.place(record).map(|extent| extent.start.0);
        records.iter().map(start).collect()
    }

    /// What a flush of each record's device covers.
    fn flushed(layout: &Layout) -> Vec<(u64, u64)> {
        let records = trace().2;
        let covered = records.iter().map(|record| layout.flushed(record));
        covered.map(|of| (of.start.0, of.len.0)).collect()
    }

    #[test]
    fn volumes_lie_one_behind_the_other_at_whole_mebibytes() {
        let layout = layout(Some(Volumes::Concat), Mode::None, 5 * 2048 / 2).unwrap();
        let second = 2 * MIB / 512;
        assert_eq!(
            starts(&layout),
            [Some(2048), Some(second + 1024 - 8), Some(0)]
        );
        let places = layout.volumes().iter();
        let places: Vec<_> = places
            .map(|v| (v.device.as_str(), v.first_block, v.drive))
            .collect();
        assert_eq!(places, [("a", 0, None), ("c", second, None)]);
        assert_eq!(flushed(&layout), [(0, 0); 3], "all that there is");
        assert_eq!(layout.fit(), "none");
    }

    #[test]
    fn volumes_on_drives_of_their_own_begin_at_block_0() {
        let layout = layout(Some(Volumes::OwnDrives), Mode::None, 2 * 4096).unwrap();
        assert_eq!(
            starts(&layout),
            [Some(2048), Some(4096 + 1024 - 8), Some(0)]
        );
        let drives = layout.volumes().iter();
        let drives: Vec<_> = drives.map(|v| (v.drive, v.first_block)).collect();
        assert_eq!(drives, [(Some(0), 0), (Some(1), 0)]);
        assert_eq!(flushed(&layout), [(0, 4096), (4096, 4096), (0, 4096)]);
    }

    #[test]
    fn what_does_not_fit_is_named_with_drives_that_hold_it() {
        let wrong = layout(Some(Volumes::Concat), Mode::None, 5 * 2048 / 2 - 1).unwrap_err();
        for part in [
            "2 volumes",
            "2621440 bytes",
            "toy",
            "desktop-7200-90mb",
            "own-drives",
        ] {
            assert!(wrong.contains(part), "{wrong}");
        }
        let wrong = layout(Some(Volumes::OwnDrives), Mode::None, 2 * 2055).unwrap_err();
        assert!(
            wrong.contains("highest address of the trace, device a"),
            "{wrong}"
        );
        let fitted = layout(Some(Volumes::Concat), Mode::Truncate, 2048 + 8).unwrap();
        assert_eq!(starts(&fitted), [Some(2048), None, Some(0)]);
        assert!(fitted.leaves_out());
        assert!(fitted.fit() == "truncate");
    }

    #[test]
    fn nobody_guesses() {
        let wrong = layout(None, Mode::None, 1 << 20).unwrap_err();
        for part in [
            "2: a (2 requests), c (1 requests)",
            "--device",
            "--volumes concat",
            "own-drives",
        ] {
            assert!(wrong.contains(part), "{wrong}");
        }
        let (header, mut summary, _) = trace();
        summary.devices[2].requests = 0;
        let wrong = check(Some(Volumes::Concat), &header, &summary);
        let wrong = wrong.unwrap_err().to_string();
        assert!(wrong.contains("one device, a"), "{wrong}");
        assert_eq!(check(None, &header, &summary), Ok(()));
    }
}
