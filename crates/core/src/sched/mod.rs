//! Schedulers: which I/O goes next on one drive. One file each, one line here.

use crate::contract::Scheduler;

mod line;

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
}
