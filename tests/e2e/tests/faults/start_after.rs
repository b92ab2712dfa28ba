//! `snowflake.start_after`: a server that takes over an identity begins above the floor of the one
//! that had it.

use snowflake_e2e::{Cluster, bigint, check, error_of, eventually, value};

use super::{NEXT, begin, floor, refusal, take};

const FAR_AHEAD: &str = "2126-01-01 00:00:00+00";

/// The new server's clock is an hour behind. Clients may come as soon as it is up: there is no
/// moment in which it issues old IDs.
#[test]
fn an_identity_that_is_handed_over_issues_nothing_again() {
    let (mut old, journal) = begin();
    let floor = floor(&old);
    old.stop();
    let mut new = Cluster::builder().fake_clock().set("snowflake.start_after", &floor).create();
    new.set_clock("-1h");
    new.start_again();
    new.connect().batch_execute("CREATE EXTENSION snowflake").expect("created");
    for round in 0..3 {
        take(&journal, &new);
        assert!(!new.log().contains("was set back"), "{}", new.log());
        // It stays in the configuration, and is passed by.
        if round == 0 {
            new.kill();
        } else {
            new.stop();
        }
        new.start_again();
    }
    journal.check();
}

/// Before the first ID, a floor may be set above it.
#[test]
fn a_floor_may_be_set_before_the_first_id() {
    let (mut cluster, _) = begin();
    cluster.restart_with(&[("snowflake.start_after", FAR_AHEAD)]);
    let mut client = cluster.connect();
    client.batch_execute("SELECT snowflake_set_floor(now() + interval '1 min')").expect("a floor");
    error_of(client.query(NEXT, &[]));
}

/// A server that has issued nothing yet says of itself where it will start, so that its floor can
/// be handed on.
#[test]
fn before_the_first_id_the_floor_is_the_time_that_is_set() {
    let time = "2026-01-01 00:00:00+00";
    let primary = Cluster::builder().set("snowflake.start_after", time).start();
    let is_set = format!("SELECT snowflake_floor() = '{time}'");
    assert!(value::<bool>(&mut primary.connect(), &is_set));
    let standby = primary.standby();
    primary.connect().batch_execute(NEXT).expect("an ID");
    let floor = "SELECT coalesce((extract(epoch FROM snowflake_floor()) * 1000)::bigint, 0)";
    let received = bigint(&mut primary.connect(), floor);
    eventually("the standby has it", || bigint(&mut standby.connect(), floor) == received);
    standby.promote();
    assert_eq!(bigint(&mut standby.connect(), floor), received + 5000);
    standby.connect().batch_execute(NEXT).expect("an ID");
    assert!(bigint(&mut standby.connect(), floor) > received + 5000);
}

#[test]
fn a_time_absurdly_far_ahead_is_refused_and_reported() {
    let cluster = Cluster::builder().set("snowflake.start_after", FAR_AHEAD).start();
    let mut client = cluster.connect();
    let error = refusal(client.query(NEXT, &[]));
    assert!(error.message().starts_with("snowflake.start_after is "), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("snowflake.start_after")));
    let (ok, detail, _) = check(&mut client, "lead");
    assert!(!ok && detail.contains("snowflake.start_after is"), "{detail}");
}
