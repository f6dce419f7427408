//! What an application asks of its drive until it is up.
//!
//! A start-up is a list of requests in an order: one process of the application is at work at a
//! time. A request is waited for or not, and before it the process computes. Two kinds are built
//! in: such as have the counts that are published of three recordings of the benchmark suite S
//! ([`published`]), and such as were recorded by this project (`recorded/`). Others are files:
//! lines of `process,think_us,kind,sector,sectors`.
//!
//! As in that suite, whoever waits for a request waits for the read-ahead of its process first.

pub(super) mod published;

use nearslot_core::registry::{ConfigError, nearest};
use nearslot_core::units::Duration;

/// What is done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The process waits for it.
    Read,
    /// It is brought ahead, and not waited for.
    Ahead,
    /// Written to memory; the sector does not matter.
    Write,
    /// What was written to memory so far goes to the medium, and the process waits for it.
    Fsync,
    /// Written to the medium at its sector, and the process waits for it.
    SyncWrite,
    /// The process waits until the drive's cache is on the medium.
    Flush,
}

impl Kind {
    /// Whether it is one of those that change something.
    fn writes(self) -> bool {
        !matches!(self, Kind::Read | Kind::Ahead)
    }
}

/// One request of a start-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Which process of the application asks.
    pub process: u16,
    /// How long it computes before.
    pub think: Duration,
    /// What is done.
    pub kind: Kind,
    /// Where, in blocks of 512 bytes from the beginning of the volume.
    pub block: u64,
    /// How many blocks.
    pub blocks: u64,
}

/// A start-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Startup {
    /// What the application is called.
    pub name: String,
    /// Its processes.
    pub processes: Vec<String>,
    /// Its requests.
    pub items: Vec<Item>,
}

/// Start-ups that this project recorded, by name.
const RECORDED: [(&str, &str); 3] = [
    ("bash-recorded", include_str!("../recorded/bash.csv")),
    ("xterm-recorded", include_str!("../recorded/xterm.csv")),
    (
        "lowriter-recorded",
        include_str!("../recorded/lowriter.csv"),
    ),
];

/// Blocks that a start-up with published counts needs to lie in: 16 MiB.
const FRONT_MIN: u64 = (16 << 20) / 512;

/// Names of the start-ups that there are.
pub fn names() -> Vec<&'static str> {
    let published = published::ALL.iter().map(|one| one.name);
    published
        .chain(RECORDED.iter().map(|(name, _)| *name))
        .collect()
}

/// Whether this is the path of a file rather than a name.
pub fn is_file(name: &str) -> bool {
    name.contains('/') || name.to_ascii_lowercase().ends_with(".csv")
}

/// Finds a start-up by its name, or reads its file. Of one with published counts, `seed` draws
/// where its requests lie, in the first `front` blocks of the volume.
///
/// # Errors
/// There is none of that name, its file cannot be read, or is wrong.
pub fn find(name: &str, seed: u64, front: u64) -> Result<Startup, ConfigError> {
    if let Some(counts) = published::ALL.iter().find(|counts| counts.name == name) {
        if front < FRONT_MIN {
            let allowed = format!(
                "at least {} bytes, in whose first half a start-up lies",
                2 * 512 * FRONT_MIN
            );
            return Err(ConfigError::value(
                "host.volume",
                &format!("{} bytes", 2 * 512 * front),
                &allowed,
            ));
        }
        return Ok(counts.made(seed, front));
    }
    if let Some((_, text)) = RECORDED.iter().find(|(known, _)| *known == name) {
        return parse(name, text);
    }
    if !is_file(name) {
        let known = names();
        return Err(ConfigError {
            nearest: nearest(name, &known),
            ..ConfigError::value(
                "start-up",
                name,
                &format!("one of {}, or a file *.csv", known.join(", ")),
            )
        });
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        ConfigError::value("start-up", &format!("{name} ({error})"), "a readable file")
    })?;
    parse(name, &text)
}

impl Startup {
    /// The same without what the application writes.
    #[must_use]
    pub fn without_writes(mut self) -> Startup {
        self.items.retain(|item| !item.kind.writes());
        self
    }

    /// Whether it writes anything.
    pub fn writes(&self) -> bool {
        self.items.iter().any(|item| item.kind.writes())
    }

    /// Whether it fits into so many blocks.
    ///
    /// # Errors
    /// A request reaches beyond.
    pub fn check(&self, blocks: u64) -> Result<(), ConfigError> {
        let beyond = self.items.iter().position(|item| {
            let placed = matches!(item.kind, Kind::Read | Kind::Ahead | Kind::SyncWrite);
            placed && item.block.saturating_add(item.blocks) > blocks
        });
        beyond.map_or(Ok(()), |number| {
            let item = &self.items[number];
            let value = format!(
                "{} sectors from {} on, request {}",
                item.blocks,
                item.block,
                number + 1
            );
            Err(ConfigError::value(
                &format!("start-up {}", self.name),
                &value,
                &format!("requests within the volume, {blocks} sectors"),
            ))
        })
    }
}

const COLUMNS: &str = "process,think_us,kind,sector,sectors";

/// Reads the lines of a file.
fn parse(name: &str, text: &str) -> Result<Startup, ConfigError> {
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let about = |line: usize| format!("start-up {name}: line {}", line + 1);
    let nothing = |what: &str| {
        let key = format!("start-up {name}");
        ConfigError::value(&key, what, "at least one request")
    };
    let (line, head) = lines.next().ok_or_else(|| nothing("empty"))?;
    if head.trim() != COLUMNS {
        let allowed = format!("the names of the columns, {COLUMNS}");
        return Err(ConfigError::value(&about(line), head, &allowed));
    }
    let mut startup = Startup {
        name: name.to_owned(),
        processes: Vec::new(),
        items: Vec::new(),
    };
    for (line, row) in lines {
        let item = item(&about(line), row, &mut startup.processes)?;
        startup.items.push(item);
    }
    match startup.items.is_empty() {
        true => Err(nothing("no request")),
        false => Ok(startup),
    }
}

/// Reads one line; its process may be a new one.
fn item(about: &str, row: &str, processes: &mut Vec<String>) -> Result<Item, ConfigError> {
    let cells: Vec<&str> = row.split(',').map(str::trim).collect();
    let [process, think, kind, sector, sectors] = cells[..] else {
        let allowed = format!("five columns, {COLUMNS}");
        return Err(ConfigError::value(about, row, &allowed));
    };
    let number = |column: &str, cell: &str, most: u64| {
        let number = cell.parse().ok().filter(|number| *number <= most);
        number.ok_or_else(|| {
            let allowed = format!("a whole number from 0 to {most}");
            ConfigError::value(&format!("{about}: {column}"), cell, &allowed)
        })
    };
    let kind = kind_of(kind).ok_or_else(|| {
        let key = format!("{about}: kind");
        ConfigError::value(
            &key,
            kind,
            "read, metadata, ahead, write, fsync, sync or flush",
        )
    })?;
    let blocks = number("sectors", sectors, 1 << 20)?;
    if blocks == 0 && !matches!(kind, Kind::Fsync | Kind::Flush) {
        let key = format!("{about}: sectors");
        return Err(ConfigError::value(&key, sectors, "at least 1"));
    }
    let known = processes.iter().position(|known| known == process);
    let process = known.unwrap_or_else(|| {
        processes.push(process.to_owned());
        processes.len() - 1
    });
    let process = u16::try_from(process);
    let too_many = |_| ConfigError::value(about, row, "65,536 processes at most");
    Ok(Item {
        process: process.map_err(too_many)?,
        think: Duration::from_us(number("think_us", think, 1 << 40)?),
        kind,
        block: number("sector", sector, 1 << 50)?,
        blocks,
    })
}

/// What a word of a file means.
fn kind_of(word: &str) -> Option<Kind> {
    Some(match word {
        "read" | "metadata" => Kind::Read,
        "ahead" => Kind::Ahead,
        "write" => Kind::Write,
        "fsync" => Kind::Fsync,
        "sync" => Kind::SyncWrite,
        "flush" => Kind::Flush,
        _ => return None,
    })
}
