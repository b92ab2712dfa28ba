//! The documents refer to files, headings, programs and commits that are there.

use std::fs;
use std::path::{Path, PathBuf};

use snowflake_repository::{documents, page, tree};

/// The blocks on the page of clients are parts of the files that they name, and those on the page
/// of public IDs whole files. Those of the format are short enough to be written again in another
/// language. Versions stand in the files that they name, and the pages have every client.
#[test]
fn the_programs_of_clients_are_files() {
    let mut linked = Vec::new();
    for (name, shows_parts) in [("docs/clients.md", true), ("docs/public-ids.md", false)] {
        let text = page(name).text;
        for (index, _) in text.match_indices("](../tests/clients/") {
            let (path, rest) = text[index + 5..].split_once(')').expect("a closing parenthesis");
            let file = page(path).text;
            let shown = text[..index].rsplit('[').next().expect("an opening bracket");
            if let Some(block) = rest.strip_prefix(":\n\n```") {
                let (_, block) = block.split_once('\n').expect("a block");
                let block = block.split_inclusive('\n').take_while(|line| *line != "```\n");
                let block: String = block.collect();
                let is_part = format!("\n{file}").contains(&format!("\n{block}"));
                assert!(block == file || shows_parts && is_part, "{path} has no part:\n{block}");
                let is_of_format = path.starts_with("tests/clients/public-ids/");
                assert!(!is_of_format || file.lines().count() <= 30, "{path} is long");
            } else if shown.starts_with(|c: char| c.is_ascii_digit()) {
                assert!(file.contains(shown), "{path} has no {shown}");
            }
            linked.push(path.to_owned());
        }
    }
    for client in fs::read_dir(tree().join("tests/clients")).expect("clients").flatten() {
        // The applications of the blog are in a table. Files name packages.
        if client.file_name() == "blog" || !client.path().is_dir() {
            continue;
        }
        let directory = format!("tests/clients/{}/", client.file_name().display());
        assert!(linked.iter().any(|path| path.starts_with(&directory)), "{directory}");
    }
}

/// Links within the project lead to files and headings that exist.
#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut links = 0;
    for document in documents() {
        for (index, _) in document.text.match_indices("](") {
            let link = document.text[index + 2..].split(')').next().expect("a closing parenthesis");
            if link.contains("://") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => PathBuf::from(&document.name),
                path => Path::new(&document.name).parent().expect("a directory").join(path),
            };
            assert!(tree().join(&target).exists(), "{}: {link}", document.name);
            if !heading.is_empty() {
                let anchors = page(&target.to_string_lossy()).anchors();
                assert!(
                    anchors.iter().any(|anchor| anchor == heading),
                    "{}: {link}",
                    document.name
                );
            }
            links += 1;
        }
    }
    assert!(links >= 20, "the documents have {links} links");
}

/// Lines of prose fit into a window. Those of tables and pictures, and those that a signature or an
/// example begins, are as long as they are.
#[test]
fn lines_of_prose_are_short() {
    const COLUMNS: usize = 100;
    let mut long = Vec::new();
    for document in documents() {
        let mut is_block = false;
        for (number, line) in document.text.lines().enumerate() {
            let text = line.trim_start();
            is_block ^= text.starts_with("```");
            let is_other = ["- `", "![", "<"].iter().any(|other| text.starts_with(other));
            let is_prose = !is_block && !is_other && !line.contains('|');
            if is_prose && line.chars().count() > COLUMNS {
                long.push(format!("{}:{}", document.name, number + 1));
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}
