//! What the event trigger of `snowflake_adopt` costs the statements that it looks at.

use std::time::Instant;

use postgres::Client;

use crate::effort::Effort;
use crate::quantiles::median;
use crate::report::{Bound, Report, Table};
use crate::server::cluster;

/// Statements, what they do, and whether this concerns an adopted schema. Each time, `$n` is another
/// number, because a migration gives each table a name of its own.
const STATEMENTS: [(&str, &str, bool); 6] = [
    (
        "a table in a schema that is not adopted",
        "CREATE TABLE public.t$n (id bigserial PRIMARY KEY)",
        false,
    ),
    ("a column there", "ALTER TABLE public.old ADD COLUMN more bigint", false),
    ("a new schema", "CREATE SCHEMA s$n", false),
    ("a schema that is dropped", "DROP SCHEMA drafts", false),
    (
        "a table in an adopted schema, without a key to convert",
        "CREATE TABLE blog.t$n (id bigint PRIMARY KEY)",
        true,
    ),
    ("a table in an adopted schema", "CREATE TABLE blog.t$n (id bigserial PRIMARY KEY)", true),
];

/// Measures each statement in a database without the extension and in one with it, in turn, within
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
            .batch_execute(
                "CREATE EXTENSION snowflake; CREATE SCHEMA blog; CREATE SCHEMA drafts;
                 CREATE TABLE public.old ()",
            )
            .expect("the extension");
    }
    let mut adopting = connect("adopting");
    adopting
        .batch_execute("CREATE EXTENSION snowflake_adopt; SELECT snowflake_adopt('blog')")
        .expect("an adopted schema");
    let rounds = effort.call_rounds * 10;
    let title = format!(
        "Statements without and with the event trigger, ms; medians of {rounds}, and the first of a \
         session"
    );
    let mut table = Table::new(&title, &["what", "without", "with", "more", "first"]);
    let mut add = |what: &str, costs: &Costs, is_limited: bool| {
        table.row(&costs.row(what));
        if is_limited {
            let what = format!("ms that the statement takes longer: {what}");
            report.expect(&what, costs.more, Bound::AtMost(0.1));
        }
    };
    let (outside, create_outside, _) = STATEMENTS[0];
    // The file system is slower for seconds after databases were created.
    compare(rounds, ["plain", "adopting"].map(connect), create_outside);
    for (what, statement, is_adopted) in STATEMENTS {
        let costs = compare(rounds, ["plain", "adopting"].map(connect), statement);
        add(what, &costs, !is_adopted);
    }
    for number in 1..100 {
        let statement = format!("CREATE SCHEMA a{number}; SELECT snowflake_adopt('a{number}')");
        adopting.batch_execute(&statement).expect("an adopted schema");
    }
    let costs = compare(rounds, ["plain", "adopting"].map(connect), create_outside);
    add(&format!("{outside}, where 100 others are"), &costs, true);
    table.print();
}

/// Milliseconds that a statement takes.
struct Costs {
    without: f64,
    with: f64,
    /// The median of the differences. What disturbs the machine for longer than a round disturbs both.
    more: f64,
    /// With the event trigger, as the first of a session.
    first: f64,
}

impl Costs {
    fn row(&self, what: &str) -> Vec<String> {
        let figures = [self.without, self.with, self.more, self.first];
        let cells = figures.map(|milliseconds| format!("{milliseconds:.2}"));
        [&[what.to_owned()], &cells[..]].concat()
    }
}

fn compare(rounds: usize, mut clients: [Client; 2], statement: &str) -> Costs {
    let mut round = |number: usize| {
        let statement = statement.replace("$n", &number.to_string());
        clients.each_mut().map(|client| time(client, &statement))
    };
    let [_, first] = round(0);
    let times: Vec<_> = (1..=rounds).map(round).collect();
    let median = |figure: fn(&[f64; 2]) -> f64| median(times.iter().map(figure).collect());
    Costs {
        without: median(|[without, _]| *without),
        with: median(|[_, with]| *with),
        more: median(|[without, with]| with - without),
        first,
    }
}

fn time(client: &mut Client, statement: &str) -> f64 {
    client.batch_execute("BEGIN").expect("a transaction");
    let begin = Instant::now();
    client.batch_execute(statement).expect("executed");
    let milliseconds = begin.elapsed().as_secs_f64() * 1000.0;
    client.batch_execute("ROLLBACK").expect("no transaction");
    milliseconds
}
