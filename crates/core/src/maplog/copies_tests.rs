//! The table of current copies: what was stored is found again after a power cut between any two words, and damage is told.

use std::collections::BTreeMap;

use super::copies::{CopiesTable, Index, Unsettled};
use super::{Damage, Geometry, Spread};
use crate::rng::Rng;

const GEOMETRY: Geometry = Geometry {
    volume: 5,
    chunks: 4_000,
    copies: 3,
    columns: 2,
    spread: Spread::ByCopy,
    unit: 16,
    slots: 2_000,
};
/// Bytes before the first entry.
const HEAD: usize = 56;

fn entry(chunk: u32, current: u16, writing: bool) -> Unsettled {
    Unsettled {
        chunk,
        current,
        writing,
    }
}

fn recover(bytes: &[u8]) -> Result<Vec<Unsettled>, Damage> {
    let (table, found) = CopiesTable::recover(&GEOMETRY, bytes.to_vec())?;
    assert_eq!(table.len(), found.len());
    Ok(found.into_iter().map(|(_, entry)| entry).collect())
}

/// What a table should hold, by chunk.
type Model = BTreeMap<u32, (Index, Unsettled)>;

fn expected(model: &Model) -> Vec<Unsettled> {
    model.values().map(|(_, entry)| *entry).collect()
}

/// Adds, changes or removes an entry.
fn step(table: &mut CopiesTable, model: &mut Model, rng: &mut Rng, chunks: u64) {
    let chunk = rng.below(chunks) as u32;
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
    let (mut table, mut model) = (CopiesTable::new(&GEOMETRY), Model::new());
    let mut rng = Rng::stream(1, "table");
    let mut image = table.bytes().to_vec();
    let mut most_words = 0;
    for number in 0..5_000 {
        let (before, stored) = (expected(&model), table.journal.len());
        step(&mut table, &mut model, &mut rng, 4_000);
        let words = table.journal[stored..].to_vec();
        most_words = most_words.max(words.len());
        // When it grows, and now and then else: the change is there with its last word, and not before.
        let checked = words.len() > 1 || number % 50 == 0;
        image.resize(table.bytes().len(), 0);
        for (at, word) in words {
            if checked {
                assert_eq!(recover(&image).unwrap(), before);
            }
            image[at..at + 8].copy_from_slice(&word);
        }
        if checked {
            assert_eq!(recover(&image).unwrap(), expected(&model));
        }
    }
    assert_eq!(image, table.bytes());
    assert!(model.len() > 1_000, "{} entries", model.len());
    assert!(most_words > 500, "it never grew after its beginning");
}

#[test]
fn a_recovered_table_goes_on() {
    let (mut table, mut model) = (CopiesTable::new(&GEOMETRY), Model::new());
    let mut rng = Rng::stream(2, "table");
    for number in 0..2_000 {
        step(&mut table, &mut model, &mut rng, 700);
        if number % 10 == 0 {
            let found;
            (table, found) = CopiesTable::recover(&GEOMETRY, table.bytes().to_vec()).unwrap();
            let of_model: Vec<(Index, Unsettled)> = model.values().copied().collect();
            assert_eq!(found, of_model);
        }
    }
}

#[test]
fn entries_are_used_again() {
    let mut table = CopiesTable::new(&GEOMETRY);
    let length = table.bytes().len();
    for chunk in 0..3_000 {
        let index = table.add(&entry(chunk, 1, true));
        table.remove(index);
    }
    assert_eq!(table.bytes().len(), length);
    assert!(table.is_empty());
}

/// A table in which three chunks are not settled.
fn three() -> Vec<u8> {
    let mut table = CopiesTable::new(&GEOMETRY);
    table.add(&entry(3_999, 0b001, false));
    table.add(&entry(0, 0b111, true));
    table.add(&entry(77, 0b110, false));
    table.bytes().to_vec()
}

#[test]
fn any_one_or_two_wrong_bits_are_told() {
    let sound = three();
    assert_eq!(recover(&sound).unwrap().len(), 3);
    for bit in 0..sound.len() * 8 {
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let damage = recover(&bytes).unwrap_err();
        let word = if bit / 8 < 48 { 0 } else { bit / 64 * 8 };
        let place = format!("NVRAM, byte {word}: ");
        assert!(damage.to_string().starts_with(&place), "{damage}");
        // The other one in the same word, of those in use and the first that is not.
        for other in (bit / 64 * 64..bit).filter(|_| bit / 8 < HEAD + 32) {
            let mut bytes = bytes.clone();
            bytes[other / 8] ^= 1 << (other % 8);
            assert!(recover(&bytes).is_err(), "bits {other} and {bit}");
        }
    }
}

#[test]
fn what_lacks_bytes_is_told() {
    let sound = three();
    for length in 0..sound.len() {
        let text = recover(&sound[..length]).unwrap_err().to_string();
        let says = format!("NVRAM, byte 0: bytes of NVRAM {length}, allowed is ");
        assert!(text.starts_with(&says), "{text}");
    }
}

#[test]
fn a_newer_format_and_other_volumes_are_refused() {
    let mut newer = three();
    newer[8] = 3;
    let says = "NVRAM, byte 0: written by a newer nearslot: version 3, this one knows up to 2";
    assert_eq!(recover(&newer).unwrap_err().to_string(), says);
    let refused = |change: fn(&mut Geometry)| {
        let mut geometry = GEOMETRY;
        change(&mut geometry);
        let recovered = CopiesTable::recover(&geometry, three());
        recovered.unwrap_err().to_string()
    };
    let text = refused(|geometry| geometry.volume = 6);
    let says = "belongs to volume 0x0000000000000005, this is 0x0000000000000006";
    assert!(text.ends_with(says), "{text}");
    let text = refused(|geometry| geometry.chunks = 4_001);
    let says = "made for 4000 chunks, the volume has 4001";
    assert!(text.ends_with(says), "{text}");
    let text = refused(|geometry| geometry.copies = 2);
    assert!(text.ends_with("made for 3 copies, the volume has 2"));
    let text = refused(|geometry| geometry.unit = 8);
    let says = "made for 16 chunks in a unit, the volume has 8";
    assert!(text.ends_with(says), "{text}");
}

#[test]
fn entries_that_cannot_be_are_refused() {
    let refused = |entries: &[Unsettled]| {
        let mut table = CopiesTable::new(&GEOMETRY);
        for entry in entries {
            table.add(entry);
        }
        recover(table.bytes()).unwrap_err().to_string()
    };
    let text = refused(&[entry(4_000, 1, false)]);
    assert_eq!(text, "NVRAM, byte 56: chunk 4000, allowed is 0 to 3999");
    let text = refused(&[entry(1, 0b111, false)]);
    let says = "NVRAM, byte 56: current copies (as bits) 7, allowed is 1 to 6";
    assert_eq!(text, says);
    let text = refused(&[entry(1, 0, true)]);
    assert!(text.ends_with("(as bits) 0, allowed is 1 to 7"), "{text}");
    let text = refused(&[entry(1, 0b1000, true)]);
    assert!(text.ends_with("(as bits) 8, allowed is 1 to 7"), "{text}");
    let text = refused(&[entry(1, 1, true), entry(2, 1, true), entry(1, 2, false)]);
    assert!(
        text.ends_with("entries of one chunk 2, allowed is 1"),
        "{text}"
    );
}
