//! Small steps back of the clock, after which unused IDs of the repeated milliseconds are issued.

use std::thread;
use std::time::Duration;

use postgres::Client;
use snowflake_e2e::{
    Cluster, ClusterBuilder, Journal, assert_distinct, bigint, error_of, eventually,
};

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
/// whether that was an unused ID: on a machine that stalls, a quarter of a second can pass before
/// it is taken, so there are several tries.
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
        cluster.set_clock("+0");
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
    let told = "Unused IDs of the milliseconds that the clock repeats are issued.";
    eventually("the log says so", || cluster.log().contains(told));

    thread::sleep(Duration::from_millis(260));
    assert!(journal.take(&mut client, NEXT).expect("an ID") > highest);
    assert_eq!(bigint(&mut client, "SELECT steps_held FROM pg_stat_snowflake"), 0);
    // The highest ID was ahead of the clock by the step, and no ID by more.
    assert!(bigint(&mut client, "SELECT max_lead FROM pg_stat_snowflake") <= 256);
    journal.check();
}

/// Sessions that take single IDs, and one that takes runs, through small steps of the clock: with
/// reuse, after a crash, and while reuse is switched off and on.
#[test]
fn under_load_no_id_is_issued_twice() {
    // 32 IDs a millisecond, of which runs leave one to others.
    let cluster = with_reuse().set("snowflake.sequence_bits", "5").start();
    let journal = Journal::new();
    let small_steps = |rounds: usize| {
        for round in 0..rounds {
            journal.wait_for(300);
            cluster.set_clock(["-0.005", "-0.04", "-0.12", "-0.25", "-0.4"][round % 5]);
            journal.wait_for(100);
            cluster.set_clock("+0");
        }
        steps_reused(&mut cluster.connect())
    };
    let act = || {
        let mut steps = small_steps(20);
        cluster.crash_a_backend();
        steps += small_steps(40);
        for window in ["0", "256ms", "0", "256ms"] {
            cluster.reload_with(&[("snowflake.reuse_window", window)]);
            small_steps(5);
        }
        steps
    };
    let (config, runs) = (cluster.config(), Journal::new());
    let seven = "SELECT snowflake_nextval(7)";
    let steps = runs.under_load(&config, 1, seven, || journal.under_load(&config, 4, NEXT, act));
    assert!(steps > 0 && journal.misplaced() > 0, "no step was small enough");
    assert_distinct([journal.ids(), runs.ids()].concat());
    println!(
        "{steps} steps; {} single IDs, {} of them smaller; {} in runs",
        journal.count(),
        journal.misplaced(),
        runs.count()
    );
}

/// Nobody takes an ID, and nobody makes a reservation.
#[test]
fn on_an_idle_server_the_horizon_is_known_when_reuse_is_off() {
    let cluster = with_reuse().start();
    let mut client = cluster.connect();
    let last = bigint(&mut client, NEXT);
    let error = error_of(client.query("SELECT snowflake_horizon()", &[]));
    let message = "the horizon of snowflake IDs is not known while snowflake.reuse_window is on";
    assert_eq!(error.message(), message);
    cluster.reload_with(&[("snowflake.reuse_window", "0")]);
    let is_off = "SELECT (current_setting('snowflake.reuse_window') = '0')::int::bigint";
    eventually("the session has the setting", || bigint(&mut client, is_off) == 1);
    assert_eq!(bigint(&mut client, "SELECT snowflake_horizon()"), last);
    // The milliseconds are not issued again.
    use_the_clock(&mut client, &Journal::new());
    let before = bigint(&mut client, NEXT);
    cluster.set_clock("-0.25");
    assert!(bigint(&mut client, NEXT) > before);
    assert_eq!(steps_reused(&mut client), 0);
}

#[test]
fn a_reload_changes_the_window() {
    let cluster = Cluster::builder().fake_clock().start();
    let mut client = cluster.connect();
    let journal = Journal::new();
    let mut answers = |window| {
        cluster.reload_with(&[("snowflake.reuse_window", window)]);
        // Every reservation reads the setting, and one is made each second.
        for _ in 0..5 {
            use_the_clock(&mut client, &journal);
        }
        is_answered(&cluster, &mut client, &journal)
    };
    assert_eq!(["0", "1ms", "256ms", "0"].map(&mut answers), [false, false, true, false]);
    journal.check_in_any_order();
}
