//! Long work beside the interpreter: its lock is released, and signals are looked for while the
//! work goes on.
//!
//! The work has a thread of its own; the calling thread waits without the lock and takes it every
//! [`LOOK_EVERY`] for as long as a signal handler needs. So other Python threads go on, and Ctrl-C
//! ends a run within that time. What cannot be stopped (the first reading of a trace) is left
//! behind after [`PATIENCE`]: it ends by itself, and touches no Python.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use nearslot_lab::sim::Control;
use pyo3::prelude::*;

/// Between two looks for signals: a user does not feel it, and it costs nothing.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// For stopped work to hand over what it has: runs look at the stop every few milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// How work ended.
pub(crate) enum Ended<T> {
    /// By itself.
    Done(T),
    /// By a signal, with what its handler raised and what was done until then.
    Stopped(PyErr, Option<T>),
}

/// Does `work`. It should end soon when `control` says stop.
///
/// # Errors
/// No thread can be had.
///
/// # Panics
/// If `work` does.
pub(crate) fn aside<T: Send + 'static>(
    py: Python<'_>,
    control: &Arc<Control>,
    work: impl FnOnce(&Control) -> T + Send + 'static,
) -> PyResult<Ended<T>> {
    let (sender, mut receiver) = mpsc::sync_channel(1);
    let theirs = Arc::clone(control);
    let worker = thread::Builder::new()
        .name("nearslot".to_owned())
        .spawn(move || {
            // Nobody listens any more if it took longer than the patience.
            let _ = sender.send(work(&theirs));
        })?;
    let raised = loop {
        let answer;
        (receiver, answer) = wait(py, receiver, LOOK_EVERY);
        match answer {
            Ok(done) => return Ok(Ended::Done(done)),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(raised) = py.check_signals() {
                    break raised;
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let fault = worker.join();
                panic::resume_unwind(fault.expect_err("it hung up, so it did not end well"));
            }
        }
    };
    control.stop.store(true, Ordering::Relaxed);
    let (_, answer) = wait(py, receiver, PATIENCE);
    Ok(Ended::Stopped(raised, answer.ok()))
}

/// Waits without the interpreter's lock.
fn wait<T: Send>(
    py: Python<'_>,
    receiver: Receiver<T>,
    longest: Duration,
) -> (Receiver<T>, Result<T, RecvTimeoutError>) {
    py.detach(move || {
        let answer = receiver.recv_timeout(longest);
        (receiver, answer)
    })
}
