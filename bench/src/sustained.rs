//! Sessions that only generate, for a while.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use snowflake_e2e::{Cluster, ClusterBuilder, assert_distinct, bigint, bigints};

use crate::effort::Effort;
use crate::report::{Bound, Report, Table};
use crate::server::{cluster, widths};

/// Sessions that generate at the same time.
const SESSIONS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// IDs in one statement of a session.
const AT_ONCE: i64 = 20_000;

/// What so many sessions generated.
pub struct Sustained {
    /// How many.
    pub sessions: usize,
    /// IDs per second, all together.
    pub per_second: f64,
    /// What the slowest had of its fair share.
    slowest: f64,
}

/// What is measured with one layout.
pub struct Series {
    /// Its widths.
    pub widths: String,
    sequence_bits: u32,
    /// One for each number of sessions.
    pub measured: Vec<Sustained>,
}

impl Series {
    /// What the layout allows, in IDs per second.
    pub fn limit(&self) -> f64 {
        f64::from(1 << self.sequence_bits) * 1000.0
    }
}

/// Measures the default layout, and one that does not limit, and prints a table for each.
pub fn measure(effort: &Effort, report: &mut Report) -> [Series; 2] {
    let seconds = effort.sustained_seconds;
    let series = [
        one_layout(cluster(), seconds),
        // Only the processors limit this one, and a short time is enough to see how far.
        one_layout(cluster().wide_sequence(), (seconds / 6.0).max(1.0)),
    ];
    for Sustained { sessions, per_second, slowest } in &series[0].measured {
        let least = if *sessions == 1 { 0.99 } else { 0.97 };
        let of_limit = per_second / series[0].limit();
        report.expect(
            format!("{sessions} sessions, of 4,096,000 IDs per second"),
            of_limit,
            Bound::AtLeast(least),
        );
        if *sessions > 1 {
            report.expect(
                format!("{sessions} sessions, the slowest's share"),
                *slowest,
                Bound::AtLeast(0.5),
            );
        }
    }
    series
}

fn one_layout(cluster: ClusterBuilder, seconds: f64) -> Series {
    let cluster = cluster.start();
    let mut client = cluster.connect();
    let widths = widths(&mut client);
    let sequence_bits = "SELECT current_setting('snowflake.sequence_bits')::bigint";
    let sequence_bits = bigint(&mut client, sequence_bits) as u32;
    check(&cluster);
    let measured = SESSIONS
        .into_iter()
        .map(|sessions| {
            eprintln!("    widths {widths}, {sessions} sessions, {seconds:.0} s");
            generate(&cluster, sessions, seconds)
        })
        .collect();
    let series = Series { widths, sequence_bits, measured };
    let title = format!(
        "Sustained generation with widths {} ({:.0} IDs per second at most), {seconds:.0} s each",
        series.widths,
        series.limit()
    );
    let mut table = Table::new(
        &title,
        &["sessions", "IDs per second", "of the limit", "slowest session, of its fair share"],
    );
    for Sustained { sessions, per_second, slowest } in &series.measured {
        table.row(&[
            sessions.to_string(),
            format!("{per_second:.0}"),
            format!("{:.1} %", per_second / series.limit() * 100.0),
            format!("{slowest:.2}"),
        ]);
    }
    table.print();
    series
}

/// What eight sessions generate at the same time is distinct.
fn check(cluster: &Cluster) {
    let ids = thread::scope(|scope| {
        let sessions: Vec<_> = (0..8)
            .map(|_| {
                let mut client = cluster.connect();
                let query = "SELECT snowflake_nextval() FROM generate_series(1, 200000)";
                scope.spawn(move || bigints(&mut client, query))
            })
            .collect();
        sessions
            .into_iter()
            .flat_map(|session| session.join().expect("a session"))
            .collect::<Vec<i64>>()
    });
    assert_eq!(ids.len(), 8 * 200_000);
    assert_distinct(ids);
}

fn generate(cluster: &Cluster, sessions: usize, seconds: f64) -> Sustained {
    let (running, counting) = (AtomicBool::new(true), AtomicBool::new(false));
    let mut watcher = cluster.connect();
    let mut issued = || bigint(&mut watcher, "SELECT issued FROM pg_stat_snowflake");
    let before = issued();
    thread::scope(|scope| {
        let (running, counting) = (&running, &counting);
        let threads: Vec<_> = (0..sessions)
            .map(|_| {
                let mut client = cluster.connect();
                scope.spawn(move || {
                    let query = format!(
                        "SELECT count(snowflake_nextval()) \
                         FROM (SELECT generate_series(1, {AT_ONCE})) AS rows"
                    );
                    let generate = client.prepare(&query).expect("a statement");
                    let (mut all, mut counted) = (0, 0);
                    while running.load(Relaxed) {
                        let count: i64 = client.query_one(&generate, &[]).expect("IDs").get(0);
                        assert_eq!(count, AT_ONCE);
                        all += count;
                        counted += if counting.load(Relaxed) { count } else { 0 };
                    }
                    (all, counted)
                })
            })
            .collect();
        // All are at work; the server's own counter says how much they do.
        thread::sleep(Duration::from_millis(300));
        counting.store(true, Relaxed);
        let (first, started) = (issued(), Instant::now());
        thread::sleep(Duration::from_secs_f64(seconds));
        let (last, elapsed) = (issued(), started.elapsed());
        running.store(false, Relaxed);
        let counts: Vec<(i64, i64)> =
            threads.into_iter().map(|thread| thread.join().expect("a session")).collect();
        let all: i64 = counts.iter().map(|(all, _)| all).sum();
        assert_eq!(issued() - before, all, "the server counts as the sessions do");
        let least = counts.iter().map(|(_, counted)| *counted).min().expect("a session") as f64;
        let fair = counts.iter().map(|(_, counted)| *counted).sum::<i64>() as f64 / sessions as f64;
        Sustained {
            sessions,
            per_second: (last - first) as f64 / elapsed.as_secs_f64(),
            slowest: least / fair,
        }
    })
}
