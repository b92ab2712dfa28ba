//! What a single insert waits for, at different rates: with a key from a sequence, and with a Snowflake ID.

use std::thread;
use std::time::{Duration, Instant};

use crate::Cluster;

/// Inserts per second into each table, and how many are measured.
const RATES: [(f64, usize); 3] = [(0.2, 20), (10.0, 200), (1000.0, 5000)];

const KEYS: [&str; 2] = ["nextval()", "snowflake_nextval()"];

/// Measures, and prints a table.
pub fn measure() {
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
    println!("Latency of a single-row insert, commit included, of one session; both kinds in turn.\n");
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
            latencies.sort_unstable();
            let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share).round() as usize];
            let milliseconds = |latency: Duration| latency.as_secs_f64() * 1000.0;
            println!(
                "{rate:<18} | {key:<19} | {:<10.2} | {:.2}",
                milliseconds(at(0.5)),
                milliseconds(at(0.99))
            );
        }
    }
}
