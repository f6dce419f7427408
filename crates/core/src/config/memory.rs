//! What stays in memory above a placement: a cache, a prefetcher and a write buffer made into one.

use super::{PartConfig, Parts, StackConfig};
use crate::cache::{CLASSED, InMemory, WRITES};
use crate::contract::{Cache, Destage, Placement, Prefetch, Shape};
use crate::destage::Buffering;
use crate::maplog::BufferTable;
use crate::maplog::buffered::{Index, Kept, Whose};
use crate::memory::{self, Memory, Volumes};
use crate::pages::{PAGE, PAGE_BYTES};
use crate::prefetch;
use crate::registry::{
    AnyKind, CacheEnv, ConfigError, DestageEnv, Kind, KnobValue, Knobs, Of, PrefetchEnv, Survivors,
    VolumeError,
};
use crate::rng::Rng;
use crate::size::Size;
use crate::units::Blocks;

/// The name of the part of these kinds that is none.
const NONE: &str = "none";
/// Pages of a track where nothing is brought beforehand.
const TRACK_PAGES: u64 = 8;
/// KiB of a page.
const PAGE_KIB: u64 = PAGE_BYTES >> 10;
/// The setting of a cache that says how large it is.
const SIZE: &str = "size";

/// What a power cut has left of a write buffer: its table, and what that says.
type Left = (BufferTable, Vec<(Index, Kept)>);

/// Whether a cache differs from `lru` by sequences alone: it asks what belongs to one, and where
/// nothing does it has what was asked for last.
///
/// # Errors
/// There is no such cache, or a setting is wrong.
pub fn is_lru_but_for_sequences(cache: &PartConfig) -> Result<bool, ConfigError> {
    let card = Of::<dyn Cache>::KIND.find(&cache.name)?;
    let built = cache.build::<dyn Cache>(&CacheEnv::of_pages(1))?;
    Ok(card.asks.contains(&<dyn Prefetch>::CARD.key) && built.is_recency())
}

impl Parts {
    /// How large the cache is to be, as it was said.
    pub fn cache_size(&self) -> Option<String> {
        self.of_cache(SIZE).map(ToString::to_string)
    }

    /// Whether the cache is told which writes are part of a sequence.
    pub(super) fn tell_written_sequences(&self) -> bool {
        self.of_cache(WRITES) == Some(&KnobValue::Text(CLASSED.to_owned()))
    }

    /// A setting of the cache, if it was given.
    fn of_cache(&self, key: &str) -> Option<&KnobValue> {
        let mut knobs = self.of::<dyn Cache>().knobs.iter();
        knobs.find_map(|(given, value)| (given == key).then_some(value))
    }
}

impl StackConfig {
    /// The settings of the cache as a stack needs them, and what they are called; none if there is
    /// no cache.
    ///
    /// # Errors
    /// There is no such part, its settings are wrong, it wants to know the future, or something is
    /// brought beforehand and there is nowhere to keep it.
    pub fn in_memory(&self) -> Result<Option<(String, InMemory)>, ConfigError> {
        let card = Of::<dyn Cache>::KIND.find(&self.parts.of::<dyn Cache>().name)?;
        if card.name != NONE && card.knobs.iter().all(|knob| knob.name != SIZE) {
            let allowed = "another cache in a stack, where nobody knows what is asked for next; `nearslot hitrate` has it";
            return Err(ConfigError::value("cache", card.name, allowed));
        }
        let (name, knobs) = self.checked::<dyn Cache>(Of::<dyn Cache>::KIND)?;
        if name == NONE {
            let (prefetch, _) = self.checked::<dyn Prefetch>(Of::<dyn Prefetch>::KIND)?;
            if prefetch != NONE {
                let allowed =
                    "none where cache = none: what is brought beforehand must stay somewhere";
                return Err(ConfigError::value("prefetch", &prefetch, allowed));
            }
            return Ok(None);
        }
        let known = InMemory::of(&card, &knobs)?;
        Ok(Some((name, known)))
    }

    /// Says the size of the cache in lines, where it was a share of what the load asks for.
    pub fn set_cache_lines(&mut self, lines: u32) {
        let knobs = &mut self.parts.of_mut::<dyn Cache>().knobs;
        let size = KnobValue::Text(Size::Lines(lines.into()).to_string());
        knobs.retain(|(key, _)| key != SIZE);
        knobs.push((SIZE.to_owned(), size));
    }

    /// The settings of the write buffer as a stack needs them, and what it is called; none if there
    /// is no buffer.
    ///
    /// # Errors
    /// There is no such part, or its settings are wrong.
    pub fn in_buffer(&self) -> Result<Option<(String, Buffering)>, ConfigError> {
        let (name, knobs) = self.checked::<dyn Destage>(Of::<dyn Destage>::KIND)?;
        if name == NONE {
            return Ok(None);
        }
        let known = Buffering::of(&name, &knobs)?;
        Ok(Some((name, known)))
    }

    /// The memory above a placement of this shape, with what survived of an earlier life; none if
    /// there is none.
    pub(super) fn memory(
        &self,
        shape: &Shape,
        survivors: Option<&dyn Survivors>,
    ) -> Result<Option<Memory>, VolumeError> {
        let volumes = self.volumes(shape)?;
        let buffer = self.buffer(shape, volumes, survivors)?;
        let known = self.in_memory()?;
        let cache = known.map(|(name, known)| self.caching((shape, volumes), &name, known));
        let parts = memory::Parts {
            cache: cache.transpose()?,
            buffer,
        };
        let any = parts.cache.is_some() || parts.buffer.is_some();
        Ok(any.then(|| Memory::new(parts)))
    }

    /// The volumes that clients have above a placement of this shape.
    fn volumes(&self, shape: &Shape) -> Result<Volumes, ConfigError> {
        let (count, blocks) = (self.volumes, shape.capacity.0);
        if count == 0 || !blocks.is_multiple_of(count) {
            let place = &self.parts.of::<dyn Placement>().name;
            let allowed = format!("a number that divides the {blocks} blocks of {place}");
            return Err(ConfigError::value("volumes", &count.to_string(), &allowed));
        }
        Ok(Volumes::new(count, Blocks(blocks / count)))
    }

    /// What a write buffer above a placement of this shape is made of.
    fn buffer(
        &self,
        shape: &Shape,
        volumes: Volumes,
        survivors: Option<&dyn Survivors>,
    ) -> Result<Option<memory::BufferParts>, VolumeError> {
        let known = self.in_buffer()?;
        let size = known
            .as_ref()
            .map(|(name, known)| (name.as_str(), known.pages));
        let left = self.left(volumes, size, survivors)?;
        let (Some((_, known)), Some((table, found))) = (known, left) else {
            return Ok(None);
        };
        let env = DestageEnv {
            pages: known.pages,
            unit: known.unit_pages(shape.stripe.max(shape.chunk)),
        };
        Ok(Some(memory::BufferParts {
            destage: self.parts.of::<dyn Destage>().build::<dyn Destage>(&env)?,
            pages: env.pages,
            unit: env.unit,
            volumes,
            write_time: known.write_time,
            read_time: known.read_time,
            marks: known.marks,
            retries: known.retries,
            table,
            found,
        }))
    }

    /// What a write buffer of this name, with room for so many pages, begins with; none if there is
    /// no buffer. One that has something is gone on with as it was; one that has nothing may be of
    /// another size from now on, or be there no more.
    fn left(
        &self,
        volumes: Volumes,
        size: Option<(&str, u64)>,
        survivors: Option<&dyn Survivors>,
    ) -> Result<Option<Left>, VolumeError> {
        let whose = Whose {
            volume: Rng::stream(self.seed, "volume").bits(),
            blocks: volumes.span().0,
            page: PAGE,
        };
        let bytes = survivors.and_then(|survivors| survivors.nvram_of_buffer());
        let left = bytes.map(|bytes| BufferTable::recover(&whose, bytes.to_vec()));
        let left = left.transpose();
        let left = left.map_err(|why| VolumeError::damaged("NVRAM of the write buffer", why))?;
        let kept = left.filter(|(_, found)| !found.is_empty());
        match (kept, size) {
            (None, None) => Ok(None),
            (None, Some((_, pages))) => Ok(Some((BufferTable::new(&whose, pages), Vec::new()))),
            (Some((table, found)), Some((_, pages))) if table.room() == pages => {
                Ok(Some((table, found)))
            }
            (Some((table, found)), size) => {
                let has = size.map_or(NONE.to_owned(), |(name, pages)| {
                    format!("{name} with room for {pages} pages")
                });
                let (room, kept) = (table.room(), found.len());
                let expected =
                    format!("one with room for {room} pages, as its NVRAM has {kept} of them");
                Err(VolumeError::unfit("write buffer", &has, &expected))
            }
        }
    }

    /// What a read cache above a placement of this shape is made of.
    fn caching(
        &self,
        (shape, volumes): (&Shape, Volumes),
        name: &str,
        known: InMemory,
    ) -> Result<memory::CacheParts, ConfigError> {
        let capacity = known.lines(name, None)?;
        let cache = self.parts.of::<dyn Cache>().build::<dyn Cache>(&CacheEnv {
            capacity,
            line_pages: known.line_pages as u32,
            neighbours: true,
        })?;
        assert!(!cache.looks_ahead(), "{name} has settings of a stack");
        let (prefetch, knobs) = self.checked::<dyn Prefetch>(Of::<dyn Prefetch>::KIND)?;
        let track = match prefetch.as_str() {
            // Nobody goes by it: so long that a directory of tracks is short, so short that it has
            // few pages that nobody asks for.
            NONE => known.line_pages.max(TRACK_PAGES),
            _ => prefetch::track_pages(&prefetch, &knobs)?,
        };
        if track < known.line_pages {
            let key = format!("{prefetch}.track_kib");
            let least = known.line_pages * PAGE_KIB;
            let allowed = format!("{least} at least, which is {name}.line_kib");
            return Err(ConfigError::value(
                &key,
                &(track * PAGE_KIB).to_string(),
                &allowed,
            ));
        }
        let env = PrefetchEnv {
            stripe: shape.stripe,
        };
        let part = self.parts.of::<dyn Prefetch>();
        let prefetch = part.build::<dyn Prefetch>(&env)?;
        let group_kib = prefetch.group() * track * PAGE_KIB;
        if group_kib > u64::from(capacity) * known.line_pages * PAGE_KIB {
            let allowed =
                format!("room for the {group_kib} KiB at least that {part} brings together");
            let (key, size) = (format!("{name}.size"), known.size.to_string());
            return Err(ConfigError::value(&key, &size, &allowed));
        }
        Ok(memory::CacheParts {
            cache,
            prefetch,
            shape: memory::Shape {
                line: known.line_pages,
                track,
                volumes,
            },
            lines: capacity,
            hit_time: known.hit_time,
            writes: known.writes,
            whole_lines: known.whole_lines,
        })
    }

    /// The name of the part of a kind, and its settings in effect.
    fn checked<K: Kind + ?Sized>(
        &self,
        kind: &dyn AnyKind,
    ) -> Result<(String, Knobs), ConfigError> {
        let part = self.parts.of::<K>();
        let card = kind.find(&part.name)?;
        Ok((card.name.to_owned(), card.check(&part.knobs)?))
    }
}
