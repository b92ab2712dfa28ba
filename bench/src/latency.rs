//! What a single insert waits for, at different rates: with a key from a sequence, and with a
//! Snowflake ID. Also, what a session that takes one ID at a time waits for, while other sessions
//! take IDs without end.

use std::thread;
use std::time::{Duration, Instant};

use postgres::error::SqlState;
use postgres::{CancelToken, NoTls};
use snowflake_e2e::{Cluster, NEXT, bigint, error_of, eventually};

use crate::quantiles::quantiles;
use crate::report::Table;

/// Inserts per second into each table, and how many are measured.
const RATES: [(f64, usize); 3] = [(0.2, 20), (10.0, 200), (1000.0, 5000)];

const KEYS: [&str; 2] = ["nextval()", "snowflake_nextval()"];

/// How many sessions take IDs without end, and how: each in one statement that streams for minutes.
const GREEDY: [usize; 5] = [0, 1, 2, 8, 32];
const WAYS: [(&str, &str); 2] = [
    (
        "one by one",
        "SELECT count(snowflake_nextval()) FROM (SELECT generate_series(1, 2147483647)) AS rows",
    ),
    ("in runs", "SELECT count(*) FROM (SELECT snowflake_nextval(2147483647)) AS ids"),
];

/// What is measured beside them, each in its own session: a statement that shows how long any
/// statement waits for a processor, and an ID.
const QUERIES: [&str; 2] = ["SELECT 1", NEXT];

/// How long they are measured, and how long the pause before each is.
const MEASURED: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(1);

/// Measures, and prints tables.
pub fn measure() {
    inserts();
    beside_greedy_sessions();
}

fn inserts() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE TABLE by_sequence (id bigserial PRIMARY KEY, item text);
             CREATE TABLE by_snowflake (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text)",
        )
        .expect("tables");
    let inserts = ["by_sequence", "by_snowflake"].map(|table| {
        let statement = format!("INSERT INTO {table} (item) VALUES ('book')");
        client.prepare(&statement).expect("a statement")
    });
    let mut report = Table::new(
        "Latency of a single-row insert, commit included, of one session; both kinds in turn",
        &["inserts per second", "key", "median, ms", "99th percentile, ms"],
    );
    for (rate, count) in RATES {
        eprintln!("    {rate} inserts per second");
        let pause = Duration::from_secs_f64(1.0 / rate / 2.0);
        let mut latencies = [const { Vec::new() }; 2];
        let mut due = Instant::now();
        // The first of each is for the caches.
        for round in 0..=count {
            for (insert, latencies) in inserts.iter().zip(&mut latencies) {
                due += pause;
                thread::sleep(due.saturating_duration_since(Instant::now()));
                let started = Instant::now();
                client.execute(insert, &[]).expect("a row");
                if round > 0 {
                    latencies.push(ms_since(started));
                }
            }
        }
        for (key, latencies) in KEYS.into_iter().zip(latencies) {
            let at = quantiles(latencies);
            report.row(&[
                rate.to_string(),
                format!("`{key}`"),
                format!("{:.2}", at(0.5)),
                format!("{:.2}", at(0.99)),
            ]);
        }
    }
    report.print();
}

fn ms_since(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1000.0
}

fn beside_greedy_sessions() {
    let cluster = Cluster::start();
    let mut report = Table::new(
        "Latency of a query of one session, beside others that take IDs without end; both queries \
         in turn",
        &["others", "how", "query", "median, ms", "99th percentile, ms", "longest, ms"],
    );
    for count in GREEDY {
        for (way, statement) in &WAYS[..if count == 0 { 1 } else { 2 }] {
            let way = if count == 0 { "–" } else { way };
            eprintln!("    beside {count} others, {way}");
            let latencies = latencies_beside(&cluster, count, statement);
            for (query, latencies) in QUERIES.iter().zip(latencies) {
                let at = quantiles(latencies);
                report.row(&[
                    count.to_string(),
                    way.to_owned(),
                    format!("`{query}`"),
                    format!("{:.2}", at(0.5)),
                    format!("{:.2}", at(0.99)),
                    format!("{:.2}", at(1.0)),
                ]);
            }
        }
    }
    report.print();
}

/// Milliseconds that each run of [`QUERIES`] took, beside so many sessions that take IDs without
/// end.
fn latencies_beside(cluster: &Cluster, count: usize, statement: &str) -> [Vec<f64>; 2] {
    let mut sessions = QUERIES.map(|query| {
        let mut client = cluster.connect();
        let query = client.prepare(query).expect("a statement");
        (client, query)
    });
    let mut watcher = cluster.connect();
    let at_work = format!("SELECT count(*) FROM pg_stat_activity WHERE query = '{statement}'");
    thread::scope(|scope| {
        let mut greedy = Greedy(Vec::new());
        for _ in 0..count {
            let mut client = cluster.connect();
            greedy.0.push(client.cancel_token());
            scope.spawn(move || {
                let error = error_of(client.batch_execute(statement));
                assert_eq!(*error.code(), SqlState::QUERY_CANCELED);
            });
        }
        eventually("the others take IDs", || bigint(&mut watcher, &at_work) == count as i64);
        let begun = Instant::now();
        let mut latencies = [const { Vec::new() }; 2];
        while begun.elapsed() < MEASURED {
            for ((client, query), latencies) in sessions.iter_mut().zip(&mut latencies) {
                thread::sleep(PAUSE);
                let started = Instant::now();
                client.query(query, &[]).expect("a row");
                latencies.push(ms_since(started));
            }
        }
        latencies
    })
}

/// Sessions with a statement that does not end. It is canceled when this is dropped, also when
/// measuring fails.
struct Greedy(Vec<CancelToken>);

impl Drop for Greedy {
    fn drop(&mut self) {
        for session in &self.0 {
            session.cancel_query(NoTls).expect("the statement is canceled");
        }
    }
}
