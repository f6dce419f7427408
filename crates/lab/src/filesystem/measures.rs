//! What a file system tells at the end of a run.

use nearslot_core::measure::Measure;

use super::FileSystem;
use super::files::Key;
use super::flush::Goes;
use super::shape::MINI_GROUPS;
use crate::outcome::{Number, Run};

/// The key of these measures.
pub const KEY: &str = "filesystem";

/// Whether the log of a run wrote nothing any more before all was on the medium.
pub fn gave_up(run: &Run) -> bool {
    run.happened(KEY, "gave_up")
}

/// Whether requests of a run failed, or its log gave up, before all was on the medium: then it
/// never will be.
pub fn is_undone(run: &Run) -> bool {
    let never = run.measure(KEY, "work_s").is_none();
    never && (run.happened(KEY, "failed") || gave_up(run))
}

const FIXED: usize = 22;

/// What is told: first these, then files by mini-group.
pub const MEASURES: &[Measure] = &{
    let mut all = [Measure::quantity("", "", ""); FIXED + MINI_GROUPS as usize];
    let mut index = 0;
    while index < FIXED {
        all[index] = TOLD[index];
        index += 1;
    }
    while index < all.len() {
        all[index] = BY_MINI[index - FIXED];
        index += 1;
    }
    all
};

const TOLD: [Measure; FIXED] = [
    Measure::quantity(
        "work_s",
        "s",
        "until all that processes did was on the medium; none if a request failed before",
    ),
    Measure::quantity(
        "waited_ms",
        "ms",
        "how long a block was to be written on average, until it was on the medium or its file removed",
    ),
    Measure::quantity(
        "reread_s",
        "s",
        "how long it took then to read all files one after another, with nothing in memory; none if a read failed",
    ),
    Measure::quantity("reread_mb_s", "MB/s", "and how fast that was"),
    Measure::count("files", "files", "files that were made").of_run(),
    Measure::count(
        "pieces",
        "pieces",
        "pieces in which these lay when they were removed, or at the end",
    )
    .of_run(),
    Measure::count(
        "data_writes",
        "requests",
        "writes of blocks of files and directories",
    )
    .of_run(),
    Measure::count(
        "metadata_writes",
        "requests",
        "writes of inodes, indirect blocks and bitmaps",
    )
    .of_run(),
    Measure::count("offered", "requests", "range writes among both").of_run(),
    Measure::count(
        "widened",
        "requests",
        "those of them that were offered a wider region than the policy names",
    )
    .of_run(),
    Measure::count(
        "halved",
        "times",
        "how often a write was cut in halves, as no region had a free run for it",
    )
    .of_run(),
    Measure::count(
        "exhausted",
        "requests",
        "range writes of whose offer others had left nothing, and which went again",
    )
    .of_run(),
    Measure::quantity(
        "amplification",
        "",
        "blocks that were written, of all kinds, to each block of a file or directory that was written as it had changed",
    ),
    Measure::count("checkpoints", "checkpoints", "checkpoints of a log").of_run(),
    Measure::count("cleaned", "segments", "segments of a log that were cleaned").of_run(),
    Measure::count("clean_read", "blocks", "blocks that were read for that").of_run(),
    Measure::count(
        "moved",
        "blocks",
        "and blocks that lived there and were written anew",
    )
    .of_run(),
    Measure::count(
        "gave_up",
        "times",
        "1 if a log wrote nothing any more, as cleaning gained no room or as what leads to other blocks could not be written",
    )
    .of_run(),
    Measure::count(
        "refused",
        "steps",
        "what processes left out, as there was no room or no inode",
    )
    .of_run(),
    Measure::count(
        "failed",
        "requests",
        "requests that failed otherwise, and blocks that a log never wrote as it gave up",
    )
    .of_run(),
    Measure::count(
        "unwritten",
        "blocks",
        "blocks that were to be written when the run ended",
    )
    .of_run(),
    Measure::count(
        "elsewhere",
        "files",
        "files that begin in another group than their inode",
    )
    .of_run(),
];

macro_rules! minis {
    ($($name:literal),*) => {
        [$(Measure::count(
            $name,
            "files",
            "files that begin in this mini-group of their inode's group",
        )
        .of_run()),*]
    };
}

const BY_MINI: [Measure; MINI_GROUPS as usize] = minis!(
    "mini_0", "mini_1", "mini_2", "mini_3", "mini_4", "mini_5", "mini_6", "mini_7", "mini_8",
    "mini_9", "mini_10", "mini_11", "mini_12", "mini_13", "mini_14", "mini_15"
);

/// What is counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) files: u64,
    pub(super) pieces: u64,
    pub(super) data: u64,
    pub(super) metadata: u64,
    pub(super) offered: u64,
    pub(super) widened: u64,
    pub(super) halved: u64,
    pub(super) exhausted: u64,
    /// Blocks that were written, and those of them of files and directories that were written as
    /// they had changed.
    pub(super) blocks: u64,
    pub(super) new: u64,
    pub(super) refused: u64,
    pub(super) failed: u64,
    elsewhere: u64,
    by_mini: [u64; MINI_GROUPS as usize],
}

impl Counts {
    /// The first block of a file has a place, in this mini-group of its group or in another group.
    pub(super) fn first_block(&mut self, mini: Option<u64>) {
        match mini {
            Some(mini) => self.by_mini[mini as usize] += 1,
            None => self.elsewhere += 1,
        }
    }

    /// A write begins.
    pub(super) fn began(&mut self, keys: &[Key], goes: &Goes) {
        let of = match keys[0].is_data() {
            true => &mut self.data,
            false => &mut self.metadata,
        };
        *of += 1;
        self.blocks += keys.len() as u64;
        self.new += keys.iter().filter(|key| key.is_data()).count() as u64;
        match goes {
            Goes::Into(_) => self.offered += 1,
            Goes::To(_) | Goes::Log(_) | Goes::Checkpoint(_) => {}
            Goes::Within(_, _, steps) => {
                self.offered += 1;
                self.widened += u64::from(*steps > 0);
            }
        }
    }
}

impl Counts {
    /// A write of a log begins, which has so many blocks with its summary.
    pub(super) fn began_log(&mut self, keys: &[Key], blocks: u64, offered: bool) {
        let of = match keys.iter().any(|key| key.is_data()) {
            true => &mut self.data,
            false => &mut self.metadata,
        };
        *of += 1;
        self.blocks += blocks;
        self.offered += u64::from(offered);
    }
}

impl FileSystem {
    /// What was counted, by the names of [`MEASURES`].
    pub(super) fn counted(&self) -> Vec<(&'static str, Number)> {
        let counts = &self.counts;
        let live = self.live_files().into_iter();
        let pieces: u64 = live.map(|file| self.files[file as usize].pieces()).sum();
        let mut found: Vec<(&'static str, u64)> = vec![
            ("files", counts.files),
            ("pieces", counts.pieces + pieces),
            ("data_writes", counts.data),
            ("metadata_writes", counts.metadata),
        ];
        if self.offers() {
            found.extend([("widened", counts.widened), ("halved", counts.halved)]);
        }
        let log = self.log.as_ref();
        if self.offers() || log.is_some_and(|log| log.settings.offers) {
            found.extend([("offered", counts.offered), ("exhausted", counts.exhausted)]);
        }
        if let Some(log) = log {
            found.extend([
                ("checkpoints", log.checkpoints),
                ("cleaned", log.cleaner.cleaned),
                ("clean_read", log.cleaner.read),
                ("moved", log.cleaner.moved),
                ("gave_up", u64::from(log.stuck)),
            ]);
        }
        found.extend([
            ("refused", counts.refused),
            ("failed", counts.failed),
            ("unwritten", self.pages.len()),
            ("elsewhere", counts.elsewhere),
        ]);
        let names = BY_MINI.iter().map(|measure| measure.name);
        found.extend(names.zip(counts.by_mini));
        let numbers = found.into_iter();
        let mut found: Vec<(&'static str, Number)> = numbers
            .map(|(name, number)| (name, Number::Count(number)))
            .collect();
        if counts.new > 0 {
            let written = counts.blocks as f64 / counts.new as f64;
            found.push(("amplification", Number::Quantity(written)));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever has gone wrong since, what was done and written is.
    #[test]
    fn a_run_is_undone_if_something_failed_before_all_was_written() {
        let of = |told: &[(&str, Number)]| {
            let told = told.iter().map(|(name, of)| ((*name).to_owned(), *of));
            let measures = [(KEY.to_owned(), told.collect())].into();
            is_undone(&Run {
                measures,
                ..Run::default()
            })
        };
        let [failed, gave_up] = ["failed", "gave_up"].map(|name| (name, Number::Count(1)));
        let work = ("work_s", Number::Quantity(1.0));
        assert!(!of(&[]), "it ended before");
        assert!(!of(&[
            ("failed", Number::Count(0)),
            ("gave_up", Number::Count(0))
        ]));
        assert!(of(&[failed]) && of(&[gave_up]));
        assert!(!of(&[failed, work]) && !of(&[gave_up, work]));
    }
}
