//! The cost of `snowflake.adopted_schemas` for statements that create tables.

use std::time::Instant;

use postgres::Client;
use snowflake_e2e::Run;

use crate::effort::Effort;
use crate::quantiles::median;
use crate::report::{Report, Table};
use crate::server::cluster;

/// Milliseconds that a statement may take longer.
const LIMIT: f64 = 1.0;

/// Names and statements; each time, `$n` is another number. A statement is not adopted where it
/// names the schema `plain`.
const STATEMENTS: [(&str, &str); 4] = [
    (
        "a table",
        "CREATE TABLE blog.t$n (id bigserial PRIMARY KEY, v text, r bigint REFERENCES beside.t1)",
    ),
    (
        "a table with an identity column",
        "CREATE TABLE blog.t$n (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text, \
         r bigint REFERENCES beside.t1)",
    ),
    ("a table in another schema", "CREATE TABLE plain.t$n (id bigserial PRIMARY KEY, v text)"),
    ("a column", "ALTER TABLE blog.old ADD COLUMN more bigint"),
];

/// Measures each statement with the setting and without, in turn, within transactions that are
/// rolled back, so that no flush is in it.
pub fn measure(effort: &Effort, report: &mut Report) {
    let cluster = cluster().start();
    let mut client = cluster.connect();
    client.run(
        "CREATE EXTENSION IF NOT EXISTS snowflake;
         CREATE SCHEMA beside; CREATE SCHEMA plain; CREATE SCHEMA blog; CREATE TABLE blog.old ()",
    );
    let connect = |schemas: &str| {
        let mut client = cluster.connect();
        client.run(&format!("SET snowflake.adopted_schemas = '{schemas}'"));
        client
    };
    let rounds = effort.call_rounds * 10;
    let title = format!(
        "Statements with an empty setting and with adopted schemas, ms; medians of {rounds}, and the first of a \
         session"
    );
    let mut table =
        Table::new(title, &["what", "tables beside it", "empty", "adopted", "more", "first more"]);
    let mut beside = 0;
    for tables in [1, 100, effort.tables] {
        for number in beside + 1..=tables {
            let other = number.saturating_sub(1).max(1);
            client.run(&format!(
                "CREATE TABLE beside.t{number}
                     (id bigserial PRIMARY KEY, v text, r bigint REFERENCES beside.t{other})"
            ));
        }
        beside = tables;
        client.run("CHECKPOINT");
        for (what, statement) in STATEMENTS {
            let costs = compare(rounds, ["", "blog"].map(connect), statement);
            let figures = [costs.empty, costs.adopted, costs.more, costs.first];
            let cells = figures.map(|milliseconds| format!("{milliseconds:.2}"));
            table.row(what, [tables.to_string()].into_iter().chain(cells));
            let what = format!("ms that {what} takes longer, beside {tables} tables");
            report.at_most(&what, costs.more, LIMIT);
        }
    }
    table.print();
}

/// Milliseconds that a statement takes.
struct Costs {
    empty: f64,
    adopted: f64,
    /// The median of the differences. What disturbs the machine for longer than a round disturbs
    /// both.
    more: f64,
    /// The difference between the first statements of two sessions.
    first: f64,
}

fn compare(rounds: usize, mut clients: [Client; 2], statement: &str) -> Costs {
    let mut round = |number: usize| {
        let statement = statement.replace("$n", &number.to_string());
        clients.each_mut().map(|client| time(client, &statement))
    };
    let [empty, adopted] = round(0);
    let first = adopted - empty;
    let times: Vec<_> = (1..=rounds).map(round).collect();
    let median = |figure: fn(&[f64; 2]) -> f64| median(times.iter().map(figure).collect());
    Costs {
        empty: median(|[empty, _]| *empty),
        adopted: median(|[_, adopted]| *adopted),
        more: median(|[empty, adopted]| adopted - empty),
        first,
    }
}

fn time(client: &mut Client, statement: &str) -> f64 {
    client.run("BEGIN");
    let begin = Instant::now();
    client.run(statement);
    let milliseconds = begin.elapsed().as_secs_f64() * 1000.0;
    client.run("ROLLBACK");
    milliseconds
}
