//! Schedulers: which I/O goes next on one drive. One file each, one line here.

use crate::contract::Scheduler;

registry! { dyn Scheduler;
    fcfs,
}
