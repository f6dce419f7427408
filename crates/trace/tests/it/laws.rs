//! What must hold for every decoder, whatever the bytes: shared by the random test and the fuzz
//! target.
//!
//! It never uses more than it was given, never stands still when all bytes are there, holds no more
//! requests than bytes, and finds the same however the bytes are cut. Breaking one is a panic.

use nearslot_trace::{Anomaly, Decoder, Format, Options, Reads, Record, Sink};

/// What a decoder made of some bytes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Decoded {
    records: Vec<Record>,
    devices: Vec<String>,
    clients: Vec<String>,
    anomalies: Vec<(Anomaly, u64)>,
    error: Option<String>,
}

/// Decodes the bytes whole and cut, and compares. `cuts` gives the sizes of pieces, again and
/// again.
pub(crate) fn check(format: &Format, options: &Options, bytes: &[u8], cuts: &[usize]) {
    let Reads::Stream(make) = format.reads else {
        return;
    };
    let Ok(decoder) = make(options) else {
        return;
    };
    let whole = decode(format.name, decoder, bytes, &[usize::MAX]);
    let again = make(options).expect("what was made once is made again");
    let cut = decode(format.name, again, bytes, cuts);
    assert!(
        whole == cut,
        "{}: cut at {cuts:?} it differs:\n{whole:?}\n{cut:?}",
        format.name
    );
}

fn decode(name: &str, mut decoder: Box<dyn Decoder>, bytes: &[u8], cuts: &[usize]) -> Decoded {
    let mut sink = Sink::default();
    let mut cuts = cuts.iter().copied().cycle();
    let (mut at, mut end) = (0_usize, 0_usize);
    let error = loop {
        let piece = cuts.next().unwrap_or(usize::MAX).max(1);
        end = bytes.len().min(end.max(at).saturating_add(piece));
        let last = end == bytes.len();
        if last && at == end {
            break decoder.finish(&mut sink).err();
        }
        let before = sink.records.len();
        let used = match decoder.decode(&bytes[at..end], last, &mut sink) {
            Ok(used) => used,
            Err(refusal) => break Some(refusal),
        };
        assert!(used <= end - at, "{name} used {used} of {} bytes", end - at);
        let stuck = used == 0 && sink.records.len() == before;
        assert!(
            !(stuck && last),
            "{name} stands still before {} last bytes",
            end - at
        );
        at += used;
    };
    let records = std::mem::take(&mut sink.records);
    assert!(
        records.len() <= bytes.len(),
        "{name} made {} requests of {} bytes",
        records.len(),
        bytes.len()
    );
    // What a decoder has found before it refuses depends on how the bytes came.
    match error {
        Some(error) => Decoded {
            error: Some(error.to_string()),
            ..Decoded::default()
        },
        None => Decoded {
            records,
            devices: sink.devices.all().to_vec(),
            clients: sink.clients.all().to_vec(),
            anomalies: sink.anomalies.iter().collect(),
            error: None,
        },
    }
}
