//! Where a command may write. Nothing of the user's is destroyed: an output is refused if it is a
//! file that is read, if it is another output, if it is a disk, or, unless that is forced, if there
//! is a file already.
//!
//! A command says what it reads ([`Outputs::reads`]), then names each output ([`Outputs::add`]) and
//! gets a [`Target`], which is what [`super::OutputFile`] takes; when it has named all,
//! [`Outputs::complete`] refuses a `--force` without effect. So no output can be opened without
//! these checks. They come before the work; what appears under the name in the meantime is not
//! replaced either, see [`super::OutputFile::finish`]. Files are compared as files, not as words
//! (`files.rs`).

use std::io;
use std::path::{Path, PathBuf};

use nearslot_trace::file_identity::{Kind, Place};

use super::ReportError;

/// What a command reads and writes.
pub struct Outputs {
    force: bool,
    /// Files that are read, by the names that the user knows.
    inputs: Vec<(String, Place)>,
    /// Outputs so far, by the options that name them.
    outputs: Vec<(String, Place)>,
    /// Whether an output is a file, which could be replaced.
    named: bool,
    stdout: Option<Place>,
}

/// Somewhere to write that destroys nothing.
#[derive(Clone, Debug)]
pub struct Target {
    path: PathBuf,
    way: Way,
}

/// How a target is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To standard output.
    Stdout,
    /// Straight into a pipe or a device.
    Direct,
    /// Beside the target, then renamed; not if there is a file by then.
    New,
    /// Beside the target, then renamed, whatever is there.
    Replace,
}

/// Why something may not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is a file that is read, known to the user by this name.
    Input(String),
    /// This other output writes it.
    Output(String),
    /// There is a file, and nobody said that it may be replaced.
    Exists,
    /// It is a folder.
    Folder,
    /// It is a block device.
    Disk,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Input(name) => write!(f, "this is {name}, which is read; name another file"),
            Refusal::Output(name) => write!(f, "{name} writes the same file; name another"),
            Refusal::Exists => write!(f, "the file exists; name another"),
            Refusal::Folder => write!(f, "this is a folder; name a file"),
            Refusal::Disk => write!(
                f,
                "this is a block device, and its contents would be lost; name a file"
            ),
        }
    }
}

impl Outputs {
    /// Of a command that has named no files yet; `force` lets it replace files.
    pub fn new(force: bool) -> Outputs {
        Outputs {
            force,
            inputs: Vec::new(),
            outputs: Vec::new(),
            named: false,
            stdout: Place::of_stdout(),
        }
    }

    /// This file is read; `-` is standard input. What cannot be looked up cannot be read, and
    /// whoever reads it says so.
    pub fn reads(&mut self, path: &Path) {
        let place = if path == Path::new("-") {
            Place::of_stdin()
        } else {
            Place::of(path).ok()
        };
        let name = match path.to_str() {
            Some("-") => "the file that standard input comes from".to_owned(),
            _ => path.display().to_string(),
        };
        self.inputs.extend(place.map(|place| (name, place)));
    }

    /// Results are printed on standard output.
    ///
    /// # Errors
    /// They would be appended to a file that is read.
    pub fn prints(&mut self) -> Result<(), ReportError> {
        let Some(place) = self.stdout.clone() else {
            return Ok(());
        };
        self.distinct("standard output", Path::new("-"), &place)?;
        self.outputs.push(("standard output".to_owned(), place));
        Ok(())
    }

    /// An output, by the option that names it; `-` is standard output.
    ///
    /// # Errors
    /// It may not be written, or its folder is not there.
    pub fn add(&mut self, option: &str, path: &Path) -> Result<Target, ReportError> {
        let refused = |why| refuse(option, path, why);
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(refused(Refusal::Folder));
        }
        let (place, stdout) = self.place(path)?;
        match place.kind {
            Kind::Folder => return Err(refused(Refusal::Folder)),
            Kind::Disk => return Err(refused(Refusal::Disk)),
            _ => self.distinct(option, path, &place)?,
        }
        let way = match place.kind {
            _ if stdout => Way::Stdout,
            Kind::File if !self.force => return Err(refused(Refusal::Exists)),
            Kind::File => Way::Replace,
            Kind::Nothing if self.force => Way::Replace,
            Kind::Nothing => Way::New,
            _ => Way::Direct,
        };
        self.named |= way != Way::Stdout;
        self.outputs.push((option.to_owned(), place));
        let path = path.to_owned();
        Ok(Target { path, way })
    }

    /// An output of rows in Parquet, as [`Outputs::add`].
    ///
    /// # Errors
    /// As there, or this build has no Parquet: known before anything is read or run.
    pub fn add_rows(&mut self, option: &str, path: &Path) -> Result<Target, ReportError> {
        match cfg!(feature = "parquet") {
            true => self.add(option, path),
            false => Err(ReportError::NoParquet),
        }
    }

    /// All outputs have been named.
    ///
    /// # Errors
    /// Files may be replaced, and there is none to write.
    pub fn complete(self) -> Result<(), ReportError> {
        match self.force && !self.named {
            true => Err(ReportError::NothingToReplace),
            false => Ok(()),
        }
    }

    /// What is at a path, and whether that is standard output under whatever name.
    fn place(&self, path: &Path) -> Result<(Place, bool), ReportError> {
        if path == Path::new("-") {
            let stream = || Place::of(Path::new("/dev/null"));
            let place = self.stdout.clone().map_or_else(stream, Ok);
            return Ok((place.map_err(|error| unwritten(path, error))?, true));
        }
        let place = Place::of(path).map_err(|error| unwritten(path, error))?;
        let stdout = self.stdout.as_ref();
        let stdout = stdout.is_some_and(|stdout| stdout.identity == place.identity);
        Ok((place, stdout))
    }

    /// Neither read nor written by anything else. A terminal or `/dev/null` may be, by any number.
    fn distinct(&self, option: &str, path: &Path, place: &Place) -> Result<(), ReportError> {
        if place.kind == Kind::Stream {
            return Ok(());
        }
        let same = |(_, other): &&(String, Place)| other.identity == place.identity;
        if let Some((name, _)) = self.inputs.iter().find(same) {
            return Err(refuse(option, path, Refusal::Input(name.clone())));
        }
        if let Some((name, _)) = self.outputs.iter().find(same) {
            return Err(refuse(option, path, Refusal::Output(name.clone())));
        }
        Ok(())
    }
}

impl Target {
    /// Its path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn way(&self) -> Way {
        self.way
    }
}

fn refuse(option: &str, path: &Path, why: Refusal) -> ReportError {
    ReportError::Refused {
        option: option.to_owned(),
        path: path.to_owned(),
        why,
    }
}

fn unwritten(path: &Path, source: io::Error) -> ReportError {
    ReportError::Write(source).at(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn why(outcome: Result<Target, ReportError>) -> Refusal {
        match outcome {
            Err(ReportError::Refused { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_input_is_never_written_even_by_force() {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("trace.csv");
        fs::write(&input, "").unwrap();
        for force in [false, true] {
            let mut outputs = Outputs::new(force);
            outputs.reads(&input);
            let again = folder.path().join(".").join("trace.csv");
            let refusal = why(outputs.add("--output", &again));
            assert_eq!(refusal, Refusal::Input(input.display().to_string()));
        }
    }

    #[test]
    fn two_outputs_are_two_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut outputs = Outputs::new(true);
        outputs.add("--html", &path).unwrap();
        let refusal = why(outputs.add("--requests", &path));
        assert_eq!(refusal, Refusal::Output("--html".to_owned()));
    }

    #[test]
    fn a_file_is_replaced_by_force_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let way = |force| {
            Outputs::new(force)
                .add("--html", &path)
                .map(|target| target.way)
        };
        assert_eq!(way(false).unwrap(), Way::New);
        fs::write(&path, "").unwrap();
        assert_eq!(way(true).unwrap(), Way::Replace);
        assert_eq!(
            why(Outputs::new(false).add("--html", &path)),
            Refusal::Exists
        );
    }

    #[test]
    fn force_without_a_file_to_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let complete = |force, names: &[&Path]| {
            let mut outputs = Outputs::new(force);
            for name in names {
                outputs.add("--output", name).unwrap();
            }
            outputs.complete().is_ok()
        };
        assert!(complete(false, &[]));
        assert!(!complete(true, &[]));
        assert!(!complete(true, &[Path::new("-")]));
        assert!(complete(true, &[&folder.path().join("new")]));
    }

    #[test]
    fn folders_are_no_files() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_owned(), folder.path().join("new/")] {
            assert_eq!(
                why(Outputs::new(true).add("--html", &path)),
                Refusal::Folder
            );
        }
        let lost = Outputs::new(true).add("--html", &folder.path().join("no/file"));
        let words = lost.unwrap_err().to_string();
        assert!(words.starts_with("cannot write "), "{words}");
    }

    #[cfg(unix)]
    #[test]
    fn devices_take_any_number_of_outputs() {
        let mut outputs = Outputs::new(false);
        for option in ["--html", "--output"] {
            let target = outputs.add(option, Path::new("/dev/null")).unwrap();
            assert!(matches!(target.way, Way::Direct | Way::Stdout));
        }
    }
}
