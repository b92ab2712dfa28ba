//! Those who find a millisecond used up take an ID of a later one, and sleep until its time: with
//! two IDs a millisecond, more sessions than that are always there.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, ClusterBuilder, NEXT, Run, assert_distinct, assert_increasing, at_once, beside,
    bigint, bigints, create_orders, eventually, interruption, meanwhile, patience, value, within,
};

/// Two IDs a millisecond.
fn narrow() -> ClusterBuilder {
    Cluster::builder().set("snowflake.sequence_bits", "1")
}

/// One ID after the other, without a pause between two.
const TWENTY: &str = "SELECT count(snowflake_nextval()) FROM generate_series(1, 20)";

/// So many sessions take one ID after the other until `act` is over. Returns how many they took,
/// and what `act` returns.
fn beside_sessions<T>(cluster: &Cluster, sessions: usize, act: impl FnOnce() -> T) -> (i64, T) {
    let work = |_, stop: &AtomicBool| {
        let (mut client, mut taken) = (cluster.connect(), 0);
        while !stop.load(SeqCst) {
            taken += bigint(&mut client, TWENTY);
        }
        taken
    };
    let (taken, done) = beside(sessions, work, act);
    (taken.iter().sum(), done)
}

/// The number of IDs that are ahead of the clock when they are returned.
const AHEAD: &str = "SELECT count(*) FROM (
    SELECT snowflake_nextval() AS id, clock_timestamp() AS clock FROM generate_series(1, 500) OFFSET 0
) AS ids WHERE snowflake_timestamp(id) > clock";

#[test]
fn no_id_of_the_queue_is_returned_before_its_time() {
    let cluster = narrow().start();
    assert_eq!(at_once(12, |_| cluster.bigint(AHEAD)), [0; 12]);
    let mut client = cluster.connect();
    let counted =
        "SELECT waits > 2900 AND wait_time > 0 AND sequence_overflows BETWEEN 2900 AND 6000
        AND max_lead = 0 AND steps_held = 0 AND largest_step_back = 0 FROM pg_stat_snowflake";
    let all = "SELECT row(s.*)::text FROM pg_stat_snowflake AS s";
    let is_counted: bool = value(&mut client, counted);
    assert!(is_counted, "{}", value::<String>(&mut client, all));
}

#[test]
fn ids_of_the_queue_are_distinct_and_increase() {
    let cluster = narrow().start();
    let query = "SELECT snowflake_nextval() FROM generate_series(1, 500)";
    let taken = at_once(12, |_| bigints(&mut cluster.connect(), query));
    for ids in &taken {
        assert_increasing(ids);
    }
    let all = taken.concat();
    // No ID that was taken is lost.
    let issued = cluster.bigint("SELECT issued FROM pg_stat_snowflake");
    assert_eq!(issued, all.len() as i64);
    assert_distinct(all);
}

/// The lead of the queue alone is shown to nobody, and is no clock that is behind.
#[test]
fn the_lead_of_the_queue_is_not_shown() {
    let cluster =
        narrow().set("snowflake.max_backward_step", "0").set("snowflake.max_wait", "0").start();
    let mut client = cluster.connect();
    let (_, [leads, polls, failed]) = beside_sessions(&cluster, 12, || {
        let until = Instant::now() + Duration::from_secs(2);
        let [mut leads, mut polls, mut failed] = [0; 3];
        while Instant::now() < until {
            leads += bigint(&mut client, "SELECT lead FROM snowflake_status");
            let check = "SELECT count(*) FROM snowflake_check() WHERE name = 'lead' AND NOT ok";
            failed += bigint(&mut client, check);
            polls += 1;
        }
        [leads, polls, failed]
    });
    assert_eq!(leads, 0);
    // The check looks at the clock a little earlier than at the last ID.
    assert!(failed * 2 < polls, "{failed} of {polls}");
}

#[test]
fn a_sleeper_shows_its_event_and_loses_its_id_when_it_is_canceled() {
    let cluster = narrow().start();
    let event = if cluster.programs().major() >= 17 { "SnowflakeClock" } else { "Extension" };
    let (mut client, mut watcher) = (cluster.connect(), cluster.connect());
    client.run("SET statement_timeout = '2ms'");
    let mut own = 0;
    let (others, ()) = beside_sessions(&cluster, 16, || {
        eventually("a session sleeps", || {
            let sleep = format!(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event = '{event}' AND query = '{TWENTY}'"
            );
            bigint(&mut watcher, &sleep) > 0
        });
        let mut canceled = 0;
        eventually("five calls are canceled", || {
            match client.query(NEXT, &[]) {
                Ok(_) => own += 1,
                Err(error) => {
                    assert_eq!(*interruption(&error), SqlState::QUERY_CANCELED);
                    canceled += 1;
                }
            }
            canceled >= 5
        });
    });
    let issued = bigint(&mut watcher, "SELECT issued FROM pg_stat_snowflake");
    assert!(issued > others + own, "{issued} were issued, {others} and {own} returned");
    // Nothing is left locked or broken.
    bigint(&mut watcher, NEXT);
}

/// Those who sleep when the clock is set back return within the bound, and others go on.
#[test]
fn a_clock_that_is_set_back_keeps_nobody_asleep() {
    let cluster = narrow().fake_clock().start();
    let work = |_, stop: &AtomicBool| {
        let (mut client, mut ids) = (cluster.connect(), Vec::new());
        client.run("SET statement_timeout = '60s'");
        while !stop.load(SeqCst) {
            ids.push(bigint(&mut client, NEXT));
        }
        ids
    };
    let (taken, ()) = beside(12, work, || {
        let mut watcher = cluster.connect();
        for offset in ["-1h", "-2h", "-3h"] {
            thread::sleep(Duration::from_millis(500));
            cluster.set_clock(offset);
            let issued = "SELECT issued FROM pg_stat_snowflake";
            let before = bigint(&mut watcher, issued);
            eventually("IDs go on", || bigint(&mut watcher, issued) > before + 100);
        }
    });
    for ids in &taken {
        assert_increasing(ids);
    }
    assert_distinct(taken.concat());
    let held = cluster.bigint("SELECT steps_held FROM pg_stat_snowflake");
    assert!(held >= 3, "{held} steps");
}

/// Where single IDs fill every millisecond before it comes, a call for several takes its turn.
#[test]
fn a_call_for_several_ids_is_not_kept_from_them() {
    let cluster = narrow().start();
    let mut client = cluster.connect();
    beside_sessions(&cluster, 32, || {
        let ids = within(patience(), move || bigints(&mut client, "SELECT snowflake_nextval(40)"));
        assert_increasing(&ids.expect("40 IDs"));
    });
}

/// A poller that goes by the horizon does not pass a row whose session sleeps.
#[test]
fn the_horizon_waits_for_the_queue() {
    let cluster = narrow().start();
    create_orders(&cluster);
    let mut poller = cluster.connect();
    let (mut last, mut seen) = (0, Vec::new());
    let mut poll = || {
        let query = format!(
            "SELECT id FROM orders WHERE id > {last} AND id <= snowflake_horizon() ORDER BY id"
        );
        seen.extend(bigints(&mut poller, &query));
        last = seen.last().copied().unwrap_or(0);
    };
    let insert = "INSERT INTO orders DEFAULT VALUES";
    let work = |_| {
        let mut client = cluster.connect();
        client.run("SET synchronous_commit = off");
        (0..300).for_each(|_| client.run(insert));
    };
    meanwhile(12, work, &mut poll);
    poll();
    let all = bigints(&mut cluster.connect(), "SELECT id FROM orders ORDER BY id");
    assert_eq!(all.len(), 12 * 300);
    assert_eq!(seen, all);
}
