//! What the event trigger of `snowflake_adopt` costs a statement that creates a table.

use std::time::Instant;

use postgres::Client;

use crate::report::{Bound, Report, Table};
use crate::{Effort, cluster, median};

/// Where a table is created, its key, and its schema there.
const PLACES: [(&str, &str, &str); 3] = [
    ("a schema that is not adopted", "bigserial", "public"),
    ("an adopted schema, without a key to convert", "bigint", "blog"),
    ("an adopted schema", "bigserial", "blog"),
];

/// Measures the statement in a database without the extension and in one with it, in turn, within
/// transactions that are rolled back, so that no flush is in it.
pub fn measure(effort: &Effort, report: &mut Report) {
    let cluster = cluster().start();
    let mut client = cluster.connect();
    let connect = |database: &str| {
        cluster.config().dbname(database).connect(postgres::NoTls).expect("a connection")
    };
    for database in ["plain", "adopting"] {
        client.batch_execute(&format!("CREATE DATABASE {database}")).expect("a database");
        connect(database)
            .batch_execute("CREATE EXTENSION snowflake; CREATE SCHEMA blog")
            .expect("the extension");
    }
    connect("adopting")
        .batch_execute("CREATE EXTENSION snowflake_adopt; SELECT snowflake_adopt('blog')")
        .expect("an adopted schema");
    let rounds = effort.call_rounds * 10;
    let title = format!(
        "CREATE TABLE without and with the event trigger, ms; medians of {rounds}, and the first of a \
         session"
    );
    let mut table = Table::new(&title, &["where", "without", "with", "more", "first"]);
    for (place, key, schema) in PLACES {
        let statement = format!("CREATE TABLE {schema}.t (id {key} PRIMARY KEY)");
        let mut clients = ["plain", "adopting"].map(connect);
        let [_, first] = clients.each_mut().map(|client| time(client, &statement));
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (client, times) in clients.iter_mut().zip(&mut times) {
                times.push(time(client, &statement));
            }
        }
        let [without, with] = times.map(median);
        let figures = [without, with, with - without, first];
        let cells = figures.map(|milliseconds| format!("{milliseconds:.2}"));
        table.row(&[&[place.to_owned()], &cells[..]].concat());
        if schema == "public" {
            let what = "ms that CREATE TABLE takes longer outside of adopted schemas";
            report.expect(what, with - without, Bound::AtMost(0.1));
        }
    }
    table.print();
}

fn time(client: &mut Client, statement: &str) -> f64 {
    client.batch_execute("BEGIN").expect("a transaction");
    let begin = Instant::now();
    client.batch_execute(statement).expect("a table");
    let milliseconds = begin.elapsed().as_secs_f64() * 1000.0;
    client.batch_execute("ROLLBACK").expect("no transaction");
    milliseconds
}
