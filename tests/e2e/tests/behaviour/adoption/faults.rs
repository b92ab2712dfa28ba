//! What can be wrong around an adoption, where a scenario cannot show it.

use postgres::NoTls;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, Run, bigint, error_of, interruption};

use super::{assert_left, listening, server, take};

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
    let (mut client, heard) = listening(&cluster);
    client.run(
        "SET snowflake.adopted_schemas = 'blog, public';
         CREATE TABLE one (id bigserial PRIMARY KEY, other bigint REFERENCES adopted);
         ALTER TABLE one ADD COLUMN name text; CREATE SCHEMA two; DROP SCHEMA two; ALTER TABLE adopted ADD COLUMN more text;
         INSERT INTO one DEFAULT VALUES",
    );
    assert_left(&mut client, "one", "id", "bigint");
    assert_eq!(take(&heard), [""; 0]);
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
    let (mut client, heard) = listening(&cluster);
    let session: i32 = client.query_one("SELECT pg_backend_pid()", &[]).expect("a number").get(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let sleeps = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
            snowflake_e2e::eventually("it sleeps", || bigint(&mut other, sleeps) == 1);
            other.execute("SELECT pg_terminate_backend($1)", &[&session]).expect("terminated");
        });
        let create = "CREATE TABLE posts (id bigserial PRIMARY KEY)";
        let error = client.execute(create, &[]).expect_err("the session has ended");
        assert_eq!(interruption(&error), &SqlState::ADMIN_SHUTDOWN, "{error}");
    });
    assert_eq!(take(&heard), [""; 0]);
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
    std::thread::scope(|scope| {
        for session in 0..12 {
            let cluster = &cluster;
            scope.spawn(move || {
                let mut client = cluster.connect();
                let schema = if session % 4 == 3 { "other" } else { "blog" };
                let key = if session % 2 == 0 { "bigserial" } else { "bigint GENERATED ALWAYS AS IDENTITY" };
                for round in 0..6 {
                    let table = format!("{schema}.posts_{session}");
                    client
                        .batch_execute(&format!(
                            "CREATE TABLE {table} (id {key} PRIMARY KEY, author bigint REFERENCES {schema}.users);
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

#[test]
fn a_value_that_is_no_list_stops_the_start() {
    let start = Cluster::builder().set("snowflake.adopted_schemas", "a,,b").try_start();
    let log = start.err().expect("no start");
    assert!(log.contains("invalid value for parameter \"snowflake.adopted_schemas\""), "{log}");
}
