//! Which transactions wait for synchronous standbys: those that took an ID, whatever else they are,
//! and no others.

use std::time::Duration;

use postgres::Client;
use snowflake_e2e::{Cluster, Run, explain, within};

use super::{PARALLEL, PARALLEL_SAFE, wait_in_commit};

/// A server whose commits wait for a standby that does not come. Sessions begin with a setting with
/// which they do not wait.
fn without_standby() -> Cluster {
    let cluster = Cluster::builder()
        .set("max_prepared_transactions", "5")
        .set("synchronous_commit", "local")
        .set("synchronous_standby_names", "nobody")
        .start();
    cluster.run(
        "CREATE UNLOGGED TABLE unlogged (id bigint DEFAULT snowflake_nextval());
             CREATE TABLE source AS SELECT generate_series(1, 20000) AS n; ANALYZE source;
             CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$
             BEGIN PERFORM snowflake_nextval(); COMMIT; END $$;
             CREATE FUNCTION catches() RETURNS void LANGUAGE plpgsql AS $$
             BEGIN
                 PERFORM snowflake_nextval();
                 RAISE EXCEPTION 'rolled back';
             EXCEPTION WHEN raise_exception THEN NULL;
             END $$;
             CREATE FUNCTION takes() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN PERFORM snowflake_nextval(); RETURN NULL; END $$",
    );
    let mut client = cluster.connect();
    client.run(PARALLEL_SAFE);
    client.run(PARALLEL);
    let plan = explain(&mut client, "SELECT count(snowflake_nextval()) FROM source");
    assert!(plan.contains("Gather"), "{plan}");
    cluster
}

/// Statements before, and one that then waits.
const WAITING: &[(&str, &str)] = &[
    // The control: what an INSERT does.
    ("", "INSERT INTO source VALUES (0)"),
    ("", "SELECT snowflake_nextval()"),
    ("", "SELECT snowflake_nextval(3)"),
    ("BEGIN READ ONLY; SELECT snowflake_nextval()", "COMMIT"),
    (
        "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE; SELECT snowflake_nextval()",
        "COMMIT",
    ),
    ("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT snowflake_nextval()", "COMMIT"),
    (
        "CREATE TEMP TABLE rows (id bigint DEFAULT snowflake_nextval())",
        "INSERT INTO rows DEFAULT VALUES",
    ),
    ("", "INSERT INTO unlogged DEFAULT VALUES"),
    ("", "CALL commits()"),
    ("BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT snowflake_nextval()", "COMMIT"),
    ("BEGIN; DECLARE c CURSOR FOR SELECT snowflake_nextval(); FETCH c", "COMMIT"),
    ("BEGIN; SAVEPOINT s; SELECT snowflake_nextval(); ROLLBACK TO s", "COMMIT"),
    ("BEGIN; SAVEPOINT s; SELECT snowflake_nextval(); RELEASE s", "COMMIT"),
    ("BEGIN; SELECT snowflake_nextval()", "PREPARE TRANSACTION 'p'"),
    ("", "SELECT catches()"),
    ("BEGIN; SELECT snowflake_nextval(); DISCARD SEQUENCES", "COMMIT"),
    ("BEGIN; SELECT snowflake_nextval(); SET LOCAL synchronous_commit = remote_write", "COMMIT"),
    (
        "CREATE TEMP TABLE rows (id int);
         CREATE CONSTRAINT TRIGGER takes AFTER INSERT ON rows DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION takes()",
        "INSERT INTO rows VALUES (1)",
    ),
    ("", "SELECT snowflake_set_floor(now() + interval '1 min')"),
    // Parallel workers take the IDs, and not their leader.
    (PARALLEL, "SELECT count(snowflake_nextval()) FROM source"),
    (
        "BEGIN; SAVEPOINT s; @PARALLEL; SELECT count(snowflake_nextval()) FROM source;
         ROLLBACK TO s",
        "COMMIT",
    ),
    // An ID that an earlier transaction took is no reason to wait; one that this transaction took
    // is.
    ("SELECT snowflake_nextval()", "SELECT snowflake_nextval()"),
    ("", "SELECT snowflake_observe(1)"),
    ("BEGIN; SELECT snowflake_observe(1)", "COMMIT"),
];

/// Statements before, and one that does not wait.
const AT_ONCE: &[(&str, &str)] = &[
    ("", "SELECT 1"),
    ("SELECT snowflake_nextval()", "SELECT 1"),
    ("SELECT snowflake_nextval()", "SELECT snowflake_currval()"),
    ("BEGIN; SELECT snowflake_nextval()", "ROLLBACK"),
    ("BEGIN; SELECT snowflake_nextval(); ROLLBACK", "SELECT 1"),
    ("BEGIN; SELECT snowflake_nextval(); PREPARE TRANSACTION 'q'", "SELECT 1"),
    ("SELECT snowflake_nextval(); DISCARD SEQUENCES", "SELECT 1"),
    (PARALLEL, "SELECT count(*) FROM source"),
    ("@PARALLEL; SELECT count(snowflake_nextval()) FROM source", "SELECT 1"),
    ("BEGIN; SELECT snowflake_nextval(); SET LOCAL synchronous_commit = local", "COMMIT"),
    ("BEGIN; SELECT snowflake_nextval(); SET LOCAL synchronous_commit = off", "COMMIT"),
    ("", "SELECT snowflake_observe(9223372036854775807)"),
    ("", "SELECT snowflake_min(now())"),
];

/// A session that has done this, and waits from now on.
fn session(cluster: &Cluster, before: &str) -> Client {
    let mut client = cluster.connect();
    client.run(&before.replace("@PARALLEL", PARALLEL));
    // Where the transaction goes on, it is the setting at its end that counts.
    if !before.contains("SET LOCAL") {
        client.run("SET synchronous_commit = on");
    }
    client
}

#[test]
fn transactions_that_took_an_id_wait() {
    let cluster = without_standby();
    for (before, statement) in WAITING {
        let what = format!("{before}; {statement}");
        let act = |client: &mut Client| client.batch_execute(statement);
        let (done, pid) = wait_in_commit(&cluster, session(&cluster, before), &what, act);
        let cancel = format!("SELECT pg_cancel_backend({pid})");
        cluster.run(&cancel);
        done.join().expect("a thread").expect("committed, with a warning");
    }
}

#[test]
fn other_transactions_do_not_wait() {
    let cluster = without_standby();
    for (before, statement) in AT_ONCE {
        let mut client = session(&cluster, before);
        let done = within(Duration::from_secs(20), move || client.batch_execute(statement));
        assert!(matches!(done, Some(Ok(()))), "{before}; {statement} waits");
    }
}
