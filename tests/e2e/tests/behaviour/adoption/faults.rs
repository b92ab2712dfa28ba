//! Faults around an adoption that a scenario cannot show.

use postgres::NoTls;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, Run, at_once, bigint, error_of, eventually, interruption};

use super::{assert_left, listening, server};

/// A server that has lost the library executes every statement that creates something.
#[test]
fn without_the_library_the_setting_has_no_effect() {
    // The directory outlives the cluster, whose server is in it.
    let directory = snowflake_e2e::new_directory();
    let (mut cluster, mut client) = server();
    client.run("CREATE TABLE adopted (id bigserial PRIMARY KEY)");
    cluster.stop();
    cluster.configure(&[("shared_preload_libraries", "")]);
    cluster.use_programs(cluster.programs().without_the_extension(directory.path()));
    cluster.start_again();
    let (mut client, notices) = listening(&cluster);
    client.run(
        "SET snowflake.adopted_schemas = 'blog, public';
         CREATE TABLE one (id bigserial PRIMARY KEY, other bigint REFERENCES adopted);
         ALTER TABLE one ADD COLUMN name text; CREATE SCHEMA two; DROP SCHEMA two; ALTER TABLE adopted ADD COLUMN more text;
         INSERT INTO one DEFAULT VALUES",
    );
    assert_left(&mut client, "one", "id", "bigint");
    assert_eq!(notices.try_iter().collect::<Vec<_>>(), []);
    let error = error_of(client.batch_execute("INSERT INTO adopted DEFAULT VALUES"));
    assert_eq!(error.code(), &SqlState::UNDEFINED_FILE, "{error}");
    let options = "-c snowflake.adopted_schemas=blog";
    cluster.config().options(options).connect(NoTls).expect("a connection");
}

#[test]
fn the_end_of_the_session_ends_the_statement() {
    let (cluster, mut other) = server();
    other.run(
        "CREATE FUNCTION public.wait() RETURNS event_trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF current_query() ~ 'bigserial' AND tg_tag = 'ALTER TABLE' THEN PERFORM pg_sleep(60); END IF;
         END $$;
         CREATE EVENT TRIGGER wait ON ddl_command_start EXECUTE FUNCTION public.wait()",
    );
    let (mut client, notices) = listening(&cluster);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE wait_event = 'PgSleep'";
            eventually("it sleeps", || bigint(&mut other, end) == 1);
        });
        let create = "CREATE TABLE posts (id bigserial PRIMARY KEY)";
        let error = client.execute(create, &[]).expect_err("the session has ended");
        assert_eq!(interruption(&error), &SqlState::ADMIN_SHUTDOWN, "{error}");
    });
    assert_eq!(notices.try_iter().collect::<Vec<_>>(), []);
}

#[test]
fn sessions_that_create_and_drop_do_not_deadlock() {
    let cluster = Cluster::builder().set("log_lock_waits", "on").start();
    let mut client = cluster.connect();
    client.run(
        "CREATE EXTENSION IF NOT EXISTS snowflake; ALTER DATABASE postgres SET snowflake.adopted_schemas = 'blog';
         CREATE SCHEMA blog; CREATE SCHEMA other;
         CREATE TABLE blog.users (id bigserial PRIMARY KEY); CREATE TABLE other.users (id bigserial PRIMARY KEY);
         INSERT INTO blog.users DEFAULT VALUES",
    );
    at_once(12, |session| {
        let mut client = cluster.connect();
        let schema = ["blog", "blog", "blog", "other"][session % 4];
        let key = ["bigserial", "bigint GENERATED ALWAYS AS IDENTITY"][session % 2];
        let table = format!("{schema}.posts_{session}");
        for _ in 0..6 {
            client.run(&format!(
                "CREATE TABLE {table} (id {key} PRIMARY KEY, author bigint REFERENCES {schema}.users);
                 SELECT count(*) FROM {schema}.users;
                 DROP TABLE {table}"
            ));
        }
    });
    cluster.assert_not_logged("deadlock detected");
}

#[test]
fn tables_of_extensions_are_left_alone() {
    let (cluster, _client) = server();
    let extensions = cluster.programs().extensions();
    let write = |name: &str, text: &str| {
        std::fs::write(extensions.join(name), text).expect("a file of an extension");
    };
    write("with_a_table.control", "default_version = '1'\n");
    write("with_a_table--1.sql", "CREATE TABLE @extschema@.theirs (id bigserial PRIMARY KEY);\n");
    let (mut client, notices) = listening(&cluster);
    client.run("CREATE EXTENSION with_a_table SCHEMA blog");
    assert_left(&mut client, "theirs", "id", "bigint");
    assert_eq!(notices.try_iter().collect::<Vec<_>>(), []);
}

/// ALTER TABLE ONLY does not lock partitions of partitions, so others can drop them meanwhile. The
/// server goes on, whatever was found of them.
#[test]
fn partitions_that_are_dropped_meanwhile_do_no_harm() {
    let (cluster, mut client) = server();
    client.run(
        "CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY) PARTITION BY hash (id);
         CREATE TABLE part PARTITION OF events FOR VALUES WITH (MODULUS 1, REMAINDER 0)
             PARTITION BY hash (id);
         DO $$ BEGIN FOR i IN 0..399 LOOP
             EXECUTE format('CREATE TABLE leaf%s PARTITION OF part
                                 FOR VALUES WITH (MODULUS 400, REMAINDER %s)', i, i);
         END LOOP; END $$",
    );
    let mut other = cluster.connect();
    std::thread::scope(|scope| {
        let drops = scope.spawn(move || {
            for number in (0..400).rev() {
                // It might be what ends a deadlock.
                let _ = other.batch_execute(&format!("DROP TABLE blog.leaf{number}"));
            }
        });
        eventually("all are dropped", || {
            let adopt = "BEGIN; ALTER TABLE ONLY events ADD PRIMARY KEY (id); ROLLBACK";
            if let Err(error) = client.batch_execute(adopt) {
                assert!(error.as_db_error().is_some(), "the server ended: {error}");
                client.run("ROLLBACK");
            }
            drops.is_finished()
        });
        drops.join().expect("a session");
    });
    client.run("SELECT");
}

/// A session finds the function, and then waits for the names of schemas, which VACUUM FULL locks,
/// until another one has dropped the extension with its schema. The server goes on.
#[test]
fn an_extension_that_is_dropped_with_its_schema_meanwhile_does_no_harm() {
    let (cluster, mut client) = server();
    client.run(
        "DROP EXTENSION snowflake; CREATE SCHEMA ours; CREATE EXTENSION snowflake SCHEMA ours",
    );
    let (mut dropping, mut reading) = (cluster.connect(), cluster.connect());
    // The rows of pg_namespace that a CREATE TABLE reads are in the session's caches then.
    client.run(
        "RESET search_path; SET snowflake.adopted_schemas = '';
         CREATE TABLE blog.zero (id bigserial PRIMARY KEY); SET snowflake.adopted_schemas = 'blog'",
    );
    dropping.run("BEGIN; DROP EXTENSION snowflake; DROP SCHEMA ours");
    reading.run("BEGIN; SELECT FROM pg_namespace");
    // In another database, where nothing waits for names.
    let mut watching = cluster.connect_as("postgres", "template1");
    let mut wait_for = |waiting| {
        let query = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 2615";
        eventually("they wait", || bigint(&mut watching, query) == waiting);
    };
    let mut vacuum = cluster.connect();
    std::thread::scope(|scope| {
        scope.spawn(move || vacuum.run("VACUUM FULL pg_namespace"));
        wait_for(1);
        scope.spawn(|| client.run("CREATE TABLE blog.one (id bigserial PRIMARY KEY)"));
        wait_for(2);
        dropping.run("COMMIT");
        reading.run("COMMIT");
    });
    assert_left(&mut client, "blog.one", "id", "bigint");
}
