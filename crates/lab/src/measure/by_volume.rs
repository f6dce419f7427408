//! Response times of each volume, where a trace has several.
//!
//! Volumes lie apart from each other, each in its own place, so a request's address says of which
//! it is. Only where volumes lie one behind the other and `--fit` puts addresses elsewhere, may a
//! request come to lie in the place of another volume: then nothing is told.
//!
//! Cost per request: a binary search over the volumes and an increment; nothing is allocated. The
//! [`DISTRIBUTIONS_MAX`] volumes with most requests have a distribution.

use nearslot_core::request::Reply;

use super::group::{DISTRIBUTIONS_MAX, Group, is_grouped};
use crate::outcome::VolumeResponse;
use crate::workload::layout::Layout;

/// What is measured of a volume.
struct Volume {
    device: String,
    group: Group,
}

/// Measures response times by volume.
pub(crate) struct ByVolume {
    /// The first block of each volume; they rise.
    begins: Vec<u64>,
    volumes: Vec<Volume>,
    /// Requests that are not measured.
    warmup: u64,
}

impl ByVolume {
    /// The volumes of a layout; `None` if it has one only, or addresses do not tell them apart.
    pub(crate) fn of(layout: &Layout, warmup: u64) -> Option<ByVolume> {
        let begins = layout.begins()?;
        let mut most: Vec<u64> = layout
            .volumes()
            .iter()
            .map(|volume| volume.requests)
            .collect();
        most.sort_unstable_by_key(|requests| std::cmp::Reverse(*requests));
        let least = most.get(DISTRIBUTIONS_MAX - 1).copied().unwrap_or(0);
        let mut room = DISTRIBUTIONS_MAX;
        let volumes = layout.volumes().iter().map(|volume| {
            let kept = room > 0 && volume.requests >= least;
            room -= usize::from(kept);
            Volume {
                device: volume.device.clone(),
                group: Group::new(kept),
            }
        });
        Some(ByVolume {
            volumes: volumes.collect(),
            begins,
            warmup,
        })
    }

    /// A request was answered.
    #[inline]
    pub(crate) fn replied(&mut self, reply: &Reply) {
        if !is_grouped(reply, self.warmup) {
            return;
        }
        let start = reply.request.extent.start.0;
        let behind = self.begins.partition_point(|begin| *begin <= start);
        let volume = &mut self.volumes[behind - 1];
        volume.group.record(reply);
    }

    /// What was measured, in the order of the volumes.
    pub(crate) fn found(&self) -> Vec<VolumeResponse> {
        self.volumes.iter().map(Volume::found).collect()
    }
}

impl Volume {
    fn found(&self) -> VolumeResponse {
        let times = self.group.found();
        VolumeResponse {
            device: self.device.clone(),
            requests: times.requests,
            failed: times.failed,
            mean_ms: times.mean_ms,
            p50_ms: times.p50_ms,
            p99_ms: times.p99_ms,
            max_ms: times.max_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use nearslot_core::op::{Cost, Failure, Op, Status};
    use nearslot_core::request::{Request, Timeline};
    use nearslot_core::units::{Blocks, Duration, Instant};

    use nearslot_trace::{Header, Record, TraceOp};

    use super::*;
    use crate::survey::Survey;
    use crate::workload::fit::Mode;
    use crate::workload::layout::Volumes;

    /// So many volumes of 1 MiB; the first has one request, each other one more than the one
    /// before.
    fn measured(count: u32, how: Volumes, mode: Mode, capacity: u64) -> Option<ByVolume> {
        let mut survey = Survey::new();
        for dev in 0..count {
            let request = Record::new(0, TraceOp::Read, (1 << 20) - 4_096, 4_096, dev);
            survey.record(&vec![request; dev as usize + 1]);
        }
        let names: Vec<String> = (0..count).map(|dev| format!("d{dev}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let header = Header::made("toy", &names, &[]);
        let how = (count > 1).then_some(how);
        let drives = (Blocks(capacity), "toy");
        let layout = Layout::new(how, mode, (&header, &survey.finish()), drives).unwrap();
        ByVolume::of(&layout, 10)
    }

    fn answer(volumes: &mut ByVolume, number: u64, op: Op, block: u64, us: u64) {
        reply(volumes, (number, op, block), us, Status::Done);
    }

    fn reply(volumes: &mut ByVolume, (number, op, block): (u64, Op, u64), us: u64, status: Status) {
        volumes.replied(&Reply {
            request: Request::new(number, op, block, 8, Instant::ZERO),
            status,
            timeline: Timeline {
                arrived: Instant::ZERO,
                started: Instant::ZERO,
                replied: Instant::ZERO + Duration::from_us(us),
                cost: Cost::default(),
            },
        });
    }

    #[test]
    fn a_percentile_of_a_volume_is_one_of_all_its_requests() {
        let p99 = |failed: u64| {
            let mut volumes = measured(2, Volumes::Concat, Mode::None, 3 * 2_048).unwrap();
            for number in 10..1_010 {
                let fails = number < 10 + failed;
                let status = match fails {
                    true => Status::Failed(Failure::Gone),
                    false => Status::Done,
                };
                reply(&mut volumes, (number, Op::Read, 0), number, status);
            }
            volumes.found()[0].p99_ms
        };
        assert!(p99(9).is_some());
        assert_eq!(p99(10), None);
    }

    #[test]
    fn an_answer_counts_for_the_volume_in_whose_place_it_lies() {
        for how in [Volumes::Concat, Volumes::OwnDrives] {
            let mut volumes = measured(3, how, Mode::None, 3 * 2_048).unwrap();
            // Warm-up and flushes are not measured; what failed is counted by itself.
            let failed = Status::Failed(Failure::Medium);
            reply(&mut volumes, (10, Op::Read, 0), 1_000, failed);
            answer(&mut volumes, 9, Op::Read, 0, 1_000);
            answer(&mut volumes, 10, Op::Flush, 0, 1_000);
            for (block, us) in [(0, 2_000), (2_040, 4_000), (2_048, 7_000), (6_143, 9_000)] {
                answer(&mut volumes, 10, Op::Write, block, us);
            }
            let found = volumes.found();
            let told = found.iter().map(|one| (one.device.as_str(), one.requests));
            assert_eq!(told.collect::<Vec<_>>(), [("d0", 2), ("d1", 1), ("d2", 1)]);
            assert_eq!((found[0].mean_ms, found[0].max_ms), (Some(3.0), Some(4.0)));
            assert_eq!((found[2].mean_ms, found[2].p99_ms), (Some(9.0), None));
            let failed: Vec<u64> = found.iter().map(|one| one.failed).collect();
            assert_eq!(failed, [1, 0, 0]);
        }
    }

    #[test]
    fn a_p99_is_told_from_five_hundred_requests_on() {
        let mut volumes = measured(2, Volumes::Concat, Mode::None, 2 * 2_048).unwrap();
        assert_eq!(volumes.found()[0].mean_ms, None);
        (10..510).for_each(|number| answer(&mut volumes, number, Op::Read, 0, number));
        (10..509).for_each(|number| answer(&mut volumes, number, Op::Read, 2_048, number));
        let told: Vec<bool> = volumes
            .found()
            .iter()
            .map(|one| one.p99_ms.is_some())
            .collect();
        assert_eq!(told, [true, false]);
        let p50 = volumes.found()[0].p50_ms.unwrap();
        assert!((p50 / 0.26 - 1.0).abs() < 0.01, "{p50}");
    }

    #[test]
    fn of_many_volumes_the_largest_have_percentiles() {
        let many = DISTRIBUTIONS_MAX as u32 + 2;
        let blocks = u64::from(many) * 2_048;
        let mut volumes = measured(many, Volumes::Concat, Mode::None, blocks).unwrap();
        for volume in 0..u64::from(many) {
            answer(&mut volumes, 10, Op::Read, volume * 2_048, 5_000);
        }
        let found = volumes.found();
        assert!(
            found
                .iter()
                .all(|one| one.mean_ms == Some(5.0) && one.max_ms == Some(5.0))
        );
        let without = found.iter().filter(|one| one.p50_ms.is_none());
        let without: Vec<&str> = without.map(|one| one.device.as_str()).collect();
        assert_eq!(without, ["d0", "d1"]);
    }

    #[test]
    fn where_addresses_do_not_tell_volumes_apart_nothing_is_told() {
        let told = |count, how, mode, capacity| measured(count, how, mode, capacity).is_some();
        assert!(!told(1, Volumes::Concat, Mode::None, 2_048));
        assert!(!told(2, Volumes::Concat, Mode::Wrap, 3_000));
        assert!(!told(2, Volumes::Concat, Mode::Scale, 3_000));
        assert!(told(2, Volumes::Concat, Mode::Truncate, 3_000));
        // Each is fitted to a drive of its own.
        assert!(told(2, Volumes::OwnDrives, Mode::Wrap, 3_000));
    }
}
