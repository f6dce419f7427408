//! Which file a path stands for. Paths are words: two of them may name one file, through links,
//! `./` or another folder.
//!
//! A file that is there is known by its device and inode. One that is not there yet is known by its
//! folder and its name, behind whatever symbolic links lead there. One or two calls of the system
//! per path.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// Symbolic links that are followed one after another: as many as Linux follows.
const LINKS_MAX: usize = 40;

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing yet.
    Nothing,
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A block device: a disk, or a part of one.
    Disk,
    /// A pipe: what one writes into it, another reads.
    Pipe,
    /// A terminal, `/dev/null`, a socket: any number may read and write it without harm.
    Stream,
}

/// What tells one file from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Identity {
    /// Device and inode.
    Inode(u64, u64),
    /// The path without links, where there are no inodes.
    Path(PathBuf),
    /// A name in a folder, with nothing there yet.
    New(Box<Identity>, OsString),
}

/// A path that was looked up.
#[derive(Clone, Debug)]
pub struct Place {
    /// What is there.
    pub kind: Kind,
    /// Which file it is.
    pub identity: Identity,
}

impl Place {
    /// What is at `path`, or could be.
    ///
    /// # Errors
    /// There is no such folder, or it cannot be looked into.
    pub fn of(path: &Path) -> io::Result<Place> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Place {
                kind: kind(&metadata),
                identity: identity(path, &metadata)?,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let path = real(path)?;
                let name = path.file_name().ok_or(error)?.to_owned();
                let folder = folder(&path);
                let within = identity(folder, &fs::metadata(folder)?)?;
                Ok(Place {
                    kind: Kind::Nothing,
                    identity: Identity::New(Box::new(within), name),
                })
            }
            Err(error) => Err(error),
        }
    }

    /// What standard input comes from, where that can be told.
    pub fn of_stdin() -> Option<Place> {
        #[cfg(unix)]
        return open(io::stdin());
        #[cfg(not(unix))]
        None
    }

    /// What standard output goes to, where that can be told.
    pub fn of_stdout() -> Option<Place> {
        #[cfg(unix)]
        return open(io::stdout());
        #[cfg(not(unix))]
        None
    }
}

/// The folder that a path is in.
pub fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The same path behind the symbolic links that it is itself, whether they lead to something or
/// not.
///
/// # Errors
/// The links lead round in a circle.
pub fn real(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(target) => path = folder(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other(format!(
        "more than {LINKS_MAX} symbolic links follow one another"
    )))
}

#[cfg(unix)]
fn open(stream: impl std::os::fd::AsFd) -> Option<Place> {
    let file = fs::File::from(stream.as_fd().try_clone_to_owned().ok()?);
    let metadata = file.metadata().ok()?;
    Some(Place {
        kind: kind(&metadata),
        identity: inode(&metadata),
    })
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    Identity::Inode(metadata.dev(), metadata.ino())
}

#[cfg(unix)]
fn identity(_path: &Path, metadata: &Metadata) -> io::Result<Identity> {
    Ok(inode(metadata))
}

#[cfg(not(unix))]
fn identity(path: &Path, _metadata: &Metadata) -> io::Result<Identity> {
    path.canonicalize().map(Identity::Path)
}

fn kind(metadata: &Metadata) -> Kind {
    if metadata.is_file() {
        return Kind::File;
    }
    if metadata.is_dir() {
        return Kind::Folder;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        if kind.is_block_device() {
            return Kind::Disk;
        }
        if kind.is_fifo() {
            return Kind::Pipe;
        }
    }
    Kind::Stream
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn identity_of(path: &Path) -> Identity {
        Place::of(path).unwrap().identity
    }

    #[test]
    fn a_file_is_the_same_by_whatever_path() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "").unwrap();
        fs::write(at("b"), "").unwrap();
        symlink("a", at("soft")).unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        fs::create_dir(at("sub")).unwrap();
        for name in ["./a", "soft", "hard", "sub/../a"] {
            assert_eq!(identity_of(&at(name)), identity_of(&at("a")), "{name}");
        }
        assert_ne!(identity_of(&at("a")), identity_of(&at("b")));
    }

    #[test]
    fn a_file_to_be_is_its_folder_and_its_name_behind_links() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        symlink("sub", at("other")).unwrap();
        symlink("sub/new", at("dangling")).unwrap();
        for name in ["sub/./new", "other/new", "dangling"] {
            assert_eq!(
                identity_of(&at(name)),
                identity_of(&at("sub/new")),
                "{name}"
            );
            assert_eq!(Place::of(&at(name)).unwrap().kind, Kind::Nothing);
        }
        assert_ne!(identity_of(&at("sub/new")), identity_of(&at("new")));
        assert!(Place::of(&at("nowhere/new")).is_err());
    }

    #[test]
    fn links_in_a_circle_end() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        symlink(&one, &other).unwrap();
        symlink(&other, &one).unwrap();
        assert!(Place::of(&one).is_err());
        assert!(real(&one).is_err());
    }
}
