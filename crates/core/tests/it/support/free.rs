//! The literal twin of all searches for a free slot: it tries every one.

use nearslot_core::contract::Oracle;
use nearslot_core::freemap::{FreeMap, Slot};
use nearslot_core::op::Op;
use nearslot_core::position::{FreePlace, Search};
use nearslot_core::units::{Instant, Pba};

/// The free slot whose write begins first, and of equals the lowest. If the first slot of a track
/// does not leave time for the access that follows, the others do not either: they begin later.
pub(crate) fn nearest_free(
    oracle: &dyn Oracle,
    search: &Search,
    free: &FreeMap,
) -> Option<FreePlace> {
    let tracks = free.tracks();
    let first_of_track = |track: usize| {
        let of_track = tracks.track(track);
        let all = of_track.first_slot..of_track.first_slot + u32::from(of_track.slots);
        let places = all.map(Slot).filter(|slot| free.has(*slot)).map(|slot| {
            let at = tracks.at(slot);
            let time = oracle.positioning_time(
                search.now,
                Op::Write,
                &oracle.locate(at),
                tracks.slot_blocks(),
            );
            FreePlace {
                slot,
                at,
                start: search.now + time,
            }
        });
        places.min_by_key(|place| (place.start, place.slot))
    };
    let cylinders = search.low..=search.high.min(tracks.cylinders() - 1);
    let numbers = cylinders.flat_map(|cylinder| {
        let surfaces = 0..tracks.surfaces();
        surfaces.map(move |surface| tracks.number(cylinder, surface))
    });
    let firsts = numbers.filter_map(first_of_track);
    let firsts = firsts.filter(|place| place.start < search.before);
    let in_time = firsts.filter(|place| leaves_time(oracle, search, place.at, free));
    in_time.min_by_key(|place| (place.start, place.slot))
}

/// Whether the access that follows still begins in time after a write at this block.
fn leaves_time(oracle: &dyn Oracle, search: &Search, at: Pba, free: &FreeMap) -> bool {
    let Some(then) = &search.then else {
        return true;
    };
    let len = free.tracks().slot_blocks();
    let begins: Instant = match oracle.arm() {
        Some(arm) => {
            let write = arm.predict(search.now, Op::Write, at, len);
            write.end + arm.positioning_time_after(&write, then.op, &then.place)
        }
        None => {
            let end = search.now + oracle.service_time(search.now, Op::Write, at, len);
            end + oracle.positioning_time(end, then.op, &then.place, len)
        }
    };
    begins <= then.by
}
