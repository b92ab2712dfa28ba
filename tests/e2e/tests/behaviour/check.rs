//! `snowflake_check()` shows before a promotion what would fail after it.

use postgres::Client;
use snowflake_e2e::{
    Cluster, NEXT, Register, Run, assert_check, check, create_orders, error_of, eventually, failing,
};

/// Asserts that the row is not well, that it says so, and that it says what to do.
#[track_caller]
fn assert_not_well(client: &mut Client, name: &str, what: &str, advice: &str) {
    let hint = assert_check(client, name, false, what);
    assert!(hint.contains(advice), "{name}: {hint:?}");
}

const VERDICT: &str = "issues IDs";

/// A primary whose clock is moved. PostgreSQL 15 forks walreceivers in a signal handler, where
/// libfaketime lets them see the true time: so it is the primary's clock that is wrong, and that of
/// the standby that seems to be.
fn primary(clock: &str) -> Cluster {
    let mut primary = Cluster::builder().fake_clock().create();
    primary.set_clock(clock);
    primary.start_again();
    primary.run("CREATE EXTENSION snowflake");
    primary.run(NEXT);
    primary
}

#[test]
fn a_server_that_is_well_says_so() {
    let primary = primary("+0");
    let standby = primary.standby();
    let mut client = primary.connect();
    assert_eq!(
        check(&mut client, VERDICT),
        (true, "This server issues IDs.".into(), String::new())
    );
    eventually("the standby is there", || failing(&mut client).is_empty());
    eventually("the standby has answered", || {
        check(&mut client, "clocks of standbys").1 == "They agree with the clock of this server."
    });
    assert_eq!(
        check(&mut standby.connect(), VERDICT),
        (true, "This standby would issue IDs if it were promoted now.".into(), String::new())
    );
    standby.promote();
    standby.run(NEXT);
}

/// Asserts that the standby would fail for this reason, and that it does.
#[track_caller]
fn assert_shown_before_it_fails(standby: &Cluster, name: &str, what: &str, advice: &str) {
    let mut client = standby.connect();
    assert_not_well(&mut client, name, what, advice);
    let verdict =
        format!("This standby would issue no ID if it were promoted now, because of: {name}.");
    assert_eq!(check(&mut client, VERDICT), (false, verdict, String::new()));
    standby.promote();
    error_of(standby.connect().query(NEXT, &[]));
    assert_not_well(&mut standby.connect(), VERDICT, "This server issues no ID", "");
}

#[test]
fn a_standby_that_would_issue_no_id_shows() {
    let primary = primary("+0");
    let preload = "shared_preload_libraries";
    // The name of a setting is never written in another way.
    let identity = "snowflake.datacenter_id and";
    for (setting, row, what, advice) in [
        ((preload, ""), "preloading", "snowflake_pg must be loaded via", preload),
        (("snowflake.worker_id", "-1"), "identity", identity, "outside the data directory"),
        (("snowflake.sequence_bits", "10"), "layout", "5, 5 and 12 bits", "as they were"),
    ] {
        let standby = primary.standby_with(&[setting]);
        assert_shown_before_it_fails(&standby, row, what, advice);
    }
}

#[test]
fn a_standby_whose_clock_is_two_days_behind_shows() {
    let primary = primary("+2d");
    let standby = primary.standby();
    // The primary sees the clock of the standby in its answers.
    let mut client = primary.connect();
    eventually("the primary sees it", || !check(&mut client, "clocks of standbys").0);
    let advice = "Compare both with a third";
    assert_not_well(&mut client, "clocks of standbys", "which might be behind", advice);
    assert_shown_before_it_fails(&standby, "lead", " behind the last snowflake ID", "set it right");
}

/// The rows about clocks compare all that a server knows of, and blame the one that most differ
/// from.
#[test]
fn the_clock_that_differs_from_most_others_is_blamed() {
    const STANDBYS: &str = "clocks of standbys";
    let primary = primary("-60s");
    let standby = primary.standby();
    let mut client = primary.connect();
    eventually("the primary sees it", || !check(&mut client, STANDBYS).0);
    assert_not_well(&mut client, STANDBYS, " ahead", "Compare both with a third");
    let two = "differs from 1 of 1 others, so nothing says which is wrong";
    assert_not_well(&mut client, STANDBYS, two, "Compare both with a third");
    client.run("CREATE TABLE message ()");
    let mut on_standby = standby.connect();
    eventually("the standby sees it", || !check(&mut on_standby, "clock").0);
    assert_not_well(&mut on_standby, "clock", two, "Compare both with a third");
    assert_not_well(&mut on_standby, "clock", "ahead of that of the server", "before a promotion");
    // It would issue IDs, and log the difference.
    assert_check(&mut on_standby, VERDICT, true, "");

    let _another = primary.standby();
    let outvoted = "differs from 2 of 2 others, which agree with each other, so it is likelier";
    eventually("the primary sees both", || check(&mut client, STANDBYS).1.contains(outvoted));
    assert_not_well(&mut client, STANDBYS, outvoted, "Set the clock of this server right");

    let _cascaded = standby.standby();
    let agrees = "agrees with 1 of 2 others, so those that differ are likelier wrong";
    eventually("the standby has one", || check(&mut on_standby, "clock").1.contains(agrees));
    assert_not_well(&mut on_standby, "clock", "ahead of that", "Set the clocks that differ right");
    assert_check(&mut on_standby, STANDBYS, true, "");
}

#[test]
fn a_damaged_register_shows() {
    let mut primary = primary("+0");
    primary.stop();
    let path = Register::path(&primary);
    std::fs::write(&path, [1; 8192]).expect("root, or the owner");
    primary.start_again();
    let mut client = primary.connect();
    assert_not_well(&mut client, "register", "does not hold a valid record", "snowflake_set_floor");
    let verdict = "This server issues no ID, because of: register.".into();
    assert_eq!(check(&mut client, VERDICT), (false, verdict, String::new()));
}

const ORIGIN: &str = "origin of the identity";

#[test]
fn an_identity_inside_of_the_data_directory_shows() {
    let mut cluster = Cluster::start();
    let mut client = cluster.connect();
    assert_not_well(&mut client, ORIGIN, "/data/postgresql.conf, line ", "outside the data");
    // It is a warning: IDs are issued.
    assert_check(&mut client, VERDICT, true, "");
    client.run("ALTER SYSTEM SET snowflake.worker_id = 3");
    cluster.restart();
    // The other value is in force when somebody resets this one.
    let auto = "/postgresql.auto.conf, line 3";
    for what in ["snowflake.worker_id = 9 in ", "snowflake.worker_id: ", auto] {
        assert_not_well(&mut cluster.connect(), ORIGIN, what, "in one place");
    }
    cluster.stop();
    // The command line goes first, and what the files say is in force without it.
    let arguments = ["-c", "snowflake.worker_id=4", "-c", "snowflake.datacenter_id=5"];
    cluster.start_with(&arguments).expect("a start");
    let mut client = cluster.connect();
    let first = "snowflake.worker_id: command line. These values are not in force: ";
    for what in [first, "snowflake.worker_id = 9 in ", ", 3 in ", auto] {
        assert_not_well(&mut client, ORIGIN, what, "in one place");
    }
    let (_, detail, _) = check(&mut client, ORIGIN);
    assert!(!detail.contains("snowflake.datacenter_id ="), "{detail}");
    assert_eq!(check(&mut client, "identity").1, "Datacenter 5, worker 4.");
}

/// A file that is outside the data directory is in no copy of it.
#[test]
fn an_identity_outside_of_the_data_directory_is_well() {
    let builder = Cluster::builder();
    let mut cluster = builder.without_identity().create();
    cluster.set_identity_outside(4);
    cluster.start_again();
    cluster.run("CREATE EXTENSION snowflake");
    assert_check(&mut cluster.connect(), ORIGIN, true, "/identity.conf, line 2.");
    cluster.stop();
    let arguments = ["-c", "snowflake.worker_id=4", "-c", "snowflake.datacenter_id=5"];
    cluster.start_with(&arguments).expect("a start");
    assert_check(&mut cluster.connect(), ORIGIN, true, "snowflake.worker_id: command line");
}

#[test]
fn an_error_in_one_row_hides_no_other() {
    let primary = primary("+0");
    let standby = primary.standby();
    primary.run("CREATE ROLE ordinary LOGIN; REVOKE SELECT ON pg_trigger FROM PUBLIC");
    let role = "SELECT count(*) FROM pg_roles WHERE rolname = 'ordinary'";
    eventually("the role is there", || standby.bigint(role) == 1);
    for server in [&primary, &standby] {
        let mut ordinary = server.connect_as("ordinary", "postgres");
        let expected = "Not checked, because of an error: permission denied for table pg_trigger.";
        assert_eq!(check(&mut ordinary, "twins"), (false, expected.into(), String::new()));
        assert_check(&mut ordinary, VERDICT, true, "");
        // The transaction goes on.
        let mut transaction = ordinary.transaction().expect("a transaction");
        for _ in 0..3 {
            let rows = transaction.query("SELECT FROM snowflake_check()", &[]);
            assert_eq!(rows.expect("a check").len(), 22);
        }
    }
}

/// As after pg_upgrade: rows are there, and the register is not.
#[test]
fn keys_without_a_register_show() {
    let mut cluster = Cluster::start();
    create_orders(&cluster);
    let mut client = cluster.connect();
    // A new server has tables without rows.
    assert_eq!(check(&mut client, "register").1, "There is none. The first ID creates it.");
    assert_check(&mut client, "register", true, "");
    client.run("INSERT INTO orders DEFAULT VALUES");
    cluster.stop();
    std::fs::remove_file(Register::path(&cluster)).expect("the register");
    cluster.start_again();
    let mut client = cluster.connect();
    let table = "But the table public.orders, whose";
    assert_not_well(&mut client, "register", table, "set_floor('...')");
    assert_check(&mut client, VERDICT, true, "");
    cluster.restart_with(&[("snowflake.start_after", "2026-01-01 00:00:00+00")]);
    let (ok, detail, _) = check(&mut cluster.connect(), "register");
    assert!(ok && detail.ends_with("and is after 2026-01-01 00:00:00+00."), "{detail}");
}

/// Each promotion adds its margin and what an observation may, although nobody has set a clock
/// back.
#[test]
fn the_lead_of_promotions_shows() {
    let server = Cluster::builder().set("snowflake.failover_margin", "5min");
    let first = server.set("snowflake.max_observed_lead", "5min").start();
    first.run(NEXT);
    let second = first.standby();
    second.promote();
    second.run(NEXT);
    // One promotion explains it.
    assert_check(&mut second.connect(), "lead", true, "");
    let third = second.standby();
    third.promote();
    third.run(NEXT);
    let mut client = third.connect();
    assert_not_well(&mut client, "lead", "ahead of the clock", "several promotions");
    assert_check(&mut client, VERDICT, true, "");
}

/// The lead that is refused has a margin in it, in which no ID was issued.
#[test]
fn a_refusal_does_not_say_that_the_margin_was_issued() {
    let primary =
        Cluster::builder().set("snowflake.max_backward_step", "1min").fake_clock().start();
    primary.run(NEXT);
    let standby = primary.standby();
    standby.set_clock("-1h");
    standby.promote();
    let error = error_of(standby.connect().query(NEXT, &[]));
    let detail = error.detail().expect("a detail");
    assert!(detail.starts_with("The next ID is not before 20"), "{detail}");
}
