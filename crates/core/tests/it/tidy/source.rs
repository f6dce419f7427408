//! A file as the rules see it. It is read and parsed once for all rules: what they ask of its
//! syntax is noted then.

use std::collections::BTreeSet;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A Rust file, or another one of which only the text counts.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) syntax: Syntax,
}

/// What its syntax says.
#[derive(Default)]
pub(crate) struct Syntax {
    /// Paths that it names outside of tests, in `use` items and elsewhere, segment by segment.
    pub(crate) named: Vec<Named>,
    /// Functions with the number of their lines.
    pub(crate) functions: Vec<(String, usize)>,
    /// Modules that it declares, in `registry!` tables too.
    pub(crate) modules: BTreeSet<String>,
    /// Those of them that are for tests alone.
    pub(crate) for_tests: BTreeSet<String>,
}

/// A path, and the modules within the file that it stands in.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) within: Vec<String>,
    pub(crate) path: Vec<String>,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Source {
        let rust = path.ends_with(".rs");
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            syntax: if rust {
                Syntax::of(path, text)
            } else {
                Syntax::default()
            },
        }
    }
}

impl Syntax {
    fn of(path: &str, text: &str) -> Syntax {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut functions = Functions(Vec::new());
        functions.visit_file(&file);
        let mut declared = Declared::default();
        declared.visit_file(&file);
        let mut paths = Paths::default();
        if !file.attrs.iter().any(is_for_tests) {
            paths.visit_file(&file);
        }
        Syntax {
            named: paths.found,
            functions: functions.0,
            modules: declared.modules,
            for_tests: declared.for_tests,
        }
    }
}

/// Whether an attribute keeps what it stands at for tests.
fn is_for_tests(attribute: &syn::Attribute) -> bool {
    let list = attribute.meta.require_list();
    list.is_ok_and(|l| l.path.is_ident("cfg") && l.tokens.to_string() == "test")
}

/// Functions and their lines, from the name to the closing brace.
struct Functions(Vec<(String, usize)>);

impl Functions {
    fn note(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let (first, last) = (signature.span().start().line, block.span().end().line);
        self.0.push((signature.ident.to_string(), last - first + 1));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.note(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

/// Names of the modules that a file declares.
#[derive(Default)]
struct Declared {
    modules: BTreeSet<String>,
    for_tests: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Declared {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = item.ident.to_string();
        if item.attrs.iter().any(is_for_tests) {
            self.for_tests.insert(name.clone());
        }
        self.modules.insert(name);
        visit::visit_item_mod(self, item);
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        let last = item.mac.path.segments.last();
        if last.is_some_and(|name| name.ident == "registry") {
            let tokens = item.mac.tokens.to_string();
            let lines = tokens.split_once(';').map_or("", |(_, lines)| lines);
            // A part's several cards stand in braces behind it.
            let parts = lines
                .split(',')
                .filter_map(|line| line.split_whitespace().next());
            self.modules.extend(parts.map(str::to_owned));
        }
    }
}

/// Collects what a file names.
#[derive(Default)]
struct Paths {
    within: Vec<String>,
    found: Vec<Named>,
}

impl Paths {
    fn note(&mut self, path: &[String]) {
        self.found.push(Named {
            within: self.within.clone(),
            path: path.to_vec(),
        });
    }

    fn tree(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.tree(&path.tree, &with(&path.ident)),
            syn::UseTree::Name(name) => self.note(&with(&name.ident)),
            syn::UseTree::Rename(name) => self.note(&with(&name.ident)),
            syn::UseTree::Glob(_) => self.note(before),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.tree(item, before));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        self.note(&segments);
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !item.attrs.iter().any(is_for_tests) {
            self.within.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.within.pop();
        }
    }

    /// A visibility such as `pub(super)` names nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}
