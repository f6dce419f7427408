//! A rehearsal of power cuts: the power goes at every instant of a run, and what a scan finds then
//! of each block must be the newest version that was answered, or one that was under way.
//!
//! A medium holds bytes. A write lands sector by sector, in order, backward or in any order; the
//! power goes before each of them, and in the midst of each, which is then neither old nor new. A
//! log that came back is written on, and the power goes again. Payloads are few, so that writes of
//! equal content meet, which is where a torn header could come to fit.
//!
//! An instant costs a scan of ten slots, some 50 us. It is here and not among the tests since the
//! study of range writes counts its instants.

use nearslot_core::rng::Rng;

use super::header::{HEADER_BYTES, Header, PAYLOAD_BYTES, SLOT_BYTES, sealed};
use super::recovery::{Recovered, recover};
use super::{Log, Write};

const NUMBER: u64 = 11;
const BLOCKS: u64 = 6;
const SLOTS: u64 = 10;
const SECTORS: usize = SLOT_BYTES / HEADER_BYTES;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rehearsed {
    /// Instants at which the power went.
    pub instants: u64,
    /// Blocks that came back as an older version than was answered, or as none.
    pub lost: u64,
    /// Torn writes that scans have named.
    pub torn: u64,
    /// Instants after which a second scan found something else than the first.
    pub changed: u64,
}

/// What a block holds; 0 was never written.
type Content = u8;

#[derive(Clone)]
struct Medium(Vec<[u8; SLOT_BYTES]>);

impl Medium {
    fn sector(&mut self, (slot, sector): (u64, usize)) -> &mut [u8] {
        let bytes = &mut self.0[slot as usize];
        &mut bytes[sector * HEADER_BYTES..(sector + 1) * HEADER_BYTES]
    }

    fn scan(&self) -> Recovered {
        let read = |slot: u64, bytes: &mut [u8; SLOT_BYTES]| *bytes = self.0[slot as usize];
        recover(NUMBER, (BLOCKS, SLOTS), read).expect("nothing strange is on it")
    }

    fn content(&self, log: &Log, logical: u64) -> Content {
        let slot = log.at(logical);
        slot.map_or(0, |slot| self.0[slot as usize][HEADER_BYTES])
    }

    /// Wipes what was torn, as who recovers must.
    fn wipe(&mut self, torn: &[u64]) {
        for slot in torn {
            self.sector((*slot, 0)).fill(0);
        }
    }
}

/// A write under way: its slots' sectors, in the order in which they land.
struct Flying {
    write: Write,
    slot: u64,
    contents: Vec<Content>,
    bytes: Vec<Box<[u8; SLOT_BYTES]>>,
    order: Vec<(u64, usize)>,
    landed: usize,
}

impl Flying {
    fn new(
        log: &mut Log,
        logical: u64,
        contents: Vec<Content>,
        slot: u64,
        rng: &mut Rng,
    ) -> Flying {
        let write = log.begin(logical, contents.len() as u64);
        log.take(&write, slot);
        let bytes = contents.iter().zip(0..).map(|(content, index)| {
            let header = Header {
                log: NUMBER,
                sequence: write.sequence + index,
                logical: logical + index,
            };
            sealed(&header, &[*content; PAYLOAD_BYTES])
        });
        let bytes: Vec<_> = bytes.collect();
        let sectors = (0..SECTORS).flat_map(|sector| (0..write.count).map(move |at| (at, sector)));
        let mut order: Vec<(u64, usize)> = sectors.collect();
        order.sort_unstable();
        match rng.below(3) {
            0 => {}
            1 => order.reverse(),
            _ => {
                for last in (1..order.len()).rev() {
                    order.swap(last, rng.below(last as u64 + 1) as usize);
                }
            }
        }
        Flying {
            write,
            slot,
            contents,
            bytes,
            order,
            landed: 0,
        }
    }

    /// Where the next sector goes, and what it is.
    fn next(&self) -> Option<((u64, usize), &[u8])> {
        let (at, sector) = *self.order.get(self.landed)?;
        let bytes = &self.bytes[at as usize];
        let of = &bytes[sector * HEADER_BYTES..(sector + 1) * HEADER_BYTES];
        Some(((self.slot + at, sector), of))
    }

    fn covers(&self, logical: u64) -> Option<Content> {
        let index = logical.checked_sub(self.write.logical)?;
        self.contents.get(index as usize).copied()
    }
}

/// What was answered of each block, and what is under way.
struct Run {
    log: Log,
    medium: Medium,
    answered: [Content; BLOCKS as usize],
    flying: Vec<Flying>,
    found: Rehearsed,
}

impl Run {
    fn new() -> Run {
        Run {
            log: Log::new(BLOCKS, SLOTS),
            medium: Medium(vec![[0; SLOT_BYTES]; SLOTS as usize]),
            answered: [0; BLOCKS as usize],
            flying: Vec::new(),
            found: Rehearsed::default(),
        }
    }

    /// The power goes: a scan finds for each block what was answered, or what is under way; and the
    /// same again once what was torn is wiped.
    fn cut(&mut self, medium: &Medium) {
        self.found.instants += 1;
        let found = medium.scan();
        for logical in 0..BLOCKS {
            let content = medium.content(&found.log, logical);
            let newer = self.flying.iter().filter_map(|one| one.covers(logical));
            let mut allowed = newer.chain([self.answered[logical as usize]]);
            self.found.lost += u64::from(!allowed.any(|one| one == content));
        }
        self.found.torn += found.torn.len() as u64;
        let mut wiped = medium.clone();
        wiped.wipe(&found.torn);
        let again = wiped.scan();
        self.found.changed += u64::from(again.log != found.log || !again.torn.is_empty());
    }

    /// One more sector of a write lands; the power could go before it and in its midst.
    fn step(&mut self, which: usize, rng: &mut Rng) {
        self.cut(&self.medium.clone());
        let Some((at, bytes)) = self.flying[which].next() else {
            let ended = self.flying.swap_remove(which);
            self.log.end(&ended.write, ended.slot);
            for (content, index) in ended.contents.iter().zip(ended.write.logical..) {
                self.answered[index as usize] = *content;
            }
            return;
        };
        let mut midst = self.medium.clone();
        let half = rng.below(HEADER_BYTES as u64) as usize;
        midst.sector(at)[..half].copy_from_slice(&bytes[..half]);
        midst.sector(at)[half] ^= 0x5a;
        self.medium.sector(at).copy_from_slice(bytes);
        self.flying[which].landed += 1;
        self.cut(&midst);
    }

    /// The power goes and comes back: what is found counts as answered from now on.
    fn come_back(&mut self) {
        let Recovered { log, torn } = self.medium.scan();
        self.medium.wipe(&torn);
        for logical in 0..BLOCKS {
            self.answered[logical as usize] = self.medium.content(&log, logical);
        }
        self.log = log;
        self.flying.clear();
    }

    /// A new write, if nothing under way is of the same blocks, whose order nobody could tell.
    fn begin(&mut self, rng: &mut Rng) {
        let count = self.log.room(0, 1 + rng.below(3));
        let logical = rng.below(BLOCKS + 1 - count.max(1));
        let range = logical..logical + count;
        let meets = |one: &Flying| range.clone().any(|block| one.covers(block).is_some());
        if count == 0 || self.flying.iter().any(meets) {
            return;
        }
        let contents = (0..count).map(|_| 1 + rng.below(3) as Content).collect();
        let slot = self
            .log
            .next(rng.below(SLOTS), count)
            .expect("there is room");
        let one = Flying::new(&mut self.log, logical, contents, slot, rng);
        self.flying.push(one);
    }
}

/// A run of so many steps, of writes that begin, sectors that land, and power that comes back.
pub fn rehearse(seed: u64, steps: u64) -> Rehearsed {
    let mut rng = Rng::stream(seed, "skiplog/rehearsal");
    let mut run = Run::new();
    for _ in 0..steps {
        match rng.below(60) {
            0 => run.come_back(),
            1..20 if run.flying.len() < 3 => run.begin(&mut rng),
            _ if !run.flying.is_empty() => {
                let which = rng.below(run.flying.len() as u64) as usize;
                run.step(which, &mut rng);
            }
            _ => {}
        }
    }
    run.found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_every_instant_the_newest_version_that_was_answered_comes_back() {
        let mut all = Rehearsed::default();
        for seed in 0..12 {
            let found = rehearse(seed, 500);
            assert_eq!(
                (found.lost, found.changed),
                (0, 0),
                "seed {seed}: {found:?}"
            );
            all.instants += found.instants;
            all.torn += found.torn;
        }
        assert!(all.instants > 8_000 && all.torn > 4_000, "{all:?}");
    }

    /// A write of which the header alone has landed, and later one of equal content of which
    /// everything but the header has.
    #[test]
    fn a_torn_write_is_not_brought_back_by_a_later_one() {
        let mut rng = Rng::stream(1, "test/torn");
        let mut run = Run::new();
        let whole = |run: &mut Run, one: &Flying| {
            for index in 0..one.order.len() {
                let (at, sector) = one.order[index];
                let bytes =
                    &one.bytes[at as usize][sector * HEADER_BYTES..(sector + 1) * HEADER_BYTES];
                run.medium
                    .sector((one.slot + at, sector))
                    .copy_from_slice(bytes);
            }
        };
        let old = Flying::new(&mut run.log, 0, vec![1], 4, &mut rng);
        whole(&mut run, &old);
        run.log.end(&old.write, 4);
        let mut new = Flying::new(&mut run.log, 0, vec![2], 7, &mut rng);
        new.order = vec![(0, 0)];
        whole(&mut run, &new);
        assert_eq!(run.medium.scan().torn, [7]);
        run.come_back();
        assert_eq!(run.answered[0], 1);
        let mut other = Flying::new(&mut run.log, 3, vec![2], 7, &mut rng);
        other.order = (1..SECTORS).map(|sector| (0, sector)).collect();
        whole(&mut run, &other);
        run.come_back();
        assert_eq!(run.answered[0], 1, "the version that had come back");
    }
}
