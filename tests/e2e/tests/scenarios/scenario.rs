//! One scenario: what it sends, what it expects, and what it gets.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use postgres::error::{DbError, SqlState};
use postgres::{Client, Config, NoTls, SimpleQueryMessage as Message};
use snowflake_e2e::within;

/// Features of the server that a file can need, each with a query that looks for it.
const NEEDS: [(&str, &str); 3] = [
    ("PostgreSQL", "SELECT current_setting('server_version_num')::int / 10000 >= $1::text::int"),
    ("extension", "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = $1::text)"),
    ("collation", "SELECT EXISTS (SELECT FROM pg_collation WHERE collname = $1::text)"),
];

/// A file.
pub struct Scenario {
    path: String,
    lines: Vec<String>,
    /// The settings of the server.
    pub settings: BTreeMap<String, String>,
    needs: Vec<String>,
    steps: Vec<(Speaker, Statement)>,
}

/// Who sends a statement.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Speaker {
    session: String,
    role: Option<String>,
    database: Option<String>,
    options: String,
}

struct Statement {
    lines: Range<usize>,
    sql: String,
    wanted: Vec<String>,
}

/// The result of a scenario.
#[derive(Default)]
pub struct Report {
    /// The text about all failures.
    pub failures: String,
    /// True if a statement gave something else than was expected.
    pub differs: bool,
    /// True if a session ended.
    pub is_lost: bool,
    /// The file with what was got.
    pub accepted: String,
}

impl Scenario {
    /// Reads a file; an error names its line.
    pub fn parse(path: &str, text: &str) -> Result<Scenario, String> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let path = path.to_owned();
        let mut scenario =
            Scenario { path, lines, settings: BTreeMap::new(), needs: vec![], steps: vec![] };
        let (mut speaker, mut at) = (Speaker::default(), 0);
        while let Some(line) = scenario.lines.get(at) {
            let line = line.trim_end().to_owned();
            if let Some(directive) = line.strip_prefix('\\') {
                scenario.direct(directive, &mut speaker).map_err(|e| scenario.error(at, e))?;
            } else if line.starts_with("-->") {
                return Err(scenario.error(at, "this is expected of no statement"));
            } else if !line.is_empty() && !line.starts_with("--") {
                let statement = Statement::parse(&scenario.lines, at)
                    .ok_or_else(|| scenario.error(at, "the statement does not end"))?;
                at = statement.lines.end;
                scenario.steps.push((speaker.clone(), statement));
                continue;
            }
            at += 1;
        }
        Ok(scenario)
    }

    fn error(&self, at: usize, error: &str) -> String {
        format!("{}:{}: {error}\n    {}\n", self.path, at + 1, self.lines[at])
    }

    fn direct(&mut self, directive: &str, speaker: &mut Speaker) -> Result<(), &'static str> {
        let (verb, value) = directive.split_once(' ').unwrap_or((directive, ""));
        let given = (!value.is_empty()).then(|| value.to_owned());
        match verb {
            "set" | "needs" if !self.steps.is_empty() => return Err("too late, after a statement"),
            "set" => {
                let (name, value) = value.split_once('=').ok_or("this is not NAME = VALUE")?;
                self.settings.insert(name.trim().to_owned(), value.trim().to_owned());
            }
            "needs" if NEEDS.iter().any(|(kind, _)| value.split(' ').next() == Some(kind)) => {
                self.needs.push(value.to_owned());
            }
            "as" => speaker.role = given,
            "in" => speaker.database = given,
            "session" => speaker.session = value.to_owned(),
            "options" => speaker.options = value.to_owned(),
            _ => return Err("unknown directive"),
        }
        Ok(())
    }

    /// Returns a feature that the file needs and the server lacks. The server is asked only if the
    /// file needs one.
    pub fn missing(&self, connect: impl FnOnce() -> Client) -> Option<&str> {
        let mut client = (!self.needs.is_empty()).then(connect)?;
        let is_missing = |need: &&String| {
            let (kind, value) = need.split_once(' ').expect("a kind and a name");
            let (_, query) = NEEDS.iter().find(|(known, _)| *known == kind).expect("a kind");
            !client.query_one(*query, &[&value]).expect("an answer").get::<_, bool>(0)
        };
        self.needs.iter().find(is_missing).map(String::as_str)
    }

    /// Sends the statements. The first that takes longer than the limit ends it.
    pub fn run(&self, config: &Config, limit: Duration) -> Report {
        let (mut report, mut sessions, mut copied) = (Report::default(), BTreeMap::new(), 0);
        for (speaker, statement) in &self.steps {
            let session = sessions.remove(speaker).unwrap_or_else(|| Session::new(config, speaker));
            let sql = statement.sql.clone();
            let Some((session, got)) = within(limit, move || session.run(&sql)) else {
                report.failures += &self.failure(statement, &[format!("nothing within {limit:?}")]);
                break;
            };
            sessions.insert(speaker.clone(), session);
            report.accepted.extend(with_breaks(&self.lines[copied..statement.lines.start]));
            copied = statement.lines.end;
            if agrees(&statement.wanted, &got) {
                report.accepted.extend(with_breaks(&self.lines[statement.lines.clone()]));
            } else {
                report.differs = true;
                report.is_lost |= got.iter().any(|line| word(line) == Some("CLIENT"));
                report.failures += &self.failure(statement, &got);
                report.accepted += &statement.accepting(&got);
            }
        }
        report.accepted.extend(with_breaks(&self.lines[copied..]));
        report
    }

    fn failure(&self, statement: &Statement, got: &[String]) -> String {
        let indented = |lines: &[String]| match lines.is_empty() {
            true => "        nothing\n".to_owned(),
            false => lines.iter().map(|line| format!("        {line}\n")).collect::<String>(),
        };
        let sql: String = statement.sql.lines().map(|line| format!("    {line}\n")).collect();
        let (line, wanted) = (statement.lines.start + 1, indented(&statement.wanted));
        format!("{}:{line}:\n{sql}  wanted:\n{wanted}  got:\n{}", self.path, indented(got))
    }
}

impl Statement {
    /// The statement that begins on a line, with what is expected of it; `None` if it does not end.
    fn parse(lines: &[String], start: usize) -> Option<Statement> {
        let (mut sql, mut wanted, mut at) = (String::new(), Vec::new(), start);
        loop {
            let (code, expected) = split(lines.get(at)?);
            sql = sql + code + "\n";
            wanted.extend(expected);
            at += 1;
            if code.ends_with(';') && sql.matches("$$").count() % 2 == 0 {
                break;
            }
        }
        while let Some(expected) = lines.get(at).and_then(|line| line.strip_prefix("-->")) {
            wanted.push(expectation(expected));
            at += 1;
        }
        Some(Statement { lines: start..at, sql, wanted })
    }

    /// The lines of the statement, in which what was got is expected: beside it, if it is one line
    /// and there is room.
    fn accepting(&self, got: &[String]) -> String {
        let matters = |line: &&String| match word(line) {
            None => !self.wanted.is_empty(),
            Some("DETAIL" | "HINT" | "CONTEXT") => {
                self.wanted.iter().any(|wanted| word(wanted) == word(line))
            }
            Some(_) => true,
        };
        // Lines that were right stay as they were written, with the marks that stand for anything.
        let expecting = |line: &String| {
            let kept = self.wanted.iter().find(|wanted| matches(wanted, line)).unwrap_or(line);
            format!("--> {kept}").trim_end().to_owned()
        };
        let got: Vec<String> = got.iter().filter(matters).map(expecting).collect();
        let sql = self.sql.trim_end();
        match &got[..] {
            [] => self.sql.clone(),
            [only] if sql.lines().last().expect("a line").len() + only.len() < 120 => {
                format!("{sql} {only}\n")
            }
            _ => format!("{sql}\n{}\n", got.join("\n")),
        }
    }
}

/// Splits a line into the SQL and the expectation.
fn split(line: &str) -> (&str, Option<String>) {
    let (code, expected) =
        line.split_once("-->").map_or((line, None), |(code, expected)| (code, Some(expected)));
    (code.trim_end(), expected.map(expectation))
}

/// Returns the text behind an arrow and a space.
fn expectation(text: &str) -> String {
    text.strip_prefix(' ').unwrap_or(text).trim_end().to_owned()
}

fn with_breaks(lines: &[String]) -> impl Iterator<Item = String> {
    lines.iter().map(|line| format!("{line}\n"))
}

/// A connection, or why there is none, and what was said there.
struct Session {
    client: Result<Client, postgres::Error>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Session {
    fn new(config: &Config, speaker: &Speaker) -> Session {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (mut config, keeper) = (config.clone(), Arc::clone(&heard));
        if let Some(role) = &speaker.role {
            config.user(role);
        }
        if let Some(database) = &speaker.database {
            config.dbname(database);
        }
        config.options(&speaker.options).notice_callback(move |notice| {
            // A warning that has the SQLSTATE of success does not look like one to a program.
            let is_success = *notice.code() == SqlState::SUCCESSFUL_COMPLETION;
            let is_wrong = notice.severity() == "WARNING" && is_success;
            let code = if is_wrong { " 00000" } else { "" };
            let said = said(format!("{}{code}", notice.severity()), &notice);
            keeper.lock().expect("not poisoned").extend(said);
        });
        Session { client: config.connect(NoTls), heard }
    }

    /// Returns the answer of the server: messages, rows, and an error.
    fn run(mut self, sql: &str) -> (Session, Vec<String>) {
        let outcome = match &mut self.client {
            Ok(client) => client.simple_query(sql).map_err(|error| failed(&error)),
            Err(error) => Err(failed(error)),
        };
        // An error is reported before its transaction is rolled back, and this is answered
        // afterwards.
        if let (Err(_), Ok(client)) = (&outcome, &mut self.client) {
            let _ = client.simple_query("");
        }
        let mut lines = std::mem::take(&mut *self.heard.lock().expect("not poisoned"));
        match outcome {
            Ok(messages) => lines.extend(rows(&messages)),
            Err(error) => lines.extend(error),
        }
        (self, lines.iter().map(|line| line.replace('\n', "\\n")).collect())
    }
}

fn failed(error: &postgres::Error) -> Vec<String> {
    match error.as_db_error() {
        Some(error) => said(format!("{} {}", error.severity(), error.code().code()), error),
        None => vec![format!("CLIENT: {error}")],
    }
}

fn said(what: String, error: &DbError) -> Vec<String> {
    let more = [("DETAIL", error.detail()), ("HINT", error.hint()), ("CONTEXT", error.where_())];
    let more = more.into_iter().filter_map(|(word, text)| Some(format!("{word}: {}", text?)));
    [format!("{what}: {}", error.message())].into_iter().chain(more).collect()
}

fn rows(messages: &[Message]) -> Vec<String> {
    let mut rows = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        match message {
            Message::Row(row) => {
                let columns: Vec<_> =
                    (0..row.len()).map(|column| row.get(column).unwrap_or("NULL")).collect();
                rows.push(columns.join(" | ").trim_end().to_owned());
            }
            Message::RowDescription(_)
                if !matches!(messages.get(number + 1), Some(Message::Row(_))) =>
            {
                rows.push("(0 rows)".to_owned());
            }
            _ => (),
        }
    }
    rows
}

/// The word that a line begins with, unless the line is a row.
fn word(line: &str) -> Option<&str> {
    let (word, rest) = line.split_at(line.find([' ', ':'])?);
    let is_said = match word {
        "ERROR" | "FATAL" => rest.starts_with(' '),
        "WARNING" | "NOTICE" | "INFO" | "LOG" | "DETAIL" | "HINT" | "CONTEXT" | "CLIENT" => {
            rest.starts_with(':')
        }
        _ => false,
    };
    is_said.then_some(word)
}

/// Returns whether all wanted lines came, and no others that matter.
fn agrees(wanted: &[String], got: &[String]) -> bool {
    let rows_matter = wanted.iter().any(|line| word(line).is_none());
    let mut rest = wanted.iter().peekable();
    for line in got {
        let matters = match word(line) {
            None => rows_matter,
            kind @ Some("DETAIL" | "HINT" | "CONTEXT") => {
                rest.peek().is_some_and(|wanted| word(wanted) == kind)
            }
            Some(_) => true,
        };
        if matters && !rest.next().is_some_and(|wanted| matches(wanted, line)) {
            return false;
        }
    }
    rest.next().is_none()
}

/// Returns whether a line is the one that is wanted.
fn matches(wanted: &str, got: &str) -> bool {
    let is_code = word(wanted) == Some("ERROR") && wanted.len() == "ERROR 42501".len();
    let mut parts: Vec<&str> = wanted.split("...").collect();
    if is_code {
        parts.push("");
    }
    let Some(mut rest) = got.strip_prefix(parts[0]) else { return false };
    let Some((last, between)) = parts[1..].split_last() else { return rest.is_empty() };
    for part in between {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
