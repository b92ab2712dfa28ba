//! What is refused, before anything is touched.

use postgres::Client;
use snowflake_e2e::{Cluster, error_of};

use super::walk::{Walk, owner};

/// What stands in the way of t.id, beside these tables; how the error begins; and the argument that
/// accepts it, if there is one.
const CASES: [(&str, &str, &str, &str); 28] = [
    ("ALTER TABLE r INHERIT parent", "42809", "cannot widen column k of table app.parent", ""),
    (
        "CREATE TABLE part (k int REFERENCES t) PARTITION BY LIST (k)",
        "42809",
        "cannot widen column k of table app.part",
        "",
    ),
    (
        "ALTER TABLE r ADD EXCLUDE USING btree (k WITH =)",
        "55000",
        "cannot widen a column of index app.r_k_excl",
        "",
    ),
    (
        "ALTER TABLE r ADD UNIQUE (k, w) DEFERRABLE",
        "55000",
        "cannot widen a column of index app.r_k_w_key",
        "",
    ),
    (
        "ALTER TABLE r ADD g int GENERATED ALWAYS AS (k + 1) STORED",
        "2BP01",
        "cannot change the type of column k of table app.r",
        "",
    ),
    (
        "CREATE STATISTICS s ON (k + w), w FROM r",
        "55000",
        "cannot widen column k of table app.r",
        "",
    ),
    ("CREATE TABLE of_rows (r r)", "2BP01", "cannot change the type of column k of table app.r", ""),
    (
        "CREATE TRIGGER g AFTER DELETE ON r FOR EACH ROW EXECUTE FUNCTION keeps()",
        "55000",
        "trigger g of table app.r writes whole rows",
        "harmless_triggers => '{r.g}'",
    ),
    (
        "ALTER TABLE r ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
        "42501",
        "owner app of table app.r is subject to its row-level security",
        "",
    ),
    ("CREATE PUBLICATION cdc FOR TABLE r", "55000", "table app.r is in publication cdc", "publications => '{cdc}'"),
    (
        "CREATE TRIGGER g BEFORE UPDATE ON r FOR EACH ROW EXECUTE FUNCTION touches()",
        "55000",
        "the backfill would fire trigger g of table app.r",
        "harmless_triggers => '{g}'",
    ),
    (
        "CREATE TRIGGER g AFTER UPDATE ON r FOR EACH STATEMENT EXECUTE FUNCTION touches()",
        "55000",
        "the backfill would fire trigger g of table app.r",
        "harmless_triggers => '{app.r.g}'",
    ),
    (
        "CREATE TRIGGER g AFTER UPDATE ON r FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
             EXECUTE FUNCTION touches()",
        "55000",
        "the backfill would fire trigger g of table app.r",
        "harmless_triggers => '{g}'",
    ),
    (
        "CREATE TRIGGER g AFTER UPDATE ON r FOR EACH ROW WHEN (OLD.w <> NEW.w OR NEW.w > 5)
             EXECUTE FUNCTION touches()",
        "55000",
        "the backfill would fire trigger g of table app.r",
        "harmless_triggers => '{g}'",
    ),
    (
        "CREATE TRIGGER \"~~\" BEFORE INSERT ON r FOR EACH ROW EXECUTE FUNCTION touches()",
        "55000",
        "trigger \"~~\" of table app.r fires after that of widening",
        "",
    ),
    (
        "CREATE RULE u AS ON UPDATE TO r DO ALSO SELECT 1",
        "55000",
        "rule u of table app.r would rewrite the backfill",
        "",
    ),
    (
        "CREATE MATERIALIZED VIEW m AS SELECT k FROM r",
        "2BP01",
        "cannot widen what materialized view app.m reads",
        "",
    ),
    (
        "ALTER TABLE r ADD snowflake_widen_1 int",
        "42701",
        "column snowflake_widen_1 of table app.r already exists",
        "",
    ),
    ("ALTER TABLE r ADD id int REFERENCES t, DROP CONSTRAINT r_k_fkey; ALTER TABLE r ADD FOREIGN KEY (k) REFERENCES other",
        "", "", ""),
    (
        "CREATE FUNCTION f(int) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT true'; ALTER TABLE r ADD CHECK (f(k))",
        "2BP01",
        "cannot create constraint r_k_check on table app.r for columns of type bigint",
        "",
    ),
    (
        "CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1'; CREATE INDEX i ON r (f(k))",
        "2BP01",
        "cannot create index app.i for columns of type bigint",
        "",
    ),
    (
        "ALTER TABLE t ALTER id DROP DEFAULT; DROP SEQUENCE t_id_seq;
         ALTER TABLE t ALTER id ADD GENERATED ALWAYS AS IDENTITY;
         CREATE VIEW taker AS SELECT nextval('t_id_seq')",
        "2BP01",
        "cannot drop the sequence of column id of table app.t",
        "",
    ),
    (
        "ALTER TABLE r ADD CONSTRAINT later CHECK (w > 0) NOT VALID",
        "55000",
        "constraint later of table app.r is not valid",
        "",
    ),
    // What lets everything pass.
    (
        "CREATE TRIGGER g AFTER UPDATE ON r FOR EACH ROW WHEN ((OLD.w <> NEW.w AND NEW.w > 5) OR OLD.k <> NEW.k)
             EXECUTE FUNCTION touches()",
        "",
        "",
        "",
    ),
    (
        "CREATE TRIGGER g AFTER UPDATE OF w ON r FOR EACH ROW EXECUTE FUNCTION touches()",
        "",
        "",
        "",
    ),
    (
        "CREATE TRIGGER g AFTER UPDATE ON r FOR EACH ROW EXECUTE FUNCTION touches(); ALTER TABLE r DISABLE TRIGGER g",
        "",
        "",
        "",
    ),
    ("CREATE MATERIALIZED VIEW m AS SELECT k FROM r WITH NO DATA", "", "", ""),
    ("ALTER TABLE r ENABLE ROW LEVEL SECURITY", "", "", ""),
];

const TABLES: &str = "
    CREATE TABLE t (id serial PRIMARY KEY);
    CREATE TABLE other (id serial PRIMARY KEY);
    CREATE TABLE r (k int REFERENCES t, w int);
    CREATE TABLE parent (k int, w int);
    CREATE TABLE kept (k int, w int);
    CREATE FUNCTION touches() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    CREATE FUNCTION keeps() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO kept SELECT OLD.*; RETURN OLD; END';";

fn obstacles(client: &mut Client, more: &str) -> Vec<String> {
    let query =
        format!("SELECT reason FROM snowflake_widen_report('t'{more}) WHERE kind = 'obstacle'");
    let rows = client.query(&query, &[]).unwrap_or_else(|error| panic!("{error:?}"));
    rows.iter().map(|row| row.get(0)).collect()
}

#[test]
fn everything_that_stands_in_the_way_is_named() {
    let cluster = Cluster::start_with_conversion();
    let mut client = owner(&cluster, "app");
    client.batch_execute(TABLES).expect("tables");
    cluster.connect().batch_execute("GRANT CREATE ON DATABASE postgres TO app").expect("granted");
    assert_eq!(obstacles(&mut client, ""), Vec::<String>::new());
    for (create, code, message, accepted) in CASES {
        client.batch_execute(&format!("BEGIN; {create}")).expect(create);
        let found = obstacles(&mut client, "");
        client.batch_execute("SAVEPOINT s").expect("a savepoint");
        let next = Walk { relation: "t", goal: "prepare", more: "" }.next(&mut client, 0);
        if code.is_empty() {
            assert_eq!(found, Vec::<String>::new(), "{create}");
            assert_eq!(next.expect(create).phase, "shadow columns");
        } else {
            let error = error_of(next);
            assert_eq!((error.code().code(), error.message()), (code, message), "{create}");
            client.batch_execute("ROLLBACK TO s").expect("rolled back");
            let is_named =
                |reason: &String| reason.to_lowercase().starts_with(&message.to_lowercase());
            assert!(found.iter().any(is_named), "{create}: {found:?}");
        }
        if !accepted.is_empty() {
            assert_eq!(obstacles(&mut client, &format!(", {accepted}")), Vec::<String>::new());
            let next = Walk { relation: "t", goal: "prepare", more: accepted }.next(&mut client, 0);
            assert_eq!(next.expect(create).phase, "shadow columns");
        }
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

/// A function of another role would run with the rights of the owner, who fires the trigger.
#[test]
fn code_of_others_does_not_run_in_the_backfill() {
    let cluster = Cluster::start_with_conversion();
    let mut client = owner(&cluster, "app");
    let mut mallory = owner(&cluster, "mallory");
    let attack = "
        CREATE FUNCTION attack() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN GRANT app TO mallory; RETURN NEW; END';
        GRANT USAGE ON SCHEMA mallory TO app";
    mallory.batch_execute(attack).expect("a function");
    client.batch_execute(TABLES).expect("tables");
    let trigger = "
        CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION mallory.attack()";
    client.batch_execute(trigger).expect("a trigger");
    let accepted = Walk { relation: "t", goal: "prepare", more: "harmless_triggers => '{g}'" };
    let error = error_of(accepted.next(&mut client, 0));
    assert_eq!(error.code().code(), "42501");
    assert!(error.message().contains("mallory"), "{error}");
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let cluster = Cluster::start_with_conversion();
    let mut client = owner(&cluster, "app");
    client.batch_execute(TABLES).expect("tables");
    client
        .batch_execute("CREATE VIEW v AS SELECT 1; CREATE TABLE keyless (x int)")
        .expect("created");
    let cases = [
        ("t', 'prepared", "22023"),
        ("t', also => '{r}", "22023"),
        ("t', also => '{r.none}", "22023"),
        ("t', also => '{none.k}", "22023"),
        ("t', also => '{\"r.\\\"\"}", "22023"),
        ("t', also => '{NULL}", "22023"),
        ("v", "42809"),
        ("keyless", "42704"),
        ("pg_class", "42501"),
    ];
    for (arguments, code) in cases {
        let call = format!("SELECT * FROM snowflake_widen_next('{arguments}')");
        let error = error_of(client.query(&call, &[]));
        assert_eq!(error.code().code(), code, "{arguments}: {error}");
    }
    let rows = "SELECT count(*) FROM snowflake_widen_next(NULL)";
    assert_eq!(snowflake_e2e::bigint(&mut client, rows), 0);
}

/// Before an ANALYZE, the number of rows is not known, and so neither is the time.
#[test]
fn the_report_gives_a_time_if_the_rows_are_known() {
    let cluster = Cluster::builder().with_conversion().set("autovacuum", "off").start();
    let mut client = owner(&cluster, "app");
    client
        .batch_execute(
            "CREATE TABLE t (id serial PRIMARY KEY);
             INSERT INTO t SELECT FROM generate_series(1, 90000)",
        )
        .expect("a table");
    let query = "SELECT reason, coalesce(remedy, '') FROM snowflake_widen_report('t')
        WHERE lock = 'ROW EXCLUSIVE'";
    for (prepare, begin, end, remedy) in [
        ("SELECT", "Each of its rows ", " of WAL.", "Execute ANALYZE"),
        ("ANALYZE t", "Each of its 90000 rows ", " they take 00:00:03.", ""),
    ] {
        client.batch_execute(prepare).expect(prepare);
        let row = client.query_one(query, &[]).expect("a row");
        let (reason, said): (String, String) = (row.get(0), row.get(1));
        assert!(reason.starts_with(begin) && reason.ends_with(end), "{reason}");
        assert_eq!(said.is_empty(), remedy.is_empty(), "{said}");
        assert!(said.starts_with(remedy), "{said}");
    }
}
