//! What is created again, or parsed again, calls what it called before, or the same for bigint: a name
//! might be that of another function, operator or cast once a column has another type.

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, error_of};

use super::conversion_foreseen::owner;

/// Functions of one name for an integer, and for what a bigint becomes where there is none for it.
const OVERLOADED: &str = "
    CREATE FUNCTION bucket(integer) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1::bigint';
    CREATE FUNCTION bucket(double precision) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 2::bigint';
    CREATE FUNCTION same(integer) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1::bigint';
    CREATE FUNCTION same(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1::bigint';
    CREATE OPERATOR === (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4eq);
    CREATE OPERATOR === (LEFTARG = double precision, RIGHTARG = double precision, FUNCTION = float8eq);
    CREATE AGGREGATE highest(integer) (SFUNC = int4larger, STYPE = integer);
    CREATE AGGREGATE highest(numeric) (SFUNC = numeric_larger, STYPE = numeric);
    CREATE DOMAIN small AS integer;
    CREATE TABLE t (id serial PRIMARY KEY, item text, small smallint, share double precision);
    CREATE TABLE audit (pk integer, what text);
    CREATE TABLE big (pk bigint);";

/// What changes its meaning: what there is, the object, what it called, and what it would call. Whether
/// the report finds it, too: the rest needs a rehearsal.
const CHANGED: [(&str, &str, &str, &str, bool); 16] = [
    (
        "CREATE VIEW v AS SELECT bucket(id) FROM t",
        "view public.v",
        "function public.bucket(integer)",
        "function public.bucket(double precision)",
        true,
    ),
    (
        "CREATE VIEW v AS SELECT item FROM t WHERE id === 5",
        "view public.v",
        "operator public.===(integer,integer)",
        "operator public.===(double precision,double precision)",
        true,
    ),
    (
        "CREATE VIEW v AS SELECT highest(id) FROM t",
        "view public.v",
        "function public.highest(integer)",
        "function public.highest(numeric)",
        true,
    ),
    (
        "CREATE VIEW v AS SELECT bucket(share) + bucket(id) + bucket(small) AS n FROM t",
        "view public.v",
        "function public.bucket(integer)",
        "function public.bucket(double precision)",
        true,
    ),
    (
        "CREATE VIEW v AS SELECT item FROM (SELECT item, id FROM t ORDER BY bucket(id)) AS x
             WHERE EXISTS (SELECT FROM t WHERE bucket(t.id) = x.id)",
        "view public.v",
        "function public.bucket(integer)",
        "function public.bucket(double precision)",
        true,
    ),
    (
        "CREATE MATERIALIZED VIEW v AS SELECT bucket(id) FROM t",
        "materialized view public.v",
        "function public.bucket(integer)",
        "function public.bucket(double precision)",
        true,
    ),
    (
        "CREATE VIEW v AS SELECT id::small FROM t",
        "view public.v",
        "would also call",
        "function int4(bigint)",
        false,
    ),
    (
        "CREATE VIEW v AS SELECT id::oid FROM t",
        "view public.v",
        "would also call",
        "function oid(bigint)",
        true,
    ),
    (
        "CREATE VIEW v AS SELECT id::smallint FROM t",
        "view public.v",
        "function int2(integer)",
        "function int2(bigint)",
        true,
    ),
    (
        "CREATE MATERIALIZED VIEW v AS SELECT id FROM t; CREATE INDEX i ON v (bucket(id))",
        "index public.i",
        "function public.bucket(integer)",
        "function public.bucket(double precision)",
        false,
    ),
    (
        "ALTER TABLE t ADD CONSTRAINT c CHECK (bucket(id) > 0 OR item IS NULL)",
        "constraint c on table public.t",
        "function public.bucket(integer)",
        "function public.bucket(double precision)",
        true,
    ),
    (
        "CREATE INDEX i ON t (bucket(id))",
        "index public.i",
        "function public.bucket(integer)",
        "function public.bucket(double precision)",
        true,
    ),
    (
        "CREATE POLICY p ON t USING (bucket(id) > 0)",
        "policy p on table public.t",
        "function public.bucket(integer)",
        "function public.bucket(double precision)",
        true,
    ),
    (
        "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
         CREATE TRIGGER tell BEFORE UPDATE ON t FOR EACH ROW WHEN (bucket(NEW.id) > 0)
             EXECUTE FUNCTION tell()",
        "trigger tell on table public.t",
        "function public.bucket(integer)",
        "function public.bucket(double precision)",
        false,
    ),
    (
        "CREATE FUNCTION f() RETURNS bigint BEGIN ATOMIC SELECT max(bucket(id)) FROM t; END",
        "function public.f()",
        "function public.bucket(integer)",
        "function public.bucket(double precision)",
        false,
    ),
    (
        "CREATE RULE log AS ON INSERT TO t DO ALSO INSERT INTO audit VALUES (NEW.id + 1, NEW.item)",
        "rule log on table public.t",
        "would also call",
        "function int4(bigint)",
        false,
    ),
];

/// What means the same afterwards.
const SAME: &str = "
    CREATE VIEW v1 AS SELECT same(id), id + 1 AS n, id / small AS o, id * share AS p, id % 2 AS q, -id AS r,
        id = small AS s, id <> ALL (ARRAY[1, 2]) AS u, id IN (1, 2, 3) AS w, id::text, id::bigint AS x,
        id::numeric AS y, id::double precision AS z, coalesce(id, small, 0) AS a, abs(id) AS b, id::numeric(20, 2) AS c,
        sqrt(id) AS d, lower(id::varchar(30)) AS e, -(1::integer) AS f, CASE id WHEN 5 THEN 6 ELSE id END AS g
        FROM t;
    CREATE VIEW v2 AS SELECT sum(id), max(id), avg(id), count(DISTINCT id), array_agg(id ORDER BY id DESC) FROM t;
    CREATE VIEW v3 AS SELECT lag(id) OVER (PARTITION BY id % 2 ORDER BY id), row_number() OVER w FROM t
        WINDOW w AS (ORDER BY id, item);
    CREATE VIEW v4 AS SELECT t.id, a.what FROM t JOIN audit AS a ON a.pk = t.id UNION SELECT pk, what FROM audit;
    CREATE VIEW v5 AS SELECT id FROM t EXCEPT SELECT pk FROM big;
    CREATE VIEW v6 AS SELECT g FROM t, generate_series(1, id) AS g;
    CREATE VIEW v7 AS SELECT id, item FROM v4 AS x (id, item) JOIN t USING (id, item) WHERE x.id BETWEEN 1 AND 5;
    CREATE MATERIALIZED VIEW m AS SELECT same(id) AS id, to_char(id, '999') FROM t; CREATE INDEX ON m (abs(id));
    ALTER TABLE t ADD CHECK (same(id) > 0 AND id > small), ADD CHECK (id <> 7);
    CREATE INDEX ON t (same(id), (id + small)) WHERE id > 0;
    CREATE STATISTICS st ON (id % 10), item FROM t;
    CREATE POLICY p ON t USING (id > 0 AND same(id) = 1);
    CREATE RULE r AS ON INSERT TO t DO ALSO INSERT INTO big VALUES (NEW.id);
    CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    CREATE TRIGGER tell BEFORE UPDATE ON t FOR EACH ROW WHEN (NEW.id <> OLD.id AND same(NEW.id) > 0)
        EXECUTE FUNCTION tell();
    CREATE FUNCTION f() RETURNS bigint BEGIN ATOMIC SELECT max(same(id)) FROM t WHERE id > 1; END;";

fn owned() -> (Cluster, Client) {
    let cluster = Cluster::start_with_conversion();
    let client = owner(&cluster);
    (cluster, client)
}

#[test]
fn what_would_call_something_else_is_an_obstacle_that_names_both() {
    let (_cluster, mut client) = owned();
    client.batch_execute(OVERLOADED).expect("functions");
    for (object, of, before, now, is_foreseen) in CHANGED {
        client.batch_execute(&format!("BEGIN; {object}")).expect(object);
        let rows = client
            .query(
                "SELECT reason FROM snowflake_convert_report('t')
                 WHERE kind = 'obstacle' AND object IN ($1, 'public.t') AND reason LIKE '%something else%'",
                &[&of],
            )
            .unwrap_or_else(|error| panic!("{object}: {error:?}"));
        let said: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(said.len(), usize::from(is_foreseen), "{object}: {said:?}");
        let is_named = |text: &str| text.contains(before) && text.contains(now);
        assert!(said.iter().all(|reason| is_named(reason)), "{object}: {said:?}");
        for rest in ["rehearse => true", "dry_run => false"] {
            let convert =
                format!("SELECT snowflake_convert('t', dependents => 'recreate', {rest})");
            client.batch_execute("SAVEPOINT before").expect("a savepoint");
            let error = error_of(client.query(&convert, &[]));
            assert_eq!(
                *error.code(),
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                "{object}: {error:?}"
            );
            let message = format!("{of} would call something else when keys are bigint");
            assert_eq!(error.message(), message, "{object}");
            assert!(is_named(error.detail().expect("a detail")), "{object}: {error:?}");
            client.batch_execute("ROLLBACK TO before").expect("rolled back");
        }
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

#[test]
fn what_calls_the_same_for_bigint_is_no_obstacle() {
    let (_cluster, mut client) = owned();
    client.batch_execute(&format!("{OVERLOADED} {SAME}")).expect("objects");
    let rows = client
        .query(
            "SELECT object, reason FROM snowflake_convert_report('t')
             WHERE kind = 'obstacle' AND reason NOT LIKE '%What depends on it%'",
            &[],
        )
        .unwrap_or_else(|error| panic!("{error:?}"));
    let rows: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(rows, [], "obstacles");
    client
        .batch_execute("SELECT snowflake_convert('t', dependents => 'recreate', dry_run => false)")
        .unwrap_or_else(|error| panic!("{error:?}"));
}
