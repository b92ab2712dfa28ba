//! What goes wrong stops no statement, but for what is meant to.

use std::time::{Duration, Instant};

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of};

use super::{assert_left, column, listening, server, take};

#[test]
fn without_preloading_a_statement_succeeds_with_a_warning() {
    let (mut cluster, client) = server();
    drop(client);
    cluster.configure(&[("shared_preload_libraries", "")]);
    cluster.stop();
    cluster.start_again();
    let (mut client, heard) = listening(&cluster);
    client.batch_execute("CREATE TABLE one (id serial PRIMARY KEY)").expect("a table");
    assert_left(&mut client, "one", "id", "integer");
    client.batch_execute("INSERT INTO one DEFAULT VALUES").expect("a row");
    let heard = take(&heard);
    assert!(
        heard.len() == 1
            && heard[0].starts_with(
                "WARNING: column id of table blog.one could not be converted to snowflake IDs"
            )
            && heard[0].contains("must be loaded"),
        "{heard:?}"
    );
}

#[test]
fn an_obstacle_is_a_warning_and_nothing_stays_half_done() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute("CREATE TABLE one (id serial PRIMARY KEY CHECK (id < 1000), name text)")
        .expect("a table");
    assert_left(&mut client, "one", "id", "integer");
    client.batch_execute("INSERT INTO one DEFAULT VALUES").expect("a row");
    let heard = take(&heard);
    assert!(
        heard.len() == 1 && heard[0].starts_with("WARNING: ") && heard[0].contains("one_id_check"),
        "{heard:?}"
    );
}

#[test]
fn a_repeatable_read_transaction_is_told_why() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; CREATE TABLE one (id serial PRIMARY KEY); COMMIT")
        .expect("a table");
    assert_left(&mut client, "one", "id", "integer");
    let heard = take(&heard);
    assert!(heard.len() == 1 && heard[0].contains("REPEATABLE READ"), "{heard:?}");
}

/// The statement has locked the table of the foreign key, so waiting for others would be a deadlock
/// with a session that waits for this one.
#[test]
fn readers_of_the_other_table_are_not_waited_for_in_the_queue() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client.batch_execute("CREATE TABLE users (id serial PRIMARY KEY)").expect("a table");
    let mut reader = cluster.connect();
    reader.batch_execute("BEGIN; SELECT FROM blog.users").expect("a reader");
    let begin = Instant::now();
    client.batch_execute("CREATE TABLE posts (author integer REFERENCES users)").expect("a table");
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(column(&mut client, "posts", "author").0, "integer");
    let said = take(&heard);
    assert!(said.len() == 1 && said[0].contains("Could not lock table blog.users"), "{said:?}");
    reader.batch_execute("COMMIT").expect("done");
    client.batch_execute("CREATE TABLE more (author integer REFERENCES users)").expect("a table");
    assert_eq!(column(&mut client, "more", "author").0, "bigint");
}

#[test]
fn a_cancel_ends_the_statement() {
    let (cluster, _client) = server();
    let (mut client, _heard) = listening(&cluster);
    client
        .batch_execute("CREATE TABLE users (id serial PRIMARY KEY); SET statement_timeout = 300")
        .expect("a table");
    let mut reader = cluster.connect();
    reader.batch_execute("BEGIN; SELECT FROM blog.users").expect("a reader");
    let create = "CREATE TABLE posts (author integer REFERENCES users)";
    assert_eq!(error_of(client.execute(create, &[])).code(), &SqlState::QUERY_CANCELED);
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM pg_class WHERE relname = 'posts'"), 0);
}

/// Without the library, no event trigger of it can run. The page says what to do.
#[test]
fn without_the_library_the_extension_can_be_dropped() {
    // It outlives the cluster, whose server is in it.
    let directory = snowflake_e2e::new_directory();
    let (mut cluster, client) = server();
    drop(client);
    cluster.stop();
    cluster.configure(&[("shared_preload_libraries", "")]);
    cluster.use_programs(cluster.programs().without_the_extension(directory.path()));
    cluster.start_again();
    let mut client = cluster.connect();
    let create = "CREATE TABLE one (id integer)";
    let error = error_of(client.batch_execute(create));
    assert_eq!(error.code(), &SqlState::UNDEFINED_FILE, "{error}");
    client.batch_execute("DROP EXTENSION snowflake_adopt").expect("dropped");
    client.batch_execute(create).expect("a table");
}

#[test]
fn sessions_that_create_and_drop_do_not_deadlock() {
    let cluster = Cluster::builder().set("log_lock_waits", "on").start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE EXTENSION IF NOT EXISTS snowflake; CREATE EXTENSION snowflake_adopt;
             CREATE SCHEMA blog; SELECT snowflake_adopt('blog'); CREATE SCHEMA other;
             CREATE TABLE blog.users (id serial PRIMARY KEY); CREATE TABLE other.users (id serial PRIMARY KEY);
             INSERT INTO blog.users DEFAULT VALUES",
        )
        .expect("set up");
    std::thread::scope(|scope| {
        for session in 0..16 {
            let cluster = &cluster;
            scope.spawn(move || {
                let mut client = cluster.connect();
                let schema = if session % 4 == 3 { "other" } else { "blog" };
                for round in 0..6 {
                    let table = format!("{schema}.posts_{session}");
                    client
                        .batch_execute(&format!(
                            "CREATE TABLE {table} (id serial PRIMARY KEY, author bigint REFERENCES {schema}.users);
                             SELECT count(*) FROM {schema}.users;
                             DROP TABLE {table}"
                        ))
                        .unwrap_or_else(|error| panic!("session {session}, round {round}: {error:?}"));
                }
            });
        }
    });
    assert!(!cluster.log().contains("deadlock detected"), "{}", cluster.log());
}
