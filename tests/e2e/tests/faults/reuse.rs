//! Small steps back of the clock that are answered with unused IDs of the time that comes again.

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use postgres::Client;
use snowflake_e2e::{Cluster, ClusterBuilder, Journal, StopOnDrop, bigint, eventually, signal};

use super::NEXT;

fn with_reuse() -> ClusterBuilder {
    Cluster::builder().set("snowflake.reuse_window", "256ms").fake_clock()
}

fn steps_reused(client: &mut Client) -> i64 {
    bigint(client, "SELECT steps_reused FROM pg_stat_snowflake")
}

/// Takes an ID every few milliseconds, for longer than any window.
fn use_the_clock(client: &mut Client, journal: &Journal) {
    for _ in 0..100 {
        journal.take(client, NEXT).expect("an ID");
        thread::sleep(Duration::from_millis(4));
    }
}

/// Sets the clock back by a quarter of a second, takes an ID, and sets the clock right. Returns
/// whether the step was answered with an unused ID: on a machine that stalls, the quarter may be over
/// before, so there are several tries.
fn is_answered(cluster: &Cluster, client: &mut Client, journal: &Journal) -> bool {
    let before = steps_reused(client);
    (0..5).any(|_| {
        use_the_clock(client, journal);
        cluster.set_clock("-0.25");
        journal.take(client, NEXT).expect("an ID");
        let is_answered = steps_reused(client) > before;
        cluster.set_clock("+0");
        thread::sleep(Duration::from_millis(260));
        is_answered
    })
}

#[test]
fn ids_carry_the_clocks_own_time_and_increase_again_later() {
    const AND_CLOCK: &str = "SELECT id, snowflake_timestamp(id)
        BETWEEN date_trunc('milliseconds', before) AND clock_timestamp()
        FROM (SELECT clock_timestamp() AS before, snowflake_nextval() AS id OFFSET 0) AS taken";
    let cluster = with_reuse().start();
    let mut client = cluster.connect();
    let journal = Journal::new();
    let mut highest = 0;
    eventually("a step is noticed before it is over", || {
        use_the_clock(&mut client, &journal);
        highest = highest.max(journal.highest());
        cluster.set_clock("-0.25");
        let row = client.query_one(AND_CLOCK, &[]).expect("an ID");
        let (id, is_now): (i64, bool) = (row.get(0), row.get(1));
        assert!(is_now, "{id} is not of this time");
        let is_smaller = id < highest;
        highest = highest.max(id);
        is_smaller
    });
    // The status still shows the highest one.
    assert_eq!(bigint(&mut client, "SELECT last_id FROM snowflake_status"), highest);
    assert_eq!(steps_reused(&mut client), 1);
    assert!(bigint(&mut client, "SELECT largest_step_back FROM pg_stat_snowflake") <= 256);
    let told = "IDs do not increase until the clock has caught up.";
    eventually("the log says so", || cluster.log().contains(told));

    thread::sleep(Duration::from_millis(260));
    assert!(journal.take(&mut client, NEXT).expect("an ID") > highest);
    assert_eq!(bigint(&mut client, "SELECT steps_held + max_lead FROM pg_stat_snowflake"), 0);
    journal.check();
}

#[test]
fn under_load_no_id_is_reused() {
    // Sixteen IDs a millisecond, most of which are used.
    let cluster = with_reuse().set("snowflake.sequence_bits", "4").start();
    let journal = Journal::new();
    let stop = AtomicBool::new(false);
    let mut client = cluster.connect();
    let mut steps = 0;
    thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for _ in 0..4 {
            journal.client(scope, &cluster, NEXT, &stop);
        }
        let several = "SELECT min(id) FROM (SELECT snowflake_nextval(3) AS id) AS ids";
        journal.client(scope, &cluster, several, &stop);
        for round in 0..60 {
            journal.wait_for(300);
            cluster.set_clock(&format!("-0.{:03}", [5, 40, 120, 250, 400][round % 5]));
            journal.wait_for(100);
            if round % 20 == 7 {
                // What was issued before a crash is not known afterwards.
                steps += steps_reused(&mut client);
                kill_a_backend(&cluster);
                eventually("the server is back", || {
                    cluster.config().connect(postgres::NoTls).is_ok_and(|again| {
                        client = again;
                        true
                    })
                });
            }
            if round % 7 == 5 {
                let window = if round % 2 == 0 { "256ms" } else { "0" };
                cluster.configure(&[("snowflake.reuse_window", window)]);
                cluster.reload();
            }
            cluster.set_clock("+0");
        }
        steps += steps_reused(&mut client);
    });
    assert!(steps > 5 && journal.misplaced() > 0, "{steps} steps were answered");
    println!(
        "{steps} steps, {} smaller IDs of {}",
        journal.misplaced(),
        journal.check_in_any_order()
    );
}

fn kill_a_backend(cluster: &Cluster) {
    signal(bigint(&mut cluster.connect(), "SELECT pg_backend_pid()::bigint"), "KILL");
}

#[test]
fn a_step_beyond_the_window_is_held() {
    let cluster = with_reuse().set("snowflake.reuse_window", "50ms").start();
    let mut client = cluster.connect();
    let journal = Journal::new();
    use_the_clock(&mut client, &journal);
    cluster.set_clock("-10s");
    use_the_clock(&mut client, &journal);
    assert_eq!(steps_reused(&mut client), 0);
    assert_eq!(bigint(&mut client, "SELECT steps_held FROM pg_stat_snowflake"), 1);
    journal.check();
}

#[test]
fn a_reload_switches_it_on_and_off() {
    let cluster = Cluster::builder().fake_clock().start();
    let mut client = cluster.connect();
    let journal = Journal::new();
    let mut answers = |window| {
        cluster.configure(&[("snowflake.reuse_window", window)]);
        cluster.reload();
        // Every reservation looks at it, and one is made each second.
        for _ in 0..5 {
            use_the_clock(&mut client, &journal);
        }
        is_answered(&cluster, &mut client, &journal)
    };
    assert_eq!(["0", "1ms", "256ms", "0"].map(&mut answers), [false, false, true, false]);
    journal.check_in_any_order();
}
