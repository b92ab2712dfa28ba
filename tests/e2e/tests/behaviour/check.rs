//! `snowflake_check()` shows before a promotion what would fail after it.

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of, eventually};

/// What a row says: whether it is well, the detail and the hint.
fn row(client: &mut Client, name: &str) -> (bool, String, Option<String>) {
    let row = client
        .query_one("SELECT ok, detail, hint FROM snowflake_check() WHERE name = $1", &[&name])
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    (row.get(0), row.get(1), row.get(2))
}

#[track_caller]
fn assert_well(client: &mut Client, name: &str) {
    let (ok, detail, hint) = row(client, name);
    assert!(ok, "{name}: {detail} {hint:?}");
}

/// Asserts that the row is not well, that it says so, and that it says what to do.
#[track_caller]
fn assert_not_well(client: &mut Client, name: &str, what: &str, advice: &str) {
    let (ok, detail, hint) = row(client, name);
    assert!(!ok && detail.contains(what), "{name}: {detail}");
    assert!(hint.as_ref().is_some_and(|hint| hint.contains(advice)), "{name}: {hint:?}");
}

const VERDICT: &str = "issues IDs";

/// The names of the rows that the verdict gives as the reason.
#[track_caller]
fn assert_verdict(client: &mut Client, verdict: &str) {
    let (ok, detail, _) = row(client, VERDICT);
    assert_eq!((ok, &*detail), (false, verdict));
}

fn primary() -> Cluster {
    primary_at("+0")
}

/// A primary whose clock is moved. PostgreSQL 15 forks walreceivers in a signal handler, where
/// libfaketime lets them see the true time: so it is the primary's clock that is wrong, and that of
/// the standby that seems to be.
fn primary_at(clock: &str) -> Cluster {
    let mut primary = Cluster::builder().fake_clock().create();
    primary.set_clock(clock);
    primary.start_again();
    primary.connect().batch_execute("CREATE EXTENSION snowflake").expect("created");
    primary.connect().batch_execute("SELECT snowflake_nextval()").expect("an ID");
    primary
}

/// A standby with another configuration.
fn standby(primary: &Cluster, settings: &[(&str, &str)]) -> Cluster {
    let mut standby = primary.base_backup(&["--write-recovery-conf"]);
    standby.configure(settings);
    standby.start_again();
    standby
}

/// Promotes the standby, where no ID can be taken, as the check has said.
#[track_caller]
fn assert_fails_after_promotion(standby: &Cluster) {
    standby.promote();
    error_of(standby.connect().query("SELECT snowflake_nextval()", &[]));
    let (ok, detail, _) = row(&mut standby.connect(), VERDICT);
    assert!(!ok && detail.starts_with("This server issues no ID"), "{detail}");
}

#[test]
fn a_server_that_is_well_says_so() {
    let primary = primary();
    let standby = standby(&primary, &[]);
    let mut client = primary.connect();
    assert_eq!(row(&mut client, VERDICT), (true, "This server issues IDs.".into(), None));
    for name in [
        "preloading",
        "identity",
        "register",
        "layout",
        "layout of the database",
        "guards",
        "lead",
        "clock",
        "synchronous standbys",
        "timestamp field",
    ] {
        assert_well(&mut client, name);
    }
    eventually("the standby has answered", || {
        row(&mut client, "clocks of standbys").1 == "They agree with the clock of this server."
    });
    let expected = (true, "This standby would issue IDs if it were promoted now.".into(), None);
    assert_eq!(row(&mut standby.connect(), VERDICT), expected);
    standby.promote();
    standby.connect().batch_execute("SELECT snowflake_nextval()").expect("an ID");
}

/// Asserts that the standby would fail for this reason, and that it does.
#[track_caller]
fn assert_shown_before_it_fails(standby: &Cluster, name: &str, what: &str, advice: &str) {
    let mut client = standby.connect();
    assert_not_well(&mut client, name, what, advice);
    let verdict =
        format!("This standby would issue no ID if it were promoted now, because of: {name}.");
    assert_verdict(&mut client, &verdict);
    assert_fails_after_promotion(standby);
}

#[test]
fn a_standby_without_the_library_shows() {
    let primary = primary();
    let standby = standby(&primary, &[("shared_preload_libraries", "")]);
    let (what, advice) = ("snowflake_pg must be loaded via", "shared_preload_libraries");
    assert_shown_before_it_fails(&standby, "preloading", what, advice);
}

#[test]
fn a_standby_without_a_worker_id_shows() {
    let primary = primary();
    let standby = standby(&primary, &[("snowflake.worker_id", "-1")]);
    // The name of a setting is never written in another way.
    let (what, advice) = ("snowflake.datacenter_id and", "outside the data directory");
    assert_shown_before_it_fails(&standby, "identity", what, advice);
}

#[test]
fn a_standby_with_other_widths_shows() {
    let primary = primary();
    let standby = standby(&primary, &[("snowflake.sequence_bits", "10")]);
    let (what, advice) = ("5, 5 and 12 bits", "as they were");
    assert_shown_before_it_fails(&standby, "layout", what, advice);
}

#[test]
fn a_standby_whose_clock_is_two_days_behind_shows() {
    let primary = primary_at("+2d");
    let standby = standby(&primary, &[]);
    // The primary sees the clock of the standby in its answers.
    let mut client = primary.connect();
    eventually("the primary sees it", || !row(&mut client, "clocks of standbys").0);
    assert_not_well(&mut client, "clocks of standbys", "which might be behind", "Set the clocks");
    assert_shown_before_it_fails(&standby, "lead", "The clock is 17", "set it right");
}

#[test]
fn a_standby_whose_clock_is_ahead_shows_on_both_sides() {
    let primary = primary_at("-60s");
    let standby = standby(&primary, &[]);
    let mut client = primary.connect();
    eventually("the primary sees it", || !row(&mut client, "clocks of standbys").0);
    assert_not_well(&mut client, "clocks of standbys", "ms ahead", "Set the clocks right");
    client.batch_execute("CREATE TABLE message ()").expect("something to send");
    let mut client = standby.connect();
    eventually("the standby sees it", || !row(&mut client, "clock").0);
    assert_not_well(&mut client, "clock", "ms ahead of that of the server", "before this server");
    // It would issue IDs, and log the difference.
    assert_well(&mut client, VERDICT);
}

#[test]
fn a_damaged_register_shows() {
    let mut primary = primary();
    primary.stop();
    let path = snowflake_e2e::Register::path(&primary);
    std::fs::write(&path, [1; 8192]).expect("root, or the owner");
    primary.start_again();
    let mut client = primary.connect();
    assert_not_well(&mut client, "register", "does not hold a valid record", "snowflake_set_floor");
    assert_verdict(&mut client, "This server issues no ID, because of: register.");
}

#[test]
fn an_identity_inside_of_the_data_directory_shows() {
    let mut cluster = Cluster::start();
    let origin = "origin of the identity";
    let mut client = cluster.connect();
    assert_not_well(&mut client, origin, "/data/postgresql.conf, line ", "outside the data");
    // It is a warning: IDs are issued.
    assert_well(&mut client, VERDICT);
    client.batch_execute("ALTER SYSTEM SET snowflake.worker_id = 3").expect("valid");
    drop(client);
    cluster.stop();
    cluster.start_again();
    // The other value is in force when somebody resets this one.
    let mut client = cluster.connect();
    let file = "snowflake.worker_id = 9 in ";
    assert_not_well(&mut client, origin, file, "in one place");
    let (_, detail, _) = row(&mut client, origin);
    assert!(
        detail.contains("snowflake.worker_id: ")
            && detail.contains("/postgresql.auto.conf, line 3"),
        "{detail}"
    );
    drop(client);
    cluster.stop();
    // The command line goes first, and what the files say is in force without it.
    let arguments = ["-c", "snowflake.worker_id=4", "-c", "snowflake.datacenter_id=5"];
    cluster.start_with(&arguments).expect("a start");
    let mut client = cluster.connect();
    assert_not_well(
        &mut client,
        origin,
        "snowflake.worker_id: command line. These values are not in force: ",
        "in one place",
    );
    let (_, detail, _) = row(&mut client, origin);
    assert!(detail.contains("snowflake.worker_id = 9 in "), "{detail}");
    assert!(
        detail.contains(", 3 in ") && detail.contains("/postgresql.auto.conf, line 3."),
        "{detail}"
    );
    assert!(!detail.contains("snowflake.datacenter_id ="), "{detail}");
    assert_eq!(row(&mut client, "identity").1, "Datacenter 5, worker 4.");
}

/// A file that is outside the data directory is in no copy of it.
#[test]
fn an_identity_outside_of_the_data_directory_is_well() {
    let builder = Cluster::builder();
    let mut cluster =
        builder.unset("snowflake.datacenter_id").unset("snowflake.worker_id").create();
    let file = cluster.directory().join("identity.conf");
    let identity = "snowflake.datacenter_id = 4\nsnowflake.worker_id = 4\n";
    std::fs::write(&file, identity).expect("a directory to write to");
    let include = format!("include '{}'\n", file.display());
    let configuration = cluster.data().join("postgresql.conf");
    let text = std::fs::read_to_string(&configuration).expect("postgresql.conf");
    std::fs::write(&configuration, text + &include).expect("postgresql.conf is writable");
    cluster.start_again();
    let mut client = cluster.connect();
    client.batch_execute("CREATE EXTENSION snowflake").expect("the extension");
    let origin = "origin of the identity";
    assert_well(&mut client, origin);
    assert!(row(&mut client, origin).1.contains("/identity.conf, line 2."));
    drop(client);
    cluster.stop();
    let arguments = ["-c", "snowflake.worker_id=4", "-c", "snowflake.datacenter_id=4"];
    cluster.start_with(&arguments).expect("a start");
    let mut client = cluster.connect();
    assert_well(&mut client, origin);
    assert!(row(&mut client, origin).1.contains("snowflake.worker_id: command line"));
}

/// A role that may not look at files and at other sessions sees less, but gets no error.
#[test]
fn any_role_may_check() {
    let cluster = Cluster::start();
    cluster.connect().batch_execute("CREATE ROLE ordinary LOGIN").expect("a role");
    let ordinary = cluster.config().user("ordinary").connect(postgres::NoTls);
    let mut ordinary = ordinary.expect("a session");
    assert_eq!(bigint(&mut ordinary, "SELECT count(*) FROM snowflake_check()"), 20);
    let (_, detail, _) = row(&mut ordinary, "origin of the identity");
    assert!(!detail.contains("postgresql.conf"), "{detail}");
}

/// A role that may read every table, but not call what the views call.
#[test]
fn a_role_that_reads_all_data_may_check() {
    let cluster = Cluster::start();
    cluster
        .connect()
        .batch_execute("CREATE ROLE reader LOGIN; GRANT pg_read_all_data TO reader")
        .expect("a role");
    let reader = cluster.config().user("reader").connect(postgres::NoTls);
    assert_well(&mut reader.expect("a session"), VERDICT);
}

/// Some servers let only a few roles see these views.
#[test]
fn without_privileges_on_the_catalog_the_rest_is_checked() {
    let cluster = Cluster::start();
    cluster
        .connect()
        .batch_execute(
            "CREATE ROLE ordinary LOGIN;
             REVOKE SELECT ON pg_settings, pg_stat_replication FROM PUBLIC;
             REVOKE SELECT (subenabled) ON pg_subscription FROM PUBLIC",
        )
        .expect("a role");
    let ordinary = cluster.config().user("ordinary").connect(postgres::NoTls);
    let mut ordinary = ordinary.expect("a session");
    assert_eq!(row(&mut ordinary, VERDICT).1, "This server issues IDs.");
    for name in ["origin of the identity", "clocks of standbys", "subscriptions"] {
        let (ok, detail, _) = row(&mut ordinary, name);
        // And not because of an error.
        assert!(ok && detail.starts_with("Not checked: this role may not read"), "{detail}");
    }
}

/// Without a synchronous standby's answer, commits wait.
#[test]
fn a_synchronous_standby_that_is_away_shows() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute("SET synchronous_commit = local; SELECT snowflake_nextval()")
        .expect("set");
    cluster.configure(&[("synchronous_standby_names", "away")]);
    cluster.reload();
    client.batch_execute("SELECT snowflake_set_floor(now() + interval '1 min')").expect("a floor");
    eventually("it has reloaded", || {
        client.batch_execute("SELECT snowflake_nextval()").expect("an ID");
        !row(&mut client, "synchronous standbys").0
    });
    assert_not_well(&mut client, "synchronous standbys", "none is", "pg_stat_replication");
}

#[test]
fn an_error_in_one_row_hides_no_other() {
    let primary = primary();
    let standby = standby(&primary, &[]);
    let revoked = "CREATE ROLE ordinary LOGIN; REVOKE SELECT ON pg_trigger FROM PUBLIC";
    primary.connect().batch_execute(revoked).expect("a role");
    let role = "SELECT FROM pg_roles WHERE rolname = 'ordinary'";
    eventually("the role is on the standby", || {
        standby.connect().query_opt(role, &[]).expect("the catalog").is_some()
    });
    for server in [&primary, &standby] {
        let ordinary = server.config().user("ordinary").connect(postgres::NoTls);
        let mut ordinary = ordinary.expect("a session");
        let expected = "Not checked, because of an error: permission denied for table pg_trigger.";
        assert_eq!(row(&mut ordinary, "twins"), (false, expected.into(), None));
        assert_well(&mut ordinary, VERDICT);
        // The transaction goes on.
        let mut transaction = ordinary.transaction().expect("a transaction");
        for _ in 0..3 {
            let rows = transaction.query("SELECT FROM snowflake_check()", &[]);
            assert_eq!(rows.expect("a check").len(), 20);
        }
        transaction.commit().expect("committed");
    }
}

/// Whoever cancels the query, or limits its time, wants it to end.
#[test]
fn a_check_that_waits_can_be_canceled() {
    let cluster = Cluster::start();
    let (mut holder, mut client) = (cluster.connect(), cluster.connect());
    let lock = "BEGIN; LOCK TABLE snowflake_internal.snowflake_layout";
    holder.batch_execute(lock).expect("a lock");
    client.batch_execute("SET statement_timeout = '1s'").expect("set");
    let error = error_of(client.query("SELECT FROM snowflake_check()", &[]));
    assert_eq!(error.code(), &SqlState::QUERY_CANCELED, "{error}");
    // An error that ends the wait for the lock alone is one of that row.
    client.batch_execute("SET lock_timeout = '100ms'").expect("set");
    let (ok, detail, _) = row(&mut client, "layout of the database");
    assert!(!ok && detail.contains("lock timeout"), "{detail}");
    assert_well(&mut client, VERDICT);
}

#[test]
fn a_floor_at_the_end_of_the_timestamp_field_shows() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    let floor = "SELECT snowflake_set_floor(ends, force => true) FROM snowflake_status";
    client.batch_execute(floor).expect("a floor");
    let error = error_of(client.query("SELECT snowflake_nextval()", &[]));
    assert_eq!(error.code(), &SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED, "{error}");
    assert_not_well(&mut client, "timestamp field", "is used up", "new IDs");
    assert_verdict(&mut client, "This server issues no ID, because of: timestamp field.");
}

/// As after pg_upgrade: rows are there, and the register is not.
#[test]
fn keys_without_a_register_show() {
    let mut cluster = Cluster::start();
    let mut client = cluster.connect();
    let key = "id bigint PRIMARY KEY DEFAULT snowflake_nextval()";
    client.batch_execute(&format!("CREATE TABLE orders ({key})")).expect("a table");
    // A new server has tables without rows.
    assert_eq!(row(&mut client, "register").1, "There is none. The first ID creates it.");
    assert_well(&mut client, "register");
    client.batch_execute("INSERT INTO orders DEFAULT VALUES").expect("a row");
    drop(client);
    cluster.stop();
    std::fs::remove_file(snowflake_e2e::Register::path(&cluster)).expect("the register");
    cluster.start_again();
    let mut client = cluster.connect();
    assert_not_well(
        &mut client,
        "register",
        "But the table public.orders, whose",
        "set_floor('...')",
    );
    assert_well(&mut client, VERDICT);
    drop(client);
    cluster.stop();
    cluster.configure(&[("snowflake.start_after", "2026-01-01 00:00:00+00")]);
    cluster.start_again();
    let (ok, detail, _) = row(&mut cluster.connect(), "register");
    assert!(ok && detail.ends_with("and is after 2026-01-01 00:00:00+00."), "{detail}");
}

/// Each promotion adds its margin, although nobody has set a clock back.
#[test]
fn the_lead_of_promotions_shows() {
    let first = Cluster::builder().set("snowflake.failover_margin", "5min").start();
    first.connect().batch_execute("SELECT snowflake_nextval()").expect("an ID");
    let second = first.standby();
    second.promote();
    second.connect().batch_execute("SELECT snowflake_nextval()").expect("an ID");
    // One promotion explains it.
    assert_well(&mut second.connect(), "lead");
    let third = second.standby();
    third.promote();
    third.connect().batch_execute("SELECT snowflake_nextval()").expect("an ID");
    let mut client = third.connect();
    assert_not_well(&mut client, "lead", "ms ahead of the clock", "several promotions");
    assert_well(&mut client, VERDICT);
}

/// The lead that is refused has a margin in it, in which no ID was issued.
#[test]
fn a_refusal_does_not_say_that_the_margin_was_issued() {
    let primary =
        Cluster::builder().set("snowflake.max_backward_step", "1min").fake_clock().start();
    primary.connect().batch_execute("SELECT snowflake_nextval()").expect("an ID");
    let standby = primary.standby();
    standby.set_clock("-1h");
    standby.promote();
    let error = error_of(standby.connect().query("SELECT snowflake_nextval()", &[]));
    let detail = error.detail().expect("a detail");
    assert!(detail.starts_with("The next ID is not before 20"), "{detail}");
}

#[test]
fn an_id_of_a_twin_and_a_trigger_that_is_idle_show() {
    let cluster = Cluster::builder().set("snowflake.max_observed_lead", "1min").start();
    let mut client = cluster.connect();
    assert_well(&mut client, "twins");
    client
        .batch_execute(
            "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval());
             CREATE TRIGGER watch_twins AFTER INSERT ON orders
                 FOR EACH ROW EXECUTE FUNCTION snowflake_watch_twins('id')",
        )
        .expect("a trigger");
    assert_not_well(&mut client, "twins", "orders", "ENABLE REPLICA TRIGGER");
    client.batch_execute("ALTER TABLE orders ENABLE REPLICA TRIGGER watch_twins").expect("enabled");
    assert_well(&mut client, "twins");

    let twins = "SELECT snowflake_nextval();
                 SELECT snowflake_observe(snowflake_make(now() + interval '5 s', 5, 9, 0))";
    client.batch_execute(twins).expect("an ID that this server has not issued");
    assert_not_well(&mut client, "twins", "reset is 1.", "another identity");
    client.batch_execute("SELECT snowflake_stat_reset()").expect("reset");
    assert_well(&mut client, "twins");
}
