//! Which schemas the setting names, and who can set it.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, error_of};

use super::{assert_adopted, assert_left};

const CREATE: &str = "(id bigserial PRIMARY KEY)";

/// Each value adopts some of these schemas, and not the others.
#[test]
fn names_are_split_as_those_of_search_path() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    let schemas = ["public", "\"My Schema\"", "\"My\"", "my", "\"a,b\"", "\"*\""];
    client.batch_execute("CREATE EXTENSION IF NOT EXISTS snowflake").expect("the extension");
    for schema in &schemas[1..] {
        client.batch_execute(&format!("CREATE SCHEMA {schema}")).expect(schema);
    }
    for (value, adopted) in [
        ("", &[][..]),
        ("  ", &[]),
        ("public", &["public"]),
        ("PUBLIC , \"My Schema\"", &["public", "\"My Schema\""]),
        ("My", &["my"]),
        ("\"My\",\"a,b\", nowhere", &["\"My\"", "\"a,b\""]),
        ("*", &schemas),
        ("public, *", &schemas),
    ] {
        client
            .execute("SELECT set_config('snowflake.adopted_schemas', $1, false)", &[&value])
            .expect(value);
        for schema in schemas {
            let table = format!("{schema}.one");
            client.batch_execute(&format!("CREATE TABLE {table} {CREATE}")).expect("a table");
            match adopted.contains(&schema) {
                true => assert_adopted(&mut client, &table, "id"),
                false => assert_left(&mut client, &table, "id", "bigint"),
            }
            client.batch_execute(&format!("DROP TABLE {table}")).expect("dropped");
        }
    }
}

/// As with `search_path`, only the syntax is looked at, wherever the value comes from.
#[test]
fn a_value_that_is_no_list_is_refused() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    for value in ["a,,b", "a b", "\"a", ","] {
        for set in ["SET", "ALTER ROLE postgres SET", "ALTER DATABASE postgres SET"] {
            let set = format!("{set} snowflake.adopted_schemas = '{value}'");
            let error = error_of(client.batch_execute(&set));
            assert_eq!(error.code(), &SqlState::INVALID_PARAMETER_VALUE, "{set}");
            assert!(error.detail().expect("a detail").contains("as in search_path"), "{error:?}");
        }
        let mut config = cluster.config();
        let error =
            config.options(&format!("-c snowflake.adopted_schemas={}", value.replace(' ', "\\ ")));
        let error = error_of(error.connect(postgres::NoTls));
        assert_eq!(error.code(), &SqlState::INVALID_PARAMETER_VALUE, "{value}");
    }
    client.batch_execute("SET snowflake.adopted_schemas = 'nowhere'").expect("no schema");
    let start = Cluster::builder().set("snowflake.adopted_schemas", "a,,b").try_start();
    let log = start.err().expect("no start");
    assert!(log.contains("invalid value for parameter \"snowflake.adopted_schemas\""), "{log}");
}

/// A bad value for all servers stops the start; for one run of migrations, a role or a database, the
/// setting holds where it was set.
#[test]
fn the_setting_is_for_a_run_a_role_or_a_database() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE EXTENSION IF NOT EXISTS snowflake; CREATE ROLE migrator LOGIN;
             CREATE SCHEMA app AUTHORIZATION migrator;",
        )
        .expect("a role");
    let mut number = 0;
    let mut creates = |user: &str, options: &str, is_adopted: bool| {
        number += 1;
        let mut client =
            cluster.config().user(user).options(options).connect(postgres::NoTls).expect("in");
        let table = format!("app.t{number}");
        client.batch_execute(&format!("CREATE TABLE {table} {CREATE}")).expect("a table");
        match is_adopted {
            true => assert_adopted(&mut client, &table, "id"),
            false => assert_left(&mut client, &table, "id", "bigint"),
        }
    };
    creates("migrator", "", false);
    creates("migrator", "-c snowflake.adopted_schemas=app", true);
    client.batch_execute("ALTER ROLE migrator SET snowflake.adopted_schemas = 'app'").expect("set");
    creates("migrator", "", true);
    creates("postgres", "", false);
    client
        .batch_execute("ALTER DATABASE postgres SET snowflake.adopted_schemas = 'app'")
        .expect("set");
    creates("postgres", "", true);
    creates("postgres", "-c snowflake.adopted_schemas=", false);
    // Anybody sets it for himself, also within a transaction.
    let mut migrator =
        cluster.config().user("migrator").connect(postgres::NoTls).expect("a connection");
    migrator
        .batch_execute(
            "ALTER ROLE migrator SET snowflake.adopted_schemas = '';
             SET snowflake.adopted_schemas = ''; CREATE TABLE app.left (id bigserial PRIMARY KEY);
             BEGIN; SET LOCAL snowflake.adopted_schemas = app; CREATE TABLE app.inside (id bigserial PRIMARY KEY); COMMIT;
             CREATE TABLE app.outside (id bigserial PRIMARY KEY)",
        )
        .expect("tables");
    assert_adopted(&mut migrator, "app.inside", "id");
    for table in ["app.left", "app.outside"] {
        assert_left(&mut migrator, table, "id", "bigint");
    }
}
