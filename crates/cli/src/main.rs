//! The `nearslot` command.

fn main() {}
