//! What takes values of a key's sequence beside the key would go on with keys of the old kind, and what
//! clients sent to an identity is inserted by a default.

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of};

use super::conversion_foreseen::owner;

/// What depends on the sequence of t: an obstacle, or else a risk, with its name.
const TAKERS: [(&str, Result<&str, &str>); 17] = [
    (
        "CREATE VIEW v AS SELECT item FROM t; CREATE TABLE one (n int);
         CREATE VIEW w AS SELECT n FROM one; ALTER VIEW w ALTER n SET DEFAULT nextval('t_id_seq')",
        Ok("the default of column n of view public.w"),
    ),
    (
        "CREATE VIEW v AS SELECT id, item FROM t; ALTER VIEW v ALTER id SET DEFAULT nextval('t_id_seq')",
        Ok("the default of column id of view public.v"),
    ),
    (
        "CREATE TABLE other (id bigint DEFAULT nextval('t_id_seq'), note text)",
        Ok("the default of column id of table public.other"),
    ),
    (
        "CREATE TABLE other (id bigint DEFAULT nextval('t_id_seq') * 2 + 1)",
        Ok("the default of column id of table public.other"),
    ),
    (
        "CREATE VIEW v AS SELECT item FROM t; CREATE RULE adds AS ON INSERT TO v DO INSTEAD
             INSERT INTO t VALUES (nextval('t_id_seq'), NEW.item)",
        Ok("rule adds on view public.v"),
    ),
    (
        "CREATE TABLE queue (n bigint); CREATE RULE adds AS ON DELETE TO queue DO ALSO
             INSERT INTO queue SELECT nextval('t_id_seq')",
        Ok("rule adds on table public.queue"),
    ),
    ("CREATE VIEW next AS SELECT nextval('t_id_seq') AS n", Ok("view public.next")),
    ("CREATE DOMAIN numbered AS bigint DEFAULT nextval('t_id_seq')", Ok("type public.numbered")),
    (
        "CREATE TABLE one (n bigint CHECK (n <> nextval('t_id_seq')))",
        Ok("constraint one_n_check on table public.one"),
    ),
    (
        "CREATE TABLE one (n bigint);
         CREATE POLICY numbered ON one WITH CHECK (n = nextval('t_id_seq'))",
        Ok("policy numbered on table public.one"),
    ),
    (
        "CREATE TABLE one (n bigint);
         CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
         CREATE TRIGGER told BEFORE INSERT ON one FOR EACH ROW WHEN (nextval('t_id_seq') > 0)
             EXECUTE FUNCTION told()",
        Ok("trigger told on table public.one"),
    ),
    (
        "CREATE FUNCTION next(n bigint DEFAULT nextval('t_id_seq')) RETURNS bigint LANGUAGE sql
             AS 'SELECT n'",
        Ok("function public.next(bigint)"),
    ),
    (
        "CREATE TABLE one (n bigint); CREATE POLICY below ON one
             USING (n <= (SELECT last_value FROM t_id_seq))",
        Err("policy below on table public.one"),
    ),
    ("CREATE VIEW last AS SELECT last_value FROM t_id_seq", Err("view public.last")),
    (
        "CREATE FUNCTION next() RETURNS bigint BEGIN ATOMIC SELECT nextval('t_id_seq'); END",
        Err("function public.next()"),
    ),
    (
        "CREATE FUNCTION next() RETURNS bigint LANGUAGE sql AS $$ SELECT nextval('t_id_seq') $$",
        Err("public.next()"),
    ),
    (
        "CREATE FUNCTION next() RETURNS bigint LANGUAGE plpgsql AS
             $$ BEGIN RETURN nextval('public.t_id_seq'::regclass); END $$",
        Err("public.next()"),
    ),
];

fn owned() -> (Cluster, Client) {
    let cluster = Cluster::start_with_conversion();
    let client = owner(&cluster);
    (cluster, client)
}

fn report(client: &mut Client, arguments: &str) -> Vec<[String; 4]> {
    let query = format!(
        "SELECT kind, object, reason, coalesce(remedy, '') FROM snowflake_convert_report({arguments})"
    );
    let rows = client.query(&query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    rows.iter().map(|row| [0, 1, 2, 3].map(|column| row.get(column))).collect()
}

#[test]
fn what_else_depends_on_the_sequence_is_an_obstacle_or_a_risk() {
    let (_cluster, mut client) = owned();
    for (tables, taker) in TAKERS {
        let key = "CREATE TABLE t (id bigserial PRIMARY KEY, item text)";
        client.batch_execute(&format!("BEGIN; {key}; {tables}")).expect(tables);
        let rows = report(&mut client, "'t'");
        let (kind, name) = match taker {
            Ok(name) => ("obstacle", name),
            Err(name) => ("risk", name),
        };
        let named = rows.iter().filter(|[_, object, reason, _]| {
            let reason = reason.to_lowercase();
            (reason.contains(name) || object == name)
                && reason.contains(if taker.is_ok() { "depends on sequence" } else { "" })
        });
        let named: Vec<&[String; 4]> = named.collect();
        assert!(named.iter().all(|row| row[0] == kind), "{tables}: {rows:#?}");
        assert!(!named.is_empty(), "{tables}: {rows:#?}");
        for rest in ["dry_run => true", "dry_run => false"] {
            client.batch_execute("SAVEPOINT before").expect("a savepoint");
            let convert =
                format!("SELECT snowflake_convert('t', dependents => 'recreate', {rest})");
            match taker {
                Ok(name) => {
                    let error = error_of(client.query(&convert, &[]));
                    assert_eq!(*error.code(), SqlState::DEPENDENT_OBJECTS_STILL_EXIST, "{tables}");
                    let message = format!("{name} depends on sequence public.t_id_seq");
                    assert_eq!(error.message(), message, "{tables}");
                }
                Err(_) => client.batch_execute(&convert).expect(tables),
            }
            client.batch_execute("ROLLBACK TO before").expect("rolled back");
        }
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

/// The sequence of an identity is dropped with it, and takes all with it that depends on it.
#[test]
fn what_depends_on_the_sequence_of_an_identity_is_an_obstacle() {
    let (_cluster, mut client) = owned();
    for taker in [
        "CREATE VIEW taker AS SELECT last_value FROM t_id_seq",
        "CREATE FUNCTION taker() RETURNS bigint BEGIN ATOMIC SELECT nextval('t_id_seq'); END",
        "CREATE TABLE taker (id int DEFAULT nextval('t_id_seq'))",
    ] {
        let key = "CREATE TABLE t (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY)";
        client.batch_execute(&format!("BEGIN; {key}; {taker}")).expect(taker);
        let is_named =
            |row: &&[String; 4]| row[0] == "obstacle" && row[2].contains("depends on sequence");
        let rows = report(&mut client, "'t'");
        assert_eq!(rows.iter().filter(is_named).count(), 1, "{taker}: {rows:#?}");
        let error = error_of(client.query("SELECT snowflake_convert('t', dry_run => false)", &[]));
        assert!(
            error.message().ends_with("depends on sequence public.t_id_seq"),
            "{taker}: {error:?}"
        );
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

/// Tables that share a sequence are converted together.
#[test]
fn a_shared_sequence_is_no_obstacle_where_all_of_its_keys_are_converted() {
    let (_cluster, mut client) = owned();
    client
        .batch_execute(
            "CREATE TABLE t (id serial PRIMARY KEY);
             CREATE TABLE parts (id int PRIMARY KEY DEFAULT nextval('t_id_seq'));
             CREATE TABLE child () INHERITS (t);",
        )
        .expect("tables");
    let convert = |what: &str| format!("SELECT snowflake_convert({what}, dry_run => false)");
    let error = error_of(client.query(&convert("'t'"), &[]));
    let message =
        "the default of column id of table public.parts depends on sequence public.t_id_seq";
    assert_eq!(error.message(), message);
    client
        .batch_execute(&convert("schema => 'public'"))
        .unwrap_or_else(|error| panic!("{error:?}"));
    let news = "INSERT INTO parts DEFAULT VALUES; INSERT INTO t DEFAULT VALUES; INSERT INTO child DEFAULT VALUES";
    client.batch_execute(news).expect("rows");
    let small = "SELECT count(*) FROM (SELECT id FROM t UNION ALL SELECT id FROM parts) AS x WHERE id < 1000000000000";
    assert_eq!(bigint(&mut client, small), 0);
}

#[test]
fn the_report_says_what_clients_have_to_stop_sending_to_an_identity() {
    let (_cluster, mut client) = owned();
    for (kind, own_rows) in [("ALWAYS", 1), ("BY DEFAULT", 0)] {
        client
            .batch_execute(&format!(
                "BEGIN; CREATE TABLE t (id int GENERATED {kind} AS IDENTITY PRIMARY KEY, item text);
                 INSERT INTO t OVERRIDING USER VALUE VALUES (77, 'x')"
            ))
            .expect(kind);
        assert_eq!(bigint(&mut client, "SELECT count(*) FROM t WHERE id = 77"), 0, "{kind}");
        let rows = report(&mut client, "'t'");
        let row =
            rows.iter().filter(|row| row[0] == "risk" && row[2].contains("OVERRIDING USER VALUE"));
        let row: Vec<&[String; 4]> = row.collect();
        assert_eq!(row.len(), 1, "{kind}: {rows:#?}");
        assert_eq!(row[0][1], "public.t.id");
        assert!(row[0][3].contains("stop sending keys"), "{kind}: {row:?}");
        let always = rows.iter().filter(|row| row[2].contains("GENERATED ALWAYS"));
        assert_eq!(always.count(), own_rows, "{kind}: {rows:#?}");
        // It is so.
        client
            .batch_execute(
                "SELECT snowflake_convert('t', dry_run => false);
                 INSERT INTO t OVERRIDING USER VALUE VALUES (77, 'x')",
            )
            .expect("converted");
        assert_eq!(bigint(&mut client, "SELECT count(*) FROM t WHERE id = 77"), 1, "{kind}");
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}
