//! The allocator of [`runs`](super::runs) against a literal twin, and what it joins; the tables
//! against what a drive is.

use std::ops::Range;
use std::sync::Arc;

use nearslot_core::contract::Blueprint;
use nearslot_core::drive;
use nearslot_core::rng::Rng;

use super::files::Key;
use super::flush::{Ended, Goes, Going};
use super::shape::{BYTES, Shape};
use super::skips::{Skips, Table};
use super::{FileSystem, Offering, ROOT, Settings};

/// Tables with costs that are drawn.
pub(super) fn drawn(rng: &mut Rng, blocks: u64) -> Skips {
    let skips = 1 + rng.below(60);
    let mut table = || {
        let mut costs = || {
            (0..skips)
                .map(|_| 1 + rng.below(1_000))
                .collect::<Vec<u64>>()
        };
        let cost = (0..5).map(|_| costs()).collect();
        Table::of(cost, rng.below(50))
    };
    let parts = (0..3).map(|_| [table(), table()]).collect();
    Skips::of(parts, blocks.div_ceil(3))
}

fn file_system(shape: Shape, skips: Skips, fill: f64, rng: &mut Rng) -> FileSystem {
    let settings = Settings {
        offering: Offering::Runs(Arc::new(skips)),
        ordered: false,
        request_blocks: 1 + rng.below(12),
        cache_blocks: 4_000,
        log: None,
    };
    FileSystem::new(shape, settings, fill, rng)
}

/// The place ahead that costs least a block: every block is tried, with every length that is free
/// from there on.
fn literal(
    files: &FileSystem,
    skips: &Skips,
    closed: &[Range<u64>],
    from: (u64, u64),
    most: u64,
) -> Option<Range<u64>> {
    let shape = files.groups.shape();
    let (end, last) = from;
    let group_end = shape.begin(shape.group_of(end) + 1);
    let is_open = |block: u64| {
        block < group_end
            && files.groups.is_free(block)
            && !closed.iter().any(|window| window.contains(&block))
    };
    let mut best: Option<(f64, Range<u64>)> = None;
    for at in (end..group_end).filter(|at| is_open(*at)) {
        let len = (1..=most).take_while(|len| is_open(at + len - 1)).count() as u64;
        let Some(cost) = skips.cost(end, last, at - end, len) else {
            break;
        };
        let of_block = cost as f64 / len as f64;
        if best.as_ref().is_none_or(|(least, _)| of_block < *least) {
            best = Some((of_block, at..at + len));
        }
    }
    best.map(|(_, run)| run)
}

#[test]
fn it_goes_on_where_every_place_tried_one_by_one_is_best() {
    let (mut went_on, mut longer) = (0, 0);
    for seed in 0..60 {
        let rng = &mut Rng::stream(seed, "runs");
        let shape = Shape::new(1_024, 2_048).unwrap();
        let skips = drawn(rng, 2_048);
        let fill = [0.0, 0.5, 0.8][seed as usize % 3];
        let mut files = file_system(shape, skips.clone(), fill, rng);
        let most = files.settings.request_blocks;
        let file = files.make(0, ROOT, false).unwrap();
        files.write(file, 0, 150 * BYTES).unwrap();
        let first = files.next_write().expect("it has to be written");
        let Goes::Into(windows) = &first.goes else {
            panic!("it needs a place")
        };
        assert!(windows.opens);
        assert_eq!(
            files.next_write().map(|going| going.goes),
            None,
            "it waits until that has landed"
        );
        let at = windows.runs[rng.below(windows.runs.len() as u64) as usize].start;
        let mut from = (at + first.blocks(), first.blocks());
        files.ended(first, Ended::At(at));
        let mut closed: Vec<Range<u64>> = Vec::new();
        while let Some(going) = files.next_write() {
            let Goes::Into(windows) = &going.goes else {
                break;
            };
            if windows.opens {
                break;
            }
            let place = windows.runs[0].clone();
            let expected = literal(
                &files,
                &skips,
                &closed,
                from,
                most.min(going_most(&files, &going)),
            );
            if let Some(expected) = expected {
                assert_eq!(place, expected, "seed {seed}");
                went_on += 1;
                longer += usize::from(place.end - place.start > 1);
            }
            from = (place.end, place.end - place.start);
            closed.push(place);
        }
        files.groups.check();
    }
    assert!(went_on > 500 && longer > 100, "{went_on} {longer}");
}

/// How many new blocks there were to choose from when a write was made.
fn going_most(files: &FileSystem, going: &Going) -> u64 {
    let mut left = going.blocks();
    let mut from = 0;
    while let Some((since, key)) = files.pages.dirty_from(from) {
        from = since + 1;
        let of = key.file().map(|file| &files.files[file as usize]);
        left +=
            u64::from(of.is_some_and(|of| of.at(key).is_none()) && matches!(key, Key::Data(..)));
    }
    left
}

#[test]
fn blocks_of_many_files_go_together_and_so_do_inodes_side_by_side() {
    let shape = Shape::new(32_768, 32_768).unwrap();
    let rng = &mut Rng::stream(1, "runs");
    let mut files = file_system(shape, drawn(rng, 32_768), 0.0, rng);
    files.settings.request_blocks = 320;
    for _ in 0..150 {
        let file = files.make(0, ROOT, false).unwrap();
        files.write(file, 0, BYTES).unwrap();
    }
    let data = files.next_write().unwrap();
    // The block of the directory that is overwritten has its place, and waits for its round.
    assert_eq!((data.blocks(), data.blocks[0].0), (150, Key::Data(1, 0)));
    assert!(files.next_write().is_none(), "new blocks are under way");
    files.ended(data, Ended::At(1_000));
    let directory = files.next_write().unwrap();
    assert_eq!(
        (directory.blocks(), directory.blocks[0].0),
        (1, Key::Data(0, 0))
    );
    let inodes = files.next_write().unwrap();
    let keys: Vec<Key> = inodes.blocks.iter().map(|(key, _)| *key).collect();
    let of_inodes = (0..3).map(Key::Inodes);
    let all: Vec<Key> = std::iter::once(Key::BitsOfInodes(0))
        .chain(of_inodes)
        .collect();
    assert_eq!((keys, inodes.goes), (all, Goes::To(3)));
}

fn blueprint(knobs: &str) -> Box<dyn Blueprint> {
    let name = "hp-c2247a";
    let part: nearslot_core::config::PartConfig = format!("{name}:{knobs}").parse().unwrap();
    let text = drive::catalog_text(name).unwrap();
    drive::read(name, text, &part.knobs).unwrap().0
}

/// A track of `hp-c2247a` has 12 blocks and a turn takes 11.1 ms. With 0.64 ms before the arm moves
/// the next block has gone by and comes back in a turn, the second next is reached.
#[test]
fn a_place_that_is_too_near_costs_a_turn() {
    let turn = 60e9 / 5_400.0;
    let blueprint = blueprint("model=mechanical:layout=ideal:overhead_ms=0.64");
    let skips = Skips::measure(&*blueprint, 2_000, &|| true).unwrap();
    let cost = |skip| skips.cost(0, 1, skip, 1).unwrap() as f64 / 2.0;
    let (next, second) = (cost(0), cost(1));
    assert!((0.9 * turn..1.2 * turn).contains(&next), "{next}");
    // A block more, and what it waits for the block between.
    assert!(
        (2.0 * turn / 12.0..0.4 * turn).contains(&second),
        "{second}"
    );
    assert!(cost(2) > second && cost(3) > cost(2));
    // Beyond the table nothing is known.
    assert_eq!(skips.cost(0, 1, 10_000, 1), None);
}

/// A file system whose writes have up to eight blocks, and who makes them land.
fn in_eights() -> FileSystem {
    let shape = Shape::new(4_096, 4_096).unwrap();
    let rng = &mut Rng::stream(1, "runs");
    let mut files = file_system(shape, drawn(rng, 4_096), 0.0, rng);
    files.settings.request_blocks = 8;
    files
}

/// Where a write may land that was sent.
fn places(going: &Going) -> Vec<Range<u64>> {
    match &going.goes {
        Goes::To(at) => std::iter::once(*at..at + going.blocks()).collect(),
        Goes::Into(windows) => windows.runs.clone(),
        Goes::Within(runs, ..) => runs.clone(),
        Goes::Log(_) | Goes::Checkpoint(_) => panic!("it is no log"),
    }
}

/// Writes go one after another until none may.
fn write_all(files: &mut FileSystem) {
    while let Some(going) = files.next_write() {
        let at = places(&going)[0].start;
        files.ended(going, Ended::At(at));
    }
}

#[test]
fn a_short_write_waits_for_company_while_another_is_under_way() {
    let mut files = in_eights();
    let file = files.make(0, ROOT, false).unwrap();
    files.write(file, 0, 11 * BYTES).unwrap();
    let opens = files.next_write().expect("nothing is under way");
    let at = places(&opens)[0].start;
    assert_eq!((opens.blocks(), files.next_write().is_none()), (8, true));
    // While full ones follow each other, the rest is not sent as short as it is.
    files.write(file, 11 * BYTES, 8 * BYTES).unwrap();
    files.ended(opens, Ended::At(at));
    let mut sent = Vec::new();
    while let Some(going) = files.next_write() {
        assert_eq!(going.blocks(), 8, "a short write did not wait");
        sent.push(going);
    }
    assert_eq!(sent.len(), 1);
    for going in sent {
        let at = places(&going)[0].start;
        files.ended(going, Ended::At(at));
    }
    // Nothing is under way any more, so it goes.
    let rest = files.next_write().expect("it waited long enough");
    assert_eq!(rest.blocks(), 3);
}

/// The pointers of an indirect block count from when an inode leads to where that block itself
/// lies, wherever in a write it was.
#[test]
fn an_indirect_block_within_a_write_lies_behind_those_before_it() {
    let mut files = in_eights();
    files.settings.request_blocks = 32;
    let [first, file] = [0, 1].map(|_| {
        let file = files.make(0, ROOT, false).unwrap();
        files.write(file, 0, 13 * BYTES).unwrap();
        file
    });
    let data = files.next_write().unwrap();
    assert_eq!(data.blocks(), 26);
    let at = places(&data)[0].start;
    files.ended(data, Ended::At(at));
    // The pointers of both files go together, and one of them is removed meanwhile: its block is
    // not there.
    let both = files.next_write().unwrap();
    let keys: Vec<Key> = both.blocks.iter().map(|(key, _)| *key).collect();
    assert_eq!(keys, [first, file].map(|file| Key::Indirect(file, 0)));
    files.remove(first);
    let begin = places(&both)[0].start;
    files.ended(both, Ended::At(begin));
    assert_eq!(files.files[file as usize].indirect, [Some(begin + 1)]);
    let last = files.files[file as usize].blocks[12].unwrap();
    assert!(
        files.order.is_bare(last),
        "no inode leads to {last} on the medium, and a bitmap may show it"
    );
    write_all(&mut files);
    assert!(files.is_clean() && !files.order.is_bare(last));
}

/// What was removed is free when its inodes are on the medium without it, also where blocks of
/// inodes go together.
#[test]
fn blocks_of_all_inodes_of_a_write_are_free_behind_it() {
    let mut files = in_eights();
    let before = files.groups.free();
    let made: Vec<u32> = (0..100)
        .map(|_| {
            let file = files.make(0, ROOT, false).unwrap();
            files.write(file, 0, BYTES).unwrap();
            file
        })
        .collect();
    write_all(&mut files);
    assert_eq!(files.groups.free(), before - 100);
    made.into_iter().for_each(|file| files.remove(file));
    let mut most = 0;
    while let Some(going) = files.next_write() {
        let inodes = |(key, _): &&(Key, u64)| matches!(key, Key::Inodes(_));
        most = most.max(going.blocks.iter().filter(inodes).count());
        let at = places(&going)[0].start;
        files.ended(going, Ended::At(at));
    }
    assert_eq!((most, files.groups.free()), (2, before));
}
