//! What statements on a converted table run, as far as the catalog tells it: rules that write keys into
//! integers, functions that hand keys to what takes no bigint, and what only a probe can find out.

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, error_of};

use super::conversion_foreseen::owner;

/// A trigger function of t, and whether it needs an acknowledgement, with the reason.
const BODIES: [(&str, Option<&str>); 14] = [
    ("PERFORM pg_advisory_xact_lock(42, NEW.id)", Some("pg_advisory_xact_lock(42, NEW.id)")),
    ("PERFORM pg_advisory_xact_lock( NEW . id , 1)", Some("NEW . id")),
    ("PERFORM pg_try_advisory_lock(NEW.id, 42)", Some("pg_try_advisory_lock(NEW.id, 42)")),
    ("PERFORM pg_advisory_xact_lock(hashtext('t'), NEW.\"id\")", Some("NEW.\"id\"")),
    ("NEW.item := upper(chr(new.id))", Some("chr(new.id)")),
    ("NEW.item := \"chr\"(OLD.id)", Some("\"chr\"(OLD.id)")),
    ("PERFORM pg_advisory_lock(1, n.id) FROM news AS n", Some("pg_advisory_lock(1, n.id)")),
    ("EXECUTE format('INSERT INTO log VALUES (%s)', NEW.id)", Some("makes SQL out of text")),
    ("PERFORM query_to_xml(NEW.item, true, true, '')", Some("makes SQL out of text")),
    ("PERFORM pg_advisory_xact_lock(NEW.id)", None),
    ("PERFORM pg_advisory_xact_lock(1, NEW.small)", None),
    ("NEW.item := left(NEW.item, 5) || substr(NEW.item, 1, 2) || NEW.id || abs(NEW.id)", None),
    ("NEW.item := 'EXECUTE chr(NEW.id)' -- EXECUTE chr(NEW.id)\n", None),
    ("PERFORM jsonb_build_object('id', NEW.id), coalesce(NEW.id, 1), to_char(NEW.id, '9')", None),
];

/// Rules that write a key into an integer, with the column.
const RULES: [(&str, &str); 5] = [
    (
        "ON INSERT TO t DO ALSO INSERT INTO audit VALUES ('new', NEW.id)",
        "Column pk of table public.audit",
    ),
    (
        "ON INSERT TO t DO ALSO INSERT INTO audit (pk) VALUES (NEW.id)",
        "Column pk of table public.audit",
    ),
    (
        "ON DELETE TO t DO ALSO INSERT INTO audit (pk) SELECT OLD.id",
        "Column pk of table public.audit",
    ),
    (
        "ON UPDATE TO t DO ALSO UPDATE audit SET pk = NEW.id WHERE what = 'new'",
        "Column pk of table public.audit",
    ),
    (
        "ON INSERT TO t DO ALSO (INSERT INTO other VALUES (NEW.id); INSERT INTO audit VALUES ('new', NEW.id))",
        "Column pk of table public.audit",
    ),
];

/// Rules that write a key into another column that cannot hold it, with what a row says.
const NARROW_RULES: [(&str, &str); 7] = [
    ("INSERT INTO codes (five) VALUES (NEW.id)", "numeric(5,0)"),
    ("INSERT INTO codes (hundredths) VALUES (NEW.id)", "numeric(20,2)"),
    ("INSERT INTO codes (short) VALUES (NEW.id)", "character varying(18)"),
    ("INSERT INTO codes (padded) VALUES (NEW.id::char(5))", "character(18)"),
    ("INSERT INTO codes (rounded) VALUES (NEW.id)", "real"),
    ("UPDATE codes SET object = NEW.id", "oid"),
    ("INSERT INTO pks (pk) VALUES (NEW.id)", "view public.pks has type integer"),
];

/// Rules that write a key only into what holds it.
const WIDE_RULES: [&str; 7] = [
    "INSERT INTO codes (long, large, exact, any_size) VALUES (NEW.id, NEW.id, NEW.id, NEW.id)",
    "INSERT INTO other SELECT OLD.id FROM numbers WHERE pk = 5",
    "INSERT INTO other VALUES (OLD.id + (SELECT max(pk) FROM numbers))",
    "SELECT OLD.id, pk FROM numbers",
    "UPDATE numbers SET pk = 6 WHERE pk = 5 RETURNING OLD.id",
    "DELETE FROM numbers WHERE pk = OLD.small RETURNING OLD.id",
    "UPDATE other SET pk = OLD.id FROM numbers WHERE numbers.pk = 5",
];

const TABLES: &str = "
    CREATE TABLE t (id serial PRIMARY KEY, item text, small integer);
    CREATE TABLE audit (what text, pk integer);
    CREATE TABLE other (pk bigint);
    CREATE TABLE log (n bigint);
    CREATE TABLE numbers (pk integer);
    CREATE VIEW pks AS SELECT pk FROM numbers;
    CREATE TABLE codes (five numeric(5), hundredths numeric(20, 2), short varchar(18), padded char(18),
        rounded real, object oid, long varchar(19), large numeric(19), exact numeric(21, 2), any_size text);";

fn owned() -> (Cluster, Client) {
    let cluster = Cluster::start_with_conversion();
    let mut client = owner(&cluster);
    client.batch_execute(TABLES).expect("tables");
    (cluster, client)
}

fn report(client: &mut Client) -> Vec<[String; 4]> {
    let query =
        "SELECT kind, object, reason, coalesce(remedy, '') FROM snowflake_convert_report('t')";
    let rows = client.query(query, &[]).unwrap_or_else(|error| panic!("{error:?}"));
    rows.iter().map(|row| [0, 1, 2, 3].map(|column| row.get(column))).collect()
}

#[test]
fn functions_that_hand_keys_to_what_takes_no_bigint_are_acknowledged() {
    let (_cluster, mut client) = owned();
    for (body, why) in BODIES {
        client
            .batch_execute(&format!(
                "BEGIN; CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS
                     $body$ BEGIN {body}; RETURN NEW; END $body$;
                 CREATE TRIGGER fired BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fired()"
            ))
            .expect(body);
        let rows = report(&mut client);
        let of_function = rows.iter().find(|row| row[0] == "risk" && row[1] == "public.fired()");
        match why {
            Some(why) => {
                let row = of_function.unwrap_or_else(|| panic!("{body}: {rows:#?}"));
                assert!(row[2].contains(why), "{body}: {row:?}");
                assert!(row[3].contains("probe"), "{body}: {row:?}");
                client.batch_execute("SAVEPOINT before").expect("a savepoint");
                let error =
                    error_of(client.query("SELECT snowflake_convert('t', dry_run => false)", &[]));
                assert_eq!(*error.code(), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{body}");
                assert!(error.detail().expect("a detail").contains("public.fired()"), "{body}");
                client.batch_execute("ROLLBACK TO before").expect("rolled back");
            }
            None => assert!(of_function.is_none(), "{body}: {of_function:?}"),
        }
        let acknowledged = if why.is_some() { ", acknowledged => '{fired()}'" } else { "" };
        client
            .batch_execute(&format!(
                "SELECT snowflake_convert('t', dry_run => false{acknowledged})"
            ))
            .unwrap_or_else(|error| panic!("{body}: {error:?}"));
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

/// What such a function calls counts, too.
#[test]
fn functions_are_looked_into_that_a_trigger_only_reaches() {
    let (_cluster, mut client) = owned();
    client
        .batch_execute(
            "SET check_function_bodies = off;
             CREATE FUNCTION lock(id bigint) RETURNS void LANGUAGE sql AS
                 'SELECT pg_advisory_xact_lock(1, lock.id)';
             CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS
                 'BEGIN PERFORM lock(NEW.id); RETURN NEW; END';
             CREATE TRIGGER fired BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fired();",
        )
        .expect("functions");
    let error = error_of(client.query("SELECT snowflake_convert('t', dry_run => false)", &[]));
    let detail = error.detail().expect("a detail");
    assert!(detail.ends_with(": public.lock(bigint)."), "{detail}");
}

#[test]
fn a_rule_that_writes_keys_into_an_integer_is_an_obstacle() {
    let (_cluster, mut client) = owned();
    for (rule, column) in RULES {
        client.batch_execute(&format!("BEGIN; CREATE RULE log AS {rule}")).expect(rule);
        let rows = report(&mut client);
        let is_named =
            |row: &&[String; 4]| row[0] == "obstacle" && row[2].contains("into an integer");
        let named: Vec<&[String; 4]> = rows.iter().filter(is_named).collect();
        assert_eq!(named.len(), 1, "{rule}: {rows:#?}");
        assert!(named[0][2].contains(column) && named[0][2].contains("log"), "{rule}: {named:?}");
        let convert = "SELECT snowflake_convert('t', dependents => 'recreate', rehearse => true)";
        let error = error_of(client.query(convert, &[]));
        assert_eq!(*error.code(), SqlState::DEPENDENT_OBJECTS_STILL_EXIST, "{rule}: {error:?}");
        let message = "rule log on table public.t writes column id into an integer";
        assert_eq!(error.message(), message, "{rule}");
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
    let rule = "BEGIN; CREATE RULE log AS ON INSERT TO t DO ALSO INSERT INTO other VALUES (NEW.id)";
    client.batch_execute(rule).expect("a rule");
    let rows = report(&mut client);
    assert!(rows.iter().all(|row| !row[2].contains("into an integer")), "{rows:#?}");
}

#[test]
fn a_rule_that_writes_keys_into_a_narrow_column_is_an_obstacle() {
    let (_cluster, mut client) = owned();
    for (action, why) in NARROW_RULES {
        let rule = format!("BEGIN; CREATE RULE log AS ON INSERT TO t DO ALSO {action}");
        client.batch_execute(&rule).expect(action);
        let rows = report(&mut client);
        let is_named = |row: &&[String; 4]| row[0] == "obstacle" && row[2].contains(why);
        assert_eq!(rows.iter().filter(is_named).count(), 1, "{action}: {rows:#?}");
        for rest in ["dry_run => true", "dry_run => false"] {
            client.batch_execute("SAVEPOINT before").expect("a savepoint");
            let convert =
                format!("SELECT snowflake_convert('t', dependents => 'recreate', {rest})");
            let error = error_of(client.query(&convert, &[]));
            let message = "rule log on table public.t writes column id into ";
            assert!(error.message().starts_with(message), "{action}: {error:?}");
            client.batch_execute("ROLLBACK TO before").expect("rolled back");
        }
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

#[test]
fn a_rule_that_writes_keys_elsewhere_is_no_obstacle() {
    let (_cluster, mut client) = owned();
    for action in WIDE_RULES {
        let (event, instead) = match action {
            _ if action.contains("RETURNING") => ("DELETE", "INSTEAD"),
            _ if action.contains("NEW.") => ("INSERT", "ALSO"),
            _ => ("DELETE", "ALSO"),
        };
        let rule = format!("BEGIN; CREATE RULE log AS ON {event} TO t DO {instead} {action}");
        // What a rule returns has the columns of its table.
        let rule = rule.replace("RETURNING OLD.id", "RETURNING OLD.id, ''::text, 1");
        client.batch_execute(&rule).expect(action);
        let rows = report(&mut client);
        assert!(rows.iter().all(|row| !row[2].contains("writes column")), "{action}: {rows:#?}");
        client
            .batch_execute(
                "SELECT snowflake_convert('t', dependents => 'recreate', dry_run => false)",
            )
            .unwrap_or_else(|error| panic!("{action}: {error:?}"));
        client
            .batch_execute("INSERT INTO t DEFAULT VALUES; DELETE FROM t")
            .unwrap_or_else(|error| panic!("{action}: {error:?}"));
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

/// A row for each table, with statements that run as they are, and that find what fails.
#[test]
fn each_table_with_triggers_or_rules_has_one_row_with_a_probe() {
    let (_cluster, mut client) = owned();
    client
        .batch_execute(
            "ALTER TABLE t ALTER item SET NOT NULL, ADD \"when\" date DEFAULT now(),
                 ADD twice int GENERATED ALWAYS AS (small * 2) STORED;
             INSERT INTO t (item) VALUES ('it''s \"a\", {b}');
             CREATE TABLE plain (id serial PRIMARY KEY);
             CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS
                 'BEGIN INSERT INTO audit VALUES (TG_OP, coalesce(NEW.id, OLD.id)); RETURN NULL; END';
             CREATE TRIGGER one AFTER DELETE OR UPDATE OF small ON t FOR EACH ROW EXECUTE FUNCTION noted();
             CREATE TRIGGER two AFTER INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION noted();
             CREATE RULE three AS ON DELETE TO t DO ALSO INSERT INTO other VALUES (1);",
        )
        .expect("triggers");
    let row = |client: &mut Client| {
        let rows = report(client);
        let is_named = |row: &&[String; 4]| {
            row[1] == "public.t" && row[2].starts_with("Its triggers and rules")
        };
        let mut named: Vec<[String; 4]> = rows.iter().filter(is_named).cloned().collect();
        assert_eq!(named.len(), 1, "{rows:#?}");
        named.remove(0)
    };
    let [kind, _, reason, remedy] = row(&mut client);
    assert_eq!(kind, "risk");
    for name in ["trigger one with public.noted()", "trigger two with public.noted()", "rule three"]
    {
        assert!(reason.contains(name), "{reason}");
    }
    let probe = &remedy[remedy.find("probe => ").expect("a probe")..];
    let rehearse =
        format!("SELECT snowflake_convert('t', rehearse => true, {})", probe.trim_end_matches('.'));
    let error = error_of(client.query(&rehearse, &[]));
    assert_eq!(*error.code(), SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "{rehearse}: {error:?}");
    assert!(error.message().starts_with("statement 2 of the probe"), "{rehearse}: {error:?}");
    client.batch_execute("ALTER TABLE audit ALTER pk TYPE bigint").expect("mended");
    client.batch_execute(&rehearse).unwrap_or_else(|error| panic!("{rehearse}: {error:?}"));
    // Without triggers and rules there is nothing to say.
    client
        .batch_execute("DROP TRIGGER one ON t; DROP TRIGGER two ON t; DROP RULE three ON t")
        .expect("dropped");
    let rows = report(&mut client);
    assert!(rows.iter().all(|row| !row[3].contains("probe")), "{rows:#?}");
}

#[test]
fn functions_that_take_rows_are_a_risk() {
    let (_cluster, mut client) = owned();
    client
        .batch_execute(
            "CREATE FUNCTION lock(b t) RETURNS void LANGUAGE plpgsql AS
                 'BEGIN PERFORM pg_advisory_xact_lock(1, b.id); END';
             CREATE FUNCTION all_of(b t[]) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
             CREATE FUNCTION every() RETURNS SETOF t LANGUAGE sql AS 'SELECT * FROM t';",
        )
        .expect("functions");
    let rows = report(&mut client);
    let named = rows.iter().filter(|row| row[2].contains("take its rows"));
    let named: Vec<&[String; 4]> = named.collect();
    assert_eq!(named.len(), 1, "{rows:#?}");
    assert_eq!((named[0][0].as_str(), named[0][1].as_str()), ("risk", "public.t"));
    let reason = &named[0][2];
    assert!(reason.contains("public.all_of(public.t[]), public.lock(public.t)."), "{reason}");
}
