//! Runs nearslot in virtual time.
