//! Whole traces through the readers and writers, in one program: each further test binary would be
//! linked, and run, by itself.

mod blktrace;
mod columns;
mod detection;
mod fixtures;
mod fuzz_readers;
mod laws;
mod open;
mod parquet;
