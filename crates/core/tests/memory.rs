//! What a volume whose writes are eager takes of memory: four bytes for each copy of a block (A9 of
//! the published claims), measured as all that stays allocated when it is built.

#![allow(
    clippy::unwrap_used,
    reason = "what fails in a helper of a test fails the test"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use nearslot_core::config::{DriveConfig, PartConfig, StackConfig};
use nearslot_core::contract::{Placement, Scheduler};

/// The system's allocator, which knows how much is out.
struct Counting;

static OUT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes unchanged to the system's allocator, which keeps the contract; counting
// touches no memory that it manages.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        OUT.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        OUT.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// 200,000 slots of 4 KiB.
const DISK: &str = "
    kind = 'hdd'
    rpm = 10000
    heads = 8
    cylinders = 1000
    head_switch_ms = 0.8
    write_settle_ms = 0.4
    seek_ms = [[1, 1.0], [300, 4.0], [999, 9.0]]
    [[zones]]
    cylinders = [0, 999]
    sectors_per_track = 200
    track_skew_sectors = 20
    cylinder_skew_sectors = 30
";

/// Bytes that stay allocated with a stack over so many copies, and the blocks of 4 KiB of its
/// volume.
fn taken(copies: u8) -> (usize, u64) {
    let drive = DriveConfig {
        part: PartConfig::named("of the test"),
        text: DISK.to_owned(),
    };
    let config = StackConfig::over(drive, 1)
        .with::<dyn Scheduler>(PartConfig::named("satf_ew"))
        .with::<dyn Placement>(format!("ew_array:dm={copies}:ds=1:dd=2").parse().unwrap());
    let before = OUT.load(Ordering::Relaxed);
    let built = config.build().unwrap();
    let taken = OUT.load(Ordering::Relaxed) - before;
    (taken, built.stack.capacity().0 / 8)
}

/// One test, so that no other thread allocates meanwhile. Each further copy adds its part of the
/// map; which slots are free takes a fifth as much again where there are two slots for a block.
#[test]
fn a_copy_of_a_block_takes_four_bytes() {
    let (two, blocks) = taken(2);
    let (three, as_many) = taken(3);
    assert_eq!(blocks, as_many, "a copy more takes a drive more");
    let each = (three - two) as f64 / blocks as f64;
    assert!((4.0..5.0).contains(&each), "{each} bytes");
}
