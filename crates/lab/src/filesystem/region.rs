//! Where the layout policy leaves a block to be placed: a mini-group or a group, and where that is
//! full the next wider one.
//!
//! A file's first blocks belong into the group of its inode, at the mini-group of the process that
//! writes them; later ones near those before. What follows is the order in which regions are
//! offered: the mini-group (if the policy names one), its group, and then all other groups in
//! order.

use super::shape::Shape;

/// A part of the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// A mini-group of a group.
    Mini {
        /// Its group.
        group: u64,
        /// Which.
        mini: u64,
    },
    /// A group.
    Group(u64),
}

impl Region {
    /// Its group.
    pub fn group(self) -> u64 {
        match self {
            Region::Mini { group, .. } | Region::Group(group) => group,
        }
    }

    /// The region that is `wider` steps wider than this; none if there is no more.
    pub fn wider(self, steps: u64, shape: &Shape) -> Option<Region> {
        let groups = match (self, steps) {
            (_, 0) => return Some(self),
            (Region::Mini { .. }, _) => steps - 1,
            (Region::Group(_), _) => steps,
        };
        (groups < shape.groups()).then(|| Region::Group((self.group() + groups) % shape.groups()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mini_group_its_group_and_then_the_others() {
        let shape = Shape::new(256, 800).unwrap();
        let all = |from: Region| (0..9).map_while(move |steps| from.wider(steps, &shape));
        let mini = Region::Mini { group: 1, mini: 5 };
        let groups = [1, 2, 0].map(Region::Group);
        assert_eq!(all(Region::Group(1)).collect::<Vec<_>>(), groups);
        let found: Vec<Region> = all(mini).collect();
        assert_eq!((found[0], &found[1..]), (mini, &groups[..]));
    }
}
