//! The ledger against real SQLite files, real processes, full and read-only filesystems.
mod support;
mod whole_way;
