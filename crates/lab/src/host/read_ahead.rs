//! Read-ahead of a process in its file, as Linux did it on demand until its rework of 2024 (Wu et
//! al., "On the design of a new Linux readahead framework", Operating Systems Review 42, 2008;
//! mm/readahead.c).
//!
//! Who reads from the beginning of a file, or on from where it was, gets a window: four pages for
//! one, then twice as many (four times as long as they are few) up to the limit. When the first
//! page of a window is read that was not asked for, the next window is brought. Who reads elsewhere
//! gets what it asks for.

/// A run of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: u64,
    pub(super) pages: u64,
}

impl Span {
    fn end(self) -> u64 {
        self.first + self.pages
    }
}

/// The window of a process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    span: Span,
    /// How many at its end were not asked for when it was brought.
    ahead: u64,
    /// Behind the last page that was read.
    next: u64,
}

impl Window {
    /// The page whose reading brings the next window.
    fn mark(&self) -> Option<u64> {
        (self.ahead > 0).then(|| self.span.end() - self.ahead)
    }

    /// Whether the reading of a page brings the next window.
    #[inline]
    pub(super) fn is_mark(&self, page: u64) -> bool {
        self.mark() == Some(page)
    }

    /// A page is read that is there: what to bring now, at most `most` at a time.
    #[inline]
    pub(super) fn hit(&mut self, page: u64, most: u64) -> Option<Span> {
        self.next = page + 1;
        (self.mark() == Some(page)).then(|| self.go_on(most))
    }

    /// A page is read that is not there, of a read that asks for `asked` from it on: what to bring.
    pub(super) fn miss(&mut self, page: u64, asked: u64, most: u64) -> Span {
        let on = page == self.next || page == 0 || asked > most;
        self.next = page + 1;
        if most == 0 || !on {
            return Span {
                first: page,
                pages: if most == 0 { 1 } else { asked },
            };
        }
        if self.span.pages > 0 && (page == self.span.end() || self.mark() == Some(page)) {
            return self.go_on(most);
        }
        let pages = first_size(asked, most).max(asked.min(most));
        self.span = Span { first: page, pages };
        self.ahead = if pages > asked { pages - asked } else { pages };
        self.span
    }

    /// The window behind the present one.
    fn go_on(&mut self, most: u64) -> Span {
        self.span = Span {
            first: self.span.end(),
            pages: next_size(self.span.pages, most),
        };
        self.ahead = self.span.pages;
        self.span
    }
}

/// The first window for a read of so many pages.
fn first_size(asked: u64, most: u64) -> u64 {
    let asked = asked.next_power_of_two();
    match () {
        () if asked <= most / 32 => asked * 4,
        () if asked <= most / 4 => asked * 2,
        () => most,
    }
}

/// The one behind a window of so many.
fn next_size(pages: u64, most: u64) -> u64 {
    match () {
        () if pages < most / 16 => pages * 4,
        () if pages <= most / 2 => pages * 2,
        () => most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(first: u64, pages: u64) -> Span {
        Span { first, pages }
    }

    #[test]
    fn a_sequence_is_brought_in_windows_that_double_one_ahead() {
        let mut window = Window::default();
        assert_eq!(window.miss(0, 1, 32), span(0, 4));
        assert_eq!(window.hit(1, 32), Some(span(4, 8)));
        assert!((2..4).all(|page| window.hit(page, 32).is_none()));
        assert_eq!(window.hit(4, 32), Some(span(12, 16)));
        assert_eq!(window.hit(12, 32), Some(span(28, 32)));
        assert!((13..28).all(|page| window.hit(page, 32).is_none()));
        assert_eq!(window.hit(28, 32), Some(span(60, 32)));
    }

    #[test]
    fn who_reads_elsewhere_gets_what_it_asks_for_and_who_goes_on_from_there_a_window() {
        let mut window = Window::default();
        assert_eq!(window.miss(700, 1, 32), span(700, 1));
        assert_eq!(window.miss(90, 4, 32), span(90, 4));
        assert_eq!(window.miss(91, 1, 32), span(91, 4));
        // Without read-ahead there are no windows.
        assert_eq!(Window::default().miss(0, 1, 0), span(0, 1));
    }

    #[test]
    fn large_reads_begin_with_larger_windows() {
        assert_eq!(
            [1, 2, 8, 9, 40].map(|asked| first_size(asked, 32)),
            [4, 4, 16, 32, 32]
        );
        assert_eq!(
            [1, 2, 4, 16, 17, 32].map(|pages| next_size(pages, 32)),
            [4, 4, 8, 32, 32, 32]
        );
    }

    /// What Linux calls a sequential miss: at the front, on from the last page, or for more than a
    /// window.
    #[test]
    fn who_begins_or_goes_on_gets_a_window_though_it_was_elsewhere() {
        let mut window = Window::default();
        assert_eq!(window.miss(700, 1, 32), span(700, 1));
        assert_eq!(window.miss(0, 1, 32), span(0, 4));
        assert_eq!(window.miss(300, 40, 32), span(300, 32));
        // It finds a page that somebody else brought, and goes on behind that.
        assert_eq!(window.hit(6, 32), None);
        assert_eq!(window.miss(7, 1, 32), span(7, 4));
    }

    #[test]
    fn a_window_that_is_all_asked_for_brings_the_next_one_with_its_first_page() {
        let mut window = Window::default();
        assert_eq!(window.miss(0, 32, 32), span(0, 32));
        assert_eq!(window.hit(0, 32), Some(span(32, 32)));
        assert_eq!(window.hit(32, 32), Some(span(64, 32)));
    }

    /// Pages that went before they were read: the next window is that behind the present one.
    #[test]
    fn a_miss_at_the_mark_or_behind_the_window_goes_on_with_the_windows() {
        let mut window = Window::default();
        assert_eq!(window.miss(0, 1, 32), span(0, 4));
        assert_eq!(window.miss(1, 1, 32), span(4, 8));
        assert_eq!(window.hit(11, 32), None);
        assert_eq!(window.miss(12, 1, 32), span(12, 16));
    }
}
