//! Words of the project's own have one meaning, which the glossary of docs/design.md gives in one
//! line. Every other page links such a word where it is used first.

use snowflake_repository::{documents, page};

/// The words that pages for users have, in their forms. `hold` is also an ordinary verb.
const WORDS: [&[&str]; 9] = [
    &["adopt", "adopts", "adopted", "adoption"],
    &["claim", "claims", "claimed"],
    &["floor", "floors"],
    &["horizon", "horizons"],
    &["identity", "identities"],
    &["lead"],
    &["observe", "observes", "observed", "observation", "observations"],
    &["register", "registers"],
    &["twins", "twin"],
];

/// The words of the prose of a page, in lower case, each with whether it belongs to the text of a
/// link. Code, headings and pictures are left out.
fn words(text: &str) -> Vec<(String, bool)> {
    let mut is_block = false;
    let prose = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_block ^= is_fence;
        !is_block && !is_fence && !line.starts_with('#') && !line.starts_with("![")
    });
    let prose: String = prose.flat_map(|line| [line, "\n"]).collect();
    let prose: String = prose.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let mut words = Vec::new();
    for part in prose.split('[') {
        let (linked, rest) = match part.split_once("](") {
            Some((linked, rest)) => (linked, rest.split_once(')').map_or("", |(_, rest)| rest)),
            None => ("", part),
        };
        for (text, is_linked) in [(linked, true), (rest, false)] {
            let found = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            let found = found.filter(|word| !word.is_empty());
            words.extend(found.map(|word| (word.to_lowercase(), is_linked)));
        }
    }
    words
}

#[test]
fn each_page_links_a_word_at_its_first_use() {
    let mut missing = Vec::new();
    let mut found = 0;
    for page in documents() {
        if ["docs/design.md", "CHANGELOG.md"].contains(&&*page.name) {
            continue;
        }
        let words = words(&page.text);
        for forms in WORDS {
            let mut uses = words.iter().enumerate().filter(|(index, (word, _))| {
                let is_of_postgresql = word.starts_with("identit")
                    && words.get(index + 1).is_some_and(|(next, _)| next.starts_with("column"));
                forms.contains(&&**word) && !is_of_postgresql
            });
            if let Some((_, (word, is_linked))) = uses.next() {
                found += 1;
                if !is_linked {
                    missing.push(format!("{}: {word}", page.name));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(found > 40, "{found}");
}

#[test]
fn each_word_has_one_line() {
    let glossary = page("docs/design.md").section("Glossary").text;
    let rows: Vec<_> = glossary.lines().skip(4).filter_map(|row| row.split_once(" | ")).collect();
    for forms in WORDS.into_iter().chain([&["hold"][..]]) {
        assert_eq!(rows.iter().filter(|row| row.0 == forms[0]).count(), 1, "{}", forms[0]);
    }
    assert!(rows.is_sorted_by_key(|row| row.0.to_lowercase()), "{rows:#?}");
    // No other page defines the floor again.
    let (_, floor) = rows.iter().find(|row| row.0 == "floor").expect("a row");
    let (_, definition) = floor.split_once(": ").expect("a definition");
    let defining = documents().into_iter().filter(|page| page.text.contains(definition));
    assert_eq!(defining.map(|page| page.name).collect::<Vec<_>>(), ["docs/design.md"]);
}
