//! `snowflake.start_after`: a server that takes over an identity begins above the floor of the one
//! that had it.

use snowflake_e2e::{Cluster, ClusterBuilder, Journal, Run, assert_check, eventually, refusal};
use snowflake_repository::page;

use super::{NEXT, begin, floor, set_clock_back_to, take};

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
    new.run("CREATE EXTENSION snowflake");
    for round in 0..3 {
        take(&journal, &new);
        new.assert_not_logged("was set back");
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

/// As the page says, the name brings the new machine the numbers of the old one, and the floor only
/// if they were released.
#[test]
fn a_machine_that_is_replaced_under_its_name_needs_a_floor() {
    let page = page("docs/operations.md").section("What survives what").text;
    let mut rows =
        page.lines().filter(|row| row.starts_with("[A new data directory, under an old"));
    assert!(rows.next().is_some_and(|row| row.ends_with("| yes | until a floor is set")));
    let registry = Cluster::start();
    let machine = || {
        let claim = "SELECT snowflake_claim_node('db-4')";
        let lines: String = registry.value(claim);
        let settings = lines.lines().filter_map(|line| line.split_once(" = "));
        let set = |builder: ClusterBuilder, (name, value): (&str, &str)| {
            builder.set(name, value.trim_matches('\''))
        };
        settings.fold(Cluster::builder().fake_clock(), set).start()
    };
    let (mut old, journal) = (machine(), Journal::new());
    journal.take_times(&old, NEXT, 1000);
    old.kill();
    let returned = |new: &Cluster| {
        set_clock_back_to(new, &journal);
        journal.returned(&mut new.connect())
    };
    assert!(returned(&machine()) > 0);
    let release = "SELECT snowflake_release_node('db-4', issued_until => now(), fenced => true)";
    registry.run(release);
    assert_eq!(returned(&machine()), 0);
}

/// A server that has issued nothing yet says of itself where it will start, so that its floor can
/// be handed on.
#[test]
fn before_the_first_id_the_floor_is_the_time_that_is_set() {
    let time = "2026-01-01 00:00:00+00";
    // On the standby, a worker would issue none, and let it begin.
    let builder = Cluster::builder().set("max_worker_processes", "0");
    let primary = builder.set("snowflake.start_after", time).start();
    let is_set = format!("SELECT snowflake_floor() = '{time}'");
    assert!(primary.value::<bool>(&is_set));
    let standby = primary.standby();
    primary.run(NEXT);
    // Whoever has set it, as after pg_upgrade, has carried the floor over.
    let log = primary.log();
    let asks = log.contains("set a floor above them");
    assert!(log.contains("created the register of snowflake IDs") && !asks, "{log}");
    let floor = "SELECT coalesce((extract(epoch FROM snowflake_floor()) * 1000)::bigint, 0)";
    let received = primary.bigint(floor);
    eventually("the standby has it", || standby.bigint(floor) == received);
    standby.promote();
    assert_eq!(standby.bigint(floor), received + 5000);
    standby.run(NEXT);
    assert!(standby.bigint(floor) > received + 5000);
}

/// Before the first ID, a floor may be set above it.
#[test]
fn a_time_absurdly_far_ahead_is_refused_and_reported() {
    for has_issued in [false, true] {
        let mut cluster = Cluster::start();
        let mut client = cluster.connect();
        if has_issued {
            client.run(NEXT);
        }
        cluster.restart_with(&[("snowflake.start_after", "2070-01-01 00:00:00+00")]);
        client = cluster.connect();
        if has_issued {
            let set = "SELECT snowflake_set_floor(now() + interval '1 min')";
            client.run(set);
        }
        let error = refusal(client.query(NEXT, &[]));
        assert!(error.message().starts_with("snowflake.start_after is "), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("snowflake.start_after")));
        assert_check(&mut client, "lead", false, "snowflake.start_after is");
    }
}
