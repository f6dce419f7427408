//! An oracle that nobody asks: no card of the parts above it says so.
//!
//! It says where blocks lie. What the drive does it is not told, so a twin of the drive below it
//! does nothing: of a complete drive under a scheduler that knows block numbers, that is nearly
//! half of a simulation.

use crate::contract::{Arm, Oracle};
use crate::freemap::FreeMap;
use crate::io::{Command, DriveDone};
use crate::measure::Tell;
use crate::offer::Legal;
use crate::op::Op;
use crate::position::{Candidate, Choice, FreePlace, Landing, Place, Search, Served};
use crate::sorted::Sorted;
use crate::units::{Blocks, Duration, Instant, Pba};

struct Unasked(Box<dyn Oracle>);

/// The same, for parts of which no card says that they ask it.
pub(crate) fn unasked(oracle: Box<dyn Oracle>) -> Box<dyn Oracle> {
    Box::new(Unasked(oracle))
}

/// A card is wrong.
#[cold]
fn asked() -> ! {
    panic!("an oracle was asked, though no card of the parts above it says that they ask it")
}

impl Oracle for Unasked {
    fn locate(&self, at: Pba) -> Place {
        self.0.locate(at)
    }

    fn positioning_time(&self, _now: Instant, _op: Op, _place: &Place, _len: Blocks) -> Duration {
        asked()
    }

    fn service_time(&self, _now: Instant, _op: Op, _at: Pba, _len: Blocks) -> Duration {
        asked()
    }

    fn nearest(&self, _now: Instant, _waiting: &Sorted<Candidate>) -> Option<Choice> {
        asked()
    }

    fn nearest_free(&self, _search: &Search, _free: &FreeMap) -> Option<FreePlace> {
        asked()
    }

    fn nearest_offered(
        &self,
        _now: Instant,
        _before: Instant,
        _legal: &Legal<'_>,
    ) -> Option<Landing> {
        asked()
    }

    fn buffered(&self, _now: Instant, _op: Op, _tell: &mut dyn FnMut(Served)) {
        asked()
    }

    fn arm(&self) -> Option<&dyn Arm> {
        asked()
    }

    fn started(&mut self, _now: Instant, _command: &Command) {}

    fn observed(&mut self, _now: Instant, _done: &DriveDone) {}

    fn tell(&self, tell: Tell<'_>) {
        self.0.tell(tell);
    }
}
