//! Something to know before believing numbers: of which kind, for programs, and in words, for
//! people.
//!
//! Whoever finds a thing worth a warning names its kind, here, and says what it is, why, and what
//! helps. Results, inspections and capacities carry them as they are.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

words! {
    /// What a warning is about.
    WarningKind as "kind of warning" {
        /// The reader of a trace noted something.
        Note = "note",
        /// The trace has no times.
        NoTimes = "no-times",
        /// Requests come faster than any device answers: the unit of times is another.
        TimesTooShort = "times-too-short",
        /// Requests come slower than on any device that is in use.
        TimesTooLong = "times-too-long",
        /// Response times are longer than the trace.
        LatenciesTooLong = "latencies-too-long",
        /// Response times are shorter than those of memory.
        LatenciesTooShort = "latencies-too-short",
        /// Addresses look like sectors and are read as bytes.
        SectorsAsBytes = "sectors-as-bytes",
        /// Addresses and lengths are in no sectors.
        Unaligned = "unaligned",
        /// Addresses look like bytes and are read as sectors.
        BytesAsSectors = "bytes-as-sectors",
        /// Half of the requests are longer than hosts send.
        LengthsTooLong = "lengths-too-long",
        /// Addresses are beyond any device.
        AddressAbsurd = "address-absurd",
        /// Requests are so long that their lengths must be in a wrong unit.
        Outsized = "outsized",
        /// Times are whole seconds.
        OneSecondStamps = "one-second-stamps",
        /// Times are so coarse that they make waits of their own.
        CoarseStamps = "coarse-stamps",
        /// Requests go beyond the drive.
        BeyondDrive = "beyond-drive",
        /// The trace is of several devices.
        SeveralDevices = "several-devices",
        /// Records were not understood.
        BadRecords = "bad-records",
        /// The trace ends within a record.
        Truncated = "truncated",
        /// Requests go beyond what an address can be.
        BeyondAddressSpace = "beyond-address-space",
        /// Reads or writes of no bytes.
        ZeroLength = "zero-length",
        /// Requests do not say whether they read or write.
        DirectionGuessed = "direction-guessed",
        /// Requests are not in the order of their times.
        NotMonotone = "not-monotone",
        /// The clock made a step.
        ClockStep = "clock-step",
        /// Requests were answered with an error, so that their times count for nothing.
        FailedCompletions = "failed-completions",
        /// The tracer lost events.
        LostEvents = "lost-events",
        /// Requests are longer than hosts send.
        Oversized = "oversized",
        /// Operations have no equal here.
        OtherOperations = "other-operations",
        /// There are neither reads nor writes.
        NoMedia = "no-media",
        /// Requests were put elsewhere, or left out, as the drive is too small.
        Fitted = "fitted",
        /// Writes were replayed without the flush that they asked for.
        WithoutPreflush = "without-preflush",
        /// Requests came later than they were inferred to come.
        CameLate = "came-late",
        /// Requests wait for others for as long as was guessed.
        ServiceGuessed = "service-guessed",
        /// Response times that the trace tells are not held beside those of the run, or only some.
        ToldInPart = "told-in-part",
        /// The load is more than the drives can do, on the whole.
        Overload = "overload",
        /// The load is more than the drives can do for a part of the run.
        Burst = "burst",
        /// The load is more than the drives can do in the busiest tenth of the run.
        BusiestTenth = "busiest-tenth",
        /// The queue grew as long as requests came.
        QueueGrew = "queue-grew",
        /// Write caches of drives filled as long as requests came.
        FillingCaches = "filling-caches",
        /// Credits for bursts were spent, without which drives do less.
        CreditsSpent = "credits-spent",
        /// The drives were busy nearly all the time.
        Saturated = "saturated",
        /// The first requests took so much longer than the others that they decide the mean.
        Start = "start",
        /// Requests of the warm-up took far longer than all that were measured.
        StarvedWarmUp = "starved-warm-up",
        /// There were fewer requests than were to be in flight.
        NeverFull = "never-full",
        /// A run of a comparison has no result, since none of its reads and writes was measured.
        NothingMeasured = "nothing-measured",
        /// The run was interrupted.
        Interrupted = "interrupted",
        /// Requests failed.
        FailedRequests = "failed-requests",
        /// What clients wrote is told by no drive any more.
        LostBlocks = "lost-blocks",
        /// Of chunks that should have several copies one good one is left.
        FewCopies = "few-copies",
        /// Drives brought wrong blocks and reported them done.
        WrongReads = "wrong-reads",
        /// Faults were to be injected, and none happened.
        NoFaults = "no-faults",
        /// Some of the faults that were to be injected could not happen.
        FaultsWithoutEffect = "faults-without-effect",
        /// A run ended before faults begin that come at an instant of their own.
        BeforeFaults = "before-faults",
        /// A setting names streams that asked for nothing.
        UnheardStreams = "unheard-streams",
        /// Requests were answered later than a target of their stream says.
        MissedTargets = "missed-targets",
        /// Commands without an answer lasted longer than their host was to wait.
        LateTimeOuts = "late-time-outs",
        /// Many writes cover parts of chunks only, and waited for each other, or for what had to be
        /// read first.
        PartialChunks = "partial-chunks",
        /// Most writes of a placement that lets them move went where their data were.
        HardlyOffered = "hardly-offered",
        /// Nobody knows what a power cut leaves of the drive's cache.
        UnknownCache = "unknown-cache",
        /// The drive's calibration says that its times need not be those of the drive.
        DoubtfulDrive = "doubtful-drive",
        /// Commands were longer than any that the drive has times of.
        Extrapolated = "extrapolated",
        /// A cache holds all that came into it.
        HoldsAll = "holds-all",
        /// A read cache answered nothing.
        WithoutHits = "without-hits",
        /// A cache that tells sequences from the rest has none to tell.
        WithoutSequences = "without-sequences",
        /// Schedulers for writes whose place is left open have none to decide on.
        NothingOpen = "nothing-open",
        /// I/Os that continue each other were to be merged, and none were.
        NothingMerged = "nothing-merged",
        /// A cache cut reads into pieces, each a read of the drives.
        CutReads = "cut-reads",
        /// An array was without a drive when the run ended.
        Degraded = "degraded",
        /// Drives could not be rebuilt as fast as was asked, or there was nothing to rebuild.
        Rebuild = "rebuild",
        /// A write buffer kept all that was written, took none of it, or gave some of it up.
        Buffer = "buffer",
        /// A log wrote nothing any more, or a journal; or requests of a file system failed, which
        /// does not write their blocks again.
        GaveUp = "gave-up",
        /// Combinations of a grid that would be the same as others are not run.
        LeftOut = "left-out",
    }
}

/// Something to know before believing numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What it is about, for programs.
    pub kind: WarningKind,
    /// The label of the run that it is about; `None` if it is about all, or about the trace.
    pub run: Option<String>,
    /// What, why, and what helps.
    pub text: String,
}

impl Warning {
    /// One of this kind, in these words.
    pub fn new(kind: WarningKind, text: impl Into<String>) -> Warning {
        let (run, text) = (None, text.into());
        Warning { kind, run, text }
    }

    /// The same, about the run with this label.
    #[must_use]
    pub fn of_run(mut self, label: &str) -> Warning {
        self.run = Some(label.to_owned());
        self
    }
}

/// As people read it: behind the label of the run that it is about.
impl Display for Warning {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.run {
            Some(label) => write!(f, "{label}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn people_read_which_run_a_warning_is_about() {
        let warning = Warning::new(WarningKind::QueueGrew, "the queue grew");
        assert_eq!(warning.to_string(), "the queue grew");
        let of_run = warning.of_run("sched=satf");
        assert_eq!(of_run.to_string(), "sched=satf: the queue grew");
    }

    #[test]
    fn schemas_list_the_kinds_that_there_are() {
        let schemas = [
            include_str!("../schema/results.schema.json"),
            include_str!("../schema/capacity.schema.json"),
            include_str!("../schema/inspection.schema.json"),
        ];
        for schema in schemas {
            let schema: Value = serde_json::from_str(schema).unwrap();
            let listed = &schema["$defs"]["warning"]["properties"]["kind"]["enum"];
            assert_eq!(*listed, Value::from(WarningKind::WORDS));
        }
    }
}
