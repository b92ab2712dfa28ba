//! Calls of functions that are gone, as databases have stored them.

use postgres::Client;
use snowflake_e2e::{Cluster, Run, bigint, error_of, value, values};

use super::{former_cluster, start_with_new_library};

/// Keys, of which the former release has converted the first two and stored the way back.
fn converted_cluster() -> Cluster {
    let cluster = former_cluster();
    let mut client = cluster.connect();
    let keys = ["bigserial", "bigint GENERATED ALWAYS AS IDENTITY", "bigserial"];
    for (number, key) in keys.into_iter().enumerate() {
        client.run(&format!(
            "CREATE TABLE kept_{number} (id {key} PRIMARY KEY);
             INSERT INTO kept_{number} DEFAULT VALUES"
        ));
    }
    client.run(
        "CREATE TABLE steps AS SELECT name, s.* FROM unnest('{kept_0,kept_1}'::text[]) AS name,
             snowflake_convert(name::regclass, dry_run => false)
                 WITH ORDINALITY AS s (step, statement, number);
         INSERT INTO kept_0 DEFAULT VALUES; INSERT INTO kept_1 DEFAULT VALUES",
    );
    assert!(bigint(&mut client, "SELECT max(id) FROM kept_1") > 1_000_000);
    cluster
}

/// Goes back by the stored statements, as the changelog says: in a transaction that locks first.
fn go_back(client: &mut Client, table: &str) {
    let stored = format!(
        "SELECT statement FROM steps WHERE step = 'revert' AND name = '{table}' ORDER BY number"
    );
    let statements: Vec<String> = values(client, &stored);
    let lock = format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
    client.run(&format!("{lock}; {}; COMMIT", statements.join("; ")));
    let highest = bigint(client, &format!("SELECT max(id) FROM {table}"));
    let insert = format!("INSERT INTO {table} DEFAULT VALUES RETURNING id");
    assert_eq!(bigint(client, &insert), highest + 1);
}

#[test]
fn what_the_former_release_stored_goes_back_before_and_after_the_update() {
    let mut cluster = converted_cluster();
    cluster.stop();
    start_with_new_library(&mut cluster);
    let mut client = cluster.connect();
    let calls = [
        "SELECT * FROM snowflake_convert('kept_2', dry_run => false)",
        "SELECT * FROM snowflake_revert('kept_1', 'id', dry_run => false)",
    ];
    go_back(&mut client, "kept_0");
    for updated in [false, true] {
        for call in calls {
            let error = error_of(client.batch_execute(call));
            assert_eq!(error.code().code(), "0A000", "{updated}: {call}: {error}");
            assert!(error.hint().is_some_and(|hint| hint.contains("sion(")), "{error:?}");
        }
        if !updated {
            client.run("ALTER EXTENSION snowflake UPDATE");
        }
    }
    go_back(&mut client, "kept_1");
    // Without a stored way back, and for a key that is converted now.
    for (call, default) in [
        ("snowflake_conversion('{kept_2}')", "snowflake_nextval()"),
        ("snowflake_reversion('{kept_2}')", "nextval('kept_2_id_seq'::regclass)"),
    ] {
        let lines: Vec<String> = values(&mut client, &format!("SELECT {call}"));
        client.run(&lines.join("\n"));
        let now = "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef
                   WHERE adrelid = 'kept_2'::regclass";
        assert_eq!(value::<String>(&mut client, now), default);
    }
}
