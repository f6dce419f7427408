//! Drives without mechanics that every part has to work over.

/// A drive whose times are drawn.
pub(crate) const EMPIRICAL: &str = "
    kind = 'empirical'
    capacity_blocks = 12_800
    flush_ms = 1.0
    [[bins]]
    op = 'read'
    blocks = 8
    outstanding = 1
    quantiles = [[0.0, 1.0], [0.5, 2.0], [1.0, 6.0]]
    [[bins]]
    op = 'any'
    blocks = 64
    outstanding = 4
    quantiles = [[0.0, 0.5], [0.9, 1.0], [1.0, 20.0]]
";

/// A volume with limits, soon out of credits.
pub(crate) const CAPPED: &str = "
    kind = 'capped'
    capacity_blocks = 12_800
    latency_ms = 5.0
    io_kib_max = 16
    iops = { baseline = 150, burst = 1000, credits = 50 }
    mib = { baseline = 2, burst = 10, credits = 1 }
";
