//! Headers, lengths and words of a file.

use super::source::Source;

/// Lines of a file, tests included.
const FILE_LINES_MAX: usize = 800;
/// Lines of a function, from its name to its closing brace.
const FUNCTION_LINES_MAX: usize = 60;

/// What stays in no commit; put together here so that this file may be read by its own rule.
const BANNED: [&str; 6] = [
    concat!("to", "do!"),
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("db", "g!"),
    concat!("unimple", "mented!"),
];

/// A file says what it decides before anything else.
pub(crate) fn header(source: &Source) -> Vec<String> {
    let opened = source.text.starts_with("//! ");
    let complaint = format!("{}: does not open with //!", source.path);
    (!opened).then_some(complaint).into_iter().collect()
}

/// Files and functions that are too long to be held in the head.
pub(crate) fn length(source: &Source) -> Vec<String> {
    let lines = source.text.lines().count();
    let file = (lines > FILE_LINES_MAX).then(|| {
        format!(
            "{}: {lines} lines, {FILE_LINES_MAX} are allowed",
            source.path
        )
    });
    let functions = source.syntax.functions.iter();
    let long = functions.filter(|(_, lines)| *lines > FUNCTION_LINES_MAX);
    let long = long.map(|(name, lines)| {
        let path = &source.path;
        format!("{path}: fn {name} has {lines} lines, {FUNCTION_LINES_MAX} are allowed")
    });
    file.into_iter().chain(long).collect()
}

/// Words that promise work instead of doing it.
pub(crate) fn words(source: &Source) -> Vec<String> {
    let numbered = source.text.lines().enumerate();
    let found = numbered.flat_map(|(index, line)| {
        let banned = BANNED.iter().filter(move |word| has_word(line, word));
        banned.map(move |word| format!("{}:{}: `{word}`", source.path, index + 1))
    });
    found.collect()
}

/// Whether a line has the word by itself, not within a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let within = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !within(before.chars().next_back()) && !within(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::Syntax;

    const PATH: &str = "crates/core/src/x.rs";

    fn source(text: String) -> Source {
        Source::new(PATH, &text)
    }

    /// A file whose syntax does not count.
    fn words_of(text: &str) -> Source {
        Source {
            path: PATH.to_owned(),
            text: text.to_owned(),
            syntax: Syntax::default(),
        }
    }

    #[test]
    fn a_missing_header_is_seen() {
        assert_eq!(header(&words_of("use a;\n//! late")).len(), 1);
        assert_eq!(header(&words_of("//! What it decides.")).len(), 0);
    }

    #[test]
    fn sixty_lines_are_allowed_and_sixty_one_are_not() {
        let function = |body: usize| format!("fn f() {{\n{}}}\n", "g();\n".repeat(body));
        assert_eq!(length(&source(function(58))).len(), 0);
        assert_eq!(length(&source(function(59))).len(), 1);
        let method = format!("impl A {{ {} }}", function(59));
        assert_eq!(length(&source(method)).len(), 1);
        let provided = format!("trait A {{ {} }}", function(59));
        assert_eq!(length(&source(provided)).len(), 1);
        let nested = format!("mod m {{ fn outer() {{ {} }} }}", function(59));
        assert_eq!(length(&source(nested)).len(), 2);
    }

    #[test]
    fn a_file_of_801_lines_is_too_long() {
        assert_eq!(length(&source("//\n".repeat(800))).len(), 0);
        assert_eq!(length(&source("//\n".repeat(801))).len(), 1);
    }

    #[test]
    fn banned_words_are_seen_in_code_and_comments_but_not_within_words() {
        for word in BANNED {
            assert_eq!(
                words(&words_of(&format!("ok\n  // {word} it"))).len(),
                1,
                "{word}"
            );
        }
        assert_eq!(words(&words_of("let AUTODOCK = EXXXE;")).len(), 0);
    }
}
