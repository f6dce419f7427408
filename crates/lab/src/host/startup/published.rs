//! Start-ups with the counts that are published of recordings.
//!
//! The benchmark suite S (github.com/Algodev-github/S, version 3.6) has recordings of three
//! start-ups, whose counts and sizes are known: how many requests of which kind and length, how
//! many lie near the one before, how many go on where it ended, how far the others are, in how many
//! bursts read-ahead comes, how the processes take turns. What is drawn by the seed, and so
//! invented, is which request is which, and where each lies. As in the suite's replay, no time
//! passes between requests but what the drive takes.
//!
//! | | xterm | lowriter | gnometerm | bash |
//! |---|---|---|---|---|
//! | counts of reads | published | published | published | invented: the suite has no recording of it |
//! | writes | none | invented: the recording has none, yet the published explanation rests on them | one, published | none |
//! | names of processes | published | published | invented | - |

use nearslot_core::rng::Rng;
use nearslot_core::units::Duration;

use super::{Item, Kind, Startup};

/// Near is within so many sectors of the end of the request before.
const NEAR: u64 = 8_192;
/// Sectors of a page.
const PAGE: u64 = 8;
/// Sectors of the longest request.
const LONGEST: u64 = 256;

/// What is known of a start-up.
pub(in crate::host) struct Counts {
    pub(in crate::host) name: &'static str,
    /// Reads that are waited for; of metadata; ahead.
    reads: [u64; 3],
    /// In so many bursts.
    bursts: u64,
    /// Sectors of all.
    sectors: u64,
    /// Of those that are waited for, metadata aside, how many are of 4 KiB, and how many of 128
    /// KiB.
    sizes: [u64; 2],
    /// How many are not near the one before.
    random: u64,
    /// How many pieces there are that lie together.
    extents: u64,
    /// Sectors between the first and the last.
    span: u64,
    /// Median and mean distance of those that are not near, in sectors.
    distance: [f64; 2],
    /// Who asks, and how often in a row.
    turns: &'static [(&'static str, u64)],
    /// Times that a page is written and waited for, spread evenly over the second half.
    fsyncs: u64,
}

/// All of them.
pub(in crate::host) const ALL: [Counts; 4] = [
    Counts {
        name: "bash",
        reads: [18, 6, 96],
        bursts: 4,
        sectors: 96 * 8 + 6 * 8 + 6 * 8 + 2 * 256 + 10 * 64,
        sizes: [6, 2],
        random: 16,
        extents: 24,
        span: 156_000_000,
        distance: [1.2e6, 13.0e6],
        turns: &[("bash", 120)],
        fsyncs: 0,
    },
    Counts {
        name: "xterm",
        reads: [97, 67, 554],
        bursts: 19,
        sectors: 12_072,
        sizes: [22, 9],
        random: 109,
        extents: 179,
        span: 156_054_000,
        distance: [1.2e6, 13.0e6],
        turns: &[
            ("xterm", 158),
            ("X", 29),
            ("xterm", 158),
            ("X", 29),
            ("xterm", 158),
            ("X", 28),
            ("xterm", 158),
        ],
        fsyncs: 0,
    },
    Counts {
        name: "lowriter",
        reads: [528, 78, 662],
        bursts: 24,
        sectors: 94_968,
        sizes: [58, 249],
        random: 343,
        extents: 539,
        span: 163_477_000,
        distance: [0.43e6, 18.9e6],
        turns: &[
            ("lowriter", 72),
            ("oosplash", 389),
            ("javaldx", 164),
            ("soffice.bin", 643),
        ],
        fsyncs: 8,
    },
    Counts {
        name: "gnometerm",
        reads: [433, 355, 1_992],
        bursts: 67,
        sectors: 41_112,
        sizes: [199, 22],
        random: 404,
        extents: 814,
        span: 495_312_000,
        distance: [3.5e6, 83.5e6],
        turns: &[
            ("first", 270),
            ("second", 200),
            ("first", 270),
            ("third", 300),
            ("first", 270),
            ("fourth", 200),
            ("fifth", 250),
            ("first", 270),
            ("sixth", 250),
            ("seventh", 230),
            ("first", 270),
        ],
        fsyncs: 1,
    },
];

/// A request before it has a place.
#[derive(Clone, Copy)]
struct Drawn {
    kind: Kind,
    sectors: u64,
    random: bool,
}

impl Counts {
    /// The start-up, its requests in the first `front` sectors.
    pub(super) fn made(&self, seed: u64, front: u64) -> Startup {
        let mut rng = Rng::stream(seed, &format!("start-up/{}", self.name));
        let mut drawn = self.with_bursts(self.awaited(&mut rng));
        self.make_random(&mut drawn, &mut rng);
        let mut processes: Vec<String> = Vec::new();
        let turns = self
            .turns
            .iter()
            .flat_map(|(name, times)| std::iter::repeat_n(*name, *times as usize));
        let mut places = Places::new(self, front, &mut rng);
        let placed = drawn.into_iter().zip(turns);
        let items = placed.map(|(one, name)| {
            let known = processes.iter().position(|known| known == name);
            let process = known.unwrap_or_else(|| {
                processes.push(name.to_owned());
                processes.len() - 1
            });
            let (process, think) = (process as u16, Duration(0));
            Item {
                process,
                think,
                kind: one.kind,
                block: places.next(&one, &mut rng),
                blocks: one.sectors,
            }
        });
        let items = self.with_fsyncs(items.collect());
        Startup {
            name: self.name.to_owned(),
            processes,
            items,
        }
    }

    /// Requests that are waited for, in a drawn order.
    fn awaited(&self, rng: &mut Rng) -> Vec<Drawn> {
        let [reads, metadata, ahead] = self.reads;
        let [short, long] = self.sizes;
        let between = reads - short - long;
        let pages = (self.sectors - (ahead + metadata + short) * PAGE - long * LONGEST) / PAGE;
        let of = |sectors| Drawn {
            kind: Kind::Read,
            sectors,
            random: false,
        };
        // The rest is spread evenly over those in between, to the page.
        let rest =
            (0..between).map(|one| (pages * (one + 1) / between - pages * one / between) * PAGE);
        let small = std::iter::repeat_n(PAGE, (metadata + short) as usize);
        let large = std::iter::repeat_n(LONGEST, long as usize);
        let mut drawn: Vec<Drawn> = small.chain(large).chain(rest).map(of).collect();
        for last in (1..drawn.len()).rev() {
            drawn.swap(last, rng.below(last as u64 + 1) as usize);
        }
        drawn
    }

    /// The same with bursts of read-ahead before some of them, at equal distances.
    fn with_bursts(&self, awaited: Vec<Drawn>) -> Vec<Drawn> {
        let (ahead, bursts) = (self.reads[2], self.bursts);
        let one = Drawn {
            kind: Kind::Ahead,
            sectors: PAGE,
            random: false,
        };
        let (mut drawn, count) = (Vec::new(), awaited.len() as u64);
        let mut burst = 0;
        for (number, read) in awaited.into_iter().enumerate() {
            while burst < bursts && number as u64 >= count * burst / bursts {
                let size = ahead * (burst + 1) / bursts - ahead * burst / bursts;
                drawn.extend(std::iter::repeat_n(one, size as usize));
                burst += 1;
            }
            drawn.push(read);
        }
        drawn
    }

    /// Draws which are not near the one before: of those that are waited for, and of the first of
    /// each burst.
    fn make_random(&self, drawn: &mut [Drawn], rng: &mut Rng) {
        let heads: Vec<bool> = (0..drawn.len())
            .map(|at| drawn[at].kind == Kind::Read || at == 0 || drawn[at - 1].kind == Kind::Read)
            .collect();
        let mut left = heads.iter().filter(|head| **head).count() as u64;
        let mut random = self.random;
        for (one, head) in drawn.iter_mut().zip(heads) {
            if head {
                one.random = rng.below(left) < random;
                random -= u64::from(one.random);
                left -= 1;
            }
        }
    }

    /// The same with pages that are written and waited for, by who asks there.
    fn with_fsyncs(&self, items: Vec<Item>) -> Vec<Item> {
        let (count, half) = (items.len() as u64, items.len() as u64 / 2);
        let mut with = Vec::new();
        let mut done = 0;
        for (number, item) in items.into_iter().enumerate() {
            with.push(item);
            while done < self.fsyncs
                && number as u64 + 1 >= half + (count - half) * (done + 1) / (self.fsyncs + 1)
            {
                let written = |kind, blocks| Item {
                    kind,
                    blocks,
                    ..item
                };
                with.extend([written(Kind::Write, PAGE), written(Kind::Fsync, 0)]);
                done += 1;
            }
        }
        with
    }
}

/// Where requests lie.
struct Places {
    span: u64,
    end: u64,
    /// Of those that are near, the share that goes on where the last one ended.
    on: f64,
    median: f64,
    spread: f64,
}

impl Places {
    fn new(counts: &Counts, front: u64, rng: &mut Rng) -> Places {
        let [reads, metadata, ahead] = counts.reads;
        let all = reads + metadata + ahead;
        let (near, on) = (all - counts.random, all - counts.extents);
        let span = counts.span.min(front);
        let [median, mean] = counts.distance;
        Places {
            span,
            end: rng.below(span),
            on: on as f64 / near as f64,
            // Of a log-normal distribution, whose mean is the median times exp(spread² / 2).
            median: median * span as f64 / counts.span as f64,
            spread: libm::sqrt(2.0 * libm::log(mean / median)),
        }
    }

    fn next(&mut self, one: &Drawn, rng: &mut Rng) -> u64 {
        let distance = match one.random {
            true => NEAR + (self.median * libm::exp(self.spread * rng.normal())) as u64,
            false if rng.chance(self.on) => 0,
            false => 1 + rng.below(NEAR),
        };
        let last = self.span - one.sectors;
        let distance = distance.min(last);
        let ahead = self.end + distance <= last && (distance == 0 || rng.chance(0.5));
        let at = match () {
            () if ahead => self.end + distance,
            () if self.end >= distance => self.end - distance,
            () => (self.end + distance).min(last),
        };
        let at = at.min(last) / PAGE * PAGE;
        self.end = at + one.sectors;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests, sectors, of 4 KiB, of 128 KiB, near, ahead, extents.
    fn counted(startup: &Startup) -> [u64; 7] {
        let mut counts = [0; 7];
        let mut end = u64::MAX;
        for item in startup.items.iter().filter(|item| !item.kind.writes()) {
            let far = end == u64::MAX || item.block.abs_diff(end) > NEAR;
            let found = [
                1,
                item.blocks,
                u64::from(item.blocks == 8),
                u64::from(item.blocks == 256),
                u64::from(!far),
                u64::from(item.kind == Kind::Ahead),
                u64::from(item.block != end),
            ];
            counts = std::array::from_fn(|at| counts[at] + found[at]);
            end = item.block + item.blocks;
        }
        counts
    }

    /// The table of the recordings: what is drawn is near its count, all else is it.
    #[test]
    fn start_ups_have_the_published_counts() {
        for (name, exact, near, extents) in [
            ("xterm", [718, 12_072, 643, 9, 554], 609, 179),
            ("lowriter", [1_268, 94_968, 798, 249, 662], 925, 539),
            ("gnometerm", [2_780, 41_112, 2_546, 22, 1_992], 2_376, 814),
        ] {
            let counts = ALL.iter().find(|counts| counts.name == name).unwrap();
            let mut sums = [0; 2];
            for seed in 1..=20 {
                let startup = counts.made(seed, u64::MAX);
                let [all, sectors, short, long, close, ahead, pieces] = counted(&startup);
                assert_eq!([all, sectors, short, long, ahead], exact, "{name}");
                sums = [sums[0] + close, sums[1] + pieces];
                assert!(startup.check(counts.span).is_ok());
            }
            assert!(
                sums[0].abs_diff(20 * near) < 20 * near / 50,
                "{name}: {sums:?}"
            );
            assert!(
                sums[1].abs_diff(20 * extents) < 20 * extents / 10,
                "{name}: {sums:?}"
            );
            let turns: u64 = counts.turns.iter().map(|(_, times)| times).sum();
            assert_eq!(turns, exact[0], "{name}");
        }
    }

    #[test]
    fn who_asks_takes_turns_as_recorded_and_seeds_draw_other_places() {
        let lowriter = ALL[2].made(1, u64::MAX);
        let mut switches = 0;
        let reads: Vec<&Item> = lowriter
            .items
            .iter()
            .filter(|item| !item.kind.writes())
            .collect();
        for pair in reads.windows(2) {
            switches += u32::from(pair[0].process != pair[1].process);
        }
        assert_eq!((switches, lowriter.processes.len()), (3, 4));
        let fsyncs = lowriter
            .items
            .iter()
            .filter(|item| item.kind == Kind::Fsync)
            .count();
        assert_eq!(fsyncs, 8);
        let first = lowriter.items.iter().position(|item| item.kind.writes());
        assert!(first.unwrap() >= reads.len() / 2, "{first:?}");
        let begins = |pair: &[&Item]| pair[0].kind == Kind::Read && pair[1].kind == Kind::Ahead;
        let bursts = reads.windows(2).filter(|pair| begins(pair)).count();
        // That of the first is not behind a read.
        assert_eq!((reads[0].kind, bursts + 1), (Kind::Ahead, 24));
        assert_eq!(lowriter, ALL[2].made(1, u64::MAX));
        assert_ne!(lowriter, ALL[2].made(2, u64::MAX));
        assert!(ALL[2].made(1, 1 << 20).check(1 << 20).is_ok());
    }
}
