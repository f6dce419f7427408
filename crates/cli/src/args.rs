//! The command line: what can be said, with examples. What is said here is checked by the
//! laboratory.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use nearslot_core::drive::CAPACITY_MAX;
use nearslot_lab::run::JOBS;

use crate::part_args::{PartArgs, kinds_listed};

/// A block-storage engine that can be rehearsed.
#[derive(Debug, Parser)]
#[command(
    name = "nearslot",
    version = crate::VERSION,
    about = "Rehearse block storage: replay your trace against modelled drives and rank policies by latency",
    after_help = "Examples:
  nearslot inspect mytrace.blktrace.0
  nearslot compare mytrace.blktrace.0 --sched fcfs,look,satf --html report.html
  nearslot list schedulers
  nearslot show satf

Exit codes: 0 done, 1 a check failed, 2 usage, 3 input unfit, 4 interrupted (Ctrl-C, SIGTERM), with what was measured until then written."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What nearslot does.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what is in a trace, and what is odd about it
    #[command(after_help = "Examples:
  nearslot inspect mytrace.blktrace.0            every per-CPU file of the set is read
  zcat day1.csv.gz | nearslot inspect -          standard input
  nearslot inspect trace.csv --columns ts=1:us,op=2:R/W,offset=3:bytes,len=4:bytes
  nearslot inspect trace.parquet --drive modern-20tb --format json
  nearslot inspect trace.csv --html trace.html   pictures: addresses over time, sizes, gaps, reuse")]
    Inspect(InspectArgs),
    /// Run one scenario: a trace or a synthetic load on one drive under one scheduler
    #[command(after_help = "Examples:
  nearslot run scenario.toml
  nearslot run mytrace.csv --drive hp-c2247a --sched satf --replay closed --depth 16
  nearslot run --workload iometer:depth=8 --sched satf --format json
  nearslot run mytrace.csv --sched look --requests requests.parquet")]
    Run(RunArgs),
    /// Run every combination of some settings, and rank what has the same load by latency
    #[command(after_help = "Examples:
  nearslot compare mytrace.blktrace.0 --sched fcfs,look,satf --html report.html
  nearslot compare mytrace.csv --vary sched=fcfs,satf --vary depth=1,8,64 --replay closed --baseline fcfs
  nearslot compare mytrace.csv --offer track,group,disk --sched satf    what range writes would gain
  nearslot compare scenario.toml --vary drive=seagate-cheetah-9lp,modern-20tb
  nearslot compare --workload iometer --vary depth=1,4,16,64 --sched look,satf")]
    Compare(CompareArgs),
    /// Find how much a drive can take before an objective fails: the highest speed, rate or depth,
    /// the most business units, or the fewest drives
    #[command(after_help = "Examples:
  nearslot capacity mytrace.blktrace.0 --slo 'read p99 < 20 ms'
  nearslot capacity mytrace.csv --slo 'read p99 < 20 ms and write mean < 5 ms' --sched mq-deadline,satf --html capacity.html
  nearslot capacity mytrace.csv --slo 'p95 < 50 ms' --replay closed                the depth
  nearslot capacity mytrace.csv --slo 'p99 < 30 ms' --find drives --place mirror   the fewest drives
  nearslot capacity --workload poisson:size=8k --slo 'mean < 15 ms'                the rate
  nearslot capacity --workload spc1 --slo 'mean < 30 ms' --drive modern-20tb       the BSUs

Exit codes: 3 the load has too few requests to tell, 4 interrupted, with what was found until then.")]
    Capacity(CapacityArgs),
    /// Say what caches of given sizes would miss of a trace, whatever a miss costs
    #[command(after_help = "Examples:
  nearslot hitrate mytrace.csv --cache lru,arc,s3_fifo --size 1%,10%
  nearslot hitrate mytrace.csv --cache lru,optimal --size 512MiB,4GiB --count reads
  nearslot hitrate large.csv --sample 2% --html curve.html                       curves of a sample
  nearslot hitrate mytrace.csv --per-request -o misses.parquet                   for programs; .csv and .json, too
  nearslot hitrate objects.oracleGeneral --block-size 4096 --unit request --size 1000lines --format json")]
    Hitrate(HitrateArgs),
    #[command(about = format!("List what there is of a kind: {}", kinds_listed()))]
    List(ListArgs),
    /// Say what one part does, where it comes from, and what can be set
    #[command(after_help = "Examples:
  nearslot show satf
  nearslot show seagate-cheetah-9lp")]
    Show(ShowArgs),
    /// Rewrite a trace: our Parquet, fio iolog v3, or blktrace
    #[command(after_help = "Examples:
  nearslot convert mytrace.csv --to parquet -o mytrace.parquet
  nearslot convert day1.csv day2.csv --to parquet -o days.parquet
  nearslot convert mytrace.blktrace.0 --to fio -o job.iolog")]
    Convert(ConvertArgs),
    /// Make a drive's file from a trace with latencies, or by timing reads of a file or device
    #[command(after_help = "Examples:
  nearslot calibrate mytrace.blktrace.0 -o mine.toml
  nearslot calibrate mytrace.csv --base desktop-7200-90mb --capacity 3907029168 -o mine.toml
  nearslot calibrate volume.biosnoop --as empirical -o volume.toml
  nearslot calibrate --probe /dev/sdb -o sdb.toml     reads only; needs the right to read the device
  nearslot run mytrace.csv --drive mine.toml

Exit codes: 1 the drive found does not fit the measured times, 3 the times tell no drive of this kind.")]
    Calibrate(CalibrateArgs),
    /// Compare the drive model with reference data
    #[command(subcommand)]
    Validate(ValidateCommand),
    /// Check this installation
    Doctor(DoctorArgs),
}

/// How a trace is read.
#[derive(Debug, Args, Clone, Default)]
#[command(next_help_heading = "Reading the trace")]
pub(crate) struct ReadArgs {
    /// Name its format instead of detecting it (see `nearslot list formats`)
    #[arg(long, value_name = "NAME")]
    pub(crate) trace_format: Option<String>,
    /// Only this device of several, by its name in the trace
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// Only the first N requests (of the span, if there is one)
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) limit: Option<u64>,
    /// Columns of a CSV without a telling header, by number or by the header's own names (see
    /// `nearslot show csv`): ts=5:us,op=2:R/W,offset=3:bytes,len=nbytes:bytes,dev=1
    #[arg(long, value_name = "SPEC")]
    pub(crate) columns: Option<String>,
    /// Unit of times where the format leaves it open
    #[arg(long, value_name = "UNIT")]
    pub(crate) time_unit: Option<TimeUnitWord>,
    /// What the waits of a fio iolog of version 2 mean, instead of finding out
    #[arg(long, value_name = "HOW")]
    pub(crate) fio_wait: Option<FioWaitWord>,
    /// Bytes per object, for formats that have object ids instead of addresses
    #[arg(long, value_name = "BYTES", value_parser = count, allow_negative_numbers = true)]
    pub(crate) block_size: Option<u64>,
    /// What is done with time stamps coarser than 1 ms [default: even]
    #[arg(long, value_name = "HOW")]
    pub(crate) spread: Option<SpreadWord>,
    /// How far requests may be out of order behind the first 131,072, in milliseconds [default:
    /// 1000]
    #[arg(long, value_name = "MS", value_parser = whole, allow_negative_numbers = true)]
    pub(crate) reorder_ms: Option<u64>,
    /// Sort the whole trace first, however far out of order (long ones through temporary files)
    #[arg(long, conflicts_with = "reorder_ms")]
    pub(crate) sort: bool,
    /// Stop at the first bad line instead of counting it
    #[arg(long)]
    pub(crate) strict: bool,
}

/// A whole number from 1.
fn count(word: &str) -> Result<u64, String> {
    within(word, 1..=u64::MAX)
}

/// A whole number in a range.
fn within(word: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, String> {
    let number = word.parse().ok().filter(|number| range.contains(number));
    let (first, last) = range.into_inner();
    number.ok_or_else(|| format!("allowed is a whole number from {first} to {last}"))
}

/// Blocks of a drive.
fn capacity(word: &str) -> Result<u64, String> {
    within(word, 1..=CAPACITY_MAX)
}

/// How many reads a probe makes.
fn probe_reads(word: &str) -> Result<u64, String> {
    within(word, 3_000..=1_000_000)
}

/// How long a probe takes.
fn probe_seconds(word: &str) -> Result<u64, String> {
    within(word, 1..=86_400)
}

/// How many runs go on at a time.
fn jobs(word: &str) -> Result<usize, String> {
    let (first, last) = JOBS.into_inner();
    let number = word.parse().ok().filter(|number| JOBS.contains(number));
    number.ok_or_else(|| format!("allowed is a whole number from {first} to {last}"))
}

/// A whole number from 0.
fn whole(word: &str) -> Result<u64, String> {
    within(word, 0..=u64::MAX)
}

/// The part of a trace that is read.
#[derive(Debug, Args, Clone, Default)]
#[command(next_help_heading = "Reading the trace")]
pub(crate) struct SpanArgs {
    /// Only what came at this time after the trace's first request, or later: 90s, 10m, 1h30m
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Only what came before this time
    #[arg(
        long,
        visible_alias = "until",
        value_name = "TIME",
        allow_hyphen_values = true
    )]
    pub(crate) to: Option<String>,
    /// Only the window of this length with most requests, such as 1h
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) busiest: Option<String>,
}

/// The same where `--to` names the format.
#[derive(Debug, Args, Clone, Default)]
#[command(next_help_heading = "Reading the trace")]
pub(crate) struct ConvertSpanArgs {
    /// Only what came at this time after the trace's first request, or later: 90s, 10m, 1h30m
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Only what came before this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) until: Option<String>,
    /// Only the window of this length with most requests, such as 1h
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) busiest: Option<String>,
}

/// Units of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeUnitWord {
    /// Seconds
    S,
    /// Milliseconds
    Ms,
    /// Microseconds
    Us,
    /// Nanoseconds
    Ns,
}

/// Meanings of the waits in fio iologs of version 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FioWaitWord {
    /// Milliseconds since the start
    AbsMs,
    /// Microseconds since the previous wait
    RelUs,
}

/// What is done with coarse time stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub(crate) enum SpreadWord {
    /// At equal distances over the tick
    #[default]
    Even,
    /// At random places of the tick, from the seed
    Poisson,
    /// As stamped
    None,
}

/// `nearslot inspect`.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Trace files; several are one trace; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) span: SpanArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// Warn of addresses beyond this drive
    #[arg(long, value_name = "DRIVE")]
    pub(crate) drive: Option<String>,
    /// Also write a self-contained HTML page: load and addresses over time, sizes, gaps, and what a
    /// cache would hold
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: TextFormat,
}

/// `nearslot hitrate`.
#[derive(Debug, Args)]
pub(crate) struct HitrateArgs {
    /// Trace files; several are one trace; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) span: SpanArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// Caches: names or name:knob=value
    #[arg(
        long,
        value_name = "CACHES",
        value_delimiter = ',',
        default_value = "lru,arc,sieve,s3_fifo,optimal"
    )]
    pub(crate) cache: Vec<String>,
    /// Sizes: shares of what the trace asks for, bytes or lines, as 1%, 512MiB, 1000lines [default:
    /// 0.1%,1%,10%, those that are large enough]
    #[arg(
        long,
        value_name = "SIZES",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub(crate) size: Option<Vec<String>>,
    /// What is cached as one: pages of so many bytes, or requests by their first byte
    #[arg(long, value_name = "UNIT", default_value = "4096")]
    pub(crate) unit: String,
    /// Which requests count
    #[arg(long, value_name = "WHICH", default_value = "all")]
    pub(crate) count: CountWord,
    /// Look at a sample of so many lines, with all their requests, as 1%: faster, and less memory
    #[arg(long, value_name = "SHARE")]
    pub(crate) sample: Option<String>,
    /// Also count requests of which at least one page was missed
    #[arg(long)]
    pub(crate) per_request: bool,
    /// Also write a self-contained HTML page with the curves; of 12 sizes if none is given
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    /// Draws the sample; another one draws other lines
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "sample")]
    pub(crate) seed: u64,
    /// How to print it: table, json, csv, parquet [default: as the name of --output ends, else
    /// table]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Write it to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Which requests of a trace a cache is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CountWord {
    /// Reads and writes alike
    All,
    /// Reads alone
    Reads,
}

/// Text or JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextFormat {
    /// For people
    #[value(alias = "table")]
    Text,
    /// For programs
    Json,
}

/// The load and what it runs on.
#[derive(Debug, Args, Default)]
pub(crate) struct ScenarioArgs {
    /// Trace files (several are one trace; `-` is standard input), or one scenario file (*.toml)
    #[arg(value_name = "TRACE|SCENARIO")]
    pub(crate) input: Vec<PathBuf>,
    /// A synthetic load instead of a trace: name or name:knob=value (see `nearslot list workloads`)
    #[arg(long, value_name = "WORKLOAD", conflicts_with = "input")]
    pub(crate) workload: Option<String>,
    /// The drive: a name of the catalog or the path of a drive's TOML file [default: auto, the
    /// smallest disk of the catalog that was sold since 2005 and holds the load]
    #[arg(long, value_name = "DRIVE")]
    pub(crate) drive: Option<String>,
    #[command(flatten)]
    pub(crate) parts: PartArgs,
    /// How large the caches are that --cache names: bytes, lines, or a share of what the trace asks
    /// for; several are compared
    #[arg(long, value_name = "SIZE")]
    pub(crate) cache_size: Option<String>,
    /// What a write may land in: free space on the track of its home, in its group, or anywhere on
    /// the disk, wherever that is quickest; told is as each write of the trace says in its column
    /// `may_move`. Short for --place offering:within=... (see `nearslot show offering`), over the
    /// drives of --place linear, mirror or stripe. Several are compared, also with the placement
    /// that would do without
    #[arg(long, value_name = "track|group|disk|told")]
    pub(crate) offer: Option<String>,
    /// How arrivals are made of the trace: open, closed, dependent [default: open]
    #[arg(long, value_name = "MODE")]
    pub(crate) replay: Option<String>,
    /// Requests in flight in a closed replay [default: 16]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) depth: Option<String>,
    /// In a closed replay, whether the request that an answer brings comes after or before the
    /// drive chooses its next command: after leaves depth - 1 to choose from, before leaves depth
    /// [default: after]
    #[arg(long, value_name = "WHEN")]
    pub(crate) refill: Option<String>,
    /// Divide arrival times by this [default: 1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) speed: Option<String>,
    /// What is done about addresses beyond the drive: none (an error), wrap, scale, truncate
    /// [default: none]
    #[arg(long, value_name = "HOW")]
    pub(crate) fit: Option<String>,
    /// What is done about a long open load that offers clearly more than the drives can do: stop
    /// (before it is simulated), run [default: stop]
    #[arg(long, value_name = "HOW")]
    pub(crate) overload: Option<String>,
    /// How several devices of a trace are placed: concat (one behind the other on the drive, or on
    /// the array of --place), own-drives (each on a drive of its own)
    #[arg(long, value_name = "HOW")]
    pub(crate) volumes: Option<String>,
    /// Requests cut off the front: auto, a number, a share such as 5%, or those that come in a time
    /// such as 30s [default: auto]
    #[arg(long, value_name = "CUT", allow_hyphen_values = true)]
    pub(crate) warmup: Option<String>,
    /// Seed of everything random [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<String>,
    #[command(flatten)]
    pub(crate) span: SpanArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// Where results go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct OutputArgs {
    /// How to print the summary: table, json, csv, parquet [default: as the name of --output ends,
    /// else table]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Write the summary to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write one self-contained page with plots
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write one row per request to this Parquet file
    #[arg(long, value_name = "FILE")]
    pub(crate) requests: Option<PathBuf>,
    /// Write one row per command of a drive to this Parquet file
    #[arg(long, value_name = "FILE")]
    pub(crate) commands: Option<PathBuf>,
    /// Write the simulated schedule (queued, issued, completed) as a blktrace file for existing
    /// tools; one run only
    #[arg(long, value_name = "FILE")]
    pub(crate) blktrace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
}

/// What every command that writes files has.
#[derive(Debug, Args)]
pub(crate) struct ForceArgs {
    /// Replace files that exist; a file that is read is never replaced
    #[arg(long)]
    pub(crate) force: bool,
}

/// `nearslot run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// The scheduler: name or name:knob=value [default: fcfs]
    #[arg(long, value_name = "SCHED")]
    pub(crate) sched: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `nearslot compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Schedulers to compare, comma-separated; short for --vary sched=... [default:
    /// fcfs,look,mq-deadline,satf where no scenario file is given and nothing else is compared;
    /// else that of the file, or fcfs]
    #[arg(long, value_name = "A,B,C")]
    pub(crate) sched: Option<String>,
    /// Vary a key over values, every combination with the other --vary: depth=1,8,64,
    /// sched.fifo_batch=1,16
    #[arg(long, value_name = "KEY=A,B,C")]
    pub(crate) vary: Vec<String>,
    /// Hold the others against this choice, named by its settings or their values: fcfs,
    /// sched=fcfs, "fcfs place=eager" [default: the first]
    #[arg(long, value_name = "CHOICE")]
    pub(crate) baseline: Option<String>,
    /// Runs at a time [default: one per core]
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<usize>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `nearslot capacity`.
#[derive(Debug, Args)]
pub(crate) struct CapacityArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// What must hold: [read|write] mean|p50|p90|p95|p99|p99.9 < NUMBER us|ms|s; several joined by
    /// `and`, or given again
    #[arg(long, value_name = "OBJECTIVE", required = true)]
    pub(crate) slo: Vec<String>,
    /// What to find: speed, rate, depth, bsu (units of an SPC-1-like load), drives (at most 256)
    /// [default: the speed of a timed replay, the rate or bsu of a synthetic load that has one, the
    /// depth of a closed loop]. Of workloads, those that have the setting `requests` are taken
    #[arg(long, value_name = "WHAT")]
    pub(crate) find: Option<String>,
    /// How far apart the settings are that are tried, in percent [default: 2%]
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    pub(crate) resolution: Option<String>,
    /// Schedulers to hold against each other, comma-separated; short for --vary sched=... [default:
    /// fcfs,look,mq-deadline,satf where no scenario file is given and nothing else is compared;
    /// else that of the file, or fcfs]
    #[arg(long, value_name = "A,B,C")]
    pub(crate) sched: Option<String>,
    /// Vary a key that answers over values, every combination with the other --vary: drive=a,b,
    /// sched.fifo_batch=1,16
    #[arg(long, value_name = "KEY=A,B,C")]
    pub(crate) vary: Vec<String>,
    /// Runs at a time [default: one per core]
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<usize>,
    /// How to print what was found [default: json if the name of --output ends so, else text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<TextFormat>,
    /// Write it to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write one self-contained page with a figure for each objective
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
}

/// `nearslot list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[arg(value_name = "KIND", help = format!("One of {}; all of them when left out", kinds_listed()))]
    pub(crate) kind: Option<String>,
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: TextFormat,
}

/// `nearslot show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A name that `nearslot list` shows (with its kind before it where several kinds have it:
    /// "drive-kind null"), or a drive's file that ends in .toml
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: TextFormat,
}

/// `nearslot convert`.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Trace files; several are one trace; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// What to write: blktrace, fio, parquet
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    #[command(flatten)]
    pub(crate) span: ConvertSpanArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// `nearslot calibrate`.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Trace files whose records tell latencies; several are one trace; `-` is standard input
    #[arg(required_unless_present = "probe", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Time reads of this file or device instead of reading a trace; nothing is written to it
    #[arg(long, value_name = "PATH", conflicts_with_all = ["files", "ReadArgs", "SpanArgs", "capacity"])]
    pub(crate) probe: Option<PathBuf>,
    /// Reads that a probe makes at most, 3000 to 1000000 [default: 6000]
    #[arg(long, value_name = "N", requires = "probe", value_parser = probe_reads, allow_negative_numbers = true)]
    pub(crate) probe_reads: Option<u64>,
    /// Seconds that a probe takes at most, 1 to 86400 [default: 120]
    #[arg(long, value_name = "S", requires = "probe", value_parser = probe_seconds, allow_negative_numbers = true)]
    pub(crate) probe_seconds: Option<u64>,
    /// Write the drive's file here
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    /// What kind of drive to make
    #[arg(long = "as", value_name = "KIND", default_value = "hdd")]
    pub(crate) target: TargetWord,
    /// The disk that fills in what latencies do not tell: a name of the catalog or a drive's TOML
    /// file [default: the smallest disk of the catalog that holds the addresses]
    #[arg(long, value_name = "DRIVE")]
    pub(crate) base: Option<String>,
    /// Blocks of 512 bytes of the drive [default: those of the base; of other kinds, up to the
    /// highest address]
    #[arg(long, value_name = "BLOCKS", value_parser = capacity, allow_negative_numbers = true)]
    pub(crate) capacity: Option<u64>,
    #[command(flatten)]
    pub(crate) span: SpanArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// How to print what was found
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: TextFormat,
}

/// Kinds of drives that can be calibrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetWord {
    /// A disk with a moving arm
    Hdd,
    /// Tables of measured service times
    Empirical,
    /// A volume with limits of IOPS and bytes a second
    Capped,
}

/// `nearslot validate`.
#[derive(Debug, Subcommand)]
pub(crate) enum ValidateCommand {
    /// Compare with DiskSim's tables and a real drive's measurements: a folder per drive
    Disksim(ValidateArgs),
}

/// `nearslot validate disksim`.
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Folder with drive.csv, zones.csv, seek_curve.csv and the expected files
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: TextFormat,
}

/// `nearslot doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: TextFormat,
}
