//! `tests/promises` judges each sentence of the pages on what is promised against each setting and
//! function that moves IDs ahead of the clock. A new sentence, setting or function has to be
//! judged.

use std::collections::BTreeSet;
use std::fs;

use snowflake_repository::{Page, page, tree};

const SECTIONS: [&str; 3] = ["Promise", "What survives what", "Failover"];

/// The lines of a part of the table, each with its fields.
fn part(name: &str) -> Vec<Vec<String>> {
    let table = page("tests/promises").section(name).text;
    let lines = table.lines().skip(1).filter(|line| !line.is_empty());
    lines.map(|line| line.split(" | ").map(String::from).collect()).collect()
}

/// Returns the verdicts of each line on the columns, and the sentence.
fn judged(section: &str) -> Vec<(String, String)> {
    part(section)
        .into_iter()
        .map(|line| line.join(" | "))
        .map(|line| line.split_once(' ').map(|(of, text)| (of.into(), text.into())).expect("both"))
        .collect()
}

/// The sentences of a section, without what is code, a heading or a picture. A row of a table is
/// one.
fn sentences(section: &Page) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    let mut is_code = false;
    for line in section.text.lines() {
        is_code ^= line.starts_with("```");
        let begins = |start: &str| line.trim_start().starts_with(start);
        if is_code || line.is_empty() || ["```", "#", "!["].into_iter().any(begins) {
            paragraphs.push(String::new());
            continue;
        } else if begins("--- |") {
            // The line before is the head of the table.
            paragraphs.pop();
            continue;
        }
        let is_item = begins("- ") || line.starts_with(|c: char| c.is_ascii_digit());
        if is_item || line.contains(" | ") {
            paragraphs.push(String::new());
        }
        let line = line.trim_start();
        let line = line.split_once(' ').filter(|_| is_item).map_or(line, |(_, rest)| rest);
        let paragraph = paragraphs.last_mut().expect("there is one");
        *paragraph += &format!(" {line}");
    }
    let plain = |paragraph: &String| plain(paragraph).replace(".** ", ": ").replace("**", "");
    let paragraphs: Vec<_> = paragraphs.iter().map(plain).collect();
    let sentences = paragraphs.iter().flat_map(|text| text.split_inclusive(". "));
    sentences.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

/// The text of links without where they lead.
fn plain(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once(')').expect("the end of a link").1);
    rest.fold(first, |text, part| text + part).replace('[', "")
}

#[test]
fn every_sentence_is_judged() {
    let operations = page("docs/operations.md");
    for section in SECTIONS {
        let judged: Vec<_> = judged(section).into_iter().map(|(_, sentence)| sentence).collect();
        let sentences = sentences(&operations.section(section));
        let new: Vec<_> = sentences.iter().filter(|text| !judged.contains(text)).collect();
        assert!(new.is_empty(), "tests/promises does not judge these of {section}: {new:#?}");
        assert_eq!(judged, sentences, "{section}");
    }
}

/// A sentence that does not hold, whatever is set, depends on something that the section names.
#[test]
fn what_a_sentence_depends_on_is_named() {
    let columns = part("Columns");
    let operations = page("docs/operations.md");
    for section in SECTIONS {
        let text = operations.section(section).text;
        for (of, sentence) in judged(section) {
            assert_eq!(of.len(), columns.len(), "{sentence}");
            for (column, verdict) in columns.iter().zip(of.chars()) {
                let is_named = column[1].split(", ").any(|word| text.contains(word));
                let is_sound = matches!(verdict, '+' | '.') || (verdict == '!' && is_named);
                assert!(is_sound, "{}, {verdict}: {sentence}", column[0]);
            }
        }
    }
}

#[test]
fn every_setting_and_function_is_a_column_or_moves_nothing() {
    let settings = page("src/settings/table.rs").text;
    let settings = settings.split("c\"").filter(|rest| rest.starts_with("snowflake."));
    let settings = settings.filter_map(|rest| rest.split('"').next());
    // Whatever moves something is volatile.
    let surface = page("tests/scenarios/surface.sql").text;
    let functions = surface.lines().filter(|line| line.contains(") | v | "));
    let functions = functions.filter_map(|line| line.strip_prefix("--> ")?.split('(').next());
    let all: BTreeSet<_> = settings.chain(functions).map(String::from).collect();
    assert!(all.len() > 30, "{all:?}");
    let columns = part("Columns").into_iter().map(|column| column[0].clone());
    let others = part("What moves nothing").into_iter().flatten();
    let others = others.flat_map(|line| line.split(' ').map(String::from).collect::<Vec<_>>());
    assert_eq!(all, columns.chain(others).collect());
}

/// Each column names a scenario, or a test of servers.
#[test]
fn every_column_has_its_test() {
    for column in part("Columns") {
        let is_there = match column[2].split_once("::") {
            Some((file, test)) => ["faults", "behaviour"].into_iter().any(|suite| {
                let path = tree().join(format!("tests/e2e/tests/{suite}/{file}.rs"));
                let test = format!("#[test]\nfn {test}() {{");
                fs::read_to_string(path).is_ok_and(|text| text.contains(&test))
            }),
            None => tree().join("tests/scenarios").join(&column[2]).exists(),
        };
        assert!(is_there, "{} has no test {}", column[0], column[2]);
    }
}
