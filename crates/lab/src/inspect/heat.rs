//! Where requests begin over time, and what was asked when: a grid whose cells grow with the trace.
//!
//! Neither the length of a trace nor its addresses are known beforehand. Columns of time begin at 1
//! us and rows of addresses at 4 KiB. If a request lies outside, neighbouring columns or rows are
//! merged by twos until it lies inside, and counts are added, so none is lost. In the end a map has
//! 129 to 256 columns, and 65 to 128 rows, unless the trace is too short for so many. A request
//! counts where it begins. All devices have the same columns; each has its own rows.
//!
//! The first [`GRIDS_MAX`] devices of a trace get a grid of 512 KiB; requests of later ones are
//! only counted, since it is not known beforehand which devices will be the busiest. Cost: O(1) per
//! request.

use std::cmp::Reverse;

use nearslot_trace::{Record, TraceOp};

use super::PAGE_BITS;
use super::pictures::{Cells, Heat, HeatMap, LoadOverTime};

const COLUMNS_MAX: usize = 256;
const ROWS_MAX: usize = 128;
const GRIDS_MAX: usize = 32;
const COLUMN_NS_FIRST: u64 = 1_000;

/// Requests so far.
pub(super) struct HeatCounter {
    first_ns: Option<i64>,
    column_ns: u64,
    columns: Vec<Column>,
    /// By device of the reader; `None` are those that came too late.
    grids: Vec<Option<Grid>>,
    mapped: usize,
    unmapped: u64,
}

/// What was asked in an interval.
#[derive(Clone, Copy, Default)]
struct Column {
    reads: u64,
    writes: u64,
    others: u64,
    read_bytes: u128,
    write_bytes: u128,
}

impl Column {
    fn add(&mut self, other: Column) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.others += other.others;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
    }

    #[inline]
    fn count(&mut self, record: &Record) {
        match record.op {
            TraceOp::Read => {
                self.reads += 1;
                self.read_bytes += u128::from(record.len);
            }
            TraceOp::Write => {
                self.writes += 1;
                self.write_bytes += u128::from(record.len);
            }
            _ => self.others += 1,
        }
    }
}

/// Reads and writes of a cell.
#[derive(Clone, Copy, Default)]
struct Cell {
    reads: u64,
    writes: u64,
}

impl Cell {
    fn add(&mut self, other: Cell) {
        self.reads += other.reads;
        self.writes += other.writes;
    }
}

/// One device. Rows are numbered from address 0; those from `low` on are kept.
struct Grid {
    /// Length of a row, as a power of two.
    row_bits: u32,
    low: u64,
    /// Rows that were touched: the lowest and the highest.
    first: u64,
    last: u64,
    /// Column by column, each of [`ROWS_MAX`] rows.
    cells: Vec<Cell>,
}

impl HeatCounter {
    pub(super) fn new() -> HeatCounter {
        HeatCounter {
            first_ns: None,
            column_ns: COLUMN_NS_FIRST,
            columns: Vec::with_capacity(COLUMNS_MAX),
            grids: Vec::new(),
            mapped: 0,
            unmapped: 0,
        }
    }

    pub(super) fn record(&mut self, batch: &[Record]) {
        for record in batch {
            let first = *self.first_ns.get_or_insert(record.ts);
            let since = record.ts.abs_diff(first);
            let mut column = since / self.column_ns;
            if column >= self.columns.len() as u64 {
                column = self.reach(since);
            }
            let column = column as usize;
            self.columns[column].count(record);
            if record.op.is_media() {
                self.place(record, column);
            }
        }
    }

    /// Makes the column of an instant; gives its number.
    #[cold]
    fn reach(&mut self, since_ns: u64) -> u64 {
        while since_ns / self.column_ns >= COLUMNS_MAX as u64 {
            self.column_ns *= 2;
            let merge = |pair: &[Column]| {
                let mut sum = pair[0];
                pair[1..].iter().for_each(|column| sum.add(*column));
                sum
            };
            self.columns = self.columns.chunks(2).map(merge).collect();
            self.grids
                .iter_mut()
                .flatten()
                .for_each(Grid::merge_columns);
        }
        let column = since_ns / self.column_ns;
        self.columns.resize(column as usize + 1, Column::default());
        column
    }

    #[inline]
    fn place(&mut self, record: &Record, column: usize) {
        let dev = record.dev as usize;
        if dev >= self.grids.len() {
            self.grids.resize_with(dev + 1, || None);
        }
        if self.grids[dev].is_none() {
            if self.mapped == GRIDS_MAX {
                self.unmapped += 1;
                return;
            }
            self.mapped += 1;
            self.grids[dev] = Some(Grid::at(record.offset));
        }
        let grid = self.grids[dev].as_mut().expect("made just now");
        grid.count(record, column);
    }

    /// Rates over time.
    pub(super) fn load(&self) -> LoadOverTime {
        let interval_s = self.column_ns as f64 / 1e9;
        let each =
            |of: &dyn Fn(&Column) -> f64| self.columns.iter().map(|c| of(c) / interval_s).collect();
        LoadOverTime {
            interval_s,
            read_rps: each(&|column| column.reads as f64),
            write_rps: each(&|column| column.writes as f64),
            other_rps: each(&|column| column.others as f64),
            read_mb_s: each(&|column| column.read_bytes as f64 / 1e6),
            write_mb_s: each(&|column| column.write_bytes as f64 / 1e6),
        }
    }

    /// The maps of the busiest devices; `name` names a device of the reader.
    pub(super) fn heat(&self, name: &dyn Fn(u32) -> String) -> Heat {
        let grids = self.grids.iter().zip(0..);
        let mut maps: Vec<HeatMap> = grids
            .filter_map(|(grid, dev)| Some(grid.as_ref()?.map(name(dev))))
            .collect();
        maps.sort_by_key(|map| Reverse(map.requests));
        let hidden = maps.iter().skip(Heat::MAPS_MAX);
        let unmapped_requests = self.unmapped + hidden.map(|map| map.requests).sum::<u64>();
        maps.truncate(Heat::MAPS_MAX);
        Heat {
            reads_two_thirds_share: two_thirds(&maps, |cells, index| cells.reads[index]),
            writes_two_thirds_share: two_thirds(&maps, |cells, index| cells.writes[index]),
            unmapped_requests,
            maps,
        }
    }
}

impl Grid {
    /// Of a device whose first request begins here.
    fn at(offset: u64) -> Grid {
        let row = offset >> PAGE_BITS;
        Grid {
            row_bits: PAGE_BITS,
            low: row,
            first: row,
            last: row,
            cells: Vec::new(),
        }
    }

    #[inline]
    fn count(&mut self, record: &Record, column: usize) {
        let mut row = record.offset >> self.row_bits;
        if row < self.low || row - self.low >= ROWS_MAX as u64 {
            row = self.reach(record.offset);
        }
        self.first = self.first.min(row);
        self.last = self.last.max(row);
        let at = column * ROWS_MAX + (row - self.low) as usize;
        if at >= self.cells.len() {
            self.cells.resize((column + 1) * ROWS_MAX, Cell::default());
        }
        let cell = &mut self.cells[at];
        match record.op {
            TraceOp::Read => cell.reads += 1,
            _ => cell.writes += 1,
        }
    }

    /// Makes the row of an address by moving the lowest row, and by merging rows if there would be
    /// too many; gives its number.
    #[cold]
    fn reach(&mut self, offset: u64) -> u64 {
        let row = offset >> self.row_bits;
        let (first, last) = (self.first.min(row), self.last.max(row));
        let fits = |more: &u32| (last >> more) - (first >> more) < ROWS_MAX as u64;
        let more = (0..64).find(fits).expect("64 bits are left without rows");
        let low = first >> more;
        for column in self.cells.chunks_mut(ROWS_MAX) {
            let mut merged = [Cell::default(); ROWS_MAX];
            let kept = (self.first..=self.last).map(|row| (row - self.low) as usize);
            for at in kept {
                let row = (self.low + at as u64) >> more;
                merged[(row - low) as usize].add(column[at]);
            }
            column.copy_from_slice(&merged);
        }
        self.low = low;
        self.row_bits += more;
        (self.first, self.last) = (self.first >> more, self.last >> more);
        row >> more
    }

    /// Adds up each two columns.
    fn merge_columns(&mut self) {
        let columns = self.cells.len() / ROWS_MAX;
        for from in 0..columns {
            for row in 0..ROWS_MAX {
                let cell = std::mem::take(&mut self.cells[from * ROWS_MAX + row]);
                self.cells[from / 2 * ROWS_MAX + row].add(cell);
            }
        }
        self.cells.truncate(columns.div_ceil(2) * ROWS_MAX);
    }

    fn map(&self, device: String) -> HeatMap {
        let mut cells = Cells::default();
        for (cell, at) in self.cells.iter().zip(0..) {
            if cell.reads + cell.writes > 0 {
                cells.column.push(at / ROWS_MAX as u64);
                cells
                    .row
                    .push(at % ROWS_MAX as u64 - (self.first - self.low));
                cells.reads.push(cell.reads);
                cells.writes.push(cell.writes);
            }
        }
        HeatMap {
            device,
            requests: cells.reads.iter().chain(&cells.writes).sum(),
            from_bytes: self.first << self.row_bits,
            row_bytes: 1 << self.row_bits,
            rows: self.last - self.first + 1,
            cells,
        }
    }
}

/// The least share of all rows of the maps, by their length, that have two thirds of what `of`
/// counts.
fn two_thirds(maps: &[HeatMap], of: fn(&Cells, usize) -> u64) -> Option<f64> {
    let mut rows: Vec<(u64, u64)> = Vec::new();
    for map in maps {
        let mut counts = vec![0; map.rows as usize];
        for (index, row) in map.cells.row.iter().enumerate() {
            counts[*row as usize] += of(&map.cells, index);
        }
        rows.extend(counts.into_iter().map(|count| (count, map.row_bytes)));
    }
    let all: u64 = rows.iter().map(|(count, _)| count).sum();
    let bytes: u128 = rows.iter().map(|(_, bytes)| u128::from(*bytes)).sum();
    // The densest rows first.
    rows.sort_by(|(a, a_bytes), (b, b_bytes)| {
        let density = |count: &u64, other: &u64| u128::from(*count) * u128::from(*other);
        density(b, a_bytes).cmp(&density(a, b_bytes))
    });
    let (mut found, mut taken) = (0, 0_u128);
    for (count, bytes) in rows {
        if u128::from(found) * 3 >= u128::from(all) * 2 {
            break;
        }
        found += count;
        taken += u128::from(bytes);
    }
    (all > 0).then(|| taken as f64 / bytes as f64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn counted(records: &[Record]) -> HeatCounter {
        let mut counter = HeatCounter::new();
        records.chunks(7).for_each(|batch| counter.record(batch));
        counter
    }

    fn heat(records: &[Record]) -> Heat {
        counted(records).heat(&|dev| format!("sd{dev}"))
    }

    /// Requests of a map by what they are: the time and the address where their cell begins, in ns
    /// and bytes.
    fn cells(map: &HeatMap, column_ns: u64) -> BTreeMap<(u64, u64), (u64, u64)> {
        let cells = &map.cells;
        let cell = |at: usize| {
            let place = (
                cells.column[at] * column_ns,
                map.from_bytes + cells.row[at] * map.row_bytes,
            );
            (place, (cells.reads[at], cells.writes[at]))
        };
        (0..cells.row.len()).map(cell).collect()
    }

    fn read(ts: i64, offset: u64) -> Record {
        Record::new(ts, TraceOp::Read, offset, 4096, 0)
    }

    fn write(ts: i64, offset: u64) -> Record {
        Record::new(ts, TraceOp::Write, offset, 512, 0)
    }

    #[test]
    fn a_request_counts_where_and_when_it_begins() {
        let records = [
            read(70, 8192),
            read(1_069, 12_287),
            write(1_070, 12_288),
            read(3_070, 8191),
        ];
        let found = heat(&records);
        let map = &found.maps[0];
        assert_eq!((map.from_bytes, map.row_bytes, map.rows), (4096, 4096, 3));
        let expected = [
            ((0, 8192), (2, 0)),
            ((1_000, 12_288), (0, 1)),
            ((3_000, 4096), (1, 0)),
        ];
        assert_eq!(cells(map, 1_000), expected.into());
        assert_eq!((map.device.as_str(), map.requests), ("sd0", 4));
    }

    #[test]
    fn rates_are_of_reads_writes_and_others_in_each_interval() {
        let flush = Record::new(2_500, TraceOp::Flush, 0, 0, 0);
        let load = counted(&[read(0, 0), write(999, 0), read(2_000, 0), flush]).load();
        assert_eq!(load.interval_s, 1e-6);
        assert_eq!(load.read_rps, [1e6, 0.0, 1e6]);
        assert_eq!(load.write_rps, [1e6, 0.0, 0.0]);
        assert_eq!(load.other_rps, [0.0, 0.0, 1e6]);
        assert_eq!(load.read_mb_s, [4096.0, 0.0, 4096.0]);
        assert_eq!(load.write_mb_s, [512.0, 0.0, 0.0]);
    }

    #[test]
    fn whatever_the_length_there_are_enough_columns_and_not_too_many() {
        for shift in 10..62 {
            let step = 1_i64 << shift >> 10;
            let records: Vec<Record> = (0..1_024).map(|i| read(i * step, 0)).collect();
            let columns = counted(&records).load().read_rps.len();
            let enough = if shift < 19 { 1 } else { 129 };
            assert!((enough..=256).contains(&columns), "{shift}: {columns}");
        }
    }

    #[test]
    fn devices_have_maps_of_their_own_the_busiest_first() {
        let mut records = Vec::new();
        for dev in 0..40 {
            for _ in 0..=dev % 32 {
                records.push(Record::new(0, TraceOp::Read, 0, 512, dev));
            }
        }
        let found = heat(&records);
        let names: Vec<&str> = found.maps.iter().map(|map| map.device.as_str()).collect();
        assert_eq!(names[..2], ["sd31", "sd30"]);
        let mapped: u64 = found.maps.iter().map(|map| map.requests).sum();
        assert_eq!(names.len(), Heat::MAPS_MAX);
        assert_eq!(mapped + found.unmapped_requests, records.len() as u64);
    }

    #[test]
    fn two_thirds_fall_into_the_densest_rows() {
        // Row 0 has 60 reads, rows 1 to 9 have 4 each: two rows have 64 of 96.
        let reads = (0..96).map(|i| read(0, if i < 60 { 0 } else { 4096 * (1 + (i - 60) / 4) }));
        let writes = (0..10).map(|i| write(0, i * 4096));
        let found = heat(&reads.chain(writes).collect::<Vec<_>>());
        assert_eq!(found.reads_two_thirds_share, Some(0.2));
        assert_eq!(found.writes_two_thirds_share, Some(0.7));
        assert_eq!(heat(&[read(0, 0)]).writes_two_thirds_share, None);
    }

    proptest! {
        /// The twin knows how long the trace is and where it ends, and puts every request into its
        /// cell.
        #[test]
        fn no_request_is_lost_and_each_is_in_its_cell(
            seed in prop::collection::vec((0_u64..1 << 40, 0_u64..1 << 44, 0_u32..60, 0_u32..60, any::<bool>()), 1..400),
        ) {
            let mut records: Vec<Record> = seed
                .iter()
                .map(|&(ts, offset, small, near, writes)| {
                    // Times and addresses of all magnitudes.
                    let op = if writes { TraceOp::Write } else { TraceOp::Read };
                    let ts = ts >> (small % 41);
                    Record::new(ts as i64, op, offset >> (near % 45), 512, u32::from(near % 2 == 1))
                })
                .collect();
            records.sort_by_key(|record| record.ts);
            let counter = counted(&records);
            let found = counter.heat(&|dev| dev.to_string());
            let first = records[0].ts;
            for map in &found.maps {
                let mut twin: BTreeMap<(u64, u64), (u64, u64)> = BTreeMap::new();
                for record in records.iter().filter(|record| record.dev.to_string() == map.device) {
                    let since = record.ts.abs_diff(first);
                    let place = (since / counter.column_ns * counter.column_ns, record.offset / map.row_bytes * map.row_bytes);
                    let cell = twin.entry(place).or_default();
                    match record.op {
                        TraceOp::Read => cell.0 += 1,
                        _ => cell.1 += 1,
                    }
                }
                prop_assert_eq!(cells(map, counter.column_ns), twin);
                prop_assert!(map.rows <= ROWS_MAX as u64);
                prop_assert!(map.rows > ROWS_MAX as u64 / 2 || map.row_bytes == 4096);
            }
            let mapped: u64 = found.maps.iter().map(|map| map.requests).sum();
            prop_assert_eq!(mapped, records.len() as u64);
            let load = counter.load();
            let rates = load.read_rps.iter().chain(&load.write_rps).sum::<f64>() * load.interval_s;
            prop_assert!((rates - records.len() as f64).abs() < 1e-6);
        }
    }
}
