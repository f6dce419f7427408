//! That nothing was merged: then a run is one without merging, whatever it is called.

use nearslot_core::contract::{Merging, Placement};
use nearslot_core::registry::Kind;

use crate::outcome::Run;
use crate::warning::{Warning, WarningKind};

/// That merging spared no command, and when it would.
pub(super) fn nothing_merged(run: &Run) -> Option<Warning> {
    let key = <Merging as Kind>::CARD.key;
    let spared = run.measure(key, "spared_commands")?;
    if spared.value() > 0.0 {
        return None;
    }
    let name = run.config[key]["name"].as_str()?;
    let mut text = format!(
        "{key} = {name} merged nothing while the run was measured: no two reads, or writes, that continue each other and together are no longer than max_kib \
         waited for a drive at a time"
    );
    let place = run.config[<dyn Placement as Kind>::CARD.key]["name"].as_str();
    if let Some(why) = place.and_then(never_merged) {
        text += &format!("; {why}");
    }
    Some(Warning::new(WarningKind::NothingMerged, text).of_run(&run.label))
}

/// What of a placement is never merged, or finds nothing to join.
fn never_merged(place: &str) -> Option<String> {
    let told = match place {
        "mirror" | "sr_array" => "what waits at several copies is never merged",
        "eager" | "ew_array" | "distorted_mirror" => {
            "writes whose address is open, and what waits at several copies, are never merged"
        }
        "offering" => "writes that may go to one of many places are never merged",
        "raid5" => "small writes to one stripe go one after the other",
        _ => return None,
    };
    Some(format!("of {place} {told}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Number;

    #[test]
    fn a_run_that_merged_nothing_says_so_and_why() {
        let told = |place: &str, spared: Option<u64>| {
            let counts = spared.map(|count| ("spared_commands".to_owned(), Number::Count(count)));
            let measures = [("merge".to_owned(), counts.into_iter().collect())].into();
            let config =
                serde_json::json!({"merge": {"name": "contiguous"}, "place": {"name": place}});
            let run = Run {
                measures,
                config,
                ..Run::default()
            };
            nothing_merged(&run).map(|warning| warning.text)
        };
        assert_eq!(told("linear", None), None);
        assert_eq!(told("linear", Some(1)), None);
        let linear = told("linear", Some(0)).expect("nothing was merged");
        assert!(
            linear.starts_with("merge = contiguous merged nothing while the run was measured: no two reads, or writes"),
            "{linear}"
        );
        assert!(!linear.contains("copies"), "{linear}");
        let ends = |place: &str, told_of: &str| {
            let told = told(place, Some(0)).expect("nothing was merged");
            assert!(told.ends_with(told_of), "{told}");
        };
        ends("stripe", " waited for a drive at a time");
        ends(
            "mirror",
            "; of mirror what waits at several copies is never merged",
        );
        ends(
            "raid5",
            "; of raid5 small writes to one stripe go one after the other",
        );
    }
}
