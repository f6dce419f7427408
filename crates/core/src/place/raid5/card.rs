//! The card of rotating parity: what it is called, what can be set, what is counted.

use super::geometry::{EXTENT, Geometry};
use super::seats::Seat;
use super::{Media, Raid5};
use crate::contract::Placement;
use crate::maplog::RowsTable;
use crate::maplog::rows::{Kind, Noted};
use crate::measure::Measure;
use crate::registry::{Knob, Knobs, Need, VolumeEnv, VolumeError};
use crate::rng::Rng;

/// What was done, by the measures of the card.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) modified: u64,
    pub(super) reconstructed: u64,
    pub(super) full: u64,
    pub(super) bare: u64,
    pub(super) waited: u64,
    pub(super) degraded: u64,
    pub(super) healed: u64,
    pub(super) tolerated: u64,
    pub(super) lost: u64,
    pub(super) repaired: u64,
    pub(super) lost_blocks: u64,
    pub(super) spares: u64,
    pub(super) rebuilds: u64,
    pub(super) rebuilt_blocks: u64,
    pub(super) rebuild_ms: u64,
    pub(super) last_rebuild_ms: u64,
}

impl Counts {
    /// In the order of [`MEASURES`].
    pub(super) fn numbers(&self, raid5: &Raid5) -> [u64; 18] {
        let seats = (0..raid5.geometry.seats()).map(Seat);
        [
            self.modified,
            self.reconstructed,
            self.full,
            self.bare,
            self.waited,
            self.degraded,
            self.healed,
            self.tolerated,
            self.lost,
            self.repaired,
            seats.map(|seat| raid5.bad.blocks(seat)).sum(),
            self.lost_blocks,
            self.spares,
            self.rebuilds,
            self.rebuilt_blocks,
            raid5.left_to_rebuild(),
            self.rebuild_ms,
            self.last_rebuild_ms,
        ]
    }
}

/// In the order of [`Counts::numbers`].
pub(super) const MEASURES: &[Measure] = &[
    Measure::count(
        "read_modify_writes",
        "writes of a stripe",
        "writes that read the old data and the old parity",
    ),
    Measure::count(
        "reconstruct_writes",
        "writes of a stripe",
        "writes that read what they leave of their stripe",
    ),
    Measure::count(
        "full_stripe_writes",
        "writes of a stripe",
        "writes that read nothing, as they cover all strips of their rows",
    ),
    Measure::count(
        "bare_writes",
        "writes of a stripe",
        "writes without a parity, as that is bad or its drive is gone",
    ),
    Measure::count(
        "waited",
        "times",
        "something had to wait for its stripe, as data were computed from it or it was being written; writes that meet on a stripe wait before they come here, and are not among them",
    ),
    Measure::count(
        "degraded_reads",
        "pieces",
        "pieces of reads that were to be computed, as their drive does not tell them",
    ),
    Measure::count(
        "healed",
        "pieces",
        "pieces that were computed and written where they could not be read",
    )
    .of_run(),
    Measure::count(
        "tolerated_writes",
        "I/Os",
        "writes that failed, for which the others of their rows stand in",
    )
    .of_run(),
    Measure::count(
        "lost",
        "pieces",
        "pieces that failed their request, as two drives of their rows do not tell what they had",
    )
    .of_run(),
    Measure::count(
        "repaired",
        "pieces",
        "bad pieces that were computed and written in spare time, or at a rate",
    )
    .of_run(),
    Measure::count(
        "bad_blocks",
        "blocks",
        "blocks of drives in arrays that were bad at the end of the run: lost, of a drive that is gone, or still to be repaired",
    )
    .of_run(),
    Measure::count(
        "lost_blocks",
        "blocks",
        "blocks of the volume that two drives of a row did not tell any more; what of them was not written again since is listed in `lost`",
    )
    .of_run(),
    Measure::count(
        "spares_taken",
        "drives",
        "spares that took the place of a drive that was gone",
    )
    .of_run(),
    Measure::count(
        "rebuilds",
        "drives",
        "spares that got all that the others of their array told, while none of these was gone",
    )
    .of_run(),
    Measure::count(
        "rebuilt_blocks",
        "blocks",
        "blocks that were computed and written to spares while these were rebuilt",
    )
    .of_run(),
    Measure::count(
        "rebuild_left_blocks",
        "blocks",
        "blocks that spares which were not rebuilt still lacked at the end of the run: such as were to be rebuilt, or lost as another drive went before",
    )
    .of_run(),
    Measure::count(
        "rebuild_ms",
        "ms",
        "how long these rebuilds took, all together, from the end of a drive to the last block of its spare",
    )
    .of_run(),
    Measure::count(
        "last_rebuild_ms",
        "ms",
        "when the last of these rebuilds ended, from the begin of the run on",
    )
    .of_run(),
];

/// What can be set.
pub(super) const KNOBS: &[Knob] = &[
    Knob::integer(
        "disks",
        5,
        3..=1_024,
        "drives, three or more for each array; one of each array's has parity",
    ),
    Knob::integer(
        "spares",
        0,
        0..=1_021,
        "how many of the drives are spares: the last ones; one takes the place of a drive that is gone, in whichever array",
    ),
    Knob::integer("arrays", 1, 1..=341, "arrays that the drives make up"),
    Knob::integer(
        "strip_kib",
        64,
        1..=1_048_576,
        "KiB on one drive before the next one's turn",
    ),
    EXTENT,
    Knob::number(
        "rebuild_mib_s",
        0.0,
        0.0..=100_000.0,
        "MiB a second that each array repairs at least, whatever else its drives do, while it has something to repair; 0 is in spare time alone",
    )
    .needing(Need::Faults),
];

pub(super) fn build(knobs: &Knobs, env: &VolumeEnv<'_>) -> Result<Box<dyn Placement>, VolumeError> {
    let blocks = env.blueprint.capacity();
    let geometry = Geometry::new(knobs, blocks)?;
    let volume = Rng::stream(env.seed, "volume").bits();
    let parities = geometry.parities(volume, blocks);
    let (table, found) = match env.survivors {
        None => (RowsTable::new(&parities), Vec::new()),
        Some(survivors) => RowsTable::recover(&parities, survivors.nvram().to_vec())
            .map_err(|why| VolumeError::damaged("NVRAM", why))?,
    };
    let drives = Media::of(env.blueprint);
    let mut raid5 = Raid5::new(geometry, drives, table, knobs.number("rebuild_mib_s"));
    for (index, noted) in found {
        match noted.kind {
            Kind::Spare | Kind::Rebuilt => raid5.seats.resume(index, &noted, raid5.bad.table()),
            // A parity that was being written tells nothing, like a block that could not be
            // written.
            Kind::Writing => raid5.bad.resume(
                index,
                &Noted {
                    kind: Kind::Bad,
                    ..noted
                },
            ),
            Kind::Bad | Kind::Gone => raid5.bad.resume(index, &noted),
        }
    }
    raid5.go_on();
    Ok(Box::new(raid5))
}
