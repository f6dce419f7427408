//! Whole stacks against a model of what every block holds: all placements, on drives that are small
//! enough to be full of meetings. Drives move no data here, so nothing else could tell whether a
//! read finds what was written.

mod at_rest;
mod below;
mod buffered;
mod buffered_cuts;
mod cached;
mod choices;
mod compaction;
mod cuts;
mod drawn;
mod drawn_failing;
mod failing;
mod failing_faults;
mod faults;
mod gone;
mod injected;
mod instants;
mod judge;
mod kept;
mod last_places;
mod left;
mod load;
mod medium;
mod merging;
mod model;
mod moves;
mod offering;
mod parity;
mod random;
mod rig;
mod room;
mod rules;
mod saved;
mod setups;
mod silent_cuts;
mod spares;
mod sums;
mod uncounted;
mod words;

pub(crate) use faults::complaint;
