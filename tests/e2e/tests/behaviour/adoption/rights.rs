//! The owner of a schema and a superuser who creates tables there, at the same time.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use postgres::Client;
use snowflake_e2e::{Cluster, Run, bigint};

/// Returns the number of columns of tables in a schema whose defaults call the library's function,
/// and no other function.
fn called(client: &mut Client, schema: &str) -> i64 {
    let query = format!(
        "SELECT count(*) FILTER (WHERE l.lanname = 'c' AND f.prosrc = 'snowflake_nextval' AND r.rolsuper)
                - 1000000 * count(*) FILTER (WHERE l.lanname <> 'c')
         FROM pg_class AS c JOIN pg_attrdef AS d ON d.adrelid = c.oid
         JOIN pg_depend AS p ON p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid AND p.refclassid = 'pg_proc'::regclass
         JOIN pg_proc AS f ON f.oid = p.refobjid JOIN pg_language AS l ON l.oid = f.prolang
         JOIN pg_roles AS r ON r.oid = f.proowner
         WHERE c.relnamespace = '{schema}'::regnamespace"
    );
    bigint(client, &query)
}

/// The owner of schemas puts other ones in their places while a superuser creates tables there.
#[test]
fn schemas_that_are_swapped_under_a_statement_change_nothing() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client.run(
            "DROP EXTENSION IF EXISTS snowflake; CREATE ROLE mallory LOGIN; GRANT CREATE ON DATABASE postgres TO mallory",
    );
    let mut mallory = cluster.connect_as("mallory", "postgres");
    mallory.run(
        "CREATE SCHEMA m; CREATE EXTENSION snowflake SCHEMA m; CREATE SCHEMA m_2; CREATE SCHEMA app; CREATE SCHEMA app_2;
         CREATE FUNCTION m_2.snowflake_nextval() RETURNS bigint LANGUAGE plpgsql AS $$
         BEGIN EXECUTE 'ALTER ROLE mallory SUPERUSER'; RETURN 1; END $$",
    );
    let is_over = AtomicBool::new(false);
    let swaps = std::thread::scope(|scope| {
        let swapping = scope.spawn(|| {
            let mut swaps = 0;
            while !is_over.load(Relaxed) {
                for schema in ["m", "app"] {
                    // The name is that of no schema for a moment, as little as can be.
                    let swap = format!(
                        "BEGIN; ALTER SCHEMA {schema} RENAME TO x; ALTER SCHEMA {schema}_2 RENAME TO {schema};
                         ALTER SCHEMA x RENAME TO {schema}_2; COMMIT"
                    );
                    match mallory.batch_execute(&swap) {
                        Ok(()) => swaps += 1,
                        Err(_) => mallory.run("ROLLBACK"),
                    }
                }
            }
            swaps
        });
        // The swaps end whatever becomes of this.
        let created = client.batch_execute("SET snowflake.adopted_schemas = '*'").and_then(|()| {
            (0..300).try_for_each(|number| {
                // Where the schema has just gone, the statement fails as it does without the
                // setting.
                let key = ["bigserial", "bigint GENERATED ALWAYS AS IDENTITY"][number % 2];
                let create =
                    |schema| format!("CREATE TABLE {schema}.t{number}_ (id {key} PRIMARY KEY)");
                client.batch_execute(&create("app")).ok();
                client.batch_execute(&create("public"))
            })
        });
        is_over.store(true, Relaxed);
        created.expect("tables in a schema that stays");
        swapping.join().expect("swaps")
    });
    let adopted: i64 =
        ["public", "app", "app_2"].map(|schema| called(&mut client, schema)).iter().sum();
    assert!(swaps > 100 && adopted > 100, "{swaps} swaps, {adopted} keys");
    // Whatever was not adopted still takes values of the sequence that it owns.
    let broken = "
        SELECT count(*) FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'id'
        LEFT JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
        WHERE c.relkind = 'r' AND c.relname ~ '^t[0-9]+_' AND (
            (d.oid IS NULL AND a.attidentity = '')
            OR NOT EXISTS (SELECT FROM pg_depend WHERE (refclassid, refobjid, refobjsubid, classid)
                           = ('pg_class'::regclass, c.oid, a.attnum::integer, 'pg_class'::regclass) AND deptype IN ('a', 'i')))";
    assert_eq!(bigint(&mut client, broken), 0);
    assert_eq!(
        bigint(&mut client, "SELECT count(*) FROM pg_roles WHERE rolsuper AND rolname = 'mallory'"),
        0
    );
}
