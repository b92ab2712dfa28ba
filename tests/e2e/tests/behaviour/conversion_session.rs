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

/// What a session has prepared or executed before a conversion, and what it does with it afterwards.
const KEPT: [(&str, &str); 4] = [
    ("a result", "EXECUTE largest"),
    ("a parameter", "EXECUTE of_key(2000000000000000000)"),
    ("a record of a function", "SELECT noted()"),
    ("a trigger", "INSERT INTO film (title) VALUES ('Sunrise')"),
];

const PREPARED: &str = "
    PREPARE largest AS SELECT id FROM film ORDER BY id DESC LIMIT 1;
    PREPARE of_key AS SELECT title FROM film WHERE id = $1;
    EXECUTE largest;
    EXECUTE of_key(1);";

/// What a client tries, and whether this mends prepared statements, and functions.
const REMEDIES: [(&str, [bool; 2]); 5] = [
    ("SELECT 1", [false, false]),
    ("DISCARD PLANS", [false, true]),
    ("DEALLOCATE ALL", [true, false]),
    ("DEALLOCATE ALL; DISCARD PLANS", [true, true]),
    ("DISCARD ALL", [true, true]),
];

#[test]
fn what_a_session_has_prepared_is_mended_as_the_report_says() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE TABLE film (id serial PRIMARY KEY, title text);
             CREATE TABLE note (of_film text);
             CREATE FUNCTION noted() RETURNS text LANGUAGE plpgsql AS $$
                 DECLARE found record;
                 BEGIN
                     SELECT * INTO found FROM film ORDER BY id DESC LIMIT 1;
                     RETURN found.id;
                 END $$;
             CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
                 BEGIN INSERT INTO note VALUES (NEW.id); RETURN NEW; END $$;
             CREATE TRIGGER noting AFTER INSERT ON film FOR EACH ROW EXECUTE FUNCTION note();
             INSERT INTO film (title) VALUES ('Metropolis');",
        )
        .expect("tables");
    let remedy: String = client
        .query_one(
            "SELECT remedy FROM snowflake_convert_report('film') WHERE reason ~ 'prepared'",
            &[],
        )
        .expect("a row on what is prepared")
        .get(0);
    let begun = |sql: &str| {
        let mut session = cluster.connect();
        session.batch_execute(sql).expect(sql);
        for (what, statement) in &KEPT[2..] {
            session.batch_execute(statement).expect(what);
        }
        session
    };
    let mut sessions: Vec<_> = REMEDIES.iter().map(|_| begun(PREPARED)).collect();
    client.batch_execute("SELECT snowflake_convert('film', dry_run => false)").expect("converted");
    for ((commands, mends), session) in REMEDIES.iter().zip(&mut sessions) {
        for command in commands.split("; ") {
            session.batch_execute(command).expect(command);
        }
        if mends[0] {
            session.batch_execute(PREPARED).expect("prepared again");
        }
        for (number, (what, statement)) in KEPT.iter().enumerate() {
            let done = session.batch_execute(statement);
            assert_eq!(done.is_ok(), mends[number / 2], "{what} after {commands}: {done:?}");
        }
    }
    begun(PREPARED);
    let mending = REMEDIES.iter().filter(|(_, mends)| *mends == [true, true]);
    let said = mending.map(|(commands, _)| commands.replace("; ", " and "));
    assert_eq!(said.filter(|said| remedy.contains(said.as_str())).count(), 1, "{remedy}");
}

/// The hint names the owner, and can be followed. Statements that another release has returned have
/// another hint.
#[test]
fn the_hint_of_kept_statements_executes_them() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE ROLE \"Film \\ o'Owner\";
             CREATE TABLE film (id serial PRIMARY KEY);
             CREATE TABLE review (film_id integer REFERENCES film);
             ALTER TABLE film OWNER TO \"Film \\ o'Owner\";
             ALTER TABLE review OWNER TO \"Film \\ o'Owner\";
             GRANT CREATE ON SCHEMA public TO \"Film \\ o'Owner\";
             CREATE TABLE steps AS SELECT * FROM snowflake_convert('film', dry_run => false)
                 WITH ORDINALITY AS s (step, statement, number);",
        )
        .expect("converted");
    for (step, is_former) in [("validate", false), ("revert", true)] {
        let of_step = format!("FROM steps WHERE step = '{step}'");
        let first = format!("SELECT statement {of_step} ORDER BY number LIMIT 1");
        let check: String = client.query_one(&first, &[]).expect("a check").get(0);
        let error = client.batch_execute(&check).expect_err("another session");
        let hint = error.as_db_error().and_then(|error| error.hint()).expect("a hint").to_owned();
        let call = hint.strip_prefix("In any other session, use ").expect("a call");
        let call = call.strip_suffix('.').expect("a sentence");
        if is_former {
            let (begin, _) = check.split_once("HINT").expect("a hint");
            let former = format!("{begin}HINT = ''of another release''; END IF; END';");
            client
                .execute("UPDATE steps SET statement = $1 WHERE statement = $2", &[&former, &check])
                .expect("a former check");
        }
        let call = call.replace("statements", "array_agg(statement ORDER BY number)");
        client.batch_execute(&format!("SELECT {call} {of_step}")).expect("as the hint says");
    }
    let sequences = "SELECT count(*) FROM pg_attrdef
        WHERE pg_get_expr(adbin, adrelid) LIKE 'nextval%film_id_seq%'";
    assert_eq!(bigint(&mut client, sequences), 1, "the key takes values of its sequence again");
}
