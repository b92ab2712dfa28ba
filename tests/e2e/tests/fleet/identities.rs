//! Identities that are given out by a table: to many servers at once, from one server to the next,
//! and after a dump and a restore.

use std::fs;
use std::thread;

use postgres::error::SqlState;
use postgres::{Client, NoTls};
use snowflake_e2e::{Cluster, bigint, dump_and_restore, error_of, eventually, output, signal};

/// What one line of psql prints, as in the documentation.
fn claim(registry: &Cluster, name: &str) -> String {
    let query = format!("SELECT snowflake_claim_node('{name}')");
    let mut psql = registry.client_program("psql");
    output(psql.args(["-XAtqc", &query])).trim_end().to_owned()
}

/// A server that has this fragment in its configuration.
fn server(fragment: &str) -> Cluster {
    let builder = Cluster::builder().fake_clock();
    let mut server = builder.unset("snowflake.datacenter_id").unset("snowflake.worker_id").create();
    let file = server.directory().join("identity.conf");
    fs::write(&file, fragment).expect("a directory to write to");
    let configuration = server.data().join("postgresql.conf");
    let text = fs::read_to_string(&configuration).expect("postgresql.conf");
    let text = format!("{text}include '{}'\n", file.display());
    fs::write(&configuration, text).expect("postgresql.conf is writable");
    server.start_again();
    server.connect().batch_execute("CREATE EXTENSION snowflake").expect("the extension");
    server
}

/// However many sessions claim at once, each name gets one identity, and no two names the same.
#[test]
fn claims_at_the_same_time_are_different() {
    let registry = Cluster::start();
    thread::scope(|scope| {
        for session in 0..8 {
            let registry = &registry;
            scope.spawn(move || {
                let mut client = registry.connect();
                for number in 0..50 {
                    // Two sessions claim each name.
                    let name = format!("db-{}-{number}", session / 2);
                    client.query("SELECT snowflake_claim_node($1)", &[&name]).expect("an identity");
                }
            });
        }
    });
    let mut client = registry.connect();
    let count = "SELECT count(*) FROM snowflake_nodes";
    assert_eq!(bigint(&mut client, count), 200);
    let largest = "SELECT max(datacenter_id * 32 + worker_id)::bigint FROM snowflake_nodes";
    // One of them is the identity of the registry's own server.
    assert_eq!(bigint(&mut client, largest), 200, "the first ones are taken first");
}

/// A server whose clock is an hour ahead hands its identity over to one whose clock is right. Its
/// floor, which comes with the claim, keeps the new server above all that it has issued.
#[test]
fn an_identity_is_handed_over_with_its_floor() {
    let registry = Cluster::start();
    let old = server(&claim(&registry, "old"));
    old.set_clock("+1h");
    let mut client = old.connect();
    let last = bigint(&mut client, "SELECT max(id) FROM snowflake_nextval(100000) AS id");
    let floor: String =
        client.query_one("SELECT snowflake_floor()::text", &[]).expect("a floor").get(0);
    drop((client, old));

    let mut operator = registry.connect();
    let release = format!("SELECT snowflake_release_node('old', floor => '{floor}')");
    operator.batch_execute(&release).expect("a release");
    operator.batch_execute("SELECT snowflake_claim_node('new', 0, 0)").expect("the same identity");
    let fragment = claim(&registry, "new");
    let new = server(&fragment);
    let first = bigint(&mut new.connect(), "SELECT snowflake_nextval()");
    assert!(first > last, "{first} is not above {last}");

    // Without the floor, it would go back to what has been issued.
    let lines: Vec<_> = fragment.lines().filter(|line| !line.contains("start_after")).collect();
    assert_eq!(lines.len(), 3, "{fragment}");
    let careless = server(&lines.join("\n"));
    assert!(bigint(&mut careless.connect(), "SELECT snowflake_nextval()") < last);
}

/// The owner of a database creates the extension, dumps the database, and restores it; nobody else
/// takes part. A publication of all tables is no obstacle.
#[test]
fn an_ordinary_owner_dumps_and_restores_the_claims() {
    let cluster = Cluster::builder().set("wal_level", "logical").start();
    cluster.connect().batch_execute("CREATE ROLE owner LOGIN CREATEDB").expect("a role");
    let as_owner = |database: &str| -> Client { cluster.connect_as("owner", database) };
    let program = |name: &str, arguments: &[&str]| {
        let mut command = cluster.client_program(name);
        output(command.env("PGUSER", "owner").args(arguments))
    };
    as_owner("postgres").batch_execute("CREATE DATABASE original").expect("a database");
    cluster
        .connect_to("original")
        .batch_execute(
            "CREATE PUBLICATION everything FOR ALL TABLES; GRANT CREATE ON SCHEMA public TO owner",
        )
        .expect("a publication");
    let mut original = as_owner("original");
    original
        .batch_execute(
            "CREATE EXTENSION snowflake;
             SELECT snowflake_claim_node('db-' || n) FROM generate_series(1, 5) AS n;
             SELECT snowflake_release_node('db-2', issued_until => clock_timestamp(), fenced => true);
             SELECT snowflake_release_node('db-3', issued_until => clock_timestamp(), fenced => true);
             SELECT snowflake_claim_node('db-3')",
        )
        .expect("identities");
    let nodes = "SELECT string_agg(n::text, E'\\n' ORDER BY n::text) FROM snowflake_nodes AS n";
    let of = |client: &mut Client| -> String { client.query_one(nodes, &[]).expect("rows").get(0) };
    let expected = of(&mut original);
    let directory = tempfile::tempdir().expect("a directory");
    for format in ["plain", "custom", "directory"] {
        let restored = format!("restored_{format}");
        as_owner("postgres")
            .batch_execute(&format!("CREATE DATABASE {restored}"))
            .expect("a database");
        let file = directory.path().join(format);
        let file = file.to_str().expect("UTF-8");
        // Publications of all tables belong to superusers.
        let dump = ["--no-publications", "--format", format, "--file", file, "original"];
        program("pg_dump", &dump);
        if format == "plain" {
            program("psql", &["-Xq", "-v", "ON_ERROR_STOP=1", "-f", file, &restored]);
        } else {
            program("pg_restore", &["--exit-on-error", "--dbname", &restored, file]);
        }
        let mut client = as_owner(&restored);
        assert_eq!(of(&mut client), expected);
        // It goes on from there.
        client.batch_execute("SELECT snowflake_claim_node('db-6')").expect("an identity");
        let chosen = "SELECT worker_id::bigint FROM snowflake_nodes WHERE name = 'db-6'";
        assert_eq!(bigint(&mut client, chosen), 5);
    }
}

/// A database that somebody else created the extension in is dumped by its owner, and one whose
/// owners were dropped is dumped and restored.
#[test]
fn whoever_owns_the_database_dumps_it() {
    let cluster = Cluster::start();
    cluster.connect().batch_execute("CREATE ROLE bob LOGIN; CREATE ROLE zoe LOGIN").expect("roles");
    for owner in ["bob", "zoe"] {
        let create = format!("CREATE DATABASE of_{owner} OWNER {owner}");
        cluster.connect().batch_execute(&create).expect("a database");
    }
    let of_zoe = cluster.config().user("zoe").dbname("of_zoe").connect(NoTls);
    let claim = "SELECT snowflake_claim_node('db-1')";
    cluster
        .connect_to("of_bob")
        .batch_execute(&format!("CREATE EXTENSION snowflake; {claim}"))
        .expect("an identity");
    of_zoe
        .expect("a session")
        .batch_execute(&format!("CREATE EXTENSION snowflake; {claim}"))
        .expect("an identity");
    cluster
        .connect_to("of_zoe")
        .batch_execute(
            "ALTER DATABASE of_zoe OWNER TO bob; REASSIGN OWNED BY zoe TO bob;
             DROP OWNED BY zoe; DROP ROLE zoe",
        )
        .expect("zoe has gone");
    for database in ["of_bob", "of_zoe"] {
        let mut dump = cluster.client_program("pg_dump");
        let dump = output(dump.env("PGUSER", "bob").arg(database));
        assert!(dump.contains("db-1") && !dump.contains("REVOKE"), "{dump}");
        dump_and_restore(&cluster, database, &format!("{database}_restored"));
    }
    // The new owner of the extension goes on where the old one stopped.
    cluster
        .connect_as("bob", "of_zoe")
        .batch_execute("SELECT snowflake_claim_node('db-2')")
        .expect("allowed");
}

/// A claim that waits for a release sees it, and gives the identity to nobody else.
#[test]
fn a_claim_that_waits_for_a_release_sees_it() {
    let registry = Cluster::start();
    let mut operator = registry.connect();
    operator.batch_execute("SELECT snowflake_claim_node('old')").expect("an identity");
    let mut transaction = operator.transaction().expect("a transaction");
    transaction
        .batch_execute(
            "SELECT snowflake_release_node('old', issued_until => clock_timestamp(), fenced => true);
             SELECT snowflake_claim_node('new', 0, 0)",
        )
        .expect("handed over");
    thread::scope(|scope| {
        let waiting =
            scope.spawn(|| registry.connect().query_one("SELECT snowflake_claim_node('old')", &[]));
        eventually("the claim waits", || {
            let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
            bigint(&mut registry.connect(), waiting) > 0
        });
        transaction.commit().expect("a commit");
        let fragment: String = waiting.join().expect("a session").expect("an identity").get(0);
        assert!(fragment.contains("worker_id = 1"), "{fragment}");
    });
}

/// However asynchronous the sessions of the database are.
#[test]
fn a_claim_outlives_a_crash_of_its_database() {
    let builder = Cluster::builder().set("synchronous_commit", "off");
    let mut registry = builder.set("wal_writer_delay", "10s").start();
    for number in 0..3 {
        let fragment = claim(&registry, &format!("db-{number}"));
        assert!(fragment.ends_with(&format!("snowflake.worker_id = {number}")), "{fragment}");
        registry.kill();
        registry.start_again();
    }
}

/// A claim waits for the synchronous standbys, whatever `synchronous_commit` says, and so does one
/// that is made again after its wait was canceled.
#[test]
fn a_claim_outlives_a_synchronous_failover_of_its_database() {
    let mut registry = Cluster::start();
    let mut standby = registry.standby();
    standby.stop();
    registry.configure(&[("synchronous_standby_names", "*"), ("synchronous_commit", "off")]);
    registry.reload();
    let mut operator = registry.connect();
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    thread::scope(|scope| {
        let claim = || scope.spawn(|| claim(&registry, "db-1"));
        let waits = |operator: &mut Client| {
            eventually("the claim waits", || bigint(operator, waiting) == 1);
        };
        let canceled = claim();
        waits(&mut operator);
        operator
            .batch_execute(
                "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
            )
            .expect("a signal");
        canceled.join().expect("committed here alone");
        let again = claim();
        waits(&mut operator);
        standby.start_again();
        assert!(again.join().expect("committed").ends_with("worker_id = 0"));
    });
    drop(operator);
    registry.kill();
    standby.configure(&[("synchronous_standby_names", "")]);
    standby.reload();
    standby.promote();
    assert!(claim(&standby, "db-2").ends_with("worker_id = 1"));
}

/// A claim that is prepared waits for the synchronous standbys, too: with the prepared transaction,
/// they have its lock, and nobody else claims before it ends.
#[test]
fn a_claim_that_is_prepared_waits_for_synchronous_standbys() {
    let registry = Cluster::builder()
        .set("max_prepared_transactions", "1")
        .set("synchronous_commit", "off")
        .set("synchronous_standby_names", "nobody")
        .start();
    let mut operator = registry.connect();
    operator.batch_execute("BEGIN; SELECT snowflake_claim_node('db-1')").expect("an identity");
    let prepared = thread::spawn(move || operator.batch_execute("PREPARE TRANSACTION 'p'"));
    let mut watcher = registry.connect();
    let waiting = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
        WHERE wait_event = 'SyncRep'";
    eventually("it waits", || {
        assert!(!prepared.is_finished(), "it did not wait");
        bigint(&mut watcher, waiting) == 1
    });
    prepared.join().expect("a thread").expect("prepared, with a warning");

    watcher.batch_execute("SET lock_timeout = '100ms'").expect("set");
    let claim = "SELECT snowflake_claim_node('db-2')";
    let error = error_of(watcher.query(claim, &[]));
    assert_eq!(error.code(), &SqlState::LOCK_NOT_AVAILABLE, "{error}");
    watcher.batch_execute("COMMIT PREPARED 'p'").expect("a commit");
    let mut transaction = watcher.transaction().expect("a transaction");
    let row = transaction.query_one(claim, &[]).expect("an identity");
    assert!(row.get::<_, &str>(0).ends_with("worker_id = 1"), "that of db-1");
}

/// The claims that an asynchronous standby has not received are gone with the primary. Servers that
/// enter themselves before anybody claims keep what they have.
#[test]
fn after_an_asynchronous_failover_running_servers_enter_themselves() {
    let mut registry = Cluster::start();
    let standby = registry.standby();
    let mut operator = registry.connect();
    assert!(claim(&registry, "db-1").ends_with("worker_id = 0"));
    eventually("the standby has it", || {
        bigint(&mut standby.connect(), "SELECT count(*) FROM snowflake_nodes") == 1
    });
    signal(bigint(&mut operator, "SELECT pid::bigint FROM pg_stat_replication"), "STOP");
    assert!(claim(&registry, "db-2").ends_with("worker_id = 1"));
    drop(operator);
    registry.kill();
    standby.promote();
    standby.wait_until_primary();
    let mut operator = standby.connect();
    // What would happen otherwise.
    let mut careless = operator.transaction().expect("a transaction");
    let row = careless.query_one("SELECT snowflake_claim_node('db-3')", &[]).expect("an identity");
    assert!(row.get::<_, &str>(0).ends_with("worker_id = 1"), "that of db-2");
    careless.rollback().expect("a rollback");

    for (name, worker) in [("db-1", 0), ("db-2", 1)] {
        operator
            .execute("SELECT snowflake_claim_node($1, 0, $2)", &[&name, &worker])
            .expect("its own");
    }
    let error = error_of(operator.query("SELECT snowflake_claim_node('db-3', 0, 1)", &[]));
    assert_eq!(error.code(), &SqlState::OBJECT_IN_USE, "{error}");
    assert!(claim(&standby, "db-3").ends_with("worker_id = 2"));
}
