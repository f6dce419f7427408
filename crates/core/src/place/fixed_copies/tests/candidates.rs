//! Copies of which any will do after a power cut, while one of them is copied.

use super::*;

/// Of two candidates the first is read for a third copy, and that is being written when a client
/// cannot read another block of the first: so the second one is taken, and the third does not have
/// what that has.
#[test]
fn what_is_written_from_a_candidate_is_stale_when_another_one_is_taken() {
    let mut copies = undecided(3);
    let mut out = Plan::default();
    copies.delay(Chunk(0), 0b100, &mut out);
    copies.spend_spare_time(DriveId(2), &mut out);
    let ios: Vec<PlannedIo> = out.ios().copied().collect();
    let [again, write] = ios[..] else {
        panic!("a copy is read and one is written: {ios:?}");
    };
    assert_eq!((again.drive, write.drive), (DriveId(0), DriveId(2)));
    let read = underway(0, 1, 0, Part::Read(Reading::default()));
    copies.read_failed(&read, &end(Op::Read, 0, 1, FAILED), &mut out);
    copies.audit();
    assert_eq!(copies.state(Chunk(0)).current, 0b010);
    for io in [again, write] {
        let done = end(io.op, 0, 1, Status::Done);
        copies.ended(io.tag, &done, &mut Plan::default());
    }
    assert_eq!(
        copies.state(Chunk(0)).current,
        0b010,
        "the third is another one"
    );
    let mut out = Plan::default();
    copies.spend_spare_time(DriveId(2), &mut out);
    assert_eq!(reads(&out), [(DriveId(1), Pba(0), CHUNK)]);
    copies.audit();
}
