//! The extension's tables are written with the rights of their owner, a superuser. No code of others
//! runs then, and no other table is written.

use std::fs;
use std::thread;

use postgres::error::{DbError, SqlState};
use postgres::{Client, NoTls};
use snowflake_e2e::{Cluster, Programs, bigint, error_of, eventually, new_directory};

pub const CLAIMS: &str = "snowflake_internal.snowflake_node_claims";
pub const LAYOUT: &str = "snowflake_internal.snowflake_layout";

/// What writes the tables.
pub const CLAIM: &str = "SELECT snowflake_claim_node('db-1')";
const RELEASE: &str =
    "SELECT snowflake_release_node('db-0', issued_until => clock_timestamp(), fenced => true)";
pub const CONFIRM: &str = "SELECT snowflake_confirm('layout')";

/// Functions that say who runs them, and try to make mallory a superuser, but not in a session
/// in which they sleep.
const SPIES: &str = "
    CREATE FUNCTION mallory.act() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF current_setting('spy.sleeps', true)::boolean THEN RETURN; END IF;
        RAISE LOG 'spy runs as %', current_user;
        ALTER ROLE mallory SUPERUSER;
    EXCEPTION WHEN OTHERS THEN NULL;
    END $$;
    CREATE FUNCTION mallory.spy() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM mallory.act(); RETURN NEW; END $$;
    CREATE FUNCTION mallory.value() RETURNS integer LANGUAGE plpgsql IMMUTABLE AS
        $$ BEGIN PERFORM mallory.act(); RETURN 1; END $$;";

/// A database of its own, in which mallory has spies, and was given all that a superuser can give by
/// mistake before the extension was created by the owner of the database, and after.
pub fn start() -> Cluster {
    prepare(Cluster::start())
}

fn prepare(cluster: Cluster) -> Cluster {
    for command in [
        "CREATE ROLE owner LOGIN",
        "CREATE ROLE mallory LOGIN",
        "CREATE DATABASE theirs OWNER owner",
    ] {
        cluster.connect().batch_execute(command).expect(command);
    }
    superuser(&cluster)
        .batch_execute(
            "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO mallory;
             ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO mallory;
             CREATE SCHEMA mallory AUTHORIZATION mallory",
        )
        .expect("privileges");
    session(&cluster, "mallory").batch_execute(SPIES).expect("spies");
    session(&cluster, "owner")
        .batch_execute(
            "CREATE EXTENSION snowflake; SELECT snowflake_claim_node('db-0', worker_id => 9)",
        )
        .expect("the extension");
    superuser(&cluster)
        .batch_execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO mallory")
        .expect("privileges");
    cluster
}

pub fn session(cluster: &Cluster, user: &str) -> Client {
    cluster.config().user(user).dbname("theirs").connect(NoTls).expect("a session")
}

pub fn superuser(cluster: &Cluster) -> Client {
    cluster.connect_to("theirs")
}

/// Asserts that mallory's code has not run, that mallory is nobody, and that the tables are as they
/// were.
#[track_caller]
pub fn assert_no_mark(cluster: &Cluster) {
    let log = cluster.log();
    assert!(!log.contains("LOG:  spy runs as"), "{log}");
    let mut client = superuser(cluster);
    client.batch_execute("SET spy.sleeps = true").expect("a setting");
    let superusers = "SELECT count(*) FROM pg_roles WHERE rolname = 'mallory' AND rolsuper";
    assert_eq!(bigint(&mut client, superusers), 0);
    let claims =
        "SELECT count(*) FROM snowflake_nodes WHERE name <> 'db-0' OR released_at IS NOT NULL";
    assert_eq!(bigint(&mut client, claims), 0);
}

/// Asserts that an error says that this table has objects that the extension did not create, and what.
#[track_caller]
fn assert_refused(error: &DbError, table: &str, found: &str) {
    assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
    let message = format!("table {table} has objects that the extension did not create");
    assert_eq!((error.message(), error.hint()), (&*message, Some("Drop these objects first.")));
    let detail = error.detail().expect("a detail");
    assert!(
        detail.starts_with(
            "A write would run or change them with the rights of the owner of the table: "
        ) && detail.contains(found)
            && detail.ends_with('.'),
        "{found}: {detail}"
    );
}

/// What is not the extension's: who makes it of the table `{}`, how, how it is described, and how a
/// superuser takes it away.
const OTHERS_CODE: [(&str, &str, &str, &str); 8] = [
    (
        "mallory",
        "CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON {} FOR EACH ROW EXECUTE FUNCTION mallory.spy()",
        "trigger spy on table {}",
        "DROP TRIGGER spy ON {}",
    ),
    (
        "postgres",
        "CREATE RULE spy AS ON UPDATE TO {} DO ALSO SELECT mallory.act()",
        "rule spy on table {}",
        "DROP RULE spy ON {}",
    ),
    (
        "postgres",
        "ALTER TABLE {} ENABLE ROW LEVEL SECURITY;
         CREATE POLICY spy ON {} USING (mallory.value() = 1)",
        "policy spy on table {}",
        "DROP POLICY spy ON {}; ALTER TABLE {} DISABLE ROW LEVEL SECURITY",
    ),
    (
        "postgres",
        "ALTER TABLE {} ADD CONSTRAINT spy CHECK (mallory.value() = 1) NOT VALID",
        "constraint spy on table {}",
        "ALTER TABLE {} DROP CONSTRAINT spy",
    ),
    ("postgres", "CREATE TABLE spy () INHERITS ({})", "table public.spy", "DROP TABLE spy"),
    (
        "postgres",
        "CREATE INDEX spy ON {} ((mallory.value()))",
        "index snowflake_internal.spy",
        "DROP INDEX snowflake_internal.spy",
    ),
    (
        "postgres",
        "ALTER TABLE {} ADD COLUMN spied int; ALTER TABLE {} ALTER COLUMN spied SET DEFAULT mallory.value()",
        "default value for column spied of table {}",
        "ALTER TABLE {} DROP COLUMN spied",
    ),
    (
        "postgres",
        "CREATE CONSTRAINT TRIGGER spy AFTER UPDATE ON {} DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION mallory.spy()",
        "trigger spy on table {}",
        "DROP TRIGGER spy ON {}",
    ),
];

/// Makes all of that of a table, one after the other, and asserts that each of the calls of each of
/// the users is refused.
#[track_caller]
fn assert_all_refused(cluster: &Cluster, table: &str, users: &[&str], calls: &[&str]) {
    let mut client = superuser(cluster);
    client.batch_execute(&format!("GRANT TRIGGER ON {table} TO mallory")).expect("a privilege");
    for (maker, make, found, drop) in OTHERS_CODE {
        let [make, found, drop] = [make, found, drop].map(|text| text.replace("{}", table));
        let make = format!("SET spy.sleeps = true; {make}");
        session(cluster, maker).batch_execute(&make).expect(&make);
        for user in users {
            for call in calls {
                let error = error_of(session(cluster, user).query(*call, &[]));
                assert_refused(&error, table, &found);
            }
        }
        assert_no_mark(cluster);
        client.batch_execute(&drop).expect(&drop);
    }
}

/// What mallory tries with the privileges that were given to her by mistake.
const ATTEMPTS: [&str; 11] = [
    "CREATE TRIGGER spy BEFORE INSERT ON {} FOR EACH ROW EXECUTE FUNCTION mallory.spy()",
    "INSERT INTO {} SELECT * FROM {}",
    "DELETE FROM {}",
    "TRUNCATE {}",
    "SELECT FROM {} FOR KEY SHARE",
    "CREATE TABLE mallory.others () INHERITS ({})",
    "CREATE POLICY spy ON {} USING (mallory.value() = 1)",
    "CREATE RULE spy AS ON INSERT TO {} DO ALSO SELECT mallory.act()",
    "LOCK TABLE {} IN ROW SHARE MODE",
    "LOCK TABLE {} IN ROW EXCLUSIVE MODE",
    "LOCK TABLE {} IN ACCESS EXCLUSIVE MODE",
];

#[test]
fn a_claim_runs_no_trigger_of_others() {
    let cluster = start();
    let mut mallory = session(&cluster, "mallory");
    let key = "CREATE TABLE mallory.keys (d int, w int, FOREIGN KEY (d, w) REFERENCES {})";
    let others = [
        (format!("UPDATE {CLAIMS} SET name = 'mallory'"), "table"),
        (format!("UPDATE {LAYOUT} SET worker_bits = 6"), "table"),
        ("CREATE TABLE snowflake_internal.mine ()".to_owned(), "schema"),
        (key.replace("{}", CLAIMS), "references"),
        ("SELECT FROM snowflake_nodes FOR UPDATE".to_owned(), "view"),
        ("LOCK TABLE snowflake_nodes IN ROW EXCLUSIVE MODE".to_owned(), "view"),
        ("LOCK TABLE snowflake_nodes IN ACCESS EXCLUSIVE MODE".to_owned(), "view"),
    ];
    let tables = [CLAIMS, LAYOUT];
    let attempts = tables
        .iter()
        .flat_map(|table| ATTEMPTS.map(|attempt| (attempt.replace("{}", table), "table")));
    for (attempt, of) in attempts.chain(others) {
        let error = error_of(mallory.batch_execute(&format!("BEGIN; {attempt}")));
        assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{of}: {attempt}: {error}");
        mallory.batch_execute("ROLLBACK").expect("a rollback");
    }
    assert_no_mark(&cluster);

    assert_all_refused(&cluster, CLAIMS, &["postgres", "owner"], &[CLAIM, RELEASE]);
    superuser(&cluster)
        .batch_execute(&format!("GRANT REFERENCES ON {CLAIMS} TO mallory"))
        .expect("a privilege");
    mallory.batch_execute(&key.replace("{}", CLAIMS)).expect("a foreign key");
    for user in ["postgres", "owner"] {
        for call in [CLAIM, RELEASE] {
            let error = error_of(session(&cluster, user).query(call, &[]));
            assert_refused(&error, CLAIMS, "trigger RI_ConstraintTrigger_a_");
        }
    }
    mallory.batch_execute("DROP TABLE mallory.keys").expect("dropped");
    assert_no_mark(&cluster);
    session(&cluster, "owner").batch_execute(CLAIM).expect("nothing is left");
}

#[test]
fn a_confirmation_runs_no_trigger_of_others() {
    let cluster = start();
    let mut client = superuser(&cluster);
    // So that it has something to write.
    let delete = format!("DELETE FROM {LAYOUT}");
    client.batch_execute(&delete).expect("a superuser may");
    assert_all_refused(&cluster, LAYOUT, &["postgres"], &[CONFIRM]);
    let rows = format!("SELECT count(*) FROM {LAYOUT}");
    assert_eq!(bigint(&mut client, &rows), 0);

    // A transaction that does not see the trigger would still fire it.
    let mut transaction = client.transaction().expect("a transaction");
    transaction
        .batch_execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        .expect("a snapshot");
    let (_, make, found, drop) = OTHERS_CODE[0];
    let [make, found, drop] = [make, found, drop].map(|text| text.replace("{}", LAYOUT));
    session(&cluster, "mallory").batch_execute(&make).expect("a trigger");
    assert_refused(&error_of(transaction.query(CONFIRM, &[])), LAYOUT, &found);
    transaction.rollback().expect("a rollback");
    assert_no_mark(&cluster);

    client.batch_execute(&drop).expect("dropped");
    client.batch_execute(CONFIRM).expect("nothing is left");
    assert_eq!(bigint(&mut client, &rows), 1);
}

/// A trigger that is created while the call waits for its lock comes before it.
#[test]
fn a_claim_that_waits_for_a_trigger_of_others_does_not_run_it() {
    let cluster = start();
    let mut client = superuser(&cluster);
    let (_, make, found, _) = OTHERS_CODE[0];
    for (table, call) in [(CLAIMS, CLAIM), (LAYOUT, CONFIRM)] {
        let [make, found] = [make, found].map(|text| text.replace("{}", table));
        client.batch_execute(&format!("GRANT TRIGGER ON {table} TO mallory")).expect("a privilege");
        let mut transaction = client.transaction().expect("a transaction");
        let lock = format!("LOCK TABLE {table} IN ROW EXCLUSIVE MODE");
        transaction.batch_execute(&lock).expect("a lock");
        let waiting = |sessions| {
            let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
            eventually("they wait", || bigint(&mut superuser(&cluster), waiting) == sessions);
        };
        thread::scope(|scope| {
            let creation = scope.spawn(|| session(&cluster, "mallory").batch_execute(&make));
            waiting(1);
            let called = scope.spawn(|| superuser(&cluster).query(call, &[]));
            waiting(2);
            transaction.commit().expect("a commit");
            creation.join().expect("a session").expect("a trigger");
            assert_refused(&error_of(called.join().expect("a session")), table, &found);
        });
        assert_no_mark(&cluster);
    }
}

/// A table of this name of somebody else's, in the extension.
#[test]
fn a_table_that_the_owner_adds_to_the_extension_is_not_written() {
    let cluster = start();
    superuser(&cluster)
        .batch_execute(&format!("GRANT CREATE ON DATABASE theirs TO owner; DELETE FROM {LAYOUT}"))
        .expect("privileges");
    let mut owner = session(&cluster, "owner");
    owner
        .batch_execute("CREATE SCHEMA aaa; GRANT USAGE ON SCHEMA aaa TO PUBLIC")
        .expect("a schema");
    session(&cluster, "mallory")
        .batch_execute("GRANT USAGE ON SCHEMA mallory TO PUBLIC")
        .expect("a privilege");
    for table in ["snowflake_layout", "snowflake_node_claims"] {
        owner
            .batch_execute(&format!(
                "CREATE TABLE aaa.{table} (LIKE snowflake_internal.{table} INCLUDING ALL);
                 CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON aaa.{table}
                     FOR EACH ROW EXECUTE FUNCTION mallory.spy();
                 ALTER EXTENSION snowflake ADD TABLE aaa.{table}"
            ))
            .expect("a table of their own");
    }
    owner.batch_execute("ALTER EXTENSION snowflake ADD SCHEMA aaa").expect("a schema of their own");
    write_all_and_assert_no_mark(&cluster, "aaa");
}

/// Writes both tables as a superuser, and asserts that nothing was written into those of this schema.
#[track_caller]
fn write_all_and_assert_no_mark(cluster: &Cluster, schema: &str) {
    assert_no_mark(cluster);
    let mut client = superuser(cluster);
    client
        .batch_execute(&format!("SET search_path = {schema}, public; {CLAIM}; {CONFIRM}"))
        .expect("written");
    client
        .batch_execute(
            "SELECT snowflake_release_node('db-1', issued_until => now(), fenced => true)",
        )
        .expect("released");
    for (table, rows) in [(CLAIMS, 2), (LAYOUT, 1)] {
        assert_eq!(bigint(&mut client, &format!("SELECT count(*) FROM {table}")), rows);
        let name = table.split('.').next_back().expect("a name");
        assert_eq!(bigint(&mut client, &format!("SELECT count(*) FROM {schema}.{name}")), 0);
    }
    client
        .batch_execute(&format!("DELETE FROM {CLAIMS} WHERE name <> 'db-0'"))
        .expect("a superuser may");
    assert_no_mark(cluster);
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
    let cluster = prepare(Cluster::builder().programs(programs).start());
    superuser(&cluster)
        .batch_execute(&format!("GRANT CREATE ON DATABASE theirs TO mallory; DELETE FROM {LAYOUT}"))
        .expect("privileges");
    session(&cluster, "mallory")
        .batch_execute(
            "CREATE SCHEMA later; CREATE EXTENSION mimic SCHEMA later;
             GRANT USAGE ON SCHEMA mallory, later TO PUBLIC",
        )
        .expect("an extension of mallory's");
    write_all_and_assert_no_mark(&cluster, "later");
}
