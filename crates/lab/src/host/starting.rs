//! An application that starts: its requests in their order, each of its processes a stream that
//! nobody knows yet.

use std::sync::Arc;

use nearslot_core::op::Op;
use nearslot_core::units::Instant;

use super::actor::{Doing, Starting, pages_of};
use super::startup::{Item, Kind, Startup};
use super::{Asker, Machine, Purpose};

impl Machine {
    /// A process starts an application.
    pub(super) fn start(&mut self, actor: usize, now: Instant, startup: Arc<Startup>) {
        if self.starts.begin(now, &startup.name) {
            self.begin_to_count(now);
        }
        let first_stream = self.streams.len() as u32;
        for process in &startup.processes {
            self.streams.push(process.clone());
        }
        let one = &mut self.actors[actor];
        one.starting = Some(Box::new(Starting {
            next: 0,
            thought: false,
            first_stream,
            ahead: vec![0; startup.processes.len()],
            waits: false,
            began: now,
            failed_before: one.found.failed,
            startup,
        }));
        one.doing = Doing::Start;
    }

    /// Does the next of its requests; false if it waits.
    pub(super) fn go_on_starting(&mut self, actor: usize, now: Instant) -> bool {
        let one = &mut self.actors[actor];
        let starting = one.starting.as_mut().expect("it starts an application");
        let Some(item) = starting.startup.items.get(starting.next).copied() else {
            if starting.ahead.iter().any(|flying| *flying > 0) {
                starting.waits = true;
                return false;
            }
            let well = one.found.failed == starting.failed_before;
            let name = &starting.startup.name;
            self.starts.end(name, (starting.began, now), well);
            one.starting = None;
            one.doing = Doing::Choose;
            return true;
        };
        if !starting.thought {
            starting.thought = true;
            one.computed += item.think;
        }
        if self.pay(actor, now) {
            return false;
        }
        self.request(actor, now, item)
    }

    /// One request of a start-up; false if it is waited for, or something before it.
    fn request(&mut self, actor: usize, now: Instant, item: Item) -> bool {
        let by = self.process_of(actor, item.process);
        let starting = self.actors[actor]
            .starting
            .as_mut()
            .expect("it starts an application");
        let flying = &mut starting.ahead[usize::from(item.process)];
        if matches!(
            item.kind,
            Kind::Read | Kind::SyncWrite | Kind::Flush | Kind::Fsync
        ) && *flying > 0
        {
            starting.waits = true;
            return false;
        }
        *flying += u64::from(item.kind == Kind::Ahead);
        (starting.next, starting.thought) = (starting.next + 1, false);
        let direct = Purpose::Direct { process: actor };
        match item.kind {
            Kind::Ahead => {
                let purpose = Purpose::Ahead {
                    process: actor,
                    of: item.process,
                };
                self.ask(now, (Op::Read, item.block, item.blocks), by, purpose);
                true
            }
            Kind::Write => {
                for _ in 0..pages_of(item.blocks) {
                    let page = self.next_page(actor);
                    self.soil(actor, now, page);
                }
                self.look_at_limits(actor, (0, 0));
                true
            }
            Kind::Fsync => {
                self.write_own(now, actor);
                false
            }
            Kind::Read | Kind::SyncWrite | Kind::Flush => {
                let place = match item.kind {
                    Kind::Read => (Op::Read, item.block, item.blocks),
                    Kind::SyncWrite => (Op::Write, item.block, item.blocks),
                    _ => (Op::Flush, 0, 0),
                };
                self.ask(now, place, by, direct);
                false
            }
        }
    }

    /// Who asks as that process of the application.
    fn process_of(&self, actor: usize, process: u16) -> Asker {
        let starting = self.actors[actor]
            .starting
            .as_ref()
            .expect("it starts an application");
        Asker {
            stream: starting.first_stream + u32::from(process),
            ..self.asker(actor)
        }
    }

    /// A request ahead was answered.
    pub(super) fn came_ahead(
        &mut self,
        now: Instant,
        (actor, process): (usize, u16),
        bytes: u64,
        well: bool,
    ) {
        let one = &mut self.actors[actor];
        match well {
            true => one.found.moved(Op::Read, bytes),
            false => one.found.failed += 1,
        }
        let starting = one
            .starting
            .as_mut()
            .expect("it waits for what it reads ahead");
        let flying = &mut starting.ahead[usize::from(process)];
        *flying -= 1;
        let none_left = *flying == 0;
        if none_left && std::mem::replace(&mut starting.waits, false) {
            self.act(actor, now);
        }
    }
}
