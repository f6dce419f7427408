//! Small reports of real runs, for what the toy of `sample` has not: file systems, transactions,
//! and a drive with a write cache.
//!
//! No number of theirs is kept; the browser test asks for what they show.

use std::path::Path;

use nearslot_lab::grid::{self, Vary};
use nearslot_lab::inspect::Inspection;
use nearslot_lab::outcome::Results;
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::Scenario;
use nearslot_lab::sim::Control;

/// Runs of a load on a drive under SATF, over the values of some keys.
fn runs(workload: &str, drive: &str, varied: &[(&str, &[&str])]) -> Results {
    let text = format!("drive = '{drive}'\nsched = 'satf'\nworkload = '{workload}'");
    let scenario = Scenario::from_toml(&text, Path::new(".")).unwrap();
    let vary = varied.iter().map(|(key, values)| Vary {
        key: (*key).to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    });
    let points = grid::points(&scenario, &vary.collect::<Vec<_>>()).unwrap();
    let wanted = Wanted {
        series: true,
        ..Wanted::default()
    };
    compare(&points, None, &wanted, &Control::default()).unwrap()
}

/// All of them by their names; none is of a trace.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, Results, Option<Inspection>)> {
    let all = [
        ("files", files()),
        ("log", log()),
        ("taken", taken()),
        ("transactions", transactions()),
        ("cached", cached()),
    ];
    all.into_iter().map(|(name, results)| (name, results, None))
}

/// Files in groups, on a drive without a write cache.
fn files() -> Results {
    let work = "filesystem:work=untar:files=150:reread=true";
    runs(work, "hp-c2247a", &[("offer", &["none", "group"])])
}

/// Files in a log whose segments are cleaned.
fn log() -> Results {
    let work = "filesystem:work=update:layout=log:files=1500:transactions=4500:volume_mib=16:group_blocks=2048:\
        cache_kib=2048:checkpoint_kib=2048:clean_below=5:clean_until=8:fill=0.2";
    let by = ["cost-benefit", "greedy"];
    runs(work, "hp-c2247a", &[("clean_by", &by)])
}

/// Three files on a drive whose write cache takes them all.
fn taken() -> Results {
    runs("filesystem:files=3", "desktop-7200-90mb", &[])
}

/// Transactions above a journal that writes where its blocks are, where it is quickest, or nowhere.
fn transactions() -> Results {
    let work = "tpcb:transactions=100:branches=1:journal_blocks=128:work_us=1000:clients=4";
    let skips = ["none", "ranges", "null"];
    runs(work, "hp-c2247a", &[("skip", &skips)])
}

/// Reads and writes over a drive with a write cache, under two schedulers; under one load ten times
/// as long as under the other.
fn cached() -> Results {
    let vary: [(&str, &[&str]); 2] = [("sched", &["fcfs", "satf"]), ("requests", &["300", "3000"])];
    runs("iometer:read_share=0.6", "desktop-7200-90mb", &vary)
}
