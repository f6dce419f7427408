//! The table of current copies: what was stored is found again after a power cut between any two
//! words, and damage is told.

use std::collections::BTreeMap;

use super::Damage;
use super::copies::{Chunk, CopiesTable, Index, Striped, Unsettled, chunks_max};
use crate::rng::Rng;

const FEW: Striped = Striped {
    volume: 5,
    chunks: 4_000,
    copies: 3,
    together: 1,
    columns: 2,
    unit: 16,
};
/// As many chunks as the words have room for.
const MANY: Striped = Striped {
    chunks: 1 << 45,
    ..FEW
};
const BOTH: [Striped; 2] = [FEW, MANY];
/// Bytes before the first entry.
const HEAD: usize = 56;

fn entry(chunk: u64, current: u16, writing: bool) -> Unsettled {
    Unsettled {
        chunk: Chunk(chunk),
        current,
        writing,
    }
}

fn recover(of: &Striped, bytes: &[u8]) -> Result<Vec<Unsettled>, Damage> {
    let (table, found) = CopiesTable::recover(of, bytes.to_vec())?;
    assert_eq!(table.len(), found.len());
    Ok(found.into_iter().map(|(_, entry)| entry).collect())
}

/// What a table should hold, by chunk.
type Model = BTreeMap<u64, (Index, Unsettled)>;

fn expected(model: &Model) -> Vec<Unsettled> {
    model.values().map(|(_, entry)| *entry).collect()
}

/// A chunk, one of so many at the beginning of a volume or as many at its end; or, if 32 bits do
/// not number its chunks, elsewhere with the same lower bits as one at the beginning.
fn some_chunk(of: &Striped, rng: &mut Rng, chunks: u64) -> u64 {
    let number = rng.below(chunks);
    match rng.below(3) {
        0 => number,
        1 => of.chunks - 1 - number,
        _ => number + rng.below(of.chunks.div_ceil(1 << 32)) * (1 << 32),
    }
}

/// Adds, changes or removes an entry.
fn step(table: &mut CopiesTable, model: &mut Model, rng: &mut Rng, (of, chunks): (&Striped, u64)) {
    let chunk = some_chunk(of, rng, chunks);
    let new = entry(chunk, 1 + rng.below(6) as u16, rng.chance(0.5));
    match model.get(&chunk).map(|(index, _)| *index) {
        None => {
            let index = table.add(&new);
            model.insert(chunk, (index, new));
        }
        Some(index) if rng.chance(0.5) => {
            table.set(index, &new);
            model.insert(chunk, (index, new));
        }
        Some(index) => {
            table.remove(index);
            model.remove(&chunk);
        }
    }
}

#[test]
fn what_was_stored_is_found_at_every_word() {
    BOTH.iter().for_each(every_word);
}

fn every_word(of: &Striped) {
    let (mut table, mut model) = (CopiesTable::new(of), Model::new());
    let mut rng = Rng::stream(1, "table");
    let mut image = table.bytes().to_vec();
    let mut most_words = 0;
    for number in 0..5_000 {
        let (before, stored) = (expected(&model), table.journal.len());
        step(&mut table, &mut model, &mut rng, (of, 4_000));
        let words = table.journal[stored..].to_vec();
        most_words = most_words.max(words.len());
        // When it grows, and now and then else: the change is there with its last word, and not
        // before.
        let checked = words.len() > 1 || number % 50 == 0;
        image.resize(table.bytes().len(), 0);
        for (at, word) in words {
            if checked {
                assert_eq!(recover(of, &image).unwrap(), before);
            }
            image[at..at + 8].copy_from_slice(&word);
        }
        if checked {
            assert_eq!(recover(of, &image).unwrap(), expected(&model));
        }
    }
    assert_eq!(image, table.bytes());
    assert!(model.len() > 1_000, "{} entries", model.len());
    assert!(most_words > 500, "it never grew after its beginning");
}

#[test]
fn a_recovered_table_goes_on() {
    BOTH.iter().for_each(goes_on);
}

fn goes_on(of: &Striped) {
    let (mut table, mut model) = (CopiesTable::new(of), Model::new());
    let mut rng = Rng::stream(2, "table");
    for number in 0..2_000 {
        step(&mut table, &mut model, &mut rng, (of, 700));
        if number % 10 == 0 {
            let found;
            (table, found) = CopiesTable::recover(of, table.bytes().to_vec()).unwrap();
            let of_model: Vec<(Index, Unsettled)> = model.values().copied().collect();
            assert_eq!(found, of_model);
        }
    }
}

#[test]
fn entries_are_used_again() {
    let mut table = CopiesTable::new(&FEW);
    let length = table.bytes().len();
    for chunk in 0..3_000 {
        let index = table.add(&entry(chunk, 1, true));
        table.remove(index);
    }
    assert_eq!(table.bytes().len(), length);
    assert!(table.is_empty());
}

/// A table in which three chunks are not settled.
fn three(of: &Striped) -> Vec<u8> {
    let mut table = CopiesTable::new(of);
    table.add(&entry(of.chunks - 1, 0b001, false));
    table.add(&entry(0, 0b111, true));
    table.add(&entry(77, 0b110, false));
    table.bytes().to_vec()
}

#[test]
fn any_one_or_two_wrong_bits_are_told() {
    BOTH.iter().for_each(wrong_bits_are_told);
}

fn wrong_bits_are_told(of: &Striped) {
    let sound = three(of);
    assert_eq!(recover(of, &sound).unwrap().len(), 3);
    for bit in 0..sound.len() * 8 {
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let damage = recover(of, &bytes).unwrap_err();
        let word = if bit / 8 < 48 { 0 } else { bit / 64 * 8 };
        let place = format!("NVRAM, byte {word}: ");
        assert!(damage.to_string().starts_with(&place), "{damage}");
        // The other one in the same word, of those in use and the first that is not.
        for other in (bit / 64 * 64..bit).filter(|_| bit / 8 < HEAD + 32) {
            let mut bytes = bytes.clone();
            bytes[other / 8] ^= 1 << (other % 8);
            assert!(recover(of, &bytes).is_err(), "bits {other} and {bit}");
        }
    }
}

#[test]
fn what_lacks_bytes_is_told() {
    let sound = three(&FEW);
    for length in 0..sound.len() {
        let text = recover(&FEW, &sound[..length]).unwrap_err().to_string();
        let says = format!("NVRAM, byte 0: bytes of NVRAM {length}, allowed is ");
        assert!(text.starts_with(&says), "{text}");
    }
}

#[test]
fn a_newer_format_and_other_volumes_are_refused() {
    let mut newer = three(&FEW);
    newer[8] = 3;
    let says = "NVRAM, byte 0: written by a newer nearslot: version 3, this one knows up to 2";
    assert_eq!(recover(&FEW, &newer).unwrap_err().to_string(), says);
    let refused = |made: &Striped, change: fn(&mut Striped)| {
        let mut of = *made;
        change(&mut of);
        recover(&of, &three(made)).unwrap_err().to_string()
    };
    for made in &BOTH {
        let text = refused(made, |of| of.volume = 6);
        let says = "belongs to volume 0x0000000000000005, this is 0x0000000000000006";
        assert!(text.ends_with(says), "{text}");
        let text = refused(made, |of| of.chunks -= 2);
        let (found, allowed) = (made.chunks, made.chunks - 2);
        let says = format!("made for {found} chunks, the volume has {allowed}");
        assert!(text.ends_with(&says), "{text}");
        let text = refused(made, |of| of.copies = 2);
        assert!(text.ends_with("made for 3 copies, the volume has 2"));
        let text = refused(made, |of| of.unit = 8);
        let says = "made for 16 chunks in a unit, the volume has 8";
        assert!(text.ends_with(says), "{text}");
    }
    let text = refused(&FEW, |of| of.together = 3);
    assert!(
        text.ends_with("made for 2000 slots, the volume has 6000"),
        "{text}"
    );
    let text = refused(&MANY, |of| of.together = 3);
    let says = "made for 1 copies of a chunk on one drive, the volume has 3";
    assert!(text.ends_with(says), "{text}");
}

/// Nothing tells a table of another size but the number of chunks, whose lower bits may be the
/// same.
#[test]
fn a_table_of_a_volume_of_another_size_is_refused() {
    let of = |upper: u64| Striped {
        chunks: FEW.chunks + (upper << 32),
        ..FEW
    };
    for (made, opened) in [(0, 1), (1, 0), (1, 2)] {
        let (made, opened) = (of(made), of(opened));
        let text = recover(&opened, &three(&made)).unwrap_err().to_string();
        let (found, allowed) = (made.chunks, opened.chunks);
        let says = format!("made for {found} chunks, the volume has {allowed}");
        assert!(text.ends_with(&says), "{text}");
    }
}

/// The first bytes of [`three`], as they were written before there were volumes of more chunks than
/// 32 bits number.
const EARLIER: &str = "4e65617253436f70020000005f88545105000000000000000000000000000000\
    a00f0000d00700001000000002000300000200000000dec49f0f000001002685\
    00000000070085364d00000006005e32";

/// What was written before is read, and the other way round.
#[test]
fn a_table_of_few_chunks_is_written_as_ever() {
    let bytes = three(&FEW);
    let hex: String = bytes[..80]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(hex, EARLIER);
    assert_eq!(bytes.len(), HEAD + 512 * 8);
}

/// Chunks at both sides of what 32 bits number, and the last one, with all copies that there may
/// be.
#[test]
fn the_last_chunk_that_there_may_be_is_told_from_its_copies() {
    for copies in 1..=16 {
        let of = Striped {
            chunks: chunks_max(copies),
            copies,
            ..FEW
        };
        let all = u16::MAX >> (16 - copies);
        let chunks = [0, u64::from(u32::MAX), 1 << 32, of.chunks - 1];
        let chunks = chunks.into_iter().filter(|chunk| *chunk < of.chunks);
        let mut entries: Vec<Unsettled> = chunks.map(|chunk| entry(chunk, all, true)).collect();
        entries.dedup();
        let mut table = CopiesTable::new(&of);
        let indices: Vec<Index> = entries.iter().map(|one| table.add(one)).collect();
        assert_eq!(recover(&of, table.bytes()).unwrap(), entries);
        for (index, one) in indices.into_iter().zip(entries) {
            assert_eq!(table.entry(index), Ok(Some(one)));
            table.set(index, &entry(one.chunk.0, 1, true));
            assert_eq!(table.entry(index), Ok(Some(entry(one.chunk.0, 1, true))));
            table.remove(index);
            assert_eq!(table.entry(index), Ok(None));
        }
    }
}

#[test]
#[should_panic(expected = "35184372088833 chunks")]
fn a_table_of_more_chunks_than_its_words_number_is_a_mistake() {
    CopiesTable::new(&Striped {
        chunks: MANY.chunks + 1,
        ..MANY
    });
}

#[test]
fn entries_that_cannot_be_are_refused() {
    let refused = |entries: &[Unsettled]| {
        let mut table = CopiesTable::new(&FEW);
        for entry in entries {
            table.add(entry);
        }
        recover(&FEW, table.bytes()).unwrap_err().to_string()
    };
    let text = refused(&[entry(4_000, 1, false)]);
    assert_eq!(text, "NVRAM, byte 56: chunk 4000, allowed is 0 to 3999");
    let text = refused(&[entry(1, 0b111, false)]);
    let says = "NVRAM, byte 56: current copies (as bits) 7, allowed is 1 to 6";
    assert_eq!(text, says);
    let text = refused(&[entry(1, 0, true)]);
    assert!(text.ends_with("(as bits) 0, allowed is 1 to 7"), "{text}");
    // The bits above the copies are those of a chunk.
    let text = refused(&[entry(1, 0b1000, true)]);
    assert!(
        text.ends_with("chunk 4294967297, allowed is 0 to 3999"),
        "{text}"
    );
    let text = refused(&[entry(1, 1, true), entry(2, 1, true), entry(1, 2, false)]);
    assert!(
        text.ends_with("entries of one chunk 2, allowed is 1"),
        "{text}"
    );
}
