//! What a single insert waits for, at different rates: with a key from a sequence, and with a
//! Snowflake ID. Also, what a session that takes one ID at a time waits for, while other sessions
//! take IDs without end.

use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;
use snowflake_e2e::Cluster;

use crate::crew::{AT_ONCE, Crew, create_procedure, stream};
use crate::effort::Effort;
use crate::keys::{self, NEXTVAL, NEXTVAL_CACHED, SNOWFLAKE, WIDE};
use crate::quantiles::quantiles;
use crate::report::Table;
use crate::server::cluster;

/// Inserts per second into each table, and how many are measured.
const RATES: [(f64, usize); 3] = [(0.2, 20), (10.0, 200), (1000.0, 5000)];

const KEYS: [&str; 2] = ["nextval()", "snowflake_nextval()"];

/// What others take without end. In runs of [`RUN`], they leave a part of each millisecond to others.
const OTHERS: [(&str, &str); 5] = [
    (SNOWFLAKE, SNOWFLAKE),
    (RUN, SNOWFLAKE),
    (WIDE, SNOWFLAKE),
    (NEXTVAL, "nextval('plain')"),
    (NEXTVAL_CACHED, "nextval('cache_32')"),
];
const RUN: &str = "snowflake_nextval(5000)";

/// How long others are at work before they are watched, and after.
const MARGIN: Duration = Duration::from_millis(200);

/// Measures, and prints tables.
pub fn measure(effort: &Effort) {
    inserts();
    beside(&[0, 2, 8, 32], effort);
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
            let at = |share| format!("{:.2}", at(share));
            report.row(rate, [format!("`{key}`"), at(0.5), at(0.99)]);
        }
    }
    report.print();
}

fn ms_since(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1000.0
}

/// Measures how long a call takes in a session that pauses after each, beside so many others that
/// never do. Before it, the session calls a function that does nothing, which shows how long the call
/// waits for a processor.
pub fn beside(others: &[usize], effort: &Effort) {
    let most = *others.iter().max().expect("a number");
    let (narrow, _) = keys::start(cluster());
    let (wide, _) = keys::start(cluster().wide_sequence());
    let mut sessions = [&narrow, &wide].map(|cluster| (cluster.connect(), Crew::of(cluster, most)));
    for (index, (name, call)) in OTHERS.into_iter().enumerate() {
        let (client, _) = &mut sessions[usize::from(name == WIDE)];
        let statement = match name {
            RUN => format!("PERFORM count(*) FROM (SELECT {RUN}) AS ids"),
            _ => stream(call),
        };
        create_procedure(client, &format!("others{index}"), &statement, AT_ONCE);
        create_observed(client, index, call);
    }
    let seconds = effort.watched_seconds / effort.session_rounds as f64;
    let mut report = Table::new(
        format!(
            "Time of a key each millisecond (of pg_backend_pid() before it) in one session, beside \
             others without a pause; {} rounds of {seconds:.1} s",
            effort.session_rounds
        ),
        &["others", "all take", "50 %, µs", "99.9 %, µs", "longest, µs"],
    );
    for &count in others {
        eprintln!("    beside {count} others");
        let mut times = OTHERS.map(|_| [Vec::new(), Vec::new()]);
        for _ in 0..effort.session_rounds {
            for (index, (times, (name, call))) in times.iter_mut().zip(OTHERS).enumerate() {
                let (client, crew) = &mut sessions[usize::from(name == WIDE)];
                // The first one after an idle time waits for the disk.
                client.batch_execute(&format!("SELECT {call}")).expect("a key");
                thread::scope(|scope| {
                    let time = Duration::from_secs_f64(seconds) + 2 * MARGIN;
                    scope.spawn(move || crew.work(count, &format!("others{index}"), time));
                    thread::sleep(MARGIN);
                    let observed = format!("SELECT nothing, key FROM observed{index}($1)");
                    for row in client.query(&observed, &[&seconds]).expect("times") {
                        times[0].push(row.get(0));
                        times[1].push(row.get(1));
                    }
                });
            }
        }
        for ((name, _), times) in OTHERS.iter().zip(times) {
            let [nothing, key] = times.map(quantiles);
            let at = |share| format!("{:.0} ({:.0})", key(share), nothing(share));
            report.row(count, [format!("`{name}`"), at(0.5), at(0.999), at(1.0)]);
        }
    }
    report.print();
}

/// Creates the function that measures both calls inside the server, in microseconds.
fn create_observed(client: &mut Client, index: usize, call: &str) {
    let create = format!(
        "CREATE FUNCTION observed{index}(seconds float8, OUT nothing float8, OUT key float8)
             RETURNS SETOF record LANGUAGE plpgsql AS $$
         DECLARE
             ends timestamptz := clock_timestamp() + make_interval(secs => seconds);
             first timestamptz;
             second timestamptz;
             result bigint;
         BEGIN
             LOOP
                 PERFORM pg_sleep(0.001);
                 first := clock_timestamp();
                 result := pg_backend_pid();
                 second := clock_timestamp();
                 result := {call};
                 key := extract(epoch FROM clock_timestamp() - second) * 1e6;
                 nothing := extract(epoch FROM second - first) * 1e6;
                 RETURN NEXT;
                 EXIT WHEN clock_timestamp() >= ends;
             END LOOP;
         END
         $$"
    );
    client.batch_execute(&create).expect("a function");
}
