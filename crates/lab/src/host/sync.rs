//! Who waits for a file: until what of it was dirty, or on its way out, when they began, is
//! written.

use super::bits::Bits;

/// Pages of a file that are dirty, and such as are on their way out.
pub(super) type Pages<'a> = (&'a Bits, &'a Bits);

/// How many pages from a dirty one on are dirty and not on their way out.
pub(super) fn sendable((dirty, leaving): Pages<'_>, first: u64, most: u64) -> u64 {
    let pages = dirty.run(first, most);
    let leaving = (first..first + pages).find(|page| leaving.has(*page));
    leaving.map_or(pages, |page| page - first)
}

/// Who waits for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Flusher,
    Process(usize),
}

/// Somebody waits until what of a file was dirty, or on its way out, is written.
pub(super) struct Sync {
    pub(super) by: By,
    /// Dirty then, and not yet written since.
    marked: Bits,
    /// On their way out then.
    before: Bits,
    /// Behind what it has sent.
    cursor: u64,
    /// Its requests on their way.
    pub(super) flying: u64,
}

impl Sync {
    pub(super) fn of((dirty, leaving): Pages<'_>, by: By) -> Sync {
        Sync {
            by,
            marked: dirty.clone(),
            before: leaving.clone(),
            cursor: 0,
            flying: 0,
        }
    }

    /// The next run of pages that it sends; none if it has to wait, or is done.
    pub(super) fn next(&mut self, file: Pages<'_>, longest: u64) -> Option<(u64, u64)> {
        loop {
            let Some(first) = self.marked.next(self.cursor) else {
                // What was on its way out when the cursor passed is sent now.
                let again = self.flying == 0 && self.cursor > 0 && self.has_more(file);
                if !again {
                    return None;
                }
                self.cursor = 0;
                continue;
            };
            if !file.0.has(first) || file.1.has(first) {
                self.cursor = first + 1;
                continue;
            }
            let pages = self.marked.run(first, sendable(file, first, longest));
            self.cursor = first + pages;
            return Some((first, pages));
        }
    }

    /// Whether a marked page could be sent.
    fn has_more(&self, (dirty, leaving): Pages<'_>) -> bool {
        let mut page = self.marked.next(0);
        while let Some(one) = page {
            if dirty.has(one) && !leaving.has(one) {
                return true;
            }
            page = self.marked.next(one + 1);
        }
        false
    }

    /// Pages were written.
    pub(super) fn written(&mut self, first: u64, pages: u64) {
        for page in first..first + pages {
            if !self.before.take(page) {
                self.marked.take(page);
            }
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.marked.count() == 0 && self.before.count() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(pages: &[u64]) -> Bits {
        let mut bits = Bits::none(64);
        for page in pages {
            bits.add(*page);
        }
        bits
    }

    #[test]
    fn a_run_ends_before_a_page_that_is_on_its_way_out() {
        let (dirty, leaving) = (bits(&[4, 5, 6, 7]), bits(&[6]));
        assert_eq!(sendable((&dirty, &leaving), 4, 8), 2);
        assert_eq!(sendable((&dirty, &leaving), 4, 1), 1);
        assert_eq!(sendable((&dirty, &leaving), 7, 8), 1);
    }

    /// Pages 1 and 2 are dirty, 2 and 5 on their way out: 2 is sent when it is there, and was not
    /// waited for before that.
    #[test]
    fn a_page_that_is_on_its_way_and_dirty_again_is_waited_for_twice() {
        let (dirty, leaving) = (bits(&[1, 2]), bits(&[2, 5]));
        let mut sync = Sync::of((&dirty, &leaving), By::Flusher);
        assert_eq!(sync.next((&dirty, &leaving), 8), Some((1, 1)));
        sync.flying = 1;
        let (dirty, leaving) = (bits(&[2]), bits(&[1, 2, 5]));
        assert_eq!(sync.next((&dirty, &leaving), 8), None);
        sync.written(5, 1);
        sync.written(2, 1);
        // It is dirty still, but the one that was sent has not come back: nothing is looked at anew
        // until it has.
        let leaving = bits(&[1]);
        assert_eq!(sync.next((&dirty, &leaving), 8), None);
        sync.written(1, 1);
        sync.flying = 0;
        assert!(!sync.is_done());
        assert_eq!(sync.next((&dirty, &bits(&[])), 8), Some((2, 1)));
        sync.written(2, 1);
        assert!(sync.is_done());
    }

    #[test]
    fn what_was_on_its_way_is_waited_for_by_who_has_nothing_to_send() {
        let (dirty, leaving) = (bits(&[]), bits(&[3]));
        let mut sync = Sync::of((&dirty, &leaving), By::Process(1));
        assert!(!sync.is_done());
        assert_eq!(sync.next((&dirty, &leaving), 8), None);
        sync.written(3, 1);
        assert!(sync.is_done());
    }

    /// Page 3 is dirtied later, and page 1 is written by somebody else.
    #[test]
    fn only_what_was_dirty_then_is_sent() {
        let mut sync = Sync::of((&bits(&[1, 2, 7]), &bits(&[])), By::Flusher);
        assert_eq!(sync.next((&bits(&[2, 3, 7]), &bits(&[1])), 8), Some((2, 1)));
        assert_eq!(sync.next((&bits(&[3, 7]), &bits(&[1, 2])), 8), Some((7, 1)));
        assert_eq!(sync.next((&bits(&[3]), &bits(&[1, 2, 7])), 8), None);
        sync.written(1, 7);
        assert!(sync.is_done());
    }
}
