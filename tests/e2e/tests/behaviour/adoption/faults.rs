//! A conversion that fails stops no statement, except by errors that are meant to, such as a
//! cancel.

use std::time::{Duration, Instant};

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of, interruption};

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

/// The statement has locked the table that the foreign key refers to. If it waited in the queue for
/// other sessions, it would deadlock with one of them that waits for this lock.
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
    assert!(said.len() == 1 && said[0].contains("Could not lock relation blog.users"), "{said:?}");
    reader.batch_execute("COMMIT").expect("done");
    client.batch_execute("CREATE TABLE more (author integer REFERENCES users)").expect("a table");
    assert_eq!(column(&mut client, "more", "author").0, "bigint");
}

/// How long a statement takes at most if it does not wait for a lock that lasts.
const SOON: Duration = Duration::from_secs(10);

/// Executes the statement while the other session keeps what it has locked.
#[track_caller]
fn assert_soon(client: &mut Client, statement: &str) {
    let begin = Instant::now();
    client.batch_execute(statement).expect(statement);
    assert!(begin.elapsed() < SOON, "{statement}: {:?}", begin.elapsed());
}

/// A statement does not wait for a locked table that it does not name, even if a function or a
/// default of that table looks as if it had to do with keys.
#[test]
fn tables_of_others_are_not_waited_for() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "CREATE TABLE users (id serial PRIMARY KEY);
             CREATE FUNCTION public.half(i integer) RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN i / 2; END';
             CREATE SCHEMA other;
             CREATE TABLE other.plain (user_id integer DEFAULT 1 CHECK (user_id > 0));
             CREATE FUNCTION other.rows() RETURNS bigint LANGUAGE sql
                 BEGIN ATOMIC SELECT count(*) FROM other.plain; END",
        )
        .expect("tables");
    let mut other = cluster.connect();
    other.batch_execute("BEGIN; LOCK other.plain").expect("a lock");
    assert_soon(
        &mut client,
        "CREATE TABLE posts (id serial PRIMARY KEY, author integer REFERENCES users)",
    );
    assert_eq!(column(&mut client, "posts", "author").0, "bigint");
    assert_eq!(take(&heard), [""; 0]);
}

/// Relations that are read before a table is locked, such as those that views read, are not waited
/// for in the queue either.
#[test]
fn what_views_read_is_not_waited_for_in_the_queue() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "CREATE TABLE users (id serial PRIMARY KEY);
             CREATE TABLE posts (author integer UNIQUE); CREATE TABLE answers (author integer REFERENCES posts (author));
             CREATE TABLE words (word text);
             CREATE VIEW seen AS SELECT author, word FROM posts, words",
        )
        .expect("tables");
    for table in ["words", "answers"] {
        let mut other = cluster.connect();
        other.batch_execute(&format!("BEGIN; LOCK blog.{table}")).expect("a lock");
        let add = "ALTER TABLE posts ADD FOREIGN KEY (author) REFERENCES users";
        assert_soon(&mut client, add);
        assert_eq!(column(&mut client, "posts", "author").0, "integer");
        let said = take(&heard);
        let reason = format!("Could not lock relation blog.{table}.");
        assert!(said.len() == 1 && said[0].contains(&reason), "{said:?}");
    }
}

/// However many columns there are, a statement waits for `deadlock_timeout` altogether.
#[test]
fn a_statement_is_patient_once() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute("CREATE TABLE users (id serial PRIMARY KEY); SET deadlock_timeout = '4s'")
        .expect("a table");
    let mut reader = cluster.connect();
    reader.batch_execute("BEGIN; SELECT FROM blog.users").expect("a reader");
    let columns = ["a", "b", "c", "d"].map(|name| format!("{name} integer REFERENCES users"));
    assert_soon(&mut client, &format!("CREATE TABLE posts ({})", columns.join(", ")));
    assert_eq!(take(&heard).len(), 4);
}

/// A session that drops the extension, or adopts a schema, and does not commit stops no other
/// session.
#[test]
fn a_transaction_that_stays_open_stops_no_statement() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client.batch_execute("CREATE SCHEMA old; CREATE SCHEMA mine").expect("schemas");
    client.batch_execute("SELECT snowflake_adopt('old')").expect("adopted");
    let mut other = cluster.connect();
    other.batch_execute("BEGIN; SELECT snowflake_adopt('mine')").expect("adopted");
    assert_soon(&mut client, "DROP SCHEMA old");
    assert!(take(&heard)[0].contains("the adoption of schemas that are gone was not ended"));
    other.batch_execute("COMMIT").expect("committed");
    // Whoever creates a schema of this name has not adopted it.
    client
        .batch_execute("CREATE SCHEMA old; CREATE TABLE old.one (id serial PRIMARY KEY)")
        .expect("a schema");
    assert_left(&mut client, "old.one", "id", "integer");
    let heard_now = take(&heard);
    assert!(heard_now[0].contains("schema \"old\" is no longer adopted"), "{heard_now:?}");

    other.batch_execute("BEGIN; DROP EXTENSION snowflake_adopt").expect("dropped");
    for statement in
        ["CREATE TABLE one (id serial PRIMARY KEY)", "CREATE SCHEMA two", "DROP SCHEMA two"]
    {
        assert_soon(&mut client, statement);
    }
    assert_left(&mut client, "one", "id", "integer");
    let heard = take(&heard);
    assert!(heard.iter().all(|entry| entry.contains("were not looked at")), "{heard:?}");
}

/// A schema cannot be dropped before the transaction that adopts it ends, so that no row is left of
/// a schema that is gone.
#[test]
fn a_schema_that_is_being_adopted_is_not_dropped() {
    let (cluster, mut client) = server();
    client.batch_execute("CREATE SCHEMA old").expect("a schema");
    client.batch_execute("BEGIN; SELECT snowflake_adopt('old')").expect("adopted");
    let mut other = cluster.connect();
    other.batch_execute("SET lock_timeout = '200ms'").expect("set");
    let error = error_of(other.batch_execute("DROP SCHEMA old"));
    assert_eq!(error.code(), &SqlState::LOCK_NOT_AVAILABLE, "{error}");
    client.batch_execute("COMMIT").expect("committed");
    other.batch_execute("DROP SCHEMA old").expect("dropped");
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM snowflake_adopted"), 1);

    // A transaction that keeps its snapshot sees what is gone.
    client.batch_execute("CREATE SCHEMA old").expect("a schema");
    client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").expect("a snapshot");
    other.batch_execute("DROP SCHEMA old").expect("dropped");
    let error = error_of(client.batch_execute("SELECT snowflake_adopt('old')"));
    assert_eq!(error.code(), &SqlState::INVALID_SCHEMA_NAME, "{error}");
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

#[test]
fn the_end_of_the_session_ends_the_statement() {
    let (cluster, mut other) = server();
    let (mut client, heard) = listening(&cluster);
    client.batch_execute("CREATE TABLE users (id serial PRIMARY KEY)").expect("a table");
    client.batch_execute("SET deadlock_timeout = '60s'").expect("set");
    let session: i32 = client.query_one("SELECT pg_backend_pid()", &[]).expect("a number").get(0);
    let mut reader = cluster.connect();
    reader.batch_execute("BEGIN; SELECT FROM blog.users").expect("a reader");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // While the statement tries to lock the other table.
            std::thread::sleep(Duration::from_millis(300));
            other.execute("SELECT pg_terminate_backend($1)", &[&session]).expect("terminated");
        });
        let create = "CREATE TABLE posts (author integer REFERENCES users)";
        let error = client.execute(create, &[]).expect_err("the session has ended");
        assert_eq!(interruption(&error), &SqlState::ADMIN_SHUTDOWN, "{error}");
    });
    let ended = "FATAL:  terminating connection due to administrator command";
    assert!(cluster.log().contains(ended), "another reason");
    assert_eq!(take(&heard), [""; 0]);
    assert_eq!(bigint(&mut other, "SELECT count(*) FROM pg_class WHERE relname = 'posts'"), 0);
}

/// Without the library, its event trigger cannot run. docs/adoption.md says what to do.
#[test]
fn without_the_library_the_extension_can_be_dropped() {
    // The directory outlives the cluster, whose server is in it.
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
                // An integer needs a lock on the table that it refers to.
                let author = if session % 4 == 2 { "integer" } else { "bigint" };
                for round in 0..6 {
                    let table = format!("{schema}.posts_{session}");
                    client
                        .batch_execute(&format!(
                            "CREATE TABLE {table} (id serial PRIMARY KEY, author {author} REFERENCES {schema}.users);
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
