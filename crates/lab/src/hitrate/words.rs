//! What miss ratios say, in words.

use super::{HitRates, Row};
use crate::number::{self, counted, list, some};

/// How many sizes are told one by one at most.
const EACH_MAX: usize = 3;

/// What misses least at each size, from the smallest on, and what no policy could miss less than.
pub(super) fn headline(found: &HitRates) -> String {
    let mut sizes = sizes(found);
    sizes.sort_by_key(|rows| rows[0].lines);
    let telling: Vec<&[&Row]> = sizes
        .iter()
        .map(Vec::as_slice)
        .filter(|rows| {
            let more_than_once = rows.iter().any(|row| row.misses > found.footprint);
            rows[0].lines < found.footprint || more_than_once
        })
        .collect();
    let Some(last) = telling.last() else {
        return format!(
            "Every size holds all that the trace asks for, {}: each is missed once, {} of all requests for lines.",
            counted(found.footprint, "line"),
            percent(found.footprint as f64 / found.asked as f64)
        );
    };
    let few = telling.len() <= EACH_MAX;
    let mut said: Vec<(String, Vec<(usize, &Row)>)> = Vec::new();
    for (index, rows) in telling.iter().enumerate() {
        let Some((best, row)) = best(rows, few) else {
            continue;
        };
        match said.iter_mut().find(|(before, _)| *before == best) {
            Some((_, ats)) => ats.push((index, row)),
            None => said.push((best, vec![(index, row)])),
        }
    }
    let each = |(best, rows): (String, Vec<(usize, &Row)>)| match few {
        true => format!(
            "{best} {}",
            list(&rows.iter().map(|(_, row)| at(row)).collect::<Vec<_>>())
        ),
        false => format!("{best} {}", among(&rows, telling.len())),
    };
    let said: Vec<String> = said.into_iter().map(each).collect();
    let floor = last.iter().find(|row| row.knows_future);
    let floor = floor.map(|row| {
        let (size, ratio) = (&row.size, percent(row.miss_ratio));
        match said.is_empty() {
            true => format!(
                "{} misses {ratio} at {size}, the least that is possible",
                row.cache
            ),
            false => format!("no policy could miss less than {ratio} at {size}"),
        }
    });
    let parts: Vec<String> = said.into_iter().chain(floor).collect();
    let only = match found.complete {
        true => "",
        false => "before the interruption, ",
    };
    format!("{only}{}.", parts.join("; "))
}

/// Rows by size, in the order in which sizes were asked for.
pub(super) fn sizes(found: &HitRates) -> Vec<Vec<&Row>> {
    let mut sizes: Vec<Vec<&Row>> = Vec::new();
    for row in &found.rows {
        match sizes.iter_mut().find(|rows| rows[0].size == row.size) {
            Some(rows) => rows.push(row),
            None => sizes.push(vec![row]),
        }
    }
    sizes
}

/// Which policies that could be used miss least at a size, and how much.
fn best<'a>(rows: &[&'a Row], few: bool) -> Option<(String, &'a Row)> {
    let online: Vec<&Row> = rows
        .iter()
        .copied()
        .filter(|row| !row.knows_future)
        .collect();
    let least = *online
        .iter()
        .min_by(|one, other| one.miss_ratio.total_cmp(&other.miss_ratio))?;
    let off_by = |row: &Row| row.off_by.unwrap_or(0.0);
    // Of a sample, what it cannot tell apart.
    let alike: Vec<String> = online
        .iter()
        .filter(|row| row.miss_ratio - off_by(row) <= least.miss_ratio + off_by(least))
        .map(|row| row.cache.clone())
        .collect();
    let said = match (alike.len(), online.len()) {
        (1, 1) => format!("{} misses", least.cache),
        (1, _) => format!("{} misses least:", least.cache),
        (_, _) if least.off_by.is_some() && !few => {
            "the sample cannot tell which misses least: about".to_owned()
        }
        (_, _) if least.off_by.is_some() => {
            format!(
                "the sample cannot tell which of {} misses least: about",
                some(&alike)
            )
        }
        _ => format!("{} miss the same, the least:", some(&alike)),
    };
    Some((said, least))
}

fn at(row: &Row) -> String {
    format!("{} at {}", percent(row.miss_ratio), row.size)
}

/// At which of so many sizes: from where to where, as often as others are in between.
fn among(rows: &[(usize, &Row)], of: usize) -> String {
    let runs = rows.chunk_by(|(one, _), (next, _)| *next == one + 1);
    let told = runs.map(|run| match run {
        [(_, first), .., (_, last)] => format!("{} to {}", at(first), at(last)),
        [(_, only), ..] => at(only),
        [] => String::new(),
    });
    let told: Vec<String> = told.collect();
    match rows.len() {
        1 => list(&told),
        many => format!("{}, at {many} of {of} sizes", some(&told)),
    }
}

/// A share of all as people read it.
pub(super) fn percent(share: f64) -> String {
    let decimals = if 100.0 * share >= 9.995 { 1 } else { 2 };
    number::percent(share, decimals)
}

#[cfg(test)]
mod tests {
    use super::super::{HITRATE_SCHEMA, Unit, Which};
    use super::*;

    /// Rows of these caches, sizes, lines and miss ratios; how far a sample may be off.
    fn found(rows: &[(&str, &str, u64, f64)], off_by: Option<f64>) -> HitRates {
        let row = |(cache, size, lines, miss_ratio): &(&str, &str, u64, f64)| Row {
            cache: (*cache).to_owned(),
            size: (*size).to_owned(),
            lines: *lines,
            share: *lines as f64 / 1_000.0,
            misses: (miss_ratio * 10_000.0).round() as u64,
            miss_ratio: *miss_ratio,
            off_by,
            missed_requests: None,
            request_miss_ratio: None,
            knows_future: *cache == "optimal",
        };
        HitRates {
            schema: HITRATE_SCHEMA,
            version: String::new(),
            build: String::new(),
            headline: String::new(),
            files: Vec::new(),
            format: String::new(),
            unit: Unit::Request,
            which: Which::All,
            sample: None,
            requests: 10_000,
            asked: 10_000,
            footprint: 1_000,
            complete: true,
            warnings: Vec::new(),
            rows: rows.iter().map(row).collect(),
        }
    }

    #[test]
    fn the_headline_says_what_misses_least_at_each_size() {
        let rows = [
            ("lru", "1%", 10, 0.5),
            ("lru", "2%", 20, 0.4),
            ("lru", "10%", 100, 0.0321),
            ("arc", "1%", 10, 0.45),
            ("arc", "2%", 20, 0.35),
            ("arc", "10%", 100, 0.04),
            ("optimal", "1%", 10, 0.3),
            ("optimal", "2%", 20, 0.2),
            ("optimal", "10%", 100, 0.01),
        ];
        let said = |rows: &[_], off_by| headline(&found(rows, off_by));
        assert_eq!(
            said(&rows, None),
            "arc misses least: 45.0 % at 1% and 35.0 % at 2%; lru misses least: 3.21 % at 10%; \
             no policy could miss less than 1.00 % at 10%."
        );
        assert_eq!(said(&rows[..1], None), "lru misses 50.0 % at 1%.");
        assert_eq!(
            said(&rows[8..], None),
            "optimal misses 1.00 % at 10%, the least that is possible."
        );
        let more: Vec<_> = rows[..3]
            .iter()
            .chain(&[("lru", "20%", 200, 0.02)])
            .copied()
            .collect();
        assert_eq!(
            said(&more, None),
            "lru misses 50.0 % at 1% to 2.00 % at 20%, at 4 of 4 sizes."
        );
        let turned: Vec<_> = more.iter().rev().copied().collect();
        assert_eq!(said(&turned, None), said(&more, None));
        let near = [rows[0], rows[3]];
        assert_eq!(
            said(&near, Some(0.03)),
            "the sample cannot tell which of lru and arc misses least: about 45.0 % at 1%."
        );
        assert_eq!(said(&near, Some(0.02)), "arc misses least: 45.0 % at 1%.");
        let same = [("lru", "1%", 10, 0.5), ("arc", "1%", 10, 0.5)];
        assert_eq!(
            said(&same, None),
            "lru and arc miss the same, the least: 50.0 % at 1%."
        );
        assert_eq!(
            said(&[("lru", "1GiB", 1_000, 0.1)], None),
            "Every size holds all that the trace asks for, 1000 lines: each is missed once, 10.0 % of all requests for lines."
        );
    }

    #[test]
    fn sizes_that_others_lie_between_are_told_apart_and_nearly_all_is_not_all() {
        let between = [
            ("lru", "1%", 10, 0.5),
            ("lru", "2%", 20, 0.4),
            ("lru", "10%", 100, 0.0321),
            ("lru", "20%", 200, 0.02),
            ("lru", "30%", 300, 0.019),
            ("arc", "1%", 10, 0.6),
            ("arc", "2%", 20, 0.3),
            ("arc", "10%", 100, 0.02),
            ("arc", "20%", 200, 0.03),
            ("arc", "30%", 300, 0.03),
        ];
        assert_eq!(
            headline(&found(&between, None)),
            "lru misses least: 50.0 % at 1% and 2.00 % at 20% to 1.90 % at 30%, at 3 of 5 sizes; \
             arc misses least: 30.0 % at 2% to 2.00 % at 10%, at 2 of 5 sizes."
        );
        assert_eq!(
            [0.9996, 0.999_99, 1.0, 0.5].map(percent),
            ["99.96 %", "99.999 %", "100.0 %", "50.0 %"]
        );
    }
}
