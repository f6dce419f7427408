//! Progress of long work on standard error.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use nearslot_lab::sim::Control;

/// How often the bar is drawn.
const TICK: Duration = Duration::from_millis(100);

/// Shows how many requests were simulated, until dropped. Draws only on a terminal.
pub(crate) struct Progress {
    over: Arc<AtomicBool>,
    drawer: Option<JoinHandle<()>>,
}

impl Progress {
    /// Shows `control` until all of `requests` are simulated.
    pub(crate) fn watch(control: &Arc<Control>, requests: u64) -> Progress {
        let style = "{bar:30} {human_pos}/{human_len} requests  {per_sec}  ETA {eta}";
        Progress::draw(control, ProgressBar::new(requests), style)
    }

    /// Shows `control` where nobody knows how many requests there will be.
    pub(crate) fn count(control: &Arc<Control>) -> Progress {
        let style = "{spinner} {human_pos} requests  {per_sec}";
        Progress::draw(control, ProgressBar::no_length(), style)
    }

    fn draw(control: &Arc<Control>, bar: ProgressBar, style: &'static str) -> Progress {
        let over = Arc::new(AtomicBool::new(false));
        let (watched, ended) = (Arc::clone(control), Arc::clone(&over));
        let drawer = std::thread::spawn(move || {
            bar.set_style(ProgressStyle::with_template(style).expect("the template is right"));
            while !ended.load(Ordering::Relaxed) {
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
