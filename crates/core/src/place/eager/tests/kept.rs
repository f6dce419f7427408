//! What is left of writes when the map on the drives is lost, and when the power goes.

use super::*;

/// Both copies of a chunk are there, the first in memory alone, and a newer version waits as well,
/// when the map is lost. That was refused, and nothing needs it: what the map has of the chunk
/// comes first, whatever tags the changes have. Tags that are free are given again.
#[test]
fn what_the_map_has_comes_before_what_is_newer_when_the_map_is_lost() {
    let mut copies = buffered(true);
    let mut out = Plan::default();
    copies.forget(2, &mut out);
    let source = copies.copies.pop(DriveId(0));
    out.clear();
    copies.propagate(FIRST, source, &mut out);
    let older = *out.ios().next().expect("it is written");
    ends(&mut copies, &older, Status::Done, &mut Plan::default());
    let before = copies.take_change(Tag(0));
    assert!(matches!(before, Change::Discards(2)));
    copies.changes.give_back(Tag(0));
    lose(&mut copies, 1);
    let key = copies.writes.insert(ChunkWrite {
        chunk: 0,
        left: 1,
        tried: 0b01,
        done: 0,
        landed: 0,
    });
    let newer = copies.write_copy(FIRST, Reason::Foreground(key));
    write_ends(&mut copies, &newer, Status::Done);
    let tags: Vec<Tag> = copies.changes.iter().map(|(tag, _)| tag).collect();
    assert_eq!(tags, [Tag(0), Tag(1)], "the newer version is the first");
    map_write_ends(&mut copies, 0, FAILED, &mut Plan::default());
    assert_eq!(Some(copies.slot(FIRST)), copies.home(FIRST));
    let current: Vec<CopyOf> = copies.current(0).map(|(of, ..)| of).collect();
    assert_eq!(current, [FIRST, SECOND]);
    copies.audit_slots();
}

/// Data and map are on the medium when they are said to be, where a power cut takes what is in
/// caches. Reads ask for nothing of the kind.
#[test]
fn data_and_map_are_forced_where_caches_lose_what_they_have() {
    for forces in [false, true] {
        let write = MapWrite {
            drive: DriveId(0),
            target: Target::At(Pba(0)),
            len: Blocks(1),
        };
        let store = Box::new(Slow {
            writes: vec![write],
            ..Slow::default()
        });
        let map = found([5, 1, 6, 9, 7, 8, 4, 3]).expect("it is one");
        let copies = EagerCopies::new(PAIR, Blocks(1), map, (1, 10), Some(store));
        let mut copies = copies.expect("it is one");
        copies.forces = forces;
        let mut plan = Plan::default();
        copies.write(Instant::ZERO, 0, None, &Busy, &mut plan);
        copies.write_map(Instant::ZERO, &Busy, &mut plan);
        let of_map = |io: &PlannedIo| {
            let underway = &copies.underway[io.tag.0 as usize];
            matches!(underway.purpose, Purpose::Map)
        };
        let told: Vec<(bool, bool)> = plan.ios().map(|io| (of_map(io), io.fua)).collect();
        assert_eq!(told, [(false, forces), (true, forces)]);
        let (drive, slot) = (copies.drive(FIRST), copies.slot(FIRST));
        let read = copies.read_copy(FIRST, drive, slot, Blocks(0), Blocks(1));
        assert!(!read.fua);
    }
}
