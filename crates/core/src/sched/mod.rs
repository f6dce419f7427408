//! Schedulers: which I/O goes next on one drive. One file each, one line here.

use crate::contract::Scheduler;
use crate::registry::{ConfigError, DriveEnv, Kind, KindCard, Spec};

mod bench;
mod by_block;
pub(crate) mod desk;
mod fifo;
mod habits;
mod line;
mod queueing;
mod ranges;
mod sweep;
mod waiting;

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
    bfq,
    cfq,
    slack,
    kyber,
    read_first,
    write_first,
    satf_ew,
    expand,
    first_fit,
    gap_satf,
    hits_first,
    free_bw { FREEBW_SATF, FREEBW_SCAN, FREEBW_HYBRID },
}

impl Kind for dyn Scheduler {
    const CARD: KindCard = KindCard {
        key: "sched",
        word: "scheduler",
        plural: "schedulers",
        summary: "which I/O goes next on the drive",
        asked: false,
        within: None,
        needs: None,
    };

    type Env<'a> = DriveEnv<'a>;

    type Error = ConfigError;

    fn table() -> &'static [&'static Spec<dyn Scheduler>] {
        TABLE
    }
}
