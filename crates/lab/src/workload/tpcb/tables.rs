//! The tables: which page a transaction changes, which pages are dirty, and which of them go home.
//!
//! A branch has 100,000 accounts of 100 bytes, ten tellers and a row of its own; a transaction
//! appends 50 bytes to the history. That makes 40 rows and 81 entries a page of 4 KiB. Pages of a
//! kind lie in a row: accounts, tellers, branches, history, which has as much room as the run
//! needs.
//!
//! What is dirty stays in memory until it is old, or until the journal needs the room of its
//! commit. Then it goes home in order of address, around and around. A page that is changed while
//! it goes home is dirty still.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use nearslot_core::rng::Rng;
use nearslot_core::units::{Duration, Instant};

const ACCOUNTS_OF_BRANCH: u64 = 100_000;
const TELLERS_OF_BRANCH: u64 = 10;
const ROWS_OF_PAGE: u64 = 40;
const ENTRIES_OF_PAGE: u64 = 81;

/// Pages of the accounts of a branch.
const PAGES_OF_BRANCH: u64 = ACCOUNTS_OF_BRANCH / ROWS_OF_PAGE;

/// A page that is not at home as it is in memory.
#[derive(Clone, Copy)]
struct Dirty {
    /// Since when.
    since: Instant,
    /// The last commit that it was part of.
    commit: u64,
    /// The one whose version is on its way home.
    going: Option<u64>,
}

pub(super) struct Tables {
    branches: u64,
    /// How long a page stays dirty.
    age: Duration,
    dirty: BTreeMap<u64, Dirty>,
    /// Since when pages are dirty, in order.
    queue: VecDeque<(Instant, u64)>,
    /// Pages that are to go home, and where the last one lies.
    due: BTreeSet<u64>,
    swept: u64,
    /// Pages of commits up to this one are due.
    forced: Option<u64>,
}

impl Tables {
    pub(super) fn new(branches: u64, age: Duration) -> Tables {
        Tables {
            branches,
            age,
            dirty: BTreeMap::new(),
            queue: VecDeque::new(),
            due: BTreeSet::new(),
            swept: 0,
            forced: None,
        }
    }

    /// Pages of tables of so many branches after so many transactions.
    pub(super) fn pages(branches: u64, transactions: u64) -> u64 {
        Tables::history(branches) + transactions.div_ceil(ENTRIES_OF_PAGE)
    }

    /// The first page of the history.
    fn history(branches: u64) -> u64 {
        let tellers = (branches * TELLERS_OF_BRANCH).div_ceil(ROWS_OF_PAGE);
        branches * PAGES_OF_BRANCH + tellers + branches.div_ceil(ROWS_OF_PAGE)
    }

    /// The page of an account.
    pub(super) fn account(&self, rng: &mut Rng) -> u64 {
        rng.below(self.branches * ACCOUNTS_OF_BRANCH) / ROWS_OF_PAGE
    }

    /// The other pages that a transaction changes, the `number`th of all: of a teller, its branch,
    /// and the history.
    pub(super) fn others(&self, rng: &mut Rng, number: u64) -> [u64; 3] {
        let teller = rng.below(self.branches * TELLERS_OF_BRANCH);
        let tellers = self.branches * PAGES_OF_BRANCH;
        let branches = tellers + (self.branches * TELLERS_OF_BRANCH).div_ceil(ROWS_OF_PAGE);
        [
            tellers + teller / ROWS_OF_PAGE,
            branches + teller / TELLERS_OF_BRANCH / ROWS_OF_PAGE,
            Tables::history(self.branches) + number / ENTRIES_OF_PAGE,
        ]
    }

    /// Whether a page is in memory since it is dirty.
    pub(super) fn has(&self, page: u64) -> bool {
        self.dirty.contains_key(&page)
    }

    /// A page is part of a commit; the earlier commit that does not need it any more.
    pub(super) fn committed(&mut self, now: Instant, page: u64, commit: u64) -> Option<u64> {
        let Some(dirty) = self.dirty.get_mut(&page) else {
            let going = None;
            let since = now;
            let dirty = Dirty {
                since,
                commit,
                going,
            };
            self.dirty.insert(page, dirty);
            self.queue.push_back((now, page));
            return None;
        };
        let before = std::mem::replace(&mut dirty.commit, commit);
        if dirty.going == Some(before) {
            // What goes home is an older version from now on.
            dirty.since = now;
            self.queue.push_back((now, page));
        }
        Some(before)
    }

    /// Pages that are old by now are due.
    pub(super) fn look(&mut self, now: Instant) {
        while let Some((since, page)) = self.queue.front().copied() {
            if since + self.age > now {
                break;
            }
            self.queue.pop_front();
            if self
                .dirty
                .get(&page)
                .is_some_and(|dirty| dirty.since == since)
            {
                self.due.insert(page);
            }
        }
    }

    /// Pages of commits up to this one are due; looks for them once.
    pub(super) fn force(&mut self, oldest: u64, commit: u64) {
        if self.forced.is_some_and(|forced| forced >= oldest) {
            return;
        }
        self.forced = Some(commit);
        let of = self
            .dirty
            .iter()
            .filter(|(_, dirty)| dirty.commit <= commit);
        self.due.extend(of.map(|(page, _)| *page));
    }

    /// The next page that goes home.
    pub(super) fn next(&mut self) -> Option<u64> {
        loop {
            let ahead = self.due.range(self.swept..).next();
            let page = *ahead.or_else(|| self.due.first())?;
            self.due.remove(&page);
            self.swept = page;
            if let Some(dirty) = self.dirty.get_mut(&page)
                && dirty.going.is_none()
            {
                dirty.going = Some(dirty.commit);
                return Some(page);
            }
        }
    }

    /// A page is at home, unless it was changed meanwhile; the commit that does not need it any
    /// more.
    pub(super) fn home(&mut self, page: u64) -> Option<u64> {
        let dirty = self.dirty.get_mut(&page).expect("it was on its way home");
        let went = dirty.going.take();
        if went != Some(dirty.commit) {
            return None;
        }
        self.dirty.remove(&page);
        went
    }

    /// A page could not be written at its home: it is tried again when it is old.
    pub(super) fn failed(&mut self, now: Instant, page: u64) {
        let dirty = self.dirty.get_mut(&page).expect("it was on its way home");
        dirty.going = None;
        dirty.since = now;
        self.queue.push_back((now, page));
    }
}
