//! What results look like outside: the schema of the JSON, the columns of CSV and Parquet, the table, the page, files.

mod files;
mod page;
mod sample;
mod schema;
mod text;
