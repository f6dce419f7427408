//! Nothing is allocated per request once queues and tables have grown: counted, for every scheduler
//! and every synthetic workload.
//!
//! The same load runs twice as long in a second run; what is allocated in between is what a request
//! costs, and that must be nothing.

#![allow(
    clippy::unwrap_used,
    reason = "what fails in a helper of a test fails the test"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use nearslot_core::cache;
use nearslot_core::config::{DriveConfig, PartConfig, StackConfig};
use nearslot_core::contract::{Cache, Faults, Merging, Placement, Prefetch, Scheduler};
use nearslot_core::drive::catalog_text;
use nearslot_core::rng::Rng;
use nearslot_core::sched;
use nearslot_core::units::Blocks;
use nearslot_lab::measure::{Recorder, Window};
use nearslot_lab::sim::{self, Control};
use nearslot_lab::survey::Survey;
use nearslot_lab::workload::closed::{Closed, Refill};
use nearslot_lab::workload::fit::{Fit, Mode};
use nearslot_lab::workload::intake::{Intake, SharedRecords};
use nearslot_lab::workload::{self, LoadEnv};
use nearslot_trace::{Record, TraceOp};

/// The system's allocator, counting.
struct Counting;

thread_local! {
    /// Of this thread: the test's harness allocates too, as when it tells that a test takes long.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

// SAFETY: every call goes unchanged to the system's allocator, which keeps the contract; counting
// touches no memory that it manages, but the thread's own counter alone.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const DEPTH: u64 = 64;

fn records(count: u64, blocks: u64) -> Arc<[Record]> {
    let mut rng = Rng::stream(1, "allocations");
    let one = |number| {
        let op = if rng.chance(0.6) {
            TraceOp::Read
        } else {
            TraceOp::Write
        };
        Record::new(number as i64, op, rng.below(blocks / 8) * 4096, 4096, 0)
    };
    (0..count).map(one).collect()
}

/// Drive, placement, merging and faults.
type Setup = (&'static str, &'static str, &'static str, &'static str);

/// Allocations while `count` requests are simulated, preparation excluded.
fn allocations(setup: Setup, sched: &str, count: u64) -> u64 {
    // On a few blocks requests often continue each other.
    let span = if setup.2 == "none" { u64::MAX } else { 4_096 };
    allocations_over(setup, sched, (count, span), |config| config)
}

/// The same of requests for the first blocks of the volume, in a stack with something else.
fn allocations_over(
    (drive, place, merge, faults): Setup,
    sched: &str,
    (count, span): (u64, u64),
    with: impl Fn(StackConfig) -> StackConfig,
) -> u64 {
    let part: PartConfig = drive.parse().unwrap();
    let text = catalog_text(&part.name).unwrap().to_owned();
    let below = DriveConfig { part, text };
    let config = StackConfig::over(below, 1)
        .with::<dyn Scheduler>(PartConfig::named(sched))
        .with::<dyn Placement>(place.parse().unwrap())
        .with::<Merging>(PartConfig::named(merge))
        .with::<dyn Faults>(faults.parse().unwrap());
    let mut built = with(config).build().unwrap();
    let records = records(count, built.stack.capacity().0.min(span));
    let mut survey = Survey::new();
    survey.record(&records);
    let fit = Fit::new(
        Mode::None,
        &survey.finish(),
        (built.stack.capacity(), drive),
    )
    .unwrap();
    let mut workload = Closed::new(
        Intake::new(Box::new(SharedRecords::new(records)), fit),
        DEPTH,
        Refill::After,
    );
    let mut recorder = Recorder::new(
        Window {
            requests: count,
            warmup: 0,
        },
        built.drives.len() as u16,
        None,
    );
    let control = Control::default();
    let before = ALLOCATIONS.get();
    sim::run(
        &mut built.stack,
        &mut built.drives,
        &mut workload,
        &mut recorder,
        &control,
    );
    ALLOCATIONS.get() - before
}

/// No scheduler allocates for a request.
fn nothing_for_a_request(setup: Setup) {
    for spec in sched::TABLE {
        let (short, long) = (
            allocations(setup, spec.name, 20_000),
            allocations(setup, spec.name, 40_000),
        );
        assert!(
            long <= short,
            "{setup:?} {}: {short} then {long} allocations",
            spec.name
        );
    }
}

#[test]
fn an_arm_that_moves_allocates_nothing() {
    nothing_for_a_request((
        "seagate-cheetah-9lp:model=mechanical",
        "linear",
        "none",
        "none",
    ));
}

#[test]
fn a_drive_with_a_buffer_allocates_nothing() {
    nothing_for_a_request((
        "seagate-cheetah-9lp:model=complete",
        "linear",
        "none",
        "none",
    ));
}

#[test]
fn eager_writing_allocates_nothing() {
    nothing_for_a_request((
        "seagate-cheetah-9lp:model=mechanical",
        "eager",
        "none",
        "none",
    ));
}

#[test]
fn merging_above_a_drive_that_sorts_allocates_nothing() {
    nothing_for_a_request((
        "seagate-cheetah-9lp:model=mechanical:queue_depth=16",
        "linear",
        "contiguous",
        "none",
    ));
}

#[test]
fn a_synthetic_workload_allocates_nothing() {
    // A host waits for answers: it has a test of its own; so do clients of transactions, each of
    // whose commits is a list of pages. What a range write offers is shared with whoever carries it
    // out, so it is made anew for each. Files get blocks, and wait for answers, too.
    let excused = ["host", "ranges", "tpcb", "filesystem"];
    let asks = |name: &str| !excused.contains(&name);
    for spec in workload::TABLE.iter().filter(|spec| asks(spec.name)) {
        let part: PartConfig = format!("{}:requests=60000", spec.name).parse().unwrap();
        let env = LoadEnv {
            seed: 1,
            label: "workload/0",
            capacity: Blocks(16 << 20),
            drive: None,
            places_max: u64::MAX,
        };
        let (mut made, _) = workload::synthetic(&part, &env).unwrap();
        let before = ALLOCATIONS.get();
        while let Some(due) = made.workload.next_arrival() {
            made.workload.poll(due).unwrap();
        }
        assert_eq!(ALLOCATIONS.get(), before, "{}", spec.name);
    }
}

/// Once queues are as long as they get, a host allocates nothing for a request; who syncs allocates
/// what a file needs.
#[test]
fn a_host_allocates_nothing_for_a_request() {
    let allocations = |seconds: u32| {
        let below = DriveConfig {
            part: PartConfig::named("desktop-7200-90mb"),
            text: catalog_text("desktop-7200-90mb").unwrap().to_owned(),
        };
        let config = StackConfig::over(below, 1)
            .with::<dyn Scheduler>("bfq:nr_requests=64".parse().unwrap());
        let mut built = config.build().unwrap();
        let word = format!(
            "host:beside=5r5w-seq:sync_every_ms=0:file=64MiB:memory=64MiB:seconds={seconds}"
        );
        let env = LoadEnv {
            seed: 1,
            label: "workload/0",
            capacity: built.stack.capacity(),
            drive: None,
            places_max: u64::MAX,
        };
        let (mut made, _) = workload::synthetic(&word.parse().unwrap(), &env).unwrap();
        let before = ALLOCATIONS.get();
        let (stack, drives) = (&mut built.stack, &mut built.drives);
        sim::run(
            stack,
            drives,
            &mut *made.workload,
            &mut (),
            &Control::default(),
        );
        (ALLOCATIONS.get() - before, built.stack.replied())
    };
    let ((short, few), (long, many)) = (allocations(20), allocations(60));
    assert!(many > few + 5_000, "{few} then {many} requests");
    assert!(long < short + 200, "{short} then {long} allocations");
}

/// What goes wrong here leaves nothing behind on the drive that would have to be kept.
#[test]
fn failures_allocate_nothing() {
    nothing_for_a_request((
        "seagate-cheetah-9lp:model=complete:queue_depth=4",
        "linear",
        "none",
        "injected:slow_factor=2:slow_share=0.5:latent_per_tib=1:gone_at_s=300000000",
    ));
}

/// Once all tracks of a region are known, no cache allocates for a request, nor does what is
/// brought beforehand.
#[test]
fn caches_allocate_nothing() {
    let setup = ("null", "linear", "none", "none");
    let caches = cache::TABLE.iter().map(|spec| spec.name);
    for name in caches.filter(|name| !matches!(*name, "none" | "optimal")) {
        for prefetch in [
            "none",
            "sarc:degree=4:trigger=1",
            "fixed",
            "amp:most=6:asynchronous=1:threshold=1",
        ] {
            let with = |config: StackConfig| {
                let cache = format!("{name}:size=500lines:line_kib=8");
                config
                    .with::<dyn Cache>(cache.parse().unwrap())
                    .with::<dyn Prefetch>(prefetch.parse().unwrap())
            };
            let [short, long] = [40_000, 80_000]
                .map(|count| allocations_over(setup, "fcfs", (count, 20_000), with));
            assert!(
                long < short + 20,
                "{name} {prefetch}: {short} then {long} allocations in 40,000 requests more"
            );
        }
    }
}

/// Over copies one command starts while another one that was merged ends. Which chunks have delayed
/// copies changes for long, so tables still grow now and then.
#[test]
fn a_merged_command_over_copies_allocates_nothing() {
    let setup = (
        "seagate-cheetah-9lp:model=mechanical",
        "mirror:disks=2",
        "contiguous",
        "none",
    );
    for sched in ["fcfs", "look", "satf", "mq-deadline"] {
        let (short, long) = (
            allocations(setup, sched, 20_000),
            allocations(setup, sched, 40_000),
        );
        assert!(
            long < short + 20,
            "{sched}: {short} then {long} allocations in 20,000 requests more"
        );
    }
}
