//! What the event trigger of `snowflake_adopt` costs a statement that creates a table.

use std::time::Instant;

use postgres::Client;

use crate::report::{Bound, Report, Table};
use crate::{Effort, cluster, median};

/// Where the table is, and what is created there.
const STATEMENTS: [(&str, &str, &str); 4] = [
    ("a database without it", "plain", "CREATE TABLE t (id bigserial PRIMARY KEY)"),
    ("a schema that is not adopted", "adopting", "CREATE TABLE t (id bigserial PRIMARY KEY)"),
    (
        "an adopted schema, no key to convert",
        "adopting",
        "CREATE TABLE blog.t (id bigint PRIMARY KEY)",
    ),
    ("an adopted schema", "adopting", "CREATE TABLE blog.t (id bigserial PRIMARY KEY)"),
];

/// Measures the statement within transactions that are rolled back, so that no flush is in it.
pub fn measure(effort: &Effort, report: &mut Report) {
    let cluster = cluster().start();
    let mut client = cluster.connect();
    for database in ["plain", "adopting"] {
        client.batch_execute(&format!("CREATE DATABASE {database}")).expect("a database");
    }
    let mut clients = STATEMENTS.map(|(_, database, _)| {
        cluster.config().dbname(database).connect(postgres::NoTls).expect("a connection")
    });
    clients[0].batch_execute("CREATE EXTENSION snowflake").expect("the extension");
    clients[1]
        .batch_execute(
            "CREATE EXTENSION snowflake; CREATE EXTENSION snowflake_adopt;
             CREATE SCHEMA blog; SELECT snowflake_adopt('blog')",
        )
        .expect("an adopted schema");
    let count = effort.call_rounds * 10;
    let mut times = STATEMENTS.map(|_| Vec::new());
    // In turn, but a conversion leaves the processor's caches to the next statement as nothing else
    // does, so those that are compared closely have a turn of their own.
    for places in [0..2, 2..4] {
        for round in 0..=count {
            for place in places.clone() {
                let milliseconds = time(&mut clients[place], STATEMENTS[place].2);
                // The first one plans the queries.
                if round > 0 {
                    times[place].push(milliseconds);
                }
            }
        }
    }
    let medians = times.map(median);
    let title = format!("CREATE TABLE with an event trigger, ms; medians of {count}");
    let mut table = Table::new(&title, &["where", "ms", "more"]);
    for ((place, _, _), milliseconds) in STATEMENTS.into_iter().zip(medians) {
        let more = format!("{:.3}", milliseconds - medians[0]);
        table.row(&[place.into(), format!("{milliseconds:.3}"), more]);
    }
    table.print();
    let more = medians[1] - medians[0];
    report.expect(
        "ms that CREATE TABLE takes longer outside of adopted schemas",
        more,
        Bound::AtMost(0.1),
    );
}

fn time(client: &mut Client, statement: &str) -> f64 {
    client.batch_execute("BEGIN").expect("a transaction");
    let begin = Instant::now();
    client.batch_execute(statement).expect("a table");
    let milliseconds = begin.elapsed().as_secs_f64() * 1000.0;
    client.batch_execute("ROLLBACK").expect("no transaction");
    milliseconds
}
