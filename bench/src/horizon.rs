//! The cost of a call of `snowflake_horizon()`, and the lag of a reader who goes by it, and of one
//! who goes by transaction IDs.

use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;
use snowflake_e2e::{Cluster, Run};

use crate::effort::Effort;
use crate::quantiles::{median, quantiles};
use crate::report::{Report, Table};
use crate::server::cluster;

/// Connections beside the one that asks. Each has an open transaction with an ID and a row.
const CONNECTIONS: usize = 100;

/// Sessions that insert while the readers lag behind.
const WRITERS: usize = 4;

/// Up to which row somebody who goes by it may read, by transaction IDs and by the horizon: its
/// age, in seconds. An open transaction holds the first one back, whatever it does and in whatever
/// database.
const LAGS: [(&str, &str); 2] = [
    (
        "an indexed column of type `xid8`",
        "SELECT extract(epoch FROM clock_timestamp() - snowflake_timestamp(max(id)))::float8 FROM jobs
         WHERE xid < pg_snapshot_xmin(pg_current_snapshot())",
    ),
    (
        "`snowflake_horizon()`",
        "SELECT extract(epoch FROM clock_timestamp() - snowflake_timestamp(max(id)))::float8 FROM jobs
         WHERE id <= snowflake_horizon()",
    ),
];

/// Measures both, and prints tables.
pub fn measure(effort: &Effort, report: &mut Report) {
    let cluster = cluster().set("max_connections", "120").start();
    let mut client = cluster.connect();
    client.run(
        "CREATE TABLE jobs (id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
                            xid xid8 NOT NULL DEFAULT pg_current_xact_id());
         CREATE INDEX ON jobs (xid);
         INSERT INTO jobs DEFAULT VALUES",
    );
    client.run("CREATE DATABASE elsewhere");
    call(&cluster, &mut client, effort, report);
    lag(&cluster, &mut client, effort, report);
}

/// Each call is a statement of its own, because a statement has one horizon. Statements that call a
/// function that does nothing come between.
fn call(cluster: &Cluster, client: &mut Client, effort: &Effort, report: &mut Report) {
    eprintln!("    calls of snowflake_horizon()");
    let mut others: Vec<Client> = (0..CONNECTIONS).map(|_| cluster.connect()).collect();
    for other in &mut others {
        other.run("BEGIN; INSERT INTO jobs DEFAULT VALUES");
    }
    let statements = ["SELECT pg_backend_pid()", "SELECT snowflake_horizon()"]
        .map(|statement| client.prepare(statement).expect("a statement"));
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..effort.calls / 10 {
        for (statement, times) in statements.iter().zip(&mut times) {
            let begin = Instant::now();
            client.query_one(statement, &[]).expect("a row");
            times.push(begin.elapsed().as_secs_f64() * 1e6);
        }
    }
    let [nothing, horizon] = times.map(median);
    let title = format!(
        "A statement with {CONNECTIONS} other connections, each in a transaction that has taken an ID; \
         medians of {}, µs",
        effort.calls / 10
    );
    let mut table = Table::new(title, &["statement", "µs", "more"]);
    table.row("`SELECT pg_backend_pid()`", [format!("{nothing:.1}"), "0.0".into()]);
    let more = horizon - nothing;
    table.row("`SELECT snowflake_horizon()`", [horizon, more].map(|us| format!("{us:.1}")));
    table.print();
    let what = format!("snowflake_horizon() beside {CONNECTIONS} transactions, µs");
    report.at_most(what, more, 6.0);
}

/// Sessions insert rows, while a transaction of another database is open that has a transaction ID,
/// and has taken no ID.
fn lag(cluster: &Cluster, client: &mut Client, effort: &Effort, report: &mut Report) {
    eprintln!("    how far readers lag behind");
    let mut elsewhere = cluster.connect_to("elsewhere");
    elsewhere.run("BEGIN; SELECT pg_current_xact_id()");
    let seconds = effort.watched_seconds;
    let begin = Instant::now();
    let length = Duration::from_secs_f64(seconds);
    let mut lags = [Vec::new(), Vec::new()];
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                let mut writer = cluster.connect();
                while begin.elapsed() < length {
                    writer.run("INSERT INTO jobs DEFAULT VALUES");
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
        while begin.elapsed() < length {
            for ((_, query), lags) in LAGS.iter().zip(&mut lags) {
                lags.push(client.query_one(*query, &[]).expect("a lag").get(0));
            }
            thread::sleep(Duration::from_millis(1));
        }
    });
    let title = format!(
        "How far a reader lags behind, {WRITERS} sessions insert rows for {seconds} s while a transaction of \
         another database is open, s"
    );
    let mut table = Table::new(title, &["goes by", "50 %", "99 %"]);
    let [by_transaction, by_horizon] = lags.map(quantiles);
    for ((what, _), quantile) in LAGS.iter().zip([&by_transaction, &by_horizon]) {
        table.row(what, [0.5, 0.99].map(|share| format!("{:.3}", quantile(share))));
    }
    table.print();
    report.at_most(
        "lag of a reader by snowflake_horizon() / by xid8",
        by_horizon(0.5) / by_transaction(0.5),
        0.5,
    );
}
