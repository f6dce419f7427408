//! Temporary files with a name, known until they are gone or have the name that was asked for.
//!
//! Such a file is removed when it is dropped. But a program that ends at once, as a second Ctrl-C
//! wants it, drops nothing: its temporary files would stay in the folder of whoever asked for
//! results. So all of them are listed here, for the whole process, and [`remove_all`] removes them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, NamedTempFile};

/// Paths of those that are there.
static LISTED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn listed() -> MutexGuard<'static, Vec<PathBuf>> {
    LISTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file; gone when dropped.
pub struct Temporary {
    file: NamedTempFile,
    /// Dropped behind the file: what is not listed is no longer there.
    entry: Entry,
}

/// What lists a file for as long as it lives.
struct Entry(PathBuf);

impl Drop for Entry {
    fn drop(&mut self) {
        listed().retain(|path| *path != self.0);
    }
}

impl Temporary {
    /// One that `builder` describes, in this folder.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn within(folder: &Path, builder: &Builder<'_, '_>) -> io::Result<Temporary> {
        // Until it is listed, nobody may believe that the list is whole.
        let mut listed = listed();
        let file = builder.tempfile_in(folder)?;
        let entry = Entry(file.path().to_owned());
        listed.push(entry.0.clone());
        Ok(Temporary { file, entry })
    }

    /// One of which the name begins so, where the system has its temporary files.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn anywhere(prefix: &str) -> io::Result<Temporary> {
        Temporary::within(&std::env::temp_dir(), Builder::new().prefix(prefix))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The file once more, to be read from its start.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn reopen(&self) -> io::Result<File> {
        self.file.reopen()
    }

    /// Lets `settle` give the file its name, or keep it under this one. Until that is done, nobody
    /// removes it.
    pub fn settle<T>(self, settle: impl FnOnce(NamedTempFile) -> T) -> T {
        let Temporary { file, entry } = self;
        let mut listed = listed();
        let settled = settle(file);
        listed.retain(|path| *path != entry.0);
        settled
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Removes all of them. For as long as what it gives is kept, none comes or gets its name: whoever
/// wants to waits. So it is kept until the program has ended.
pub fn remove_all() -> impl Drop {
    let listed = listed();
    for path in listed.iter() {
        // One that cannot be removed is left: the program ends, and nobody would do anything about
        // it.
        let _ = fs::remove_file(path);
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    fn is_listed(path: &Path) -> bool {
        listed().iter().any(|other| other == path)
    }

    #[test]
    fn a_file_is_listed_for_as_long_as_it_is_temporary() {
        let folder = tempfile::tempdir().unwrap();
        let make = || Temporary::within(folder.path(), &Builder::new()).unwrap();
        let dropped = make();
        let path = dropped.path().to_owned();
        assert!(is_listed(&path));
        drop(dropped);
        assert!(!is_listed(&path) && count(folder.path()) == 0);
        let mut named = make();
        named.write_all(b"rows").unwrap();
        let path = named.path().to_owned();
        let name = folder.path().join("rows");
        named.settle(|file| file.persist(&name).unwrap());
        assert!(!is_listed(&path));
        assert_eq!(fs::read(&name).unwrap(), b"rows");
    }
}
