//! What processes do: loads after published benchmarks, drawn by a seed. What each is after, and
//! where its numbers come from, stands in `workload/filesystem.rs`, from where it comes into the
//! book. A few random numbers for each step.

use nearslot_core::rng::Rng;
use nearslot_core::units::Duration;

use super::files::{ENTRIES, blocks_of, indirect_of};

/// A step of a process. Names are numbers that no two files share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Makes a directory; below the root, if it has no parent.
    MakeDirectory {
        /// Its name.
        name: u32,
        /// The directory that it is in.
        parent: Option<u32>,
    },
    /// Makes an empty file.
    Make {
        /// Its name.
        name: u32,
        /// The directory that it is in.
        parent: u32,
    },
    /// Writes behind the end of a file.
    Append {
        /// Its name.
        name: u32,
        /// How many bytes.
        bytes: u64,
    },
    /// Writes a whole file anew.
    Overwrite(u32),
    /// Reads a whole file.
    Read(u32),
    /// Removes a file.
    Remove(u32),
    /// Computes for so long.
    Compute(Duration),
}

/// What all processes do.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// How many names there are.
    pub names: u32,
    /// The steps of each. They take turns, and the first begins.
    pub processes: Vec<Vec<Act>>,
}

impl Work {
    fn name(&mut self) -> u32 {
        self.names += 1;
        self.names - 1
    }

    /// Blocks that it needs if nothing is removed.
    pub fn blocks(&self) -> u64 {
        let mut bytes = vec![0; self.names as usize];
        let mut entries = vec![0; self.names as usize];
        let (mut directories, mut at_root) = (0, 0);
        for act in self.processes.iter().flatten() {
            match *act {
                Act::Append { name, bytes: more } => bytes[name as usize] += more,
                Act::Make { parent, .. } => entries[parent as usize] += 1,
                Act::MakeDirectory { parent, .. } => {
                    directories += 1;
                    match parent {
                        Some(parent) => entries[parent as usize] += 1,
                        None => at_root += 1,
                    }
                }
                Act::Overwrite(_) | Act::Read(_) | Act::Remove(_) | Act::Compute(_) => {}
            }
        }
        let whole = |blocks: u64| blocks + indirect_of(blocks);
        let of_files = bytes.iter().map(|bytes| whole(blocks_of(*bytes)));
        let more = |entries: &u64| whole(entries.div_ceil(u64::from(ENTRIES)).saturating_sub(1));
        let of_entries = entries.iter().chain([&at_root]).map(more);
        directories + of_files.sum::<u64>() + of_entries.sum::<u64>()
    }
}

/// Files of one size in one directory.
pub fn create(files: u64, bytes: u64, processes: u64) -> Work {
    let mut work = Work::default();
    let parent = work.name();
    work.processes = vec![Vec::new(); processes as usize];
    work.processes[0].push(Act::MakeDirectory {
        name: parent,
        parent: None,
    });
    for number in 0..files {
        let name = work.name();
        let steps = [Act::Make { name, parent }, Act::Append { name, bytes }];
        work.processes[(number % processes) as usize].extend(steps);
    }
    work
}

/// Of ten overwrites, how many go to hot files, and which part of all files these are.
const HOT_TENTHS: u64 = 9;
const HOT_PART: u64 = 10;

/// The same, and then so many overwrites of whole files that are drawn, each by who made the file.
/// All are as likely, or a tenth of the files is hot.
pub fn update(
    (files, bytes, processes): (u64, u64, u64),
    overwrites: u64,
    hot: bool,
    rng: &mut Rng,
) -> Work {
    let mut work = create(files, bytes, processes);
    for number in 0..overwrites {
        let process = number % processes;
        let own = (files - process).div_ceil(processes);
        let hot_ones = (own / HOT_PART).max(1);
        let index = match hot && own > 1 {
            false => rng.below(own),
            true if rng.below(10) < HOT_TENTHS => rng.below(hot_ones),
            true => hot_ones + rng.below(own - hot_ones),
        };
        // The directory has the first name.
        let name = 1 + index * processes + process;
        work.processes[process as usize].push(Act::Overwrite(name as u32));
    }
    work
}

/// Files of a directory of a source tree on average; the median of their sizes, its spread as a
/// logarithm, and the largest.
const FILES_OF_DIRECTORY: f64 = 16.0;
const SOURCE_BYTES: f64 = 4_600.0;
const SOURCE_SPREAD: f64 = 1.3;
const SOURCE_MAX: f64 = 1_048_576.0;

/// A source tree of so many files, unpacked by each process.
pub fn untar(files: u64, processes: u64, rng: &mut Rng) -> Work {
    let mut work = Work::default();
    for _ in 0..processes {
        let steps = tree(&mut work, files, rng);
        work.processes.push(steps);
    }
    work
}

fn tree(work: &mut Work, files: u64, rng: &mut Rng) -> Vec<Act> {
    let mut steps = Vec::new();
    // The directories from the top to where it is.
    let mut path: Vec<u32> = Vec::new();
    let mut left = files;
    while left > 0 {
        // Up a few, but not above the top, and then into a new one.
        while path.len() > 1 && rng.chance(0.5) {
            path.pop();
        }
        let name = work.name();
        let parent = path.last().copied();
        steps.push(Act::MakeDirectory { name, parent });
        path.push(name);
        let of_directory = rng.exponential(FILES_OF_DIRECTORY).round() as u64;
        for _ in 0..of_directory.min(left) {
            let bytes = SOURCE_BYTES * libm::exp(SOURCE_SPREAD * rng.normal());
            let bytes = bytes.clamp(1.0, SOURCE_MAX) as u64;
            let file = work.name();
            steps.push(Act::Make {
                name: file,
                parent: name,
            });
            steps.push(Act::Append { name: file, bytes });
        }
        left -= of_directory.min(left);
    }
    steps
}

/// Bytes of a file of PostMark.
const POSTMARK_BYTES: (u64, u64) = (500, 10_000);

/// PostMark: files, transactions, and the end of all files.
pub fn postmark(files: u64, transactions: u64, processes: u64, rng: &mut Rng) -> Work {
    let mut work = Work::default();
    for _ in 0..processes {
        let directory = work.name();
        let mut all = PostMark {
            directory,
            steps: Vec::new(),
            files: Vec::new(),
        };
        all.steps.push(Act::MakeDirectory {
            name: directory,
            parent: None,
        });
        for _ in 0..files {
            all.make(&mut work, rng);
        }
        for _ in 0..transactions {
            all.transaction(&mut work, rng);
        }
        let rest = std::mem::take(&mut all.files);
        all.steps
            .extend(rest.iter().map(|(name, _)| Act::Remove(*name)));
        work.processes.push(all.steps);
    }
    work
}

struct PostMark {
    directory: u32,
    steps: Vec<Act>,
    /// Names and bytes.
    files: Vec<(u32, u64)>,
}

impl PostMark {
    fn make(&mut self, work: &mut Work, rng: &mut Rng) {
        let (least, most) = POSTMARK_BYTES;
        let (name, bytes) = (work.name(), least + rng.below(most - least + 1));
        let parent = self.directory;
        self.steps
            .extend([Act::Make { name, parent }, Act::Append { name, bytes }]);
        self.files.push((name, bytes));
    }

    fn transaction(&mut self, work: &mut Work, rng: &mut Rng) {
        let makes = rng.chance(0.5);
        if makes || self.files.is_empty() {
            self.make(work, rng);
        } else {
            let index = rng.below(self.files.len() as u64) as usize;
            self.steps
                .push(Act::Remove(self.files.swap_remove(index).0));
        }
        if self.files.is_empty() {
            return;
        }
        let index = rng.below(self.files.len() as u64) as usize;
        let (name, bytes) = &mut self.files[index];
        if rng.chance(0.5) {
            self.steps.push(Act::Read(*name));
        } else if *bytes < POSTMARK_BYTES.1 {
            // It stays within the sizes.
            let more = 1 + rng.below(POSTMARK_BYTES.1 - *bytes);
            *bytes += more;
            let name = *name;
            self.steps.push(Act::Append { name, bytes: more });
        }
    }
}

/// What Andrew copies, and what compiling takes and writes.
const ANDREW_DIRECTORIES: u64 = 20;
const ANDREW_FILES: u64 = 70;
const ANDREW_BYTES: f64 = 200_000.0;
const COMPILED: u64 = 17;
const OBJECT_BYTES: u64 = 12_000;
const PROGRAM_BYTES: u64 = 160_000;
const COMPILING: Duration = Duration::from_ms(20_000);

/// The modified Andrew benchmark.
pub fn andrew(processes: u64, rng: &mut Rng) -> Work {
    let mut work = Work::default();
    for _ in 0..processes {
        let mut steps = Vec::new();
        let mut directories: Vec<u32> = Vec::new();
        for _ in 0..ANDREW_DIRECTORIES {
            let name = work.name();
            let parent = directories.first().copied();
            steps.push(Act::MakeDirectory { name, parent });
            directories.push(name);
        }
        let make = |steps: &mut Vec<Act>, work: &mut Work, index: u64, bytes: u64| {
            let parent = directories[(index % ANDREW_DIRECTORIES) as usize];
            let name = work.name();
            steps.extend([Act::Make { name, parent }, Act::Append { name, bytes }]);
            name
        };
        let mut copies = Vec::new();
        for index in 0..ANDREW_FILES {
            let bytes = rng.exponential(ANDREW_BYTES / ANDREW_FILES as f64).max(1.0) as u64;
            copies.push(make(&mut steps, &mut work, index, bytes));
        }
        steps.extend(copies.iter().map(|name| Act::Read(*name)));
        for index in 0..COMPILED {
            steps.push(Act::Read(copies[index as usize]));
            steps.push(Act::Compute(Duration(COMPILING.0 / COMPILED)));
            make(&mut steps, &mut work, index, OBJECT_BYTES);
        }
        make(&mut steps, &mut work, 0, PROGRAM_BYTES);
        work.processes.push(steps);
    }
    work
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(work: &Work) -> Vec<u64> {
        let acts = work.processes.iter().flatten();
        let written = acts.filter_map(|act| match act {
            Act::Append { bytes, .. } => Some(*bytes),
            _ => None,
        });
        written.collect()
    }

    fn count(work: &Work, of: impl Fn(&Act) -> bool) -> usize {
        work.processes
            .iter()
            .flatten()
            .filter(|act| of(act))
            .count()
    }

    #[test]
    fn files_are_made_in_turn() {
        let work = create(10, 4_096, 4);
        let lengths: Vec<usize> = work.processes.iter().map(Vec::len).collect();
        assert_eq!((lengths, work.names), (vec![7, 6, 4, 4], 11));
        // A directory of one block, and ten files.
        assert_eq!(work.blocks(), 11);
        assert_eq!(create(171, 4_096 * 13, 1).blocks(), 2 + 171 * 14);
    }

    #[test]
    fn a_source_tree_has_sizes_like_that() {
        let work = untar(20_000, 1, &mut Rng::stream(1, "work"));
        let mut bytes = bytes(&work);
        bytes.sort_unstable();
        let mean = bytes.iter().sum::<u64>() as f64 / bytes.len() as f64;
        assert!((10_000.0..11_200.0).contains(&mean), "{mean}");
        assert!((4_400..4_800).contains(&bytes[10_000]), "{}", bytes[10_000]);
        let directories = count(&work, |act| matches!(act, Act::MakeDirectory { .. }));
        assert!((1_100..1_400).contains(&directories), "{directories}");
    }

    #[test]
    fn overwrites_go_to_own_files_and_nine_of_ten_to_a_tenth() {
        let rng = &mut Rng::stream(1, "work");
        for (hot, least, most) in [(false, 0.08, 0.12), (true, 0.88, 0.92)] {
            let work = update((1_000, 8_192, 3), 9_000, hot, rng);
            let (mut all, mut to_hot) = (0, 0);
            for (process, acts) in (0..).zip(&work.processes) {
                for act in acts {
                    if let Act::Overwrite(name) = act {
                        assert_eq!((name - 1) % 3, process);
                        all += 1;
                        to_hot += u32::from((name - 1) / 3 < 33);
                    }
                }
            }
            let share = f64::from(to_hot) / f64::from(all);
            assert!(all == 9_000 && (least..most).contains(&share), "{share}");
        }
    }

    #[test]
    fn postmark_has_its_defaults_and_leaves_nothing() {
        let work = postmark(500, 500, 1, &mut Rng::stream(1, "work"));
        let [made, removed, read, appended] = [
            count(&work, |act| matches!(act, Act::Make { .. })),
            count(&work, |act| matches!(act, Act::Remove(_))),
            count(&work, |act| matches!(act, Act::Read(_))),
            bytes(&work).len(),
        ];
        assert_eq!(made, removed);
        assert!((720..780).contains(&made), "{made}");
        assert!((220..280).contains(&read), "{read}");
        assert!((220..280).contains(&(appended - made)), "{appended} {made}");
        let of_files = bytes(&work);
        let mean = of_files[..500].iter().sum::<u64>() / 500;
        assert!((5_000..5_500).contains(&mean), "{mean}");
    }
}
