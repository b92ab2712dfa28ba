//! What an ID costs, as ratios within one run: an absolute time means little on a shared machine.
//!
//! These tests run alone, after the others.

use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;
use snowflake_e2e::{Cluster, bigint};

const CALLS: u32 = 4_000_000;
const ROUNDS: usize = 5;

/// How long the server takes to call this function once for each of so many rows. The rows stream: in FROM,
/// generate_series() would be stored first.
fn time(client: &mut Client, call: &str, calls: u32) -> Duration {
    let started = Instant::now();
    let counted =
        bigint(client, &format!("SELECT count({call}) FROM (SELECT generate_series(1, {calls})) AS rows"));
    assert_eq!(counted, i64::from(calls));
    started.elapsed()
}

fn median(mut durations: Vec<Duration>) -> Duration {
    durations.sort_unstable();
    durations[durations.len() / 2]
}

#[test]
fn an_id_costs_at_most_a_third_of_nextval() {
    let cluster = Cluster::builder().wide_sequence().start();
    let mut client = cluster.connect();
    client.batch_execute("CREATE SEQUENCE s; SELECT snowflake_nextval()").expect("set up");
    // snowflake_currval() returns what is in a variable of the session: as constant as a volatile function can be.
    let calls = ["snowflake_currval()", "snowflake_nextval()", "nextval('s')"];
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        for (call, times) in calls.iter().zip(&mut times) {
            times.push(time(&mut client, call, CALLS));
        }
    }
    let per_call = times.map(|times| median(times).as_nanos() as f64 / f64::from(CALLS));
    let [constant, snowflake, nextval] = per_call;
    let (snowflake, nextval) = (snowflake - constant, nextval - constant);
    println!(
        "per call, median of {ROUNDS} rounds of {CALLS}: constant function {constant:.1} ns; above it \
         snowflake_nextval() {snowflake:.1} ns, nextval() {nextval:.1} ns; ratio {:.3}",
        snowflake / nextval
    );
    assert!(snowflake <= nextval / 3.0);
}

#[test]
fn one_session_sustains_the_layouts_limit() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    let ids = 5 * 4_096_000;
    // Whatever else runs on the machine takes time away, and never adds any: the best of a few runs counts.
    let mut best: f64 = 0.0;
    for _ in 0..3 {
        let rate = f64::from(ids) / time(&mut client, "snowflake_nextval()", ids).as_secs_f64();
        println!("one session, default layout: {rate:.0} IDs/s, {:.1} % of 4,096,000", rate / 40_960.0);
        best = best.max(rate);
        if best >= 0.95 * 4_096_000.0 {
            return;
        }
    }
    panic!("{best:.0} IDs/s");
}

#[test]
fn under_saturation_no_id_is_ahead_of_the_clock() {
    let cluster = Cluster::start();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let ahead = bigint(
                    &mut cluster.connect(),
                    "SELECT count(*) FILTER (WHERE snowflake_timestamp(id) > clock)
                     FROM (SELECT snowflake_nextval() AS id, clock_timestamp() AS clock
                           FROM generate_series(1, 2000000) OFFSET 0) AS ids",
                );
                assert_eq!(ahead, 0);
            });
        }
    });
}
