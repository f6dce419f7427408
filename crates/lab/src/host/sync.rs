//! Who waits for a file: until what of it was dirty, or on its way out, when they began, is written.

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
