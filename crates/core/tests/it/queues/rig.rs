//! A stack over one drive of the tests, with a scheduler of the tests, in virtual time.

use nearslot_core::config::PartConfig;
use nearslot_core::contract::{Drive, Scheduler};
use nearslot_core::registry::VolumeEnv;
use nearslot_core::request::{Reply, Request};
use nearslot_core::stack::{Action, Input, Lane, Stack};
use nearslot_core::units::Instant;

use crate::support::{NULL, blueprint};

/// A stack at work.
pub(crate) struct Rig {
    pub(crate) stack: Stack,
    drive: Box<dyn Drive>,
    pub(crate) now: Instant,
    pub(crate) replies: Vec<(Instant, Reply)>,
}

impl Rig {
    /// Over a drive that takes 5 ms for each command.
    pub(crate) fn new(scheduler: Box<dyn Scheduler>) -> Rig {
        let blueprint = blueprint(NULL);
        let linear: PartConfig = "linear".parse().expect("a part's name");
        let place = linear.build(&VolumeEnv {
            seed: 1,
            label: "place",
            blueprint: &*blueprint,
            identity: "of the test",
            memo: &nearslot_core::registry::Forgetful,
            survivors: None,
        });
        let lane = Lane {
            scheduler,
            oracle: blueprint.exact(),
            capacity: blueprint.capacity(),
        };
        Rig {
            stack: Stack::new(place.expect("it has no knobs"), vec![lane]),
            drive: blueprint.drive(),
            now: Instant::ZERO,
            replies: Vec::new(),
        }
    }

    /// A request arrives now.
    pub(crate) fn submit(&mut self, request: Request) {
        self.give(Input::Submit(request));
    }

    /// Something happens to the stack, which does what it wants.
    pub(crate) fn give(&mut self, input: Input) {
        self.stack.input(self.now, input);
        while let Some(action) = self.stack.poll() {
            match action {
                Action::Start { command, .. } => self.drive.submit(self.now, &command),
                Action::Reply(reply) => self.replies.push((self.now, reply)),
                other => panic!("no placement here wants {other:?}"),
            }
        }
        self.stack.audit();
    }

    /// Lets time pass until all is answered.
    pub(crate) fn settle(&mut self) {
        while let Some(due) = self.drive.next_event() {
            self.now = due;
            if let Some(done) = self.drive.advance(due) {
                self.give(Input::Done(nearslot_core::ids::DriveId(0), done));
            }
        }
        assert_eq!(self.stack.pending(), 0, "so many are never answered");
    }
}
