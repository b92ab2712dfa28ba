//! A privilege that another role than the owner has granted on what is created again is an obstacle,
//! and no statement of a conversion runs in the name of that role.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use postgres::error::SqlState;
use postgres::{Client, NoTls};
use snowflake_e2e::{Cluster, StopOnDrop, bigint, error_of, eventually};

use crate::conversion_attacks::{mallory, start, statements};

/// For how long an attack goes on.
const ATTACK: Duration = Duration::from_secs(10);

/// What the owner has and bob has granted, in each way that PostgreSQL records: on relations, columns,
/// functions and sequences, and along a chain.
const GRANTS: &str = "
    CREATE ROLE app LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE carol LOGIN; CREATE ROLE dave LOGIN;
    CREATE SCHEMA app AUTHORIZATION app;
    GRANT USAGE ON SCHEMA app TO PUBLIC;
    SET ROLE app;
    CREATE TABLE app.films (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, title text);
    CREATE VIEW app.titles AS SELECT id, title FROM app.films;
    CREATE FUNCTION app.last() RETURNS bigint BEGIN ATOMIC SELECT max(id) FROM app.films; END;
    GRANT SELECT, UPDATE ON app.titles TO bob WITH GRANT OPTION;
    GRANT EXECUTE ON FUNCTION app.last() TO bob WITH GRANT OPTION;
    GRANT USAGE ON SEQUENCE app.films_id_seq TO bob WITH GRANT OPTION;
    SET ROLE bob;
    GRANT SELECT ON app.titles TO carol WITH GRANT OPTION;
    GRANT UPDATE (title) ON app.titles TO dave;
    GRANT EXECUTE ON FUNCTION app.last() TO carol;
    GRANT USAGE ON SEQUENCE app.films_id_seq TO dave;
    SET ROLE carol;
    GRANT SELECT ON app.titles TO dave;
    RESET ROLE;";

/// Who may do what, without who has granted it.
const PRIVILEGES: &str = "
    SELECT DISTINCT concat_ws(' ', object, grantee::regrole, privilege_type) FROM (
        SELECT relname, relacl FROM pg_class WHERE relnamespace = 'app'::regnamespace
        UNION ALL
        SELECT proname, proacl FROM pg_proc WHERE pronamespace = 'app'::regnamespace
        UNION ALL
        SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'app.titles'::regclass
    ) AS objects (object, acl), aclexplode(acl)
    WHERE grantee <> 'app'::regrole AND grantee <> 0 ORDER BY 1";

const CONVERT: &str = "SELECT snowflake_convert('app.films', dependents => 'recreate'";

#[test]
fn a_privilege_that_others_have_granted_is_an_obstacle() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client.batch_execute(GRANTS).expect("privileges");
    let before = statements(&mut client, PRIVILEGES);
    assert!(before.contains(&"title dave UPDATE".to_owned()), "{before:?}");
    let obstacles =
        "SELECT concat_ws('|', object, reason) FROM snowflake_convert_report('app.films')
        WHERE kind = 'obstacle' AND reason LIKE '%granted by%' ORDER BY 1";
    let found = statements(&mut client, obstacles);
    let expected = [
        ("function app.last()", "bob"),
        ("sequence app.films_id_seq", "bob"),
        ("view app.titles", "bob, carol"),
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, (object, grantors)) in found.iter().zip(expected) {
        let begin = format!(
            "{object}|Privileges on {object} were granted by others than its owner: {grantors}"
        );
        assert!(found.starts_with(&begin), "{found}");
    }
    // Neither executed nor planned, and nobody is left to do it by himself.
    for way in ["", ", rehearse => true", ", dry_run => false"] {
        let error = error_of(client.query(&format!("{CONVERT}{way})"), &[]));
        assert_eq!(error.code(), &SqlState::DEPENDENT_OBJECTS_STILL_EXIST, "{error}");
        assert!(error.message().contains("were granted by others than its owner"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("FROM bob CASCADE;")), "{error:?}");
    }
    // The owner executes what the remedies say.
    let remedies = "SELECT regexp_replace(remedy, '^[^:]*: ', '')
        FROM snowflake_convert_report('app.films')
        WHERE kind = 'obstacle' AND reason LIKE '%granted by%'";
    let remedies = statements(&mut client, remedies);
    let mut app = cluster.config().user("app").connect(NoTls).expect("a session");
    for remedy in remedies {
        app.batch_execute(&remedy).unwrap_or_else(|error| panic!("{remedy}: {error:?}"));
    }
    assert_eq!(statements(&mut client, obstacles), [""; 0]);
    let mended = statements(&mut client, PRIVILEGES);
    let lost: Vec<_> = before.iter().filter(|one| !mended.contains(one)).collect();
    assert!(lost.is_empty(), "{lost:?}");
    app.batch_execute(&format!("{CONVERT}, dry_run => false)")).expect("converted");
    assert_eq!(statements(&mut client, PRIVILEGES), mended);
    let others = "SELECT count(*) FROM pg_class, aclexplode(relacl)
        WHERE relnamespace = 'app'::regnamespace AND grantor <> relowner";
    assert_eq!(bigint(&mut client, others), 0);
}

/// Bob's table has the name of mallory's view, in another schema of hers. He has granted a privilege
/// on that view to her friends.
const VICTIM: &str = "
    CREATE ROLE bob LOGIN;
    DO $$ BEGIN FOR i IN 1..20 LOOP EXECUTE 'CREATE ROLE friend_' || i; END LOOP; END $$;
    CREATE SCHEMA v1 AUTHORIZATION mallory; CREATE SCHEMA shared AUTHORIZATION mallory;
    GRANT USAGE ON SCHEMA v1, shared, mallory TO PUBLIC; GRANT CREATE ON SCHEMA shared TO bob;
    SET SESSION AUTHORIZATION bob;
    CREATE TABLE shared.report AS SELECT 'secret' AS s; GRANT INSERT ON shared.report TO mallory;
    RESET SESSION AUTHORIZATION;";

/// A conversion that waits before it grants privileges: it computes an expression of an index.
const BAIT: &str = "
    CREATE TABLE mallory.orders (id serial PRIMARY KEY);
    CREATE OR REPLACE FUNCTION mallory.waiting(i bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
        IF (SELECT atttypid = 'bigint'::regtype FROM pg_attribute
            WHERE attrelid = 'mallory.orders'::regclass AND attname = 'id') THEN
            PERFORM pg_advisory_xact_lock(1);
        END IF;
        RETURN i;
    END $$;
    CREATE MATERIALIZED VIEW v1.report AS SELECT id FROM mallory.orders;
    CREATE INDEX ON v1.report ((id + mallory.waiting(1)));
    GRANT SELECT ON v1.report TO bob WITH GRANT OPTION;";

const SWAP: &str = "
    BEGIN; ALTER SCHEMA v1 RENAME TO hidden; ALTER SCHEMA shared RENAME TO v1;
    ALTER SCHEMA hidden RENAME TO shared; COMMIT;";

/// Grants the privilege to all friends, as the user of the session.
fn grant(client: &mut Client) {
    let grant = "DO $$ BEGIN FOR i IN 1..20 LOOP
        EXECUTE 'GRANT SELECT ON v1.report TO friend_' || i; END LOOP; END $$";
    client.batch_execute(grant).expect("privileges");
}

/// What the attack came to in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// The conversion was refused before it changed anything.
    Refused,
    /// It went on, with the two schemas swapped again and again.
    Swapped,
}

/// Converts as mallory, and swaps the schemas from when the conversion waits. Where it waits for
/// the open transaction that has dropped bob's table, as GRANT does, the schemas are put back first.
fn attack(cluster: &Cluster, gate: &mut Client) -> Round {
    gate.batch_execute("SELECT pg_advisory_lock(1)").expect("locked");
    let mut converting = mallory(cluster);
    let pid = bigint(&mut converting, "SELECT pg_backend_pid()::bigint");
    let convert = "SELECT snowflake_convert('mallory.orders', 'id', dependents => 'recreate', dry_run => false)";
    let waits = |gate: &mut Client, comparison: &str| {
        let locks = format!(
            "SELECT count(*) FROM pg_locks
             WHERE pid = {pid} AND NOT granted AND locktype {comparison} 'advisory'"
        );
        bigint(gate, &locks) == 1
    };
    std::thread::scope(|scope| {
        let conversion = scope.spawn(move || converting.batch_execute(convert));
        eventually("the conversion waits or is over", || {
            conversion.is_finished() || waits(gate, "=")
        });
        if conversion.is_finished() {
            gate.batch_execute("SELECT pg_advisory_unlock(1)").expect("unlocked");
            let error = error_of(conversion.join().expect("no panic"));
            assert_eq!(error.code(), &SqlState::DEPENDENT_OBJECTS_STILL_EXIST, "{error:?}");
            return Round::Refused;
        }
        let mut dropping = mallory(cluster);
        dropping.batch_execute("BEGIN; DROP TABLE shared.report").expect("she owns the schema");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let stop = StopOnDrop(&is_over);
            let swapping = scope.spawn(|| {
                let mut client = mallory(cluster);
                let mut swapped = false;
                while !is_over.load(SeqCst) || swapped {
                    client.batch_execute(SWAP).expect("swapped");
                    swapped = !swapped;
                }
            });
            gate.batch_execute("SELECT pg_advisory_unlock(1)").expect("unlocked");
            // GRANT waits for the transaction that drops, and other statements for its lock.
            eventually("the conversion waits or is over", || {
                conversion.is_finished() || waits(gate, "<>")
            });
            drop(stop);
            swapping.join().expect("no panic");
        });
        dropping.batch_execute("ROLLBACK").expect("bob's table is there again");
        // It may succeed, or find something else under a name.
        let _ = conversion.join().expect("no panic");
        Round::Swapped
    })
}

/// For ten seconds, in turn with what bob has granted, and with what only mallory has.
#[test]
fn nothing_is_granted_on_what_somebody_else_owns() {
    let (cluster, mut client) = start();
    client.batch_execute(VICTIM).expect("a victim");
    let table = bigint(&mut client, "SELECT 'shared.report'::regclass::oid::bigint");
    let mut gate = cluster.connect();
    let end = Instant::now() + ATTACK;
    let mut rounds = Vec::new();
    for is_bobs in [true, false].into_iter().cycle() {
        let mut owner = mallory(&cluster);
        owner
            .batch_execute(&format!("DROP TABLE IF EXISTS mallory.orders CASCADE; {BAIT}"))
            .expect("a table");
        let mut bob = cluster.config().user("bob").connect(NoTls).expect("a session");
        grant(if is_bobs { &mut bob } else { &mut owner });
        rounds.push((is_bobs, attack(&cluster, &mut gate)));
        let readers = format!(
            "SELECT count(*) FROM pg_class, aclexplode(relacl)
             WHERE pg_class.oid = {table} AND privilege_type = 'SELECT' AND grantee <> relowner"
        );
        assert_eq!(bigint(&mut client, &readers), 0, "after {} rounds", rounds.len());
        if Instant::now() > end {
            break;
        }
    }
    println!("{} rounds", rounds.len());
    assert!(rounds.len() >= 4, "{rounds:?}");
    for (is_bobs, round) in rounds {
        assert_eq!(round, if is_bobs { Round::Refused } else { Round::Swapped });
    }
}
