//! How reports and dry runs of conversions grow with the number of tables.

use std::time::Instant;

use postgres::Client;

use crate::effort::Effort;
use crate::quantiles::median;
use crate::report::{Bound, Report, Table};
use crate::server::cluster;

/// What each table has beside its key: a reference to the one before it, and for guesses an integer
/// that has the name of this. The report of one table has to look at the names of all integers in
/// the database, so the time for that is shown, but has no limit.
const SHAPES: [(&str, &str, bool); 2] = [
    ("references", "other_id integer REFERENCES t$o", true),
    ("references and integers", "other_id integer REFERENCES t$o, t$o integer", false),
];

/// What is measured, the call, and how many times its time with the fewest tables it may take with
/// the most, which are 16 times as many.
const OF_SCHEMA: [(&str, &str, f64); 2] = [
    ("report of a schema", "snowflake_convert_report(schema => 'public')", 20.0),
    ("dry run of a schema", "snowflake_convert(schema => 'public')", 20.0),
];
const OF_TABLE: [(&str, &str, f64); 2] = [
    ("report of a table", "snowflake_convert_report('t1')", 2.0),
    ("dry run of a table", "snowflake_convert('t1')", 2.0),
];

/// Measures each call with each number of tables. A session plans the queries of a call once, so its
/// first call is counted apart.
pub fn measure(effort: &Effort, report: &mut Report) {
    let cluster = cluster().set("max_locks_per_transaction", "4096").start();
    let mut table = Table::new(
        "Conversions, ms: the first call of a session, which plans, and the median of later ones",
        &["tables with", "what", "tables", "first", "later", "times"],
    );
    for (number, (shape, columns, has_limits)) in SHAPES.into_iter().enumerate() {
        let database = format!("shape{number}");
        cluster.connect().batch_execute(&format!("CREATE DATABASE {database}")).expect("created");
        let mut client = cluster.connect_to(&database);
        client
            .batch_execute("CREATE EXTENSION snowflake; CREATE EXTENSION snowflake_convert")
            .expect("the extensions");
        let mut fewest = [None; 4];
        let mut there = 0;
        for tables in [effort.tables / 16, effort.tables / 4, effort.tables] {
            for number in there + 1..=tables {
                let other = (number - 1).max(1).to_string();
                let columns = columns.replace("$o", &other);
                client
                    .batch_execute(&format!(
                        "CREATE TABLE t{number} (id serial PRIMARY KEY, v text, {columns})"
                    ))
                    .expect("a table");
            }
            there = tables;
            client.batch_execute("VACUUM ANALYZE").expect("statistics");
            let calls = OF_SCHEMA.iter().chain(&OF_TABLE).zip(&mut fewest).enumerate();
            for (place, ((what, call, limit), fewest)) in calls {
                let of_schema = place < OF_SCHEMA.len();
                let rounds = if of_schema { effort.rounds } else { effort.call_rounds };
                let mut session = cluster.connect_to(&database);
                let first = time(&mut session, call);
                let later = median((0..rounds).map(|_| time(&mut session, call)).collect());
                let times = later / *fewest.get_or_insert(later);
                table.row(&[
                    shape.to_owned(),
                    (*what).to_owned(),
                    tables.to_string(),
                    format!("{first:.0}"),
                    format!("{later:.0}"),
                    format!("{times:.1}"),
                ]);
                if tables == effort.tables && (of_schema || has_limits) {
                    let compared = format!("times that of {} tables", tables / 16);
                    let what = format!("{compared}: {what}, {tables} with {shape}");
                    report.expect(what, times, Bound::AtMost(*limit));
                }
            }
        }
    }
    table.print();
}

/// Milliseconds of a call.
fn time(client: &mut Client, call: &str) -> f64 {
    let begin = Instant::now();
    client.batch_execute(&format!("SELECT count(*) FROM {call}")).expect("executed");
    begin.elapsed().as_secs_f64() * 1000.0
}
