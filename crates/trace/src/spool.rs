//! Standard input as a file, for whoever reads a trace more than once: it is copied to a temporary
//! file as it comes.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::TraceError;
use super::temporary::Temporary;

/// A copy of standard input; dropping it deletes the file.
pub struct Spool {
    _file: Temporary,
}

/// The files of a trace with standard input, if it is among them, replaced by a copy.
///
/// # Errors
/// It cannot be copied.
pub fn spool(files: &[PathBuf]) -> Result<(Option<Spool>, Vec<PathBuf>), TraceError> {
    let stdin = Path::new("-");
    if !files.iter().any(|file| file == stdin) {
        return Ok((None, files.to_vec()));
    }
    if files.iter().filter(|file| *file == stdin).count() > 1 {
        let what = "standard input is read once; name it once";
        return Err(TraceError::unfit(what).in_file("-"));
    }
    let wrong = |source| TraceError::Io {
        path: "spool of standard input".to_owned(),
        source,
    };
    let mut copy = Temporary::anywhere("nearslot-").map_err(wrong)?;
    io::copy(&mut io::stdin().lock(), &mut copy).map_err(wrong)?;
    copy.flush().map_err(wrong)?;
    let path = |file: &PathBuf| {
        if file == stdin {
            copy.path().to_owned()
        } else {
            file.clone()
        }
    };
    let paths = files.iter().map(path).collect();
    Ok((Some(Spool { _file: copy }), paths))
}
