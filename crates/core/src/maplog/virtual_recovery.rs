//! The way back from a virtual log: from its saved tail, or from a scan of all slots.
//!
//! From the tail, sectors are read in falling order of their numbers. A link to a sector that was
//! met is one to an older version, and is passed over; every other link leads to a live sector,
//! whose number has to be the link's ([`virtual_log`](super::virtual_log) says why). So exactly the
//! live sectors are read, and anything else that is found in their places is damage.
//!
//! Without a tail every slot of the drives that have the log is read, and of each sector the
//! version with the highest number is taken. The links are walked then as well, in memory: a
//! damaged sector, of which only an older version is left, does not get away with it. The very
//! youngest sector is the exception. Nothing links to it, so its damage is taken for the write that
//! the power cut tore. Who cannot live with that saves the tail.
//!
//! A slot of data that holds a copy of a map sector of this very volume (the image of a drive,
//! stored on itself) could deceive a scan; a walk from the tail it cannot.
//!
//! Source: OSDI 1999, section 3.2; details of the scan are ours. Cost: a read a live sector, or a
//! read a slot; memory: the map, and a twentieth of it for links.

use std::collections::BinaryHeap;

use super::format::{Damage, DamageAt, Fault};
use super::layout::Refused;
use super::virtual_log::{Link, Read, SectorLayout, Spot, Tail, VirtualLog};
use super::{Geometry, Map, unique};
use crate::ids::DriveId;
use crate::units::Blocks;

/// A map on its way back from a virtual log.
#[derive(Debug)]
pub struct VirtualRecovery {
    layout: SectorLayout,
    map: Map,
    way: Way,
}

/// What recovery comes to.
#[derive(Debug)]
pub struct VirtualRecovered {
    /// The map, as of the last completed write, or the one that the power cut came just behind.
    pub map: Map,
    /// The log, ready to go on.
    pub log: VirtualLog,
}

#[derive(Debug)]
enum Way {
    FromTail { walk: Walk, next: Option<Step> },
    ByScan { scan: Scan },
}

/// A link, and the sector that has it.
type Step = (Link, Option<u32>);

/// Sectors in falling order of their numbers.
#[derive(Debug)]
struct Walk {
    ahead: BinaryHeap<Step>,
    met: Vec<bool>,
    walked: Vec<Step>,
    /// Sectors that there are, as the tail says.
    live: u32,
}

impl Walk {
    fn new(layout: &SectorLayout, tail: Link) -> Walk {
        Walk {
            ahead: BinaryHeap::from([(tail, None)]),
            met: vec![false; layout.sectors as usize],
            walked: Vec::new(),
            live: 0,
        }
    }

    /// The next link to a sector that was not met.
    fn next(&mut self) -> Option<Step> {
        loop {
            let step = self.ahead.pop()?;
            // A sector beyond the map is found out when it is read.
            if self.met.get(step.0.sector as usize) != Some(&true) {
                return Some(step);
            }
        }
    }

    /// The sector to which that link leads was read.
    fn meet(&mut self, step: Step, read: &Read) {
        let (link, parent) = step;
        self.met[link.sector as usize] = true;
        if parent.is_none() {
            self.live = read.live;
        }
        self.walked.push(step);
        let ahead = read.links.iter().map(|child| (child, Some(link.sector)));
        self.ahead.extend(ahead);
    }

    /// The walk has come to its end: it has to have met as many as the tail says.
    fn check(&self) -> Result<(), Damage> {
        let (met, live) = (self.walked.len() as u64, self.live.into());
        let Some((tail, _)) = self.walked.first() else {
            return Ok(());
        };
        match met == live {
            true => Ok(()),
            false => Err(Fault::outside("map sectors", met, live, live).at(place(tail.spot))),
        }
    }
}

/// What a scan has found.
#[derive(Debug)]
struct Scan {
    next: Option<Spot>,
    /// Drives to look at.
    drives: u16,
    /// By sector, its youngest version and where it lies.
    found: Vec<Option<(Spot, Read)>>,
    /// A sector of another volume, or of one that spreads its copies otherwise.
    foreign: Option<Damage>,
}

fn place(spot: Spot) -> DamageAt {
    DamageAt::Slot(spot.drive, spot.slot)
}

impl VirtualRecovery {
    /// From the tail that was saved at power-down.
    ///
    /// # Errors
    /// The geometry cannot be, or a slot is too small or too large.
    pub fn from_tail(
        geometry: &Geometry,
        slot: Blocks,
        tail: Tail,
    ) -> Result<VirtualRecovery, Refused> {
        let layout = SectorLayout::new(geometry, slot)?;
        let mut walk = Walk::new(&layout, tail.0);
        let next = walk.next();
        Ok(VirtualRecovery {
            layout,
            map: Map::empty(geometry),
            way: Way::FromTail { walk, next },
        })
    }

    /// By reading every slot of the first so many drives: the log lies on these.
    ///
    /// # Errors
    /// The geometry cannot be, or a slot is too small or too large.
    pub fn by_scan(
        geometry: &Geometry,
        slot: Blocks,
        drives: u16,
    ) -> Result<VirtualRecovery, Refused> {
        let layout = SectorLayout::new(geometry, slot)?;
        let scan = Scan {
            next: Some(Spot {
                drive: DriveId(0),
                slot: 0,
            }),
            found: (0..layout.sectors).map(|_| None).collect(),
            drives: drives.min(geometry.drives()),
            foreign: None,
        };
        Ok(VirtualRecovery {
            layout,
            map: Map::empty(geometry),
            way: Way::ByScan { scan },
        })
    }

    /// The slot to read now; none when all was read. A slot that a drive does not have reads as
    /// zeros.
    pub fn next_read(&self) -> Option<Spot> {
        match &self.way {
            Way::FromTail { next, .. } => next.map(|(link, _)| link.spot),
            Way::ByScan { scan } => scan.next,
        }
    }

    /// Takes what was read.
    ///
    /// # Errors
    /// It is damaged.
    ///
    /// # Panics
    /// It is not as long as a slot, or nothing was to read.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        assert_eq!(bytes.len(), self.layout.bytes, "bytes of a slot");
        let spot = self.next_read().expect("nothing was to read");
        let (layout, map) = (&self.layout, &mut self.map);
        let taken = match &mut self.way {
            Way::FromTail { walk, next } => {
                let step = next.take().expect("it was asked for");
                let taken = follow(layout, walk, step, bytes, map);
                *next = walk.next();
                taken
            }
            Way::ByScan { scan } => {
                scan.next = after(&layout.geometry, scan.drives, spot);
                look(layout, scan, spot, bytes, map)
            }
        };
        taken.map_err(|fault| fault.at(place(spot)))
    }

    /// The map, and the log to go on with.
    ///
    /// # Errors
    /// Sectors are missing, or two blocks lie in one slot.
    ///
    /// # Panics
    /// There is something left to read.
    pub fn finish(self) -> Result<VirtualRecovered, Damage> {
        assert_eq!(self.next_read(), None, "something is left to read");
        let layout = self.layout;
        let walked = match self.way {
            Way::FromTail { walk, .. } => {
                walk.check()?;
                walk.walked
            }
            Way::ByScan { scan } => walk_found(&layout, scan)?,
        };
        let number = walked.first().map_or(0, |(tail, _)| tail.number);
        let log = VirtualLog::resume(layout, walked.into_iter(), number);
        let own: Vec<Spot> = log.spots().collect();
        unique::check(&layout.geometry, &self.map, &own)?;
        let map = self.map;
        Ok(VirtualRecovered { map, log })
    }
}

/// Takes the sector to which a link leads.
fn follow(
    layout: &SectorLayout,
    walk: &mut Walk,
    step: Step,
    bytes: &[u8],
    map: &mut Map,
) -> Result<(), Fault> {
    let (link, _) = step;
    let read = Read::parse(layout, bytes)?;
    if read.number != link.number {
        return Err(Fault::Sequence {
            found: read.number,
            allowed: link.number,
        });
    }
    if read.sector != link.sector {
        let (found, allowed) = (read.sector.into(), link.sector.into());
        return Err(Fault::outside("map sector", found, allowed, allowed));
    }
    Read::apply(layout, read.sector, bytes, map)?;
    walk.meet(step, &read);
    Ok(())
}

/// Takes what a slot holds if it is a sector of the map, and younger than what was found of that so
/// far.
fn look(
    layout: &SectorLayout,
    scan: &mut Scan,
    spot: Spot,
    bytes: &[u8],
    map: &mut Map,
) -> Result<(), Fault> {
    let read = match Read::parse(layout, bytes) {
        Ok(read) => read,
        Err(fault @ Fault::Newer { .. }) => return Err(fault),
        Err(fault @ (Fault::Volume { .. } | Fault::Spread { .. })) => {
            scan.foreign.get_or_insert(fault.at(place(spot)));
            return Ok(());
        }
        // Data, or a sector that was torn or damaged: the links will tell.
        Err(_) => return Ok(()),
    };
    let found = &mut scan.found[read.sector as usize];
    if found
        .as_ref()
        .is_none_or(|(_, old)| old.number < read.number)
    {
        Read::apply(layout, read.sector, bytes, map)?;
        *found = Some((spot, read));
    }
    Ok(())
}

/// Walks the links of what a scan has found.
fn walk_found(layout: &SectorLayout, scan: Scan) -> Result<Vec<Step>, Damage> {
    let found = || scan.found.iter().flatten();
    let Some((spot, tail)) = found().max_by_key(|(_, read)| read.number) else {
        // An empty map, unless these are not this volume's drives.
        return scan.foreign.map_or(Ok(Vec::new()), Err);
    };
    let tail = Link {
        number: tail.number,
        sector: tail.sector,
        spot: *spot,
    };
    let mut walk = Walk::new(layout, tail);
    while let Some(step) = walk.next() {
        let (link, _) = step;
        let found = scan.found.get(link.sector as usize);
        let found = found.and_then(Option::as_ref);
        let right = found.filter(|(spot, read)| *spot == link.spot && read.number == link.number);
        let Some((_, read)) = right else {
            return Err(layout.lost(link.sector).at(place(link.spot)));
        };
        walk.meet(step, read);
    }
    walk.check()?;
    let stray = found().find(|(_, read)| !walk.met[read.sector as usize]);
    match stray {
        Some((spot, read)) => {
            let fault = Fault::outside("map sector", read.sector.into(), 0, 0);
            Err(fault.at(place(*spot)))
        }
        None => Ok(walk.walked),
    }
}

/// The slot that a scan reads next.
fn after(geometry: &Geometry, drives: u16, spot: Spot) -> Option<Spot> {
    let Spot { drive, slot } = spot;
    if slot + 1 < geometry.slots {
        let slot = slot + 1;
        return Some(Spot { drive, slot });
    }
    let drive = DriveId(drive.0 + 1);
    (drive.0 < drives).then_some(Spot { drive, slot: 0 })
}
