//! The guards of the extension's tables hold as a replica, too: an ordinary role brings no row in
//! by way of `session_replication_role` or of a subscription, and a superuser's subscription does.

use std::time::{Duration, Instant};

use postgres::Client;
use snowflake_e2e::{Cluster, Run, bigint, error_of, eventually, new_password};

use crate::own_tables::{CLAIMS, LAYOUT};

/// For how long an attack goes on.
const ATTACK: Duration = Duration::from_secs(10);

const ROWS: [(&str, &str); 3] = [
    (CLAIMS, "(datacenter_id, worker_id, name, claimed_at) VALUES (3, 3, 'mallory', now())"),
    // Another layout, and a second row with the server's own.
    (LAYOUT, "VALUES ('2015-01-01+00', 5, 5, 13)"),
    (LAYOUT, "VALUES ('2010-11-04 01:42:54.657+00', 5, 5, 12)"),
];

/// The rows of both tables that are not those of the installation.
fn foreign(client: &mut Client) -> i64 {
    let rows = format!(
        "SELECT (SELECT count(*) FROM {CLAIMS} WHERE name <> 'db-0')
                + (SELECT count(*) - 1 FROM {LAYOUT})"
    );
    bigint(client, &rows)
}

/// A database of mallory's, in which a superuser has created the extension, and claimed a node.
fn database() -> Cluster {
    let cluster = Cluster::builder().set("wal_level", "logical").start();
    cluster.run("CREATE ROLE mallory LOGIN CREATEDB");
    cluster.create_database("mallory", "theirs");
    cluster.run_in("theirs", "CREATE EXTENSION snowflake; SELECT snowflake_claim_node('db-0')");
    cluster
}

/// A table whose trigger brings rows in.
const MINE: &str = "
    CREATE TABLE mine (n int);
    CREATE FUNCTION bring() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO snowflake_internal.snowflake_node_claims VALUES (3, 3, 'mallory', now());
        INSERT INTO snowflake_internal.snowflake_layout VALUES (now(), 5, 5, 13);
        RETURN NULL;
    END $$;
    CREATE TRIGGER bring AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION bring();
    ALTER TABLE mine ENABLE ALWAYS TRIGGER bring;";

/// Asserts that the log says once of each table that its rows were dropped.
#[track_caller]
fn assert_logged(cluster: &Cluster) {
    let log = cluster.log();
    for name in ["snowflake_node_claims", "snowflake_layout"] {
        let entry = format!("LOG:  a row for table \"{name}\" was dropped");
        assert_eq!(log.matches(&entry).count(), 1, "{log}");
    }
}

/// For ten seconds, in each way that a statement inserts. The log says it once a minute.
#[test]
fn no_row_comes_in_as_a_replica() {
    let cluster = database();
    let mut client = cluster.connect_to("theirs");
    client.run("GRANT SET ON PARAMETER session_replication_role TO mallory");
    let mut mallory = cluster.connect_as("mallory", "theirs");
    mallory.run(&format!("SET session_replication_role = replica; {MINE}"));
    let end = Instant::now() + ATTACK;
    let mut rounds = 0;
    while rounds == 0 || Instant::now() < end {
        for (table, row) in ROWS {
            for insert in [
                format!("INSERT INTO {table} {row}"),
                format!("INSERT INTO {table} {row} ON CONFLICT DO NOTHING"),
                format!("WITH i AS (INSERT INTO {table} {row} RETURNING 1) SELECT count(*) FROM i"),
                "INSERT INTO mine VALUES (1)".into(),
            ] {
                mallory.run(&insert);
            }
        }
        assert_eq!(foreign(&mut client), 0, "after {rounds} rounds");
        rounds += 1;
    }
    println!("{rounds} rounds");
    assert_logged(&cluster);
    // With the right to claim, the row is taken over.
    client.run(&format!("GRANT UPDATE ON {CLAIMS} TO mallory"));
    mallory.run(&format!("INSERT INTO {CLAIMS} {}", ROWS[0].1));
    assert_eq!(foreign(&mut client), 1);
}

/// A subscription of a superuser applies changes to a table of mallory's as mallory, and fires its
/// triggers. These bring nothing in, and neither does a subscription of mallory's own.
#[test]
fn no_row_comes_in_by_a_subscription_of_others() {
    let (publisher, subscriber) = (database(), database());
    let mut published = publisher.connect_to("theirs");
    published.run(
        "CREATE TABLE mine (n int);
         CREATE PUBLICATION mine FOR TABLE mine; CREATE PUBLICATION everything FOR ALL TABLES;
         INSERT INTO snowflake_internal.snowflake_layout VALUES ('2010-11-04 01:42:54.657+00', 5, 5, 12)",
    );
    let mut mallory = subscriber.connect_as("mallory", "theirs");
    mallory.run(MINE);
    let mut client = subscriber.connect_to("theirs");
    let has_own_owners = subscriber.programs().major() >= 16;
    let connection = publisher.connection("theirs");
    let rows = "SELECT count(*) FROM mine";
    // Before 16, mallory's trigger runs as the owner of the subscription, who is a superuser.
    if has_own_owners {
        subscriber.subscribe(&publisher, "theirs", "s", "PUBLICATION mine");
        published.run("INSERT INTO mine SELECT generate_series(1, 100)");
        eventually("the rows arrive", || bigint(&mut client, rows) == 100);
        assert_eq!(foreign(&mut client), 0);
        assert_logged(&subscriber);
        // Not in the transaction of another statement.
        client.run("DROP SUBSCRIPTION s");
        client.run("TRUNCATE mine");
        published.run("TRUNCATE mine");

        // Mallory's own, of all tables. It goes on after rows that were dropped.
        let password = new_password();
        published.run(&format!(
            "CREATE ROLE copier LOGIN REPLICATION PASSWORD '{password}';
             GRANT pg_read_all_data TO copier"
        ));
        let line = "local all copier scram-sha-256\nlocal replication copier scram-sha-256\n";
        let file = publisher.data().join("pg_hba.conf");
        let old = std::fs::read_to_string(&file).expect("a file");
        std::fs::write(&file, format!("{line}{old}")).expect("a file");
        publisher.reload();
        client.run(
            "GRANT pg_create_subscription TO mallory; GRANT CREATE ON DATABASE theirs TO mallory",
        );
        mallory.run(&format!(
            "CREATE SUBSCRIPTION s CONNECTION '{connection} user=copier password={password}'
             PUBLICATION everything WITH (run_as_owner = true)"
        ));
        subscriber.wait_for_the_copy("theirs");
        let end = Instant::now() + ATTACK;
        let mut number = 0;
        // There are 1,024 identities to claim.
        while number < 1000 && Instant::now() < end {
            number += 1;
            published.run(&format!(
                "SELECT snowflake_claim_node('db-{number}');
                 INSERT INTO {LAYOUT} VALUES ('2010-11-04 01:42:54.657+00', 5, 5, 12);
                 INSERT INTO mine VALUES ({number})"
            ));
            eventually("the row arrives", || bigint(&mut client, rows) == number);
            assert_eq!(foreign(&mut client), 0, "after {number} rows");
        }
        println!("{number} rows");
        // The release of a claim that was dropped finds no row. That of another one changes a row,
        // which takes a right that mallory lacks.
        for node in ["db-1", "db-0"] {
            published.run(&format!(
                "SELECT snowflake_release_node('{node}', issued_until => now(), fenced => true)"
            ));
        }
        let stopped = "ERROR:  permission denied for table snowflake_node_claims";
        eventually("the subscription stops", || subscriber.log().contains(stopped));
        mallory.run("DROP SUBSCRIPTION s");
        mallory.run("TRUNCATE mine");
    }

    // A superuser's of all tables, which applies to these tables as their owner: all rows arrive.
    client.run(&format!("ALTER TABLE mine DISABLE TRIGGER bring; DELETE FROM {CLAIMS}"));
    subscriber.subscribe(&publisher, "theirs", "s", "PUBLICATION everything");
    published.run("SELECT snowflake_claim_node('db-last')");
    let [claims, layouts] = [CLAIMS, LAYOUT].map(|table| format!("SELECT count(*) FROM {table}"));
    let [claimed, known] = [&claims, &layouts].map(|count| bigint(&mut published, count));
    eventually("the rows arrive", || {
        bigint(&mut client, &claims) == claimed && bigint(&mut client, &layouts) == known + 1
    });
}

/// A subscriber that lacks the extension cannot take a publication of all tables. It can with a
/// list of tables, and with the extension.
#[test]
fn a_subscriber_to_all_tables_needs_the_extension() {
    let (publisher, subscriber) = (database(), database());
    let [mut published, mut client] =
        [&publisher, &subscriber].map(|cluster| cluster.connect_to("theirs"));
    client.run("DROP EXTENSION snowflake");
    let table = "CREATE TABLE orders (id bigint PRIMARY KEY, item text);";
    published.run(&format!(
        "{table} INSERT INTO orders VALUES (snowflake_nextval(), 'book');
         CREATE PUBLICATION everything FOR ALL TABLES; CREATE PUBLICATION listed FOR TABLE orders"
    ));
    client.run(table);
    let subscribe = format!(
        "CREATE SUBSCRIPTION s CONNECTION '{} user=postgres' PUBLICATION everything",
        publisher.connection("theirs")
    );
    let error = error_of(client.batch_execute(&subscribe));
    assert_eq!(error.message(), "schema \"snowflake_internal\" does not exist");
    let rows = "SELECT count(*) FROM orders";
    subscriber.subscribe(&publisher, "theirs", "s", "PUBLICATION listed");
    eventually("the row arrives", || bigint(&mut client, rows) == 1);
    client.run("DROP SUBSCRIPTION s");
    client.run("TRUNCATE orders; CREATE EXTENSION snowflake");
    client.run(&subscribe);
    eventually("the row arrives", || bigint(&mut client, rows) == 1);
}
