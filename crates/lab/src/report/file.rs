//! Output files that appear when they are complete: written under a temporary name beside the target, then renamed.
//!
//! So a full disk or an interruption never leaves half a file under the name that was asked for, nor destroys an
//! older one. What is there and is no regular file (a device, a pipe) is written directly: renaming would replace it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use super::ReportError;

/// A file being written.
pub struct OutputFile {
    path: PathBuf,
    target: Target,
}

enum Target {
    Direct(BufWriter<File>),
    Pending(BufWriter<NamedTempFile>),
}

impl OutputFile {
    /// Opens it; nothing is visible under `path` before [`OutputFile::finish`].
    ///
    /// # Errors
    /// The folder does not exist or cannot be written.
    pub fn create(path: &Path) -> Result<OutputFile, ReportError> {
        let failed = |source| ReportError::Write(source).at(path);
        let target = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
            }
            Ok(metadata) if !metadata.is_file() => {
                let file = File::options().write(true).open(path).map_err(failed)?;
                Target::Direct(BufWriter::new(file))
            }
            _ => Target::Pending(BufWriter::new(beside(path).map_err(failed)?)),
        };
        let path = path.to_owned();
        Ok(OutputFile { path, target })
    }

    /// Writes out what is buffered and gives the file its name.
    ///
    /// # Errors
    /// The disk is full, or the rename is refused; then nothing changed under the name.
    pub fn finish(self) -> Result<(), ReportError> {
        let path = self.path;
        let done = match self.target {
            Target::Direct(mut file) => file.flush(),
            Target::Pending(file) => file
                .into_inner()
                .map_err(io::IntoInnerError::into_error)
                .and_then(|file| Ok(file.persist(real(&path)?)?))
                .map(drop),
        };
        done.map_err(|source| ReportError::Write(source).at(&path))
    }

    /// Lets `fill` write a whole file.
    ///
    /// # Errors
    /// What `fill` says, with the file named; then nothing changed under `path`.
    pub fn save(
        path: &Path,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), ReportError>,
    ) -> Result<(), ReportError> {
        let mut file = OutputFile::create(path)?;
        fill(&mut file).map_err(|error| error.at(path))?;
        file.finish()
    }
}

/// An output file that a writer owns a part of, so that it can still be finished when the writer is gone.
#[derive(Clone)]
pub struct SharedOutput(Arc<Mutex<OutputFile>>);

impl SharedOutput {
    /// Opens it, as [`OutputFile::create`] does.
    ///
    /// # Errors
    /// The folder does not exist or cannot be written.
    pub fn create(path: &Path) -> Result<SharedOutput, ReportError> {
        OutputFile::create(path).map(|file| SharedOutput(Arc::new(Mutex::new(file))))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// As [`OutputFile::finish`].
    ///
    /// # Panics
    /// If its writer is still there.
    pub fn finish(self) -> Result<(), ReportError> {
        let file = Arc::into_inner(self.0).expect("its writer is gone");
        file.into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .finish()
    }

    fn file(&self) -> MutexGuard<'_, OutputFile> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Direct(file) => file.write(bytes),
            Target::Pending(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Direct(file) => file.flush(),
            Target::Pending(file) => file.flush(),
        }
    }
}

/// Where the rename goes: through a symbolic link, so that the link stays one.
fn real(path: &Path) -> io::Result<PathBuf> {
    if path.is_symlink() {
        path.canonicalize()
    } else {
        Ok(path.to_owned())
    }
}

/// A temporary file in the same folder, hence on the same disk; gone when dropped.
pub(super) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let path = real(path)?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".nearslot-").suffix(".partial");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: what the umask allows, not only the owner.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_file_appears_when_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        fs::write(&path, "old").unwrap();
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["out.csv"]);
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        fs::write(&path, "old").unwrap();
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let error = OutputFile::save(&path, |out| {
            out.write_all(b"half")?;
            Err(full().into())
        });
        let words = error.unwrap_err().to_string();
        assert!(
            words.contains("out.csv") && words.contains("no storage space"),
            "{words}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["out.csv"]);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = OutputFile::create(Path::new("/no-such-folder/out.csv"))
            .err()
            .unwrap();
        assert!(
            error.to_string().contains("/no-such-folder/out.csv"),
            "{error}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_new_files_are_as_open_as_others() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (link, real) = (folder.path().join("link"), folder.path().join("real"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        OutputFile::save(&link, |out| Ok(out.write_all(b"new")?)).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        assert_eq!(mode(&real), mode(&plain));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let error = OutputFile::save(Path::new("/dev/full"), |out| Ok(out.write_all(b"row")?));
        let words = error.unwrap_err().to_string();
        assert!(
            words.starts_with("cannot write /dev/full: No space left on device"),
            "{words}"
        );
    }
}
