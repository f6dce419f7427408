//! Plain files, read from front to back.
//!
//! A file is as long as it was when it was opened: what another program adds meanwhile is not read,
//! and a file that becomes shorter is an error. Bytes are read, not mapped into memory: a mapping
//! of a file that is cut off ends the process without a message, and copying a few bytes costs next
//! to nothing beside decoding them.

use std::fs::File;
use std::io::{self, Read, Seek};

/// A file of a known length.
pub(crate) struct Plain {
    file: File,
    len: u64,
    position: u64,
}

impl Plain {
    pub(crate) fn new(file: File) -> io::Result<Plain> {
        let len = file.metadata()?.len();
        Ok(Plain {
            file,
            len,
            position: 0,
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The file itself, from its start.
    pub(crate) fn into_file(mut self) -> io::Result<File> {
        self.file.rewind()?;
        Ok(self.file)
    }
}

impl Read for Plain {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.len - self.position).unwrap_or(usize::MAX);
        let wanted = left.min(into.len());
        let count = self.file.read(&mut into[..wanted])?;
        if count == 0 && wanted > 0 {
            let (len, now) = (self.len, self.position);
            let what =
                format!("became shorter while it was read ({len} bytes at first, {now} now)");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        self.position += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_that_becomes_shorter_is_an_error_and_one_that_grows_ends_where_it_did() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 1000]).unwrap();
        file.rewind().unwrap();
        let mut plain = Plain::new(file.try_clone().unwrap()).unwrap();
        plain.read_exact(&mut [0; 600]).unwrap();
        file.set_len(700).unwrap();
        let mut rest = Vec::new();
        let error = plain.read_to_end(&mut rest).unwrap_err().to_string();
        assert_eq!(rest.len(), 100);
        assert!(error.contains("1000 bytes at first, 700 now"), "{error}");

        file.set_len(10).unwrap();
        file.rewind().unwrap();
        let mut plain = Plain::new(file.try_clone().unwrap()).unwrap();
        file.set_len(20).unwrap();
        assert_eq!(plain.read_to_end(&mut Vec::new()).unwrap(), 10);
    }
}
