//! Moves of adopted tables: with a dump, with pg_upgrade, and by logical replication; with the
//! setting or without it.

use postgres::Client;
use snowflake_e2e::{
    Cluster, Dump, Run, bigint, dump_and_restore, dump_text, eventually, output, value,
};

use super::{assert_adopted, assert_left, server};

/// Keys that were converted and keys that were not, with rows, and references between them.
const TABLES: &str = "
    CREATE TABLE users (id bigserial PRIMARY KEY); INSERT INTO users DEFAULT VALUES;
    CREATE TABLE posts (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, author_id bigint REFERENCES users);
    INSERT INTO posts (author_id) SELECT id FROM users;
    CREATE TABLE narrow (id serial PRIMARY KEY, author_id integer REFERENCES users);
    CREATE TABLE old (id bigint NOT NULL);
    CREATE SEQUENCE old_id_seq OWNED BY old.id;
    ALTER TABLE old ALTER id SET DEFAULT nextval('old_id_seq');
    SET check_function_bodies = off; ALTER TABLE old ADD PRIMARY KEY (id)";

/// Asserts that the tables are as they were, with their rows, and whether new ones are adopted.
fn assert_moved(client: &mut Client, is_adopted: bool) {
    client.run("SET search_path = blog, public");
    for table in ["users", "posts"] {
        assert_adopted(client, table, "id");
        let sequence = format!("SELECT count(pg_get_serial_sequence('{table}', 'id'))");
        assert_eq!(bigint(client, &sequence), 1, "{table}");
    }
    assert_left(client, "narrow", "author_id", "integer");
    assert_left(client, "narrow", "id", "integer");
    assert_left(client, "old", "id", "bigint");
    let rows = "SELECT count(*) FROM posts JOIN users ON users.id = author_id";
    assert_eq!(bigint(client, rows), 1);
    client.run("CREATE TABLE new (id bigserial PRIMARY KEY)");
    match is_adopted {
        true => assert_adopted(client, "new", "id"),
        false => assert_left(client, "new", "id", "bigint"),
    }
}

/// Creates a database with the setting.
fn create_adopting(client: &mut Client, template: &str) {
    for statement in [
        &format!("CREATE DATABASE adopting TEMPLATE {template}"),
        "ALTER DATABASE adopting SET snowflake.adopted_schemas = 'blog'",
    ] {
        client.run(statement);
    }
}

/// A dump of one database has no settings of the database, unless `--create` is given.
#[test]
fn keys_survive_dump_and_restore_and_the_setting_does_not() {
    let (cluster, mut client) = server();
    client.run(TABLES);
    dump_and_restore(&cluster, "postgres", "restored");
    assert_moved(&mut cluster.connect_to("restored"), false);
    // Into a database that has the setting.
    create_adopting(&mut client, "template0");
    let dump = Dump::of(&cluster, "postgres", "postgres", "plain", &[]);
    let stop = ["-v", "ON_ERROR_STOP=1"];
    let said = dump.restore(&cluster, "postgres", "adopting", &stop).expect("restored");
    assert!(said.contains("column author_id of table blog.narrow cannot hold"), "{said}");
    assert_moved(&mut cluster.connect_to("adopting"), true);
    let with_settings = dump_text(&cluster, &["--create", "--schema-only", "--dbname", "postgres"]);
    let setting = "SET \"snowflake.adopted_schemas\" TO 'blog'";
    assert!(with_settings.contains(setting), "{with_settings}");
}

/// `pg_dumpall` carries what is set for databases, other than those that a new cluster has, and for
/// roles.
#[test]
fn a_dump_of_the_cluster_carries_the_setting() {
    let (cluster, mut client) = server();
    client.run(TABLES);
    drop(client);
    let mut client = cluster.connect_to("template1");
    create_adopting(&mut client, "postgres");
    client.run("CREATE ROLE migrator; ALTER ROLE migrator SET snowflake.adopted_schemas = '\"My Schema\", public'");
    let file = cluster.directory().join("all.sql");
    std::fs::write(&file, output(&mut cluster.client_program("pg_dumpall"))).expect("a file");
    let other = Cluster::builder().set("snowflake.worker_id", "2").start();
    other.run("DROP EXTENSION IF EXISTS snowflake");
    let path = file.display().to_string();
    let restored = other.run_client("postgres", "psql", "template1", &["--file", &path]);
    // The role that restores is there already.
    let said = String::from_utf8_lossy(&restored.stderr);
    let mut errors = said.lines().filter(|line| line.contains("ERROR"));
    assert!(errors.all(|error| error.contains("role \"postgres\" already exists")), "{said}");
    assert_moved(&mut other.connect(), false);
    let mut client = other.connect_to("adopting");
    assert_moved(&mut client, true);
    let setting = "SELECT setconfig[1] FROM pg_db_role_setting WHERE setrole = 'migrator'::regrole";
    assert_eq!(
        value::<String>(&mut client, setting),
        "snowflake.adopted_schemas=\"My Schema\", public"
    );
}

#[test]
fn an_adoption_survives_pg_upgrade() {
    let (mut old, mut client) = server();
    client.run(TABLES);
    old.stop();
    let new = Cluster::builder().start_upgraded_from(&old);
    assert_moved(&mut new.connect(), true);
}

/// A subscriber's tables are created there, with the setting or without. Rows that are replicated
/// keep their keys.
#[test]
fn a_subscriber_keeps_the_keys_that_come() {
    let [publisher, adopting, plain] = ["1", "2", "3"].map(|worker| {
        Cluster::builder().set("wal_level", "logical").set("snowflake.worker_id", worker).start()
    });
    let clusters = [(&publisher, "blog"), (&adopting, "blog"), (&plain, "")];
    let [mut from, mut to, mut to_plain] = clusters.map(|(cluster, schemas)| {
        let mut client = cluster.connect();
        client.run(&format!(
            "CREATE EXTENSION IF NOT EXISTS snowflake; CREATE SCHEMA blog;
             ALTER DATABASE postgres SET snowflake.adopted_schemas = '{schemas}'; SET snowflake.adopted_schemas = '{schemas}';
             CREATE TABLE blog.users (id bigserial PRIMARY KEY);
             CREATE TABLE blog.posts (id bigserial PRIMARY KEY, author_id bigint REFERENCES blog.users)"
        ));
        client
    });
    from.run("CREATE PUBLICATION all_tables FOR TABLES IN SCHEMA blog");
    adopting.subscribe(&publisher, "postgres", "adopting", "PUBLICATION all_tables");
    plain.subscribe(&publisher, "postgres", "plain", "PUBLICATION all_tables");
    from.run(
        "WITH u AS (INSERT INTO blog.users DEFAULT VALUES RETURNING id) INSERT INTO blog.posts (author_id) SELECT id FROM u",
    );
    let rows = "SELECT count(*) FROM blog.posts WHERE snowflake_worker_id(id) = 1 AND snowflake_worker_id(author_id) = 1";
    for client in [&mut to, &mut to_plain] {
        eventually("the row arrives", || bigint(client, rows) == 1);
        client.run("INSERT INTO blog.users DEFAULT VALUES");
    }
    let own = "SELECT count(*) FROM blog.users WHERE snowflake_worker_id(id) = 2";
    assert_eq!(bigint(&mut to, own), 1);
    assert_eq!(bigint(&mut to_plain, "SELECT count(*) FROM blog.users WHERE id = 1"), 1);
}
