//! IDs of other servers that are observed: what is followed, what is refused, and what is an error.

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, NEXT, bigint, error_of, eventually};

/// A server that follows IDs up to this far ahead of its clock.
fn server(max_observed_lead: &str) -> (Cluster, Client) {
    let cluster = Cluster::builder().set("snowflake.max_observed_lead", max_observed_lead).start();
    let mut client = cluster.connect();
    bigint(&mut client, NEXT);
    (cluster, client)
}

/// An ID of datacenter 1, worker 2, that is so far from the clock.
fn id(client: &mut Client, from_now: &str) -> i64 {
    let id = format!("SELECT snowflake_make(clock_timestamp() + interval '{from_now}', 1, 2, 7)");
    bigint(client, &id)
}

fn observe(client: &mut Client, id: i64) -> bool {
    client.query_one("SELECT snowflake_observe($1)", &[&id]).expect("an answer").get(0)
}

fn check(client: &mut Client) -> (bool, String) {
    let row = "SELECT ok, detail FROM snowflake_check() WHERE name = 'observation'";
    let row = client.query_one(row, &[]).expect("a row");
    (row.get(0), row.get(1))
}

fn refused(client: &mut Client) -> i64 {
    bigint(client, "SELECT observations_refused FROM pg_stat_snowflake")
}

#[test]
fn the_next_id_is_greater_in_every_session() {
    let (cluster, mut client) = server("1min");
    let mut other = cluster.connect();
    for from_now in ["-1h", "-1ms", "0", "1ms", "100ms", "3s", "2s", "50s"] {
        let seen = id(&mut client, from_now);
        assert!(observe(&mut client, seen), "{from_now}");
        for client in [&mut client, &mut other] {
            assert!(bigint(client, NEXT) > seen, "{from_now}");
        }
    }
    assert!(bigint(&mut client, "SELECT lead FROM pg_stat_snowflake") > 45_000);
    assert_eq!(refused(&mut client), 0);
    // What the observation explains is no step of the clock.
    let steps = "SELECT steps_held + steps_reused + steps_refused FROM pg_stat_snowflake";
    assert_eq!(bigint(&mut client, steps), 0);
    let (ok, detail) = check(&mut client);
    assert!(ok, "{detail}");
    assert!(
        detail.starts_with(
            "Observed IDs of other servers are followed up to 60000 ms ahead of the clock."
        ),
        "{detail}"
    );
    assert!(detail.contains(" ms ahead now, and one was "), "{detail}");
}

#[test]
fn what_is_too_far_ahead_is_refused_and_changes_nothing() {
    let (cluster, mut client) = server("1s");
    let before = bigint(&mut client, NEXT);
    for _ in 0..3 {
        let wrong = id(&mut client, "1 hour");
        assert!(!observe(&mut client, wrong));
    }
    let after = bigint(&mut client, NEXT);
    assert!(after > before);
    let lead = "SELECT (extract(epoch FROM snowflake_timestamp(snowflake_nextval()) - clock_timestamp()) * 1000)::bigint";
    assert!(bigint(&mut client, lead) < 1000);
    assert_eq!(refused(&mut client), 3);
    let log = cluster.log();
    assert_eq!(log.matches(" ms ahead of the clock, and was not followed").count(), 1, "{log}");
    assert!(log.contains("Datacenter 1, worker 2 issued it at "), "{log}");
    let (ok, detail) = check(&mut client);
    assert!(!ok && detail.ends_with("Not followed since the counters were reset: 3."), "{detail}");
    client.batch_execute("SELECT snowflake_stat_reset()").expect("reset");
    assert!(check(&mut client).0);
}

/// Without the setting, an ID is followed up to the clock.
#[test]
fn without_a_limit_the_clock_is_the_limit() {
    let (_cluster, mut client) = server("0");
    let past = id(&mut client, "-1 ms");
    assert!(observe(&mut client, past));
    assert!(bigint(&mut client, NEXT) > past);
    let future = id(&mut client, "500 ms");
    assert!(!observe(&mut client, future));
    // The clock comes there by itself.
    eventually("the clock has reached it", || observe(&mut client, future));
    assert!(bigint(&mut client, NEXT) > future);
}

#[test]
fn what_was_observed_is_passed_after_a_crash_and_a_step_back() {
    let mut cluster =
        Cluster::builder().fake_clock().set("snowflake.max_observed_lead", "1min").start();
    for crash in [
        |cluster: &mut Cluster| cluster.crash_a_backend(),
        |cluster: &mut Cluster| {
            cluster.kill();
            cluster.start_again();
        },
    ] {
        let mut client = cluster.connect();
        let seen = id(&mut client, "20 s");
        assert!(observe(&mut client, seen));
        drop(client);
        cluster.set_clock("-1h");
        crash(&mut cluster);
        let mut client = cluster.connect();
        assert!(bigint(&mut client, NEXT) > seen);
        cluster.set_clock("+0");
    }
}

#[test]
fn an_observed_lead_is_no_jump_of_the_clock() {
    let mut cluster = Cluster::builder().set("snowflake.max_observed_lead", "1d").start();
    let mut client = cluster.connect();
    let seen = id(&mut client, "20 h");
    assert!(observe(&mut client, seen));
    cluster.kill();
    cluster.start_again();
    let mut client = cluster.connect();
    assert!(bigint(&mut client, NEXT) > seen);
    let steps = "SELECT steps_held + steps_reused + steps_refused FROM pg_stat_snowflake";
    assert_eq!(bigint(&mut client, steps), 0, "the record explains the lead");
    assert!(!cluster.log().contains("jumped"), "{}", cluster.log());
}

/// An ID with this server's own identity that it has not issued is a twin's, or was lost with WAL.
#[test]
fn an_own_id_from_elsewhere_is_counted_as_a_twins() {
    let (cluster, mut client) = server("1min");
    let twins = |client: &mut Client| bigint(client, "SELECT twins FROM pg_stat_snowflake");
    let own = bigint(&mut client, NEXT);
    assert!(observe(&mut client, own));
    assert_eq!(twins(&mut client), 0, "it was issued here");
    let lost = "SELECT snowflake_make(clock_timestamp() + interval '5 s', 5, 9, 0)";
    let lost = bigint(&mut client, lost);
    assert!(observe(&mut client, lost));
    assert_eq!(twins(&mut client), 1);
    let next = bigint(&mut client, NEXT);
    assert!(next > lost);
    // One within the reservation, for which nothing has to be written.
    assert!(observe(&mut client, next + (1 << 22)));
    assert_eq!(twins(&mut client), 2);
    assert!(
        cluster
            .log()
            .contains("was observed, and is above the last one that this server has issued.")
    );
    let far = bigint(&mut client, "SELECT snowflake_make(now() + interval '1 hour', 5, 9, 0)");
    assert!(!observe(&mut client, far));
    assert_eq!(twins(&mut client), 3);

    // A replicated row brings one, too.
    client
        .batch_execute(&format!(
            "CREATE TABLE rows (id bigint);
             CREATE TRIGGER observe BEFORE INSERT ON rows FOR EACH ROW
                 EXECUTE FUNCTION snowflake_observe_rows('id');
             ALTER TABLE rows ENABLE REPLICA TRIGGER observe; {REPLICA};
             INSERT INTO rows SELECT snowflake_make(clock_timestamp() + interval '20 s', 5, 9, 0);
             RESET session_replication_role"
        ))
        .expect("a row");
    assert_eq!(twins(&mut client), 4);
    let row = bigint(&mut client, "SELECT id FROM rows");
    assert!(bigint(&mut client, NEXT) > row);

    // Nothing is known of them before the first ID of this life, and its own from before are none.
    cluster.crash_a_backend();
    let mut client = cluster.connect();
    assert!(observe(&mut client, own));
    assert!(observe(&mut client, next));
    assert_eq!(twins(&mut client), 0);
}

#[test]
fn wrong_arguments_and_servers_are_errors() {
    let (cluster, mut client) = server("1s");
    let error = error_of(client.batch_execute("SELECT snowflake_observe(-1)"));
    assert_eq!(error.code(), &SqlState::INVALID_PARAMETER_VALUE, "{error}");
    assert_eq!(error.message(), "a snowflake ID is never negative");
    let null = "SELECT (snowflake_observe(NULL) IS NULL)::int::bigint";
    assert_eq!(bigint(&mut client, null), 1);

    let standby = cluster.standby();
    let error = error_of(standby.connect().batch_execute("SELECT snowflake_observe(1)"));
    assert_eq!(error.code(), &SqlState::READ_ONLY_SQL_TRANSACTION, "{error}");

    let without = Cluster::builder().unset("snowflake.worker_id").start();
    let error = error_of(without.connect().batch_execute("SELECT snowflake_observe(1)"));
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
    let without = Cluster::builder().unset("shared_preload_libraries").start();
    let error = error_of(without.connect().batch_execute("SELECT snowflake_observe(1)"));
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
}

#[test]
fn who_may_observe_was_granted_it() {
    let (cluster, mut client) = server("1s");
    client
        .batch_execute("CREATE ROLE ordinary LOGIN; GRANT CREATE ON SCHEMA public TO ordinary")
        .expect("a role");
    let mut ordinary =
        cluster.config().user("ordinary").connect(postgres::NoTls).expect("a session");
    ordinary.batch_execute("CREATE TABLE mine (id bigint)").expect("a table");
    let trigger = "CREATE TRIGGER observe BEFORE INSERT ON mine FOR EACH ROW
         EXECUTE FUNCTION snowflake_observe_rows('id')";
    for statement in ["SELECT snowflake_observe(1)", trigger] {
        let error = error_of(ordinary.batch_execute(statement));
        assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{statement}: {error}");
    }
    let grant =
        "GRANT EXECUTE ON FUNCTION snowflake_observe(bigint), snowflake_observe_rows() TO ordinary";
    client.batch_execute(grant).expect("granted");
    ordinary.batch_execute("SELECT snowflake_observe(1)").expect("allowed");
    ordinary.batch_execute(trigger).expect("allowed");
}

/// Rows as a replica gets them.
const REPLICA: &str = "SET session_replication_role = replica";

fn create(client: &mut Client, when: &str, arguments: &str) {
    client
        .batch_execute(&format!(
            "DROP TABLE IF EXISTS posts; CREATE TABLE posts (id bigint PRIMARY KEY, item text, other integer);
             CREATE TRIGGER observe {when} ON posts FOR EACH ROW
                 EXECUTE FUNCTION snowflake_observe_rows({arguments});
             ALTER TABLE posts ENABLE ALWAYS TRIGGER observe"
        ))
        .expect("a table");
}

#[test]
fn the_trigger_follows_at_the_commit_of_a_replica() {
    let (cluster, mut client) = server("1min");
    let mut other = cluster.connect();
    for when in ["BEFORE INSERT OR UPDATE OF id", "AFTER INSERT OR UPDATE OF id"] {
        create(&mut client, when, "'id'");
        // In any other role it does nothing.
        let seen = id(&mut client, "3 s");
        client.execute("INSERT INTO posts VALUES ($1)", &[&seen]).expect("a row");
        assert!(bigint(&mut other, NEXT) < seen, "{when}");

        client.batch_execute(REPLICA).expect("set");
        let [smaller, seen] = ["4 s", "6 s"].map(|from_now| id(&mut client, from_now));
        let mut transaction = client.transaction().expect("a transaction");
        let insert = "INSERT INTO posts VALUES ($1, 'tea'), ($2, 'milk')";
        transaction.execute(insert, &[&seen, &smaller]).expect("rows");
        assert!(bigint(&mut other, NEXT) < smaller, "{when}: not before the commit");
        transaction.commit().expect("committed");
        assert!(bigint(&mut other, NEXT) > seen, "{when}");

        // A key that an update gives, the rollback of one, and a NULL.
        let seen = id(&mut client, "9 s");
        client.execute("UPDATE posts SET id = $1 WHERE item = 'tea'", &[&seen]).expect("an update");
        assert!(bigint(&mut other, NEXT) > seen, "{when}");
        let lost = id(&mut client, "30 s");
        let mut transaction = client.transaction().expect("a transaction");
        transaction.execute("INSERT INTO posts VALUES ($1)", &[&lost]).expect("a row");
        transaction.rollback().expect("rolled back");
        client.batch_execute("BEGIN; INSERT INTO posts VALUES (1); COMMIT").expect("a row");
        assert!(bigint(&mut other, NEXT) < lost, "{when}");
        let rows = bigint(&mut client, "SELECT count(*) FROM posts WHERE item IN ('tea', 'milk')");
        assert_eq!(rows, 2, "{when}: the rows are as they came");
        client.batch_execute("RESET session_replication_role; SELECT pg_sleep(9)").expect("reset");
    }
}

/// The clock goes on while a transaction is applied, so a row might be within the limit that is
/// greater than one that was not.
#[test]
fn the_trigger_follows_the_greatest_id_if_the_clock_has_reached_others() {
    let (_cluster, mut client) = server("1s");
    create(&mut client, "BEFORE INSERT", "'id'");
    client.batch_execute(REPLICA).expect("a replica");
    let beyond = id(&mut client, "1100 ms");
    let greater = id(&mut client, "1105 ms");
    client
        .batch_execute(&format!(
            "BEGIN; INSERT INTO posts VALUES ({beyond}); SELECT pg_sleep(0.3);
             INSERT INTO posts VALUES ({greater}); COMMIT"
        ))
        .expect("rows");
    assert!(bigint(&mut client, NEXT) > greater);
}

#[test]
fn the_trigger_follows_at_the_preparation_of_a_replica() {
    let cluster = Cluster::builder()
        .set("snowflake.max_observed_lead", "1min")
        .set("max_prepared_transactions", "1")
        .start();
    let mut client = cluster.connect();
    create(&mut client, "BEFORE INSERT", "'id'");
    let seen = id(&mut client, "6 s");
    client
        .batch_execute(&format!(
            "{REPLICA}; BEGIN; INSERT INTO posts VALUES ({seen}); PREPARE TRANSACTION 'posts'"
        ))
        .expect("prepared");
    assert!(bigint(&mut cluster.connect(), NEXT) > seen);
}

/// What cannot be followed is counted, and the row is there all the same. One that is too far ahead
/// hides no other.
#[test]
fn the_trigger_never_stops_a_replica() {
    let (cluster, mut client) = server("10s");
    create(&mut client, "BEFORE INSERT", "'id'");
    let [near, far] = ["6 s", "1 hour"].map(|from_now| id(&mut client, from_now));
    client
        .batch_execute(&format!("{REPLICA}; INSERT INTO posts VALUES ({near}), ({far}), (-1), (0)"))
        .expect("rows");
    assert_eq!(refused(&mut client), 1);
    let next = bigint(&mut client, NEXT);
    assert!(near < next && next < far);

    // A register that cannot be used is no reason to stop either.
    let cluster_without = Cluster::builder().unset("snowflake.worker_id").start();
    let mut without = cluster_without.connect();
    create(&mut without, "BEFORE INSERT", "'id'");
    without.batch_execute(&format!("{REPLICA}; INSERT INTO posts VALUES ({near})")).expect("a row");
    let path = cluster.data().join("global/4294965250");
    let mut cluster = cluster;
    cluster.stop();
    let mut page = std::fs::read(&path).expect("the register");
    page[100..].fill(7);
    std::fs::write(&path, page).expect("the register");
    cluster.start_again();
    let mut client = cluster.connect();
    client
        .batch_execute(&format!("{REPLICA}; INSERT INTO posts VALUES ({})", near + 1))
        .expect("a row");
    assert_eq!(
        bigint(&mut client, &format!("SELECT count(*) FROM posts WHERE id = {}", near + 1)),
        1
    );
    assert_eq!(refused(&mut client), 1);
    assert!(cluster.log().contains("of a replicated row was not followed: "), "{}", cluster.log());
}

#[test]
fn a_wrong_trigger_is_an_error_at_its_first_row() {
    let (_cluster, mut client) = server("1s");
    for (when, arguments, code, message) in [
        ("BEFORE DELETE OR INSERT", "'id'", SqlState::SUCCESSFUL_COMPLETION, ""),
        (
            "BEFORE INSERT",
            "",
            SqlState::INVALID_PARAMETER_VALUE,
            "snowflake_observe_rows() needs one argument, the name of the column of the IDs",
        ),
        (
            "BEFORE INSERT",
            "'id', 'more'",
            SqlState::INVALID_PARAMETER_VALUE,
            "snowflake_observe_rows() needs one argument, the name of the column of the IDs",
        ),
        (
            "AFTER INSERT",
            "'nothing'",
            SqlState::UNDEFINED_COLUMN,
            "table \"posts\" has no column \"nothing\"",
        ),
        (
            "AFTER INSERT",
            "'other'",
            SqlState::DATATYPE_MISMATCH,
            "column \"other\" of table \"posts\" is not of type bigint",
        ),
    ] {
        create(&mut client, when, arguments);
        let inserted = client.batch_execute("INSERT INTO posts VALUES (1)");
        if message.is_empty() {
            inserted.expect("a row");
            let error = error_of(client.batch_execute("DELETE FROM posts"));
            assert_eq!(error.code(), &SqlState::E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, "{error}");
            continue;
        }
        let error = error_of(inserted);
        assert_eq!((error.code(), error.message()), (&code, message));
    }
    let error = error_of(client.batch_execute("SELECT snowflake_observe_rows()"));
    assert_eq!(error.code(), &SqlState::E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, "{error}");
}
