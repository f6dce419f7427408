//! # nearslot-core
//!
//! Everything nearslot *decides*: no clock, no I/O, no threads, no bytes of clients, no unsafe
//! code. A loop drives it: in virtual time that is `sim` of `nearslot-lab`; another one, in real
//! time, would be as short.
//!
//! | Floor | Modules |
//! |---|---|
//! | F3 | [`stack`]: where the kinds meet; [`memory`]: caches and write buffers above placements; [`config`]: names to parts |
//! | F2 | [`sched`], [`claims`], [`merge`], [`place`], [`cache`], [`prefetch`], [`destage`], [`faults`], [`drive`]: parts, mutually unknown |
//! | F1 | [`contract`]: read this first; [`search`], [`registry`], [`metrics`], [`pages`], [`size`]; below them what flows: [`op`], [`position`], [`request`], [`stream`], [`io`], [`plan`], [`fault`], [`entering`], [`zones`] |
//! | F0 | [`units`], [`ids`], [`rng`], [`agenda`], [`bits`], [`directory`], [`sorted`], [`list`], [`freemap`], [`offer`], [`maplog`], [`measure`]: these know no request, no I/O and no contract |
//!
//! `tests/it/tidy/floors.rs` holds the modules to that.

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
