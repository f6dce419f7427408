//! What results and inspections look like outside: the schemas of the JSON, the columns of CSV and Parquet, the
//! table, the page, files.

#![allow(
    clippy::unwrap_used,
    reason = "what fails in a helper of a test fails the test"
)]

mod capacity;
mod figures;
mod files;
mod inspection;
mod page;
mod sample;
mod schema;
mod text;
