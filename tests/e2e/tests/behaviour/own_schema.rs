//! The tables of the extension in dumps and publications.

use postgres::Client;
use snowflake_e2e::{
    Cluster, Dump, Run, bigint, create_orders, dump_and_restore, eventually, value, values,
};

/// Two roles that own databases.
fn start() -> Cluster {
    let cluster = Cluster::builder().set("wal_level", "logical").start();
    cluster.run("CREATE ROLE owner LOGIN CREATEDB; CREATE ROLE other LOGIN CREATEDB");
    cluster
}

/// The database `original` of the owner, with claims, and the rows of both tables. A publication of
/// all tables, which has to tell the rows apart, is no obstacle.
fn original(cluster: &Cluster) -> Vec<String> {
    let mut client = cluster.create_database("owner", "original");
    cluster.run_in("original", "CREATE PUBLICATION everything FOR ALL TABLES");
    client.run(CLAIMS);
    let rows = rows(&mut client);
    assert_eq!(rows.len(), 6);
    rows
}

/// The privileges of these roles on the tables of the extension.
const GRANTED: &str = "
    SELECT format('%s: %s to %s', relname, privilege_type, grantee::regrole)
    FROM pg_class, aclexplode(relacl)
    WHERE relname LIKE 'snowflake%' AND grantee IN ('app'::regrole, 'ops'::regrole) ORDER BY 1";

const CLAIMS: &str = "
    CREATE EXTENSION snowflake;
    SELECT snowflake_claim_node('db-' || n) FROM generate_series(1, 5) AS n;
    SELECT snowflake_release_node('db-2', issued_until => clock_timestamp(), fenced => true);
    SELECT snowflake_release_node('db-3', issued_until => clock_timestamp(), fenced => true);
    SELECT snowflake_claim_node('db-3')";

/// A dump of that database, as its owner makes it. Publications of all tables belong to superusers.
fn dump_of_owner(cluster: &Cluster, format: &str) -> Dump {
    Dump::of(cluster, "owner", "original", format, &["--no-owner", "--no-publications"])
}

/// All rows of both tables.
fn rows(client: &mut Client) -> Vec<String> {
    values(
        client,
        "SELECT c::text FROM snowflake_internal.snowflake_node_claims AS c
         UNION ALL SELECT l::text FROM snowflake_internal.snowflake_layout AS l ORDER BY 1",
    )
}

#[test]
fn an_ordinary_owner_dumps_and_restores_both_tables() {
    let cluster = start();
    let expected = original(&cluster);
    // This role may create in the database of somebody else.
    cluster.create_database("owner", "shared");
    cluster.run("CREATE ROLE guest LOGIN; GRANT CREATE ON DATABASE shared TO guest");
    for format in ["plain", "custom"] {
        let dump = dump_of_owner(&cluster, format);
        for user in ["owner", "other", "guest", "postgres"] {
            let database = match user {
                "guest" => "shared".to_owned(),
                _ => format!("{user}_{format}"),
            };
            if user != "guest" {
                cluster.create_database(user, &database);
            }
            let said = dump.restore(&cluster, user, &database, &[]);
            assert_eq!(said.as_deref(), Ok(""), "{format}, {user}");
            let mut client = cluster.connect_as(user, &database);
            assert_eq!(rows(&mut client), expected, "{format}, {user}");
            if user == "guest" {
                client.run("DROP EXTENSION snowflake");
                continue;
            }
            // It goes on from there.
            let next: String = value(&mut client, "SELECT snowflake_claim_node('db-6')");
            assert!(next.ends_with("worker_id = 5"), "{next}");
        }
    }
    dump_and_restore(&cluster, "original", "once_more");
}

/// A dump contains what a superuser grants. Only a superuser can restore it; the rows arrive
/// anyway.
#[test]
fn privileges_that_were_granted_are_restored_by_superusers_only() {
    let cluster = start();
    let expected = original(&cluster);
    cluster.run_in(
        "original",
        "CREATE ROLE ops LOGIN; CREATE ROLE app LOGIN;
         GRANT UPDATE ON snowflake_internal.snowflake_node_claims TO ops;
         GRANT INSERT ON snowflake_internal.snowflake_layout TO app",
    );
    let more = ["snowflake_layout: INSERT to app", "snowflake_node_claims: UPDATE to ops"];
    for format in ["plain", "custom"] {
        let dump = dump_of_owner(&cluster, format);
        for user in ["postgres", "owner"] {
            let database = format!("{user}_{format}");
            let mut client = cluster.create_database(user, &database);
            let said = dump.restore(&cluster, user, &database, &[]).expect("restored");
            assert_eq!(rows(&mut client), expected, "{format}, {user}");
            let granted: Vec<String> = values(&mut client, GRANTED);
            if user == "postgres" {
                assert_eq!((&*said, granted), ("", more.map(str::to_owned).into()), "{format}");
                // An operator with that privilege claims.
                cluster.connect_as("ops", &database).run("SELECT snowflake_claim_node('db-7')");
            } else {
                // pg_restore does not show warnings.
                for table in ["snowflake_layout", "snowflake_node_claims"] {
                    let warning = format!("WARNING:  no privileges were granted for \"{table}\"");
                    assert_eq!(said.contains(&warning), format == "plain");
                }
                assert!(granted.is_empty(), "{format}");
            }
        }
    }
}

/// Who does not own the extension that is there already gets an error for its rows.
#[test]
fn rows_are_not_restored_where_somebody_else_has_the_extension() {
    let cluster = start();
    original(&cluster);
    let dump = dump_of_owner(&cluster, "custom");
    let table = "snowflake_node_claims";
    for (database, error) in [
        // As the owner of the database, and as anybody.
        (
            "of_other",
            format!("COPY failed for table \"{table}\": ERROR:  permission denied to claim"),
        ),
        ("of_postgres", format!("ERROR:  permission denied for table {table}")),
    ] {
        cluster.create_database(&database[3..], database);
        cluster.run_in(database, "CREATE EXTENSION snowflake");
        let said = dump.restore(&cluster, "other", database, &[]).expect_err("an error");
        assert!(said.contains(&error), "{said}");
        assert_eq!(rows(&mut cluster.connect_to(database)).len(), 1, "its own layout");
    }
}

/// A publication of all tables has those of the extension, too, unlike one of a schema.
#[test]
fn a_publication_of_all_tables_has_those_of_the_extension() {
    let claim = |name: &str| format!("SELECT snowflake_claim_node('{name}');");
    for (publication, claims_of_subscriber, claims_there) in
        [("FOR ALL TABLES", String::new(), 2), ("FOR TABLES IN SCHEMA public", claim("db-7"), 1)]
    {
        let (publisher, subscriber) = (start(), start());
        create_orders(&publisher);
        create_orders(&subscriber);
        publisher.run(&format!("CREATE PUBLICATION p {publication}; {}", claim("db-1")));
        subscriber.run(&claims_of_subscriber);
        subscriber.subscribe(&publisher, "postgres", "s", "PUBLICATION p");
        subscriber.wait_for_the_copy("postgres");
        // Changes of the tables arrive, and what comes after them.
        publisher.run(&format!("{} INSERT INTO orders DEFAULT VALUES", claim("db-2")));
        publisher.run(
            "UPDATE snowflake_internal.snowflake_layout SET worker_bits = 5;
             SELECT snowflake_release_node('db-1', issued_until => now(), fenced => true);
             INSERT INTO orders DEFAULT VALUES",
        );
        let mut client = subscriber.connect();
        eventually("the rows arrive", || bigint(&mut client, "SELECT count(*) FROM orders") == 2);
        let nodes = "SELECT count(*) FROM snowflake_nodes";
        assert_eq!(bigint(&mut client, nodes), claims_there, "{publication}");
        let log = publisher.log() + &subscriber.log();
        assert!(!log.contains("ERROR"), "{log}");
    }
}
