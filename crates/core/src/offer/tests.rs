//! Offers, against the set of all places where a write may begin.

#![expect(
    clippy::single_range_in_vec_init,
    reason = "an offer may have but one range"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::taken::REMEMBERED;
use super::*;
use crate::rng::Rng;

fn list(ranges: &[Range<u64>], align: u64) -> Offer {
    Offer::list(ranges.to_vec(), align).unwrap()
}

/// The same with a bit for each block from `first` on.
fn bits(ranges: &[Range<u64>], first: u64, align: u64) -> Offer {
    let blocks = ranges.last().unwrap().end - first;
    let mut words = vec![0_u64; blocks.div_ceil(64) as usize];
    for block in ranges.iter().flat_map(Clone::clone) {
        words[((block - first) / 64) as usize] |= 1 << ((block - first) % 64);
    }
    Offer::bits(first, blocks, words, align).unwrap()
}

/// All places where a write may begin.
fn starts(offer: &Offer, len: u64) -> Vec<u64> {
    let mut at = 0;
    std::iter::from_fn(|| {
        let found = offer.first(at, u64::MAX, len)?;
        at = found + 1;
        Some(found)
    })
    .collect()
}

#[test]
fn four_kilobytes_at_a_multiple_of_them_in_sixteen_may_begin_at_four_places() {
    let aligned = list(&[64..96], 8);
    assert_eq!(starts(&aligned, 8), [64, 72, 80, 88]);
    // Without an alignment every sector will do from which on there is room.
    assert_eq!(starts(&list(&[64..96], 1), 8).len(), 25);
}

#[test]
fn a_write_ends_in_the_range_that_it_begins_in() {
    let two = list(&[0..10, 10..20], 1);
    assert_eq!(starts(&two, 8), [0, 1, 2, 10, 11, 12]);
    assert_eq!(two.last(u64::MAX, 0, 8), Some(12));
    assert_eq!(two.last(10, 0, 8), Some(2));
}

#[test]
fn alignment_is_counted_from_block_0() {
    assert_eq!(starts(&list(&[3..21], 8), 8), [8]);
    assert_eq!(starts(&bits(&[3..21], 3, 8), 8), [8]);
}

#[test]
fn a_list_and_bits_say_the_same() {
    let mut rng = Rng::stream(1, "offers");
    for _ in 0..300 {
        let first = rng.below(100);
        let (mut ranges, mut at) = (Vec::new(), first);
        for _ in 0..=rng.below(12) {
            let begin = at + 1 + rng.below(90);
            let longest = if rng.below(3) == 0 { 300 } else { 9 };
            at = begin + 1 + rng.below(longest);
            ranges.push(begin..at);
        }
        let (align, len) = (1 + rng.below(9), 1 + rng.below(9));
        let offers = [list(&ranges, align), bits(&ranges, first, align)];
        let fits = |at: &u64| {
            let within = |range: &Range<u64>| range.contains(at) && at + len <= range.end;
            at.is_multiple_of(align) && ranges.iter().any(within)
        };
        let all: Vec<u64> = (0..at).filter(fits).collect();
        for offer in &offers {
            assert_eq!(offer.end(), at);
            assert_eq!(starts(offer, len), all);
            assert_eq!(offer.places(len, u64::MAX), all.len() as u64);
            for _ in 0..40 {
                let (from, until) = (rng.below(at + 70), rng.below(at + 70));
                let within = || all.iter().copied().filter(|at| (from..until).contains(at));
                assert_eq!(offer.first(from, until, len), within().next());
                assert_eq!(offer.last(until, from, len), within().next_back());
            }
        }
    }
}

#[test]
fn what_is_wrong_with_an_offer_is_named() {
    let listed = |ranges: &[Range<u64>], align| Offer::list(ranges.to_vec(), align).unwrap_err();
    assert_eq!(listed(&[], 1), Refused::NoRange);
    let empty = listed(&[0..4, 8..8], 1);
    let text = "range 1 of an offer begins at block 8 and ends at 8; it must end behind its begin";
    assert_eq!(empty.to_string(), text);
    let overlapping = listed(&[0..4, 3..8], 1).to_string();
    assert!(
        overlapping.starts_with(
            "range 1 of an offer begins at block 3, before the range before it ends, at 4"
        ),
        "{overlapping}"
    );
    assert!(matches!(
        listed(&[9..12, 0..4], 1),
        Refused::OutOfOrder { index: 1, .. }
    ));
    assert_eq!(listed(&[Range { start: 0, end: 4 }], 0), Refused::Alignment);
    let million: Vec<_> = (0..1_000_000).map(|n| 2 * n..2 * n + 1).collect();
    let million = listed(&million, 1).to_string();
    assert!(
        million.contains("1000000 ranges; at most 65536"),
        "{million}"
    );
    let of_bits = |blocks, words: &[u64]| Offer::bits(0, blocks, words.to_vec(), 1).unwrap_err();
    assert_eq!(of_bits(70, &[0, 0]), Refused::NoRange);
    // The bit of block 70 says nothing of 70 blocks.
    assert_eq!(of_bits(70, &[0, 1 << 6]), Refused::NoRange);
    assert!(matches!(
        of_bits(70, &[1]),
        Refused::Words { needed: 2, .. }
    ));
    assert!(matches!(
        of_bits(1 << 25, &[1]),
        Refused::TooManyBits { .. }
    ));
    let far = Offer::bits(u64::MAX - 63, 64, vec![1], 1).unwrap_err();
    assert!(matches!(far, Refused::BeyondNumbers { given: 64, .. }));
}

#[test]
fn a_write_that_cannot_be_made_is_refused_and_nothing_is_kept() {
    let offers = Offers::default();
    let check = |offer: &Offer, len, epoch| {
        offers
            .check(offer, len, epoch, (100, u64::MAX))
            .unwrap_err()
    };
    let offer = list(&[10..20], 8);
    assert_eq!(check(&offer, 0, 0), Refused::Nothing);
    let no_room = check(&offer, 5, 0).to_string();
    assert_eq!(
        no_room,
        "no range of an offer has room for 5 blocks that begin at a multiple of 8"
    );
    assert!(matches!(
        check(&offer, 1, 1),
        Refused::Ahead { told: 0, .. }
    ));
    let beyond = check(&list(&[99..101], 1), 1, 0);
    assert!(matches!(beyond, Refused::Beyond { end: 101, .. }));
    let (listed, wide) = (
        |most| offers.check(&list(&[0..90], 1), 1, 0, (100, most)),
        90,
    );
    assert!(listed(wide).is_ok());
    let refused = listed(wide - 1).unwrap_err().to_string();
    assert!(refused.starts_with("an offer of 90 places;"), "{refused}");
    assert!(refused.ends_with("takes 89 at most"), "{refused}");
    assert!(offers.is_empty());
}

#[test]
fn an_old_epoch_is_refused_when_its_completions_are_forgotten() {
    let mut offers = Offers::default();
    let offer = Arc::new(list(&[0..100], 1));
    for turn in 0..=REMEMBERED as u64 {
        let id = offers.make(Arc::clone(&offer), 1, turn);
        offers.land(id, turn % 100);
        assert_eq!(offers.end(id), turn + 1);
    }
    let refused = offers.check(&offer, 1, 0, (100, u64::MAX)).unwrap_err();
    assert_eq!(
        refused,
        Refused::Stale {
            epoch: 0,
            oldest: 1
        }
    );
    assert!(
        offers
            .check(&offer, 1, REMEMBERED as u64 + 1, (100, u64::MAX))
            .is_ok()
    );
    // Of hundred blocks that were taken forty times over, the last marks are left.
    assert!(offers.taken().runs() <= 100);
}

#[test]
fn what_was_taken_since_a_waiting_write_was_made_is_never_forgotten() {
    let mut offers = Offers::default();
    let (two, far) = (Arc::new(list(&[5..7], 1)), Arc::new(list(&[50..60], 1)));
    let [patient, quick] = [(); 2].map(|()| offers.make(Arc::clone(&two), 1, 0));
    offers.land(quick, 5);
    offers.end(quick);
    for turn in 1..=2 * REMEMBERED as u64 {
        let id = offers.make(Arc::clone(&far), 1, turn);
        offers.land(id, 50 + turn % 10);
        offers.end(id);
    }
    assert_eq!(offers.legal(patient).first(0, u64::MAX), Some(6));
    assert_eq!(offers.taken().oldest(), 0);
    // When it has ended its epoch is as good as any other.
    offers.land(patient, 6);
    let told = offers.end(patient);
    assert_eq!(offers.taken().oldest(), told - REMEMBERED as u64);
}

#[test]
fn of_blocks_that_were_taken_once_the_marks_of_the_last_completions_are_left() {
    let mut offers = Offers::default();
    let blocks = 3 * REMEMBERED as u64;
    let all = Arc::new(list(&[0..blocks], 1));
    for turn in 0..blocks {
        let id = offers.make(Arc::clone(&all), 1, turn);
        offers.land(id, turn);
        offers.end(id);
        let oldest = offers.taken().oldest();
        assert_eq!(offers.taken().runs() as u64, turn + 1 - oldest);
    }
    let oldest = offers.taken().oldest();
    let id = offers.make(all, 1, oldest);
    // What the oldest that are remembered have taken is not to be had by one that has not heard of
    // them.
    assert_eq!(offers.legal(id).first(oldest, u64::MAX), None);
    assert_eq!(offers.legal(id).last(u64::MAX, 0), Some(oldest - 1));
}

#[test]
fn the_last_of_whole_words_of_bits_is_offered() {
    let offer = bits(&[10..74, 100..138], 10, 1);
    assert_eq!(offer.end(), 138);
    assert_eq!(offer.last(u64::MAX, 0, 1), Some(137));
    assert_eq!(offer.last(u64::MAX, 0, 38), Some(100));
    assert_eq!(offer.first(101, u64::MAX, 37), Some(101));
    assert_eq!(offer.first(102, u64::MAX, 37), None);
}

/// What was taken, block by block: a literal twin.
#[derive(Default)]
struct Twin {
    marks: BTreeMap<u64, u64>,
}

impl Twin {
    fn starts(&self, offer: &Offer, len: u64, epoch: u64) -> BTreeSet<u64> {
        let is_free = |at: &u64| {
            let mark = |block| self.marks.get(&block).copied().unwrap_or(0);
            (*at..at + len).all(|block| mark(block) <= epoch)
        };
        starts(offer, len).into_iter().filter(is_free).collect()
    }

    /// Where it has landed turns out to be bad: it goes elsewhere, if there is something.
    fn tries_elsewhere(
        &mut self,
        offers: &mut Offers,
        id: OfferId,
        (offer, len, epoch): (&Offer, u64, u64),
    ) -> Option<Range<u64>> {
        let bad = offers.landed(id).expect("it has landed").clone();
        let next = self.starts(offer, len, epoch).last().copied();
        assert_eq!(offers.retry(id), next.is_some());
        let next = next?;
        assert_eq!(offers.failed(id), [bad]);
        offers.land(id, next);
        (next..next + len).for_each(|block| _ = self.marks.insert(block, u64::MAX));
        Some(next..next + len)
    }
}

/// What is left of an offer begins and ends where the twin says, and goes on there behind a block.
fn agree(legal: &Legal<'_>, starts: &BTreeSet<u64>, behind: u64) {
    assert_eq!(legal.first(0, u64::MAX), starts.first().copied());
    assert_eq!(legal.last(u64::MAX, 0), starts.last().copied());
    let next = starts.range(behind..).next().copied();
    assert_eq!(legal.first(behind, u64::MAX), next);
}

/// Writes of random offers begin and end in any order, their hosts hear of that late, and some
/// places turn out to be bad.
#[test]
fn nobody_lands_where_another_one_is_or_was_since_its_epoch() {
    let mut rng = Rng::stream(7, "taken");
    let (mut offers, mut twin) = (Offers::default(), Twin::default());
    let mut waiting: Vec<(OfferId, Arc<Offer>, u64, u64)> = Vec::new();
    let mut landed: Vec<(OfferId, Vec<Range<u64>>)> = Vec::new();
    let mut counts = [0; 3];
    for _ in 0..20_000 {
        let told = offers.taken().completions();
        match rng.below(3) {
            0 if waiting.len() < 12 => {
                let begin = rng.below(200);
                let offer = list(&[begin..begin + 1 + rng.below(40)], 1 + rng.below(4));
                let (len, behind) = (1 + rng.below(5), rng.below(20));
                let epoch = told - behind.min(told).min(told - offers.taken().oldest());
                let starts = twin.starts(&offer, len, epoch);
                let may = offers.check(&offer, len, epoch, (1_000, u64::MAX)).is_ok();
                assert_eq!(may, offer.first(0, u64::MAX, len).is_some());
                assert!(may || starts.is_empty());
                if may {
                    let offer = Arc::new(offer);
                    let id = offers.make(Arc::clone(&offer), len, epoch);
                    waiting.push((id, offer, len, epoch));
                }
            }
            1 if !waiting.is_empty() => {
                let (id, offer, len, epoch) =
                    waiting.swap_remove(rng.below(waiting.len() as u64) as usize);
                let starts = twin.starts(&offer, len, epoch);
                agree(&offers.legal(id), &starts, rng.below(240));
                let chosen = rng.below(starts.len().max(1) as u64) as usize;
                let Some(at) = starts.iter().nth(chosen).copied() else {
                    counts[1] += 1;
                    offers.end(id);
                    continue;
                };
                counts[0] += 1;
                offers.land(id, at);
                (at..at + len).for_each(|block| _ = twin.marks.insert(block, u64::MAX));
                let mut had = vec![at..at + len];
                if rng.below(5) == 0 {
                    let next = twin.tries_elsewhere(&mut offers, id, (&offer, len, epoch));
                    counts[2] += usize::from(next.is_some());
                    had.extend(next);
                }
                landed.push((id, had));
            }
            _ if !landed.is_empty() => {
                let (id, had) = landed.swap_remove(rng.below(landed.len() as u64) as usize);
                let number = offers.end(id);
                had.into_iter()
                    .flatten()
                    .for_each(|block| _ = twin.marks.insert(block, number));
            }
            _ => {}
        }
    }
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

/// Every so many-th block alone may be written from.
#[derive(Debug)]
struct Every(u64, BTreeSet<u64>);

impl Writable for Every {
    fn first(&self, from: u64, until: u64, len: u64) -> Option<u64> {
        let fits = |at: &&u64| len <= self.0 - **at % self.0;
        self.1.range(from..until.max(from)).find(fits).copied()
    }

    fn last(&self, until: u64, from: u64, len: u64) -> Option<u64> {
        let fits = |at: &&u64| len <= self.0 - **at % self.0;
        let mut range = self.1.range(from.min(until)..until).rev();
        range.find(fits).copied()
    }

    fn reach(&self, at: u64) -> u64 {
        at - at % self.0 + self.0
    }
}

/// As with the pointers of zones: a write begins where one may, if that is offered and nobody has
/// taken it.
#[test]
fn a_write_begins_where_writes_may_begin_at_all() {
    let mut rng = Rng::stream(2, "writable");
    for _ in 0..200 {
        let zone = 20 + rng.below(30);
        let starts: BTreeSet<u64> = (0..20).map(|n| n * zone + rng.below(zone)).collect();
        let writable = Every(zone, starts);
        let begin = rng.below(200);
        let ranges = [begin..begin + 100, begin + 130..begin + 500];
        let align = 1 + rng.below(2);
        let offer = Arc::new(match rng.chance(0.5) {
            true => list(&ranges, align),
            false => bits(&ranges, begin.saturating_sub(3), align),
        });
        let mut offers = Offers::default();
        let len = 1 + rng.below(8);
        let other = offers.make(Arc::clone(&offer), 40, 0);
        offers.land(other, offer.first(begin, u64::MAX, 40).unwrap());
        let id = offers.make(Arc::clone(&offer), len, 0);
        let free = starts_of(&offers.legal(id));
        let expected: Vec<u64> = free
            .into_iter()
            .filter(|at| writable.first(*at, u64::MAX, len) == Some(*at))
            .collect();
        let legal = offers.within(Some(&writable)).legal(id);
        assert_eq!(starts_of(&legal), expected);
        for _ in 0..40 {
            let (from, until) = (rng.below(800), rng.below(800));
            let within = || {
                expected
                    .iter()
                    .copied()
                    .filter(|at| (from..until).contains(at))
            };
            assert_eq!(legal.first(from, until), within().next());
            assert_eq!(legal.last(until, from), within().next_back());
        }
    }
}

fn starts_of(legal: &Legal<'_>) -> Vec<u64> {
    let mut from = 0;
    std::iter::from_fn(|| {
        let at = legal.first(from, u64::MAX)?;
        from = at + 1;
        Some(at)
    })
    .collect()
}

/// As after the reset of a zone: whoever waits may have what was there, but not what others write
/// now.
#[test]
fn what_was_freed_is_to_be_had_whenever_an_offer_was_made() {
    let mut offers = Offers::default();
    let all = Arc::new(list(&[0..40], 1));
    let patient = offers.make(Arc::clone(&all), 1, 0);
    let [one, two, under_way] = [(); 3].map(|()| offers.make(Arc::clone(&all), 10, 0));
    offers.land(one, 5);
    offers.end(one);
    offers.land(two, 15);
    offers.end(two);
    offers.land(under_way, 25);
    offers.free(&(8..30));
    let starts: Vec<u64> = (0..5).chain(8..25).chain(35..40).collect();
    assert_eq!(starts_of(&offers.legal(patient)), starts);
    offers.free(&(0..8));
    offers.end(under_way);
    let starts: Vec<u64> = (0..25).chain(35..40).collect();
    assert_eq!(starts_of(&offers.legal(patient)), starts);
}
