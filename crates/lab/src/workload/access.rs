//! What the synthetic workloads have in common: which operation, how long, and where.
//!
//! A request is a read with probability `read_share`. Its size is drawn from `size`. With
//! probability `sequential_share` it begins where the previous request ended, or at block 0 if it
//! would leave the span. Otherwise its start is a multiple of `align_blocks` within the first
//! `span` of the drive, chosen by `locality`:
//!
//! - `uniform`: every start alike.
//! - `hot_cold`: a share `hot_requests` of the requests goes to the first `hot_space` of the span,
//!   the rest to the rest.
//! - `zipf`: the span is cut into [`REGIONS`] equal regions, scattered by the seed into an order of
//!   popularity; the region of rank k is chosen with a probability proportional to
//!   k^-`zipf_exponent`, a start in it uniformly.
//!
//! Regions are drawn with Walker's alias method (Vose, A linear algorithm for generating random
//! numbers with a given distribution, IEEE Transactions on Software Engineering 17, 1991): one
//! table look-up whatever the exponent. The cost is a few random numbers each request.

use nearslot_core::op::Op;
use nearslot_core::registry::{ConfigError, Knob, Knobs};
use nearslot_core::request::Request;
use nearslot_core::rng::Rng;
use nearslot_core::units::{BLOCK_BYTES, Blocks, Extent, Instant, Lba};

use super::LoadEnv;

/// Regions of popularity. Their table takes 48 KiB, which stays in the near caches.
const REGIONS: usize = 1 << REGION_BITS;
const REGION_BITS: u32 = 12;

pub(super) const READ_SHARE: Knob =
    Knob::number("read_share", 1.0, 0.0..=1.0, "share of requests that read");
pub(super) const SIZE: Knob = Knob::text(
    "size",
    "4k",
    |text| parse_sizes(text).is_some(),
    "bytes such as 4096 or 4k, 512 to 64m in steps of 512, or a weighted list such as 4k/70+64k/30",
    "bytes per request",
);
pub(super) const SPAN: Knob = Knob::number(
    "span",
    1.0,
    1e-9..=1.0,
    "share of the drive, from its first block, that is used",
);
pub(super) const ALIGN: Knob = Knob::integer(
    "align_blocks",
    8,
    1..=131_072,
    "random starts are multiples of so many 512-byte blocks",
);
pub(super) const SEQUENTIAL_SHARE: Knob = Knob::number(
    "sequential_share",
    0.0,
    0.0..=1.0,
    "share of requests that begin where the previous one ended",
);
pub(super) const LOCALITY: Knob = Knob::choice(
    "locality",
    "uniform",
    &["uniform", "hot_cold", "zipf"],
    "how random starts are spread over the span",
);
pub(super) const HOT_SPACE: Knob = Knob::number(
    "hot_space",
    0.2,
    0.0..=1.0,
    "hot_cold: share of the span that is hot, at its front",
);
pub(super) const HOT_REQUESTS: Knob = Knob::number(
    "hot_requests",
    0.8,
    0.0..=1.0,
    "hot_cold: share of random requests that go there",
);
pub(super) const ZIPF_EXPONENT: Knob = Knob::number(
    "zipf_exponent",
    0.99,
    0.0..=5.0,
    "zipf: how uneven regions are; 0 is uniform",
);
pub(super) const REQUESTS: Knob = Knob::integer(
    "requests",
    100_000,
    1..=1_000_000_000_000,
    "requests to make",
);

/// Makes requests, but for when they come.
pub(super) struct Access {
    read_share: f64,
    sizes: Vec<Size>,
    span: u64,
    align: u64,
    sequential_share: f64,
    locality: Locality,

    rng: Rng,
    left: u64,
    number: u64,
    /// First block behind the previous request.
    end: u64,
}

/// A size with the sum of all weights up to its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    blocks: u64,
    until: u64,
}

enum Locality {
    Uniform,
    HotCold { space: f64, requests: f64 },
    Zipf(Box<[Column; REGIONS]>),
}

/// A column of the alias table: its own region below the threshold, the other one above.
#[derive(Clone, Copy)]
struct Column {
    threshold: u32,
    own: u32,
    other: u32,
}

impl Access {
    /// # Errors
    /// The largest request does not fit into the span.
    pub(super) fn new(knobs: &Knobs, env: &LoadEnv<'_>) -> Result<Access, ConfigError> {
        let mut rng = Rng::stream(env.seed, env.label);
        let sizes = parse_sizes(knobs.choice("size")).expect("the card accepted it");
        let span = span_blocks(knobs, env);
        let longest = sizes.iter().map(|size| size.blocks).max();
        let longest = longest.expect("the card accepts no empty list");
        if longest > span {
            let (bytes, span) = (longest * BLOCK_BYTES, span * BLOCK_BYTES);
            let allowed = format!("at most the span, {span} bytes");
            return Err(ConfigError::value(
                "size",
                &format!("{bytes} bytes"),
                &allowed,
            ));
        }
        let locality = knobs.choice("locality");
        for (knob, of) in [
            (&HOT_SPACE, "hot_cold"),
            (&HOT_REQUESTS, "hot_cold"),
            (&ZIPF_EXPONENT, "zipf"),
        ] {
            let set = knobs.first_given(std::iter::once(knob));
            if let Some((_, value)) = set.filter(|_| locality != of) {
                let allowed = format!("beside locality={of}, without which it has no effect");
                return Err(ConfigError::value(knob.name, &value.to_string(), &allowed));
            }
        }
        let locality = match locality {
            "uniform" => Locality::Uniform,
            "hot_cold" => Locality::HotCold {
                space: hot_space(knobs)?,
                requests: knobs.number("hot_requests"),
            },
            _ => Locality::Zipf(zipf(knobs.number("zipf_exponent"), &mut rng)),
        };
        Ok(Access {
            read_share: knobs.number("read_share"),
            sizes,
            span,
            align: knobs.integer("align_blocks"),
            sequential_share: knobs.number("sequential_share"),
            locality,
            rng,
            left: knobs.integer("requests"),
            number: 0,
            end: 0,
        })
    }

    /// Requests that will still be made.
    #[inline]
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// An exponentially distributed time with this mean in ns, from the same stream of random
    /// numbers.
    #[inline]
    pub(super) fn exponential_ns(&mut self, mean_ns: f64) -> u64 {
        libm::round(self.rng.exponential(mean_ns)) as u64
    }

    /// Yes with this chance, from the same stream.
    #[inline]
    pub(super) fn chance(&mut self, chance: f64) -> bool {
        self.rng.chance(chance)
    }

    /// The next request.
    #[inline]
    pub(super) fn next(&mut self, arrived: Instant) -> Request {
        let op = if self.rng.chance(self.read_share) {
            Op::Read
        } else {
            Op::Write
        };
        self.next_of(op, arrived)
    }

    /// The next request, of this kind.
    #[inline]
    pub(super) fn next_of(&mut self, op: Op, arrived: Instant) -> Request {
        assert!(self.left > 0, "all requests have been made");
        let len = self.size();
        let start = if self.sequential_share > 0.0 && self.rng.chance(self.sequential_share) {
            if self.end + len > self.span {
                0
            } else {
                self.end
            }
        } else {
            self.start((self.span - len) / self.align + 1) * self.align
        };
        self.end = start + len;
        self.left -= 1;
        self.number += 1;
        Request {
            extent: Extent {
                start: Lba(start),
                len: Blocks(len),
            },
            ..Request::new(self.number - 1, op, 0, 0, arrived)
        }
    }

    #[inline]
    fn size(&mut self) -> u64 {
        if let [only] = self.sizes[..] {
            return only.blocks;
        }
        let all = self.sizes[self.sizes.len() - 1].until;
        let drawn = self.rng.below(all);
        let size = self.sizes.iter().find(|size| drawn < size.until);
        size.expect("the last one's sum is all weights").blocks
    }

    /// One of `slots` places, numbered from the front of the span.
    #[inline]
    fn start(&mut self, slots: u64) -> u64 {
        match &self.locality {
            Locality::Uniform => self.rng.below(slots),
            Locality::HotCold { space, requests } => {
                let hot = (libm::ceil(slots as f64 * space) as u64).min(slots);
                let goes_hot = self.rng.chance(*requests);
                if goes_hot || hot == slots {
                    self.rng.below(hot)
                } else {
                    hot + self.rng.below(slots - hot)
                }
            }
            Locality::Zipf(columns) => {
                let bits = self.rng.bits();
                let column = columns[(bits >> (64 - REGION_BITS)) as usize];
                let region = if (bits as u32) < column.threshold {
                    column.own
                } else {
                    column.other
                };
                // A fraction of the span in units of 2^-64, whose top bits are the region.
                let within = self.rng.bits() >> REGION_BITS;
                let fraction = u64::from(region) << (64 - REGION_BITS) | within;
                ((u128::from(fraction) * u128::from(slots)) >> 64) as u64
            }
        }
    }
}

/// The share of the span that is hot: requests go there, so it is something.
///
/// # Errors
/// It is nothing.
fn hot_space(knobs: &Knobs) -> Result<f64, ConfigError> {
    let space = knobs.number("hot_space");
    if space == 0.0 {
        let allowed = "above 0, as requests go there";
        return Err(ConfigError::value("hot_space", "0", allowed));
    }
    Ok(space)
}

/// Blocks of every request of a load that has but one size.
///
/// # Errors
/// There are several.
pub(super) fn one_size(knobs: &Knobs) -> Result<u64, ConfigError> {
    let text = knobs.choice("size");
    match parse_sizes(text).expect("the card accepted it")[..] {
        [only] => Ok(only.blocks),
        _ => Err(ConfigError::value("size", text, "one size")),
    }
}

/// Blocks of the span.
pub(super) fn span_blocks(knobs: &Knobs, env: &LoadEnv<'_>) -> u64 {
    let capacity = env.capacity.0;
    (libm::round(capacity as f64 * knobs.number("span")) as u64).min(capacity)
}

/// The alias table for regions whose rank is drawn by a power law; which region has which rank is
/// drawn here.
fn zipf(exponent: f64, rng: &mut Rng) -> Box<[Column; REGIONS]> {
    let mut regions: Vec<u32> = (0..REGIONS as u32).collect();
    for index in (1..REGIONS).rev() {
        regions.swap(index, rng.below(index as u64 + 1) as usize);
    }
    let weight = |rank: usize| libm::pow((rank + 1) as f64, -exponent);
    let all: f64 = (0..REGIONS).map(weight).sum();
    let mut shares: Vec<f64> = (0..REGIONS)
        .map(|rank| weight(rank) * REGIONS as f64 / all)
        .collect();
    let full = |region| Column {
        threshold: u32::MAX,
        own: region,
        other: region,
    };
    let mut columns: Vec<Column> = regions.iter().map(|&region| full(region)).collect();
    // Shares fall with the rank: the large ones, first in line, fill up the columns of the small
    // ones.
    let mut large = 0;
    let mut small: Vec<usize> = (0..REGIONS)
        .rev()
        .filter(|&rank| shares[rank] < 1.0)
        .collect();
    while let Some(rank) = small.pop() {
        while large < REGIONS && shares[large] < 1.0 {
            large += 1;
        }
        if large == REGIONS {
            break;
        }
        columns[rank].threshold = (shares[rank] * 4_294_967_296.0) as u32;
        columns[rank].other = regions[large];
        shares[large] -= 1.0 - shares[rank];
        shares[rank] = 1.0;
        if shares[large] < 1.0 {
            small.push(large);
        }
    }
    columns
        .try_into()
        .ok()
        .expect("there is a column for each region")
}

/// Sizes of a list such as `4k/70+64k/30`; `None` if it is not one.
fn parse_sizes(text: &str) -> Option<Vec<Size>> {
    let mut sizes: Vec<Size> = Vec::new();
    for piece in text.split('+') {
        let (size, weight) = match piece.split_once('/') {
            Some((size, weight)) => (size, weight.trim().parse().ok()?),
            None if sizes.is_empty() && !text.contains('+') => (piece, 1),
            None => return None,
        };
        if !(1..=1_000_000_000_u64).contains(&weight) {
            return None;
        }
        let until = sizes.last().map_or(0, |size| size.until) + weight;
        sizes.push(Size {
            blocks: parse_blocks(size)?,
            until,
        });
    }
    Some(sizes)
}

/// Blocks of a size such as `4096`, `4k` or `1m`.
fn parse_blocks(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1 << 10),
        b'm' => (&text[..text.len() - 1], 1 << 20),
        _ => (&text[..], 1),
    };
    let bytes = digits.parse::<u64>().ok()?.checked_mul(unit)?;
    let allowed = bytes.is_multiple_of(BLOCK_BYTES) && (BLOCK_BYTES..=64 << 20).contains(&bytes);
    allowed.then_some(bytes / BLOCK_BYTES)
}

#[cfg(test)]
pub(super) mod tests {
    use nearslot_core::config::PartConfig;
    use nearslot_core::contract::Blueprint;
    use nearslot_core::drive;

    use super::*;
    use crate::workload::Synthetic;

    /// A drive of 100,000 blocks.
    pub(in crate::workload) fn toy() -> Box<dyn Blueprint> {
        let text = "kind = 'null'\ncapacity_blocks = 100000\nservice_us = 100.0";
        drive::read("toy", text, &[]).unwrap().0
    }

    /// The workload that `word` names, over [`toy`].
    pub(in crate::workload) fn synthetic(word: &str) -> Result<Synthetic, ConfigError> {
        let env = LoadEnv {
            seed: 1,
            label: "workload/0",
            capacity: toy().capacity(),
            drive: None,
            places_max: u64::MAX,
        };
        let part: PartConfig = word.parse().unwrap();
        Ok(crate::workload::synthetic(&part, &env)?.0)
    }

    /// All its requests, come as fast as they can.
    fn requests(settings: &str) -> Vec<Request> {
        let mut made =
            synthetic(&format!("iometer:requests=20000:depth=20000:{settings}")).unwrap();
        std::iter::from_fn(|| made.workload.poll(Instant::ZERO)).collect()
    }

    fn share(requests: &[Request], holds: impl Fn(&Request) -> bool) -> f64 {
        requests.iter().filter(|request| holds(request)).count() as f64 / requests.len() as f64
    }

    #[test]
    fn sizes_are_read() {
        let blocks = |text| parse_sizes(text).map(|sizes| sizes.iter().map(|s| s.blocks).collect());
        assert_eq!(blocks("4k"), Some(vec![8]));
        assert_eq!(blocks("512"), Some(vec![1]));
        assert_eq!(blocks("4k/70+1M/30"), Some(vec![8, 2048]));
        for wrong in [
            "", "4", "0", "513", "128m", "4k+8k", "4k/0", "4k/1+", "k", "-4k",
        ] {
            assert_eq!(blocks(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn shares_are_kept() {
        let made = requests("read_share=0.7:size=4k/3+64k/1");
        assert!((share(&made, |r| r.op == Op::Read) - 0.7).abs() < 0.02);
        assert!((share(&made, |r| r.extent.len.0 == 128) - 0.25).abs() < 0.02);
    }

    #[test]
    fn requests_stay_in_the_span_and_aligned() {
        let made = requests("span=0.5:size=64k:align_blocks=24");
        assert!(made.iter().all(|r| r.extent.end().0 <= 50_000));
        assert!(made.iter().all(|r| r.extent.start.0 % 24 == 0));
        assert!(made.iter().any(|r| r.extent.start.0 > 49_000));
    }

    #[test]
    fn a_sequential_share_continues_and_wraps() {
        let made = requests("sequential_share=1.0:size=64k:span=0.01");
        let starts: Vec<u64> = made.iter().take(9).map(|r| r.extent.start.0).collect();
        assert_eq!(starts, [0, 128, 256, 384, 512, 640, 768, 0, 128]);
        let made = requests("sequential_share=0.4");
        let follows = made
            .windows(2)
            .filter(|w| w[0].extent.end() == w[1].extent.start)
            .count();
        assert!((follows as f64 / 20_000.0 - 0.4).abs() < 0.02);
    }

    #[test]
    fn hot_space_gets_its_share() {
        let made = requests("locality=hot_cold:hot_space=0.1:hot_requests=0.9");
        assert!((share(&made, |r| r.extent.start.0 < 10_000) - 0.9).abs() < 0.02);
    }

    #[test]
    fn a_hot_part_of_nothing_is_refused() {
        let told = synthetic("iometer:locality=hot_cold:hot_space=0").err();
        let told = told.expect("nothing is there to ask for").to_string();
        assert!(told.contains("hot_space = 0 (allowed: above 0"), "{told}");
    }

    #[test]
    fn knobs_of_another_locality_are_refused() {
        for (words, refused) in [
            (
                "hot_space=0.1",
                "iometer.hot_space = 0.1 (allowed: beside locality=hot_cold,",
            ),
            (
                "locality=zipf:hot_requests=0.1",
                "iometer.hot_requests = 0.1 (allowed: beside locality=hot_cold,",
            ),
            (
                "locality=hot_cold:zipf_exponent=0.5",
                "iometer.zipf_exponent = 0.5 (allowed: beside locality=zipf,",
            ),
        ] {
            let told = synthetic(&format!("iometer:{words}"))
                .err()
                .unwrap()
                .to_string();
            assert!(told.starts_with(refused), "{told}");
        }
    }

    #[test]
    fn regions_are_as_popular_as_the_power_law_says() {
        // 100,000 starts fall into 4,096 regions.
        let made = requests("locality=zipf:zipf_exponent=1.0:size=512:align_blocks=1");
        let mut counts = vec![0_u32; REGIONS];
        for request in &made {
            counts[(request.extent.start.0 * REGIONS as u64 / 100_000) as usize] += 1;
        }
        counts.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
        let harmonic: f64 = (1..=REGIONS).map(|rank| 1.0 / rank as f64).sum();
        let expected = 20_000.0 / harmonic;
        assert!(
            (f64::from(counts[0]) / expected - 1.0).abs() < 0.1,
            "{}",
            counts[0]
        );
        let first_hundred: f64 = counts[..100].iter().map(|&count| f64::from(count)).sum();
        let of_all: f64 = (1..=100).map(|rank| 1.0 / f64::from(rank)).sum();
        assert!((first_hundred / (expected * of_all) - 1.0).abs() < 0.05);
    }

    #[test]
    fn the_alias_table_holds_exactly_the_power_law() {
        let columns = zipf(0.99, &mut Rng::stream(1, "test"));
        let mut shares = vec![0.0; REGIONS];
        for column in columns.iter() {
            let own = f64::from(column.threshold) / 4_294_967_296.0;
            shares[column.own as usize] += own / REGIONS as f64;
            shares[column.other as usize] += (1.0 - own) / REGIONS as f64;
        }
        shares.sort_unstable_by(|a, b| b.total_cmp(a));
        let all: f64 = (1..=REGIONS)
            .map(|rank| libm::pow(rank as f64, -0.99))
            .sum();
        for (rank, share) in shares.iter().enumerate() {
            let expected = libm::pow((rank + 1) as f64, -0.99) / all;
            assert!(
                (share / expected - 1.0).abs() < 1e-5,
                "{rank}: {share} {expected}"
            );
        }
    }

    #[test]
    fn a_request_longer_than_the_span_is_refused() {
        let error = synthetic("iometer:size=1m:span=0.01").err().unwrap();
        assert!(error.to_string().contains("512000 bytes"), "{error}");
        assert!(synthetic("iometer:size=5").is_err());
    }
}
