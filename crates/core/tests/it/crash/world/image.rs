//! What the sectors of a drive hold. A copy costs little: it shares every piece that nobody has
//! written since.

use std::collections::BTreeMap;
use std::rc::Rc;

/// What a sector holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sector {
    /// Of a client: which block, and which version of it.
    Client(u64, u64),
    /// Of the map's log.
    Own(Rc<[u8; 512]>),
}

impl Sector {
    /// Whether it begins a control block of a map's log.
    pub(super) fn is_control(&self) -> bool {
        matches!(self, Sector::Own(bytes) if bytes.starts_with(b"NearSCtl"))
    }

    /// Whether it begins the mark of a drive that was set aside, which lies in the place of one.
    fn is_mark(&self) -> bool {
        matches!(self, Sector::Own(bytes) if bytes.starts_with(b"NearSOut"))
    }

    /// Flips bits of one byte of a sector of the map's log; whether it is one.
    pub(super) fn flip(&mut self, byte: usize, bits: u8) -> bool {
        match self {
            Sector::Own(bytes) => Rc::make_mut(bytes)[byte] ^= bits,
            Sector::Client(..) => return false,
        }
        true
    }
}

const PIECE: u64 = 64;

type Piece = [Option<Sector>; PIECE as usize];

/// The sectors of one drive; those that were never written hold nothing.
#[derive(Clone, Default)]
pub(crate) struct Image {
    /// By number, those with a sector that was written: they may be few, and far apart.
    pieces: BTreeMap<u64, Rc<Piece>>,
}

impl Image {
    pub(super) fn get(&self, at: u64) -> Option<&Sector> {
        self.pieces.get(&(at / PIECE))?[(at % PIECE) as usize].as_ref()
    }

    pub(super) fn write(&mut self, at: u64, sector: Sector) {
        *self.place(at) = Some(sector);
    }

    /// What a sector holds, to be changed.
    pub(super) fn place(&mut self, at: u64) -> &mut Option<Sector> {
        let nothing = || Rc::new([const { None }; PIECE as usize]);
        let piece = self.pieces.entry(at / PIECE).or_insert_with(nothing);
        &mut Rc::make_mut(piece)[(at % PIECE) as usize]
    }

    /// Sectors that were written, by address.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Sector)> {
        let sectors = self.pieces.iter().flat_map(|(piece, sectors)| {
            let first = piece * PIECE;
            (first..).zip(sectors.iter())
        });
        sectors.filter_map(|(at, sector)| Some((at, sector.as_ref()?)))
    }

    /// Sectors of the map's log, by address.
    pub(super) fn own(&self) -> impl Iterator<Item = u64> {
        let own = |(at, sector): (u64, &Sector)| matches!(sector, Sector::Own(_)).then_some(at);
        self.iter().filter_map(own)
    }

    /// What says how far a map's log has come: its control blocks and marks.
    pub(super) fn controls(&self) -> Vec<Sector> {
        let says = |sector: &&Sector| sector.is_control() || sector.is_mark();
        let sectors = self.iter().map(|(_, sector)| sector);
        sectors.filter(says).cloned().collect()
    }

    /// Forgets what these sectors hold.
    pub(super) fn forget(&mut self, lost: impl Fn(&Sector) -> bool) {
        let sectors = self
            .pieces
            .values_mut()
            .flat_map(|piece| Rc::make_mut(piece).iter_mut());
        for sector in sectors.filter(|sector| sector.as_ref().is_some_and(&lost)) {
            *sector = None;
        }
    }
}

#[test]
fn a_copy_keeps_what_it_had() {
    let mut image = Image::default();
    image.write(70, Sector::Client(7, 1));
    image.write(3, Sector::Own(Rc::new([0; 512])));
    let copy = image.clone();
    assert!(image.place(3).as_mut().unwrap().flip(300, 4));
    image.write(70, Sector::Client(7, 2));
    image.forget(|sector| matches!(sector, Sector::Client(_, 2)));
    assert_eq!(image.get(70), None);
    assert_eq!(copy.get(70), Some(&Sector::Client(7, 1)));
    assert_eq!(copy.get(3), Some(&Sector::Own(Rc::new([0; 512]))));
    let addresses = |image: &Image| image.iter().map(|(at, _)| at).collect::<Vec<_>>();
    assert_eq!(
        (addresses(&image), addresses(&copy)),
        (vec![3], vec![3, 70])
    );
}
