//! A member leads again, under the number that it had in its first term, of which it has lost IDs.

use std::thread;
use std::time::Duration;

use snowflake_e2e::{Cluster, Journal, Members, assert_check, bigint, eventually, refusal, value};

use super::{NEXT, confirm};

const MANY: &str = "SELECT snowflake_nextval(1000)";

/// No standby gets the last of the IDs before this time has passed.
const LAG: Duration = Duration::from_secs(3);

/// The first member issues IDs until it dies, and nobody gets the last of them.
fn lose_ids(members: &mut Members, journal: &Journal) {
    journal.under_load(&members.leader().config(), 3, MANY, || {
        journal.wait_for(50_000);
        members.cut();
        thread::sleep(LAG);
        journal.wait_for(10_000);
    });
    let leader = members.leader;
    members.members[leader].kill();
}

fn floor_is_above(cluster: &Cluster, time: &str) -> bool {
    cluster.value(&format!("SELECT snowflake_floor() > '{time}'"))
}

/// Others get a floor above the clock of the new primary, which has issued nothing.
#[test]
fn a_promotion_puts_the_floor_above_its_clock_without_an_id() {
    let mut members = Members::start("0");
    members.leader().run(NEXT);
    members.wait_for_standbys();
    // After the idle time, the floor that the others have is in the past.
    thread::sleep(LAG);
    members.members[0].kill();
    members.promote(1);
    let mut client = members.leader().connect();
    let clock: String = value(&mut client, "SELECT clock_timestamp()::text");
    members.follow_leader(2);
    eventually("the floor comes", || floor_is_above(&members.members[2], &clock));
    assert_eq!(bigint(&mut client, "SELECT issued FROM pg_stat_snowflake"), 0);
    assert_eq!(bigint(&mut client, "SELECT reservations FROM pg_stat_snowflake"), 1);
    let line = "LOG:  snowflake IDs continue after a change: timeline 1 to 2, worker 1 to 2";
    members.leader().assert_logged(line);
    // A start on the same timeline needs none.
    members.members[1].restart();
    let mut client = members.leader().connect();
    thread::sleep(Duration::from_secs(1));
    assert_eq!(bigint(&mut client, "SELECT reservations FROM pg_stat_snowflake"), 0);
}

/// A clock that is refused to IDs is refused to this reservation, too, which counts no call that
/// has failed, and is tried again.
#[test]
fn a_promotion_reserves_when_its_clock_is_accepted() {
    let mut members = Members::start("0");
    members.leader().run(NEXT);
    members.members[1].set_clock("+40d");
    let mut standby = members.members[1].connect();
    eventually("a message has come", || {
        let query = "SELECT detail FROM snowflake_check() WHERE name = 'clock'";
        value::<String>(&mut standby, query).contains("ahead of")
    });
    members.members[0].kill();
    members.promote(1);
    let mut client = members.leader().connect();
    let clock: String = value(&mut client, "SELECT clock_timestamp()::text");
    thread::sleep(LAG);
    assert!(!floor_is_above(members.leader(), &clock));
    assert_eq!(bigint(&mut client, "SELECT steps_refused FROM pg_stat_snowflake"), 0);
    refusal(client.query(NEXT, &[]));
    assert_eq!(bigint(&mut client, "SELECT steps_refused FROM pg_stat_snowflake"), 1);
    assert!(confirm(members.leader(), "clock"));
    eventually("it reserves", || floor_is_above(members.leader(), &clock));
    assert_eq!(bigint(&mut client, "SELECT issued FROM pg_stat_snowflake"), 0);
}

/// Nobody has taken an ID of the primary in between, and there is no margin. Its clock was right,
/// so that of the member that leads again may be behind.
#[test]
fn lost_ids_do_not_return_where_the_primary_in_between_has_a_later_clock() {
    let (mut members, journal) = (Members::start("0"), Journal::new());
    lose_ids(&mut members, &journal);
    members.promote(1);
    members.members[0].set_clock("-20s");
    members.follow_leader(0);
    members.follow_leader(2);
    members.wait_for_standbys();
    eventually("the row tells of it", || {
        let query = "SELECT NOT ok FROM snowflake_check() WHERE name = 'clock'";
        members.members[0].value(query)
    });
    assert_check(&mut members.members[0].connect(), "clock", false, "behind that of the server");
    members.members[1].kill();
    members.promote(0);
    let mut client = members.leader().connect();
    assert_eq!(bigint(&mut client, "SELECT worker_id::bigint FROM snowflake_status"), 1);
    for _ in 0..100 {
        journal.take(&mut client, MANY).expect("IDs");
    }
    println!("{} IDs", journal.check());
}

/// The first member has lost IDs and leads again. The clock of the primary in between is behind,
/// and its own is by `offset`.
fn lead_again(offset: &str) -> (Members, Journal) {
    let (mut members, journal) = (Members::start("0"), Journal::new());
    lose_ids(&mut members, &journal);
    members.members[0].set_clock(offset);
    members.members[1].set_clock("-20s");
    members.promote(1);
    members.follow_leader(0);
    members.follow_leader(2);
    members.wait_for_standbys();
    members.members[1].kill();
    members.promote(0);
    (members, journal)
}

/// The own clock is right, and that of the primary in between is behind.
#[test]
fn lost_ids_do_not_return_where_the_own_clock_is_past_them() {
    let (members, journal) = lead_again("+0");
    let mut client = members.leader().connect();
    for _ in 0..100 {
        journal.take(&mut client, MANY).expect("IDs");
    }
    println!("{} IDs", journal.check());
}

/// Both are behind: this is what the page excludes.
#[test]
fn lost_ids_return_where_both_clocks_are_behind_them() {
    let (members, journal) = lead_again("-20s");
    let returned = journal.returned(&mut members.leader().connect());
    println!("{returned} of {} IDs came again", journal.count());
    assert!(returned > 0);
}
