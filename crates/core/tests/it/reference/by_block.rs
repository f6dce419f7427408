//! Twins of the schedulers that go by block number.

use nearslot_core::contract::{Next, View};
use nearslot_core::io::Io;
use nearslot_core::units::Pba;
use proptest::prelude::*;

use crate::reference::twin::{Definition, Queue, compare, steps};

/// The one with the least key, and of equals the oldest.
fn least<K: Ord>(queue: &Queue, key: impl Fn(&Io) -> Option<K>) -> Option<usize> {
    let keyed = queue.iter().enumerate();
    let keyed = keyed.filter_map(|(index, io)| Some((key(io)?, io.sequence, index)));
    keyed.min().map(|(_, _, index)| index)
}

/// First come, first served.
struct Fcfs;

impl Definition for Fcfs {
    fn choose(&mut self, queue: &Queue, _: &View<'_>) -> Result<usize, Next> {
        Ok(least(queue, |_| Some(())).expect("something waits"))
    }
}

/// The nearest in a direction: at or above, or at or below.
fn ahead(queue: &Queue, from: u64, upward: bool) -> Option<usize> {
    least(queue, |io| match upward {
        true => io.at.0.checked_sub(from),
        false => from.checked_sub(io.at.0),
    })
}

/// The nearest, where what lies against the direction counts as farther away; equal sides in turns.
struct Nearest {
    r: f64,
    from: u64,
    upward: bool,
    ties: u32,
}

impl Nearest {
    fn with(r: f64) -> Nearest {
        Nearest {
            r,
            from: 0,
            upward: true,
            ties: 0,
        }
    }
}

impl Definition for Nearest {
    fn choose(&mut self, queue: &Queue, view: &View<'_>) -> Result<usize, Next> {
        let penalty = (self.r * view.capacity.0 as f64).round() as u64;
        let (from, upward) = (self.from, self.upward);
        let distance = |io: &Io| {
            let against = io.at.0 != from && (io.at.0 > from) != upward;
            io.at.0.abs_diff(from) + if against { penalty } else { 0 }
        };
        let shortest = queue.iter().map(distance).min().expect("something waits");
        let on_side = |above: bool| {
            least(queue, |io| {
                let here = distance(io) == shortest && (io.at.0 >= from) == above;
                here.then_some(())
            })
        };
        let index = match (on_side(true), on_side(false)) {
            (Some(above), Some(below)) => {
                self.ties += 1;
                if self.ties % 2 == 1 { above } else { below }
            }
            (one, other) => one.or(other).expect("the shortest lies on a side"),
        };
        let io = queue[index];
        if io.at.0 != from {
            self.upward = io.at.0 > from;
        }
        self.from = io.at.0 + if penalty == 0 { io.len.0 } else { 0 };
        Ok(index)
    }
}

/// To and fro; `edges` is the elevator that goes on to the edge before it turns.
struct Sweep {
    edges: bool,
    from: u64,
    upward: bool,
}

impl Sweep {
    fn new(edges: bool) -> Sweep {
        Sweep {
            edges,
            from: 0,
            upward: true,
        }
    }
}

impl Definition for Sweep {
    fn choose(&mut self, queue: &Queue, view: &View<'_>) -> Result<usize, Next> {
        loop {
            if let Some(index) = ahead(queue, self.from, self.upward) {
                self.from = queue[index].at.0;
                return Ok(index);
            }
            let edge = if self.upward { view.capacity.0 - 1 } else { 0 };
            self.upward = !self.upward;
            if self.edges && self.from != edge {
                self.from = edge;
                return Err(Next::Seek(Pba(edge)));
            }
        }
    }
}

/// One way only.
struct Circle {
    edges: bool,
    from: u64,
}

impl Definition for Circle {
    fn choose(&mut self, queue: &Queue, view: &View<'_>) -> Result<usize, Next> {
        if let Some(index) = ahead(queue, self.from, true) {
            self.from = queue[index].at.0;
            return Ok(index);
        }
        let last = view.capacity.0 - 1;
        if !self.edges {
            self.from = 0;
            return self.choose(queue, view);
        }
        self.from = if self.from == last { 0 } else { last };
        Err(Next::Seek(Pba(self.from)))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn fcfs(steps in steps()) {
        compare("fcfs", "exact", &steps, || Fcfs);
    }

    #[test]
    fn sstf(steps in steps()) {
        compare("sstf", "exact", &steps, || Nearest::with(0.0));
    }

    #[test]
    fn vscan(steps in steps(), r in prop_oneof![Just(0.0), Just(1.0), 0.0..1.0f64]) {
        compare(&format!("vscan:r={r}"), "exact", &steps, || Nearest::with(r));
    }

    #[test]
    fn the_ends_of_vscan(steps in steps()) {
        compare("vscan:r=0", "exact", &steps, || Nearest::with(0.0));
        compare("vscan:r=1", "exact", &steps, || Sweep::new(false));
    }

    #[test]
    fn look(steps in steps()) {
        compare("look", "exact", &steps, || Sweep::new(false));
    }

    #[test]
    fn scan(steps in steps()) {
        compare("scan", "exact", &steps, || Sweep::new(true));
    }

    #[test]
    fn clook(steps in steps()) {
        compare("clook", "exact", &steps, || Circle { edges: false, from: 0 });
    }

    #[test]
    fn cscan(steps in steps()) {
        compare("cscan", "exact", &steps, || Circle { edges: true, from: 0 });
    }
}
