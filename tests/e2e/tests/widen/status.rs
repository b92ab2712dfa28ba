//! How far it is, and how it ends.

use snowflake_e2e::{Cluster, bigint, eventually, output};

use super::program::{Running, run, succeed, widen};
use super::shops::{owner, with_orders};

#[test]
fn the_status_shows_what_runs_and_what_stopped() {
    let cluster = with_orders(Cluster::builder(), 1000);
    let mut client = owner(&cluster, "postgres");
    let none = "no table of this database is being widened\n";
    assert_eq!(succeed(&cluster, &["status"]), none);
    assert!(succeed(&cluster, &["status", "orders"]).contains("next       shadow columns"));
    client.batch_execute("BEGIN; SELECT count(*) FROM orders").expect("a reader");
    let reader = bigint(&mut client, "SELECT pg_backend_pid()::bigint");
    let mut running = Running::start(widen(&cluster, &["prepare", "orders"]));
    let line = running.wait_for(&format!("session {reader} (app, idle in transaction"));
    assert!(line.contains("was in vain: "), "{line}");
    let reader = format!("session {reader} (app, idle in transaction");
    eventually("the status shows who is in the way", || {
        succeed(&cluster, &["status"]).contains(&reader)
    });
    let status = succeed(&cluster, &["status"]);
    assert!(status.starts_with("app.orders\n    session    "), "{status}");
    assert!(status.contains("\n    phase      prepare, shadow columns\n"), "{status}");
    // To another role, the server does not show everything.
    cluster.connect().batch_execute("CREATE ROLE other LOGIN").expect("a role");
    let mut other = widen(&cluster, &["status"]);
    let said = output(other.env("PGUSER", "other"));
    assert!(said.contains("waits for  not shown to this role"), "{said}");
    running.signal("TERM");
    let said = running.end();
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.errors.contains("Called again with the same options, it goes on."), "{said:?}");
    client.batch_execute("COMMIT").expect("the reader ends");

    succeed(&cluster, &["prepare", "orders"]);
    let status = succeed(&cluster, &["status"]);
    assert_eq!(status, "app.orders\n    session    none: no program runs\n    next       ready\n");
    // A table in a publication has to be named with it, each time.
    cluster.connect().batch_execute("CREATE PUBLICATION cdc FOR TABLE app.orders").expect("made");
    let refused = succeed(&cluster, &["status"]);
    assert!(refused.contains("next       table app.orders is in publication cdc\n    hint       "));
    assert_eq!(succeed(&cluster, &["status", "--publication", "cdc"]), status);
    cluster.connect().batch_execute("DROP PUBLICATION cdc").expect("dropped");
    succeed(&cluster, &["swap", "orders"]);
    assert_eq!(succeed(&cluster, &["status"]), none);
}

#[test]
fn a_backfill_shows_its_rate() {
    let cluster = with_orders(Cluster::builder(), 120_000);
    let mut admin = cluster.connect();
    // Each row takes its time.
    admin
        .batch_execute(
            "CREATE FUNCTION app.slow() RETURNS trigger LANGUAGE plpgsql
                 AS 'BEGIN PERFORM pg_sleep(0.00005); RETURN NEW; END';
             ALTER FUNCTION app.slow OWNER TO app",
        )
        .expect("a function");
    let mut client = owner(&cluster, "postgres");
    client
        .batch_execute(
            "CREATE TRIGGER slow BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION app.slow()",
        )
        .expect("a trigger");
    let words = ["prepare", "orders", "--harmless-trigger", "orders.slow"];
    let mut running = Running::start(widen(&cluster, &words));
    let line = running.wait_for("a second, ");
    assert!(line.contains(" blocks (") && line.ends_with(" left"), "{line}");
    // The session says so every few seconds.
    eventually("the status has everything", || {
        let status = succeed(&cluster, &["status"]);
        let parts =
            ["phase      prepare, backfill", "blocks\n", "rows       about", "rate", "time left"];
        parts.iter().all(|part| status.contains(part))
    });
    // The first signal ends it after the statement, the second one at once.
    running.signal("INT");
    running.signal("INT");
    let said = running.end();
    assert_eq!(said.code, Some(130), "{said:?}");
    client.batch_execute("DROP TRIGGER slow ON orders").expect("dropped");
    let said = succeed(&cluster, &["prepare", "orders"]);
    assert!(said.contains("ready to swap ("), "{said}");
}

#[test]
fn a_second_program_waits_for_the_first() {
    let cluster = with_orders(Cluster::builder(), 1000);
    let mut client = owner(&cluster, "postgres");
    client.batch_execute("BEGIN; SELECT count(*) FROM orders").expect("a reader");
    let mut first = Running::start(widen(&cluster, &["prepare", "orders"]));
    first.wait_for("attempt 1 was in vain");
    let mut second = Running::start(widen(&cluster, &["prepare", "orders"]));
    second.wait_for("in which the same program works on the table");
    client.batch_execute("COMMIT").expect("the reader ends");
    for program in [first, second] {
        let said = program.end();
        assert_eq!(said.code, Some(0), "{said:?}");
    }
}

/// As psql prints errors, on the other stream, and with a status.
#[test]
fn errors_are_printed_as_psql_does() {
    let cluster = with_orders(Cluster::builder(), 10);
    let said = run(&cluster, &["prepare", "nothing"]);
    assert_eq!(said.code, Some(1));
    assert_eq!(said.errors, "ERROR:  relation \"nothing\" does not exist\n");
    let mut superuser = widen(&cluster, &["prepare", "app.orders"]);
    superuser.env("PGUSER", "postgres");
    let said = Running::start(superuser).end();
    assert_eq!((said.code, &*said.out), (Some(1), ""));
    assert!(said.errors.starts_with("ERROR:  "), "{said:?}");
    assert!(said.errors.ends_with("\nHINT:  Connect as app.\n"), "{said:?}");
    let said = run(&cluster, &["swap", "orders"]);
    assert_eq!(said.code, Some(1));
    assert!(said.errors.contains("HINT:  First call snowflake-widen prepare, or "));

    let said = run(&cluster, &["widen", "orders"]);
    assert_eq!(said.code, Some(1));
    cluster.connect().batch_execute("CREATE DATABASE bare").expect("a database");
    let said = run(&cluster, &["prepare", "orders", "-d", "bare"]);
    assert_eq!(said.code, Some(1));
    let hint = "snowflake-widen: hint: Execute CREATE EXTENSION snowflake_convert CASCADE";
    assert!(said.errors.contains(hint), "{said:?}");
    let said = run(&cluster, &["prepare", "orders", "-p", "1"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.errors.starts_with("snowflake-widen: error: "), "{said:?}");
}
