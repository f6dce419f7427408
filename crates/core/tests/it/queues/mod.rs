//! What the stack does between a request and a drive, seen from outside: streams that reach the scheduler.

mod rig;
mod streams;
