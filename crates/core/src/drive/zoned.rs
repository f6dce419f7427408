//! A drive with zones that are written in order (a host-managed zoned disk, flash with zoned
//! namespaces), around one that is written anywhere.
//!
//! The drive holds its host to the rules of [`Zones`]: a write begins at its zone's pointer, or
//! fails as [`Failure::Zone`] and nothing is written; reads are served anywhere; a discard resets
//! the zones that it covers, waits for writes there that are under way, and takes [`RESET`] for
//! each that holds something, beside what the drive takes for the discard. Of zones that it covers
//! in part, a discard says only that these blocks are needed no more: their pointers stay. What is
//! refused takes [`REFUSED`].
//!
//! A range write is an *append*: it goes to the pointer of a zone, in one piece. Flash chooses the
//! zone by itself: of those whose pointer lies in what is offered, the one with the fewest writes
//! under way, and of equals the lowest. Several go on at a time and end in any order, so its host
//! learns the address from the completion. On a disk the heads decide: whoever resolves range
//! writes (the host, or a [queue](super::queued) around the drive) asks which pointer comes first,
//! and the drive gets a write that begins there.
//!
//! A write that fails on the medium leaves its zone read-only for good, with all writes of it that
//! have begun: where they ended is not known beyond doubt, and the drive has no spare place left
//! there. Faults happen below the zones. Blocks behind the last whole zone are not addressed.
//! Sources: as of [`Zones`]. O(1) a command, O(zones offered) a range write at worst, O(depth) for
//! one that ends.

use std::ops::Range;
use std::sync::Arc;

use crate::contract::{Arm, Blueprint, Drive, Geometry, Oracle, Wrap};
use crate::fault::Exposed;
use crate::freemap::{Room, Tracks, Uncountable};
use crate::ids::IoId;
use crate::io::{Command, Credits, DriveDone, Extrapolated, Owed, Unwritten, WriteCache};
use crate::measure::{Measure, Tell};
use crate::offer::{Legal, Offer, Taken};
use crate::op::{Cost, Failure, Op, Status};
use crate::registry::{ConfigError, Knob, KnobValue, Knobs};
use crate::units::{Angle, Blocks, Duration, Instant, Pba};
use crate::zones::{ZoneShape, Zones};

use super::CAPACITY_MAX;

/// The knob that gives a drive zones. The others say more of them.
pub const ZONE_BLOCKS: Knob = Knob::integer(
    "zone_blocks",
    0,
    0..=CAPACITY_MAX as i64,
    "512-byte blocks from the begin of a zone to that of the next, on a drive whose zones are written in order; 0: it has no zones",
);

/// How much of a zone can be written.
pub const CAPACITY: Knob = Knob::integer(
    "zone_capacity_blocks",
    0,
    0..=CAPACITY_MAX as i64,
    "how many of these can be written, from the first on; 0: all",
);

/// What is written anywhere.
pub const CONVENTIONAL: Knob = Knob::integer(
    "conventional_blocks",
    0,
    0..=CAPACITY_MAX as i64,
    "blocks at the begin of the drive that are written anywhere: whole zones",
);

/// How long a range write may be.
pub const APPEND_MAX: Knob = Knob::integer(
    "append_max_blocks",
    2_048,
    1..=CAPACITY_MAX as i64,
    "blocks that a range write to a drive with zones may have at most; a longer one is refused, and none is split",
);

/// What a reset takes.
pub const RESET: Knob = Knob::number(
    "zone_reset_ms",
    1.0,
    0.0..=1_000.0,
    "what the reset of a zone that holds something takes, beside what a discard takes on the drive without zones",
);

/// All of them, the first of which makes the others have an effect.
pub const KNOBS: [Knob; 5] = [ZONE_BLOCKS, CAPACITY, CONVENTIONAL, APPEND_MAX, RESET];

/// What a drive with zones counts.
pub const MEASURES: &[Measure] = &[
    Measure::count(
        "zone_writes",
        "commands",
        "writes that began at the pointer of a zone",
    ),
    Measure::count("zone_resets", "zones", "zones that were reset"),
    Measure::count(
        "zone_refused",
        "commands",
        "writes that were refused as they did not begin at their zone's pointer or reached behind its end, and resets of read-only zones",
    ),
    Measure::count(
        "zone_overtakes",
        "commands",
        "writes that ended before another one of their zone that had begun before",
    ),
    Measure::count(
        "zone_read_only",
        "zones",
        "zones that cannot be written any more, as a write failed there",
    )
    .of_run(),
];

/// What a command takes that is refused.
const REFUSED: Duration = Duration::from_us(100);

/// Zones of a drive at most.
const ZONES_MAX: u64 = 1 << 20;

/// Whether a drive has zones. A kind of drive without these knobs has none.
pub(crate) fn is_on(knobs: &Knobs) -> bool {
    let on = |(key, value): (&str, &KnobValue)| {
        key == ZONE_BLOCKS.name && *value != KnobValue::Integer(0)
    };
    knobs.iter().any(on)
}

/// Puts zones around a drive if its knobs want some.
///
/// # Errors
/// There are no such zones.
pub(super) fn around(
    bare: Box<dyn Blueprint>,
    knobs: &Knobs,
) -> Result<Box<dyn Blueprint>, ConfigError> {
    if !knobs.iter().any(|(key, _)| key == ZONE_BLOCKS.name) {
        return Ok(bare);
    }
    if !is_on(knobs) {
        let allowed = "nothing without zone_blocks, as the drive has no zones";
        return knobs.check_idle(KNOBS[1..].iter(), allowed).map(|()| bare);
    }
    let reset = Duration::from_ms_f64(knobs.number(RESET.name));
    let shape = shape(bare.capacity(), knobs)?;
    Ok(Box::new(ZonedBlueprint { bare, shape, reset }))
}

/// How the knobs cut a drive of so many blocks.
fn shape(drive: Blocks, knobs: &Knobs) -> Result<ZoneShape, ConfigError> {
    let [blocks, capacity, conventional, append_max] =
        [ZONE_BLOCKS, CAPACITY, CONVENTIONAL, APPEND_MAX].map(|knob| knobs.integer(knob.name));
    let wrong = |knob: &Knob, value: u64, allowed: String| {
        Err(ConfigError::value(knob.name, &value.to_string(), &allowed))
    };
    if blocks > drive.0 {
        let allowed = format!("at most the drive's {drive} blocks");
        return wrong(&ZONE_BLOCKS, blocks, allowed);
    }
    if capacity > blocks {
        let allowed = format!("at most zone_blocks, which is {blocks}; 0 is as many");
        return wrong(&CAPACITY, capacity, allowed);
    }
    if !conventional.is_multiple_of(blocks) || conventional > drive.0 - blocks {
        let most = drive.0 / blocks - 1;
        let allowed = format!(
            "a multiple of zone_blocks, which is {blocks}, and at most {most} times that, so that a zone is left"
        );
        return wrong(&CONVENTIONAL, conventional, allowed);
    }
    let zones = (drive.0 - conventional) / blocks;
    if zones > ZONES_MAX {
        let least = (drive.0 - conventional) / (ZONES_MAX + 1) + 1;
        let allowed = format!("at least {least}, as a drive has {ZONES_MAX} zones at most");
        return wrong(&ZONE_BLOCKS, blocks, allowed);
    }
    Ok(ZoneShape {
        blocks,
        capacity: if capacity == 0 { blocks } else { capacity },
        conventional,
        zones: zones as u32,
        append_max,
    })
}

/// A drive with zones, before it runs.
struct ZonedBlueprint {
    bare: Box<dyn Blueprint>,
    shape: ZoneShape,
    reset: Duration,
}

impl ZonedBlueprint {
    fn around(&self, inner: Box<dyn Drive>) -> Box<dyn Drive> {
        Box::new(ZonedDrive {
            inner,
            zones: Zones::new(self.shape),
            reset: self.reset,
            chooses: self.bare.exact_arm().is_none(),
            comes: Vec::new(),
            writes: Vec::new(),
            resets: Vec::new(),
            own: Vec::new(),
            counts: Counts::default(),
        })
    }

    fn with(&self, bare: Box<dyn Blueprint>) -> Box<dyn Blueprint> {
        let ZonedBlueprint { shape, reset, .. } = *self;
        Box::new(ZonedBlueprint { bare, shape, reset })
    }
}

impl Blueprint for ZonedBlueprint {
    fn capacity(&self) -> Blocks {
        Blocks(self.shape.end())
    }

    fn cache(&self) -> WriteCache {
        self.bare.cache()
    }

    fn depth(&self) -> u32 {
        self.bare.depth()
    }

    fn keeps_map(&self) -> bool {
        true
    }

    fn zones(&self) -> Option<ZoneShape> {
        Some(self.shape)
    }

    fn drive(&self) -> Box<dyn Drive> {
        self.around(self.bare.drive())
    }

    fn seeded(&self, seed: u64, stream: &str) -> Box<dyn Drive> {
        self.around(self.bare.seeded(seed, stream))
    }

    fn wrapped(&self, seed: u64, stream: &str, wrap: Wrap<'_>) -> Box<dyn Drive> {
        self.around(self.bare.wrapped(seed, stream, wrap))
    }

    fn exact(&self) -> Box<dyn Oracle> {
        self.bare.exact()
    }

    fn exact_arm(&self) -> Option<Box<dyn Arm>> {
        self.bare.exact_arm()
    }

    fn turned(&self, by: Angle) -> Box<dyn Blueprint> {
        self.with(self.bare.turned(by))
    }

    fn resting(&self, at: Pba) -> Box<dyn Blueprint> {
        self.with(self.bare.resting(at))
    }

    fn pressed(&self) -> Box<dyn Blueprint> {
        self.with(self.bare.pressed())
    }

    fn geometry(&self) -> Option<Arc<dyn Geometry>> {
        self.bare.geometry()
    }

    fn revolution(&self) -> Option<Duration> {
        self.bare.revolution()
    }

    fn room(&self, slot: Blocks) -> Room {
        self.bare.room(slot)
    }

    fn tracks(&self, slot: Blocks) -> Result<Tracks, Uncountable> {
        self.bare.tracks(slot)
    }
}

#[derive(Default)]
struct Counts {
    writes: u64,
    resets: u64,
    refused: u64,
    overtakes: u64,
    read_only: u64,
}

/// A discard that covers zones.
struct Reset {
    command: Command,
    zones: Range<u32>,
    /// Zones of them that hold something.
    holding: u32,
    /// Whether the drive inside has it; else it waits for writes.
    begun: bool,
}

struct ZonedDrive {
    inner: Box<dyn Drive>,
    zones: Zones,
    /// What the reset of a zone takes.
    reset: Duration,
    /// Whether it chooses the zones of range writes: no arm decides.
    chooses: bool,
    /// What commands offer that come next.
    comes: Vec<(IoId, Arc<Offer>)>,
    /// Where writes to zones begin that are under way, in the order in which they came.
    writes: Vec<(IoId, u64)>,
    /// In the order in which they came.
    resets: Vec<Reset>,
    /// What ends without the drive inside, or later than there, and when.
    own: Vec<(Instant, DriveDone)>,
    counts: Counts,
}

impl ZonedDrive {
    /// The place of a range write: the pointer of a zone.
    fn choose(&self, offer: &Offer, len: Blocks) -> Option<Pba> {
        let nothing = Taken::default();
        let legal = Legal::new(offer, len.0, &nothing, 0).within(Some(&self.zones));
        let (mut best, mut from) = (None, 0);
        while let Some(at) = legal.first(from, u64::MAX) {
            let zone = self.zones.shape().zone_of(at);
            let busy = zone.map_or(0, |zone| self.zones.under_way(zone));
            if best.is_none_or(|(least, _)| busy < least) {
                best = Some((busy, at));
            }
            if busy == 0 {
                break;
            }
            from = at + 1;
        }
        best.map(|(_, at)| Pba(at))
    }

    /// A command ends without being carried out.
    fn refuse(&mut self, now: Instant, command: &Command, failure: Failure) {
        self.counts.refused += u64::from(failure == Failure::Zone);
        let cost = Cost {
            overhead: REFUSED,
            ..Cost::default()
        };
        let done = command.ends(Status::Failed(failure), cost);
        self.own.push((now + REFUSED, done));
    }

    fn write(&mut self, now: Instant, command: &Command) {
        let came = self.comes.iter().position(|(io, _)| *io == command.io);
        let mut command = *command;
        if let Some(index) = came {
            let (_, offer) = self.comes.swap_remove(index);
            match self.choose(&offer, command.len) {
                Some(at) => command.at = at,
                None => return self.refuse(now, &command, Failure::Exhausted),
            }
        }
        if self.zones.refuses(&command) {
            return self.refuse(now, &command, Failure::Zone);
        }
        if self.zones.shape().zone_of(command.at.0).is_some() {
            self.counts.writes += 1;
            self.writes.push((command.io, command.at.0));
        }
        self.zones.begins(&command);
        self.inner.submit(now, &command);
    }

    /// Resets begin whose zones are not being written any more.
    fn begin_resets(&mut self, now: Instant) {
        for reset in &mut self.resets {
            if !reset.begun && !self.zones.is_written(&reset.zones) {
                reset.begun = true;
                self.inner.submit(now, &reset.command);
            }
        }
    }

    /// The drive inside has ended a command. None if that is not the end of it.
    fn inner_ended(&mut self, now: Instant, mut done: DriveDone) -> Option<DriveDone> {
        match done.op {
            Op::Write => {
                self.write_ended(&done);
                self.begin_resets(now);
                Some(done)
            }
            Op::Discard => {
                let is_it = |reset: &Reset| reset.command.io == done.io;
                let index = self.resets.iter().position(is_it);
                let Some(index) = index.filter(|_| done.status.is_done()) else {
                    if let Some(index) = index {
                        let reset = self.resets.remove(index);
                        self.zones.reopen(&reset.zones);
                    }
                    return Some(done);
                };
                let takes = Duration(self.reset.0 * u64::from(self.resets[index].holding));
                done.cost.overhead += takes;
                self.own.push((now + takes, done));
                None
            }
            Op::Read | Op::Flush | Op::Seek => Some(done),
        }
    }

    fn write_ended(&mut self, done: &DriveDone) {
        let Some(index) = self.writes.iter().position(|(io, _)| *io == done.io) else {
            return;
        };
        let zone = self.zones.shape().zone_of(done.at.0);
        let overtakes = |(_, at): &(IoId, u64)| self.zones.shape().zone_of(*at) == zone;
        self.counts.overtakes += u64::from(self.writes[..index].iter().any(overtakes));
        self.writes.remove(index);
        let was_writable = zone.is_some_and(|zone| !self.zones.is_read_only(zone));
        self.zones.ended(done);
        let failed = done.status == Status::Failed(Failure::Medium);
        self.counts.read_only += u64::from(failed && was_writable);
    }

    /// What it ends by itself is due.
    fn own_ended(&mut self, now: Instant) -> Option<DriveDone> {
        let due = |(_, (at, _)): &(usize, &(Instant, DriveDone))| *at <= now;
        let ended = self.own.iter().enumerate().filter(due);
        let (index, _) = ended.min_by_key(|(index, (at, _))| (*at, *index))?;
        let (_, mut done) = self.own.remove(index);
        let is_it = |reset: &Reset| reset.command.io == done.io;
        if let Some(index) = self.resets.iter().position(is_it) {
            let reset = self.resets.remove(index);
            self.counts.resets += u64::from(reset.holding);
            if !self.zones.reset(&reset.zones) {
                self.counts.refused += 1;
                done.status = Status::Failed(Failure::Zone);
            }
            if reset.holding > 0 {
                self.inner.ended_late(now);
            }
        }
        Some(done)
    }
}

impl Drive for ZonedDrive {
    fn depth(&self) -> u32 {
        self.inner.depth()
    }

    fn lands(&self) -> bool {
        self.chooses
    }

    fn offer(&mut self, io: IoId, offer: &Arc<Offer>) {
        self.comes.push((io, Arc::clone(offer)));
    }

    fn zones(&self) -> Option<&Zones> {
        Some(&self.zones)
    }

    fn submit(&mut self, now: Instant, command: &Command) {
        match command.op {
            Op::Write => self.write(now, command),
            Op::Discard => {
                let blocks = command.at.0..(command.at + command.len).0;
                let zones = self.zones.shape().covered(&blocks);
                if zones.is_empty() {
                    return self.inner.submit(now, command);
                }
                let holding = self.zones.close(&zones);
                self.resets.push(Reset {
                    command: *command,
                    zones,
                    holding,
                    begun: false,
                });
                self.begin_resets(now);
            }
            Op::Read | Op::Flush | Op::Seek => self.inner.submit(now, command),
        }
    }

    fn outstanding(&mut self, commands: &mut dyn FnMut() -> u64) {
        self.inner.outstanding(commands);
    }

    fn next_event(&self) -> Option<Instant> {
        let own = self.own.iter().map(|(at, _)| *at).min();
        self.inner.next_event().into_iter().chain(own).min()
    }

    fn advance(&mut self, now: Instant) -> Option<DriveDone> {
        while let Some(done) = self.inner.advance(now) {
            if let Some(done) = self.inner_ended(now, done) {
                return Some(done);
            }
        }
        self.own_ended(now)
    }

    fn ended_late(&mut self, now: Instant) {
        self.inner.ended_late(now);
    }

    fn lengthened(&self, took: Duration, factor: u32, extra: Duration) -> Duration {
        self.inner.lengthened(took, factor, extra)
    }

    fn volatile(&self, now: Instant, out: &mut Vec<Unwritten>) {
        self.inner.volatile(now, out);
    }

    fn owes(&self, now: Instant) -> Owed {
        self.inner.owes(now)
    }

    fn rounds_permille(&self) -> Option<u64> {
        self.inner.rounds_permille()
    }

    fn credits(&self, tell: &mut dyn FnMut(Credits)) {
        self.inner.credits(tell);
    }

    fn extrapolated(&self) -> &[Extrapolated] {
        self.inner.extrapolated()
    }

    fn tell(&self, tell: Tell<'_>) {
        self.inner.tell(tell);
        let Counts {
            writes,
            resets,
            refused,
            overtakes,
            read_only,
        } = self.counts;
        let numbers = [writes, resets, refused, overtakes, read_only];
        for (measure, number) in MEASURES.iter().zip(numbers) {
            tell(measure, number);
        }
    }

    fn tell_exposed(&self, tell: &mut dyn FnMut(Exposed)) {
        self.inner.tell_exposed(tell);
    }

    fn tell_faults(&self, tell: Tell<'_>) {
        self.inner.tell_faults(tell);
    }

    fn wrongly_brought(&self) -> &[Pba] {
        self.inner.wrongly_brought()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive;

    const NULL: &str = "kind = 'null'\ncapacity_blocks = 105\nservice_us = 500.0";

    /// Zones of 10 blocks behind a conventional one.
    const CUT: &str = "zone_blocks=10:conventional_blocks=10";

    fn read(text: &str, knobs: &str) -> Result<Box<dyn Blueprint>, String> {
        let knobs = knobs.split(':').map(|word| {
            let (key, value) = word.split_once('=').unwrap();
            let number = value.parse().map(KnobValue::Integer);
            let value = number.unwrap_or_else(|_| KnobValue::Text(value.to_owned()));
            (key.to_owned(), value)
        });
        let read = drive::read("x", text, &knobs.collect::<Vec<_>>());
        read.map(|(blueprint, _)| blueprint)
            .map_err(|error| error.to_string())
    }

    fn command(io: u32, op: Op, at: u64, len: u64) -> Command {
        Command {
            io: IoId(io),
            op,
            at: Pba(at),
            len: Blocks(len),
            fua: false,
        }
    }

    /// Lets time pass until nothing goes on: what ended when, in microseconds, where and how.
    fn settle(drive: &mut dyn Drive) -> Vec<(u64, u32, u64, Status)> {
        let mut ended = Vec::new();
        while let Some(due) = drive.next_event() {
            if let Some(done) = drive.advance(due) {
                ended.push((due.0 / 1_000, done.io.0, done.at.0, done.status));
            }
        }
        ended
    }

    fn carry_out(drive: &mut dyn Drive, now_us: u64, command: Command) -> (u64, Status) {
        drive.submit(Instant(now_us * 1_000), &command);
        let ended = settle(drive);
        assert_eq!(ended.len(), 1);
        (ended[0].0 - now_us, ended[0].3)
    }

    const ZONE: Status = Status::Failed(Failure::Zone);

    #[test]
    fn writes_follow_the_pointer_and_resets_take_their_time() {
        let blueprint = read(NULL, CUT).unwrap();
        assert_eq!(blueprint.capacity(), Blocks(100), "whole zones");
        let mut drive = blueprint.drive();
        let mut now = 0;
        let mut does = |op, at, len| {
            now += 10_000;
            carry_out(&mut *drive, now, command(7, op, at, len))
        };
        assert_eq!(does(Op::Write, 11, 1), (100, ZONE));
        assert_eq!(does(Op::Write, 10, 6), (500, Status::Done));
        assert_eq!(does(Op::Write, 16, 5), (100, ZONE));
        assert_eq!(does(Op::Write, 16, 4), (500, Status::Done));
        assert_eq!(does(Op::Write, 10, 1), (100, ZONE));
        assert_eq!(does(Op::Read, 90, 10), (500, Status::Done));
        assert_eq!(does(Op::Write, 3, 7), (500, Status::Done));
        // A part of a zone is not reset, what is empty takes no reset, and each that holds
        // something takes one.
        assert_eq!(does(Op::Discard, 11, 9), (500, Status::Done));
        assert_eq!(does(Op::Write, 10, 1), (100, ZONE));
        assert_eq!(does(Op::Discard, 20, 80), (500, Status::Done));
        assert_eq!(does(Op::Write, 20, 1), (500, Status::Done));
        assert_eq!(does(Op::Discard, 0, 100), (2_500, Status::Done));
        assert_eq!(does(Op::Write, 10, 1), (500, Status::Done));
        let mut told = Vec::new();
        drive.tell(&mut |measure, number| told.push((measure.name, number)));
        let of_zones = [
            ("zone_writes", 4),
            ("zone_resets", 2),
            ("zone_refused", 4),
            ("zone_overtakes", 0),
            ("zone_read_only", 0),
        ];
        assert_eq!(told, of_zones);
    }

    const FLASH: &str = "
        kind = 'ssd'
        capacity_blocks = 12_800
        queue_depth = 8
        channels = 2
        dies_per_channel = 2
        planes_per_die = 1
        planes = 'together'
        blocks_per_plane = 60
        pages_per_block = 8
        page_kib = 4
        map_kib = 4
        allocation = 'in-turn'
        read_us = 60
        program_us = 700
        erase_us = 3000
        channel_mb_s = 200
        host = { mb_s = 500, full_duplex = false, command_us = 2, read_us = 10, write_us = 15 }
        collection = { start_percent = 5, urgent_percent = 4 }
    ";

    fn flash() -> Box<dyn Drive> {
        let blueprint = read(FLASH, "zone_blocks=800:precondition=empty").unwrap();
        let drive = blueprint.drive();
        assert!(drive.lands());
        drive
    }

    fn append(drive: &mut dyn Drive, io: u32, blocks: Range<u64>, len: u64) {
        let offer = Offer::list(vec![blocks], 1).unwrap();
        drive.offer(IoId(io), &Arc::new(offer));
        drive.submit(Instant::ZERO, &command(io, Op::Write, 0, len));
    }

    #[test]
    fn flash_spreads_range_writes_and_tells_their_places_at_their_end() {
        let mut drive = flash();
        for io in 0..5 {
            append(&mut *drive, io, 0..2_400, 8);
        }
        // No pointer lies in what the last one offers.
        append(&mut *drive, 5, 3_300..3_900, 8);
        let mut ended = settle(&mut *drive);
        ended.sort_unstable_by_key(|(_, io, ..)| *io);
        let at: Vec<u64> = ended[..5].iter().map(|(_, _, at, _)| *at).collect();
        assert_eq!(at, [0, 800, 1_600, 8, 808]);
        assert_eq!(ended[5].3, Status::Failed(Failure::Exhausted));
    }

    #[test]
    fn a_reset_waits_for_writes_and_keeps_others_out() {
        let mut drive = flash();
        append(&mut *drive, 0, 0..800, 8);
        drive.submit(Instant::ZERO, &command(1, Op::Discard, 0, 800));
        append(&mut *drive, 2, 0..800, 8);
        drive.submit(Instant::ZERO, &command(3, Op::Write, 8, 8));
        let ended = settle(&mut *drive);
        let of = |io| ended.iter().find(|(_, other, ..)| *other == io).unwrap();
        assert_eq!(of(0).3, Status::Done);
        assert!(of(1).0 >= of(0).0 + 1_000, "{ended:?}");
        assert_eq!(of(2).3, Status::Failed(Failure::Exhausted));
        assert_eq!(of(3).3, ZONE);
        append(&mut *drive, 4, 0..800, 8);
        assert_eq!(settle(&mut *drive)[0].2, 0);
    }

    #[test]
    fn zones_that_cannot_be_are_refused_with_what_is_allowed() {
        for (knobs, pieces) in [
            ("zone_blocks=106", ["zone_blocks = 106", "the drive's 105"]),
            (
                "zone_blocks=10:zone_capacity_blocks=11",
                [
                    "zone_capacity_blocks = 11",
                    "at most zone_blocks, which is 10",
                ],
            ),
            (
                "zone_blocks=10:conventional_blocks=5",
                [
                    "conventional_blocks = 5",
                    "a multiple of zone_blocks, which is 10",
                ],
            ),
            (
                "zone_blocks=10:conventional_blocks=100",
                ["conventional_blocks = 100", "at most 9 times"],
            ),
            (
                "zone_blocks=10:append_max_blocks=0",
                ["append_max_blocks = 0", "1 to"],
            ),
            (
                "append_max_blocks=8",
                ["append_max_blocks = 8", "nothing without zone_blocks"],
            ),
            (
                "zone_capacity_blocks=0",
                ["zone_capacity_blocks = 0", "nothing without zone_blocks"],
            ),
        ] {
            let error = read(NULL, knobs).err().unwrap();
            for piece in pieces {
                assert!(error.contains(piece), "{knobs}: {error}");
            }
        }
        let large = "kind = 'null'\ncapacity_blocks = 10_000_000\nservice_us = 500.0";
        let error = read(large, "zone_blocks=9").err().unwrap();
        assert!(
            error.contains("at least 10, as a drive has 1048576"),
            "{error}"
        );
        assert!(read(large, "zone_blocks=10").is_ok());
    }

    #[test]
    fn zones_of_flash_are_empty_and_of_whole_units() {
        for (knobs, pieces) in [
            (
                "zone_blocks=800",
                ["precondition = full", "empty beside zone_blocks"],
            ),
            (
                "zone_blocks=804:precondition=empty",
                ["zone_blocks = 804", "a multiple of 8"],
            ),
        ] {
            let error = read(FLASH, knobs).err().unwrap();
            for piece in pieces {
                assert!(error.contains(piece), "{knobs}: {error}");
            }
        }
    }
}
