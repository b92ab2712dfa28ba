//! What a role without privileges can do.

use postgres::NoTls;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, error_of};

#[test]
fn an_owner_of_a_database_creates_the_extension_and_anyone_uses_it() {
    let cluster = Cluster::start();
    let mut superuser = cluster.connect();
    for command in
        ["CREATE ROLE owner LOGIN", "CREATE ROLE guest LOGIN", "CREATE DATABASE theirs OWNER owner"]
    {
        superuser.batch_execute(command).expect(command);
    }
    let connect =
        |user| cluster.config().user(user).dbname("theirs").connect(NoTls).expect("a session");
    connect("owner").batch_execute("CREATE EXTENSION snowflake").expect("trusted");
    connect("guest")
        .batch_execute(
            "SELECT snowflake_parse(snowflake_nextval()), snowflake_currval();
             SELECT snowflake_nextval(3);
             SELECT snowflake_make(now(), 5, 9, 0);",
        )
        .expect("granted to everyone");
}

#[test]
fn a_guest_generates_and_decodes_and_administers_nothing() {
    let cluster = Cluster::start();
    cluster
        .connect()
        .batch_execute(
            "CREATE ROLE guest LOGIN; CREATE SCHEMA AUTHORIZATION guest;
             CREATE TABLE orders (id serial PRIMARY KEY); GRANT ALL ON orders TO guest",
        )
        .expect("a role");
    let mut guest = cluster.config().user("guest").connect(NoTls).expect("a session");
    for query in [
        "SELECT snowflake_nextval(), snowflake_currval()",
        "SELECT snowflake_nextval(10)",
        "SELECT snowflake_parse(1), snowflake_timestamp(1), snowflake_datacenter_id(1), \
         snowflake_worker_id(1), snowflake_sequence(1)",
        "SELECT snowflake_parse(1, '2015-01-01+00'), snowflake_make(now(), 5, 9, 0), \
         snowflake_min(now()), snowflake_max(now())",
        "SELECT snowflake_within(1, '-infinity', now()), snowflake_json(1), \
         snowflake_from_base62(snowflake_to_base62(1))",
        "SELECT * FROM pg_stat_snowflake, snowflake_status",
        "SELECT snowflake_floor()",
        "CREATE TEMP TABLE mine (id bigint DEFAULT snowflake_nextval()); INSERT INTO mine DEFAULT \
         VALUES",
        "CREATE TABLE theirs (id serial PRIMARY KEY); SELECT snowflake_convert('theirs', \
         'id', dry_run => false); INSERT INTO theirs DEFAULT VALUES",
    ] {
        guest.batch_execute(query).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    }
    for query in [
        "SELECT snowflake_stat_reset()",
        "SELECT snowflake_set_floor(now())",
        "SELECT snowflake_confirm('clock')",
        "SELECT snowflake_convert('orders', 'id')",
        "SELECT snowflake_convert('orders', 'id', dry_run => false)",
        "SELECT snowflake_revert('orders', 'id')",
        "SELECT snowflake_convert('pg_class', 'relpages')",
    ] {
        let error = error_of(guest.query(query, &[]));
        assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{query}: {error}");
    }
}

/// What a role gets with the rights of PUBLIC blocks no claim.
#[test]
fn claims_cannot_be_blocked_by_an_ordinary_role() {
    let cluster = Cluster::start();
    let mut superuser = cluster.connect();
    superuser.batch_execute("CREATE ROLE guest LOGIN").expect("a role");
    let mut guest = cluster.config().user("guest").connect(NoTls).expect("a session");
    let relations = [
        "snowflake_internal.snowflake_node_claims",
        "snowflake_internal.snowflake_layout",
        "snowflake_nodes",
    ];
    let mut got = Vec::new();
    guest.batch_execute("BEGIN").expect("a transaction");
    let modes = [
        "ACCESS SHARE",
        "ROW SHARE",
        "ROW EXCLUSIVE",
        "SHARE UPDATE EXCLUSIVE",
        "SHARE",
        "SHARE ROW EXCLUSIVE",
        "EXCLUSIVE",
        "ACCESS EXCLUSIVE",
    ]
    .map(|mode| format!("LOCK TABLE {{}} IN {mode} MODE"));
    let rows = ["UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"]
        .map(|strength| format!("SELECT FROM {{}} FOR {strength}"));
    for relation in relations {
        for attempt in modes.iter().chain(&rows).map(|attempt| attempt.replace("{}", relation)) {
            guest.batch_execute("SAVEPOINT before").expect("a savepoint");
            match guest.batch_execute(&attempt) {
                Ok(()) => got.push(attempt),
                Err(error) => {
                    let error = error_of::<()>(Err(error));
                    assert_eq!(
                        error.code(),
                        &SqlState::INSUFFICIENT_PRIVILEGE,
                        "{attempt}: {error}"
                    );
                    guest.batch_execute("ROLLBACK TO before").expect("back");
                }
            }
        }
    }
    guest.batch_execute("TABLE snowflake_nodes").expect("may be read");
    assert_eq!(
        got,
        relations.map(|relation| format!("LOCK TABLE {relation} IN ACCESS SHARE MODE"))
    );
    superuser.batch_execute("SET lock_timeout = '2s'").expect("a setting");
    for call in [
        "SELECT snowflake_claim_node('db-1')",
        "SELECT snowflake_release_node('db-1', issued_until => now(), fenced => true)",
        "SELECT snowflake_confirm('layout')",
    ] {
        superuser.batch_execute(call).expect("nobody is waited for");
    }
    guest.batch_execute("COMMIT").expect("the locks were held until now");
}

/// All settings are those of the server's configuration: no session, role or database has its own,
/// whoever asks.
#[test]
fn nobody_changes_a_setting_in_a_session() {
    let cluster = Cluster::start();
    for statement in ["CREATE ROLE guest LOGIN", "CREATE DATABASE theirs OWNER guest"] {
        cluster.connect().batch_execute(statement).expect(statement);
    }
    // This one is everybody's own.
    let names = "SELECT name FROM pg_settings
                 WHERE name LIKE 'snowflake.%' AND name <> 'snowflake.adopted_schemas'";
    let names = cluster.connect().query(names, &[]).expect("settings");
    assert!(names.len() > 10, "{} settings", names.len());
    for name in names.iter().map(|row| row.get::<_, String>(0)) {
        for user in ["guest", "postgres"] {
            let mut client =
                cluster.config().user(user).dbname("theirs").connect(NoTls).expect("a session");
            for statement in [
                format!("SET {name} = 1"),
                format!("SET LOCAL {name} = DEFAULT"),
                format!("SELECT set_config('{name}', '1', false)"),
                format!("ALTER ROLE {user} SET {name} = 1"),
                format!("ALTER DATABASE theirs SET {name} = 1"),
                format!(
                    "CREATE FUNCTION f() RETURNS int LANGUAGE sql SET {name} = 1 AS 'SELECT 1'"
                ),
            ] {
                let error = error_of(client.batch_execute(&statement));
                let code = error.code();
                let denied =
                    [SqlState::CANT_CHANGE_RUNTIME_PARAM, SqlState::INSUFFICIENT_PRIVILEGE];
                assert!(denied.contains(code), "{user}: {statement}: {error}");
            }
            let system = client.batch_execute(&format!("ALTER SYSTEM SET {name} = 1"));
            assert!(user == "postgres" || system.is_err(), "{name}");
            if system.is_ok() {
                client.batch_execute(&format!("ALTER SYSTEM RESET {name}")).expect("reset");
            }
        }
    }
}
