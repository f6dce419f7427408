//! The golden scenarios, in groups: one for every part of every table, some for what no part
//! decides.

use std::collections::BTreeSet;
use std::fmt;

use nearslot_core::registry::{Kind, Spec};
use nearslot_core::{cache, claims, destage, drive, faults, merge, place, prefetch, sched};
use nearslot_lab::capacity::Find;
use nearslot_lab::workload;

/// Scenarios that are recorded together.
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) scenes: Vec<Scene>,
}

/// A scenario, what of it is varied, and what is asked of it.
pub(crate) struct Scene {
    /// A scenario file.
    pub(crate) text: String,
    pub(crate) vary: &'static [&'static str],
    pub(crate) ask: Ask,
}

/// What is asked.
#[derive(Clone, Copy)]
pub(crate) enum Ask {
    Compare,
    Capacity { slo: &'static str, find: Find },
}

impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text)?;
        for vary in self.vary {
            writeln!(f, "--vary {vary}")?;
        }
        match self.ask {
            Ask::Compare => Ok(()),
            Ask::Capacity { slo, find } => writeln!(f, "capacity --slo '{slo}' --find {find:?}"),
        }
    }
}

impl Scene {
    /// A scenario from settings (`sched=satf drive=disk.toml`) and a load.
    fn new(settings: &str, load: &str) -> Scene {
        let settings = settings.split_whitespace();
        let lines = settings.map(|setting| {
            let (key, value) = setting.split_once('=').expect("key=value");
            match key {
                "seed" => format!("{key} = {value}\n"),
                _ => format!("{key} = '{value}'\n"),
            }
        });
        Scene {
            text: format!("{}{load}\n", lines.collect::<String>()),
            vary: &[],
            ask: Ask::Compare,
        }
    }

    fn vary(self, vary: &'static [&'static str]) -> Scene {
        Scene { vary, ..self }
    }

    fn capacity(self, slo: &'static str, find: Find) -> Scene {
        let ask = Ask::Capacity { slo, find };
        Scene { ask, ..self }
    }
}

/// A synthetic workload.
fn synthetic(word: &str) -> String {
    format!("workload = '{word}'")
}

/// A trace with settings (`replay='closed' depth=8`).
fn trace(file: &str, settings: &str) -> String {
    let lines: Vec<&str> = settings.split_whitespace().collect();
    format!("[trace]\nfiles = ['{file}']\n{}", lines.join("\n"))
}

/// All groups.
pub(crate) fn groups() -> Vec<Group> {
    let parts = [
        schedulers(),
        placements(),
        oracles(),
        claims(),
        mergings(),
        caches(),
        prefetchers(),
        buffers(),
        faults(),
        catalog(),
        kinds(),
        workloads(),
    ];
    let others = [replays(), loads(), verdicts(), capacities()];
    parts.into_iter().flatten().chain(others).collect()
}

fn group(name: &str, scenes: Vec<Scene>) -> Group {
    Group {
        name: name.to_owned(),
        scenes,
    }
}

/// Settings of each part of a table: what `settings` has for it, by its name, and else its
/// defaults.
fn settings_of<'a, T: Kind + ?Sized>(
    kind: &str,
    table: &[&Spec<T>],
    settings: &[&'a [&'a str]],
) -> Vec<(String, Vec<String>)> {
    let name_of = |word: &str| word.split(':').next().unwrap_or_default().to_owned();
    let known: BTreeSet<&str> = table.iter().map(|spec| spec.name).collect();
    for word in settings.iter().flat_map(|settings| settings.iter()) {
        assert!(
            known.contains(name_of(word).as_str()),
            "no {kind} is {word}"
        );
    }
    let of = |spec: &&Spec<T>| {
        let words = settings.iter().flat_map(|settings| settings.iter());
        let own = words.filter(|word| name_of(word) == spec.name);
        let mut own: Vec<String> = own.map(|word| (*word).to_owned()).collect();
        if own.is_empty() {
            own.push(spec.name.to_owned());
        }
        (format!("{kind}-{}", spec.name), own)
    };
    table.iter().map(of).collect()
}

/// Settings of schedulers beside their defaults.
const SCHEDULERS: &[&str] = &[
    "aged_satf",
    "aged_satf:weight_ms_per_s=30",
    "mq-deadline",
    "mq-deadline:read_expire_ms=20:write_expire_ms=60:fifo_batch=2",
    "mq-deadline:nr_requests=8:async_depth=3",
    "bfq",
    "bfq:low_latency=false:nr_requests=8:writes=own",
    "bfq:strict_guarantees=true",
    "slack",
    "slack:targets_ms=0=60:admission=alone:quantum_ms=20",
    "slack:targets_ms=0=60:admission=alone:prompt_percent=0:wait_ms=0",
];

fn schedulers() -> Vec<Group> {
    let of = settings_of("sched", sched::TABLE, &[SCHEDULERS]);
    let groups = of.into_iter().map(|(name, words)| {
        let mut scenes = Vec::new();
        for word in words {
            scenes.extend([
                Scene::new(
                    &format!("drive=disk.toml sched={word} warmup=0"),
                    &trace("mixed.csv", "replay='closed' depth=24"),
                ),
                Scene::new(
                    &format!("drive=complete.toml sched={word} seed=7"),
                    &trace("mixed.csv", "replay='open' speed=1.6"),
                ),
                // Writes that may go to any free slot.
                Scene::new(
                    &format!("drive=disk.toml sched={word} place=eager:dilution=1.5 warmup=5%"),
                    &trace("mixed.csv", "replay='closed' depth=12"),
                ),
            ]);
        }
        Group { name, scenes }
    });
    groups.collect()
}

/// Settings of placements: every map, few and many copies in the foreground, little and much room.
const PLACEMENTS: &[&str] = &[
    "linear",
    "offering",
    "offering:within=track:dilution=1.5:unit_blocks=4",
    "offering:within=disk:dilution=1.05",
    "offering:disks=2:copies=2",
    "offering:within=track:dilution=1.5:unit_blocks=4:disks=4:copies=2:stripe_kib=8",
    "stripe:disks=3:stripe_kib=3",
    "concat:disks=2",
    "raid5:disks=3:strip_kib=4",
    "raid5:disks=7:strip_kib=32",
    "raid5:disks=8:arrays=2:strip_kib=3:extent_stripes=5",
    "raid5:disks=10:arrays=2:spares=2:strip_kib=8",
    "mirror",
    "mirror:disks=4:stripe_kib=8:buffer_chunks=3",
    "mirror:disks=3:copies=3:foreground=2:buffer_chunks=0",
    "sr_array:stripe_kib=8",
    "sr_array:ds=1.5:dr=2:stripe_kib=4:buffer_chunks=3",
    "sr_array:dr=3:foreground=3",
    "eager",
    "eager:dilution=1.02:aging=1",
    "eager:dilution=1.3:chunk_kib=2:compact=true",
    "eager:map=log:nvram_entries=8",
    "eager:dilution=1.25:map=log:nvram_entries=40:portions=2:compact=true",
    "eager:map=log:home=drive",
    "eager:map=virtual_log",
    "eager:map=virtual_log:map_tracks=40",
    "eager:dilution=1.1:aging=0.5:map=virtual_log",
    "ew_array:dm=1:ds=1.5:stripe_kib=8",
    "ew_array:dm=2:stripe_kib=8:buffer_chunks=3",
    "ew_array:dm=3:stripe_kib=8:foreground=2:compact=true",
    "ew_array:dm=2:stripe_kib=8:foreground=2:map=log:nvram_entries=40",
    "ew_array:dm=2:stripe_kib=8:foreground=2:map=log:home=drive",
    "ew_array:dm=2:stripe_kib=8:map=virtual_log:compact=true",
    "distorted_mirror:stripe_kib=8",
    "distorted_mirror:ds=1.6:dd=1.25:stripe_kib=4:foreground=2:buffer_chunks=20",
    "distorted_mirror:stripe_kib=8:map=log:nvram_entries=8",
    "distorted_mirror:stripe_kib=8:foreground=2:map=virtual_log",
];

fn placements() -> Vec<Group> {
    let of = settings_of("place", place::TABLE, &[PLACEMENTS]);
    let groups = of.into_iter().map(|(name, words)| {
        let mut scenes = Vec::new();
        for word in words {
            scenes.extend([
                Scene::new(
                    &format!("drive=disk.toml sched=satf place={word} warmup=0"),
                    &trace("mixed.csv", "replay='closed' depth=12"),
                ),
                // With quiet times, in which copies are written and tracks are emptied.
                Scene::new(
                    &format!("drive=complete.toml sched=look place={word} seed=7"),
                    &trace("mixed.csv", "replay='open'"),
                ),
            ]);
        }
        if name == "place-raid5" {
            scenes.extend(rebuilds());
        }
        Group { name, scenes }
    });
    groups.collect()
}

/// Drives that are gone: one for which there is a spare, two of an array, one of two arrays.
fn rebuilds() -> impl Iterator<Item = Scene> {
    let gone = |second: u64| {
        format!("injected:gone_at_s=0.3:second_gone_at_s=0.6:second_gone_drive={second}")
    };
    let bad = "injected:latent_per_tib=6000000:tries_ms=15:gone_at_s=0.3";
    let cases = [
        ("disks=6:spares=1:strip_kib=8", bad.to_owned()),
        ("disks=6:spares=1:strip_kib=8:rebuild_mib_s=1", gone(1)),
        (
            "disks=8:arrays=2:spares=2:strip_kib=4:rebuild_mib_s=1",
            gone(4),
        ),
        ("disks=6:spares=1:strip_kib=8:rebuild_mib_s=4", gone(5)),
    ];
    cases.into_iter().map(|(knobs, faults)| {
        Scene::new(
            &format!("drive=disk.toml sched=satf place=raid5:{knobs} faults={faults} warmup=0"),
            &trace("mixed.csv", "replay='open'"),
        )
    })
}

fn oracles() -> Vec<Group> {
    let table = drive::oracle::TABLE;
    let settings: &[&str] = &["noisy", "noisy:sigma_us=2000"];
    let of = settings_of("oracle", table, &[settings]);
    let groups = of.into_iter().map(|(name, words)| {
        let mut scenes = Vec::new();
        for word in words {
            for rest in [
                "drive=disk.toml sched=satf",
                "drive=complete.toml sched=aged_satf",
                "drive=null.toml sched=satf",
                "drive=disk.toml sched=gap_satf place=eager:dilution=1.5",
                "drive=disk.toml sched=satf place=mirror",
            ] {
                // Refused: where nothing turns there is nothing to misjudge.
                if word.starts_with("noisy") && rest.starts_with("drive=null") {
                    continue;
                }
                scenes.push(Scene::new(
                    &format!("{rest} oracle={word} seed=7"),
                    &trace("mixed.csv", "replay='closed' depth=12"),
                ));
            }
        }
        Group { name, scenes }
    });
    groups.collect()
}

/// Settings of claims.
const CLAIMS: &[&str] = &["told:weight=1=900:class=2=idle:group=3=1"];

/// Settings of mergings.
const MERGINGS: &[&str] = &["contiguous", "contiguous:max_kib=8:front=false"];

/// Settings of caches beside those that all have.
const CACHES: &[&str] = &[
    "lru:stage=pages",
    "lru:writes=update",
    "sarc",
    "sarc:step=line:bottom_percent=10",
];

fn caches() -> Vec<Group> {
    let of = settings_of("cache", cache::TABLE, &[CACHES]);
    let groups = of
        .into_iter()
        .filter(|(name, _)| name != "cache-optimal")
        .map(|(name, words)| {
            let scenes = words.into_iter().map(|word| {
                let size = if word == "none" {
                    ""
                } else {
                    ":size=60lines:line_kib=8"
                };
                let prefetch = if word == "none" {
                    ""
                } else {
                    "prefetch=sarc:track_kib=16:degree=4:trigger=1"
                };
                Scene::new(
                    &format!("drive=disk.toml sched=satf cache={word}{size} {prefetch} seed=7"),
                    &synthetic("oltp:requests=500:rate_rps=90:span=0.05"),
                )
            });
            Group {
                name,
                scenes: scenes.collect(),
            }
        });
    groups.collect()
}

/// Settings of prefetchers beside their defaults.
const PREFETCHERS: &[&str] = &[
    "fixed",
    "fixed:degree=4:track_kib=16",
    "sarc",
    "sarc:mode=sync:test=own:threshold=2",
    "sarc:remedy=false:degree=6:trigger=2",
    "amp:most=40",
    "amp:most=8:asynchronous=1:spare=last:threshold=2",
];

fn prefetchers() -> Vec<Group> {
    let of = settings_of("prefetch", prefetch::TABLE, &[PREFETCHERS]);
    let groups = of.into_iter().map(|(name, words)| {
        let scenes = words.into_iter().map(|word| {
            Scene::new(
                &format!(
                    "drive=disk.toml sched=look cache=lru:size=400lines prefetch={word} seed=7"
                ),
                &synthetic("poisson:requests=500:rate_rps=90:sequential_share=0.8:read_share=0.8"),
            )
        });
        Group {
            name,
            scenes: scenes.collect(),
        }
    });
    groups.collect()
}

fn buffers() -> Vec<Group> {
    let of = settings_of("buffer", destage::TABLE, &[]);
    let groups = of.into_iter().map(|(name, words)| {
        let scenes = words.into_iter().flat_map(|word| {
            // So small that units go, and few at a time, so that their order tells.
            let size = match &*word {
                "none" => "",
                _ => ":size=40lines:destage_units=2",
            };
            ["linear", "raid5:disks=4:strip_kib=8"].map(|place| {
                let settings =
                    format!("drive=disk.toml sched=look place={place} buffer={word}{size} seed=7");
                let load = "oltp:requests=500:rate_rps=90:span=0.05";
                Scene::new(&settings, &synthetic(load))
            })
        });
        let scenes = scenes.collect();
        Group { name, scenes }
    });
    groups.collect()
}

/// Schedulers that go by who asks, with streams that may claim more or less.
fn claims() -> Vec<Group> {
    let of = settings_of("claims", claims::TABLE, &[CLAIMS]);
    let groups = of.into_iter().map(|(name, words)| {
        let mut scenes = Vec::new();
        for word in words {
            // The last one goes by weights and groups alone.
            let shares = word.replace(":class=2=idle", "");
            for (sched, word) in [
                ("bfq:low_latency=false", &word),
                ("cfq", &word),
                ("slack:targets_ms=1=90:admission=alone", &shares),
            ] {
                let settings = format!("drive=hp-c2247a sched={sched} claims={word} seed=7");
                let load = "spc1:requests=500:bsu=1:streams=kinds";
                scenes.push(Scene::new(&settings, &synthetic(load)));
            }
        }
        Group { name, scenes }
    });
    groups.collect()
}

fn mergings() -> Vec<Group> {
    let of = settings_of("merge", merge::TABLE, &[MERGINGS]);
    let groups = of.into_iter().map(|(name, words)| {
        let mut scenes = Vec::new();
        for word in words {
            for (rest, load) in [
                (
                    "sched=fcfs",
                    "poisson:requests=400:rate_rps=150:sequential_share=0.9",
                ),
                (
                    "sched=satf",
                    "iometer:requests=400:depth=12:sequential_share=0.8:read_share=0.5",
                ),
                (
                    "sched=mq-deadline:nr_requests=6 place=stripe",
                    "oltp:requests=400:rate_rps=90",
                ),
                (
                    "sched=look place=mirror",
                    "poisson:requests=400:rate_rps=150:sequential_share=0.8:read_share=0.6",
                ),
            ] {
                let settings = format!("drive=disk.toml {rest} merge={word} seed=7");
                scenes.push(Scene::new(&settings, &synthetic(load)));
            }
        }
        Group { name, scenes }
    });
    groups.collect()
}

/// Settings of faults: what drives tell, what makes them slow, what they do not tell.
const FAULTS: &[&str] = &[
    "injected:latent_per_tib=6000000:latent_run_blocks=4:tries_ms=40",
    "injected:latent_per_tib=3000000:latent_within_s=3:latent_mend=false:tries_ms=15:gone_at_s=2",
    "injected:timeout_share=0.02:timeout_ms=90:slow_factor=4:slow_share=0.2:slow_from_s=0.5",
    "injected:lost_share=0.02:misdirected_share=0.02:torn_share=0.05:rot_per_tib=6000000:rot_within_s=2",
];

fn faults() -> Vec<Group> {
    let of = settings_of("faults", faults::TABLE, &[FAULTS]);
    let groups = of.into_iter().map(|(name, words)| {
        let mut scenes = Vec::new();
        for word in words {
            for rest in [
                "drive=disk.toml sched=satf",
                "drive=complete.toml sched=look place=mirror",
                "drive=disk.toml:queue_depth=4 sched=fcfs place=mirror:disks=3:copies=3:foreground=2",
                "drive=disk.toml sched=satf place=ew_array:dm=2:stripe_kib=8",
            ] {
                scenes.push(Scene::new(
                    &format!("{rest} faults={word} seed=7 warmup=0"),
                    &trace("mixed.csv", "replay='closed' depth=8"),
                ));
            }
        }
        Group { name, scenes }
    });
    groups.collect()
}

fn catalog() -> Vec<Group> {
    let groups = drive::CATALOG.iter().map(|entry| {
        let name = entry.name;
        let scenes = vec![
            Scene::new(
                &format!("drive={name} sched=satf"),
                &synthetic("iometer:requests=300:depth=8:read_share=0.6:size=4k/3+64k/1"),
            ),
            Scene::new(
                &format!("drive={name} sched=look seed=7"),
                &trace("mixed.csv", "replay='open'"),
            ),
        ];
        group(&format!("drive-{name}"), scenes)
    });
    groups.collect()
}

/// Drives of each kind, with settings on top of their files.
const KINDS: &[(&str, &[&str])] = &[
    ("null", &["null.toml"]),
    (
        "hdd",
        &[
            "disk.toml:overhead_ms=0.3",
            "disk.toml:layout=ideal",
            "complete.toml",
            "complete.toml:model=mechanical",
            "disk.toml:queue_depth=8",
            "complete.toml:queue_depth=4:queue_sched=satf",
        ],
    ),
    ("empirical", &["empirical.toml", "empirical.toml:scale=2.5"]),
    ("capped", &["capped.toml", "capped.toml:credits_full=0.2"]),
    (
        "ssd",
        &[
            "ssd.toml",
            "ssd.toml:precondition=random:unused_percent=5",
            "ssd.toml:precondition=saturated",
            "ssd.toml:precondition=empty:queue_depth=1",
            "ssd.toml:cache=off:suspension=false",
        ],
    ),
];

fn kinds() -> Vec<Group> {
    let of = |kind: &&drive::Kind| {
        let own = KINDS.iter().find(|(name, _)| *name == kind.name);
        let (name, drives) = own.unwrap_or_else(|| panic!("no scenario has a {}", kind.name));
        let mut scenes = Vec::new();
        for drive in *drives {
            scenes.extend([
                Scene::new(
                    &format!("drive={drive} sched=satf"),
                    &trace("mixed.csv", "replay='closed' depth=8"),
                ),
                Scene::new(
                    &format!("drive={drive} sched=satf place=mirror"),
                    &synthetic("poisson:requests=300:rate_rps=120:sequential_share=0.5"),
                ),
            ]);
        }
        group(&format!("kind-{name}"), scenes)
    };
    drive::KINDS.iter().map(of).collect()
}

/// Settings of synthetic workloads.
const WORKLOADS: &[&str] = &[
    "iometer:requests=400",
    "iometer:requests=400:depth=3:refill=before:read_share=0.5:size=512/1+8k/2",
    "poisson:requests=400",
    "poisson:requests=400:rate_rps=90:read_share=0.3:sequential_share=0.6:size=8k",
    "oltp:requests=400:rate_rps=40",
    "oltp:requests=400:rate_rps=60:write_batch=3",
    "spc1:requests=400",
    "spc1:requests=400:bsu=3:walk=fixed:contexts=2:streams=each:span=0.1",
    "spc1:requests=400:bsu=2:counts=tree:span=0.03",
    "host:launch=bash:launch_s=0.5:seconds=4:beside=1r1w-rand:file=4MiB:memory=8MiB:sync_every_ms=700",
    "host:beside=2r2w-seq:file=8MiB:memory=4MiB:seconds=2:anonymous=false:read_ahead=64KiB:flush_depth=4:sync_every_ms=0",
    "host:launch=xterm-recorded:launch_s=0.1:seconds=3",
    "tpcb:transactions=300:clients=3:branches=1:journal_blocks=128:write_back_s=1:write_back_depth=4:cached_share=0.4",
    "tpcb:transactions=200:branches=1:journal_blocks=256:at_block=1000:skip=profile:space=1.5:think_step_us=500:think_max_ms=20:skip_max_blocks=400:repeats=2",
    "tpcb:transactions=200:branches=1:journal_blocks=256:skip=ranges:clients=5:data=ordered:commit_wait_us=2000:work_us=100",
    "tpcb:transactions=300:branches=1:journal_blocks=64:skip=null",
    "filesystem:files=200:processes=3:volume_mib=64:group_blocks=2048:reread=true",
    "filesystem:work=untar:files=150:offer=mini-group:fill=0.5:volume_mib=64:group_blocks=2048:cache_kib=256",
    "filesystem:work=postmark:files=60:transactions=90:offer=group:volume_mib=64:group_blocks=1024:cache_kib=64:depth=4",
    "filesystem:work=andrew:offer=group:volume_mib=64:group_blocks=4096",
    "filesystem:work=untar:files=150:offer=runs:fill=0.5:volume_mib=64:group_blocks=2048:cache_kib=256:reread=true",
    "filesystem:work=update:layout=log:files=900:transactions=2000:volume_mib=8:group_blocks=1024:cache_kib=512:segment_kib=128:clean_below=4:clean_until=8:reread=true",
    "filesystem:work=update:layout=log:offer=free:hot=true:clean_by=greedy:checkpoint_kib=2048:files=900:transactions=2000:volume_mib=8:group_blocks=1024:cache_kib=512:segment_kib=128:clean_below=4:clean_until=8",
    "filesystem:work=postmark:layout=log:offer=free:files=60:transactions=90:fill=0.5:volume_mib=8:group_blocks=1024:cache_kib=64:segment_kib=128:clean_below=4:clean_until=8:depth=4",
];

/// Workloads that need more room than the small disk has.
const LARGE: &[&str] = &["spc1", "host", "tpcb", "filesystem"];

fn workloads() -> Vec<Group> {
    let of = settings_of("workload", workload::TABLE, &[WORKLOADS]);
    let groups = of.into_iter().map(|(name, words)| {
        let scenes = words.iter().map(|word| {
            let vary: &[&str] = &["seed=1,7"];
            let is_large = LARGE.iter().any(|large| word.starts_with(large));
            let drive = if is_large {
                "seagate-cheetah-9lp"
            } else {
                "disk.toml"
            };
            let settings = format!("drive={drive} sched=clook");
            Scene::new(&settings, &synthetic(word)).vary(vary)
        });
        Group {
            name,
            scenes: scenes.collect(),
        }
    });
    groups.collect()
}

/// Every replay mode, and how the load is cut and fitted.
fn replays() -> Group {
    let disk = "drive=disk.toml sched=sstf";
    let of = |file: &str, settings: &str| Scene::new(disk, &trace(file, settings));
    let scenes = vec![
        of("mixed.csv", "replay='open'"),
        of("mixed.csv", "replay='open' speed=0.5"),
        of("mixed.csv", "replay='closed'"),
        of("mixed.csv", "replay='closed' depth=5 refill='after'"),
        of("mixed.csv", "replay='closed' depth=5 refill='before'"),
        of("mixed.csv", "replay='dependent'"),
        of("told.csv", "replay='open'"),
        of("told.csv", "replay='dependent'"),
        of(
            "told.csv",
            "replay='dependent' speed=1.5 service_guess_us=900",
        ),
        // Completions, of several drives at once, at the instant of arrivals.
        Scene::new(
            "drive=null.toml sched=fcfs place=stripe",
            &trace("beyond.csv", "replay='open' fit='wrap'"),
        ),
    ];
    group("replay", scenes)
}

/// What of a trace is replayed, where, and what of it is measured.
fn loads() -> Group {
    let disk = "drive=disk.toml sched=look";
    let of = |settings: &str, file: &str, load: &str| Scene::new(settings, &trace(file, load));
    let scenes = vec![
        of(disk, "beyond.csv", "replay='open' fit='wrap'"),
        of(disk, "beyond.csv", "replay='open' fit='scale'"),
        of(disk, "beyond.csv", "replay='open' fit='truncate'"),
        of(disk, "mixed.csv", "from='1s' to='3s'"),
        of(disk, "mixed.csv", "busiest='800ms'"),
        of(disk, "mixed.csv", "limit=150"),
        of(disk, "volumes.csv", "volumes='concat'"),
        of(disk, "volumes.csv", "volumes='own-drives'"),
        of(disk, "volumes.csv", "device='disk2'"),
        of(&format!("{disk} warmup=100"), "mixed.csv", ""),
        of(&format!("{disk} warmup=25%"), "mixed.csv", ""),
        // The drive is chosen.
        of("sched=look", "mixed.csv", ""),
    ];
    group("load", scenes)
}

/// Several choices and loads: who is better, and how sure that is.
fn verdicts() -> Group {
    let scenes = vec![
        Scene::new(
            "drive=disk.toml",
            &synthetic("iometer:requests=600:depth=8"),
        )
        .vary(&["sched=fcfs,satf,look", "depth=4,16", "seed=1,2"]),
        Scene::new("drive=complete.toml", &trace("told.csv", "replay='open'"))
            .vary(&["sched=clook,satf", "place=linear,mirror"]),
    ];
    group("verdict", scenes)
}

/// How much a drive takes before an objective fails, along every axis.
fn capacities() -> Group {
    let disk = "drive=disk.toml";
    let scenes = vec![
        Scene::new(disk, &synthetic("poisson:requests=1500"))
            .vary(&["sched=fcfs,satf"])
            .capacity("mean < 40 ms", Find::Rate),
        Scene::new(disk, &synthetic("iometer:requests=1500"))
            .vary(&["sched=satf"])
            .capacity("p95 < 100 ms", Find::Depth),
        Scene::new(disk, &trace("told.csv", "replay='open'"))
            .vary(&["sched=look"])
            .capacity("mean < 30 ms", Find::Speed),
    ];
    group("capacity", scenes)
}
