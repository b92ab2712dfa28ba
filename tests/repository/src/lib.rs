//! The documents of this repository, for the tests that read them.

use std::fs;
use std::path::{Path, PathBuf};

/// A document of the project, or a part of one.
pub struct Page {
    /// The path below the tree.
    pub name: String,
    /// The text, in Markdown.
    pub text: String,
}

/// A fenced block of a page.
pub struct Block {
    /// The word after the fence.
    pub language: String,
    /// The lines.
    pub text: String,
}

/// The directory of the repository.
pub fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the repository, by its path below the tree.
pub fn page(name: &str) -> Page {
    let text =
        fs::read_to_string(tree().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    Page { name: name.into(), text }
}

/// README.md, and every page of docs/: all whose blocks are run.
pub fn pages() -> Vec<Page> {
    let mut names = vec!["README.md".to_owned()];
    for entry in fs::read_dir(tree().join("docs")).expect("docs/") {
        let name = entry.expect("a file").file_name().into_string().expect("UTF-8");
        if name.ends_with(".md") {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    names.iter().map(|name| page(name)).collect()
}

/// All pages, and the other documents.
pub fn documents() -> Vec<Page> {
    let mut documents = pages();
    let others = ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "monitoring/README.md"];
    documents.extend(others.map(page));
    documents
}

impl Page {
    /// The section of that heading.
    pub fn section(&self, heading: &str) -> Page {
        let from = self.text.find(&format!("\n## {heading}\n")).expect("the section");
        let text = &self.text[from + 1..];
        let text = &text[..text.find("\n## ").unwrap_or(text.len())];
        Page { name: self.name.clone(), text: text.into() }
    }

    /// Returns the fenced blocks.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            if let Some(language) = line.strip_prefix("```") {
                let text = lines
                    .by_ref()
                    .take_while(|line| *line != "```")
                    .map(|line| format!("{line}\n"))
                    .collect();
                blocks.push(Block { language: language.into(), text });
            }
        }
        blocks
    }

    /// The first block that has this text.
    pub fn block(&self, mark: &str) -> String {
        self.blocks().into_iter().find(|block| block.text.contains(mark)).expect(mark).text
    }

    /// Returns the examples `expression` → `result` of the text.
    pub fn examples(&self) -> Vec<(String, String)> {
        let mut examples = Vec::new();
        for (index, _) in self.text.match_indices("` → `") {
            let expression = self.text[..index].rsplit('`').next().expect("an opening mark");
            let rest = &self.text[index + "` → `".len()..];
            let result = rest.split('`').next().expect("a closing mark");
            examples.push((expression.to_owned(), result.to_owned()));
        }
        examples
    }

    /// Where a link to a heading of this page leads: the name that a web page gives to the heading.
    pub fn anchors(&self) -> Vec<String> {
        let headings = self.text.lines().filter(|line| line.starts_with('#'));
        let named = self.text.split("<a id=\"").skip(1).filter_map(|rest| rest.split_once('"'));
        headings
            .map(|line| {
                let heading = line.trim_start_matches('#').trim().to_lowercase();
                let kept =
                    heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
                kept.map(|c| if c == ' ' { '-' } else { c }).collect()
            })
            .chain(named.map(|(name, _)| name.to_owned()))
            .collect()
    }
}
