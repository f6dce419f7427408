//! The drive's true parameters, seen by an eye that trembles: rotational position with an error.
//!
//! A host that predicts where the platter is (from a model and the completions it sees) is off by some microseconds.
//! Here every wait for the platter is believed to be longer or shorter by a normally distributed error. It
//! wraps as turns do: what is believed to come by just in time may just have passed, and since the drive charges the
//! truth, a miss costs a revolution. Movement of the arm is known exactly, so `reach` remains a lower bound.
//!
//! The error of a place is a function of seed, place and decision (how many commands were sent before), not of the
//! order of questions, so a search that tries fewer places sees the same prices as one that tries all. On a drive
//! where nothing turns there is no wait to misjudge. Source for the size of such errors: Yu, Gum, Chen, Wang, Li,
//! Krishnamurthy and Anderson, "Trading capacity for performance in a disk array", OSDI 2000, section 3 (head
//! tracking in software). Cost: a normal deviate per price, some 40 ns.

use crate::contract::Oracle;
use crate::io::{Command, DriveDone, Head, Place};
use crate::registry::{Env, Knob, Knobs, Spec};
use crate::request::Op;
use crate::rng::{Rng, mix, normal_from_bits};
use crate::units::{Duration, Instant, Pba};

struct Noisy {
    /// Standard deviation of the error, in nanoseconds.
    sigma_ns: f64,
    revolution: Option<Duration>,
    key: u64,
    truth: Box<dyn Oracle>,
    /// Commands sent so far.
    epoch: u64,
}

impl Noisy {
    fn new(knobs: &Knobs, env: &Env<'_>) -> Noisy {
        Noisy {
            sigma_ns: knobs.number("sigma_us") * 1e3,
            revolution: env.blueprint.revolution(),
            key: Rng::stream(env.seed, env.label).bits(),
            truth: env.blueprint.exact(),
            epoch: 0,
        }
    }

    /// How much longer than in truth the wait for a place is believed to be at this decision.
    fn error_ns(&self, place: &Place) -> i64 {
        let decision = mix(self.key ^ self.epoch);
        let where_to = u64::from(place.band) << 32 | u64::from(place.surface);
        let first = mix(mix(decision ^ where_to) ^ u64::from(place.angle.0));
        libm::round(self.sigma_ns * normal_from_bits(first, mix(first))) as i64
    }
}

impl Oracle for Noisy {
    fn advance(&mut self, now: Instant) {
        self.truth.advance(now);
    }

    fn head(&self) -> Head {
        self.truth.head()
    }

    fn bands(&self) -> u32 {
        self.truth.bands()
    }

    fn locate(&self, at: Pba) -> Place {
        self.truth.locate(at)
    }

    fn reach(&self, distance: u32) -> Duration {
        self.truth.reach(distance)
    }

    fn position(&self, now: Instant, op: Op, place: &Place) -> Duration {
        let truth = self.truth.position(now, op, place);
        let Some(turn) = self.revolution else {
            return truth;
        };
        let travel = self.truth.travel(op, place);
        let wait = (truth - travel).0.cast_signed() + self.error_ns(place);
        travel + Duration(wait.rem_euclid(turn.0.cast_signed()).cast_unsigned())
    }

    fn travel(&self, op: Op, place: &Place) -> Duration {
        self.truth.travel(op, place)
    }

    fn started(&mut self, now: Instant, command: &Command) {
        self.epoch += 1;
        self.truth.started(now, command);
    }

    fn observed(&mut self, now: Instant, done: &DriveDone) {
        self.truth.observed(now, done);
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
    build: |knobs, env| Box::new(Noisy::new(knobs, env)),
};
