//! Every `nearslot` command line in the documents parses, and names parts and files that exist.
//! None is run: traces of the reader's own are in them.

use clap::ArgMatches;
use nearslot_core::config::KINDS;

use crate::docs::markdown::Block;
use crate::docs::pages::settle;
use crate::docs::{assert_none, files, markdown, read, root};

/// Documents with commands besides the book.
const OTHERS: [&str; 3] = ["README.md", "CONTRIBUTING.md", "demo/README.md"];
/// Options that name parts, of which some take several.
const NAMING: [&str; 4] = ["sched", "drive", "oracle", "workload"];
/// Folders of the repository that commands name files of.
const OURS: [&str; 3] = ["demo/", "crates/", "docs/"];

/// A command line of a document.
pub(super) struct Line {
    /// Where it stands.
    pub(super) number: usize,
    /// All of it, if it goes on over several lines.
    pub(super) text: String,
    /// What the document shows of its output.
    pub(super) output: Vec<String>,
}

/// The command lines of a block: behind `$ ` in a `console`, where the others are output; all in
/// `sh`. `\` joins lines.
pub(super) fn lines(block: &Block) -> Vec<Line> {
    let mut found: Vec<Line> = Vec::new();
    let mut goes_on = false;
    for (index, line) in block.lines.iter().enumerate() {
        let first = match block.language.as_str() {
            "console" => line.strip_prefix("$ "),
            "sh" => Some(line.as_str()),
            _ => None,
        };
        let (text, more) = match line.strip_suffix('\\') {
            Some(text) => (text, true),
            None => (line.as_str(), false),
        };
        if goes_on {
            let whole = found.last_mut().expect("a line came before");
            whole.text += text;
        } else if first.is_some() {
            let text = text.strip_prefix("$ ").unwrap_or(text);
            found.push(Line {
                number: block.line + 1 + index,
                text: text.to_owned(),
                output: Vec::new(),
            });
        } else if let Some(told) = found.last_mut() {
            told.output.push(line.clone());
        }
        goes_on = more && (goes_on || first.is_some());
    }
    found
}

/// The words of each command of a line, as a shell divides them; where to they are redirected is
/// left out.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let (mut word, mut quote, mut quoted) = (String::new(), None, false);
    for c in line.chars().chain([' ']) {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => word.push(c),
            (None, '"' | '\'') => (quote, quoted) = (Some(c), true),
            (None, '#') if word.is_empty() => break,
            (None, ' ' | '|' | ';' | '&') => {
                if !word.is_empty() || quoted {
                    let words: &mut Vec<String> = commands.last_mut().expect("there is one");
                    words.push(std::mem::take(&mut word));
                }
                quoted = false;
                if c != ' ' {
                    commands.push(Vec::new());
                }
            }
            (None, _) => word.push(c),
        }
    }
    for words in &mut commands {
        if let Some(at) = words.iter().position(|word| word == ">" || word == "<") {
            words.truncate(at);
        }
    }
    commands.retain(|words| words.first().is_some_and(|word| word == "nearslot"));
    commands
}

/// What is wrong with a command, if something is.
fn complaints(words: &[String]) -> Vec<String> {
    let matches = match nearslot_cli::command().try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(told) if !told.use_stderr() => return Vec::new(),
        Err(told) => return vec![told.to_string()],
    };
    let strange = names(&matches).filter_map(|name| {
        let known = name.ends_with(".toml") || nearslot_cli::show_text(KINDS, &name).is_ok();
        (!known).then(|| format!("there is no {name}"))
    });
    let ours = words
        .iter()
        .filter(|word| OURS.iter().any(|folder| word.starts_with(folder)));
    let missing = ours
        .filter(|word| !root().join(word).exists())
        .map(|word| format!("there is no {word}"));
    strange.chain(missing).collect()
}

/// The parts that a command names.
fn names(matches: &ArgMatches) -> impl Iterator<Item = String> {
    let (command, matches) = matches.subcommand().expect("every command has one");
    let mut words: Vec<String> = NAMING
        .iter()
        .filter_map(|option| text(matches, option))
        .collect();
    if command == "show" {
        words.extend(text(matches, "name"));
    }
    words.extend(text(matches, "trace_format"));
    if let Ok(Some(varied)) = matches.try_get_many::<String>("vary") {
        let parts = varied.filter_map(|word| word.split_once('='));
        words.extend(
            parts
                .filter(|(key, _)| NAMING.contains(key))
                .map(|(_, values)| values.to_owned()),
        );
    }
    let each: Vec<String> = words
        .iter()
        .flat_map(|words| words.split(','))
        .map(|word| word.split(':').next().unwrap_or_default().to_owned())
        .collect();
    each.into_iter()
}

fn text(matches: &ArgMatches, option: &str) -> Option<String> {
    let value = matches.try_get_one::<String>(option).ok().flatten();
    value.cloned()
}

#[test]
fn commands_parse() {
    settle();
    let mut documents = files("docs/src", ".md");
    documents.extend(OTHERS.map(str::to_owned));
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for document in &documents {
        for block in markdown::parts(&read(document)).0 {
            for Line { number, text, .. } in lines(&block) {
                for words in commands(&text) {
                    tried += 1;
                    let told = complaints(&words);
                    wrong.extend(
                        told.iter()
                            .map(|told| format!("{document}:{number}: {text}\n{told}")),
                    );
                }
            }
        }
    }
    assert!(tried > 30, "only {tried} commands were found");
    assert_none(&wrong);
}

#[test]
fn commands_are_found_in_a_shells_words() {
    let text = "```console\n$ zcat 'a b.gz' | nearslot inspect - > out # why\nnearslot, it said\n\
                $ make x\n$ nearslot run \\\n  \"x y.csv\"\n```\n```text\nnearslot no\n```\n";
    let blocks = markdown::parts(text).0;
    let found: Vec<_> = blocks
        .iter()
        .flat_map(lines)
        .map(|line| (line.number, commands(&line.text)))
        .collect();
    let word = |words: &[&str]| vec![words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()];
    assert_eq!(
        found,
        [
            (2, word(&["nearslot", "inspect", "-"])),
            (4, Vec::new()),
            (5, word(&["nearslot", "run", "x y.csv"])),
        ]
    );
}

#[test]
fn wrong_commands_are_seen() {
    let told = |line: &str| complaints(&commands(line)[0]).join(" ");
    assert_eq!(told("nearslot compare a.csv --sched fcfs,satf"), "");
    assert_eq!(told("nearslot run --help"), "");
    assert!(told("nearslot compare a.csv --scheds fcfs").contains("--scheds"));
    assert!(told("nearslot compare a.csv --sched fcfs,staf").contains("no staf"));
    assert!(told("nearslot compare a.csv --vary drive=x").contains("no x"));
    assert!(told("nearslot show sated").contains("no sated"));
    assert!(told("nearslot inspect demo/none.gz").contains("no demo/none.gz"));
}
