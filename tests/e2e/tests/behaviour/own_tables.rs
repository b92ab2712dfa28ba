//! The extension's tables are written with the rights of their owner, a superuser. No code of
//! others runs then, and no other table is written.

use std::fs;
use std::thread;

use postgres::Client;
use snowflake_e2e::{Cluster, Programs, Run, bigint, error_of, eventually, new_directory, refusal};

pub const CLAIMS: &str = "snowflake_internal.snowflake_node_claims";
pub const LAYOUT: &str = "snowflake_internal.snowflake_layout";

/// Statements that write the tables.
pub const CLAIM: &str = "SELECT snowflake_claim_node('db-1')";
pub const CONFIRM: &str = "SELECT snowflake_confirm('layout')";

/// Functions that say who runs them, and try to make mallory a superuser.
const SPIES: &str = "
    CREATE FUNCTION mallory.act() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        RAISE LOG 'spy runs as %', current_user;
        ALTER ROLE mallory SUPERUSER;
    EXCEPTION WHEN OTHERS THEN NULL;
    END $$;
    CREATE FUNCTION mallory.spy() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM mallory.act(); RETURN NEW; END $$;
    CREATE FUNCTION mallory.value() RETURNS integer LANGUAGE plpgsql IMMUTABLE AS
        $$ BEGIN PERFORM mallory.act(); RETURN 1; END $$;";

/// A database of its own, in which mallory has spies, and was given all that a superuser can give
/// by mistake before the extension was created by the owner of the database, and after.
pub fn start(programs: Programs) -> Cluster {
    let cluster = Cluster::builder().programs(programs).start();
    cluster.run("CREATE ROLE owner LOGIN CREATEDB; CREATE ROLE mallory LOGIN");
    let mut owner = cluster.create_database("owner", "theirs");
    cluster.run_in(
        "theirs",
        "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO mallory;
         ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO mallory;
         CREATE SCHEMA mallory AUTHORIZATION mallory",
    );
    cluster.connect_as("mallory", "theirs").run(SPIES);
    owner.run("CREATE EXTENSION snowflake; SELECT snowflake_claim_node('db-0', worker_id => 9)");
    cluster.run_in("theirs", "GRANT ALL ON ALL TABLES IN SCHEMA public TO mallory");
    cluster
}

/// Asserts that mallory's code has not run, and that mallory is nobody.
#[track_caller]
pub fn assert_no_spy(cluster: &Cluster) {
    cluster.assert_not_logged("LOG:  spy runs as");
    let superusers = "SELECT count(*) FROM pg_roles WHERE rolname = 'mallory' AND rolsuper";
    assert_eq!(cluster.bigint(superusers), 0);
}

/// The same, and that the tables are as they were.
#[track_caller]
pub fn assert_no_mark(cluster: &Cluster) {
    assert_no_spy(cluster);
    let claims =
        "SELECT count(*) FROM snowflake_nodes WHERE name <> 'db-0' OR released_at IS NOT NULL";
    assert_eq!(bigint(&mut cluster.connect_to("theirs"), claims), 0);
}

/// Returns the number of sessions that wait for a lock.
pub fn waiting(cluster: &Cluster) -> i64 {
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    bigint(&mut cluster.connect_to("theirs"), waiting)
}

/// A trigger that is created while the call waits for its lock comes before it.
#[test]
fn a_claim_that_waits_for_a_trigger_of_others_does_not_run_it() {
    let cluster = start(Programs::from_env());
    let mut client = cluster.connect_to("theirs");
    for (table, call) in [(CLAIMS, CLAIM), (LAYOUT, CONFIRM)] {
        let make = format!(
            "CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON {table}
             FOR EACH ROW EXECUTE FUNCTION mallory.spy()"
        );
        client.run(&format!("GRANT TRIGGER ON {table} TO mallory"));
        client.run(&format!("BEGIN; LOCK TABLE {table} IN ROW EXCLUSIVE MODE"));
        thread::scope(|scope| {
            let creation = scope.spawn(|| cluster.connect_as("mallory", "theirs").run(&make));
            eventually("one waits", || waiting(&cluster) == 1);
            let called = scope.spawn(|| cluster.connect_to("theirs").query(call, &[]));
            eventually("both wait", || waiting(&cluster) == 2);
            client.run("COMMIT");
            creation.join().expect("a trigger");
            let error = refusal(called.join().expect("a session"));
            let message = format!("table {table} has objects that the extension did not create");
            assert_eq!(error.message(), message);
            let found = format!(": trigger spy on table {table}.");
            assert!(error.detail().is_some_and(|detail| detail.ends_with(&found)), "{error:?}");
        });
        assert_no_mark(&cluster);
    }
}

/// A table of this name of another extension, which dumps its rows, too.
#[test]
fn a_table_of_another_extension_is_not_written() {
    let directory = new_directory();
    let programs = Programs::from_env().copy(directory.path());
    let tables = ["snowflake_layout", "snowflake_node_claims"].map(|table| {
        format!(
            "CREATE TABLE @extschema@.{table} (LIKE snowflake_internal.{table} INCLUDING ALL);
             SELECT pg_catalog.pg_extension_config_dump('@extschema@.{table}', '');
             CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON @extschema@.{table}
                 FOR EACH ROW EXECUTE FUNCTION mallory.spy();"
        )
    });
    let control = "default_version = '1'\nsuperuser = false\nrelocatable = false\n";
    for (file, text) in [("mimic.control", control), ("mimic--1.sql", &tables.concat())] {
        fs::write(programs.extensions().join(file), text).expect("a file of the copy");
    }
    let cluster = start(programs);
    let mut client = cluster.connect_to("theirs");
    client.run(&format!("GRANT CREATE ON DATABASE theirs TO mallory; DELETE FROM {LAYOUT}"));
    cluster.connect_as("mallory", "theirs").run(
        "CREATE SCHEMA later; CREATE EXTENSION mimic SCHEMA later;
         GRANT USAGE ON SCHEMA mallory, later TO PUBLIC",
    );
    assert_no_mark(&cluster);
    client.run(&format!("SET search_path = later, public; {CLAIM}; {CONFIRM}"));
    client.run("SELECT snowflake_release_node('db-1', issued_until => now(), fenced => true)");
    for (table, rows) in [(CLAIMS, 2), (LAYOUT, 1)] {
        assert_eq!(bigint(&mut client, &format!("SELECT count(*) FROM {table}")), rows);
        let theirs = table.replace("snowflake_internal", "later");
        assert_eq!(bigint(&mut client, &format!("SELECT count(*) FROM {theirs}")), 0);
    }
    client.run(&format!("DELETE FROM {CLAIMS} WHERE name <> 'db-0'"));
    assert_no_mark(&cluster);
}

/// As SECURITY.md says, they can have an identity given twice, and change the layout that dumps
/// carry.
#[test]
fn members_of_pg_write_all_data_change_what_security_says() {
    let page = include_str!("../../../../SECURITY.md");
    let row = page.lines().find(|line| line.starts_with("members of `pg_write_all_data` | "));
    let row = row.expect("a row of the table");
    assert!(row.contains("an identity given twice") && row.contains("another layout"), "{row}");

    let cluster = start(Programs::from_env());
    cluster.run("CREATE ROLE writer LOGIN IN ROLE pg_write_all_data");
    let mut client = cluster.connect_to("theirs");
    let claimed = |client: &mut Client, node: &str| {
        client.run(&format!("SELECT snowflake_claim_node('{node}')"));
        let number = format!("SELECT worker_id::bigint FROM snowflake_nodes WHERE name = '{node}'");
        bigint(client, &number)
    };
    let first = claimed(&mut client, "db-1");
    let mut writer = cluster.connect_as("writer", "theirs");
    writer.run(&format!("DELETE FROM {CLAIMS} WHERE name = 'db-1'"));
    assert_eq!(claimed(&mut client, "db-2"), first);
    writer.run(&format!("UPDATE {LAYOUT} SET sequence_bits = 13, worker_bits = 4"));
    let carried = format!("SELECT sequence_bits::bigint FROM {LAYOUT}");
    assert_eq!(bigint(&mut client, &carried), 13);
    // Their rows are judged as those of others.
    let insert = format!("INSERT INTO {CLAIMS} VALUES (0, 0, 'db-3', now(), NULL, NULL)");
    error_of(writer.batch_execute(&insert));
    assert_no_spy(&cluster);
}
