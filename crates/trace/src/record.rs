//! The canonical record: every reader makes these, everything behind a reader sees only these.

use serde::{Deserialize, Serialize};

/// What a traced request did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum TraceOp {
    /// Bring bytes.
    Read = 0,
    /// Store bytes.
    Write = 1,
    /// Make earlier writes safe.
    Flush = 2,
    /// Bytes are no longer needed.
    Discard = 3,
    /// Store zeroes without sending them.
    WriteZeroes = 4,
    /// Anything else.
    Other = 5,
}

impl TraceOp {
    /// All of them, by code.
    pub const ALL: [TraceOp; 6] = [
        TraceOp::Read,
        TraceOp::Write,
        TraceOp::Flush,
        TraceOp::Discard,
        TraceOp::WriteZeroes,
        TraceOp::Other,
    ];

    /// As results and our Parquet spell it.
    pub const fn name(self) -> &'static str {
        match self {
            TraceOp::Read => "read",
            TraceOp::Write => "write",
            TraceOp::Flush => "flush",
            TraceOp::Discard => "discard",
            TraceOp::WriteZeroes => "write_zeroes",
            TraceOp::Other => "other",
        }
    }

    /// Whether the medium is read or written.
    pub const fn is_media(self) -> bool {
        matches!(self, TraceOp::Read | TraceOp::Write)
    }
}

/// Facts about a record that need one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flags(pub u16);

impl Flags {
    /// Force unit access: safe before it is answered.
    pub const FUA: Flags = Flags(1);
    /// A flush comes before it.
    pub const PREFLUSH: Flags = Flags(1 << 1);
    /// Somebody waits for it.
    pub const SYNC: Flags = Flags(1 << 2);
    /// File system metadata.
    pub const METADATA: Flags = Flags(1 << 3);
    /// Read ahead of need.
    pub const READAHEAD: Flags = Flags(1 << 4);
    /// `priority` is known.
    pub const PRIORITY: Flags = Flags(1 << 5);
    /// The time stamp was reconstructed by the reader.
    pub const RECONSTRUCTED: Flags = Flags(1 << 6);
    /// The time stamp is coarser than 1 ms.
    pub const COARSE: Flags = Flags(1 << 7);
    /// Torn writes are excluded.
    pub const ATOMIC: Flags = Flags(1 << 8);
    /// Of a write: it stays where it is, whatever others may do.
    pub const STAYS: Flags = Flags(1 << 9);
    /// Of a write: it may land elsewhere on its track.
    pub const OFFER_TRACK: Flags = Flags(1 << 10);
    /// Of a write: it may land elsewhere in its group.
    pub const OFFER_GROUP: Flags = Flags(1 << 11);
    /// Of a write: it may land anywhere.
    pub const OFFER_DISK: Flags = Flags(1 << 12);
    /// It was answered with an error. How long that took is told of simulated requests alone: a
    /// reader leaves it out.
    pub const FAILED: Flags = Flags(1 << 13);

    /// How far a write may move, as a column of its own says it. One of these at most is set.
    pub const OFFERS: [(&'static str, Flags); 4] = [
        ("none", Flags::STAYS),
        ("track", Flags::OFFER_TRACK),
        ("group", Flags::OFFER_GROUP),
        ("disk", Flags::OFFER_DISK),
    ];

    /// What tables may call them. The last four say how far a write may move.
    pub const WORDS: [(&'static str, Flags); 14] = [
        ("fua", Flags::FUA),
        ("preflush", Flags::PREFLUSH),
        ("sync", Flags::SYNC),
        ("metadata", Flags::METADATA),
        ("readahead", Flags::READAHEAD),
        ("priority", Flags::PRIORITY),
        ("reconstructed", Flags::RECONSTRUCTED),
        ("coarse", Flags::COARSE),
        ("atomic", Flags::ATOMIC),
        ("failed", Flags::FAILED),
        ("stays", Flags::STAYS),
        ("offer_track", Flags::OFFER_TRACK),
        ("offer_group", Flags::OFFER_GROUP),
        ("offer_disk", Flags::OFFER_DISK),
    ];

    /// Reads the bits as a number, or words joined by `|`.
    pub(crate) fn parse(text: &[u8]) -> Option<Flags> {
        let text = std::str::from_utf8(text).ok()?;
        if let Ok(bits) = text.parse() {
            return Some(Flags(bits)).filter(|flags| flags.offers() < 2);
        }
        let flags = text.split('|').try_fold(Flags::default(), |flags, word| {
            let mut words = Flags::WORDS.iter();
            let (_, flag) = words.find(|(name, _)| word.trim().eq_ignore_ascii_case(name))?;
            Some(flags.with(*flag))
        })?;
        Some(flags).filter(|flags| flags.offers() < 2)
    }

    /// Reads how far a write may move.
    pub(crate) fn parse_offer(text: &[u8]) -> Option<Flags> {
        let mut offers = Flags::OFFERS.iter();
        let found =
            offers.find(|(name, _)| text.trim_ascii().eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, flag)| *flag)
    }

    /// All that say how far a write may move.
    const ANY_OFFER: u16 =
        Flags::STAYS.0 | Flags::OFFER_TRACK.0 | Flags::OFFER_GROUP.0 | Flags::OFFER_DISK.0;

    /// How many say how far a write may move.
    pub(crate) const fn offers(self) -> u32 {
        (self.0 & Flags::ANY_OFFER).count_ones()
    }

    /// Which of [`Flags::OFFERS`] it has, by its number.
    #[inline]
    pub fn offer(self) -> Option<usize> {
        // Hardly any trace says so.
        if self.0 & Flags::ANY_OFFER == 0 {
            return None;
        }
        Flags::OFFERS.iter().position(|(_, flag)| self.has(*flag))
    }

    /// Whether all of `other` are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// One traced request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Arrival at the traced layer in ns. Readers give the format's own clock; the pipeline makes
    /// it relative to the first record kept.
    pub ts: i64,
    /// First byte, from the start of device `dev`.
    pub offset: u64,
    /// Bytes; 0 only for flush and other.
    pub len: u64,
    /// Issue to completion as traced, or [`Record::UNKNOWN`].
    pub service_ns: u64,
    /// Arrival to completion as traced, or [`Record::UNKNOWN`].
    pub response_ns: u64,
    /// Index into the trace's device names.
    pub dev: u32,
    /// Index into the trace's client names; 0 is unknown.
    pub client: u32,
    /// See [`Flags`].
    pub flags: Flags,
    /// Linux I/O priority (`class << 13 | hint << 3 | level`), valid with [`Flags::PRIORITY`].
    pub priority: u16,
    /// What it did.
    pub op: TraceOp,
}

/// Whether a Linux I/O priority names a class that there is; of any other Linux takes no notice.
pub(crate) const fn has_class(priority: u16) -> bool {
    matches!(priority >> 13, 1..=3)
}

impl Record {
    /// A time that the trace does not tell.
    pub const UNKNOWN: u64 = u64::MAX;

    /// A plain record without flags, client or traced latencies.
    pub const fn new(ts: i64, op: TraceOp, offset: u64, len: u64, dev: u32) -> Record {
        Record {
            ts,
            offset,
            len,
            service_ns: Record::UNKNOWN,
            response_ns: Record::UNKNOWN,
            dev,
            client: 0,
            flags: Flags(0),
            priority: 0,
            op,
        }
    }

    /// Whether the trace tells how long it took.
    pub const fn tells_time(&self) -> bool {
        self.response_ns != Record::UNKNOWN || self.service_ns != Record::UNKNOWN
    }

    /// First byte behind it.
    pub const fn end(&self) -> u64 {
        self.offset + self.len
    }
}
