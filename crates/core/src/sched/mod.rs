//! Schedulers: which I/O goes next on one drive. One file each, one line here.

use crate::contract::Scheduler;

mod line;
mod sweep;

registry! { dyn Scheduler;
    fcfs,
    sstf,
    scan,
    cscan,
    look,
    clook,
    vscan,
    satf,
    aged_satf,
    mq_deadline,
    read_first,
    write_first,
    satf_ew,
    gap_satf,
    free_bw { FREEBW_SATF, FREEBW_SCAN, FREEBW_HYBRID },
}
