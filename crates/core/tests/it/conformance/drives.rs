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

/// Flash: two dies that work side by side, and little room to collect in.
pub(crate) const SSD: &str = "
    kind = 'ssd'
    capacity_blocks = 12_800
    queue_depth = 8
    channels = 2
    dies_per_channel = 1
    planes_per_die = 1
    planes = 'together'
    blocks_per_plane = 60
    pages_per_block = 8
    page_kib = 8
    map_kib = 4
    allocation = 'in-turn'
    read_us = 60
    program_us = 700
    erase_us = 3000
    channel_mb_s = 200
    suspension = { program = true, erase = true, takes_us = 20 }
    host = { mb_s = 500, full_duplex = false, command_us = 2, read_us = 10, write_us = 15 }
    cache = { kib = 128, mb_s = 1000, pages_at_once = 4, protected = false }
    collection = { start_percent = 5, urgent_percent = 4 }
";
