//! Every relative link leads to a file, and to a heading where it names one.

use std::path::{Component, Path, PathBuf};

use crate::docs::pages::settle;
use crate::docs::{assert_none, files, markdown, read, root};

/// The documents that are not below `docs`.
const OTHERS: [&str; 6] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "demo/README.md",
    "web/README.md",
];
/// The source of the book; what it links to outside would be dead in the book.
const BOOK: &str = "docs/src/";

/// A path without `..`, from the root of the repository.
fn plain(path: &Path) -> PathBuf {
    path.components()
        .fold(PathBuf::new(), |mut plain, component| {
            match component {
                Component::ParentDir => drop(plain.pop()),
                other => plain.push(other),
            }
            plain
        })
}

/// What is wrong with a link from a document.
fn complaint(document: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(document).parent().expect("a file has a folder");
    let path = match file {
        "" => PathBuf::from(document),
        _ => plain(&folder.join(file)),
    };
    if !root().join(&path).exists() {
        return Some(format!("{target}: there is no {}", path.display()));
    }
    if document.starts_with(BOOK) && !path.starts_with(BOOK) {
        return Some(format!("{target}: leads out of the book"));
    }
    let path = path.to_str().expect("paths are plain");
    let (_, lines) = markdown::parts(&if heading.is_empty() {
        String::new()
    } else {
        read(path)
    });
    let named = |(_, line): &(usize, String)| {
        line.starts_with('#') && markdown::slug(line.trim_start_matches('#')) == heading
    };
    let missing = !heading.is_empty() && !lines.iter().any(named);
    missing.then(|| format!("{target}: {path} has no such heading"))
}

#[test]
fn links_lead_somewhere() {
    settle();
    let mut documents = files("docs", ".md");
    assert!(documents.len() > 40, "the documentation was not found");
    documents.extend(OTHERS.map(str::to_owned));
    let mut complaints = Vec::new();
    let mut tried = 0;
    for document in &documents {
        let text = read(document);
        for (number, line) in &markdown::parts(&text).1 {
            for target in markdown::targets(line) {
                tried += 1;
                let wrong = complaint(document, target);
                complaints.extend(wrong.map(|wrong| format!("{document}:{number}: {wrong}")));
            }
        }
    }
    assert!(tried > 100, "only {tried} links were found");
    assert_none(&complaints);
}

#[test]
fn dead_links_are_seen() {
    settle();
    let wrong = |target| complaint("docs/src/traces.md", target);
    assert_eq!(wrong("https://example.invalid/x"), None);
    assert_eq!(wrong("drives.md"), None);
    assert!(wrong("drivers.md").unwrap().contains("there is no"));
    assert!(wrong("drives.md#nowhere").unwrap().contains("heading"));
    assert!(
        wrong("../../README.md")
            .unwrap()
            .contains("out of the book")
    );
}
