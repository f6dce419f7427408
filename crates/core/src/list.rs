//! Linked lists by index over one pool of nodes: constant time to append, to look at the front, and
//! to take out any node by its handle.
//!
//! Several [`List`]s share the nodes of one [`Pool`], so an item moves between lists without memory
//! being asked for; freed nodes are used again, and nothing is allocated once the pool has grown.

use slab::Slab;

/// No node.
const NONE: u32 = u32::MAX;

/// Nodes of any number of lists.
#[derive(Clone, Debug)]
pub struct Pool<T> {
    nodes: Slab<Node<T>>,
}

#[derive(Clone, Debug)]
struct Node<T> {
    item: T,
    before: u32,
    after: u32,
}

/// The two ends of a list whose nodes lie in a [`Pool`].
#[derive(Clone, Debug)]
pub struct List {
    front: u32,
    back: u32,
    len: usize,
}

/// A node of a list, valid until it is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u32);

impl Default for List {
    fn default() -> List {
        List {
            front: NONE,
            back: NONE,
            len: 0,
        }
    }
}

impl List {
    /// How many items.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The oldest node.
    #[inline]
    pub fn front(&self) -> Option<Handle> {
        (self.front != NONE).then_some(Handle(self.front))
    }

    /// The latest node.
    #[inline]
    pub fn back(&self) -> Option<Handle> {
        (self.back != NONE).then_some(Handle(self.back))
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool { nodes: Slab::new() }
    }
}

impl<T> Pool<T> {
    /// Appends an item to a list.
    pub fn push_back(&mut self, list: &mut List, item: T) -> Handle {
        let node = Node {
            item,
            before: list.back,
            after: NONE,
        };
        let index = u32::try_from(self.nodes.insert(node)).expect("fewer than 2^32 nodes");
        match list.back {
            NONE => list.front = index,
            back => self.nodes[back as usize].after = index,
        }
        list.back = index;
        list.len += 1;
        Handle(index)
    }

    /// Takes a node out of the list that it is in.
    pub fn remove(&mut self, list: &mut List, handle: Handle) -> T {
        let Node {
            item,
            before,
            after,
        } = self.nodes.remove(handle.0 as usize);
        match before {
            NONE => list.front = after,
            before => self.nodes[before as usize].after = after,
        }
        match after {
            NONE => list.back = before,
            after => self.nodes[after as usize].before = before,
        }
        list.len -= 1;
        item
    }

    /// Puts all nodes of a list behind those of another.
    pub fn append(&mut self, list: &mut List, other: List) {
        match (list.back, other.front) {
            (_, NONE) => {}
            (NONE, _) => *list = other,
            (back, front) => {
                self.nodes[back as usize].after = front;
                self.nodes[front as usize].before = back;
                list.back = other.back;
                list.len += other.len;
            }
        }
    }

    /// The item of a node, to be changed.
    #[inline]
    pub fn item_mut(&mut self, handle: Handle) -> &mut T {
        &mut self.nodes[handle.0 as usize].item
    }

    /// The item of a node.
    #[inline]
    pub fn item(&self, handle: Handle) -> &T {
        &self.nodes[handle.0 as usize].item
    }

    /// The items of a list from front to back.
    pub fn iter(&self, list: &List) -> impl Iterator<Item = &T> {
        let mut next = list.front;
        std::iter::from_fn(move || {
            let node = self.nodes.get(next as usize)?;
            next = node.after;
            Some(&node.item)
        })
    }

    /// Nodes in use, in all lists together.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no node is in use.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_node_can_leave_and_order_stays() {
        let (mut pool, mut list) = (Pool::default(), List::default());
        let handles: Vec<_> = (0..5).map(|n| pool.push_back(&mut list, n)).collect();
        assert_eq!(pool.remove(&mut list, handles[2]), 2);
        assert_eq!(pool.remove(&mut list, handles[0]), 0);
        assert_eq!(pool.remove(&mut list, handles[4]), 4);
        assert_eq!(pool.iter(&list).copied().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(pool.item(list.front().unwrap()), &1);
        pool.push_back(&mut list, 9);
        assert_eq!(pool.iter(&list).copied().collect::<Vec<_>>(), [1, 3, 9]);
        assert_eq!((list.len(), pool.len()), (3, 3));
    }

    #[test]
    fn a_list_goes_behind_another_and_any_node_can_still_leave() {
        let (mut pool, mut one, mut two) = (Pool::default(), List::default(), List::default());
        pool.append(&mut one, List::default());
        assert!(one.is_empty());
        let handles: Vec<_> = (0..3).map(|n| pool.push_back(&mut two, n)).collect();
        pool.append(&mut one, two);
        let mut three = List::default();
        pool.push_back(&mut three, 3);
        pool.append(&mut one, three);
        assert_eq!(pool.iter(&one).copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
        pool.remove(&mut one, handles[2]);
        *pool.item_mut(handles[0]) = 7;
        pool.push_back(&mut one, 4);
        assert_eq!(pool.iter(&one).copied().collect::<Vec<_>>(), [7, 1, 3, 4]);
        assert_eq!(one.len(), 4);
    }

    #[test]
    fn lists_share_a_pool_without_touching_each_other() {
        let (mut pool, mut one, mut two) = (Pool::default(), List::default(), List::default());
        let a = pool.push_back(&mut one, 'a');
        pool.push_back(&mut two, 'b');
        pool.remove(&mut one, a);
        assert!(one.is_empty());
        assert!(one.front().is_none());
        assert_eq!(pool.iter(&two).collect::<String>(), "b");
        assert!(!pool.is_empty());
    }
}
