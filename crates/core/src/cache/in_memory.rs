//! What is said of every cache that a stack has: how large it is, and how it is filled.

use crate::contract::Prefetch;
use crate::pages::{self, PAGE_BYTES, Writes};
use crate::registry::{ConfigError, Kind, Knob, Knobs, Need, PartCard};
use crate::size::{self, Size};
use crate::units::{BLOCK_BYTES, Blocks, Duration};

/// Settings of every cache in a stack. A cache alone, of which misses are counted, is told its size
/// by who counts.
pub const KNOBS: &[Knob] = &COMMON;

pub(super) const SETTINGS: usize = 6;

/// The setting that says which pages that are written enter.
pub const WRITES: &str = "writes";
/// Its value with which all do, those of a sequence of writes as part of a sequence.
pub const CLASSED: &str = "classed";

/// No size was said.
const UNSET: &str = "unset";

pub(super) const COMMON: [Knob; SETTINGS] = [
    Knob::text(
        "size",
        UNSET,
        |text| text == UNSET || text.parse::<Size>().is_ok(),
        size::ALLOWED,
        "how large it is: bytes, lines, or a share of all that the trace asks for",
    ),
    Knob::integer(
        "line_kib",
        4,
        4..=256,
        "bytes that stay or leave together, in KiB: a power of two",
    ),
    STAGE,
    Knob::choice(
        WRITES,
        "allocate",
        &["allocate", CLASSED, "rest", "update"],
        "which pages that are written enter the cache: all; all, those of a sequence of writes as such; those of no sequence; none, and those that are there change",
    )
    .needing(Need::Writes),
    RUN,
    Knob::number(
        "hit_us",
        10.0,
        0.0..=1e6,
        "time that an answer from memory takes, in microseconds",
    ),
];

const STAGE: Knob = Knob::choice(
    "stage",
    "line",
    &["line", "pages"],
    "what a read brings of a line that it misses: all of it, or the pages that it asks for",
);

const RUN: Knob = Knob::integer(
    "write_run_kib",
    64,
    4..=16_384,
    "how much is written in a row before what follows is part of a sequence of writes, in KiB",
)
.needing(Need::Writes);

/// What enters as it is written, to the cache with this card.
fn writes(card: &PartCard, knobs: &Knobs) -> Result<Writes, ConfigError> {
    let choice = knobs.choice(WRITES);
    if choice == CLASSED && !card.asks.contains(&<dyn Prefetch>::CARD.key) {
        let allowed = format!(
            "allocate, which {} takes for the same, as it does not ask what belongs to a sequence; rest, to leave sequences out; or update",
            card.name
        );
        let key = format!("{}.{WRITES}", card.name);
        return Err(ConfigError::value(&key, choice, &allowed));
    }
    let run = Blocks(knobs.integer(RUN.name) * 1024 / BLOCK_BYTES);
    if let (true, Some((knob, value))) = (
        matches!(choice, "allocate" | "update"),
        knobs.first_given([&RUN].into_iter()),
    ) {
        let allowed = "left out where writes is neither classed nor rest: nobody looks for sequences of writes";
        let key = format!("{}.{}", card.name, knob.name);
        return Err(ConfigError::value(&key, &value.to_string(), allowed));
    }
    Ok(match choice {
        "allocate" => Writes::Allocate,
        CLASSED => Writes::Classed(run),
        "rest" => Writes::Rest(run),
        _ => Writes::Update,
    })
}

/// The settings that every cache has, as a stack needs them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InMemory {
    /// How large it is.
    pub size: Size,
    /// Pages of a line.
    pub line_pages: u64,
    /// Whether a miss brings whole lines.
    pub whole_lines: bool,
    /// What enters as it is written.
    pub writes: Writes,
    /// How long an answer takes.
    pub hit_time: Duration,
}

impl InMemory {
    /// Of the settings of the cache with this card.
    ///
    /// # Errors
    /// No size is said, a line is no power of two, or a setting has no effect.
    pub fn of(card: &PartCard, knobs: &Knobs) -> Result<InMemory, ConfigError> {
        let (name, size) = (card.name, knobs.choice("size"));
        if size == UNSET {
            let allowed = format!("set, as in {name}:size=1GiB: {}", size::ALLOWED);
            return Err(ConfigError::value(&format!("{name}.size"), size, &allowed));
        }
        let line_pages = pages::of_kib(name, knobs, "line_kib")?;
        if line_pages == 1
            && let Some((knob, value)) = knobs.first_given([&STAGE].into_iter())
        {
            let allowed = "left out where a line is one page of 4 KiB: line_kib says more";
            let key = format!("{name}.{}", knob.name);
            return Err(ConfigError::value(&key, &value.to_string(), allowed));
        }
        Ok(InMemory {
            size: size.parse()?,
            line_pages,
            whole_lines: knobs.choice(STAGE.name) == "line",
            writes: writes(card, knobs)?,
            hit_time: knobs.duration_us("hit_us"),
        })
    }

    /// Bytes of a line.
    pub fn line_bytes(&self) -> u64 {
        self.line_pages * PAGE_BYTES
    }

    /// Lines that it has room for, where the load asks for so many lines in all; none is known of a
    /// load without an end.
    ///
    /// # Errors
    /// It is a share of what is not known, has no room for a line, or more lines than can be named.
    pub fn lines(&self, name: &str, footprint: Option<u64>) -> Result<u32, ConfigError> {
        let wrong = |allowed: &str| {
            let size = self.size.to_string();
            Err(ConfigError::value(&format!("{name}.size"), &size, allowed))
        };
        if self.size.is_share() && footprint.is_none() {
            return wrong(
                "bytes or lines, as in 1GiB, where no trace says how much is asked for in all",
            );
        }
        let bytes = self.line_bytes();
        let lines = self.size.lines(footprint.unwrap_or(0), bytes);
        match u32::try_from(lines) {
            Ok(0) => wrong(&format!("room for a line of {} KiB at least", bytes >> 10)),
            Ok(lines) if lines <= u32::MAX / 2 => Ok(lines),
            _ => wrong(&format!(
                "fewer than 2 billion lines of {} KiB; line_kib makes them longer",
                bytes >> 10
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TABLE;
    use crate::contract::{Cache, Entering, Pattern, Prefetch, Why};
    use crate::ids::Line;
    use crate::registry::{CacheEnv, Kind, Spec};
    use crate::rng::Rng;

    const ROOM: usize = 50;

    /// The lines that leave, where some of those that are written enter as this.
    fn gone(spec: &Spec<dyn Cache>, written: Pattern) -> Vec<Line> {
        let env = CacheEnv::of_pages(ROOM as u32);
        let knobs = spec.card().check(&[]).expect("it has defaults");
        let mut cache = (spec.build)(&knobs, &env).expect("it can be built");
        cache.reserve(400);
        let mut rng = Rng::stream(5, "classed");
        let mut gone = Vec::new();
        for _ in 0..5_000 {
            let (number, writes) = (rng.below(400), rng.chance(0.5));
            let line = Line(number as u32);
            if cache.holds(line) {
                match writes {
                    true => cache.hit_by_write(line),
                    false => cache.hit(line),
                }
            } else {
                while cache.len() >= ROOM {
                    gone.extend(cache.leave(line));
                }
                cache.miss(line);
                cache.enter_as(
                    line,
                    match writes && number < 100 {
                        true => Entering {
                            why: Why::Written,
                            pattern: written,
                            pages: 1,
                        },
                        false => Entering::BY_ITSELF,
                    },
                );
            }
            gone.extend(std::iter::from_fn(|| cache.left()));
        }
        gone
    }

    /// `writes=classed` has an effect on those that ask what belongs to a sequence, and on no
    /// other.
    #[test]
    fn a_cache_asks_what_belongs_to_a_sequence_if_it_goes_by_that() {
        let stacked = TABLE.iter().filter(|spec| !spec.knobs.is_empty());
        for spec in stacked {
            let differs = gone(spec, Pattern::Random) != gone(spec, Pattern::Sequential);
            let asks = spec.asks.contains(&<dyn Prefetch as Kind>::CARD.key);
            assert_eq!(differs, asks, "{}", spec.name);
        }
    }
}
