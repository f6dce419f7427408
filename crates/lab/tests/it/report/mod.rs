//! What results and inspections look like outside: the schemas of the JSON, the columns of CSV and
//! Parquet, the table, the page, files.

mod capacity;
mod figures;
mod files;
mod hosts;
mod inspection;
mod page;
mod real;
mod sample;
mod schema;
mod text;
