//! What is said beside the numbers: before anything runs, of each run, and of all of them.

use std::collections::BTreeMap;

use nearslot_core::config::{StackConfig, is_lru_but_for_sequences};
use nearslot_core::contract::{Blueprint, Cache, Destage, Placement};
use nearslot_core::ids::StreamId;
use nearslot_core::io::WriteCache;
use nearslot_core::pages::PAGE;
use nearslot_core::registry::{ConfigError, Kind, KindCard, Need, written};
use nearslot_core::stack::Stack;
use nearslot_core::units::{BLOCK_BYTES, Blocks, Duration};

use self::arrays::{degraded, few_copies};
pub(super) use self::at_end::AtEnd;
pub(crate) use self::credits::Spent;
use self::credits::credits_spent;
use self::cut::cut;
pub(super) use self::faults::met_faults;
pub(crate) use self::faults::wrong_blocks;
use self::faults::{late_time_outs, of_faults};
use self::filling::{filling, grew, still_grew};
use self::logs::gave_up;
use self::merging::nothing_merged;
use self::partial_chunks::partial_chunks;
use self::places::without_places;
pub(super) use self::seen::Seen;
use self::starved::starved;
use self::targets::missed_targets;
use super::{Finished, Onset, Unsteady};
use crate::doubt::{self, Longer};
use crate::error::RunError;
use crate::grid::{self, Point};
use crate::load::{LoadedTrace, RequestCount};
use crate::measure::{BATCHES, busy, kept};
use crate::number::{counted, grouped, list, number, percent};
use crate::outcome::Run;
use crate::scenario::{Load, Replay, Scenario};
use crate::warning::{Warning, WarningKind};
use crate::workload::Tally;

mod arrays;
mod at_end;
mod credits;
mod cut;
mod faults;
mod filling;
mod logs;
mod merging;
mod partial_chunks;
mod places;
mod seen;
mod starved;
mod targets;

/// What is to be said before anything runs.
pub(crate) fn warned(
    points: &[Point],
    trace: Option<&LoadedTrace>,
) -> Result<Vec<Warning>, ConfigError> {
    let mut warnings = trace.map(LoadedTrace::warnings).unwrap_or_default();
    let timed = |point: &Point| matches!(&point.scenario.load, Load::Trace(load) if !matches!(load.replay, Replay::Closed));
    if points.iter().any(timed) {
        warnings.extend(trace.and_then(LoadedTrace::coarse).cloned());
    }
    warnings.extend(doubt::doubts(points)?);
    warnings.extend(left_out_parts(points));
    warnings.extend(without_sequences(points)?);
    warnings.extend(without_places(points)?);
    Ok(warnings)
}

/// That parts were not run which have no effect without one of another kind, as prefetchers without
/// a cache, where both are compared.
fn left_out_parts(points: &[Point]) -> impl Iterator<Item = Warning> {
    let told = |[inner, outer]: [&KindCard; 2]| {
        let is = |both: [bool; 2]| {
            points
                .iter()
                .any(|point| grid::has(point, [inner, outer]) == both)
        };
        let settings = || points.iter().flat_map(|point| &point.settings);
        let varies = settings().any(|(key, _)| key == inner.key);
        let (inner, outer) = ((inner.key, inner.plural), (outer.key, outer.word));
        let text = format!(
            "without a {} nothing is done by {}: with {}=none only {}=none is run, as others would do the same",
            outer.1, inner.1, outer.0, inner.0
        );
        let is_left_out = is([false, false]) && is([true, true]) && varies;
        is_left_out.then(|| Warning::new(WarningKind::LeftOut, text))
    };
    grid::nested(points).into_iter().filter_map(told)
}

/// Caches that differ from `lru` by sequences alone, where nothing tells them any.
fn without_sequences(points: &[Point]) -> Result<Option<Warning>, ConfigError> {
    let mut names: Vec<String> = Vec::new();
    for parts in points.iter().map(|point| &point.scenario.parts) {
        let cache = parts.of::<dyn Cache>();
        let is_new = !parts.provide(Need::Sequences) && !names.contains(&cache.name);
        if is_new && is_lru_but_for_sequences(cache)? {
            names.push(cache.name.clone());
        }
    }
    let does = match names.len() {
        0 => return Ok(None),
        1 => "decides",
        _ => "decide",
    };
    let text = format!(
        "where nothing is brought beforehand, and no sequence of writes enters as such, nothing belongs to a sequence: there {} {does} as lru does",
        list(&names)
    );
    Ok(Some(Warning::new(WarningKind::WithoutSequences, text)))
}

/// Adds what the runs of a grid have to say.
pub(super) fn add_said(warnings: &mut Vec<Warning>, finished: &[Finished]) {
    let mut longer = Longer::default();
    let (mut of_runs, mut of_all): (Vec<Warning>, Vec<Warning>) = (Vec::new(), Vec::new());
    for one in finished {
        for warning in &one.warnings {
            let by_all = finished
                .iter()
                .all(|other| other.warnings.contains(warning));
            // What not all say belongs to the run that says it.
            let told = match by_all || warning.run.is_some() {
                true => warning.clone(),
                false => warning.clone().of_run(&one.run.label),
            };
            let list = match told.run {
                Some(_) => &mut of_runs,
                None => &mut of_all,
            };
            if !warnings.contains(&told) && !list.contains(&told) {
                list.push(told);
            }
        }
        longer.join(&one.longer);
    }
    // First what is said of single runs: so a run has the same in the same order whichever others
    // are beside it.
    warnings.extend(of_runs.into_iter().chain(of_all));
    warnings.extend(longer.warnings());
}

/// Why an interruption leaves nothing of so many runs.
pub(super) fn nothing_found(planned: usize) -> String {
    match planned {
        1 => "the run had measured nothing yet".to_owned(),
        _ => format!("none of the {planned} runs was finished"),
    }
}

/// What to know of a comparison that was interrupted.
pub(super) fn stopped(here: usize, planned: usize) -> Warning {
    let text = format!(
        "the comparison was interrupted: {here} of {planned} runs are here, and what is said is said of these alone"
    );
    Warning::new(WarningKind::Interrupted, text)
}

/// What to know of the results of a run that was interrupted.
fn interrupted(run: &Run, count: RequestCount) -> Warning {
    let text = format!(
        "the run was interrupted: {} {}requests were answered and {} were waiting; the results are of the answered \
         ones alone, so the slowest may be missing, and there is no confidence interval for part of a run",
        run.requests,
        if count.is_known() {
            format!("of {} ", count.get())
        } else {
            String::new()
        },
        run.pending
    );
    Warning::new(WarningKind::Interrupted, text).of_run(&run.label)
}

/// Streams that settings name and that asked for nothing: what is said of them has no effect.
pub(super) fn unheard(
    (stack, label): (&StackConfig, &str),
    heard: impl Fn(StreamId) -> bool,
) -> Option<Warning> {
    let silent: Vec<String> = stack
        .parts
        .named_streams()
        .into_iter()
        .filter(|(_, stream)| !heard(*stream))
        .map(|(key, stream)| format!("{} ({key})", stream.0))
        .collect();
    let text = format!(
        "what is said of streams that asked for nothing had no effect: {}",
        list(&silent)
    );
    (!silent.is_empty()).then(|| Warning::new(WarningKind::UnheardStreams, text).of_run(label))
}

/// What to know of a run's numbers as a whole.
pub(super) fn warnings(
    run: &Run,
    (count, depth): (RequestCount, Option<u64>),
    (seen, unsteady): (Seen, &Unsteady),
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    // What drives do in spare time gives way to more load.
    let [busy, _] = busy::for_requests(run);
    if run.pending > 0 {
        warnings.push(interrupted(run, count));
    }
    if let Some(growth) = run.queue_growth_rps {
        warnings.push(grew(&run.label, growth, &seen));
    } else if let Some(settling) = unsteady.grew_alone() {
        warnings.push(still_grew(&run.label, &settling));
    } else if run.at_limit {
        let text = format!(
            "the drives were busy {} of the time: a little more load, and the queue grows without end",
            percent(busy, 1)
        );
        warnings.push(Warning::new(WarningKind::Saturated, text).of_run(&run.label));
    }
    warnings.extend(filling(run, unsteady.filling));
    warnings.extend(credits_spent(&run.label, unsteady.spent));
    warnings.extend(starved(&run.label, seen.starved));
    warnings.extend(missed_targets(run));
    warnings.extend(nothing_merged(run));
    warnings.extend(never_full(&run.label, depth, count));
    warnings.extend(partial_chunks(run, &seen));
    warnings.extend(of_buffer(run));
    warnings.extend(without_hits(run));
    warnings.extend(gave_up(run));
    warnings.extend(cut(run));
    warnings
}

/// Batches that a start may be, at most: a quarter of the load.
const START_MAX: usize = BATCHES / 4;
/// How many times as long as those behind a quarter of the load the requests of a start take, in
/// each of its batches.
const START_TIMES: f64 = 2.0;

/// How many batches at the front took far longer than those behind a quarter of the load, and have
/// more than half of all response time; with the share that they have, their mean, and that of the
/// others.
fn start(batches: &[f64; BATCHES]) -> Option<(usize, [f64; 3])> {
    let mean = |some: &[f64]| some.iter().sum::<f64>() / some.len() as f64;
    let settled = mean(&batches[START_MAX..]);
    let long = batches[..START_MAX].iter();
    let count = long
        .take_while(|batch| **batch > START_TIMES * settled)
        .count();
    let (first, rest) = batches.split_at(count);
    let share = first.iter().sum::<f64>() / batches.iter().sum::<f64>();
    (share > 0.5).then(|| (count, [share, mean(first), mean(rest)]))
}

/// That the start of a run decides its mean, and how much warm-up leaves it out.
///
/// Whatever has to be set up first does that: a map that is written for the first time, queues that
/// such work leaves behind. Which part it is need not be known: response times say it.
fn of_start(run: &Run, batches: Option<&[f64; BATCHES]>) -> Option<Warning> {
    let (count, [share, first, rest]) = start(batches?)?;
    let (measured, part) = (
        run.requests - run.warmup_requests,
        count as f64 / BATCHES as f64,
    );
    let warmup = run.warmup_requests as f64 + part * measured as f64;
    let text = format!(
        "the first {:.0} % of the measured requests took {} ms on average, the others {}, so that {:.0} % of all response time belongs to the \
         start: the mean, and all that is compared by it, tell more of the start than of what follows; --warmup {:.0}% leaves it out",
        100.0 * part,
        number(first),
        number(rest),
        100.0 * share,
        (100.0 * warmup / run.requests as f64).ceil()
    );
    Some(Warning::new(WarningKind::Start, text).of_run(&run.label))
}

/// What is not in the numbers of a run, or too much: requests that failed, faults that did not
/// come, what of its load was left out or changed, and a start that decides the mean.
pub(super) fn left_out(
    run: &Run,
    tally: Tally,
    (onset, batches): (Option<Onset>, Option<&[f64; BATCHES]>),
    at_end: &AtEnd,
) -> Vec<Warning> {
    let mut told = Vec::from_iter(failures(run));
    told.extend(lost_blocks(run));
    told.extend(late_time_outs(run));
    told.extend(hardly_offered(run));
    let early = onset.filter(Onset::never_came);
    told.extend(degraded(run, at_end));
    told.extend(few_copies(run, at_end));
    told.extend(rebuild(run, at_end.rebuilding));
    told.extend(of_faults(run, early, at_end));
    told.extend(lost(tally));
    told.extend(of_start(run, batches));
    told
}

/// That most writes did not move where they might: then what a run says of that, it says of the
/// others.
fn hardly_offered(run: &Run) -> Option<Warning> {
    let key = <dyn Placement as Kind>::CARD.key;
    let count = |name: &str| Some(run.measure(key, name)?.value() as u64);
    let (offered, stayed) = (count("range_writes")?, count("in_place")?);
    let place = &run.config[key];
    // One for each copy, where what stays is counted once.
    let offered = offered / place["copies"].as_u64().unwrap_or(1);
    let told = match (offered, stayed) {
        (0, 0) => "nothing was written, so nothing could move".to_owned(),
        _ if stayed <= offered => return None,
        _ => {
            let all = counted(offered + stayed, "write");
            let why = match place["within"].as_str() {
                Some("told") => {
                    "since the trace does not say that they may move, or they do not fit".to_owned()
                }
                _ => {
                    let unit = counted(place["unit_blocks"].as_u64().unwrap_or(0), "block");
                    format!(
                        "since they are no whole units of {unit}, or longer than what is free where they may go; with a smaller unit_blocks, or a wider \
                         offer, more of them move"
                    )
                }
            };
            let stayed = grouped(stayed);
            format!("{stayed} of {all} went where their data lie, {why}")
        }
    };
    Some(Warning::new(WarningKind::HardlyOffered, told).of_run(&run.label))
}

/// Of the rate at which spares are rebuilt, so much has to be reached.
const RATE_SHARE: f64 = 0.95;
/// Rebuilds that took less tell no rate: pieces are under way.
const RATE_FROM_S: f64 = 1.0;

/// That spares were rebuilt more slowly than was asked, or that there was nothing to repair.
fn rebuild(run: &Run, under_way: Duration) -> Option<Warning> {
    let key = <dyn Placement as Kind>::CARD.key;
    let asked = run.config[key]["rebuild_mib_s"]
        .as_f64()
        .filter(|rate| *rate > 0.0)?;
    let count = |name: &str| run.measure(key, name).map_or(0.0, |count| count.value());
    let took_s = count("rebuild_ms") / 1e3 + under_way.0 as f64 / 1e9;
    let mib = count("rebuilt_blocks") * BLOCK_BYTES as f64 / f64::from(1 << 20);
    if met_faults(run) == Some(true) && count("repaired") as u64 == 0 {
        let why = match (
            count("spares_taken") as u64,
            count("rebuild_left_blocks") as u64,
        ) {
            (0, _) => {
                "nothing was bad that could be written again, or no spare took the place of a drive"
                    .to_owned()
            }
            (spares, 0) => format!(
                "nothing was bad that could be written again, and {} that took the place of a drive lacked nothing",
                counted(spares, "spare")
            ),
            (spares, left) => format!(
                "the run ended before anything was written again: {} that took the place of a drive lacked {} then",
                counted(spares, "spare"),
                counted(left, "block")
            ),
        };
        let text = format!(
            "rebuild_mib_s = {} had no effect: nothing was repaired, as {why}",
            written(asked)
        );
        return Some(Warning::new(WarningKind::Rebuild, text).of_run(&run.label));
    }
    let left = count("rebuild_left_blocks") as u64;
    let is_slow = took_s > RATE_FROM_S && mib < RATE_SHARE * asked * took_s;
    is_slow.then(|| {
        let left = match left {
            0 => String::new(),
            blocks => format!(", and {} were left at the end of the run", counted(blocks, "block")),
        };
        let text = format!(
            "spares were rebuilt at {} MiB a second, although rebuild_mib_s = {} was asked for{left}: the drives could not, beside what clients asked of them",
            number(mib / took_s),
            written(asked)
        );
        Warning::new(WarningKind::Rebuild, text).of_run(&run.label)
    })
}

/// Of what so many requests failed.
pub(super) fn causes(failed: &BTreeMap<String, u64>) -> String {
    let causes = failed
        .iter()
        .map(|(cause, count)| format!("{cause} {count}"));
    causes.collect::<Vec<_>>().join(", ")
}

/// How many requests of a run failed, and of what.
fn failures(run: &Run) -> Option<Warning> {
    let all: u64 = run.failed.values().sum();
    (all > 0).then(|| {
        let text = format!(
            "{all} of {} requests failed ({}); means, throughput and costs are of the others alone, and percentiles take \
             them for requests that were never answered",
            run.requests,
            causes(&run.failed)
        );
        Warning::new(WarningKind::FailedRequests, text).of_run(&run.label)
    })
}

/// Runs of lost blocks that are named in a warning.
const NAMED: usize = 4;

/// What no drive tells any more, and where that is.
fn lost_blocks(run: &Run) -> Option<Warning> {
    let lost = run.lost.as_ref()?;
    let named: Vec<String> = lost
        .extents
        .iter()
        .take(NAMED)
        .map(|extent| match extent.blocks {
            1 => extent.first_block.to_string(),
            blocks => format!(
                "{} to {}",
                extent.first_block,
                extent.first_block + blocks - 1
            ),
        })
        .collect();
    let listed: u64 = lost.extents.iter().map(|extent| extent.blocks).sum();
    let more = match (lost.extents.len() > NAMED, listed < lost.blocks) {
        (_, true) => ", and more, of which the JSON lists the first as `lost`",
        (true, false) => ", and more, which the JSON lists as `lost`",
        (false, false) => "",
    };
    let (is, them, they) = match lost.blocks {
        1 => ("is", "it", "it"),
        _ => ("are", "them", "they"),
    };
    let text = format!(
        "{} of the volume {is} lost at the end of the run, as no drive tells {them} any more, and reads of {them} fail until {they} {is} written again: \
         {}{more}",
        counted(lost.blocks, "block"),
        named.join(", ")
    );
    Some(Warning::new(WarningKind::LostBlocks, text).of_run(&run.label))
}

/// What to know of a volume that is to survive power cuts on drives of which nobody knows what
/// those leave.
fn unknown_cache(drive: &str, blueprint: &dyn Blueprint, stack: &Stack) -> Option<Warning> {
    let survives = stack.nvram().is_some();
    (survives && blueprint.cache() == WriteCache::Unknown).then(|| {
        let text = format!(
            "the file of drive {drive} does not say whether a power cut empties its cache, so the volume expects that: flushes and \
             forced writes take what the file says; tell it with {drive}:cache=off, volatile or protected"
        );
        Warning::new(WarningKind::UnknownCache, text)
    })
}

/// What to know of a closed loop that asks for more requests in flight than there are.
fn never_full(label: &str, depth: Option<u64>, count: RequestCount) -> Option<Warning> {
    let (depth, requests) = (depth?, count.get());
    (depth > requests).then(|| {
        let text = format!(
            "depth = {depth} is more than the {requests} requests that there are: all come at once, as with depth = \
             {requests}"
        );
        Warning::new(WarningKind::NeverFull, text).of_run(label)
    })
}

/// What of a load was left out or changed.
fn lost(tally: Tally) -> Vec<Warning> {
    let counts = [
        (
            WarningKind::OtherOperations,
            tally.other,
            [
                "request was neither read, write, flush nor discard and was left out",
                "requests were neither read, write, flush nor discard and were left out",
            ],
        ),
        (
            WarningKind::Fitted,
            tally.beyond,
            [
                "request beyond the drive was left out (--fit truncate)",
                "requests beyond the drive were left out (--fit truncate)",
            ],
        ),
        (
            WarningKind::Fitted,
            tally.moved,
            [
                "request was put elsewhere, since the trace has addresses beyond the drive, or beyond the smallest that is compared (--fit wrap, scale)",
                "requests were put elsewhere, since the trace has addresses beyond the drive, or beyond the smallest that is compared (--fit wrap, scale)",
            ],
        ),
        (
            WarningKind::WithoutPreflush,
            tally.preflush,
            [
                "write asked for a flush before it and was replayed without it",
                "writes asked for a flush before them and were replayed without it",
            ],
        ),
        (
            WarningKind::CameLate,
            tally.late,
            [
                "request came later than inferred: the trace was not read far enough ahead",
                "requests came later than inferred: the trace was not read far enough ahead",
            ],
        ),
        (
            WarningKind::ServiceGuessed,
            tally.guessed,
            [
                "request does not tell its response time, so what waits for it is inferred from a guess \
                 (service_guess_us)",
                "requests do not tell their response time, so what waits for them is inferred from a guess \
                 (service_guess_us)",
            ],
        ),
    ];
    let told = counts.iter().filter(|(_, count, _)| *count > 0);
    told.map(|(kind, count, [one, many])| {
        let what = if *count == 1 { one } else { many };
        Warning::new(*kind, format!("{count} {what}"))
    })
    .collect()
}

/// What to know of caches: that nobody knows what the drives' do at a power cut, that the stack's
/// holds everything, that a write buffer holds less than is written best together.
pub(super) fn of_caches(
    (scenario, given): (&Scenario, StackConfig),
    (blueprint, stack): (&dyn Blueprint, &Stack),
) -> Result<impl Iterator<Item = Warning>, RunError> {
    let unknown = unknown_cache(&scenario.drive.name, blueprint, stack);
    // Its size as it was asked for, which may be a share.
    let asked = StackConfig {
        parts: scenario.parts.clone(),
        ..given
    };
    let told = [holds_all(&asked, stack)?, never_whole(&asked, stack)?];
    Ok(unknown.into_iter().chain(told.into_iter().flatten()))
}

/// That a write buffer gave up what was answered, or that its writes were so few, or so large, that
/// they do not show what it is worth.
fn of_buffer(run: &Run) -> Option<Warning> {
    let key = <dyn Destage as Kind>::CARD.key;
    let count = |name: &str| {
        run.measure(key, name)
            .map_or(0, |count| count.value() as u64)
    };
    let pages = |name: &str| counted(count(name), "page");
    let text = if count("given_up_pages") > 0 {
        format!(
            "{} of answered writes could not be written and are in the write buffer alone",
            pages("given_up_pages")
        )
    } else if let Some(kept) = kept::all_pages(run) {
        format!(
            "nothing went from the write buffer to the drives while the run was measured, and {} are in it at the end: \
             what writes cost the drives is not in these times, and a longer run tells it",
            counted(kept, "page")
        )
    } else if count("written_pages") == 0 && count("through_writes") > 0 {
        let writes = counted(count("through_writes"), "write");
        format!(
            "{writes} went past the write buffer, and none into it: they are larger than it, or it is full of what cannot be written"
        )
    } else {
        return None;
    };
    Some(Warning::new(WarningKind::Buffer, text).of_run(&run.label))
}

/// That a read cache answered nothing.
fn without_hits(run: &Run) -> Option<Warning> {
    let key = <dyn Cache as Kind>::CARD.key;
    let count = |name: &str| run.measure(key, name).map(|count| count.value() as u64);
    let hits = count("read_hits")?;
    let others = count("read_misses")? + count("passed_reads")?;
    let what = match others {
        0 => "no read was made".to_owned(),
        1 => "1 read was made, which did not find all of it there".to_owned(),
        reads => format!("{reads} reads were made, none of which found all of it there"),
    };
    let text = format!("the read cache answered nothing while the run was measured: {what}");
    (hits == 0).then(|| Warning::new(WarningKind::WithoutHits, text).of_run(&run.label))
}

/// That a read cache had room for all that came, if it had.
fn holds_all(config: &StackConfig, stack: &Stack) -> Result<Option<Warning>, RunError> {
    let Some((name, cache)) = config.in_memory()?.filter(|_| stack.cache_holds_all()) else {
        return Ok(None);
    };
    let text = format!(
        "{name}: a cache of {} holds all that came into it, and nothing had to leave: whatever the policy, it would do the same, and with more room, too",
        cache.size
    );
    Ok(Some(Warning::new(WarningKind::HoldsAll, &text)))
}

/// That a write buffer has room for less than the placement writes without a read before, if it has.
fn never_whole(config: &StackConfig, stack: &Stack) -> Result<Option<Warning>, RunError> {
    let (room, stripe) = match config.in_buffer()? {
        Some((_, buffer)) => (buffer.pages * PAGE, stack.stripe().0),
        None => return Ok(None),
    };
    let place = &config.parts.of::<dyn Placement>().name;
    let kib = |blocks: u64| Blocks(blocks).bytes().div_ceil(1024);
    let text = format!(
        "the write buffer has room for {} KiB, and {place} writes {} KiB together without a read before: so many are never in it, and each write of what it has reads first",
        kib(room),
        kib(stripe)
    );
    Ok((room < stripe).then(|| Warning::new(WarningKind::Buffer, text)))
}

#[cfg(test)]
mod tests {
    use nearslot_core::contract::Faults;
    use nearslot_core::units::Instant;

    use super::*;
    use crate::outcome::Number;

    #[test]
    fn a_write_buffer_that_does_not_show_what_it_is_worth_is_told() {
        let told = |counts: [u64; 5]| {
            let names = [
                "written_pages",
                "through_writes",
                "destaged_pages",
                "dirty_pages",
                "given_up_pages",
            ];
            let numbers = counts.map(Number::Count);
            let counts = names.map(str::to_owned).into_iter().zip(numbers);
            let key = <dyn Destage as Kind>::CARD.key.to_owned();
            let measures = [(key, counts.collect())].into();
            let run = Run {
                measures,
                ..Run::default()
            };
            of_buffer(&run).map(|warning| warning.text)
        };
        let says = |counts, words: &str| told(counts).is_some_and(|text| text.contains(words));
        assert!(says([9, 0, 0, 9, 0], "9 pages are in it at the end"));
        assert!(says([0, 7, 0, 0, 0], "7 writes went past"));
        assert!(says([9, 0, 8, 1, 1], "1 page of answered writes"));
        assert_eq!(told([9, 7, 8, 1, 0]), None);
        assert_eq!(told([0, 0, 0, 0, 0]), None);
        assert_eq!(of_buffer(&Run::default()), None);
    }

    #[test]
    fn a_cache_that_answers_no_read_is_told() {
        let told = |numbers: [u64; 3]| {
            let names = ["read_hits", "read_misses", "passed_reads"].map(str::to_owned);
            let counts = names.into_iter().zip(numbers.map(Number::Count));
            let measures = [("cache".to_owned(), counts.collect())].into();
            let run = Run {
                measures,
                ..Run::default()
            };
            without_hits(&run).map(|warning| warning.text)
        };
        let says = |counts, words: &str| told(counts).is_some_and(|text| text.ends_with(words));
        assert!(says([0, 0, 0], "no read was made"));
        assert!(says(
            [0, 1, 0],
            "1 read was made, which did not find all of it there"
        ));
        assert!(says(
            [0, 5, 2],
            "7 reads were made, none of which found all of it there"
        ));
        assert_eq!(told([1, 5, 2]), None);
        assert_eq!(without_hits(&Run::default()), None);
    }

    /// What says that there was no spare never stands beside one that was taken.
    #[test]
    fn a_rebuild_that_repaired_nothing_says_what_there_was() {
        let told = |spares: u64, left: u64| {
            let counts = [("spares_taken", spares), ("rebuild_left_blocks", left)];
            let counts = counts.map(|(name, count)| (name.to_owned(), Number::Count(count)));
            let failed = [("failed_gone".to_owned(), Number::Count(1))];
            let (place, faults) = (<dyn Placement as Kind>::CARD, <dyn Faults as Kind>::CARD);
            let run = Run {
                measures: [
                    (place.key.to_owned(), counts.into()),
                    (faults.key.to_owned(), failed.into()),
                ]
                .into(),
                config: serde_json::json!({place.key: {"rebuild_mib_s": 1.0}}),
                ..Run::default()
            };
            rebuild(&run, Duration::ZERO).expect("it is told").text
        };
        assert!(told(0, 0).contains("or no spare took the place"));
        assert!(told(1, 0).ends_with("1 spare that took the place of a drive lacked nothing"));
        assert!(
            told(1, 8).ends_with("1 spare that took the place of a drive lacked 8 blocks then")
        );
        assert!(!told(1, 8).contains("no spare"));
    }

    #[test]
    fn one_of_a_kind_is_told_as_one() {
        let told = |preflush: u64| {
            let tally = Tally {
                preflush,
                ..Tally::default()
            };
            lost(tally).pop().expect("it is told").text
        };
        assert!(told(1).starts_with("1 write asked for a flush before it and was"));
        assert!(told(2).starts_with("2 writes asked for a flush before them and were"));
    }

    /// Batches of 10 ms but for these.
    fn batches(others: &[(std::ops::Range<usize>, f64)]) -> [f64; BATCHES] {
        let mut batches = [10.0; BATCHES];
        for (range, ms) in others {
            batches[range.clone()].fill(*ms);
        }
        batches
    }

    #[test]
    fn a_start_is_what_lies_at_the_front_and_outweighs_all_that_follows() {
        let count = |others: &[(std::ops::Range<usize>, f64)]| {
            start(&batches(others)).map(|(count, _)| count)
        };
        assert_eq!(count(&[(0..2, 400.0)]), Some(2));
        assert_eq!(count(&[(0..START_MAX, 60.0)]), Some(START_MAX));
        // Half of all is not more than half: 310 of 620.
        assert_eq!(count(&[(0..1, 310.0)]), None);
        assert_eq!(count(&[(0..1, 311.0)]), Some(1));
        // A burst later, a load that is uneven all along, and one that is even are none.
        assert_eq!(count(&[(1..3, 4_000.0)]), None);
        assert_eq!(count(&[(0..1, 400.0), (20..22, 4_000.0)]), None);
        assert_eq!(count(&[]), None);
        assert_eq!(count(&[(0..BATCHES, 0.0)]), None);
    }

    /// One that takes longer than those behind it, but not far longer, is none of the start.
    #[test]
    fn a_start_ends_with_the_last_batch_that_takes_far_longer() {
        let all = batches(&[(0..1, 800.0), (1..2, 19.0)]);
        assert_eq!(start(&all).map(|(count, _)| count), Some(1));
    }

    fn run(requests: u64, warmup: u64) -> Run {
        let window = crate::measure::Window { requests, warmup };
        let recorder = crate::measure::Recorder::new(window, 1, None);
        let end = Instant(1);
        let mut run = recorder.finish(end, String::new(), serde_json::json!({}));
        (run.requests, run.warmup_requests) = (requests, warmup);
        run
    }

    /// The warm-up that leaves a start out is told of all requests, what is left out already among
    /// them.
    #[test]
    fn the_warmup_of_a_start_begins_at_the_first_request() {
        let all = batches(&[(0..8, 400.0)]);
        let told = of_start(&run(2_000, 400), Some(&all)).expect("it decides");
        assert!(told.text.contains("--warmup 40%"), "{told:?}");
    }

    #[test]
    fn a_run_that_ended_early_says_nothing_of_when_its_faults_begin() {
        let mut run = run(2_000, 0);
        use crate::objective::Class;
        let of = |run: &Run| Onset::of(run, Instant(5), (Instant(9), (Class::All, 0.0)));
        assert!(of(&run).expect("it is whole").never_came());
        let met = Onset::of(&run, Instant(9), (Instant(5), (Class::All, 0.1)));
        assert!(!met.expect("it is whole").never_came());
        run.pending = 1;
        assert_eq!(of(&run), None);
    }
}
