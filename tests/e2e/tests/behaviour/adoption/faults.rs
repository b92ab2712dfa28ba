//! An adoption that fails stops no statement, except by errors that are meant to, such as a cancel.

use postgres::NoTls;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of, interruption};

use super::{assert_adopted, assert_left, column, listening, server, take};

const NOT_CONVERTED: &str = "NOTICE: keys of new tables were not converted to snowflake IDs";

/// Starts the server again with other settings.
fn restart(cluster: &mut Cluster, settings: &[(&str, &str)]) {
    cluster.configure(settings);
    cluster.stop();
    cluster.start_again();
}

#[test]
fn without_the_extension_a_statement_gets_one_notice() {
    let (cluster, mut client) = server();
    client.batch_execute("DROP EXTENSION snowflake").expect("dropped");
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "SET snowflake.adopted_schemas = '*';
             CREATE SCHEMA shop CREATE TABLE one (id bigserial PRIMARY KEY) CREATE TABLE two (id bigserial PRIMARY KEY)
                 CREATE TABLE three (id bigserial PRIMARY KEY, one integer REFERENCES one)",
        )
        .expect("tables");
    for table in ["one", "two", "three"] {
        assert_left(&mut client, &format!("shop.{table}"), "id", "bigint");
    }
    let said = take(&heard);
    assert!(
        said.len() == 1
            && said[0].starts_with(NOT_CONVERTED)
            && said[0].contains("no extension")
            && said[0].ends_with("If it is missing, execute CREATE EXTENSION snowflake."),
        "{said:?}"
    );
    client
        .batch_execute(
            "ALTER TABLE shop.one ADD COLUMN name text; CREATE TABLE shop.keyless (a integer)",
        )
        .expect("no key");
    assert_eq!(take(&heard), [""; 0]);
}

/// A setting for a database is there without the library, and has no effect.
#[test]
fn without_preloading_a_table_stays_as_it_is_written() {
    let (mut cluster, client) = server();
    drop(client);
    restart(&mut cluster, &[("shared_preload_libraries", "")]);
    let (mut client, heard) = listening(&cluster);
    client.batch_execute("CREATE TABLE one (id bigserial PRIMARY KEY)").expect("a table");
    assert_eq!(take(&heard), [""; 0]);
    // Once a function of the extension has loaded the library, the setting is known.
    client
        .batch_execute("SELECT snowflake_timestamp(1); CREATE TABLE two (id bigserial PRIMARY KEY)")
        .expect("a table");
    let said = take(&heard);
    assert!(
        said.len() == 1 && said[0].starts_with(NOT_CONVERTED) && said[0].contains("must be loaded"),
        "{said:?}"
    );
    for table in ["one", "two"] {
        assert_left(&mut client, table, "id", "bigint");
        client.batch_execute(&format!("INSERT INTO {table} DEFAULT VALUES")).expect("a row");
    }
}

#[test]
fn without_an_identity_a_table_stays_as_it_is_written() {
    let (mut cluster, client) = server();
    drop(client);
    restart(&mut cluster, &[("snowflake.worker_id", "-1")]);
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "CREATE TABLE one (id bigserial PRIMARY KEY); INSERT INTO one DEFAULT VALUES",
        )
        .expect("a table");
    assert_left(&mut client, "one", "id", "bigint");
    let said = take(&heard);
    assert!(
        said.len() == 1
            && said[0].starts_with(NOT_CONVERTED)
            && said[0].contains("are not both set. Set both to numbers that no other server has"),
        "{said:?}"
    );
}

/// A server that has lost the library executes every statement that creates something.
#[test]
fn without_the_library_the_setting_has_no_effect() {
    // The directory outlives the cluster, whose server is in it.
    let directory = snowflake_e2e::new_directory();
    let (mut cluster, mut client) = server();
    client.batch_execute("CREATE TABLE adopted (id bigserial PRIMARY KEY)").expect("a table");
    drop(client);
    cluster.stop();
    cluster.configure(&[("shared_preload_libraries", "")]);
    cluster.use_programs(cluster.programs().without_the_extension(directory.path()));
    cluster.start_again();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "SET snowflake.adopted_schemas = 'blog, public';
             CREATE TABLE one (id bigserial PRIMARY KEY, other bigint REFERENCES adopted);
             ALTER TABLE one ADD COLUMN name text; CREATE SCHEMA two; DROP SCHEMA two; ALTER TABLE adopted ADD COLUMN more text;
             INSERT INTO one DEFAULT VALUES",
        )
        .expect("statements");
    assert_left(&mut client, "one", "id", "bigint");
    assert_eq!(take(&heard), [""; 0]);
    let error = error_of(client.batch_execute("INSERT INTO adopted DEFAULT VALUES"));
    assert_eq!(error.code(), &SqlState::UNDEFINED_FILE, "{error}");
    let options = "-c snowflake.adopted_schemas=blog";
    cluster.config().options(options).connect(NoTls).expect("a connection");
}

/// An event trigger of the user's that fails for the statements of an adoption.
const REFUSE: &str = "
    CREATE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF current_query() ~ 'bigserial|IDENTITY' AND tg_tag = $2 THEN $1; END IF;
    END $$;
    CREATE EVENT TRIGGER refuse ON ddl_command_start EXECUTE FUNCTION public.refuse()";

fn refuse(act: &str, tag: &str) -> String {
    REFUSE.replace("$1", act).replace("$2", &format!("'{tag}'"))
}

#[test]
fn a_fault_is_a_warning_and_nothing_stays_half_done() {
    let (cluster, mut client) = server();
    client.batch_execute(&refuse("RAISE 'not today'", "ALTER TABLE")).expect("an event trigger");
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute("CREATE TABLE one (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)")
        .expect("a table");
    assert_eq!(column(&mut client, "one", "id").1, "identity");
    client.batch_execute("INSERT INTO one DEFAULT VALUES").expect("a row");
    assert_eq!(bigint(&mut client, "SELECT id FROM one"), 1);
    let error = error_of(client.batch_execute("DROP SEQUENCE one_id_seq"));
    assert_eq!(error.code(), &SqlState::DEPENDENT_OBJECTS_STILL_EXIST);
    let said = take(&heard);
    assert!(
        said.len() == 1 && said[0].starts_with("WARNING: ") && said[0].contains("Not today."),
        "{said:?}"
    );
    client
        .batch_execute("DROP EVENT TRIGGER refuse; CREATE TABLE two (id bigserial PRIMARY KEY)")
        .expect("a table");
    assert_adopted(&mut client, "two", "id");
}

#[test]
fn a_cancel_ends_the_statement() {
    let (cluster, mut client) = server();
    client.batch_execute(&refuse("PERFORM pg_sleep(60)", "ALTER TABLE")).expect("an event trigger");
    let (mut client, heard) = listening(&cluster);
    client.batch_execute("SET statement_timeout = 300").expect("set");
    let create = "CREATE TABLE posts (id bigserial PRIMARY KEY)";
    assert_eq!(error_of(client.execute(create, &[])).code(), &SqlState::QUERY_CANCELED);
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM pg_class WHERE relname = 'posts'"), 0);
    assert_eq!(take(&heard), [""; 0]);
}

#[test]
fn the_end_of_the_session_ends_the_statement() {
    let (cluster, mut other) = server();
    other.batch_execute(&refuse("PERFORM pg_sleep(60)", "ALTER TABLE")).expect("an event trigger");
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

/// Nothing is locked that the statement has not locked already.
#[test]
fn a_statement_waits_for_nobody() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "CREATE TABLE users (id bigserial PRIMARY KEY); SET statement_timeout = '20s'",
        )
        .expect("a table");
    let mut reader = cluster.connect();
    reader
        .batch_execute("BEGIN; SELECT FROM blog.users; LOCK blog.users IN ROW EXCLUSIVE MODE")
        .ok();
    reader.batch_execute("ROLLBACK; BEGIN; SELECT FROM blog.users").expect("a reader");
    client
        .batch_execute("CREATE TABLE posts (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, author integer REFERENCES users)")
        .expect("a table");
    assert_adopted(&mut client, "posts", "id");
    assert_eq!(take(&heard).len(), 1);
}

#[test]
fn sessions_that_create_and_drop_do_not_deadlock() {
    let cluster = Cluster::builder().set("log_lock_waits", "on").start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE EXTENSION IF NOT EXISTS snowflake; ALTER DATABASE postgres SET snowflake.adopted_schemas = 'blog';
             CREATE SCHEMA blog; CREATE SCHEMA other;
             CREATE TABLE blog.users (id bigserial PRIMARY KEY); CREATE TABLE other.users (id bigserial PRIMARY KEY);
             INSERT INTO blog.users DEFAULT VALUES",
        )
        .expect("set up");
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

/// A session that a statement has failed in goes on.
#[test]
fn a_statement_that_fails_leaves_nothing_behind() {
    let (_cluster, mut client) = server();
    for _ in 0..3 {
        error_of(client.batch_execute(
            "CREATE TABLE bad (id bigserial PRIMARY KEY, r bigint REFERENCES nowhere)",
        ));
        error_of(client.batch_execute(
            "CREATE SCHEMA blog2 CREATE TABLE one (id bigserial PRIMARY KEY) CREATE TABLE two (id nothing)",
        ));
    }
    client.batch_execute("CREATE TABLE good (id bigserial PRIMARY KEY)").expect("a table");
    assert_adopted(&mut client, "good", "id");
}
