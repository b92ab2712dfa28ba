//! What becomes of an adoption that moves: with a dump, with pg_upgrade, and by logical replication.

use postgres::Client;
use snowflake_e2e::{Cluster, bigint, dump_and_restore, eventually};

use super::{assert_adopted, assert_left, column, server};

/// Keys that were converted and keys that were not, some with rows, and references between them.
const TABLES: &str = "
    CREATE TABLE users (id serial PRIMARY KEY); INSERT INTO users DEFAULT VALUES;
    CREATE TABLE posts (id bigserial PRIMARY KEY, author_id integer REFERENCES users);
    INSERT INTO posts (author_id) SELECT id FROM users;
    CREATE TABLE old (id integer NOT NULL, user_id integer);
    CREATE SEQUENCE old_id_seq OWNED BY old.id;
    ALTER TABLE old ALTER id SET DEFAULT nextval('old_id_seq');
    ALTER TABLE old ADD PRIMARY KEY (id)";

/// Asserts that the tables are as they were, with their rows, and that the schema is still adopted.
fn assert_moved(client: &mut Client) {
    client.batch_execute("SET search_path = blog, public").expect("set");
    for (table, name) in [("users", "id"), ("posts", "id")] {
        assert_adopted(client, table, name);
    }
    assert_eq!(column(client, "posts", "author_id").0, "bigint");
    assert_left(client, "old", "id", "integer");
    let rows = "SELECT count(*) FROM posts JOIN users ON users.id = author_id";
    assert_eq!(bigint(client, rows), 1);
    client
        .batch_execute("CREATE TABLE new (id serial PRIMARY KEY, post_id integer REFERENCES posts)")
        .expect("a table");
    assert_adopted(client, "new", "id");
    assert_eq!(column(client, "new", "post_id").0, "bigint");
    assert_eq!(bigint(client, "SELECT count(*) FROM snowflake_adopted"), 1);
    assert_eq!(bigint(client, "SELECT count(*) FROM pg_event_trigger"), 1);
}

#[test]
fn an_adoption_survives_dump_and_restore() {
    let (cluster, mut client) = server();
    client.batch_execute(TABLES).expect("tables");
    dump_and_restore(&cluster, "postgres", "restored");
    assert_moved(&mut cluster.connect_to("restored"));
}

/// A dump has foreign keys after the rows of all tables, and thus after the rows of the table of
/// adopted schemas.
#[test]
fn a_restore_converts_references_of_empty_tables() {
    let (cluster, mut client) = server();
    client
        .batch_execute(
            "CREATE TABLE users (id serial PRIMARY KEY); SELECT snowflake_disown('blog');
             CREATE TABLE old (user_id integer REFERENCES users); SELECT snowflake_adopt('blog')",
        )
        .expect("tables");
    assert_eq!(column(&mut client, "old", "user_id").0, "integer");
    client.batch_execute("CREATE DATABASE restored").expect("a database");
    let file = cluster.directory().join("dump.sql");
    for (program, option, database) in
        [("pg_dump", "--file", "postgres"), ("psql", "--file", "restored")]
    {
        let mut command = cluster.client_program(program);
        command.arg(option).arg(&file).args(["--dbname", database]);
        assert!(command.output().expect("the program runs").status.success(), "{program}");
    }
    let mut restored = cluster.connect_to("restored");
    assert_eq!(column(&mut restored, "blog.old", "user_id").0, "bigint");
}

#[test]
fn an_adoption_survives_pg_upgrade() {
    let (mut old, mut client) = server();
    client.batch_execute(TABLES).expect("tables");
    drop(client);
    old.stop();
    let mut new = Cluster::builder().create();
    new.upgrade_from(&old);
    new.start_again();
    assert_moved(&mut new.connect());
}

/// A subscriber's tables are created there, by hand or by a dump of the schema. Rows that are
/// replicated keep their keys, because only statements that create something are converted.
#[test]
fn a_subscriber_keeps_the_keys_that_come() {
    let [publisher, subscriber] = ["1", "2"].map(|worker| {
        Cluster::builder().set("wal_level", "logical").set("snowflake.worker_id", worker).start()
    });
    let [mut from, mut to] = [&publisher, &subscriber].map(Cluster::connect);
    for client in [&mut from, &mut to] {
        client
            .batch_execute(
                "CREATE EXTENSION snowflake_adopt; CREATE SCHEMA blog; SELECT snowflake_adopt('blog');
                 CREATE TABLE blog.users (id serial PRIMARY KEY);
                 CREATE TABLE blog.posts (id serial PRIMARY KEY, author_id integer REFERENCES blog.users)",
            )
            .expect("tables");
    }
    from.batch_execute("CREATE PUBLICATION all_tables FOR TABLES IN SCHEMA blog")
        .expect("a publication");
    let directory = publisher.directory().display();
    to.batch_execute(&format!(
        "CREATE SUBSCRIPTION all_tables CONNECTION 'host={directory} user=postgres dbname=postgres' PUBLICATION all_tables"
    ))
    .expect("a subscription");
    from.batch_execute("WITH u AS (INSERT INTO blog.users DEFAULT VALUES RETURNING id) INSERT INTO blog.posts (author_id) SELECT id FROM u")
        .expect("rows");
    let rows = "SELECT count(*) FROM blog.posts WHERE snowflake_worker_id(id) = 1 AND snowflake_worker_id(author_id) = 1";
    eventually("the row arrives", || bigint(&mut to, rows) == 1);
    to.batch_execute("INSERT INTO blog.users DEFAULT VALUES").expect("a row of its own");
    assert_eq!(
        bigint(&mut to, "SELECT count(*) FROM blog.users WHERE snowflake_worker_id(id) = 2"),
        1
    );
}
