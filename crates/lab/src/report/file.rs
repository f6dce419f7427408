//! Output files that appear when they are complete: written under a temporary name beside the
//! target, then renamed.
//!
//! So a full disk or an interruption never leaves half a file under the name that was asked for,
//! nor destroys an older one. Nor is the temporary file left
//! ([`temporary`](nearslot_trace::temporary)). What is there and is no regular file (a device, a
//! pipe) is written directly: renaming would replace it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nearslot_trace::file_identity::{folder, real};
use nearslot_trace::temporary::Temporary;
use tempfile::NamedTempFile;

use super::ReportError;
use super::outputs::{Target, Way};

/// A file being written.
pub struct OutputFile {
    path: PathBuf,
    stage: Stage,
}

enum Stage {
    Direct(BufWriter<Box<dyn Write + Send + Sync>>),
    Pending {
        file: BufWriter<Temporary>,
        replace: bool,
    },
}

impl OutputFile {
    /// Opens it; nothing is visible under its name before [`OutputFile::finish`].
    ///
    /// # Errors
    /// The folder does not exist or cannot be written.
    pub fn create(target: &Target) -> Result<OutputFile, ReportError> {
        let path = target.path();
        let failed = |source| ReportError::Write(source).at(path);
        let direct = |out: Box<dyn Write + Send + Sync>| Stage::Direct(BufWriter::new(out));
        let stage = match target.way() {
            Way::Stdout => direct(Box::new(io::stdout())),
            Way::Direct => {
                let file = File::options().write(true).open(path).map_err(failed)?;
                direct(Box::new(file))
            }
            way @ (Way::New | Way::Replace) => Stage::Pending {
                file: BufWriter::new(beside(path).map_err(failed)?),
                replace: way == Way::Replace,
            },
        };
        let path = path.to_owned();
        Ok(OutputFile { path, stage })
    }

    /// Its path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is written beside its target and renamed.
    #[cfg(feature = "parquet")]
    pub(super) fn is_renamed(&self) -> bool {
        matches!(self.stage, Stage::Pending { .. })
    }

    /// Writes out what is buffered and gives the file its name.
    ///
    /// # Errors
    /// The disk is full, the rename is refused, or a file appeared under the name that may not be
    /// replaced; then nothing changed under the name.
    pub fn finish(self) -> Result<(), ReportError> {
        let path = self.path;
        let done = match self.stage {
            Stage::Direct(mut file) => file.flush(),
            Stage::Pending { file, replace } => file
                .into_inner()
                .map_err(io::IntoInnerError::into_error)
                .and_then(|file| file.settle(|file| rename(file, &path, replace))),
        };
        done.map_err(|source| ReportError::Write(source).at(&path))
    }

    /// Lets `fill` write the whole file.
    ///
    /// # Errors
    /// What `fill` says, with the file named; then nothing changed under its name.
    pub fn save(
        mut self,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), ReportError>,
    ) -> Result<(), ReportError> {
        fill(&mut self).map_err(|error| error.at(&self.path))?;
        self.finish()
    }
}

/// Gives a complete file its name.
fn rename(file: NamedTempFile, path: &Path, replace: bool) -> io::Result<()> {
    let path = real(path)?;
    if replace {
        file.persist(path)?;
        return Ok(());
    }
    let Err(refused) = file.persist_noclobber(path) else {
        return Ok(());
    };
    if refused.error.kind() != io::ErrorKind::AlreadyExists {
        return Err(refused.error);
    }
    // Hours of work may be in it, so it stays under its temporary name.
    let kept = refused.file.into_temp_path().keep()?;
    let kept = kept.display();
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        format!("a file of this name has appeared meanwhile; the results are in {kept}"),
    ))
}

/// An output file that a writer owns a part of, so that it can still be finished when the writer is
/// gone.
#[derive(Clone)]
pub struct SharedOutput(Arc<Mutex<OutputFile>>);

impl SharedOutput {
    /// Opens it, as [`OutputFile::create`] does.
    ///
    /// # Errors
    /// The folder does not exist or cannot be written.
    pub fn create(target: &Target) -> Result<SharedOutput, ReportError> {
        OutputFile::create(target).map(|file| SharedOutput(Arc::new(Mutex::new(file))))
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
        match &mut self.stage {
            Stage::Direct(file) => file.write(bytes),
            Stage::Pending { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.stage {
            Stage::Direct(file) => file.flush(),
            Stage::Pending { file, .. } => file.flush(),
        }
    }
}

/// A temporary file in the same folder, hence on the same disk; gone when dropped.
pub(super) fn beside(path: &Path) -> io::Result<Temporary> {
    let path = real(path)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".nearslot-").suffix(".partial");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: what the umask allows, not only the owner.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    Temporary::within(folder(&path), &builder)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::Outputs;
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    fn create(path: &Path, force: bool) -> OutputFile {
        let target = Outputs::new(force).add("--output", path).unwrap();
        OutputFile::create(&target).unwrap()
    }

    #[test]
    fn a_file_appears_when_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        fs::write(&path, "old").unwrap();
        let mut file = create(&path, true);
        file.write_all(b"new").unwrap();
        file.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["out.csv"]);
    }

    #[test]
    fn what_appears_meanwhile_is_not_replaced_and_the_results_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        let file = create(&path, false);
        fs::write(&path, "theirs").unwrap();
        let error = file.save(|out| Ok(out.write_all(b"ours")?)).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        let words = error.to_string();
        let kept = words.rsplit(' ').next().unwrap();
        assert!(words.contains("out.csv"), "{words}");
        assert_eq!(fs::read(kept).unwrap(), b"ours", "{words}");
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        fs::write(&path, "old").unwrap();
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let error = create(&path, true).save(|out| {
            out.write_all(b"half")?;
            Err(full().into())
        });
        let words = error.unwrap_err().to_string();
        assert!(words.contains("out.csv"), "{words}");
        assert!(words.contains("no storage space"), "{words}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["out.csv"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_new_files_are_as_open_as_others() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (link, real) = (folder.path().join("link"), folder.path().join("real"));
        std::os::unix::fs::symlink(&real, &link).unwrap();
        // The link leads to nothing, then to a file.
        for (force, text) in [(false, "new"), (true, "newer")] {
            let file = create(&link, force);
            file.save(|out| Ok(out.write_all(text.as_bytes())?))
                .unwrap();
            assert!(link.is_symlink());
            assert_eq!(fs::read_to_string(&real).unwrap(), text);
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        assert_eq!(mode(&real), mode(&plain));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let file = create(Path::new("/dev/full"), false);
        let words = file.save(|out| Ok(out.write_all(b"row")?));
        let words = words.unwrap_err().to_string();
        assert!(
            words.starts_with("cannot write /dev/full: No space left on device"),
            "{words}"
        );
    }
}
