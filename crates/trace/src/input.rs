//! Where bytes come from: files and standard input, plain or compressed, looked through to the
//! trace itself.
//!
//! Containers are recognised by their first bytes and may be nested (a gzip of a zstd). What only
//! holds a trace but is not read here (archives, perf's own recording) is refused with the command
//! that makes it readable.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::TraceError;
use super::plain::Plain;

/// Containers inside containers that are looked through.
const NESTING_MAX: usize = 4;

/// Bytes of a stream that decide what it is.
const MAGIC_BYTES: usize = 512;

/// Room for what a decompressor has made and nobody has used yet.
const STREAM_BYTES: usize = 256 << 10;

/// Bytes in order, of which a reader looks at some and says how many it has used.
pub(crate) enum Bytes {
    Plain(Buffered<Plain>),
    Stream(Buffered<Box<dyn Read + Send>>),
}

impl Bytes {
    fn stream(from: Box<dyn Read + Send>) -> Bytes {
        Bytes::Stream(Buffered::new(from))
    }

    /// The next bytes: `wanted`, or all there are; and whether none follow them.
    pub(crate) fn look(&mut self, wanted: usize) -> io::Result<(&[u8], bool)> {
        match self {
            Bytes::Plain(file) => file.look(wanted),
            Bytes::Stream(stream) => stream.look(wanted),
        }
    }

    /// Passes over bytes looked at.
    pub(crate) fn consume(&mut self, used: usize) {
        match self {
            Bytes::Plain(file) => file.consume(used),
            Bytes::Stream(stream) => stream.consume(used),
        }
    }

    /// All bytes there are from the start, where that is known beforehand.
    pub(crate) fn size(&self) -> Option<u64> {
        match self {
            Bytes::Plain(file) => Some(file.from.len()),
            Bytes::Stream(stream) => stream.ended_at(),
        }
    }
}

impl Read for Bytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (bytes, _) = self.look(into.len())?;
        let count = bytes.len().min(into.len());
        into[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

/// A source of bytes with a buffer that grows to what a reader wants to see at once.
pub(crate) struct Buffered<R> {
    pub(crate) from: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    used: u64,
    ended: bool,
}

impl<R: Read> Buffered<R> {
    fn new(from: R) -> Buffered<R> {
        Buffered {
            from,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            used: 0,
            ended: false,
        }
    }

    fn look(&mut self, wanted: usize) -> io::Result<(&[u8], bool)> {
        if self.end - self.start < wanted && !self.ended {
            self.fill(wanted)?;
        }
        let end = self.end.min(self.start + wanted);
        Ok((&self.buffer[self.start..end], self.ended && end == self.end))
    }

    fn consume(&mut self, used: usize) {
        self.start += used;
        self.used += used as u64;
        assert!(self.start <= self.end, "used more than there is");
    }

    fn ended_at(&self) -> Option<u64> {
        self.ended
            .then_some(self.used + (self.end - self.start) as u64)
    }

    /// Reads until `wanted` bytes are there or none follow.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < wanted.max(STREAM_BYTES) {
            self.buffer.resize(wanted.max(STREAM_BYTES), 0);
        }
        while self.end < wanted {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// An open input, seen through its containers.
pub(crate) struct Input {
    pub(crate) bytes: Bytes,
    /// The file's name, or `standard input`.
    pub(crate) name: String,
    /// Containers it came in, outermost first.
    pub(crate) containers: Vec<&'static str>,
}

/// Opens a file, or standard input for `-`, and looks through its containers.
///
/// # Errors
/// It cannot be opened or read, or is something to be unpacked or converted first.
pub(crate) fn open(path: &Path) -> Result<Input, TraceError> {
    let name = display(path);
    let bytes = open_plain(path).map_err(|source| TraceError::Io {
        path: name.clone(),
        source,
    })?;
    unwrap(bytes, &name)
}

/// How messages name a path.
pub(crate) fn display(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

fn open_plain(path: &Path) -> io::Result<Bytes> {
    if path == Path::new("-") {
        return Ok(Bytes::stream(Box::new(io::stdin())));
    }
    let file = File::open(path)?;
    let kind = file.metadata()?;
    if kind.is_dir() {
        let what = "is a directory; name the trace files in it";
        return Err(io::Error::new(io::ErrorKind::IsADirectory, what));
    }
    if kind.is_file() && kind.len() > 0 {
        Ok(Bytes::Plain(Buffered::new(Plain::new(file)?)))
    } else {
        // Pipes and devices have no length, and files of /proc claim to be empty.
        Ok(Bytes::stream(Box::new(file)))
    }
}

fn unwrap(mut bytes: Bytes, name: &str) -> Result<Input, TraceError> {
    let mut containers = Vec::new();
    loop {
        let (head, _) = bytes
            .look(MAGIC_BYTES)
            .map_err(|source| damaged(source, name, &containers))?;
        let Some(container) = container_of(head) else {
            refuse(head).map_err(|error| error.in_file(name))?;
            return Ok(Input {
                bytes,
                name: name.to_owned(),
                containers,
            });
        };
        if containers.len() == NESTING_MAX {
            let what = format!("compressed more than {NESTING_MAX} times; unpack it first");
            return Err(TraceError::unfit(what).in_file(name));
        }
        bytes = Bytes::stream(match container {
            "gzip" => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
            _ => Box::new(
                zstd::stream::read::Decoder::new(bytes)
                    .map_err(|source| damaged(source, name, &containers))?,
            ),
        });
        containers.push(container);
    }
}

/// An error of reading, told with the container whose decompressor met it.
pub(crate) fn damaged(source: io::Error, name: &str, containers: &[&'static str]) -> TraceError {
    let source = match containers {
        [] => source,
        all => {
            let what = format!("damaged or cut off {} data: {source}", all.join(" in "));
            io::Error::new(source.kind(), what)
        }
    };
    TraceError::Io {
        path: name.to_owned(),
        source,
    }
}

fn container_of(head: &[u8]) -> Option<&'static str> {
    let skippable =
        |head: &[u8]| head.len() >= 4 && head[0] & 0xf0 == 0x50 && head[1..4] == *b"\x2a\x4d\x18";
    if head.starts_with(b"\x1f\x8b") {
        Some("gzip")
    } else if head.starts_with(b"\x28\xb5\x2f\xfd") || skippable(head) {
        Some("zstd")
    } else {
        None
    }
}

/// Bytes, where they stand, and what to do about a file that has them.
const REFUSED: &[(&[u8], usize, &str)] = &[
    (
        b"\xfd7zXZ\0",
        0,
        "is compressed with xz: decompress it first (`xz -dc FILE | nearslot inspect -`)",
    ),
    (
        b"BZh",
        0,
        "is compressed with bzip2: decompress it first (`bzip2 -dc FILE | nearslot inspect -`)",
    ),
    (
        b"\x04\x22\x4d\x18",
        0,
        "is compressed with lz4: decompress it first (`lz4 -dc FILE | nearslot inspect -`)",
    ),
    (
        b"ustar",
        257,
        "is a tar archive: unpack it (`tar -xf FILE`) and name the files inside",
    ),
    (
        b"PK\x03\x04",
        0,
        "is a zip archive: unpack it and name the files inside",
    ),
    (
        b"PERFILE2",
        0,
        "is perf's own recording: print it first (`perf script --ns -i FILE > trace.txt`) and name trace.txt",
    ),
    (
        b"\x17\x08\x44tracing",
        0,
        "is trace-cmd's own recording: print it first (`trace-cmd report FILE > trace.txt`) and name trace.txt",
    ),
    #[cfg(not(feature = "parquet"))]
    (
        b"PAR1",
        0,
        "is Parquet, which this build of nearslot leaves out: `make build` makes one that reads it",
    ),
    (
        b"ARROW1",
        0,
        "is an Arrow IPC file: write it as Parquet first (in Python: polars.read_ipc(FILE).write_parquet(OTHER))",
    ),
    (
        b"\xff\xff\xff\xff",
        0,
        "looks like an Arrow IPC stream: write it as Parquet first",
    ),
    (
        b"\xf0\xde\xbc\x9a\x78\x56\x34\x12",
        0,
        "is libCacheSim's LCS: convert it to oracleGeneral first",
    ),
    (
        b"\xff\xfe",
        0,
        "is UTF-16 text: convert it first (`iconv -f UTF-16 -t UTF-8 FILE`)",
    ),
    (
        b"\xfe\xff",
        0,
        "is UTF-16 text: convert it first (`iconv -f UTF-16 -t UTF-8 FILE`)",
    ),
];

/// Known files that hold traces but are not read here, with what to do instead.
fn refuse(head: &[u8]) -> Result<(), TraceError> {
    for (magic, at, what) in REFUSED {
        if head.get(*at..*at + magic.len()) == Some(*magic) {
            return Err(TraceError::unfit(*what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn stream(bytes: Vec<u8>) -> Bytes {
        Bytes::stream(Box::new(io::Cursor::new(bytes)))
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn nested_containers_are_looked_through() {
        let zstd = zstd::stream::encode_all(&b"hello"[..], 1).unwrap();
        let mut bytes = b"\x51\x2a\x4d\x18\x02\0\0\0xx".to_vec();
        bytes.extend(zstd);
        let mut input = unwrap(stream(gzip(&bytes)), "x").unwrap();
        assert_eq!(input.containers, ["gzip", "zstd"]);
        assert_eq!(input.bytes.look(100).unwrap(), (&b"hello"[..], true));
    }

    #[test]
    fn members_of_a_gzip_follow_each_other() {
        let bytes = [gzip(b"one"), gzip(b"two")].concat();
        let mut all = Vec::new();
        unwrap(stream(bytes), "x")
            .unwrap()
            .bytes
            .read_to_end(&mut all)
            .unwrap();
        assert_eq!(all, b"onetwo");
    }

    #[test]
    fn a_container_without_end_is_refused() {
        let bytes = (0..6).fold(b"x".to_vec(), |bytes, _| gzip(&bytes));
        let error = unwrap(stream(bytes), "deep").err().unwrap().to_string();
        assert!(
            error.starts_with("deep: compressed more than 4 times"),
            "{error}"
        );
    }

    #[test]
    fn what_is_not_read_says_what_to_do() {
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        for (bytes, word) in [
            (b"PERFILE2xxxxxxxx".to_vec(), "perf script --ns"),
            (tar.clone(), "tar -xf"),
            (gzip(&tar), "tar -xf"),
            (b"\xfd7zXZ\0....".to_vec(), "xz -dc"),
            (b"BZh9....".to_vec(), "bzip2 -dc"),
        ] {
            let error = unwrap(stream(bytes), "x").err().unwrap().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn bytes_behind_compressed_ones_are_no_secret() {
        let zstd = zstd::stream::encode_all(&b"hello"[..], 1).unwrap();
        for (compressed, name) in [(gzip(b"hello"), "gzip"), (zstd, "zstd")] {
            for behind in [
                &b"x"[..],
                b"\0\0\0\0",
                b"and so much more that is not compressed",
            ] {
                let bytes = [compressed.as_slice(), behind].concat();
                let read = unwrap(stream(bytes), "x").and_then(|mut input| {
                    let read = io::copy(&mut input.bytes, &mut io::sink());
                    read.map_err(|error| damaged(error, "x", &input.containers))
                });
                let error = read.unwrap_err().to_string();
                let begin = format!("x: damaged or cut off {name} data");
                assert!(error.starts_with(&begin), "{error}");
            }
        }
    }

    #[test]
    fn a_cut_off_gzip_names_itself() {
        let mut bytes = gzip(&[7; 100_000]);
        bytes.truncate(bytes.len() - 10);
        let mut input = unwrap(stream(bytes), "x").unwrap();
        let error = io::copy(&mut input.bytes, &mut io::sink()).unwrap_err();
        let error = damaged(error, "x.gz", &input.containers).to_string();
        assert!(
            error.starts_with("x.gz: damaged or cut off gzip data"),
            "{error}"
        );
    }
}
