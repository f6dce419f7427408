//! What is said of a run's faults: that they came too late, could not happen, or happened and were
//! told by no drive.
//!
//! A fault without effect leaves the numbers of another choice, and a reader takes them for those
//! of a placement that copes with it. Which commands a drive gets hangs on the load, on what the
//! placement does by itself, and on when a drive goes, so it is known at the end. Each setting is
//! told by its name, whatever else went wrong.

use nearslot_core::contract::Faults;
use nearslot_core::ids::DriveId;
use nearslot_core::registry::Kind;
use nearslot_core::units::Instant;

use super::Onset;
use super::at_end::{AtEnd, Unmet};
use crate::number::{counted, list, seconds};
use crate::outcome::Run;
use crate::warning::{Warning, WarningKind};

/// All that is said of them; `early` if the run ended before some of them begin.
pub(super) fn of_faults(run: &Run, early: Option<Onset>, at_end: &AtEnd) -> Vec<Warning> {
    let mut told = Vec::from_iter(wrong_reads(run));
    // Bad blocks that writes mended, read before or not.
    let idle = idle(at_end, counted_by_faults(run, "mended_blocks"));
    if early.is_none() && met_faults(run) == Some(false) {
        let why = match idle.is_empty() {
            true => "they are too rare for this load, or come after its end".to_owned(),
            false => idle.join("; "),
        };
        let text =
            format!("nothing went wrong on the drives, although faults were to be injected: {why}");
        told.push(Warning::new(WarningKind::NoFaults, text));
    } else {
        let each = |text| Warning::new(WarningKind::FaultsWithoutEffect, text);
        told.extend(idle.into_iter().map(each));
    }
    told.extend(early.map(before_faults));
    let of_run = |warning: Warning| warning.of_run(&run.label);
    told.into_iter().map(of_run).collect()
}

/// What was to go wrong and could not: of a drive that was gone nothing was asked, or there was no
/// command that a setting is about.
fn idle(at_end: &AtEnd, mended: u64) -> Vec<String> {
    let unnoticed = at_end.gone.iter().filter(|(_, _, noticed)| !noticed);
    let unnoticed = unnoticed.map(|(drive, from, _)| {
        format!(
            "{}, but nothing was asked of it since: a drive that is gone is noticed with the next command, and until then nothing stands in for it",
            gone_from(*drive, *from)
        )
    });
    let unmet = at_end.unmet.iter();
    let unmet = unmet.map(|unmet| without_commands(unmet, mended));
    unnoticed.chain(unmet).collect()
}

/// That a setting had no effect; so many bad blocks were mended.
fn without_commands(Unmet { exposed, drives }: &Unmet, mended: u64) -> String {
    let drives: Vec<String> = drives
        .iter()
        .map(|drive| format!("drive {}", drive.0))
        .collect();
    let who = match drives.is_empty() {
        true => "the drives".to_owned(),
        false => list(&drives),
    };
    let when = match exposed.from.0 {
        0 => String::new(),
        from => format!(" from {} on", seconds(from as f64 / 1e9)),
    };
    let (setting, of) = (exposed.setting, exposed.of);
    match (setting, mended) {
        ("latent_per_tib", 1..) => format!(
            "{setting} had no effect but that writes mended {}: {who} carried out no {of}{when}",
            counted(mended, "bad block")
        ),
        _ => format!("{setting} had no effect: {who} carried out no {of}{when}"),
    }
}

/// That a run ended before its faults begin.
fn before_faults(onset: Onset) -> Warning {
    let text = format!(
        "the run ended after {}, before faults begin that come after {}: what it says is said without them; more requests or an \
         earlier instant would tell",
        seconds(onset.ended_s),
        seconds(onset.begin_s)
    );
    Warning::new(WarningKind::BeforeFaults, text)
}

/// That commands which were not answered in time lasted longer than their host was to wait.
pub(super) fn late_time_outs(run: &Run) -> Option<Warning> {
    let late = counted_by_faults(run, "late_time_outs");
    (late > 0).then(|| {
        let text = format!(
            "{} that {} not answered in time kept the drive busy for longer than timeout_ms and failed at {} end: a drive is not free \
             before it has ended a command",
            counted(late, "command"),
            if late == 1 { "was" } else { "were" },
            if late == 1 { "its" } else { "their" }
        );
        Warning::new(WarningKind::LateTimeOuts, text).of_run(&run.label)
    })
}

/// How many wrong blocks its reads got.
pub(crate) fn wrong_blocks(run: &Run) -> u64 {
    counted_by_faults(run, "wrong_blocks_served")
}

/// What faults have counted of a run; nothing where none were injected.
fn counted_by_faults(run: &Run, name: &str) -> u64 {
    let count = run.measure(<dyn Faults as Kind>::CARD.key, name);
    count.map_or(0, |count| count.value() as u64)
}

/// Whether anything went wrong on the drives of a run; `None` where nothing was to.
pub(in crate::run) fn met_faults(run: &Run) -> Option<bool> {
    let counts = run.measures.get(<dyn Faults as Kind>::CARD.key)?;
    Some(counts.values().any(|number| number.value() > 0.0))
}

/// Since when a drive was gone.
pub(super) fn gone_from(drive: DriveId, from: Instant) -> String {
    match from.0 {
        0 => format!("drive {} was gone from the begin on", drive.0),
        from => format!(
            "drive {} was gone from {} on",
            drive.0,
            seconds(from as f64 / 1e9)
        ),
    }
}

/// What no drive has told.
fn wrong_reads(run: &Run) -> Option<Warning> {
    let wrong = counted_by_faults(run, "wrong_reads");
    (wrong > 0).then(|| {
        let (brought, served) = (
            counted_by_faults(run, "wrong_blocks_read"),
            wrong_blocks(run),
        );
        let passed_on = counted_by_faults(run, "wrong_blocks_passed_on");
        let verb = |count| if count == 1 { "was" } else { "were" };
        // Memory serves what it has again and again, and not all that was brought beforehand.
        let mut further = match served == brought && passed_on == 0 {
            true => String::new(),
            false => format!("; {} {} served", counted(served, "wrong block"), verb(served)),
        };
        if passed_on > 0 {
            further += &format!(
                "; {} {} read in order to be written elsewhere, as into a parity, which counts as right from then on",
                counted(passed_on, "wrong block"),
                verb(passed_on)
            );
        }
        let text = format!(
            "{} of drives brought {} and {} reported done, so no request was told{further}",
            counted(wrong, "read"),
            counted(brought, "wrong block"),
            if wrong == 1 { "was" } else { "were" }
        );
        Warning::new(WarningKind::WrongReads, text)
    })
}

#[cfg(test)]
mod tests {
    use nearslot_core::fault::Exposed;

    use super::*;
    use crate::outcome::Number;

    #[test]
    fn what_is_read_for_a_parity_is_told_apart_from_what_is_served() {
        let told = |[brought, served, passed_on]: [u64; 3]| {
            let counts = [
                ("wrong_reads", brought),
                ("wrong_blocks_read", brought),
                ("wrong_blocks_served", served),
                ("wrong_blocks_passed_on", passed_on),
            ];
            let counts = counts.map(|(name, count)| (name.to_owned(), Number::Count(count)));
            let measures = [("faults".to_owned(), counts.into())].into();
            let run = Run {
                measures,
                ..Run::default()
            };
            wrong_reads(&run)
                .map(|warning| warning.text)
                .unwrap_or_default()
        };
        assert!(told([5, 5, 0]).ends_with("so no request was told"));
        let parity =
            "; 0 wrong blocks were served; 1 wrong block was read in order to be written elsewhere";
        assert!(told([1, 0, 1]).contains(parity), "{}", told([1, 0, 1]));
        assert!(told([5, 8, 0]).ends_with("; 8 wrong blocks were served"));
    }

    #[test]
    fn one_fault_of_many_kinds_is_one() {
        let key = <dyn Faults as Kind>::CARD.key.to_owned();
        let met = |counts: [u64; 2]| {
            let counts = ["lost_writes", "wrong_reads"]
                .map(str::to_owned)
                .into_iter()
                .zip(counts);
            let counts = counts.map(|(name, count)| (name, Number::Count(count)));
            let measures = [(key.clone(), counts.collect())].into();
            met_faults(&Run {
                measures,
                ..Run::default()
            })
        };
        assert_eq!(met([0, 1]), Some(true));
        assert_eq!(met([0, 0]), Some(false));
        assert_eq!(met_faults(&Run::default()), None);
    }

    /// A bad block that is written before anything reads it is mended: that is an effect, though no
    /// request is told.
    #[test]
    fn bad_blocks_that_writes_mended_are_told_where_nothing_was_read() {
        let told = |setting, mended| {
            let exposed = Exposed {
                setting,
                of: "reads",
                met: false,
                from: Instant::ZERO,
            };
            let drives = Vec::new();
            without_commands(&Unmet { exposed, drives }, mended)
        };
        let none = "had no effect: the drives carried out no reads";
        assert_eq!(told("latent_per_tib", 0), format!("latent_per_tib {none}"));
        assert_eq!(told("rot_per_tib", 3), format!("rot_per_tib {none}"));
        assert_eq!(
            told("latent_per_tib", 1),
            "latent_per_tib had no effect but that writes mended 1 bad block: the drives carried out no reads"
        );
    }

    #[test]
    fn one_command_that_lasted_too_long_is_told_as_one() {
        let told = |late: u64| {
            let mut run = Run::default();
            let counts = [("late_time_outs".to_owned(), Number::Count(late))];
            run.measures.insert("faults".to_owned(), counts.into());
            late_time_outs(&run).map(|warning| warning.text)
        };
        assert_eq!(told(0), None);
        let one = told(1).expect("there is one");
        assert!(one.starts_with("1 command that was not answered"), "{one}");
        assert!(one.contains("failed at its end"), "{one}");
        let two = told(2).expect("there are two");
        assert!(
            two.starts_with("2 commands that were not answered"),
            "{two}"
        );
        assert!(two.contains("failed at their end"), "{two}");
    }
}
