//! Reports of the runner on files that are wrong in some way, and files that it accepts.

use std::time::Duration;

use libtest_mimic::{Failed, Trial};

use super::Clusters;
use super::scenario::Scenario;

/// A right file: the report is empty.
const RIGHT: &str = r#"-- All that can be expected.

\needs PostgreSQL 15
\needs collation C
CREATE TABLE texts (text text); INSERT INTO texts VALUES ('a'), (NULL), ('');
SELECT text, 1 FROM texts; --> a | 1
--> NULL | 1
-->  | 1
SELECT text FROM texts WHERE text = ''; -->
SELECT text FROM texts WHERE false; --> (0 rows)
SELECT text FROM texts;
SELECT E'two\nlines'; --> two\nlines
SELECT 'one and two and two'; --> one ... two
SELECT 'one and two and two'; --> ...
DO $$ BEGIN
    RAISE NOTICE 'one' USING DETAIL = 'two', HINT = 'three';
    RAISE WARNING 'four' USING HINT = 'five';
END $$;
--> NOTICE: one
--> HINT: three
--> CONTEXT: PL/pgSQL function inline_code_block line 2 at RAISE
--> WARNING: four
SELECT * FROM
    nowhere;
--> ERROR 42P01: relation "..." does not exist
SELECT * FROM nowhere; --> ERROR 42P01
CREATE ROLE one LOGIN;
CREATE DATABASE other;
\as one
SELECT user, current_database(); --> one | scenario
SET application_name = 'first';
\session second
\options -c work_mem=1MB
\in other
SELECT user, current_database(); SHOW work_mem; SHOW application_name; --> one | other
--> 1MB
-->
\session
\options
\in
SHOW application_name; --> first
\as
SELECT user; --> postgres
\as nobody
SELECT 1; --> FATAL 28000: role "nobody" does not exist
"#;

/// Each way to fail, and what is said of it: all, or only what was got.
const FAILURES: [(&str, &str, &str); 16] = [
    ("what_is_right_passes", RIGHT, ""),
    (
        "a_wrong_row",
        "-- Two rows.\n\nSELECT 1\n    UNION SELECT 2; --> 1\n--> 3\n",
        "example.sql:3:\n    SELECT 1\n        UNION SELECT 2;\n  wanted:\n        1\n        3\n  got:\n        1\n        2\n",
    ),
    ("a_missing_row", "SELECT 1; --> 1\n--> 2\n", "1\n"),
    ("no_row", "SELECT 1 WHERE false; --> 1\n", "(0 rows)\n"),
    ("a_row_too_many", "SELECT generate_series(1, 2); --> 1\n", "1\n2\n"),
    (
        "an_unexpected_notice",
        "DROP TABLE IF EXISTS nowhere;\n",
        "example.sql:1:\n    DROP TABLE IF EXISTS nowhere;\n  wanted:\n        nothing\n  got:\n        \
         NOTICE: table \"nowhere\" does not exist, skipping\n",
    ),
    (
        "an_unexpected_error",
        "SELECT 1 / 0;\n\nSELECT 2; --> 2\n",
        "ERROR 22012: division by zero\n",
    ),
    ("an_error_that_does_not_come", "SELECT 1; --> ERROR 22012\n", "1\n"),
    (
        "a_wrong_sqlstate",
        "SELECT 1 / 0; --> ERROR 22003: division by zero\nSELECT 1 / 0; --> ERROR 22003\n",
        "ERROR 22012: division by zero\nERROR 22012: division by zero\n",
    ),
    (
        "a_wrong_hint",
        "DO $$ BEGIN RAISE 'a' USING HINT = 'b'; END $$; --> ERROR P0001: a\n--> HINT: c\n",
        "ERROR P0001: a\nHINT: b\nCONTEXT: PL/pgSQL function inline_code_block line 1 at RAISE\n",
    ),
    (
        "an_unknown_directive",
        "SELECT 1;\n\\is postgres\n",
        "example.sql:2: unknown directive\n    \\is postgres\n",
    ),
    (
        "a_setting_that_comes_too_late",
        "SELECT 1;\n\\set work_mem = 1MB\n",
        "example.sql:2: too late, after a statement\n    \\set work_mem = 1MB\n",
    ),
    (
        "an_expectation_of_no_statement",
        "SELECT 1;\n\n--> 1\n",
        "example.sql:3: this is expected of no statement\n    --> 1\n",
    ),
    (
        "a_statement_that_does_not_end",
        "-- It has no semicolon.\n\nSELECT 1\n--> 1\n\nDO $$ BEGIN; END;\n",
        "example.sql:3: the statement does not end\n    SELECT 1\n",
    ),
    (
        "a_session_that_blocks",
        "CREATE TABLE one ();\nBEGIN; LOCK one;\n\\session second\nTABLE one; --> 1\nSELECT 2; --> 3\n",
        "nothing within 2s\n",
    ),
    (
        "statements_on_a_line_that_are_one_transaction",
        "CREATE ROLE one; CREATE DATABASE two;\n",
        "ERROR 25001: CREATE DATABASE cannot run inside a transaction block\n",
    ),
];

/// The lines of a report that say what was got.
fn got(report: &str) -> String {
    let got = report.split("  got:\n").skip(1);
    let lines = got.flat_map(|got| got.lines().map_while(|line| line.strip_prefix("        ")));
    lines.map(|line| format!("{line}\n")).collect()
}

/// A file, and what it is after what was got was accepted.
const ACCEPTED: (&str, &str) = (
    "-- What agrees stays.\n\nSELECT 1; --> ...\nSELECT 1; --> 2\n\nSELECT generate_series(1, 2); -->\n\
     -- More.\nSELECT 1 / 0;\nDO $$ BEGIN\n    RAISE 'a' USING HINT = 'b';\nEND $$; --> HINT:\nSELECT 3;",
    "-- What agrees stays.\n\nSELECT 1; --> ...\nSELECT 1; --> 1\n\nSELECT generate_series(1, 2);\n--> 1\n--> 2\n\
     -- More.\nSELECT 1 / 0; --> ERROR 22012: division by zero\n\
     DO $$ BEGIN\n    RAISE 'a' USING HINT = 'b';\nEND $$;\n--> ERROR P0001: a\n--> HINT: b\nSELECT 3;\n",
);

fn assert_equal(got: &str, wanted: &str) -> Result<(), Failed> {
    if got == wanted { Ok(()) } else { Err(format!("wanted:\n{wanted}\ngot:\n{got}").into()) }
}

/// The tests of the runner.
pub fn tests(clusters: &Clusters) -> impl Iterator<Item = Trial> {
    let run = |clusters: &Clusters, text| {
        let clusters = clusters.clone();
        move || {
            let scenario = Scenario::parse("example.sql", text)?;
            let report = clusters.run("example.sql", scenario, Duration::from_secs(2))?;
            Ok::<_, Failed>(report.expect("nothing is missing"))
        }
    };
    let accept = run(clusters, ACCEPTED.0);
    let again = run(clusters, ACCEPTED.1);
    let accepts = Trial::test("runner::what_was_got_is_accepted", move || {
        assert_equal(&accept()?.accepted, ACCEPTED.1)?;
        let again = again()?;
        assert_equal(&again.failures, "")?;
        assert_equal(&again.accepted, ACCEPTED.1)
    });
    let clusters = clusters.clone();
    let fails = FAILURES.into_iter().map(move |(name, text, said)| {
        let run = run(&clusters, text);
        Trial::test(format!("runner::{name}"), move || {
            let report = run().map(|report| report.failures);
            let report = report.unwrap_or_else(|error| error.message().unwrap_or("").into());
            let is_all = said.is_empty() || said.starts_with("example.sql");
            assert_equal(&if is_all { report } else { got(&report) }, said)
        })
    });
    fails.chain([accepts])
}
