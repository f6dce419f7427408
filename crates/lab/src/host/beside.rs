//! Greedy readers and writers, as the benchmark suite S names them: `10r-seq` is ten readers in a
//! row, `5r5w-rand` five readers and five writers at random.
//!
//! Each reads or writes 4 KiB at a time through the page cache, for ever, in a file of its own, as
//! fio does there. With writers, one more process calls `sync` every two seconds.

use nearslot_core::units::Duration;

use super::told::{Access, At, Process, Step};

/// How many read and write, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    readers: u64,
    writers: u64,
    at: At,
}

/// What is written for nobody beside.
pub const NOBODY: &str = "0r0w";

/// What is allowed, in words.
pub const ALLOWED: &str = "0r0w for nobody, or so many readers and writers, up to 1000 each, and where, such as 10r-seq, 5r5w-rand or 1w-seq";

impl Beside {
    /// Reads a word such as `5r5w-seq`; `None` if it is none.
    pub fn read(word: &str) -> Option<Beside> {
        let nobody = Beside {
            readers: 0,
            writers: 0,
            at: At::Next,
        };
        if word == NOBODY {
            return Some(nobody);
        }
        let (who, at) = word.rsplit_once('-')?;
        let at = match at {
            "seq" => At::Next,
            "rand" => At::Random,
            _ => return None,
        };
        let number = |text: &str| {
            text.parse()
                .ok()
                .filter(|number| (0..=1_000).contains(number))
        };
        let (readers, writers) = match who.split_once('r') {
            Some((readers, "")) => (number(readers)?, 0),
            Some((readers, writers)) => (number(readers)?, number(writers.strip_suffix('w')?)?),
            None => (0, number(who.strip_suffix('w')?)?),
        };
        (readers + writers > 0).then_some(Beside {
            readers,
            writers,
            at,
        })
    }

    /// Whether anybody writes.
    pub fn writes(self) -> bool {
        self.writers > 0
    }

    /// Whether there is anybody.
    pub fn any(self) -> bool {
        self.readers + self.writers > 0
    }

    /// The processes; `file_pages` is the size of a file, `rate` what all writers together may
    /// write in a second, and `sync` how often somebody syncs.
    pub fn processes(self, file_pages: u64, rate: Option<u64>, sync: Duration) -> Vec<Process> {
        let access = Access {
            pages: 1,
            times: 1,
            at: self.at,
            direct: false,
        };
        let process = |name: &str, count, step| Process {
            name: name.to_owned(),
            count,
            file_pages,
            shares: None,
            start: Duration(0),
            after: Vec::new(),
            times: None,
            every: None,
            rate: None,
            priority: 0,
            of_load: true,
            steps: vec![step],
        };
        let mut processes = Vec::new();
        if self.readers > 0 {
            processes.push(process("reader", self.readers, Step::Read(access)));
        }
        if self.writers > 0 {
            processes.push(Process {
                rate: rate.map(|rate| rate / self.writers),
                ..process("writer", self.writers, Step::Write(access))
            });
            if sync.0 > 0 {
                processes.push(Process {
                    file_pages: 1,
                    every: Some(sync),
                    start: sync,
                    ..process("sync", 1, Step::Sync)
                });
            }
        }
        processes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_how_many_read_and_write_and_where() {
        let read = |word| Beside::read(word).map(|one| (one.readers, one.writers, one.at));
        assert_eq!(read("10r-seq"), Some((10, 0, At::Next)));
        assert_eq!(read("5r5w-rand"), Some((5, 5, At::Random)));
        assert_eq!(read("2w-seq"), Some((0, 2, At::Next)));
        assert_eq!(read(NOBODY), Some((0, 0, At::Next)));
        for wrong in [
            "",
            "10r",
            "r-seq",
            "0r-seq",
            "5w5r-seq",
            "10r-random",
            "1001r-seq",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn writers_share_their_rate_and_bring_somebody_who_syncs() {
        let made = |word: &str, sync| {
            Beside::read(word)
                .unwrap()
                .processes(100, Some(4_000_000), sync)
        };
        let names = |made: Vec<Process>| {
            made.iter()
                .map(|one| (one.name.clone(), one.count, one.rate))
                .collect::<Vec<_>>()
        };
        let two = Duration::from_ms(2_000);
        assert_eq!(
            names(made("5r4w-seq", two)),
            [
                ("reader".to_owned(), 5, None),
                ("writer".to_owned(), 4, Some(1_000_000)),
                ("sync".to_owned(), 1, None)
            ]
        );
        assert_eq!(made("5r4w-seq", Duration(0)).len(), 2);
        let made_of = made("5r4w-seq", two);
        assert_eq!((made_of[2].start, made_of[2].every), (two, Some(two)));
        let page = |step: &Step| matches!(step, Step::Read(one) | Step::Write(one) if (one.pages, one.times) == (1, 1));
        assert!(made_of[..2].iter().all(|one| page(&one.steps[0])));
        assert_eq!(made("5r-seq", two).len(), 1);
    }
}
