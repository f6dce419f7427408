//! Files that no module declares: the compiler does not see them, so nothing else would complain.

use super::source::Source;

/// Complains of a file below a `src` folder that its parent does not declare, by `mod` or in a
/// `registry!` table.
pub(crate) fn rule(source: &Source, all: &[Source]) -> Vec<String> {
    let Some((parents, name)) = parents(&source.path) else {
        return Vec::new();
    };
    let mut candidates = all.iter().filter(|other| parents.contains(&other.path));
    let declared = candidates.any(|parent| parent.syntax.modules.contains(&name));
    let complaint = format!("{}: no {} declares it", source.path, parents.join(" or "));
    (!declared).then_some(complaint).into_iter().collect()
}

/// Where a file has to be declared, and under which name; none for the roots of crates and for
/// other folders.
fn parents(path: &str) -> Option<(Vec<String>, String)> {
    let (folder, file) = path.rsplit_once('/')?;
    let src = folder.split('/').position(|name| name == "src")?;
    let depth = folder.split('/').count() - 1 - src;
    let stem = file.strip_suffix(".rs")?;
    let root = |folder: &str| {
        ["lib.rs", "main.rs"]
            .map(|root| format!("{folder}/{root}"))
            .to_vec()
    };
    let module = |folder: &str| vec![format!("{folder}/mod.rs"), format!("{folder}.rs")];
    match (stem, depth) {
        ("lib" | "main", 0) => None,
        ("mod", 1) => {
            let (above, name) = folder.rsplit_once('/')?;
            Some((root(above), name.to_owned()))
        }
        ("mod", _) => {
            let (above, name) = folder.rsplit_once('/')?;
            Some((module(above), name.to_owned()))
        }
        (_, 0) => Some((root(folder), stem.to_owned())),
        _ => Some((module(folder), stem.to_owned())),
    }
}

/// Complains of a drive's file that the catalog's table does not name.
pub(crate) fn catalog_rule(path: &str, table: &str) -> Option<String> {
    let file = path.strip_prefix("crates/core/src/drive/catalog/")?;
    let name = file.strip_suffix(".toml")?;
    let named = table.contains(&format!("\"{name}\""));
    (!named).then(|| format!("{path}: the table of drive/mod.rs does not name it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, parent: &str, text: &str) -> usize {
        rule(&Source::new(path, ""), &[Source::new(parent, text)]).len()
    }

    #[test]
    fn a_part_missing_from_its_table_is_seen() {
        let table = "mod line; registry! { dyn Scheduler; fcfs, look { ONE, TWO }, }";
        let folder = "crates/core/src/sched";
        let parent = format!("{folder}/mod.rs");
        for (file, orphans) in [("fcfs", 0), ("look", 0), ("line", 0), ("scan", 1)] {
            let path = format!("{folder}/{file}.rs");
            assert_eq!(complaints(&path, &parent, table), orphans, "{file}");
        }
    }

    #[test]
    fn folders_and_crate_roots_declare_too() {
        let declares = |path: &str, parent: &str| complaints(path, parent, "pub mod x;");
        assert_eq!(declares("crates/lab/src/x.rs", "crates/lab/src/lib.rs"), 0);
        assert_eq!(
            declares("crates/lab/src/x/mod.rs", "crates/lab/src/lib.rs"),
            0
        );
        assert_eq!(
            declares("crates/lab/src/a/x/mod.rs", "crates/lab/src/a/mod.rs"),
            0
        );
        assert_eq!(
            declares("crates/lab/src/a/x.rs", "crates/lab/src/lib.rs"),
            1
        );
        assert_eq!(declares("crates/lab/src/y.rs", "crates/lab/src/lib.rs"), 1);
        assert_eq!(
            declares("crates/lab/src/lib.rs", "crates/core/src/lib.rs"),
            0
        );
        assert_eq!(
            declares("crates/lab/tests/y.rs", "crates/lab/src/lib.rs"),
            0
        );
    }

    #[test]
    fn a_drive_missing_from_the_catalog_is_seen() {
        let path = "crates/core/src/drive/catalog/a-drive.toml";
        assert!(catalog_rule(path, "catalog![\"a-drive\"]").is_none());
        assert!(catalog_rule(path, "catalog![\"another-drive\"]").is_some());
        assert!(catalog_rule("crates/core/Cargo.toml", "").is_none());
    }
}
