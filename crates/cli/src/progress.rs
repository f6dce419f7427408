//! Progress of long work on standard error.

use std::io::{self, IsTerminal, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};
use nearslot_lab::sim::Control;

/// How often the bar is drawn.
const TICK: Duration = Duration::from_millis(100);

/// How many lines caches were asked for, of how many.
const LINES: &str = "{bar:30} {human_pos}/{human_len} lines  {rate}/s  ETA {eta}";

/// Shows how many requests were simulated, until dropped. Draws only on a terminal.
pub(crate) struct Progress {
    over: Arc<AtomicBool>,
    drawer: Option<JoinHandle<()>>,
}

impl Progress {
    /// Shows `control` until all of `requests` are simulated.
    pub(crate) fn watch(control: &Arc<Control>, requests: u64) -> Progress {
        let style = "{bar:30} {human_pos}/{human_len} requests  {rate}/s  ETA {eta}";
        Progress::draw(control, ProgressBar::new(requests), style)
    }

    /// Shows `control` where nobody knows how many requests there will be.
    pub(crate) fn count(control: &Arc<Control>) -> Progress {
        let style = "{spinner} {human_pos} requests  {rate}/s";
        Progress::draw(control, ProgressBar::no_length(), style)
    }

    /// Shows `control` of work that first reads, and then knows how many lines caches will be asked
    /// for.
    pub(crate) fn read_then_ask(control: &Arc<Control>) -> Progress {
        let style = "{spinner} {human_pos} requests read  {rate}/s";
        Progress::draw(control, ProgressBar::no_length(), style)
    }

    fn draw(control: &Arc<Control>, bar: ProgressBar, style: &'static str) -> Progress {
        let over = Arc::new(AtomicBool::new(false));
        let (watched, ended) = (Arc::clone(control), Arc::clone(&over));
        let drawer = std::thread::spawn(move || {
            let styled = |style| {
                let style = ProgressStyle::with_template(style).expect("the template is right");
                style.with_key("rate", rate)
            };
            bar.set_style(styled(style));
            while !ended.load(Ordering::Relaxed) {
                let expected = watched.expected.load(Ordering::Relaxed);
                if expected > 0 && bar.length().is_none() {
                    bar.set_style(styled(LINES));
                    bar.set_length(expected);
                    bar.reset_eta();
                }
                bar.set_position(watched.replied.load(Ordering::Relaxed));
                std::thread::park_timeout(TICK);
            }
            bar.finish_and_clear();
        });
        Progress {
            over,
            drawer: Some(drawer),
        }
    }
}

/// Requests a second, whole.
fn rate(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    // The bar takes what it gets.
    let _ = write!(out, "{}", HumanCount(state.per_sec() as u64));
}

/// Tells something on standard error while progress may be shown there, in place of its line.
pub(crate) fn note(text: &str) {
    let mut out = io::stderr().lock();
    let place = if out.is_terminal() { "\r\x1b[2K" } else { "" };
    // Nothing is left to tell anybody if standard error is gone.
    let _ = writeln!(out, "{place}{text}");
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(drawer) = self.drawer.take() {
            drawer.thread().unpark();
            // A drawer that panicked has nothing more to show.
            let _ = drawer.join();
        }
    }
}
