//! # nearslot-core
//!
//! Everything nearslot *decides*: no clock, no I/O, no threads, no bytes of clients, no unsafe code. Two loops drive it,
//! one in virtual time (`nearslot-lab`), one behind a socket.
//!
//! | Floor | Modules |
//! |---|---|
//! | F3 | [`stack`]: where the kinds meet, [`memory`]: caches above placements; [`config`]: names to parts |
//! | F2 | [`cache`], [`prefetch`], [`sched`], [`merge`], [`place`], [`drive`]: parts, mutually unknown |
//! | F1 | [`contract`]: read this first; [`op`], [`position`], [`request`], [`stream`], [`io`], [`plan`], [`entering`], [`zones`]: what flows; [`search`], [`registry`], [`metrics`], [`pages`], [`size`] |
//! | F0 | [`units`], [`ids`], [`rng`], [`agenda`], [`directory`], [`sorted`], [`list`], [`freemap`], [`maplog`]: nothing of the domain |

#![forbid(unsafe_code)]

#[macro_use]
pub mod registry;

pub mod agenda;
pub mod bits;
pub mod cache;
pub mod claims;
pub mod config;
pub mod contract;
pub mod destage;
pub mod directory;
pub mod drive;
pub mod entering;
pub mod fault;
pub mod faults;
pub mod freemap;
pub mod ids;
pub mod io;
pub mod list;
pub mod maplog;
pub mod measure;
pub mod memory;
pub mod merge;
pub mod metrics;
pub mod offer;
pub mod op;
pub mod pages;
pub mod place;
pub mod plan;
pub mod position;
pub mod prefetch;
pub mod request;
pub mod rng;
pub mod sched;
pub mod search;
pub mod size;
pub mod sorted;
pub mod stack;
pub mod stream;
pub mod units;
pub mod zones;
