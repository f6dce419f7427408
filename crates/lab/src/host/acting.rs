//! A process at work: its steps one after another, until it waits for something.

use std::sync::Arc;

use nearslot_core::op::Op;
use nearslot_core::pages::PAGE_BYTES;
use nearslot_core::units::{Duration, Instant};

use super::actor::{Actor, Doing};
use super::pacing::LEAST_PAUSE;
use super::read_ahead::Span;
use super::told::{Access, At, Step, Think};
use super::{Asker, Event, Machine, Purpose};

/// What a step costs a processor at least.
const STEP: Duration = Duration::from_us(1);
/// A process that only computes is looked at again after so long.
const QUANTUM: Duration = Duration::from_ms(1);

impl Machine {
    /// A process that nobody is to end before begins when it is told to.
    pub(super) fn start_if_free(&mut self, actor: usize, now: Instant) {
        let told = self.actors[actor].told;
        let waits = self.ties.after[told]
            .iter()
            .any(|other| self.unended[*other] > 0);
        if self.actors[actor].began.is_none() && !waits {
            let at = now.max(Instant::ZERO + self.told[told].start);
            self.actors[actor].began = Some(at);
            self.note(at, Event::Wake(actor));
        }
    }

    pub(super) fn asker(&self, actor: usize) -> Asker {
        let Actor { stream, told, .. } = self.actors[actor];
        Asker {
            stream,
            priority: self.told[told].priority,
            sync: true,
        }
    }

    /// A process goes on until it waits.
    pub(super) fn act(&mut self, actor: usize, now: Instant) {
        while !self.over {
            if self.actors[actor].computed >= QUANTUM && self.pay(actor, now) {
                return;
            }
            let goes_on = match self.actors[actor].doing {
                Doing::Choose => self.choose(actor, now),
                Doing::Round => self.begin_round(actor, now),
                Doing::Read { page, end } => self.read(actor, now, (page, end)),
                Doing::Write { page, end } => self.write(actor, now, (page, end)),
                Doing::Held { again, page, end } => self.held(actor, now, again, (page, end)),
                Doing::Start => self.go_on_starting(actor, now),
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Sleeps for what it has computed; false if there is nothing to sleep for.
    pub(super) fn pay(&mut self, actor: usize, now: Instant) -> bool {
        let computed = std::mem::replace(&mut self.actors[actor].computed, Duration(0));
        if computed.0 == 0 {
            return false;
        }
        self.sleep(actor, now + computed);
        true
    }

    fn sleep(&mut self, actor: usize, until: Instant) {
        self.note(until, Event::Wake(actor));
    }

    /// Begins to do its steps once more, when it is time; false if it sleeps until then, or has
    /// ended.
    fn begin_round(&mut self, actor: usize, now: Instant) -> bool {
        if self.pay(actor, now) {
            return false;
        }
        let one = &mut self.actors[actor];
        let process = &self.told[one.told];
        let began = one.began.expect("it has begun");
        if one.step == process.steps.len() {
            let took = now.since(one.round_began);
            one.found.round(took);
            one.step = 0;
            let ends = process.times == Some(one.found.rounds);
            if let Some(every) = process.every {
                one.found.times.past(took, every, ends);
            }
            if ends {
                self.end_actor(actor, now);
                return false;
            }
            if let Some(every) = process.every {
                let slots = now.since(began).0.div_ceil(every.0);
                let next = began + Duration(slots * every.0);
                one.round_began = next;
                one.doing = Doing::Choose;
                self.sleep(actor, next);
                return false;
            }
        }
        one.round_began = now;
        one.doing = Doing::Choose;
        true
    }

    fn end_actor(&mut self, actor: usize, now: Instant) {
        self.actors[actor].ended = Some(now);
        self.unended[self.actors[actor].told] -= 1;
        self.awaited = self.awaited.map(|awaited| awaited - 1);
        if self.awaited == Some(0) && !self.counting {
            self.over = true;
            return;
        }
        for other in 0..self.actors.len() {
            self.start_if_free(other, now);
        }
    }

    /// Begins the next step; false if it waits.
    fn choose(&mut self, actor: usize, now: Instant) -> bool {
        let one = &mut self.actors[actor];
        let Some(step) = self.told[one.told].steps.get(one.step) else {
            one.doing = Doing::Round;
            return true;
        };
        let step = match step {
            // Nearly all steps are these, and need no copy.
            Step::Read(access) => return self.begin_access(actor, now, *access, Op::Read),
            Step::Write(access) => return self.begin_access(actor, now, *access, Op::Write),
            other => other.clone(),
        };
        match step {
            Step::Read(_) | Step::Write(_) => {}
            Step::Think(Think::Fixed(time)) => one.computed += time,
            Step::Think(Think::Mean(mean)) => {
                let time = one.rng.exponential(mean.0 as f64);
                one.computed += Duration(libm::round(time) as u64);
            }
            Step::Start(_) | Step::Fsync | Step::Sync if self.pay(actor, now) => return false,
            Step::Start(_) | Step::Fsync | Step::Sync => {}
        }
        let one = &mut self.actors[actor];
        one.step += 1;
        one.computed += STEP;
        match step {
            Step::Start(ref startup) => self.start(actor, now, Arc::clone(startup)),
            Step::Fsync => self.write_own(now, actor),
            Step::Sync => self.sync_all(now, actor),
            Step::Read(_) | Step::Write(_) | Step::Think(_) => {}
        }
        // It is woken when all is written.
        !matches!(step, Step::Fsync | Step::Sync)
    }

    /// Reads or writes once more, or goes to the next step when that was done often enough.
    fn begin_access(&mut self, actor: usize, now: Instant, access: Access, op: Op) -> bool {
        let one = &mut self.actors[actor];
        if *one.left.get_or_insert(access.times) == 0 {
            (one.left, one.step) = (None, one.step + 1);
            return true;
        }
        if one.paid_until > now {
            let until = one.paid_until.max(now + one.computed);
            one.computed = Duration(0);
            self.sleep(actor, until);
            return false;
        }
        if access.direct && self.pay(actor, now) {
            return false;
        }
        let one = &mut self.actors[actor];
        let pages = self.files.all[one.file].pages;
        let page = match access.at {
            At::Random => one.rng.below(pages - access.pages + 1),
            At::Next if one.at + access.pages > pages => 0,
            At::Next => one.at,
        };
        let end = page + access.pages;
        (one.at, one.left) = (end, one.left.map(|left| left - 1));
        one.computed += STEP;
        if let Some(rate) = self.told[one.told].rate {
            let took = access.pages as f64 * PAGE_BYTES as f64 * 1e9 / rate as f64;
            one.paid_until = one.paid_until.max(now) + Duration(took as u64);
        }
        if access.direct {
            let place = (one.file, page, access.pages);
            let by = self.asker(actor);
            self.ask_pages(now, op, place, by, Purpose::Direct { process: actor });
            return false;
        }
        one.doing = match op {
            Op::Write => Doing::Write { page, end },
            _ => Doing::Read { page, end },
        };
        true
    }

    /// What a process waited for was read or written.
    pub(super) fn moved(&mut self, now: Instant, actor: usize, bytes: u64, (op, well): (Op, bool)) {
        match well {
            true => self.actors[actor].found.moved(op, bytes),
            false => self.actors[actor].found.failed += 1,
        }
        self.actors[actor].go_on();
        self.act(actor, now);
    }

    /// Reads the next page; false if it waits.
    fn read(&mut self, actor: usize, now: Instant, (page, end): (u64, u64)) -> bool {
        if page == end {
            self.actors[actor].go_on();
            return true;
        }
        let (most, file) = (self.settings.read_ahead, self.actors[actor].file);
        let bits = &self.files.all[file];
        let (present, coming) = (bits.present.has(page), bits.coming.has(page));
        if present || coming {
            if self.actors[actor].window.is_mark(page) && self.pay(actor, now) {
                return false;
            }
            if let Some(span) = self.actors[actor].window.hit(page, most) {
                self.bring(actor, now, span);
            }
        } else {
            if self.pay(actor, now) {
                return false;
            }
            let span = self.actors[actor].window.miss(page, end - page, most);
            self.bring(actor, now, span);
            // The window may lie behind a page that could not be read, or is no longer there.
            let only = Span {
                first: page,
                pages: 1,
            };
            self.bring(actor, now, only);
        }
        if !present {
            if !self.pay(actor, now) {
                self.files.all[file].waiting.push((page, actor));
            }
            return false;
        }
        self.files.touch(file, page);
        self.copied(actor);
        self.actors[actor].found.moved(Op::Read, PAGE_BYTES);
        self.actors[actor].doing = Doing::Read {
            page: page + 1,
            end,
        };
        true
    }

    fn copied(&mut self, actor: usize) {
        let one = &mut self.actors[actor];
        one.computed += self.settings.copy;
    }

    /// Asks for those pages of a span that are neither there nor on their way.
    fn bring(&mut self, actor: usize, now: Instant, span: Span) {
        let (file, by) = (self.actors[actor].file, self.asker(actor));
        let end = (span.first + span.pages).min(self.files.all[file].pages);
        let mut page = span.first;
        while page < end {
            let bits = &self.files.all[file];
            let known = |page: u64| bits.present.has(page) || bits.coming.has(page);
            if known(page) {
                page += 1;
                continue;
            }
            let most = (page + self.settings.longest).min(end);
            let last = (page..most).find(|page| known(*page)).unwrap_or(most);
            let pages = last - page;
            for one in page..last {
                self.files.bring(file, one, true);
            }
            let purpose = Purpose::Fill {
                file,
                first: page,
                pages,
            };
            self.ask_pages(now, Op::Read, (file, page, pages), by, purpose);
            page = last;
        }
    }

    /// Pages of a file were read; who waited for one of them goes on. If they could not be read,
    /// each page that is waited for is tried by itself, and who waits for one that was goes on
    /// behind it.
    pub(super) fn filled(
        &mut self,
        now: Instant,
        (file, first, pages): (usize, u64, u64),
        well: bool,
    ) {
        for page in first..first + pages {
            self.files.came(file, page, well);
        }
        let came = first..first + pages;
        let mut woken = std::mem::take(&mut self.woken);
        self.files.all[file].waiting.retain(|(page, actor)| {
            let wakes = came.contains(page);
            if wakes {
                woken.push((*page, *actor));
            }
            !wakes
        });
        for (page, actor) in woken.drain(..) {
            if !well && pages > 1 {
                self.try_alone(now, (file, page), actor);
                continue;
            }
            let one = &mut self.actors[actor];
            if let (false, Doing::Read { page, end }) = (well, one.doing) {
                one.found.failed += 1;
                one.doing = Doing::Read {
                    page: page + 1,
                    end,
                };
            }
            self.act(actor, now);
        }
        self.woken = woken;
    }

    /// Asks for a page that was in a request which failed.
    fn try_alone(&mut self, now: Instant, (file, page): (usize, u64), actor: usize) {
        self.files.all[file].waiting.push((page, actor));
        if !self.files.all[file].coming.has(page) {
            self.files.bring(file, page, true);
            let purpose = Purpose::Fill {
                file,
                first: page,
                pages: 1,
            };
            let by = self.asker(actor);
            self.ask_pages(now, Op::Read, (file, page, 1), by, purpose);
        }
    }

    /// Writes the next page to memory; false if it is held.
    fn write(&mut self, actor: usize, now: Instant, (page, end): (u64, u64)) -> bool {
        if page == end {
            self.actors[actor].go_on();
            return true;
        }
        self.soil(actor, now, page);
        let next = Doing::Write {
            page: page + 1,
            end,
        };
        self.actors[actor].doing = next;
        self.look_at_limits(actor, (page + 1, end));
        true
    }

    /// A page is written to memory.
    pub(super) fn soil(&mut self, actor: usize, now: Instant, page: u64) {
        let (file, stream) = (self.actors[actor].file, self.actors[actor].stream);
        let clean = self.files.soil((file, page), now, stream);
        self.actors[actor].soiled += u64::from(clean);
        self.copied(actor);
        self.actors[actor].found.moved(Op::Write, PAGE_BYTES);
    }

    /// The next page in a row that it may write to.
    pub(super) fn next_page(&mut self, actor: usize) -> u64 {
        let one = &mut self.actors[actor];
        let page = if one.at < self.files.all[one.file].pages {
            one.at
        } else {
            0
        };
        one.at = page + 1;
        page
    }

    /// It looks at the limits if it is to, and goes on if it is not held; false if it sleeps.
    fn held(&mut self, actor: usize, now: Instant, again: bool, (page, end): (u64, u64)) -> bool {
        if self.pay(actor, now) {
            return false;
        }
        if again && self.is_held(actor, now, (page, end)) {
            return false;
        }
        self.actors[actor].doing = Doing::Write { page, end };
        if page == end {
            self.actors[actor].go_on();
        }
        true
    }

    /// Whether what it has dirtied makes it sleep.
    fn is_held(&mut self, actor: usize, now: Instant, (page, end): (u64, u64)) -> bool {
        if self.files.dirty > self.pacing.background {
            self.write_in_background(now);
        }
        let (dirty, one) = (self.dirty(), &mut self.actors[actor]);
        let pages = std::mem::replace(&mut one.soiled, 0);
        let Some((pause, again)) = self.pacing.pause(now, pages, dirty) else {
            one.owed = Duration(0);
            return false;
        };
        one.owed += pause;
        if one.owed < LEAST_PAUSE && !again {
            return false;
        }
        let owed = std::mem::replace(&mut one.owed, Duration(0));
        one.doing = Doing::Held { again, page, end };
        one.found.held += owed;
        self.sleep(actor, now + owed);
        true
    }

    /// If it has dirtied enough, it looks at the limits before it goes on with the rest of what it
    /// writes.
    pub(super) fn look_at_limits(&mut self, actor: usize, (page, end): (u64, u64)) {
        if self.actors[actor].soiled >= self.pacing.allotment(self.dirty()) {
            self.actors[actor].doing = Doing::Held {
                again: true,
                page,
                end,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::machine;

    fn is_held(machine: &mut Machine, soiled: u64) -> bool {
        machine.actors[0].soiled = soiled;
        machine.is_held(0, Instant(2), (5, 9))
    }

    /// At 1,750 dirty pages of 2,000 the rate is the base rate: 32 pages are 1.31 ms, 200 are 8.19
    /// ms.
    #[test]
    fn what_is_owed_adds_up_and_is_slept_from_10_ms_on() {
        let mut machine = machine(1_750);
        assert!(!is_held(&mut machine, 32));
        let one = &machine.actors[0];
        assert_eq!((one.owed.0 / 1_000, one.soiled), (1_310, 0));
        assert!(!is_held(&mut machine, 200));
        assert_eq!(machine.actors[0].owed.0 / 1_000, 9_502);
        assert!(is_held(&mut machine, 32));
        let one = &machine.actors[0];
        let (again, page, end) = (false, 5, 9);
        assert_eq!(one.doing, Doing::Held { again, page, end });
        assert_eq!((one.owed.0, one.found.held.0 / 1_000), (0, 10_813));
        // More than the background limit is dirty, so the flusher has begun.
        assert!(machine.files.leaving > 0);
    }

    #[test]
    fn who_is_free_owes_nothing() {
        let mut machine = machine(1_500);
        machine.actors[0].owed = Duration::from_ms(5);
        assert!(!is_held(&mut machine, 32));
        assert_eq!(machine.actors[0].owed, Duration(0));
    }

    #[test]
    fn who_stands_at_the_limit_looks_again_when_it_wakes() {
        let mut machine = machine(1_999);
        assert!(!is_held(&mut machine, 1));
        machine.soil(0, Instant(2), 1_999);
        assert_eq!(machine.actors[0].soiled, 1);
        machine.actors[0].computed = Duration(0);
        assert!(is_held(&mut machine, 1));
        let (again, page, end) = (true, 5, 9);
        assert_eq!(machine.actors[0].doing, Doing::Held { again, page, end });
        assert!(!machine.held(0, Instant(3), true, (5, 9)));
        assert_eq!(machine.actors[0].doing, Doing::Held { again, page, end });
    }

    /// 1,750 are dirty: it may dirty 32 until it looks. A page that is dirty already does not
    /// count.
    #[test]
    fn who_has_dirtied_its_allotment_looks_at_the_limits() {
        let mut machine = machine(1_750);
        machine.soil(0, Instant(2), 7);
        assert_eq!(machine.actors[0].soiled, 0);
        machine.actors[0].soiled = 31;
        machine.look_at_limits(0, (5, 9));
        assert_eq!(machine.actors[0].doing, Doing::Round);
        machine.actors[0].soiled = 32;
        machine.look_at_limits(0, (5, 9));
        let (again, page, end) = (true, 5, 9);
        assert_eq!(machine.actors[0].doing, Doing::Held { again, page, end });
    }
}
