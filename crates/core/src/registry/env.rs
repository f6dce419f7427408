//! What a part may know of its surroundings when it is built, by the kind of part.

use std::any::Any;
use std::sync::Arc;

use super::{ConfigError, Memo, Prepared};
use crate::contract::Blueprint;
use crate::ids::DriveId;
use crate::units::{Blocks, Pba};

/// The surroundings of a part that works with one drive: a scheduler, an oracle.
#[derive(Clone, Copy)]
pub struct DriveEnv<'a> {
    /// The run's seed.
    pub seed: u64,
    /// This part's own name for its random stream, such as `oracle/0`.
    pub label: &'a str,
    /// The drive below it, as its parameters describe it.
    pub blueprint: &'a dyn Blueprint,
}

/// What a placement and its drives are called.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The placement.
    pub place: &'a str,
    /// A drive.
    pub drive: &'a str,
}

impl Names<'_> {
    /// The placement cannot have so much of something over these drives.
    pub fn too_much(&self, what: &str, value: &str, allowed: &str) -> ConfigError {
        let key = format!("{} over {}: {what}", self.place, self.drive);
        ConfigError::value(&key, value, allowed)
    }
}

/// The surroundings of a part that makes a volume of drives: a placement.
#[derive(Clone, Copy)]
pub struct VolumeEnv<'a> {
    /// The run's seed.
    pub seed: u64,
    /// This part's own name for its random stream.
    pub label: &'a str,
    /// What the placement and the drives are called, for messages.
    pub names: Names<'a>,
    /// The drives below it, all alike, as their parameters describe them.
    pub blueprint: &'a dyn Blueprint,
    /// Everything that the blueprint was made of, in words.
    pub identity: &'a str,
    /// What was prepared for an equal part before.
    pub memo: &'a dyn Memo,
    /// What it goes on with, instead of beginning anew.
    pub survivors: Option<&'a dyn Survivors>,
}

impl VolumeEnv<'_> {
    /// What `make` makes of `what` and of this environment (but for the survivors), once for all
    /// parts that ask for the same; `bytes` is about how much memory it takes.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn prepared<T: Any + Send + Sync>(
        &self,
        what: &str,
        bytes: impl Fn(&T) -> usize,
        make: impl Fn() -> Result<T, ConfigError>,
    ) -> Result<Arc<T>, ConfigError> {
        let key = format!("{what} {} {} {}", self.label, self.seed, self.identity);
        let mut given_up = None;
        let prepared = self.memo.get(&key, &mut || {
            let made = make().map(Arc::new);
            if let Err(error) = &made
                && !self.memo.wants()
            {
                given_up = Some(error.clone());
                return None;
            }
            Some(Prepared {
                bytes: made.as_ref().map_or(0, |made| bytes(made)),
                value: Arc::new(made),
            })
        });
        let Some(prepared) = prepared else {
            return Err(given_up.expect("it was given up for a reason"));
        };
        let made = prepared.value.downcast_ref::<Result<Arc<T>, ConfigError>>();
        made.expect("no two kinds of things have the same name")
            .clone()
    }

    /// Goes on with what takes long, if it is still wanted.
    ///
    /// # Errors
    /// It is not, and nobody will see what it would have been.
    pub fn go_on(&self) -> Result<(), ConfigError> {
        match self.memo.wants() {
            true => Ok(()),
            false => {
                Err(self
                    .names
                    .too_much("preparation", "given up", "none that is told to stop"))
            }
        }
    }
}

/// The surroundings of what goes wrong on the drives of a volume.
#[derive(Clone, Copy)]
pub struct FaultsEnv<'a> {
    /// The run's seed.
    pub seed: u64,
    /// This part's own name for its random stream.
    pub label: &'a str,
    /// Drives of the volume.
    pub drives: u16,
    /// Blocks of each.
    pub capacity: Blocks,
}

/// The surroundings of a read cache.
#[derive(Clone, Copy, Debug)]
pub struct CacheEnv {
    /// Lines that it may hold.
    pub capacity: u32,
    /// Pages of a line.
    pub line_pages: u32,
    /// Whether lines whose numbers follow each other lie behind each other, but for a few.
    pub neighbours: bool,
}

impl CacheEnv {
    /// A cache alone, whose lines are pages and numbered as they come.
    pub const fn of_pages(capacity: u32) -> CacheEnv {
        CacheEnv {
            capacity,
            line_pages: 1,
            neighbours: false,
        }
    }
}

/// The surroundings of who says what of a write buffer goes to the drives next.
#[derive(Clone, Copy, Debug)]
pub struct DestageEnv {
    /// Pages that the buffer has room for.
    pub pages: u64,
    /// Pages of a unit.
    pub unit: u64,
}

/// The surroundings of what brings data beforehand.
#[derive(Clone, Copy, Debug)]
pub struct PrefetchEnv {
    /// Blocks of a stripe of the volume, which its drives read together.
    pub stripe: Blocks,
}

/// What survived of an earlier life of a volume: the bytes of its NVRAM and of its drives.
pub trait Survivors {
    /// The bytes of the NVRAM of its placement.
    fn nvram(&self) -> &[u8];

    /// The same of its write buffer; none if it had no buffer.
    fn nvram_of_buffer(&self) -> Option<&[u8]>;

    /// Whole blocks of a drive. What cannot be read is given as zeroes, which no checksum takes for
    /// good.
    fn read(&self, drive: DriveId, at: Pba, out: &mut [u8]);
}
