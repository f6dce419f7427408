//! The drive's true parameters, seen by an eye that trembles: rotational position with an error.
//!
//! A host that predicts where the platter is (from a model and the completions it sees) is off by
//! some microseconds. Here every wait for the platter is believed to be longer or shorter by a
//! normally distributed error. It wraps as turns do: what is believed to come by just in time may
//! just have passed, and since the drive charges the truth, a miss costs a revolution. Movement of
//! the arm is known exactly, so `seek_at_least` remains a lower bound.
//!
//! The error is a function of seed, track and decision (how many commands were sent before), not of
//! the order of questions, so a search that tries fewer places sees the same prices as one that
//! tries all. If nothing turns there is no latency to misjudge, and the oracle is `exact`. Source
//! for the size of such errors: Yu, Gum, Chen, Wang, Li, Krishnamurthy and Anderson, "Trading
//! capacity for performance in a disk array", OSDI 2000, section 3 (head tracking in software).
//! Cost: a normal deviate per price.

use crate::contract::{ARM, Arm, Geometry, Oracle};
use crate::freemap::FreeMap;
use crate::io::{Command, DriveDone};
use crate::offer::Legal;
use crate::op::Op;
use crate::position::{
    ArmPosition, Arrival, Candidate, Choice, FreePlace, Landing, Place, Predicted, Search, Served,
};
use crate::registry::{DriveEnv, Knob, Knobs, Spec};
use crate::rng::{Rng, mix, normal_from_bits};
use crate::search;
use crate::sorted::Sorted;
use crate::units::{Blocks, Duration, Instant, Pba};

struct Noisy {
    /// Standard deviation of the error, in nanoseconds.
    sigma_ns: f64,
    revolution: Duration,
    key: u64,
    truth: Box<dyn Arm>,
    /// Commands sent so far.
    epoch: u64,
}

impl Noisy {
    fn build(knobs: &Knobs, env: &DriveEnv<'_>) -> Box<dyn Oracle> {
        let (arm, revolution) = (env.blueprint.exact_arm(), env.blueprint.revolution());
        let (Some(truth), Some(revolution)) = (arm, revolution) else {
            return env.blueprint.exact();
        };
        Box::new(Noisy {
            sigma_ns: knobs.number("sigma_us") * 1e3,
            revolution,
            key: Rng::stream(env.seed, env.label).bits(),
            truth,
            epoch: 0,
        })
    }

    /// How much longer than in truth the waits on a track are believed to be at this decision.
    fn error_ns(&self, track: ArmPosition) -> i64 {
        let decision = mix(self.key ^ self.epoch);
        let first = mix(decision ^ (u64::from(track.cylinder) << 32 | u64::from(track.surface)));
        libm::round(self.sigma_ns * normal_from_bits(first, mix(first))) as i64
    }

    /// What a true wait on a track is believed to be.
    fn believed(&self, wait: Duration, track: ArmPosition) -> Duration {
        let wait = wait.0.cast_signed() + self.error_ns(track);
        let turn = self.revolution.0.cast_signed();
        Duration(wait.rem_euclid(turn).cast_unsigned())
    }
}

impl Oracle for Noisy {
    fn advance(&mut self, now: Instant) {
        self.truth.advance(now);
    }

    fn locate(&self, at: Pba) -> Place {
        self.truth.locate(at)
    }

    fn positioning_time(&self, now: Instant, op: Op, place: &Place, len: Blocks) -> Duration {
        let track = place.arm_position();
        let truth = self.truth.positioning_time(now, op, place, len);
        let seek = self.truth.seek_time(now, op, track, len);
        seek + self.believed(truth - seek, track)
    }

    fn service_time(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Duration {
        self.predict(now, op, at, len).end.since(now)
    }

    fn nearest(&self, now: Instant, waiting: &Sorted<Candidate>) -> Option<Choice> {
        search::nearest(self, now, waiting)
    }

    fn nearest_free(&self, search: &Search, free: &FreeMap) -> Option<FreePlace> {
        search::free::by_track(self, search, free)
    }

    fn nearest_offered(&self, now: Instant, before: Instant, legal: &Legal<'_>) -> Option<Landing> {
        search::offered::by_track(self, self.geometry()?, (now, before), legal)
    }

    fn buffered(&self, now: Instant, op: Op, tell: &mut dyn FnMut(Served)) {
        self.truth.buffered(now, op, tell);
    }

    fn arm(&self) -> Option<&dyn Arm> {
        Some(self)
    }

    fn started(&mut self, now: Instant, command: &Command) {
        self.epoch += 1;
        self.truth.started(now, command);
    }

    fn observed(&mut self, now: Instant, done: &DriveDone) {
        self.truth.observed(now, done);
    }
}

impl Arm for Noisy {
    fn position(&self) -> ArmPosition {
        self.truth.position()
    }

    fn geometry(&self) -> Option<&dyn Geometry> {
        self.truth.geometry()
    }

    fn writes_from(&self) -> ArmPosition {
        self.truth.writes_from()
    }

    fn seek_at_least(&self, distance: u32) -> Duration {
        self.truth.seek_at_least(distance)
    }

    fn write_at_least(&self, distance: u32) -> Duration {
        self.truth.write_at_least(distance)
    }

    fn seek_time(&self, now: Instant, op: Op, to: ArmPosition, len: Blocks) -> Duration {
        self.truth.seek_time(now, op, to, len)
    }

    fn predict(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Predicted {
        self.truth.predict(now, op, at, len)
    }

    /// As in truth: what follows on an access is judged when its own time comes.
    fn positioning_time_after(&self, access: &Predicted, op: Op, place: &Place) -> Duration {
        self.truth.positioning_time_after(access, op, place)
    }

    fn seek_at_least_after(&self, distance: u32) -> Duration {
        self.truth.seek_at_least_after(distance)
    }

    fn angle_on_arrival(
        &self,
        now: Instant,
        late: i64,
        to: ArmPosition,
        len: Blocks,
    ) -> Option<Arrival> {
        // Two nanoseconds less, so that rounding cannot make it a slot too early.
        let late = late + self.error_ns(to) - 2;
        self.truth.angle_on_arrival(now, late, to, len)
    }

    fn ends_where_it_writes(&self) -> bool {
        false
    }
}

pub(super) static SPEC: Spec<dyn Oracle> = Spec {
    name: "noisy",
    aliases: &[],
    summary: "true parameters, rotational position with a normally distributed error",
    source: "a host that tracks the head in software, as in Yu and others, OSDI 2000",
    knobs: &[Knob::number(
        "sigma_us",
        100.0,
        0.0..=1e6,
        "standard deviation of the error of a rotational wait, in microseconds; 0 is exact",
    )],
    measures: &[],
    asks: &[ARM],
    prepared: false,
    promises: "",
    build: |knobs, env| Ok(Noisy::build(knobs, env)),
};
