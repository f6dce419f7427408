//! The page: what is inlined, that it stays inert, and the sample that the page's own tests read.

use std::fs;
use std::path::{Path, PathBuf};

use nearslot_lab::inspect::{Against, Inspector};
use nearslot_lab::outcome::ChosenDrive;
use nearslot_lab::outcome::{Results, Standing, Word};
use nearslot_lab::report::{Figures, figures_html, html, inspection_html};
use nearslot_lab::warning::{Warning, WarningKind};
use nearslot_trace::{Header, Record, TraceOp};
use serde_json::Value;

use crate::report::figures::figures;
use crate::report::sample::{FULL, SMALL, inspection, pictured, results, verdict};
use crate::report::{hosts, real};

const HOSTILE: &str = "</script><script>document.title='owned'</script>\
    <img src=x onerror=\"document.title='owned'\">\u{2028}\u{202e}'\"`&amp;.blktrace";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../web/fixtures")
        .join(name)
}

/// What stands in the page's data element.
fn payload(page: &str) -> &str {
    let (_, from) = page
        .split_once("<script id=\"data\" type=\"application/json\">")
        .unwrap();
    from.split_once("</script>").unwrap().0
}

fn hostile() -> Results {
    let mut results = results(SMALL);
    let trace = results.trace.as_mut().unwrap();
    trace.files = vec![HOSTILE.to_owned()];
    trace.device = HOSTILE.to_owned();
    results.warnings = vec![Warning::new(WarningKind::Note, HOSTILE).of_run(HOSTILE)];
    results.seed = u64::MAX;
    results.runs[0].label = HOSTILE.to_owned();
    results.runs[0].choice = HOSTILE.to_owned();
    results.runs[1].config["sched"]["name"] = Value::from(HOSTILE);
    results.runs[2].config[HOSTILE] = Value::from("__proto__");
    (results.varied, results.verdict) = verdict(&results.runs);
    results
}

/// Sixty-four runs with long labels: sixteen choices under each of four loads.
fn many() -> Results {
    let mut results = results(SMALL);
    let six = results.runs.clone();
    results.runs = (0..64)
        .map(|index| {
            let mut run = six[index % 6].clone();
            let depth = 1 << (index / 16);
            let oracle = format!("noisy:position_error_us={}", index % 16);
            run.label = format!("{} depth={depth} oracle={oracle}", run.label);
            run.load = format!("depth={depth}");
            run.choice = format!("{} oracle={oracle}", run.choice);
            let settings = [("depth", depth.to_string()), ("oracle", oracle)];
            let settings = settings.map(|(key, value)| (key.to_owned(), value));
            run.settings.extend(settings);
            run.throughput_rps *= 1.0 + index as f64 / 50.0;
            run.response_ms.mean *= 1.0 + (index / 6) as f64;
            run.response_ms.ci95 = run.response_ms.ci95.map(|_| {
                let mean = run.response_ms.mean;
                [mean * 0.9, mean * 1.1]
            });
            run
        })
        .collect();
    results.runs_planned = 80;
    (results.varied, results.verdict) = verdict(&results.runs);
    results
}

/// One short run: no series, no intervals, no writes, no trace.
fn bare() -> Results {
    let mut results = results(SMALL);
    results.runs.truncate(2);
    results.runs_planned = 2;
    results.trace = None;
    results.warnings.clear();
    for run in &mut results.runs {
        run.response_ms.ci95 = None;
        run.write_response_ms = None;
        run.write_wait_ms = None;
        run.write_service_ms = None;
    }
    results.runs[0].series = None;
    results.runs[1].series = Some(Default::default());
    (results.varied, results.verdict) = verdict(&results.runs);
    results
}

/// One run, as `run` reports it.
fn single() -> Results {
    let mut results = results(SMALL);
    results.runs.truncate(1);
    results.runs_planned = 1;
    results.runs[0].settings.clear();
    results.drive_chosen = Some(ChosenDrive {
        name: "seagate-cheetah-9lp".to_owned(),
        capacity_bytes: 9_105_018_880,
        why: "no drive was named, so it is seagate-cheetah-9lp".to_owned(),
    });
    (results.varied, results.verdict) = verdict(&results.runs);
    results
}

/// The sample without eager writes.
fn in_place() -> Results {
    let mut results = results(SMALL);
    for series in results
        .runs
        .iter_mut()
        .filter_map(|run| run.series.as_mut())
    {
        series.arm_open.fill(false);
    }
    results
}

#[test]
fn data_are_inlined_whole_and_inert() {
    let page = html(&hostile(), None).unwrap();
    let data = payload(&page);
    assert!(!data.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
    let value: Value = serde_json::from_str(data).unwrap();
    assert_eq!(value["results"]["trace"]["files"][0], HOSTILE);
    assert_eq!(value["results"]["runs"][0]["label"], HOSTILE);
    assert_eq!(value["results"]["seed"], "18446744073709551615");
    assert_eq!(value["profile"], Value::Null);
    let tame = html(&results(SMALL), None).unwrap();
    for tag in ["<script", "</script", "<img"] {
        assert_eq!(
            page.matches(tag).count(),
            tame.matches(tag).count(),
            "{tag}"
        );
    }
}

#[test]
fn nothing_on_the_page_leads_outside() {
    let page = html(&results(SMALL), None).unwrap();
    let (markup, _) = page.split_once("<script id=\"data\"").unwrap();
    assert!(
        markup.contains("default-src 'none'"),
        "the page has no content policy"
    );
    for tag in ["<link ", "<img ", "<iframe", "@import", "url(http"] {
        assert!(!page.contains(tag), "{tag} in the page");
    }
}

#[test]
fn series_that_cannot_be_drawn_are_refused() {
    let mut uneven = results(SMALL);
    uneven.runs[1].series.as_mut().unwrap().queue.pop();
    assert!(
        html(&uneven, None)
            .unwrap_err()
            .to_string()
            .contains("series.time_s")
    );
    let mut short = results(SMALL);
    short.runs[4].series.as_mut().unwrap().free[0].free_per_10k[3].pop();
    assert!(
        html(&short, None)
            .unwrap_err()
            .to_string()
            .contains("series.free.cylinders")
    );
    let mut infinite = results(SMALL);
    infinite.runs[1].series.as_mut().unwrap().response_ms[3] = Some(f64::INFINITY);
    let words = html(&infinite, None).unwrap_err().to_string();
    assert!(words.contains("series.response_ms"), "{words}");
    assert!(words.contains("sched=sstf"), "{words}");
}

/// The page's tests read these files; `UPDATE_FIXTURES=1` writes them anew.
#[test]
fn the_samples_of_the_page_are_current() {
    let report = html(&results(SMALL), Some(&inspection(SMALL))).unwrap();
    let pages = [
        ("results.json", report),
        ("figures.json", figures_html(&figures()).unwrap()),
        ("inspection.json", inspection_html(&pictured()).unwrap()),
        ("hosts.json", html(&hosts::starting(), None).unwrap()),
    ];
    for (name, page) in pages {
        let (current, path) = (payload(&page).to_owned() + "\n", fixture(name));
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &current).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == current,
            "{} differs; UPDATE_FIXTURES=1 writes it anew",
            path.display()
        );
    }
}

#[test]
fn an_inspection_without_pictures_is_no_page() {
    let words = inspection_html(&inspection(SMALL)).unwrap_err().to_string();
    assert!(words.contains("without pictures"), "{words}");
    let mut hostile = pictured();
    hostile.files = vec![HOSTILE.to_owned()];
    let page = inspection_html(&hostile).unwrap();
    let value: Value = serde_json::from_str(payload(&page)).unwrap();
    assert_eq!(value["inspection"]["files"][0], HOSTILE);
    assert!(!payload(&page).contains(['<', '>', '&']));
}

/// What experiments hand over is read strictly and checked.
#[test]
fn figures_that_cannot_be_drawn_are_refused() {
    let text = serde_json::to_value(figures()).unwrap();
    let read = |change: &dyn Fn(&mut Value)| {
        let mut changed = text.clone();
        change(&mut changed);
        serde_json::from_value::<Figures>(changed)
            .map_err(|error| error.to_string())
            .and_then(|figures| figures_html(&figures).map_err(|error| error.to_string()))
    };
    assert!(read(&|_| ()).is_ok());
    let unknown = read(&|value| value["figures"][0]["colour"] = Value::from("red"));
    assert!(unknown.unwrap_err().contains("unknown field `colour`"));
    let newer = read(&|value| value["schema"] = Value::from(4));
    assert!(newer.unwrap_err().contains("layout 4"));
    let line = "/figures/0/panels/1/lines/2";
    let short = read(&|value| value.pointer_mut(line).unwrap()["y"] = Value::from(vec![1.0]));
    let words = short.unwrap_err();
    assert!(words.contains("FreeBW-SCAN"), "{words}");
    assert!(words.contains("ew-fig4"), "{words}");
    let mut uneven = nearslot_lab::capacity::figures(&crate::report::capacity::found());
    let table = uneven.answer.as_mut().unwrap().table.as_mut().unwrap();
    table.rows[1].pop();
    let words = figures_html(&uneven).unwrap_err().to_string();
    assert!(
        words.contains("row 2 of the table has 12 cells, not 13"),
        "{words}"
    );
    let mut endless = figures();
    endless.figures[1].limit = Some(f64::INFINITY);
    let words = figures_html(&endless).unwrap_err().to_string();
    assert!(words.contains("figure ew-fig5"), "{words}");
    assert!(words.contains("limit"), "{words}");
    let mut infinite = figures();
    infinite.figures[0].panels[0].lines[0].high[1] = Some(f64::INFINITY);
    let words = figures_html(&infinite).unwrap_err().to_string();
    assert!(words.contains("figure ew-fig4"), "{words}");
    assert!(words.contains("SATF-EW"), "{words}");
}

/// Only the first of the ranking keeps up.
fn growing() -> Results {
    let mut results = results(SMALL);
    let ranks = &mut results.verdict.rankings[0].ranks;
    for rank in &mut ranks[1..] {
        let run = &mut results.runs[rank.run];
        run.queue_growth_rps = Some(41.5);
        run.response_ms.ci95 = None;
        rank.ratio_to_best = None;
        rank.standing = Standing::Overloaded;
        let against = [&mut rank.against_baseline, &mut rank.against_best];
        for difference in against.into_iter().flatten() {
            (difference.ms, difference.ci95_ms) = (None, None);
            difference.word = Word::Overloaded;
        }
    }
    results
}

/// Real report files for the browser test, under `target/tmp/report`.
#[test]
fn reports_for_the_browser_test() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    fs::create_dir_all(&folder).unwrap();
    let reports = [
        ("sample", results(SMALL), Some(inspection(SMALL))),
        ("full", results(FULL), Some(inspection(FULL))),
        ("hostile", hostile(), None),
        ("many", many(), None),
        ("bare", bare(), None),
        ("in-place", in_place(), None),
        ("single", single(), None),
        ("growing", growing(), None),
        ("hosts", hosts::starting(), None),
        ("host-processes", hosts::alone(), None),
        ("one-stream", hosts::of_one_stream(), None),
    ];
    for (name, results, inspection) in reports.into_iter().chain(real::all()) {
        let page = html(&results, inspection.as_ref()).unwrap();
        fs::write(folder.join(name).with_extension("html"), page).unwrap();
    }
    let mut odd = figures();
    odd.figures[0].question = HOSTILE.to_owned();
    odd.figures[1].claims[0].found = HOSTILE.to_owned();
    let capacity = nearslot_lab::capacity::figures(&crate::report::capacity::found());
    for (name, figures) in [
        ("figures", figures()),
        ("odd-figures", odd),
        ("capacity", capacity),
    ] {
        let page = figures_html(&figures).unwrap();
        fs::write(folder.join(name).with_extension("html"), page).unwrap();
    }
    // Nothing but a flush: no picture but that of the load, and not even that.
    let mut nothing = Inspector::with_pictures(Against::default());
    nothing.record(&[Record::new(0, TraceOp::Flush, 0, 0, 0)]);
    let nothing = nothing.finish(&Header::made("csv", &[HOSTILE], &[]));
    // More devices than there are maps, all with the same hostile name, in one interval of time.
    let mut hostile = Inspector::with_pictures(Against::default());
    let ask = |i: u64| {
        Record::new(
            i as i64,
            TraceOp::Write,
            i << (i % 55),
            512,
            (i % 12) as u32,
        )
    };
    hostile.record(&(0..999).map(ask).collect::<Vec<_>>());
    let hostile = hostile.finish(&Header::made("csv", &[HOSTILE; 12], &[]));
    for (name, found) in [
        ("inspection", pictured()),
        ("bare-inspection", nothing),
        ("hostile-inspection", hostile),
    ] {
        let page = inspection_html(&found).unwrap();
        fs::write(folder.join(name).with_extension("html"), page).unwrap();
    }
}
