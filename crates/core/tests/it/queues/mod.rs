//! What the stack does between a request and a drive, seen from outside: streams that reach the
//! scheduler, I/Os that become one command, limits of what may queue, and drives that hold several
//! commands.

mod admission;
mod depth;
mod merging;
pub(crate) mod rig;
mod streams;
