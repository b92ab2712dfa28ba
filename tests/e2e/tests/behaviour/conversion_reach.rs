//! Code of a role that a conversion would reach in roundabout ways: by the types of columns, by casts
//! that did not exist when an expression was written, by policies, by checks of children, and by
//! names that are those of something else when a statement is executed.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of};

use super::conversion_attacks::{mallory, spied, start, statements};

/// What a table or a view has, where in the end something of mallory's is called.
const REACHED: [(&str, &str, &str); 7] = [
    (
        "a cast of a column's type that comes after the check",
        "CREATE TABLE orders (id serial PRIMARY KEY, kind mallory.kind, CHECK (id > 0 AND kind::text <> ''))",
        "type mallory.kind",
    ),
    (
        "the difference function of a range type, by an index",
        "CREATE TABLE orders (id serial PRIMARY KEY, span mallory.span); CREATE INDEX ON orders USING gist (span)",
        "type mallory.span",
    ),
    (
        "a domain within a composite type",
        "CREATE TYPE pair AS (x mallory.watched);
         CREATE TABLE orders (id serial PRIMARY KEY, CHECK (id > 0 AND '(5)'::pair IS NOT NULL))",
        "type mallory.watched",
    ),
    (
        "a domain over a domain, as an array",
        "CREATE DOMAIN mine AS mallory.watched;
         CREATE TABLE orders (id serial PRIMARY KEY, CHECK (id > 0 AND '{5}'::mine[] IS NOT NULL))",
        "type mallory.watched",
    ),
    (
        "a policy that holds for the owner",
        "CREATE TABLE orders (id serial PRIMARY KEY);
         CREATE TABLE others (y int); INSERT INTO others VALUES (1);
         ALTER TABLE others ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
         CREATE POLICY p ON others USING (mallory.spy('policy', y) > 0);
         CREATE MATERIALIZED VIEW v AS SELECT o.id FROM orders AS o, others",
        "function mallory.spy(text,bigint)",
    ),
    (
        "a cast whose function is somebody else's",
        "CREATE TYPE own AS ENUM ('a');
         CREATE TABLE orders (id serial PRIMARY KEY, kind own, CHECK (id > 0 AND kind::text <> ''));
         SET ROLE mallory;
         CREATE FUNCTION mallory.of_own(public.own) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
             $$ BEGIN PERFORM mallory.act('cast'); RETURN 'a'; END $$;
         SET ROLE app;
         CREATE CAST (own AS text) WITH FUNCTION mallory.of_own(own)",
        "function mallory.of_own(public.own)",
    ),
    (
        "a check of a child",
        "CREATE TABLE orders (id serial PRIMARY KEY);
         CREATE TABLE child (PRIMARY KEY (id), CHECK (mallory.spy('child', 1) > 0)) INHERITS (orders)",
        "function mallory.spy(text,bigint)",
    ),
];

const OF_MALLORY: &str = "
    CREATE TYPE mallory.kind AS ENUM ('a');
    CREATE DOMAIN mallory.watched AS bigint;
    CREATE FUNCTION mallory.difference(bigint, bigint) RETURNS double precision LANGUAGE plpgsql IMMUTABLE AS
        $$ BEGIN PERFORM mallory.act('difference'); RETURN 1; END $$;
    CREATE TYPE mallory.span AS RANGE (SUBTYPE = bigint, SUBTYPE_DIFF = mallory.difference);
    CREATE FUNCTION mallory.of_kind(mallory.kind) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
        $$ BEGIN PERFORM mallory.act('cast'); RETURN 'a'; END $$;
    GRANT USAGE ON SCHEMA mallory TO PUBLIC;";

fn spies() -> Cluster {
    let (cluster, mut client) = start();
    mallory(&cluster).batch_execute(OF_MALLORY).expect("types");
    client
        .batch_execute("CREATE ROLE app LOGIN; GRANT CREATE ON SCHEMA public TO app")
        .expect("a role");
    cluster
}

#[test]
fn what_is_reached_in_roundabout_ways_is_refused() {
    for (what, tables, called) in REACHED {
        let cluster = spies();
        let mut client = cluster.connect();
        client
            .batch_execute(&format!("SET ROLE app; {tables}; RESET ROLE"))
            .unwrap_or_else(|error| panic!("{what}: {error:?}"));
        // What was harmless when the tables were created is not any more.
        mallory(&cluster)
            .batch_execute(
                "CREATE CAST (mallory.kind AS text) WITH FUNCTION mallory.of_kind(mallory.kind) AS IMPLICIT;
                 ALTER DOMAIN mallory.watched ADD CHECK (mallory.spy('domain', VALUE) > 0) NOT VALID",
            )
            .expect("altered");
        let before = spied(&cluster).len();
        let convert = "SELECT snowflake_convert('orders', 'id', dependents => 'recreate'";
        for more in ["", ", rehearse => true", ", dry_run => false, validate => true"] {
            let Err(error) = client.query(&format!("{convert}{more})"), &[]) else {
                panic!("{what}: {more} was executed: {:?}", spied(&cluster));
            };
            assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{what}: {error:?}");
        }
        let report = statements(
            &mut client,
            "SELECT reason FROM snowflake_convert_report('orders') WHERE kind = 'obstacle'",
        );
        assert!(report.iter().any(|reason| reason.contains(called)), "{what}: {report:#?}");
        assert_eq!(spied(&cluster)[before..], [""; 0], "{what}");
    }
}

/// A report plans a query of the table, for which PostgreSQL would compute the checks of children, and
/// with this setting those of the table itself.
#[test]
fn a_report_computes_no_check() {
    let (cluster, mut client) = start();
    mallory(&cluster)
        .batch_execute(
            "CREATE TABLE mallory.parent (id serial PRIMARY KEY);
             CREATE TABLE mallory.child (CHECK (mallory.spy('child', 1) > 0)) INHERITS (mallory.parent);
             CREATE INDEX ON mallory.child (id);
             CREATE TABLE mallory.parted (id bigserial, day int) PARTITION BY LIST (day);
             CREATE TABLE mallory.part PARTITION OF mallory.parted (CHECK (mallory.spy('part', 1) > 0))
                 FOR VALUES IN (1);
             CREATE INDEX ON mallory.parted (id);",
        )
        .expect("tables");
    let before = spied(&cluster).len();
    client
        .batch_execute(
            "SET constraint_exclusion = on;
             SELECT snowflake_convert_report('mallory.parent'); SELECT snowflake_convert('mallory.parent', 'id');
             SELECT snowflake_convert_report('mallory.parted'); SELECT snowflake_convert('mallory.parted', 'id');",
        )
        .expect("reports");
    assert_eq!(spied(&cluster)[before..], [""; 0]);
}

/// An owner of the extension adds a function of hers to it, under the name of the default.
#[test]
fn a_default_of_somebody_else_is_noticed() {
    let (cluster, mut client) = start();
    client.batch_execute("DROP EXTENSION snowflake_convert, snowflake").expect("dropped");
    let mut owner = mallory(&cluster);
    owner.batch_execute("CREATE EXTENSION snowflake SCHEMA mallory").expect("trusted");
    owner.batch_execute("CREATE EXTENSION snowflake_convert SCHEMA mallory").expect("trusted");
    client
        .batch_execute(
            "GRANT USAGE ON SCHEMA mallory TO PUBLIC; CREATE ROLE app; CREATE SCHEMA app AUTHORIZATION app;
             SET ROLE app; CREATE TABLE app.orders (id serial PRIMARY KEY); RESET ROLE;
             CREATE TABLE steps AS SELECT * FROM mallory.snowflake_convert('app.orders', 'id')
                 WITH ORDINALITY AS s (step, statement, number)",
        )
        .expect("a dry run");
    owner
        .batch_execute(
            "ALTER SCHEMA mallory RENAME TO hidden; CREATE SCHEMA mallory;
             GRANT USAGE ON SCHEMA mallory TO PUBLIC;
             CREATE FUNCTION mallory.snowflake_nextval() RETURNS bigint LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM hidden.act('default'); RETURN 42; END $$;
             ALTER EXTENSION snowflake ADD FUNCTION mallory.snowflake_nextval();",
        )
        .expect("replaced");
    let execute =
        "SELECT hidden.snowflake_convert_execute(array_agg(statement ORDER BY number), 'app')
        FROM steps WHERE step = 'convert'";
    let error = error_of(client.query(execute, &[]));
    assert_eq!(error.code(), &SqlState::T_R_SERIALIZATION_FAILURE, "{error:?}");
    client
        .batch_execute("SELECT hidden.snowflake_convert('app.orders', 'id', dry_run => false)")
        .expect("converted");
    let default = "SELECT count(*) FROM pg_attrdef
        WHERE pg_get_expr(adbin, adrelid) = 'hidden.snowflake_nextval()'";
    assert_eq!(bigint(&mut client, default), 1);
    client.batch_execute("INSERT INTO app.orders DEFAULT VALUES").expect("a row");
    assert_eq!(spied(&cluster), [""; 0]);
}
