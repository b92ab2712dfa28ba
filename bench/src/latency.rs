//! What a single insert waits for, at different rates: with a key from a sequence, and with a
//! Snowflake ID. Also, what a session that takes one ID at a time waits for, while other sessions
//! take IDs without end.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use snowflake_e2e::{Cluster, StopOnDrop};

/// Inserts per second into each table, and how many are measured.
const RATES: [(f64, usize); 3] = [(0.2, 20), (10.0, 200), (1000.0, 5000)];

const KEYS: [&str; 2] = ["nextval()", "snowflake_nextval()"];

/// How many sessions take IDs without end, and how.
const GREEDY: [usize; 4] = [0, 2, 8, 32];
const WAYS: [(&str, &str); 2] = [
    ("one by one", "SELECT count(snowflake_nextval()) FROM generate_series(1, 100000)"),
    ("in runs", "SELECT count(*) FROM (SELECT snowflake_nextval(1000000)) AS ids"),
];

/// How long IDs are measured beside them, and how long the pause between two is.
const MEASURED: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(1);

/// Measures, and prints tables.
pub fn measure() {
    inserts();
    println!();
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
    println!(
        "Latency of a single-row insert, commit included, of one session; both kinds in turn.\n"
    );
    println!("inserts per second | key                 | median, ms | 99th percentile, ms");
    println!("---                | ---                 | ---        | ---");
    for (rate, count) in RATES {
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
                    latencies.push(started.elapsed());
                }
            }
        }
        for (key, mut latencies) in KEYS.into_iter().zip(latencies) {
            let at = quantiles(&mut latencies);
            println!("{rate:<18} | {key:<19} | {:<10.2} | {:.2}", at(0.5), at(0.99));
        }
    }
}

/// The latency that this share of all does not exceed, in milliseconds.
fn quantiles(latencies: &mut [Duration]) -> impl Fn(f64) -> f64 {
    latencies.sort_unstable();
    |share| {
        latencies[((latencies.len() - 1) as f64 * share).round() as usize].as_secs_f64() * 1000.0
    }
}

fn beside_greedy_sessions() {
    let cluster = Cluster::start();
    println!(
        "Latency of SELECT snowflake_nextval() of one session, beside others that take IDs \
         without end.\n"
    );
    println!("others | how        | median, ms | 99th percentile, ms | longest, ms");
    println!("---    | ---        | ---        | ---                 | ---");
    for count in GREEDY {
        for (way, query) in &WAYS[..if count == 0 { 1 } else { 2 }] {
            let mut latencies = latencies_beside(&cluster, count, query);
            let at = quantiles(&mut latencies);
            let way = if count == 0 { "" } else { way };
            println!(
                "{count:<6} | {way:<10} | {:<10.2} | {:<19.2} | {:.2}",
                at(0.5),
                at(0.99),
                at(1.0)
            );
        }
    }
}

fn latencies_beside(cluster: &Cluster, count: usize, query: &str) -> Vec<Duration> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for _ in 0..count {
            let (mut client, stop) = (cluster.connect(), &stop);
            scope.spawn(move || {
                while !stop.load(Relaxed) {
                    client.batch_execute(query).expect("IDs");
                }
            });
        }
        let mut client = cluster.connect();
        let next = client.prepare("SELECT snowflake_nextval()").expect("a statement");
        // Until all of them are at work.
        thread::sleep(Duration::from_millis(500));
        let begun = Instant::now();
        let mut latencies = Vec::new();
        while begun.elapsed() < MEASURED {
            thread::sleep(PAUSE);
            let started = Instant::now();
            client.query(&next, &[]).expect("an ID");
            latencies.push(started.elapsed());
        }
        latencies
    })
}
