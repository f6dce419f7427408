//! Plain files as memory: a window of the file is mapped, and moves on as the reader does.
//!
//! Only the window counts as resident memory, so a trace of any size needs a few dozen MiB, and no byte is copied.
//!
//! This is the one place of the crate with `unsafe`. Its proof: a mapping is sound as long as nobody writes the file
//! meanwhile. Traces are finished files that are only read here. Should another program shorten one under us, the
//! kernel ends the process with a bus error; the length is therefore looked up again for every window, which leaves
//! only a shortening inside the current window.

use std::fs::File;
use std::io;

use memmap2::{Advice, Mmap, MmapOptions};

/// Bytes that all mapped files of a trace may have mapped at a time, one file at most and at least.
const WINDOWS_BYTES: u64 = 64 << 20;
const WINDOW_BYTES_MAX: u64 = 16 << 20;
const WINDOW_BYTES_MIN: u64 = 1 << 20;

/// Mappings start at multiples of this, which every page size divides.
const ALIGNMENT: u64 = 64 << 10;

/// A file that is read from front to back through a moving window.
pub(crate) struct Mapped {
    file: File,
    window_bytes: u64,
    window: Option<Mmap>,
    /// Where the window starts in the file.
    start: u64,
    /// First byte not yet used.
    position: u64,
    len: u64,
}

impl Mapped {
    /// `share`: how many files are read side by side.
    pub(crate) fn new(file: File, share: usize) -> io::Result<Mapped> {
        let window_bytes =
            (WINDOWS_BYTES / share.max(1) as u64).clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX);
        let len = file.metadata()?.len();
        Ok(Mapped {
            file,
            window_bytes,
            window: None,
            start: 0,
            position: 0,
            len,
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The file itself, from its start.
    pub(crate) fn into_file(self) -> File {
        self.file
    }

    /// The next bytes: `wanted`, or all there are; and whether none follow them.
    pub(crate) fn look(&mut self, wanted: usize) -> io::Result<(&[u8], bool)> {
        let end = self.len.min(self.position.saturating_add(wanted as u64));
        if self.position >= end {
            return Ok((&[], self.position >= self.len));
        }
        if end > self.start + self.window.as_ref().map_or(0, |map| map.len() as u64) {
            self.slide(wanted as u64)?;
        }
        let end = self.len.min(end);
        let window = self.window.as_deref().unwrap_or(&[]);
        let bytes = &window[(self.position - self.start) as usize..(end - self.start) as usize];
        Ok((bytes, end == self.len))
    }

    pub(crate) fn consume(&mut self, used: usize) {
        self.position += used as u64;
        assert!(self.position <= self.len, "used more than there is");
    }

    /// Maps the window that begins at the current position and holds `wanted` bytes, as far as the file goes.
    fn slide(&mut self, wanted: u64) -> io::Result<()> {
        let now = self.file.metadata()?.len();
        if now < self.len {
            let what = format!(
                "became shorter while it was read ({} to {now} bytes)",
                self.len
            );
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        self.start = self.position - self.position % ALIGNMENT;
        let span = (wanted + ALIGNMENT).max(self.window_bytes);
        let bytes = span.min(self.len - self.start) as usize;
        self.window = None;
        // SAFETY: see the head of this file: the file is only read, and was just seen to be long enough.
        let map = unsafe {
            MmapOptions::new()
                .offset(self.start)
                .len(bytes)
                .map(&self.file)?
        };
        // Reading ahead is a wish: a file system that knows no advice is read all the same.
        let _ = map.advise(Advice::Sequential);
        self.window = Some(map);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_window_moves_over_its_own_border() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..(WINDOW_BYTES_MIN as usize + 300_000))
            .map(|i| (i / 7) as u8)
            .collect();
        file.write_all(&bytes).unwrap();
        let mut mapped = Mapped::new(file, 1000).unwrap();
        let mut seen = Vec::new();
        loop {
            let (part, last) = mapped.look(100_003).unwrap();
            let used = part.len().min(100_001);
            seen.extend_from_slice(&part[..used]);
            let done = last && used == part.len();
            mapped.consume(used);
            if done {
                break;
            }
        }
        assert!(seen == bytes);
        assert_eq!(mapped.look(10).unwrap(), (&[][..], true));
    }

    #[test]
    fn a_shrunk_file_is_an_error() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 1000]).unwrap();
        let mut mapped = Mapped::new(file.try_clone().unwrap(), 1).unwrap();
        file.set_len(10).unwrap();
        assert!(mapped.look(100).is_err());
    }
}
