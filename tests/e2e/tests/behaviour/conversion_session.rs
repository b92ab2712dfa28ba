//! What a session has set does not change what a conversion does, and nothing of a materialized view
//! is lost.

use snowflake_e2e::{Cluster, bigint, output};

/// Without an integer but the key.
const SCHEMA: &str = "
    CREATE ROLE accountant;
    CREATE ROLE clerk;
    CREATE SEQUENCE numbers;
    CREATE TABLE film (id integer PRIMARY KEY DEFAULT nextval('numbers'), title text, price float8);
    CREATE TABLE review (film integer REFERENCES film, words text);
    CREATE VIEW cheap AS SELECT id FROM film WHERE price < '0.1234567890123456'::float8;
    CREATE MATERIALIZED VIEW shelf
        WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off, toast.vacuum_truncate = on) AS
        SELECT id, title, price FROM film;
    CREATE INDEX ON shelf (id);
    CREATE UNIQUE INDEX ON shelf (title) TABLESPACE fast;
    CREATE STATISTICS \"Of shelf\" ON title, price FROM shelf;
    ALTER STATISTICS \"Of shelf\" SET STATISTICS 77;
    CREATE MATERIALIZED VIEW moved TABLESPACE fast AS SELECT id FROM film;
    GRANT SELECT ON shelf TO accountant WITH GRANT OPTION;
    GRANT SELECT ON shelf TO clerk;
    INSERT INTO film (title) VALUES ('Sunrise');";

const SESSIONS: [&str; 2] = [
    "SELECT set_config('search_path', '', false)",
    "SET default_tablespace = fast; SET extra_float_digits = -5",
];

#[test]
fn settings_of_a_session_change_nothing() {
    for session in SESSIONS {
        let cluster =
            Cluster::builder().with_conversion().set("allow_in_place_tablespaces", "on").start();
        let mut client = cluster.connect();
        client.batch_execute("CREATE TABLESPACE fast LOCATION ''").expect("a tablespace");
        client.batch_execute(SCHEMA).unwrap_or_else(|error| panic!("{error:?}"));
        let dump = || -> Vec<String> {
            let text = output(cluster.client_program("pg_dump").arg("--schema-only"));
            let lines = text.lines().filter(|line| !line.contains("restrict "));
            lines.map(str::to_owned).collect()
        };
        let before: Vec<String> =
            dump().into_iter().map(|line| line.replace("integer", "bigint")).collect();
        client.batch_execute(session).expect("a session");
        client.query("SELECT public.snowflake_convert_report('public.film')", &[]).expect(session);
        let convert = "public.snowflake_convert('public.film', dependents => 'recreate'";
        for way in ["", ", rehearse => true"] {
            client.query(&format!("SELECT {convert}{way})"), &[]).expect(session);
        }
        client
            .batch_execute(&format!(
                "CREATE TEMP TABLE steps AS SELECT row_number() OVER () AS number, *
                     FROM {convert}, dry_run => false);
                 INSERT INTO public.film (title) VALUES ('Vertigo');
                 SELECT public.snowflake_convert_execute(
                     array_agg(statement ORDER BY number), 'postgres')
                 FROM steps WHERE step = 'validate';
                 SELECT public.snowflake_convert_execute(
                     array_agg(statement ORDER BY number), 'postgres')
                 FROM steps WHERE step = 'revert';"
            ))
            .unwrap_or_else(|error| panic!("{session}: {error:?}"));
        let after = dump();
        let lost: Vec<_> = before.iter().filter(|line| !after.contains(line)).collect();
        let more: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
        assert_eq!(before, after, "{session}: no {lost:#?}, but {more:#?}");
        client
            .batch_execute(
                "SELECT public.snowflake_convert('public.film', dependents => 'recreate',
                                                 dry_run => false);
                 SELECT public.snowflake_revert('public.film', 'id', dry_run => false)",
            )
            .expect(session);
    }
}

#[test]
fn a_privilege_is_granted_once() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE ROLE clerk;
             CREATE TABLE film (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
             GRANT USAGE, SELECT ON SEQUENCE film_id_seq TO clerk;",
        )
        .expect("a table");
    let granted = "SELECT count(*) FROM snowflake_convert('film')
        WHERE statement = 'GRANT SELECT, USAGE ON SEQUENCE public.film_id_seq TO clerk;'";
    assert_eq!(bigint(&mut client, granted), 2, "once in the conversion, and once on the way back");
    let all = "SELECT count(*) FROM snowflake_convert('film') WHERE statement ~ '^GRANT'";
    assert_eq!(bigint(&mut client, all), 2);
}
