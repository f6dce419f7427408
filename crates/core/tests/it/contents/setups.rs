//! What is tested: drives, placements with what they promise, schedulers.

use nearslot_core::config::{Assembly, DriveConfig, PartConfig, StackConfig};
use nearslot_core::contract::{Cache, Destage, Faults, Merging, Placement, Prefetch, Scheduler};
use nearslot_core::drive;
use nearslot_core::registry::{DriveEnv, Forgetful, VolumeEnv};
use nearslot_core::stack::{Lane, Stack};

use crate::support::with_buffer;

/// 6,000 turns a minute; 2,400 blocks on 48 tracks, six chunks of 4 KiB each.
const DISK: &str = "
    kind = 'hdd'
    rpm = 6000
    heads = 2
    cylinders = 24
    head_switch_ms = 0.8
    write_settle_ms = 0.4
    seek_ms = [[1, 1.0], [6, 2.0], [23, 5.0]]
    [[zones]]
    cylinders = [0, 23]
    sectors_per_track = 50
    track_skew_sectors = 6
    cylinder_skew_sectors = 8
";

/// A drive where every place is as good as every other.
const NULL: &str = "kind = 'null'\ncapacity_blocks = 2_400\nservice_us = 5000.0";

/// Flash: four dies, eight commands at a time, and so little over that it collects blocks all the
/// time.
const FLASH: &str = "
    kind = 'ssd'
    capacity_blocks = 2_400
    queue_depth = 8
    channels = 2
    dies_per_channel = 2
    planes_per_die = 1
    planes = 'apart'
    blocks_per_plane = 32
    pages_per_block = 4
    page_kib = 4
    map_kib = 4
    allocation = 'in-turn'
    read_us = 60
    program_us = 700
    erase_us = 3000
    channel_mb_s = 200
    suspension = { program = true, erase = true, takes_us = 20 }
    host = { mb_s = 500, full_duplex = false, command_us = 2, read_us = 10, write_us = 15 }
    cache = { kib = 64, mb_s = 1000, pages_at_once = 4, protected = false }
    collection = { start_percent = 5, urgent_percent = 4 }
";

/// Kinds of drives.
pub(crate) const DRIVES: [&str; 3] = ["disk", "complete disk", "null"];

/// A placement, and what of it the model has to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) place: &'static str,
    /// Copies of a block once nothing is left to do.
    pub(crate) copies: usize,
    /// Of those, on the platter before a write is answered.
    pub(crate) foreground: usize,
    /// Blocks that are written as a whole.
    pub(crate) chunk: u64,
    /// Chunks that may wait for delayed copies.
    pub(crate) buffer: usize,
    /// Which waiting I/Os become one command.
    pub(crate) merge: &'static str,
    /// What goes wrong on the drives.
    pub(crate) faults: &'static str,
    /// Whether drives look at guard and tag of each sector.
    pub(crate) protected: bool,
    /// What stays in memory, and what is brought there beforehand.
    pub(crate) memory: (&'static str, &'static str),
    /// What keeps writes.
    pub(crate) writes: &'static str,
    /// Volumes of clients, one behind the other.
    pub(crate) volumes: u64,
}

impl Setup {
    pub(crate) const fn new(place: &'static str, copies: usize, foreground: usize) -> Setup {
        Setup {
            place,
            copies,
            foreground,
            chunk: 8,
            buffer: 10_000,
            merge: "none",
            faults: "none",
            protected: false,
            memory: ("none", "none"),
            writes: "none",
            volumes: 1,
        }
    }

    /// Whether something may go wrong that protected drives see.
    fn is_seen(&self) -> bool {
        ["rot", "misdirected"]
            .iter()
            .any(|seen| self.faults.contains(seen))
    }

    /// The same with a cache and a prefetcher.
    pub(crate) const fn caching(self, cache: &'static str, prefetch: &'static str) -> Setup {
        Setup {
            memory: (cache, prefetch),
            ..self
        }
    }

    /// The same with a write buffer.
    pub(crate) const fn buffering(self, writes: &'static str) -> Setup {
        Setup { writes, ..self }
    }

    /// The same with so many volumes.
    const fn volumes(self, volumes: u64) -> Setup {
        Setup { volumes, ..self }
    }

    pub(crate) const fn chunk(self, chunk: u64) -> Setup {
        Setup { chunk, ..self }
    }

    const fn buffer(self, buffer: usize) -> Setup {
        Setup { buffer, ..self }
    }

    /// The first of the table with this placement.
    pub(crate) fn of(place: &str) -> &'static Setup {
        let found = SETUPS.iter().find(|setup| setup.place == place);
        found.unwrap_or_else(|| panic!("{place} is in no setup"))
    }

    /// The placement's name.
    pub(crate) fn name(&self) -> &'static str {
        self.place.split(':').next().unwrap_or_default()
    }

    /// Whether a map says where blocks lie: writes go anywhere, and what was discarded lies
    /// nowhere.
    pub(crate) fn maps(&self) -> bool {
        self.has_slots() || self.offers()
    }

    /// Whether writes are range writes.
    pub(crate) fn offers(&self) -> bool {
        self.name() == "offering"
    }

    /// The same, with drives cut into slots that are free or not.
    pub(crate) fn has_slots(&self) -> bool {
        matches!(self.name(), "eager" | "ew_array" | "distorted_mirror")
    }

    /// Whether a copy of each chunk has a home, to which it is moved.
    pub(crate) fn homes(&self) -> bool {
        self.name() == "distorted_mirror"
    }

    /// Whether writes to the same chunk follow each other.
    pub(crate) fn ordered(&self) -> bool {
        self.chunk > 1
    }

    /// Whether the map is kept in a log, for which changes of the map may wait.
    pub(crate) fn logs(&self) -> bool {
        self.place.contains("map=log") || self.place.contains("map=virtual_log")
    }

    /// Whether drives hold parities.
    pub(crate) fn parity(&self) -> bool {
        self.name() == "raid5"
    }

    /// Arrays that its drives make up, each with parities of its own.
    pub(crate) fn arrays(&self) -> usize {
        let mut knobs = self.place.split(':');
        let arrays = knobs.find_map(|knob| knob.strip_prefix("arrays="));
        arrays.map_or(1, |arrays| arrays.parse().expect("a number"))
    }

    /// Drives without a place in an array.
    pub(crate) fn spares(&self) -> usize {
        let mut knobs = self.place.split(':');
        let spares = knobs.find_map(|knob| knob.strip_prefix("spares="));
        spares.map_or(0, |spares| spares.parse().expect("a number"))
    }

    /// Whether spare time empties tracks.
    pub(crate) fn compacts(&self) -> bool {
        self.place.contains("compact=true")
    }

    /// Whether all free slots may be taken by copies that are away from home, or by writes whose
    /// change of the map is not written yet, so that moves home cannot wait.
    pub(crate) fn tight(&self) -> bool {
        let waits = self.place.contains("map=virtual_log") || self.place.contains("home=drive");
        let few = self.place.contains("dd=1.") || waits;
        self.homes() && few
    }

    /// Whether there is a cache: then a read that waited for a job which failed reads all again.
    pub(crate) fn caches(&self) -> bool {
        self.memory.0 != "none"
    }

    /// Whether each copy is on a drive of its own.
    pub(crate) fn spread(&self) -> bool {
        self.name() != "sr_array"
    }

    /// The whole stack over drives of a kind.
    pub(crate) fn build(&self, kind: &str, sched: &str, seed: u64) -> Assembly {
        let config = self.config(kind, sched, seed);
        let built = config.build();
        built.unwrap_or_else(|error| panic!("{} over {kind}: {error}", self.place))
    }

    /// The same over drives of the first kind that stand as their file says, with a placement that
    /// is wrapped into another one.
    pub(crate) fn build_over(
        &self,
        sched: &str,
        seed: u64,
        wrap: impl FnOnce(Box<dyn Placement>) -> Box<dyn Placement>,
    ) -> Assembly {
        let config = self.config("disk", sched, seed);
        let read = || drive::read("of the test", &config.drive.text, &[]).expect("it is valid");
        let (blueprint, _) = read();
        let built = config.parts.of::<dyn Placement>().build(&VolumeEnv {
            seed: config.seed,
            label: "place",
            names: crate::support::NAMES,
            blueprint: &*blueprint,
            identity: "",
            memo: &Forgetful,
            survivors: None,
        });
        let placement = wrap(built.expect("the setup names one"));
        let env = DriveEnv {
            seed: config.seed,
            label: "sched/0",
            blueprint: &*blueprint,
        };
        let lane = |_| Lane {
            scheduler: config
                .parts
                .of::<dyn Scheduler>()
                .build(&env)
                .expect("it is one"),
            oracle: blueprint.exact(),
            capacity: blueprint.capacity(),
            depth: 1,
            merging: Merging::None,
            lands: false,
            zones: None,
        };
        let lanes: Vec<Lane> = (0..placement.shape().drives).map(lane).collect();
        let drives = lanes.iter().map(|_| blueprint.drive()).collect();
        Assembly {
            stack: Stack::new(placement, lanes),
            drives,
            blueprint: read().0,
            given: config.clone(),
            effective: config,
        }
    }

    pub(crate) fn config(&self, kind: &str, sched: &str, seed: u64) -> StackConfig {
        let text = match kind {
            "disk" => DISK.to_owned(),
            "complete disk" => with_buffer(DISK),
            "null" => NULL.to_owned(),
            "sorting disk" => DISK.to_owned(),
            "flash" => FLASH.to_owned(),
            _ => panic!("no drive is called {kind}"),
        };
        let mut place: PartConfig = self.place.parse().expect("a part's name");
        // A host that offers answers when all copies are written.
        if self.copies > 1 && !self.offers() {
            let knobs = [
                ("foreground", self.foreground),
                ("buffer_chunks", self.buffer),
            ];
            let knobs = knobs.map(|(key, value)| format!("x:{key}={value}"));
            for knob in knobs {
                let knob: PartConfig = knob.parse().expect("a knob");
                place.knobs.extend(knob.knobs);
            }
        }
        let drive = DriveConfig {
            part: match kind {
                "sorting disk" => "of the test:queue_depth=6:queue_sched=satf"
                    .parse()
                    .expect("a drive"),
                _ if self.protected && self.is_seen() => {
                    "of the test:protection=on".parse().expect("a drive")
                }
                _ => PartConfig::named("of the test"),
            },
            text,
        };
        let over = StackConfig {
            volumes: self.volumes,
            ..StackConfig::over(drive, seed)
        };
        over.with::<dyn Scheduler>(sched.parse().expect("a part's name"))
            .with::<dyn Placement>(place)
            .with::<dyn Cache>(self.memory.0.parse().expect("a part's name"))
            .with::<dyn Prefetch>(self.memory.1.parse().expect("a part's name"))
            .with::<dyn Destage>(self.writes.parse().expect("a part's name"))
            .with::<Merging>(self.merge.parse().expect("a part's name"))
            .with::<dyn Faults>(self.faults.parse().expect("a part's name"))
    }
}

/// All placements, in many settings.
pub(crate) const SETUPS: &[Setup] = &[
    Setup::new("linear", 1, 1).chunk(1),
    Setup::new("stripe:disks=2:stripe_kib=4", 1, 1).chunk(1),
    Setup::new("stripe:disks=3:stripe_kib=3", 1, 1).chunk(1),
    Setup::new("mirror:disks=2:copies=1:stripe_kib=8", 1, 1),
    Setup::new("mirror:disks=2", 2, 1),
    Setup::new("mirror:disks=2", 2, 2),
    Setup::new("mirror:disks=4:stripe_kib=8", 2, 1).buffer(3),
    Setup::new("mirror:disks=3:copies=3", 3, 1),
    Setup::new("mirror:disks=3:copies=3", 3, 2).buffer(0),
    Setup::new("mirror:disks=3:copies=3", 3, 3),
    Setup::new("sr_array:ds=1:dr=2:stripe_kib=8", 2, 1),
    Setup::new("sr_array:ds=1.5:dr=2:stripe_kib=4", 2, 1).buffer(3),
    Setup::new("sr_array:ds=1:dr=2", 2, 2),
    Setup::new("sr_array:ds=1:dr=3", 3, 1),
    Setup::new("sr_array:ds=1:dr=3", 3, 2).buffer(0),
    Setup::new("eager:dilution=2", 1, 1),
    Setup::new("eager:dilution=1.004:aging=1", 1, 1),
    Setup::new("eager:dilution=1.3:chunk_kib=2", 1, 1).chunk(4),
    Setup::new("eager:dilution=1.5:chunk_kib=6", 1, 1).chunk(12),
    Setup::new("ew_array:dm=1:ds=1.5:stripe_kib=8", 1, 1),
    Setup::new("ew_array:dm=2:stripe_kib=8", 2, 1),
    Setup::new("ew_array:dm=2:stripe_kib=8", 2, 2),
    Setup::new("ew_array:dm=2:stripe_kib=8", 2, 1).buffer(0),
    Setup::new("ew_array:dm=2:stripe_kib=8", 2, 1).buffer(3),
    Setup::new("ew_array:dm=2:ds=1.98:dd=1.0101010101:stripe_kib=4", 2, 1),
    Setup::new(
        "ew_array:dm=2:ds=1.6:dd=1.25:stripe_kib=4:chunk_kib=2",
        2,
        1,
    )
    .chunk(4),
    Setup::new("ew_array:dm=3:stripe_kib=8", 3, 1),
    Setup::new("ew_array:dm=3:stripe_kib=8", 3, 2),
    Setup::new("ew_array:dm=3:stripe_kib=8", 3, 2).buffer(3),
    Setup::new("ew_array:dm=3:ds=1.98:dd=1.0101010101:stripe_kib=4", 3, 2).buffer(0),
    Setup::new("ew_array:dm=3:stripe_kib=8", 3, 3),
    Setup::new("eager:map=log:nvram_entries=8", 1, 1),
    Setup::new("ew_array:dm=2:stripe_kib=8:map=log:nvram_entries=4", 2, 1),
    Setup::new("ew_array:dm=2:stripe_kib=8:map=log:nvram_entries=40", 2, 2),
    Setup::new("ew_array:dm=3:stripe_kib=8:map=log:nvram_entries=8", 3, 2).buffer(3),
    Setup::new("eager:map=virtual_log", 1, 1),
    Setup::new("eager:dilution=1.01:map=virtual_log", 1, 1),
    Setup::new("eager:dilution=1.3:chunk_kib=2:map=virtual_log", 1, 1).chunk(4),
    Setup::new("ew_array:ds=1.5:stripe_kib=8:map=virtual_log", 1, 1),
    Setup::new("ew_array:dm=2:stripe_kib=8:map=virtual_log", 2, 1),
    Setup::new("ew_array:dm=2:stripe_kib=8:map=virtual_log", 2, 2),
    Setup::new(
        "ew_array:dm=3:ds=1.98:dd=1.0101010101:stripe_kib=4:map=virtual_log",
        3,
        2,
    )
    .buffer(3),
    Setup::new("eager:dilution=1.25:compact=true", 1, 1),
    Setup::new("eager:dilution=1.004:compact=true", 1, 1),
    Setup::new("eager:dilution=1.3:chunk_kib=2:compact=true", 1, 1).chunk(4),
    Setup::new(
        "eager:dilution=1.25:map=log:nvram_entries=8:compact=true",
        1,
        1,
    ),
    Setup::new("eager:dilution=1.25:map=virtual_log:compact=true", 1, 1),
    Setup::new("ew_array:dm=2:stripe_kib=8:compact=true", 2, 1),
    Setup::new(
        "ew_array:dm=2:stripe_kib=8:map=virtual_log:compact=true",
        2,
        2,
    ),
    Setup::new("ew_array:dm=3:stripe_kib=8:compact=true", 3, 2).buffer(3),
    Setup::new("distorted_mirror:stripe_kib=8", 2, 1),
    Setup::new("distorted_mirror:stripe_kib=8", 2, 2),
    Setup::new("distorted_mirror:stripe_kib=8", 2, 1).buffer(0),
    Setup::new("distorted_mirror:stripe_kib=8", 2, 2).buffer(3),
    Setup::new("distorted_mirror:ds=1.6:dd=1.25:stripe_kib=4", 2, 1),
    Setup::new("distorted_mirror:ds=1.6:dd=1.25:stripe_kib=4", 2, 2),
    Setup::new("distorted_mirror:ds=1.6:dd=1.25:stripe_kib=4", 2, 2).buffer(20),
    Setup::new("distorted_mirror:ds=1.9:dd=1.0526315789:stripe_kib=4", 2, 2),
    Setup::new("distorted_mirror:ds=1.9:dd=1.0526315789:stripe_kib=4", 2, 1).buffer(3),
    Setup::new(
        "distorted_mirror:stripe_kib=8:map=log:nvram_entries=4",
        2,
        1,
    ),
    Setup::new("distorted_mirror:stripe_kib=8:map=virtual_log", 2, 2),
    Setup::new(
        "distorted_mirror:ds=1.9:dd=1.0526315789:stripe_kib=4:map=virtual_log",
        2,
        1,
    )
    .buffer(3),
    Setup::new("concat:disks=3", 1, 1).chunk(1),
    Setup::new("offering", 1, 1),
    Setup::new("offering:within=disk:dilution=1.05", 1, 1),
    Setup::new("offering:within=group:dilution=2:unit_blocks=4", 1, 1).chunk(4),
    Setup::new("offering:within=disk:dilution=1.5:unit_blocks=12", 1, 1).chunk(12),
    Setup::new("eager:map=virtual_log:map_tracks=4", 1, 1),
    Setup::new("eager:dilution=1.25:map=log:home=drive:compact=true", 1, 1),
    Setup::new("ew_array:dm=2:stripe_kib=8:map=log:home=drive", 2, 1),
    Setup::new("ew_array:dm=3:stripe_kib=8:map=log:home=drive", 3, 2).buffer(3),
    Setup::new("distorted_mirror:stripe_kib=8:map=log:home=drive", 2, 2),
    Setup::new("raid5:disks=3:strip_kib=2", 1, 1),
    Setup::new("raid5:disks=5:strip_kib=4", 1, 1).chunk(32),
    Setup::new("raid5:disks=7:strip_kib=2", 1, 1).chunk(24),
    Setup::new("raid5:disks=8:arrays=2:strip_kib=3:extent_stripes=3", 1, 1).chunk(18),
    Setup::new("raid5:disks=6:spares=1:strip_kib=4", 1, 1).chunk(32),
    Setup::new("raid5:disks=9:spares=1:arrays=2:strip_kib=2", 1, 1).chunk(12),
    Setup::new(
        "raid5:disks=10:spares=2:arrays=2:strip_kib=3:extent_stripes=3:rebuild_mib_s=0.5",
        1,
        1,
    )
    .chunk(18),
    Setup::new("offering:disks=2:copies=2", 2, 2),
    Setup::new("offering:within=disk:dilution=1.05:disks=3:copies=3", 3, 3),
    Setup::new(
        "offering:dilution=1.5:unit_blocks=4:disks=4:copies=2:stripe_kib=8",
        2,
        2,
    )
    .chunk(4),
    Setup::new("offering:disks=3:stripe_kib=4", 1, 1),
];

/// Placements under caches, each of which is so small that lines leave all the time.
pub(crate) const CACHED: &[Setup] = &[
    Setup::new("linear", 1, 1)
        .chunk(1)
        .caching("lru:size=40lines", "none"),
    Setup::new("linear", 1, 1)
        .chunk(1)
        .caching("fifo:size=40lines:writes=update", "fixed:track_kib=8"),
    Setup::new("linear", 1, 1).chunk(1).caching(
        "lru:size=20lines:line_kib=8:stage=pages",
        "sarc:track_kib=8:degree=4:threshold=2:trigger=1",
    ),
    Setup::new("linear", 1, 1).chunk(1).caching(
        "sarc:size=12lines:line_kib=16:stage=pages",
        "sarc:track_kib=16:degree=3:threshold=2:trigger=1",
    ),
    Setup::new("stripe:disks=3:stripe_kib=3", 1, 1)
        .chunk(1)
        .caching(
            "lru_bottom:size=20lines:line_kib=16",
            "sarc:track_kib=32:degree=2:threshold=2:trigger=0",
        ),
    Setup::new("concat:disks=3", 1, 1).chunk(1).caching(
        "s3_fifo:size=60lines",
        "sarc:degree=4:trigger=1:remedy=false",
    ),
    Setup::new("mirror:disks=2", 2, 1)
        .caching("arc:size=30lines:line_kib=8:hit_us=500", "fixed:degree=2"),
    Setup::new("mirror:disks=2", 2, 2).caching("w_tinylfu:size=50lines:hit_us=0", "none"),
    Setup::new("sr_array:ds=1:dr=2:stripe_kib=8", 2, 1)
        .caching("slru:size=50lines", "sarc:track_kib=8"),
    Setup::new("eager:dilution=2", 1, 1).caching(
        "car:size=30lines:line_kib=8:stage=pages",
        "sarc:track_kib=8:degree=4:trigger=1:test=own:threshold=2",
    ),
    Setup::new("eager:dilution=1.5:chunk_kib=6", 1, 1)
        .chunk(12)
        .caching("lirs:size=50lines", "sarc:mode=sync:degree=2:threshold=2"),
    Setup::new("ew_array:dm=2:stripe_kib=8", 2, 1)
        .caching("two_q:size=50lines:writes=update", "fixed:track_kib=4"),
    Setup::new("ew_array:dm=3:stripe_kib=8:map=log:nvram_entries=8", 3, 2)
        .buffer(3)
        .caching("clock:size=10lines:line_kib=32", "sarc:degree=4:trigger=1"),
    Setup::new("distorted_mirror:stripe_kib=8", 2, 2).caching("sieve:size=1lines", "none"),
    Setup::new("eager:dilution=1.25:compact=true", 1, 1).caching(
        "lru:size=2lines:line_kib=256",
        "sarc:track_kib=256:degree=1:trigger=0",
    ),
    Setup::new("linear", 1, 1).chunk(1).caching(
        "lru:size=20lines:line_kib=8:stage=pages",
        "amp:track_kib=16:most=4:asynchronous=1:threshold=1",
    ),
    Setup::new("linear", 1, 1).chunk(1).caching(
        "w_tinylfu:size=24lines:line_kib=8",
        "amp:track_kib=32:most=3:asynchronous=0:threshold=1:spare=last",
    ),
    Setup::new("mirror:disks=2", 2, 1).caching(
        "arc:size=30lines",
        "amp:track_kib=16:most=5:asynchronous=2:threshold=1:spare=last",
    ),
    Setup::new("stripe:disks=3:stripe_kib=3", 1, 1)
        .chunk(1)
        .caching(
            "sarc:size=12lines:line_kib=16",
            "amp:track_kib=16:most=4:asynchronous=1:threshold=2",
        ),
    // Volumes that are no whole number of pages long: of 75 blocks, and of 225.
    Setup::new("linear", 1, 1).chunk(1).volumes(32).caching(
        "lru:size=40lines:line_kib=8",
        "sarc:track_kib=16:degree=2:threshold=2:trigger=1",
    ),
    Setup::new("concat:disks=3", 1, 1)
        .chunk(1)
        .volumes(32)
        .caching(
            "sarc:size=24lines:line_kib=16:stage=pages",
            "amp:track_kib=16:most=4:asynchronous=1:threshold=1",
        ),
];

/// Placements under write buffers, with caches and without, each of which is so small that writes
/// wait.
pub(crate) const BUFFERED: &[Setup] = &[
    Setup::new("linear", 1, 1)
        .chunk(1)
        .buffering("lrw:size=40lines:unit_kib=16:write_us=20"),
    Setup::new("linear", 1, 1)
        .chunk(1)
        .buffering("cscan:size=12lines:unit_kib=4:low_percent=0:high_percent=1"),
    Setup::new("linear", 1, 1)
        .chunk(1)
        .caching("lru:size=40lines", "none")
        .buffering("wow:size=30lines:unit_kib=8:full_units=0"),
    Setup::new("linear", 1, 1)
        .chunk(1)
        .caching("fifo:size=40lines:writes=update", "fixed:track_kib=8")
        .buffering("lrw:size=60lines"),
    Setup::new("linear", 1, 1)
        .chunk(1)
        .caching(
            "sarc:size=12lines:line_kib=16:stage=pages",
            "sarc:track_kib=16:degree=3:threshold=2:trigger=1",
        )
        .buffering("wow:size=20lines:unit_kib=16:write_us=0:destage_units=1"),
    Setup::new("stripe:disks=3:stripe_kib=3", 1, 1)
        .chunk(1)
        .caching(
            "lru_bottom:size=20lines:line_kib=16",
            "sarc:track_kib=32:degree=2:threshold=2:trigger=0",
        )
        .buffering("cscan:size=50lines:unit_kib=12"),
    Setup::new("concat:disks=3", 1, 1)
        .chunk(1)
        .buffering("wow:size=100lines:low_percent=20:high_percent=60"),
    Setup::new("mirror:disks=2", 2, 1)
        .caching("arc:size=30lines:line_kib=8:hit_us=500", "fixed:degree=2")
        .buffering("lrw:size=40lines:unit_kib=8:low_percent=0:high_percent=50"),
    Setup::new("mirror:disks=2", 2, 2).buffering("wow:size=40lines:unit_kib=16:read_us=0"),
    Setup::new("sr_array:ds=1:dr=2:stripe_kib=8", 2, 1)
        .caching("slru:size=50lines", "sarc:track_kib=8")
        .buffering("cscan:size=25lines:unit_kib=16"),
    Setup::new("eager:dilution=2", 1, 1)
        .caching(
            "car:size=30lines:line_kib=8:stage=pages",
            "sarc:track_kib=8:degree=4:trigger=1:test=own:threshold=2",
        )
        .buffering("lrw:size=30lines:unit_kib=8:low_percent=10:high_percent=20"),
    Setup::new("eager:dilution=1.5:chunk_kib=6", 1, 1)
        .chunk(12)
        .caching("lirs:size=50lines", "sarc:mode=sync:degree=2:threshold=2")
        .buffering("wow:size=20lines:unit_kib=4"),
    Setup::new("ew_array:dm=2:stripe_kib=8", 2, 1)
        .buffering("cscan:size=50lines:unit_kib=32:destage_units=3"),
    Setup::new("ew_array:dm=3:stripe_kib=8:map=log:nvram_entries=8", 3, 2)
        .buffer(3)
        .caching("clock:size=10lines:line_kib=32", "sarc:degree=4:trigger=1")
        .buffering("lrw:size=7lines:unit_kib=8"),
    Setup::new("distorted_mirror:stripe_kib=8", 2, 2)
        .buffering("wow:size=1lines:unit_kib=4:retries=0"),
    Setup::new("eager:dilution=1.25:compact=true", 1, 1)
        .buffering("cscan:size=64lines:unit_kib=8:write_us=5000"),
    Setup::new("linear", 1, 1)
        .chunk(1)
        .caching("lru:size=40lines", "none")
        .buffering("stow:size=50lines:unit_kib=16:run_kib=8:full_units=0:low_percent=20"),
    Setup::new("raid5:disks=5:strip_kib=4", 1, 1)
        .chunk(32)
        .buffering("stow:size=60lines:run_kib=16:hysteresis_percent=10:sequence_percent=20"),
    Setup::new("raid5:disks=5:strip_kib=4", 1, 1)
        .chunk(32)
        .buffering("lrw:size=40lines:unit_kib=16"),
    Setup::new("raid5:disks=7:strip_kib=2", 1, 1)
        .chunk(24)
        .caching(
            "sarc:size=12lines:line_kib=16",
            "amp:track_kib=16:most=4:asynchronous=1:threshold=1",
        )
        .buffering("wow:size=60lines:unit_kib=12:low_percent=30:high_percent=60"),
    // Volumes that are no whole number of pages long: of 75 blocks, and of 225.
    Setup::new("linear", 1, 1)
        .chunk(1)
        .volumes(32)
        .caching("lru:size=40lines", "fixed:degree=2:track_kib=8")
        .buffering("lrw:size=40lines:unit_kib=12:write_us=20"),
    Setup::new("concat:disks=3", 1, 1)
        .chunk(1)
        .volumes(32)
        .buffering("stow:size=50lines:unit_kib=20:run_kib=16:low_percent=20"),
];
