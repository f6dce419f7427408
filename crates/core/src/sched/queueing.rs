//! Whether a drive has a queue of its own: found by how many commands it has at a time, where there
//! are enough to be given.
//!
//! Facts of `bfq_update_hw_tag` and `cfq_update_hw_tag`.

/// Whether the drive has a queue of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queueing {
    /// More commands at a time than this are a queue.
    few: u32,
    /// How many looks are needed until it is decided.
    enough: u32,
    /// None as long as nobody knows.
    found: Option<bool>,
    looks: u32,
    most: u32,
    /// The most that it has ever had.
    pub(super) most_ever: u32,
}

impl Queueing {
    /// More commands at a time than `few` are a queue; `enough` looks decide.
    pub(super) fn new(few: u32, enough: u32) -> Queueing {
        Queueing {
            few,
            enough,
            found: None,
            looks: 0,
            most: 0,
            most_ever: 0,
        }
    }

    /// Whether the drive has a queue of its own; yes as long as that is not known.
    #[inline]
    pub(super) fn queues(self) -> bool {
        self.found != Some(false)
    }

    /// Whether it is known to have one.
    pub(super) fn surely(self) -> bool {
        self.found == Some(true)
    }

    /// A command ends, of so many on the drive beside so many that wait. `served` are the requests
    /// of the queue being served, on the drive or not, if it soon asks again.
    pub(super) fn look(&mut self, in_drive: u32, waiting: u32, served: Option<u32>) {
        self.most = self.most.max(in_drive);
        self.most_ever = self.most_ever.max(in_drive);
        let held = served.is_some_and(|requests| requests < self.few && in_drive < self.few);
        if self.found == Some(true) || in_drive + waiting <= self.few || held {
            return;
        }
        self.looks += 1;
        if self.looks == self.enough {
            self.found = Some(self.most > self.few);
            (self.looks, self.most) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_the_drive_is_found_by_more_than_three_commands_at_a_time() {
        let mut queueing = Queueing::new(3, 33);
        assert!(
            queueing.queues() && !queueing.surely(),
            "it gets the chance to show it"
        );
        (0..100).for_each(|_| queueing.look(1, 2, None));
        assert_eq!(queueing.found, None, "three requests show nothing");
        (0..100).for_each(|_| queueing.look(1, 9, Some(2)));
        assert_eq!(
            queueing.found, None,
            "one that is waited for keeps it shallow"
        );
        (0..32).for_each(|_| queueing.look(1, 9, None));
        assert_eq!(queueing.found, None);
        queueing.look(1, 9, None);
        assert_eq!(queueing.found, Some(false));
        (0..33).for_each(|_| queueing.look(4, 0, None));
        assert!(queueing.surely());
        (0..99).for_each(|_| queueing.look(1, 9, None));
        assert!(queueing.surely(), "it keeps it");
    }
}
