//! A load like that of SPC-1: eight streams a business unit, on a data store, a user store and a
//! log.
//!
//! It follows what is known in public of the benchmark of the Storage Performance Council; it is
//! not that benchmark, so what is measured under it is no SPC-1 result. Call it SPC-1-like.
//!
//! **Where.** The span is cut into three application storage units (ASU), one behind the other, of
//! 45, 45 and 10 % of it, to the block. Each begins at a multiple of 64 KiB, so that leaves and
//! runs lie on tracks and strips of a cache or an array; at most 1.25 MiB at the end of the span
//! stay unused. Requests are of whole 4 KiB pages.
//!
//! **How much.** The unit of load is the business scaling unit (BSU) of 50 requests a second. It is
//! eight streams, each with a place of its own, and more load is more of them and nothing else. So
//! `bsu` is a whole number: part of one would be another load, not less of this.
//!
//! | Stream | Share | Reads | Size | Pattern | Where in its ASU |
//! |---|---|---|---|---|---|
//! | 1-1 | 3.5 % | 50 % | 4 KiB | uniform | all |
//! | 1-2 | 28.1 % | 50 % | 4 KiB | walk | 15 to 20 % |
//! | 1-3 | 7.0 % | 100 % | mixed | runs | begin in 20 to 60 %, a tenth of the ASU long |
//! | 1-4 | 21.0 % | 50 % | 4 KiB | walk | 70 to 75 % |
//! | 2-1 | 1.8 % | 30 % | 4 KiB | uniform | all |
//! | 2-2 | 7.0 % | 30 % | 4 KiB | walk | 47 to 52 % |
//! | 2-3 | 3.5 % | 100 % | mixed | runs | begin in 20 to 60 %, a tenth long |
//! | 3-1 | 28.1 % | 0 % | mixed | runs | begin in 0 to 70 %, three tenths long |
//!
//! Mixed sizes are 4, 8, 16, 32 and 64 KiB with 40, 24, 20, 8 and 8 %. The walk is told in
//! `spc1/walk.rs`. That makes 28.9 % random reads, 32.5 % random writes, 10.5 % sequential reads,
//! 28.1 % sequential writes, 8 KB each on average.
//!
//! **When.** Each stream's gaps are exponentially distributed, whatever the drive does, rounded to
//! the nanosecond. Each has random numbers of its own, so that the first n BSUs ask the same under
//! any load, but for which page of a leaf it is where they share counts with others.
//!
//! **Who.** A request's stream is one of the eight, and results tell them apart; with
//! `streams=each` it is one of 8 for each BSU.
//!
//! Sources: the streams, their intensities and the walk are those of the open implementation by
//! Daniel and Faith (A portable, open-source implementation of the SPC-1 workload, IISWC 2005;
//! github.com/lpabon/spc1, version 1.4), read for its constants. The shares agree with those in
//! Gill and Modha, SARC, USENIX 2005, and Gill and Bathen, AMP, FAST 2007; the intensities with
//! published full disclosure reports. For the walk see McNutt, The Fractal Structure of Data
//! Reference, 2000. What differs from the open implementation:
//!
//! - A leaf's reads are counted by its address in both walks. Classic counts them by the place in
//!   the walker's tree there, so that walkers share counts of leaves that they do not share;
//!   `counts=tree` does so.
//! - The first run of a stream begins somewhere inside it, as if the load had gone on for long: a
//!   run takes hours on a large volume, and else all streams would begin theirs at once. With
//!   `walk=classic` runs begin and end at multiples of 64 KiB, as there.
//! - Regions of a walk begin and end with whole leaves; there a tree could begin up to seven pages
//!   before its region.
//! - Places and times have 64 bits, and draws are uniform to 2^-64; there places end at 8 TiB, a
//!   clock of 0.1 ms turns over within days, and draws are remainders of 31 bits.
//! - Stream 2-1 asks for any page in both walks; there it asks for even ones if the walk is not
//!   classic.
//! - A volume that is too small for the walk is refused; there it is inflated, and addresses are
//!   divided by a factor afterwards.
//! - The third walk of that implementation, a proposal for a version 2 that steps out of its region
//!   and tries again, is left out.
//!
//! A request costs O(log BSUs), for the heap that says which stream is next, and about five draws;
//! nothing is allocated. Memory is a byte for each leaf and context, 2 MB for a terabyte, and some
//! 120 bytes a stream.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

use nearslot_core::ids::StreamId;
use nearslot_core::op::Op;
use nearslot_core::registry::{ConfigError, Knob, Knobs, Spec, written};
use nearslot_core::request::Request;
use nearslot_core::rng::Rng;
use nearslot_core::units::{BLOCK_BYTES, Duration, Instant};

use self::walk::{Counts, LEAF_PAGES, Region, Style, Walker};
use super::{LoadEnv, Synthetic, Workload, access, slowest_rate_rps};
use crate::number::decimal_bytes;

mod walk;

/// Blocks of a page.
const PAGE_BLOCKS: u64 = 8;
const PAGE_BYTES: u64 = PAGE_BLOCKS * BLOCK_BYTES;
/// Pages of 64 KiB, at which ASUs and the runs of `classic` begin.
const ALIGNED_PAGES: u64 = 16;
/// ASUs are so many twentieths of the span.
const TWENTIETHS: [u64; 3] = [9, 9, 2];
/// Requests per second of a BSU.
const BSU_RPS: f64 = 50.0;
/// Streams of a BSU.
const STREAMS: usize = KINDS.len();
/// Sizes in pages, with the sum of all weights up to its own, of 25.
const SIZES: [(u64, u64); 5] = [(1, 10), (2, 16), (4, 21), (8, 23), (16, 25)];
const WEIGHTS: u64 = SIZES[SIZES.len() - 1].1;
/// What counts of leaves may take: that is enough for a petabyte.
const COUNTS_BYTES_MAX: u64 = 4 << 30;

/// What a stream is, wherever it is.
struct Kind {
    name: &'static str,
    asu: usize,
    intensity: f64,
    read_share: f64,
    pattern: Pattern,
}

/// Percent of the ASU.
enum Pattern {
    Uniform,
    Walk(Range<u64>),
    /// Where runs begin, and how long they are.
    Runs(Range<u64>, u64),
}

const fn kind(
    name: &'static str,
    (asu, intensity, read_share): (usize, f64, f64),
    pattern: Pattern,
) -> Kind {
    Kind {
        name,
        asu,
        intensity,
        read_share,
        pattern,
    }
}

const KINDS: [Kind; 8] = [
    kind("1-1", (0, 0.035, 0.5), Pattern::Uniform),
    kind("1-2", (0, 0.281, 0.5), Pattern::Walk(15..20)),
    kind("1-3", (0, 0.070, 1.0), Pattern::Runs(20..60, 10)),
    kind("1-4", (0, 0.210, 0.5), Pattern::Walk(70..75)),
    kind("2-1", (1, 0.018, 0.3), Pattern::Uniform),
    kind("2-2", (1, 0.070, 0.3), Pattern::Walk(47..52)),
    kind("2-3", (1, 0.035, 1.0), Pattern::Runs(20..60, 10)),
    kind("3-1", (2, 0.281, 0.0), Pattern::Runs(0..70, 30)),
];

/// A stream.
struct Stream {
    rng: Rng,
    gap_ns: f64,
    read_share: f64,
    place: Place,
}

/// Where a stream asks.
enum Place {
    /// Any of these pages.
    Uniform(Range<u64>),
    /// In the region of this number.
    Walk(usize, Walker),
    Runs(Runs),
}

/// Runs through a part of an ASU.
#[derive(Clone)]
struct Runs {
    /// The first page at which one may begin, and at how many one may, so many pages apart.
    first: u64,
    begins: u64,
    apart: u64,
    /// Pages of a run.
    length: u64,
    /// Of the present run, the page that is next, and the one that it stays below.
    next: u64,
    limit: u64,
}

impl Runs {
    /// Runs that begin in a share of an ASU; none has begun.
    fn new(asu: &Range<u64>, begins: &Range<u64>, length: u64, style: Style) -> Runs {
        let apart = match style {
            Style::Classic => ALIGNED_PAGES,
            Style::Fixed => 1,
        };
        let first = percent(asu, begins.start).next_multiple_of(apart);
        Runs {
            first,
            begins: (percent(asu, begins.end) - first).div_ceil(apart),
            apart,
            length: percent(asu, length) - asu.start,
            next: 0,
            limit: 0,
        }
    }

    /// The same with a run that is under way.
    fn under_way(mut self, rng: &mut Rng) -> Runs {
        self.begin(rng);
        self.next += rng.below(self.limit - self.next);
        self
    }

    fn begin(&mut self, rng: &mut Rng) {
        self.next = self.first + rng.below(self.begins) * self.apart;
        let end = self.next + self.length;
        self.limit = end - end % self.apart;
    }

    /// First page and number of pages of the next request.
    #[inline]
    fn step(&mut self, rng: &mut Rng) -> (u64, u64) {
        let drawn = rng.below(WEIGHTS);
        let size = SIZES.iter().find(|(_, until)| drawn < *until);
        let (len, _) = *size.expect("the last one's sum is all weights");
        if self.next + len >= self.limit {
            self.begin(rng);
        }
        let page = self.next;
        self.next += len;
        (page, len)
    }
}

/// The page at so many percent of an ASU.
fn percent(asu: &Range<u64>, percent: u64) -> u64 {
    asu.start + (asu.end - asu.start) * percent / 100
}

/// First page and number of the whole leaves of a part of an ASU.
fn leaves(asu: &Range<u64>, of: &Range<u64>) -> (u64, u64) {
    let start = percent(asu, of.start).next_multiple_of(LEAF_PAGES);
    (start, (percent(asu, of.end) - start) / LEAF_PAGES)
}

/// The pages of each ASU.
fn asus(span_pages: u64) -> [Range<u64>; 3] {
    let twentieth = span_pages / 20 / ALIGNED_PAGES * ALIGNED_PAGES;
    let mut end = 0;
    TWENTIETHS.map(|twentieths| {
        let start = end;
        end += twentieths * twentieth;
        start..end
    })
}

/// How places come back, by what reads of a leaf are counted, and how requests name who asks: the
/// defaults come first.
const WALKS: &[&str] = &["classic", "fixed"];
const COUNTS: &[&str] = &["address", "tree"];
const STREAM_WORDS: &[&str] = &["kinds", "each"];

struct Spc1 {
    left: u64,
    number: u64,
    /// When each stream asks next; of several at an instant the first of them.
    due: BinaryHeap<Reverse<(Instant, u32)>>,
    /// All streams of the first BSU, then of the second.
    streams: Vec<Stream>,
    regions: Vec<Region>,
    names: Vec<String>,
}

impl Spc1 {
    /// # Errors
    /// The span is too small for the walk or too large for memory, or more contexts than BSUs.
    fn new(knobs: &Knobs, env: &LoadEnv<'_>) -> Result<Spc1, ConfigError> {
        let (bsus, contexts) = (knobs.integer("bsu"), knobs.integer("contexts"));
        if contexts > bsus {
            let allowed = format!("at most {bsus}, as many as there are BSUs");
            return Err(ConfigError::value(
                "spc1.contexts",
                &contexts.to_string(),
                &allowed,
            ));
        }
        let style = match knobs.choice("walk") {
            "classic" => Style::Classic,
            _ => Style::Fixed,
        };
        let counts = match knobs.choice("counts") {
            "address" => Counts::Address,
            _ => Counts::Tree,
        };
        let span = access::span_blocks(knobs, env) / PAGE_BLOCKS;
        let all = env.capacity.0 / PAGE_BLOCKS;
        check_span((knobs.number("span"), span, all), style, contexts)?;
        let asus = asus(span);
        let mut spc1 = Spc1 {
            left: knobs.integer("requests"),
            number: 0,
            due: BinaryHeap::with_capacity(bsus as usize * STREAMS),
            streams: Vec::with_capacity(bsus as usize * STREAMS),
            regions: Vec::new(),
            names: Vec::new(),
        };
        for kind in &KINDS {
            if let Pattern::Walk(of) = &kind.pattern {
                let leaves = leaves(&asus[kind.asu], of);
                let region = Region::new((style, counts), leaves, contexts);
                spc1.regions.push(region);
            }
        }
        for bsu in 0..bsus {
            spc1.add_bsu(bsu, (bsu * contexts / bsus, style), &asus, env);
        }
        spc1.names = match knobs.choice("streams") {
            "kinds" => KINDS.iter().map(|kind| kind.name.to_owned()).collect(),
            _ => (1..=bsus)
                .flat_map(|bsu| KINDS.map(|kind| format!("{} of BSU {bsu}", kind.name)))
                .collect(),
        };
        Ok(spc1)
    }

    fn add_bsu(
        &mut self,
        bsu: u64,
        (context, style): (u64, Style),
        asus: &[Range<u64>; 3],
        env: &LoadEnv<'_>,
    ) {
        let mut region = 0;
        for kind in &KINDS {
            let label = format!("{}/bsu{bsu}/{}", env.label, kind.name);
            let mut rng = Rng::stream(env.seed, &label);
            let asu = &asus[kind.asu];
            let place = match &kind.pattern {
                Pattern::Uniform => Place::Uniform(asu.clone()),
                Pattern::Walk(_) => {
                    region += 1;
                    let walker = self.regions[region - 1].walker(context, &mut rng);
                    Place::Walk(region - 1, walker)
                }
                Pattern::Runs(begins, length) => {
                    Place::Runs(Runs::new(asu, begins, *length, style).under_way(&mut rng))
                }
            };
            let gap_ns = 1e9 / (BSU_RPS * kind.intensity);
            let first = Instant(gap(&mut rng, gap_ns));
            self.due.push(Reverse((first, self.streams.len() as u32)));
            self.streams.push(Stream {
                rng,
                gap_ns,
                read_share: kind.read_share,
                place,
            });
        }
    }
}

/// Nanoseconds until the next request of a stream.
#[inline]
fn gap(rng: &mut Rng, mean_ns: f64) -> u64 {
    libm::round(rng.exponential(mean_ns)) as u64
}

/// Whether the walk has room in such a share of all pages, which makes so many, and memory has room
/// for its counts.
///
/// # Errors
/// One of them has not.
fn check_span(
    (share, pages, all): (f64, u64, u64),
    style: Style,
    contexts: u64,
) -> Result<(), ConfigError> {
    let bytes = |pages: u64| decimal_bytes(pages.saturating_mul(PAGE_BYTES));
    let refused = |allowed: String| {
        let span = format!("{}, which is {}", written(share), bytes(pages));
        Err(ConfigError::value("spc1.span", &span, &allowed))
    };
    // A region is a twentieth of an ASU; up to two leaves of it may not be whole.
    let region_min = (style.leaves_min() + 2) * LEAF_PAGES;
    let aligned_min = (region_min * 20).div_ceil(TWENTIETHS[0] * ALIGNED_PAGES);
    let pages_min = aligned_min * 20 * ALIGNED_PAGES;
    if pages < pages_min {
        let least = match pages_min <= all {
            true => {
                let share = share_told(pages_min, all, libm::ceil);
                format!("at least {share} of {}", bytes(all))
            }
            false => format!("a drive of at least {} bytes", pages_min * PAGE_BYTES),
        };
        return refused(format!(
            "{least}, so that a region of the walk, a twentieth of 45 %, has {} leaves of 32 KiB",
            style.leaves_min(),
        ));
    }
    let regions = 3;
    let leaves_max = COUNTS_BYTES_MAX / regions / contexts;
    let pages_max = leaves_max * LEAF_PAGES * 20 / TWENTIETHS[0] * 20;
    if pages > pages_max {
        let most = share_told(pages_max, all, libm::floor);
        return refused(format!(
            "at most {most} of {} if contexts = {contexts}: the leaves of the walk would take more than 4 GiB of memory",
            bytes(all),
        ));
    }
    Ok(())
}

/// Digits that shares are told with.
const SHARE_DIGITS: i32 = 4;

/// The share of all pages that makes so many, to a few digits: no fewer of them, or no more.
fn share_told(pages: u64, all: u64, rounded: fn(f64) -> f64) -> String {
    let share = pages as f64 / all as f64;
    let zeros = -libm::floor(libm::log10(share)) as i32;
    let decimals = (zeros + SHARE_DIGITS - 1).max(0);
    let scale = libm::pow(10.0, f64::from(decimals));
    let told = rounded(share * scale) / scale;
    format!("{told:.*}", decimals as usize)
}

/// The fewest business units with which so many requests come within virtual time.
pub(super) fn fewest(requests: u64) -> u64 {
    libm::ceil(slowest_rate_rps(requests, 1.0) / BSU_RPS) as u64
}

/// Whether so many requests come within virtual time.
///
/// # Errors
/// They do not.
fn check_load(requests: u64, bsus: u64) -> Result<(), ConfigError> {
    let slowest = fewest(requests);
    if bsus >= slowest {
        return Ok(());
    }
    let allowed =
        format!("at least {slowest}, with which {requests} requests take about 146 years");
    Err(ConfigError::value("spc1.bsu", &bsus.to_string(), &allowed))
}

impl Workload for Spc1 {
    fn next_arrival(&self) -> Option<Instant> {
        let Reverse((due, _)) = self.due.peek().filter(|_| self.left > 0)?;
        Some(*due)
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        let arrived = self.next_arrival().filter(|due| *due <= now)?;
        let mut earliest = self.due.peek_mut()?;
        let Reverse((due, index)) = &mut *earliest;
        let stream = &mut self.streams[*index as usize];
        let rng = &mut stream.rng;
        let op = match rng.chance(stream.read_share) {
            true => Op::Read,
            false => Op::Write,
        };
        let (page, pages) = match &mut stream.place {
            Place::Uniform(of) => (of.start + rng.below(of.end - of.start), 1),
            Place::Walk(region, walker) => (self.regions[*region].step(walker, op, rng), 1),
            Place::Runs(runs) => runs.step(rng),
        };
        *due = arrived + Duration(gap(rng, stream.gap_ns));
        // There are as many names as streams that are told apart: each kind, or each of them.
        let name = *index % self.names.len() as u32;
        // Here the heap is put in order again.
        drop::<PeekMut<'_, _>>(earliest);
        self.left -= 1;
        self.number += 1;
        let (start, len) = (page * PAGE_BLOCKS, pages * PAGE_BLOCKS);
        Some(Request {
            stream: StreamId(name),
            ..Request::new(self.number - 1, op, start, len, arrived)
        })
    }

    fn streams(&self) -> &[String] {
        &self.names
    }
}

pub(super) static SPEC: Spec<Synthetic> = Spec {
    name: "spc1",
    aliases: &["spc1-like"],
    summary: "like SPC-1: eight streams a business unit over data, users and a log, whatever the drive does",
    source: "after Daniel and Faith, A portable, open-source implementation of the SPC-1 workload, IISWC 2005; not the benchmark itself, so \
             that no result is an SPC-1 result",
    knobs: &[
        Knob::integer(
            "bsu",
            1,
            1..=100_000,
            "business units of 50 requests per second, in eight streams each",
        ),
        Knob::choice(
            "walk",
            WALKS[0],
            WALKS,
            "how places come back: as in the first generator, or as it was meant",
        ),
        Knob::choice(
            "counts",
            COUNTS[0],
            COUNTS,
            "by what the walk counts reads of 32 KiB: their address, or their place in the tree of a stream",
        ),
        Knob::integer(
            "contexts",
            1,
            1..=1_000,
            "groups of BSUs that share no count of reads; the first generator had one for each 100 BSUs",
        ),
        Knob::choice(
            "streams",
            STREAM_WORDS[0],
            STREAM_WORDS,
            "who asks: the eight kinds of streams, or each stream of each BSU",
        ),
        access::SPAN,
        access::REQUESTS,
    ],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, env| {
        let requests = knobs.integer("requests");
        check_load(requests, knobs.integer("bsu"))?;
        Ok(Box::new(Synthetic {
            requests: Some(requests),
            depth: None,
            workload: Box::new(Spc1::new(knobs, env)?),
        }))
    },
};
