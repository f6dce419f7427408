//! As much of Markdown as the tests need: fenced blocks, and text without code.

/// A fenced block.
pub(crate) struct Block {
    /// What stands behind the fence, such as `console`.
    pub(crate) language: String,
    /// Line of its fence, from 1.
    pub(crate) line: usize,
    /// Its lines.
    pub(crate) lines: Vec<String>,
}

/// The fenced blocks of a document, and its other lines with their numbers, code spans blanked out.
pub(crate) fn parts(text: &str) -> (Vec<Block>, Vec<(usize, String)>) {
    let (mut blocks, mut prose) = (Vec::<Block>::new(), Vec::new());
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), inside) {
            (Some(language), false) => {
                inside = true;
                blocks.push(Block {
                    language: language.trim().to_owned(),
                    line: index + 1,
                    lines: Vec::new(),
                });
            }
            (Some(_), true) => inside = false,
            (None, true) => {
                let block = blocks.last_mut().expect("a fence was seen");
                block.lines.push(line.to_owned());
            }
            (None, false) => prose.push((index + 1, without_code(line))),
        }
    }
    assert!(!inside, "a fenced block does not end");
    (blocks, prose)
}

fn without_code(line: &str) -> String {
    let pieces = line.split('`').enumerate();
    let outside = pieces.map(|(index, piece)| if index % 2 == 0 { piece } else { "code" });
    outside.collect()
}

/// Targets of the links in a line, in their order.
pub(crate) fn targets(line: &str) -> Vec<&str> {
    let behind = line.split("](").skip(1);
    behind
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target)
        .collect()
}

/// What links to a heading say behind `#`.
pub(crate) fn slug(heading: &str) -> String {
    let dashed = heading.trim().to_lowercase().replace(' ', "-");
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_');
    dashed.chars().filter(kept).collect()
}

#[test]
fn code_is_told_from_prose() {
    let (blocks, prose) = parts("a `[x](y)` [b](c)\n```sh\n[d](e)\n```\nf");
    assert_eq!((blocks.len(), blocks[0].line), (1, 2));
    assert_eq!(
        (blocks[0].language.as_str(), &blocks[0].lines[0][..]),
        ("sh", "[d](e)")
    );
    assert_eq!(prose[0].1, "a code [b](c)");
    assert_eq!(targets(&prose[0].1), ["c"]);
    assert_eq!(prose[1], (5, "f".to_owned()));
}

#[test]
fn headings_become_what_links_say() {
    assert_eq!(slug(" Beyond noise, 95 %"), "beyond-noise-95-");
}
