//! What Ctrl-C, SIGTERM and SIGHUP do.
//!
//! Where there may be something to keep ([`Control::keeps`]), they ask the work to end, so that
//! what was measured is still written. Before, while a trace is read or a map is made, and for a
//! second signal, the program ends at once, whatever it is doing: it may wait for standard input.
//! Temporary files go, and no output gets its name.
//!
//! Service managers and batch systems end a job by SIGTERM, a closed terminal by SIGHUP. Who
//! started us under `nohup` wants SIGHUP to be ignored: then it is blocked, since the library that
//! catches the three cannot leave one of them out.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use nearslot_lab::sim::Control;
use nearslot_trace::temporary;

use crate::failure::Failure;
use crate::progress;

/// The exit code of a second signal, as of a program that handles none.
const AGAIN: u8 = 130;

/// Makes these signals stop the work. Called before any thread is started, as threads inherit which
/// signals are blocked.
///
/// # Errors
/// The handler cannot be installed.
pub(crate) fn stop(control: &Arc<Control>) -> Result<(), Failure> {
    #[cfg(target_os = "linux")]
    keep_ignoring_hangup();
    let control = Arc::clone(control);
    let handler = move || {
        if control.stop.swap(true, Ordering::Relaxed) {
            end_at_once(AGAIN);
        } else if !control.keeps.load(Ordering::Relaxed) {
            let told = Failure::Interrupted("interrupted, and nothing is written".to_owned());
            progress::note(&format!("nearslot: {}", told.message()));
            end_at_once(told.code());
        }
    };
    match ctrlc::set_handler(handler) {
        // Within Python or tests a handler may be there already: it stays.
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        Err(error) => Err(Failure::Input(format!("signals cannot be caught: {error}"))),
    }
}

/// Ends the program, and leaves no temporary file.
fn end_at_once(code: u8) -> ! {
    let _none_comes_meanwhile = temporary::remove_all();
    std::process::exit(code.into())
}

/// Blocks SIGHUP if it was ignored when the program started.
#[cfg(target_os = "linux")]
fn keep_ignoring_hangup() {
    use nix::sys::signal::{SigSet, Signal};
    // Without /proc nobody can tell, and SIGHUP stops the runs.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if ignores(&status, Signal::SIGHUP as u32) {
        let mut hangup = SigSet::empty();
        hangup.add(Signal::SIGHUP);
        hangup.thread_block().expect("SIGHUP can be blocked");
    }
}

/// Whether a process with this `/proc/PID/status` ignores a signal.
#[cfg(target_os = "linux")]
fn ignores(status: &str, signal: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_counts_from_one() {
        let status = "Name:\tnearslot\nSigIgn:\t0000000000000001\nSigCgt:\t0000000000004002\n";
        assert!(ignores(status, 1));
        assert!(!ignores(status, 2));
        assert!(!ignores("", 1));
    }
}
