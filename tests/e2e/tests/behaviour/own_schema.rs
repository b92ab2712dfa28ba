//! What dumps and publications do with the tables of the extension.

use std::path::Path;
use std::process::Output;

use postgres::Client;
use snowflake_e2e::{Cluster, Run, bigint, dump_and_restore, eventually, new_directory, output};

/// Two roles that own databases.
fn start() -> Cluster {
    let cluster = Cluster::builder().set("wal_level", "logical").start();
    cluster.run("CREATE ROLE owner LOGIN CREATEDB; CREATE ROLE other LOGIN CREATEDB");
    cluster
}

/// A session of this user with a new database of theirs.
fn create_database(cluster: &Cluster, user: &str, name: &str) -> Client {
    cluster.connect_as(user, "postgres").run(&format!("CREATE DATABASE {name}"));
    cluster.connect_as(user, name)
}

fn texts(client: &mut Client, query: &str) -> Vec<String> {
    client.query(query, &[]).expect(query).iter().map(|row| row.get(0)).collect()
}

/// Who else than the owner has which privilege.
const PRIVILEGES: &str = "
    WITH objects (object, owner, acl) AS (
        SELECT relname, relowner, relacl FROM pg_class
        WHERE relnamespace = 'snowflake_internal'::regnamespace AND relkind = 'r'
        UNION ALL
        SELECT nspname, nspowner, nspacl FROM pg_namespace WHERE nspname = 'snowflake_internal')
    SELECT format('%s: %s to %s', object, privilege_type,
                  CASE grantee WHEN 0 THEN 'all' ELSE pg_get_userbyid(grantee) END)
           || CASE WHEN is_grantable THEN ' with grant option' ELSE '' END
    FROM objects, aclexplode(acl) WHERE grantee <> owner ORDER BY 1";

const FIXED: [&str; 5] = [
    "snowflake_internal: USAGE to all",
    "snowflake_layout: INSERT to pg_database_owner",
    "snowflake_layout: SELECT to all",
    "snowflake_node_claims: INSERT to pg_database_owner",
    "snowflake_node_claims: SELECT to all",
];

/// A dump in a format, as this user.
fn dump(cluster: &Cluster, user: &str, database: &str, format: &str, file: &Path) {
    let mut command = cluster.client_program("pg_dump");
    let arguments = ["--no-owner", "--format", format, "--dbname", database, "--file"];
    output(command.env("PGUSER", user).args(arguments).arg(file));
}

/// Restores a dump as this user, up to the end.
fn restore(cluster: &Cluster, user: &str, database: &str, format: &str, file: &Path) -> Output {
    let (program, options) = match format {
        "plain" => ("psql", &["-Xq", "-f"][..]),
        _ => ("pg_restore", &["--no-owner"][..]),
    };
    let mut command = cluster.client_program(program);
    command.env("PGUSER", user).args(["--dbname", database]).args(options).arg(file);
    command.output().expect("the program runs")
}

const CLAIMS: &str = "
    CREATE EXTENSION snowflake;
    SELECT snowflake_claim_node('db-' || n) FROM generate_series(1, 5) AS n;
    SELECT snowflake_release_node('db-2', issued_until => clock_timestamp(), fenced => true);";

/// All rows of both tables.
fn rows(client: &mut Client) -> Vec<String> {
    texts(
        client,
        "SELECT c::text FROM snowflake_internal.snowflake_node_claims AS c
         UNION ALL SELECT l::text FROM snowflake_internal.snowflake_layout AS l ORDER BY 1",
    )
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_ordinary_owner_dumps_and_restores_both_tables() {
    let cluster = start();
    let mut client = create_database(&cluster, "owner", "original");
    client.run(CLAIMS);
    let expected = rows(&mut client);
    assert_eq!(expected.len(), 6);
    // This role may create in the database of somebody else.
    create_database(&cluster, "owner", "shared");
    cluster.run("CREATE ROLE guest LOGIN; GRANT CREATE ON DATABASE shared TO guest");
    let directory = new_directory();
    for format in ["plain", "custom"] {
        let file = directory.path().join(format);
        dump(&cluster, "owner", "original", format, &file);
        for user in ["owner", "other", "guest", "postgres"] {
            let database = match user {
                "guest" => "shared".to_owned(),
                _ => format!("{user}_{format}"),
            };
            if user != "guest" {
                create_database(&cluster, user, &database);
            }
            let restored = restore(&cluster, user, &database, format, &file);
            assert!(restored.status.success(), "{format}, {user}: {}", said(&restored));
            assert_eq!(said(&restored), "", "{format}, {user}");
            let mut client = cluster.connect_as(user, &database);
            assert_eq!(rows(&mut client), expected, "{format}, {user}");
            if user == "guest" {
                client.run("DROP EXTENSION snowflake");
            } else {
                client.run("SELECT snowflake_claim_node('db-6')");
            }
        }
    }
    dump_and_restore(&cluster, "original", "once_more");
}

/// What a superuser grants is in the dump. Only a superuser can restore it; the rows arrive anyway.
#[test]
fn privileges_that_were_granted_are_restored_by_superusers_only() {
    let cluster = start();
    let mut client = create_database(&cluster, "owner", "original");
    client.run(CLAIMS);
    let expected = rows(&mut client);
    cluster.run_in(
        "original",
        "CREATE ROLE ops LOGIN; CREATE ROLE app LOGIN;
             GRANT UPDATE ON snowflake_internal.snowflake_node_claims TO ops;
             GRANT INSERT ON snowflake_internal.snowflake_layout TO app",
    );
    let granted = |client: &mut Client| -> Vec<String> {
        texts(client, PRIVILEGES).into_iter().filter(|line| !FIXED.contains(&&**line)).collect()
    };
    let more = ["snowflake_layout: INSERT to app", "snowflake_node_claims: UPDATE to ops"];
    let directory = new_directory();
    for format in ["plain", "custom"] {
        let file = directory.path().join(format);
        dump(&cluster, "owner", "original", format, &file);
        for user in ["postgres", "owner"] {
            let database = format!("{user}_{format}");
            create_database(&cluster, user, &database);
            let restored = restore(&cluster, user, &database, format, &file);
            assert!(restored.status.success(), "{format}, {user}: {}", said(&restored));
            let mut client = cluster.connect_as(user, &database);
            assert_eq!(rows(&mut client), expected, "{format}, {user}");
            if user == "postgres" {
                assert_eq!(said(&restored), "", "{format}");
                assert_eq!(granted(&mut client), more, "{format}");
                // An operator with that privilege claims.
                cluster.connect_as("ops", &database).run("SELECT snowflake_claim_node('db-7')");
            } else {
                // pg_restore does not show warnings.
                for table in ["snowflake_layout", "snowflake_node_claims"] {
                    let warning = format!("WARNING:  no privileges were granted for \"{table}\"");
                    assert_eq!(said(&restored).contains(&warning), format == "plain");
                }
                assert!(granted(&mut client).is_empty(), "{format}");
            }
        }
    }
}

/// Who does not own the extension that is there already gets an error for its rows.
#[test]
fn rows_are_not_restored_where_somebody_else_has_the_extension() {
    let cluster = start();
    create_database(&cluster, "owner", "original").run(CLAIMS);
    let directory = new_directory();
    let file = directory.path().join("dump");
    dump(&cluster, "owner", "original", "custom", &file);
    for (database, error) in [
        // As the owner of the database, and as anybody.
        (
            "of_other",
            "COPY failed for table \"snowflake_node_claims\": ERROR:  permission denied to claim",
        ),
        ("of_postgres", "ERROR:  permission denied for table snowflake_node_claims"),
    ] {
        create_database(&cluster, &database[3..], database);
        let mut client = cluster.connect_to(database);
        client.run("CREATE EXTENSION snowflake");
        let said = said(&restore(&cluster, "other", database, "custom", &file));
        assert!(said.contains(error), "{said}");
        assert_eq!(rows(&mut client).len(), 1, "its own layout");
    }
}

/// A role that created the extension and was dropped leaves no trace that dumps stumble over.
#[test]
fn a_dump_does_not_name_a_role_that_was_dropped() {
    let cluster = start();
    create_database(&cluster, "other", "theirs").run(CLAIMS);
    cluster.run_in(
        "theirs",
        "ALTER DATABASE theirs OWNER TO owner; REASSIGN OWNED BY other TO owner;
             DROP OWNED BY other; DROP ROLE other",
    );
    let mut command = cluster.client_program("pg_dump");
    let text = output(command.env("PGUSER", "owner").arg("theirs"));
    assert!(!text.contains("REVOKE") && !text.contains("GRANT"), "{text}");
    dump_and_restore(&cluster, "theirs", "restored");
}

/// A publication of all tables has those of the extension, too, unlike one of a schema.
#[test]
fn a_publication_of_all_tables_has_those_of_the_extension() {
    for (publication, claims_of_subscriber, claims_there) in
        [("FOR ALL TABLES", None, 2), ("FOR TABLES IN SCHEMA public", Some("db-7"), 1)]
    {
        let (publisher, subscriber) = (start(), start());
        let [mut published, mut client] = [&publisher, &subscriber].map(Cluster::connect);
        let table = "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval())";
        published.run(table);
        client.run(table);
        let claim = |name: &str| format!("SELECT snowflake_claim_node('{name}')");
        let publish = format!("CREATE PUBLICATION p {publication}; {}", claim("db-1"));
        published.run(&publish);
        client.run(&claims_of_subscriber.map(claim).unwrap_or_default());
        subscriber.subscribe(&publisher, "postgres", "s", "PUBLICATION p");
        subscriber.wait_for_the_copy("postgres");
        // Changes of the tables arrive, and what comes after them.
        let layout = "snowflake_internal.snowflake_layout";
        let changes = [&claim("db-2"), "; INSERT INTO orders DEFAULT VALUES"].concat();
        published.run(&changes);
        published.run(&format!(
            "UPDATE {layout} SET worker_bits = 5;
             SELECT snowflake_release_node('db-1', issued_until => now(), fenced => true);
             INSERT INTO orders DEFAULT VALUES"
        ));
        eventually("the rows arrive", || bigint(&mut client, "SELECT count(*) FROM orders") == 2);
        let nodes = "SELECT count(*) FROM snowflake_nodes";
        assert_eq!(bigint(&mut client, nodes), claims_there, "{publication}");
        let log = publisher.log() + &subscriber.log();
        assert!(!log.contains("ERROR"), "{log}");
    }
}
