//! Eager writing on one drive: a write goes to whatever slot is free where the heads are.
//!
//! A map in memory says for every block of the volume in which slot of the drive it lies: four bytes each. A write is
//! planned without an address; the scheduler binds it at dispatch, and when it is done the map points to the new slot and
//! the old one becomes free. Writes are whole granules; where a request covers only a part of one, the rest is read first.
//! Dilution is space for speed: with a dilution of 2 half of the slots are free, and a free one is hardly ever far.
//!
//! A slot that was read from when its block moved becomes free only when that read is done, or the read could find another
//! block there. Blocks begin at random slots; `aging` overwrites the whole volume so many times before the run, since
//! sweeping writers leave free slots in other patterns than chance does.
//!
//! Source: Zhang, Yu, Krishnamurthy and Wang, "Configuring and scheduling an eager-writing disk array for a transaction
//! processing workload", FAST 2002, sections 2 and 5; the map: section 5.1. Cost: O(log n) per granule; four bytes a
//! granule, and a bit and 26 bytes a track for what is free.

use std::sync::Arc;

use slab::Slab;

use crate::contract::{Drives, Placement};
use crate::freemap::{FreeMap, Slot, Tracks, Uncountable};
use crate::ids::DriveId;
use crate::io::{Command, Cost, DriveDone, Plan, PlannedIo, Tag, Target};
use crate::registry::{ConfigError, Env, Knob, Knobs, Spec};
use crate::request::{Op, Request, Status};
use crate::rng::Rng;
use crate::search::Sweep;
use crate::sorted::{Keyed, Sorted};
use crate::units::{BLOCK_BYTES, Blocks, Instant, Pba};

/// No slot: the block was never written, or is no longer needed.
const NOWHERE: Slot = Slot(u32::MAX);

/// The only drive.
const DRIVE: DriveId = DriveId(0);

/// Set in the tag of a write; the rest is its number. Without it, the slot that is read.
const WRITE: u64 = 1 << 63;

struct Eager {
    granule: Blocks,
    state: State,
    writes: Slab<Writing>,
    readers: Sorted<Readers>,
}

/// Where blocks lie and what is free: what aging prepares.
#[derive(Clone)]
struct State {
    /// By granule of the volume.
    map: Vec<Slot>,
    free: FreeMap,
}

/// A write under way.
struct Writing {
    granule: u32,
    /// Where it goes, once that is known.
    slot: Slot,
}

/// Reads under way from a slot.
#[derive(Clone, Copy, Debug)]
struct Readers {
    slot: Slot,
    count: u32,
    /// The block has moved: the slot becomes free with the last of them.
    left: bool,
}

impl Keyed for Readers {
    type Key = Slot;

    #[inline]
    fn key(&self) -> Slot {
        self.slot
    }
}

impl Eager {
    fn new(knobs: &Knobs, env: &Env<'_>) -> Result<Eager, ConfigError> {
        let granule = Blocks(knobs.integer("granule_kib") * 1024 / BLOCK_BYTES);
        let key = format!(
            "eager {granule} {} {} {} {}",
            knobs.number("dilution"),
            knobs.number("aging"),
            env.seed,
            env.identity
        );
        let prepared = env
            .memo
            .get(&key, &mut || Arc::new(State::prepare(granule, knobs, env)));
        let prepared = prepared.downcast_ref::<Result<State, ConfigError>>();
        let state = prepared.expect("the key names the kind").clone()?;
        Ok(Eager {
            granule,
            state,
            writes: Slab::new(),
            readers: Sorted::default(),
        })
    }

    /// The part of a request in one of its granules: granule, first block within it, blocks.
    fn parts(&self, request: &Request) -> impl Iterator<Item = (u32, Blocks, Blocks)> + use<> {
        let (start, end, size) = (
            request.extent.start.0,
            request.extent.end().0,
            self.granule.0,
        );
        (start / size..end.div_ceil(size)).map(move |granule| {
            let from = start.max(granule * size);
            let to = end.min((granule + 1) * size);
            (
                granule as u32,
                Blocks(from - granule * size),
                Blocks(to - from),
            )
        })
    }

    /// A read of a part of a granule, unless it lies nowhere.
    fn read(&mut self, granule: u32, from: Blocks, len: Blocks) -> Option<PlannedIo> {
        let slot = self.state.map[granule as usize];
        if slot == NOWHERE {
            return None;
        }
        let mut readers = self.readers.take(&slot).unwrap_or(Readers {
            slot,
            count: 0,
            left: false,
        });
        readers.count += 1;
        self.readers.insert(readers);
        let at = self.state.free.tracks().at(slot) + from;
        let mut planned = PlannedIo::new(DRIVE, Op::Read, Target::At(at), len);
        planned.tag = Tag(slot.0.into());
        Some(planned)
    }

    fn write(&mut self, granule: u32) -> PlannedIo {
        let slot = self.state.map[granule as usize];
        // Schedulers that go by address take it for a write in place.
        let near = match slot {
            NOWHERE => Pba(0),
            _ => self.state.free.tracks().at(slot),
        };
        let key = self.writes.insert(Writing {
            granule,
            slot: NOWHERE,
        });
        let mut planned = PlannedIo::new(DRIVE, Op::Write, Target::Open(near), self.granule);
        planned.tag = Tag(WRITE | key as u64);
        planned
    }

    /// A block has left a slot.
    fn vacate(&mut self, slot: Slot) {
        if slot == NOWHERE {
            return;
        }
        match self.readers.take(&slot) {
            Some(readers) => self.readers.insert(Readers {
                left: true,
                ..readers
            }),
            None => self.state.free.release(slot),
        }
    }

    fn read_done(&mut self, slot: Slot) {
        let mut readers = self.readers.take(&slot).expect("a read is under way there");
        readers.count -= 1;
        if readers.count > 0 {
            self.readers.insert(readers);
        } else if readers.left {
            self.state.free.release(slot);
        }
    }

    fn write_done(&mut self, key: usize, status: Status) {
        let Writing { granule, slot } = self.writes.remove(key);
        match status {
            Status::Done => {
                let old = std::mem::replace(&mut self.state.map[granule as usize], slot);
                self.vacate(old);
            }
            Status::Failed => self.state.free.release(slot),
        }
    }
}

impl Placement for Eager {
    fn plan(&mut self, _now: Instant, request: &Request, _drives: &dyn Drives, out: &mut Plan) {
        match request.op {
            Op::Flush => {
                let flush = PlannedIo::new(DRIVE, Op::Flush, Target::At(Pba(0)), Blocks(0));
                out.ios.push(flush);
            }
            Op::Read => {
                for (granule, from, len) in self.parts(request) {
                    out.ios.extend(self.read(granule, from, len));
                }
            }
            Op::Write => {
                for (granule, _, len) in self.parts(request) {
                    let whole = self.granule;
                    // What the request does not cover is read first.
                    let rest = (len < whole).then(|| self.read(granule, Blocks(0), whole));
                    let before = rest.flatten().map(|read| {
                        out.ios.push(read);
                        (out.ios.len() - 1) as u16
                    });
                    let mut write = self.write(granule);
                    write.after = before;
                    out.ios.push(write);
                }
            }
            Op::Discard => {
                for (granule, _, len) in self.parts(request) {
                    if len == self.granule {
                        let entry = &mut self.state.map[granule as usize];
                        let slot = std::mem::replace(entry, NOWHERE);
                        self.vacate(slot);
                    }
                }
            }
            Op::Seek => panic!("no client moves the arm"),
        }
    }

    fn free(&self, _drive: DriveId) -> Option<&FreeMap> {
        Some(&self.state.free)
    }

    fn bind(&mut self, _now: Instant, tag: Tag, _drive: DriveId, slot: Slot) {
        assert!(tag.0 & WRITE != 0, "only writes are open");
        self.state.free.take(slot);
        self.writes[(tag.0 & !WRITE) as usize].slot = slot;
    }

    fn done(
        &mut self,
        _now: Instant,
        tag: Tag,
        _drive: DriveId,
        done: &DriveDone,
        _out: &mut Plan,
    ) {
        match done.op {
            Op::Read => self.read_done(Slot(tag.0 as u32)),
            Op::Write => self.write_done((tag.0 & !WRITE) as usize, done.status),
            _ => {}
        }
    }

    fn capacity(&self) -> Blocks {
        Blocks(self.state.map.len() as u64 * self.granule.0)
    }

    fn granule(&self) -> Blocks {
        self.granule
    }

    /// Every slot is free, or holds a block, or is being written, or is still read from.
    fn audit(&self) {
        self.state.free.audit();
        let bound = |write: &Writing| (write.slot != NOWHERE).then_some(write.slot);
        let left = |readers: &Readers| readers.left.then_some(readers.slot);
        let mapped = self
            .state
            .map
            .iter()
            .copied()
            .filter(|slot| *slot != NOWHERE);
        let writing = self.writes.iter().filter_map(|(_, write)| bound(write));
        let taken = mapped
            .chain(writing)
            .chain(self.readers.iter().filter_map(left));
        let mut taken: Vec<Slot> = taken.collect();
        taken.sort_unstable();
        assert!(
            taken.windows(2).all(|pair| pair[0] < pair[1]),
            "a slot is used twice"
        );
        assert!(
            taken.iter().all(|slot| !self.state.free.has(*slot)),
            "a free slot is used"
        );
        let usable = self.state.free.tracks().usable();
        assert_eq!(
            taken.len() as u64 + self.state.free.free(),
            usable,
            "a slot got lost"
        );
    }
}

impl State {
    /// Blocks at random slots, then overwritten by sweeps.
    fn prepare(granule: Blocks, knobs: &Knobs, env: &Env<'_>) -> Result<State, ConfigError> {
        let tracks = env.blueprint.tracks(granule);
        let tracks = Arc::new(tracks.map_err(|why| uncountable(granule, why))?);
        let dilution = knobs.number("dilution");
        let live = (tracks.usable() as f64 / dilution) as u64;
        if live == 0 {
            let allowed = format!("at most the drive's {} slots", tracks.usable());
            return Err(ConfigError::value(
                "dilution",
                &dilution.to_string(),
                &allowed,
            ));
        }
        let mut rng = Rng::stream(env.seed, env.label);
        let mut state = State::scatter(tracks, live as usize, &mut rng);
        let times = knobs.number("aging");
        state.age(libm::round(times * live as f64) as u64, env, &mut rng);
        Ok(state)
    }

    /// `live` granules at random slots.
    fn scatter(tracks: Arc<Tracks>, live: usize, rng: &mut Rng) -> State {
        let mut free = FreeMap::empty(tracks);
        let mut slots: Vec<Slot> = free.iter().collect();
        for index in 0..live {
            let other = index as u64 + rng.below((slots.len() - index) as u64);
            slots.swap(index, other as usize);
        }
        slots.truncate(live);
        slots.shrink_to_fit();
        slots.iter().for_each(|slot| free.take(*slot));
        State { map: slots, free }
    }

    /// Overwrites random granules one after the other, each in the first free slot of a sweep.
    fn age(&mut self, writes: u64, env: &Env<'_>, rng: &mut Rng) {
        let mut oracle = env.blueprint.exact();
        let (mut sweep, mut now) = (Sweep::default(), Instant::ZERO);
        let len = self.free.tracks().slot_blocks();
        for _ in 0..writes {
            oracle.advance(now);
            let band = oracle.track_band(self.free.tracks(), oracle.head());
            let search = sweep.search(now, band, &self.free);
            let Some(landing) = oracle.nearest_free(&search, &self.free) else {
                return;
            };
            let foresight = oracle.foresee(now, Op::Write, landing.at, len);
            let command = Command {
                io: Command::ARM,
                op: Op::Write,
                at: landing.at,
                len,
            };
            oracle.started(now, &command);
            now = foresight.end;
            oracle.observed(now, &done(&command));
            self.free.take(landing.slot);
            let granule = rng.below(self.map.len() as u64) as usize;
            let old = std::mem::replace(&mut self.map[granule], landing.slot);
            self.free.release(old);
        }
    }
}

/// A completion that tells nothing but that.
fn done(command: &Command) -> DriveDone {
    let Command { io, op, at, len } = *command;
    DriveDone {
        io,
        op,
        at,
        len,
        status: Status::Done,
        cost: Cost::default(),
        head: None,
    }
}

fn uncountable(granule: Blocks, why: Uncountable) -> ConfigError {
    let kib = (granule.bytes() / 1024).to_string();
    let allowed = match why {
        Uncountable::None => "no more than a track of the drive holds",
        Uncountable::TooMany => "so many that 32 bits number the drive's slots",
    };
    ConfigError::value("eager.granule_kib", &kib, allowed)
}

pub(super) static SPEC: Spec<dyn Placement> = Spec {
    name: "eager",
    aliases: &["eager_writing"],
    summary: "one drive, writes go to the free slot nearest to the heads",
    source: "Zhang, Yu, Krishnamurthy and Wang, Configuring and scheduling an eager-writing disk array, FAST 2002",
    knobs: &[
        Knob::number(
            "dilution",
            2.0,
            1.001..=1e6,
            "slots of the drive per granule of the volume: 2 leaves half of them free",
        ),
        Knob::integer(
            "granule_kib",
            4,
            1..=1_024,
            "KiB that are written as a whole",
        ),
        Knob::number(
            "aging",
            0.0,
            0.0..=1_000.0,
            "times that the volume was overwritten before the run begins",
        ),
    ],
    build: |knobs, env| Ok(Box::new(Eager::new(knobs, env)?)),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Oracle;
    use crate::drive;
    use crate::registry::Forgetful;

    /// Nothing here looks at the drives.
    struct Unseen;

    impl Drives for Unseen {
        fn idle(&self, _drive: DriveId) -> bool {
            panic!("one drive needs no choice")
        }

        fn waiting(&self, _drive: DriveId) -> usize {
            panic!("one drive needs no choice")
        }

        fn oracle(&self, _drive: DriveId) -> &dyn Oracle {
            panic!("one drive needs no choice")
        }
    }

    /// A drive of 256 slots.
    fn eager(settings: &str) -> Result<Eager, ConfigError> {
        let text = "kind = 'null'\ncapacity_blocks = 2048\nservice_us = 100.0";
        let (blueprint, _) = drive::read("toy", text, &[]).unwrap();
        let part: crate::config::PartConfig = format!("eager:{settings}").parse().unwrap();
        let env = Env {
            seed: 1,
            label: "place",
            blueprint: &*blueprint,
            capacity: blueprint.capacity(),
            identity: text,
            memo: &Forgetful,
        };
        Eager::new(&Knobs::check("eager", SPEC.knobs, &part.knobs)?, &env)
    }

    fn plan(placement: &mut Eager, op: Op, start: u64, len: u64) -> Vec<PlannedIo> {
        let request = Request::new(0, op, start, len, Instant::ZERO);
        let mut out = Plan::default();
        placement.plan(Instant::ZERO, &request, &Unseen, &mut out);
        out.ios
    }

    fn finish(placement: &mut Eager, io: &PlannedIo, status: Status) {
        let command = Command {
            io: Command::ARM,
            op: io.op,
            at: Pba(0),
            len: io.len,
        };
        let ended = DriveDone {
            status,
            ..done(&command)
        };
        placement.done(Instant::ZERO, io.tag, DRIVE, &ended, &mut Plan::default());
    }

    #[test]
    fn half_of_a_drive_is_free_with_a_dilution_of_two() {
        for aging in ["0", "3"] {
            let placement = eager(&format!("dilution=2:aging={aging}")).unwrap();
            assert_eq!(placement.capacity(), Blocks(128 * 8));
            assert_eq!(placement.state.free.free(), 128);
            placement.audit();
        }
        let three = eager("dilution=3").unwrap();
        assert_eq!(
            (three.capacity(), three.state.free.free()),
            (Blocks(85 * 8), 171)
        );
    }

    #[test]
    fn a_part_of_a_granule_is_written_after_the_rest_was_read() {
        let mut placement = eager("dilution=2").unwrap();
        let ios = plan(&mut placement, Op::Write, 12, 8);
        let shape: Vec<_> = ios.iter().map(|io| (io.op, io.len.0, io.after)).collect();
        let expected = [
            (Op::Read, 8, None),
            (Op::Write, 8, Some(0)),
            (Op::Read, 8, None),
            (Op::Write, 8, Some(2)),
        ];
        assert_eq!(shape, expected);
        assert!(matches!(ios[1].target, Target::Open(_)));
    }

    #[test]
    fn what_was_discarded_lies_nowhere() {
        let mut placement = eager("dilution=2").unwrap();
        assert!(plan(&mut placement, Op::Discard, 4, 20).is_empty());
        placement.audit();
        assert_eq!(placement.state.free.free(), 130, "two whole granules");
        assert_eq!(plan(&mut placement, Op::Read, 0, 32).len(), 2);
        assert_eq!(
            plan(&mut placement, Op::Write, 10, 1).len(),
            1,
            "nothing to read first"
        );
    }

    #[test]
    fn a_failed_write_leaves_the_old_block() {
        let mut placement = eager("dilution=2").unwrap();
        let (before, write) = (
            placement.state.map[3],
            plan(&mut placement, Op::Write, 24, 8)[0],
        );
        let slot = placement.state.free.iter().next().unwrap();
        placement.bind(Instant::ZERO, write.tag, DRIVE, slot);
        placement.audit();
        finish(&mut placement, &write, Status::Failed);
        assert_eq!(placement.state.map[3], before);
        assert!(placement.state.free.has(slot));
        placement.audit();
    }

    #[test]
    fn impossible_configurations_are_named() {
        let error = |settings: &str| eager(settings).err().unwrap().to_string();
        assert!(
            error("dilution=1").contains("dilution = 1 "),
            "{}",
            error("dilution=1")
        );
        assert!(error("dilution=1000").contains("at most the drive's 256 slots"));
        let text = "eager.granule_kib = 1024 (allowed: no more than a track of the drive holds)";
        let small = "kind = 'null'\ncapacity_blocks = 100\nservice_us = 100.0";
        let (blueprint, _) = drive::read("toy", small, &[]).unwrap();
        let why = blueprint.tracks(Blocks(2048)).unwrap_err();
        assert_eq!(uncountable(Blocks(2048), why).to_string(), text);
    }

    /// I/Os in any order against a model of what each slot holds: no read finds another block than it was planned for.
    #[test]
    fn no_slot_is_reused_while_somebody_reads_it() {
        let mut placement = eager("dilution=1.05").unwrap();
        let mut rng = Rng::stream(7, "model");
        let mut holds: Vec<Option<u32>> = vec![None; 256];
        for (granule, slot) in placement.state.map.iter().enumerate() {
            holds[slot.0 as usize] = Some(granule as u32);
        }
        let mut pending: Vec<(PlannedIo, u32)> = Vec::new();
        let mut reads = 0;
        for _ in 0..20_000 {
            let granule = rng.below(placement.state.map.len() as u64) as u32;
            let writes = pending.iter().filter(|(io, _)| io.op == Op::Write);
            let full = writes.count() as u64 >= placement.state.free.free();
            let written = |io: &(PlannedIo, u32)| io.1 == granule && io.0.op == Op::Write;
            match rng.below(5) {
                0 if !full && !pending.iter().any(written) => {
                    let ios = plan(&mut placement, Op::Write, u64::from(granule) * 8, 8);
                    pending.push((ios[0], granule));
                }
                1 => {
                    let ios = plan(&mut placement, Op::Read, u64::from(granule) * 8, 8);
                    pending.extend(ios.first().map(|io| (*io, granule)));
                }
                2 if rng.chance(0.05) && !pending.iter().any(written) => {
                    plan(&mut placement, Op::Discard, u64::from(granule) * 8, 8);
                }
                _ if !pending.is_empty() => {
                    let (io, granule) =
                        pending.swap_remove(rng.below(pending.len() as u64) as usize);
                    if io.op == Op::Write {
                        let free: Vec<Slot> = placement.state.free.iter().collect();
                        let Some(slot) = free.get(rng.below(free.len().max(1) as u64) as usize)
                        else {
                            pending.push((io, granule));
                            continue;
                        };
                        placement.bind(Instant::ZERO, io.tag, DRIVE, *slot);
                        holds[slot.0 as usize] = Some(granule);
                    } else {
                        reads += 1;
                        assert_eq!(holds[io.tag.0 as usize], Some(granule));
                    }
                    finish(&mut placement, &io, Status::Done);
                }
                _ => {}
            }
            placement.audit();
        }
        assert!(reads > 2_000, "{reads} reads");
    }
}
