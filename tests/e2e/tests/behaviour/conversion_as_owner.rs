//! Conversion runs code that comes with a table as the owner of the table, and can do no more than
//! a statement of the owner's own could.

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, error_of};

const ROLES: &str = "
    CREATE ROLE app LOGIN;
    CREATE ROLE mallory LOGIN;
    GRANT CREATE ON SCHEMA public TO app, mallory;
    CREATE SCHEMA mallory AUTHORIZATION mallory;
";

/// A function of mallory's that says who runs it, and tries to become somebody else.
const SPY: &str = "
    CREATE FUNCTION mallory.act(place text) RETURNS boolean LANGUAGE plpgsql AS $$
    DECLARE
        trick text;
    BEGIN
        RAISE LOG 'spy in % runs as %', place, current_user;
        FOREACH trick IN ARRAY '{ALTER ROLE mallory SUPERUSER, RESET ROLE, SET ROLE postgres, RESET SESSION AUTHORIZATION,
                                 CREATE TEMP TABLE mine (), SET work_mem TO 64}'::text[] LOOP
            BEGIN
                EXECUTE trick;
                RAISE LOG 'spy in % has done: %', place, trick;
            EXCEPTION WHEN OTHERS THEN NULL;
            END;
        END LOOP;
        RETURN true;
    END $$;
    CREATE FUNCTION mallory.spy(place text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
        $$ BEGIN PERFORM mallory.act(place); RETURN true; END $$;
    CREATE FUNCTION mallory.spy(place text, id bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS
        $$ BEGIN PERFORM mallory.act(place); RETURN id; END $$;
    CREATE DOMAIN mallory.watched AS bigint CHECK (mallory.spy('domain', VALUE) > 0);
";

/// A table of mallory's with all of that.
const TABLE: &str = "
    CREATE TABLE mallory.orders (
        id serial PRIMARY KEY CHECK (id > 0 AND mallory.spy('check')),
        other int NOT NULL DEFAULT 1,
        generated bigint GENERATED ALWAYS AS (mallory.spy('generated', other)) STORED,
        watched mallory.watched GENERATED ALWAYS AS (other + 1) STORED
    );
    CREATE INDEX ON mallory.orders (mallory.spy('index', id));
    CREATE INDEX ON mallory.orders (id) WHERE mallory.spy('predicate') AND id > 0;
    CREATE FUNCTION mallory.on_row() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM mallory.act('trigger'); RETURN NEW; END $$;
    CREATE TRIGGER spy BEFORE INSERT OR UPDATE OR DELETE ON mallory.orders FOR EACH ROW EXECUTE FUNCTION mallory.on_row();
    INSERT INTO mallory.orders DEFAULT VALUES;
    INSERT INTO mallory.orders DEFAULT VALUES;
";

/// What the spies have logged since the log was this long.
fn spied(cluster: &Cluster, since: usize) -> Vec<String> {
    let log = cluster.log();
    let lines = log[since..].lines().filter_map(|line| line.split("LOG:  spy in ").nth(1));
    lines.map(str::to_owned).collect()
}

#[track_caller]
fn assert_refused(client: &mut Client, query: &str, message: &str, detail: &str) {
    let error = error_of(client.query(query, &[]));
    assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{query}: {error}");
    assert_eq!(error.message(), message, "{query}");
    assert_eq!(error.detail(), Some(detail), "{query}");
}

fn start() -> (Cluster, Client) {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client.batch_execute(ROLES).expect("roles");
    session(&cluster, "mallory").batch_execute(SPY).expect("spies");
    (cluster, client)
}

fn session(cluster: &Cluster, user: &str) -> Client {
    cluster.config().user(user).connect(postgres::NoTls).expect("a session")
}

#[test]
fn a_superuser_who_converts_a_table_runs_its_code_as_its_owner() {
    let (cluster, mut client) = start();
    client
        .batch_execute(
            "CREATE FUNCTION on_ddl() RETURNS event_trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE LOG 'spy in event runs as %', current_user; END $$;
             CREATE EVENT TRIGGER spy ON ddl_command_start EXECUTE FUNCTION on_ddl();",
        )
        .expect("an event trigger");
    session(&cluster, "mallory").batch_execute(TABLE).expect("a table");
    let since = cluster.log().len();
    client
        .batch_execute("SELECT snowflake_convert('mallory.orders', 'id', dry_run => false)")
        .expect("converted");
    client
        .batch_execute("SELECT snowflake_revert('mallory.orders', 'id', dry_run => false)")
        .expect("reverted");
    let spied = spied(&cluster, since);
    // The others do not run where the type of a column changes that they do not depend on.
    for place in ["check", "index", "predicate", "event"] {
        assert!(spied.contains(&format!("{place} runs as mallory")), "{place}: {spied:?}");
    }
    for line in &spied {
        assert!(
            line.ends_with(" runs as mallory") || line.ends_with("has done: SET work_mem TO 64"),
            "{line}"
        );
    }
    let row = client
        .query_one(
            "SELECT rolsuper, current_user = 'postgres', current_setting('work_mem') <> '64kB'
             FROM pg_roles WHERE rolname = 'mallory'",
            &[],
        )
        .expect("a role");
    assert_eq!((row.get(0), row.get(1), row.get(2)), (false, true, true));
}

#[test]
fn what_belongs_to_several_owners_is_refused_and_named() {
    let (cluster, mut client) = start();
    session(&cluster, "mallory").batch_execute(TABLE).expect("a table");
    session(&cluster, "app")
        .batch_execute(
            "CREATE TABLE customers (id serial PRIMARY KEY);
             INSERT INTO customers DEFAULT VALUES;
             GRANT REFERENCES ON customers TO mallory;
             CREATE TABLE parted (id int, day int) PARTITION BY RANGE (day);
             CREATE TABLE parent (id serial);
             CREATE SEQUENCE mixed_keys;
             CREATE TABLE mixed (id int PRIMARY KEY DEFAULT nextval('mixed_keys'));
             CREATE TABLE big (id bigserial PRIMARY KEY);
             GRANT REFERENCES ON big TO mallory;",
        )
        .expect("tables");
    session(&cluster, "mallory")
        .batch_execute(
            "CREATE TABLE mallory.visits (customer int REFERENCES public.customers CHECK \
             (mallory.spy('check') AND customer > 0));
             INSERT INTO mallory.visits VALUES (1);
             CREATE TABLE mallory.refers (id bigint REFERENCES public.big CHECK (mallory.spy('check') AND id > 0));",
        )
        .expect("tables");
    client
        .batch_execute(
            "CREATE TABLE mallory.part PARTITION OF parted FOR VALUES FROM (0) TO (10);
             CREATE TABLE mallory.child () INHERITS (parent);
             ALTER TABLE mallory.part OWNER TO mallory;
             ALTER TABLE mallory.child OWNER TO mallory;
             ALTER SEQUENCE mixed_keys OWNER TO mallory;",
        )
        .expect("tables");
    let since = cluster.log().len();
    for (relation, others) in [
        ("customers", "table mallory.visits"),
        ("parted", "table mallory.part"),
        ("parent", "table mallory.child"),
        ("mixed", "sequence public.mixed_keys"),
    ] {
        for user in ["app", "postgres"] {
            for dry_run in [true, false] {
                assert_refused(
                    &mut session(&cluster, user),
                    &format!("SELECT snowflake_convert('{relation}', 'id', {dry_run})"),
                    "objects to be changed belong to app and to mallory",
                    &format!(
                        "A conversion runs as one role, which must own everything that it changes. Of mallory: {others}."
                    ),
                );
            }
        }
    }
    // A foreign key is checked in every partition of the table that refers.
    client
        .batch_execute(
            "CREATE TABLE months (id serial PRIMARY KEY);
             CREATE TABLE weeks (id int, month int REFERENCES months) PARTITION BY RANGE (id);
             CREATE TABLE mallory.week PARTITION OF weeks FOR VALUES FROM (0) TO (10);
             ALTER TABLE mallory.week OWNER TO mallory;",
        )
        .expect("tables");
    assert_refused(
        &mut client,
        "SELECT snowflake_convert('months', 'id')",
        "objects to be changed belong to postgres and to mallory",
        "A conversion runs as one role, which must own everything that it changes. Of mallory: table mallory.week.",
    );
    // A report names all owners, each once, and first.
    let report = "SELECT kind || ' ' || object
        FROM snowflake_convert_report(schema => 'public') WITH ORDINALITY
            AS r (kind, object, reason, remedy, rewritten, lock, n)
        ORDER BY n LIMIT 2";
    let rows = client.query(report, &[]).expect("a report");
    let rows: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let expected = ["obstacle role mallory", "obstacle role postgres"];
    assert_eq!(rows, expected);
    // A bigint key is not rewritten, and neither is what refers to it: nothing of mallory's is
    // reached.
    client.batch_execute("SELECT snowflake_convert('big', 'id', false)").expect("converted");
    assert_eq!(spied(&cluster, since), [""; 0]);
}

/// What is created again belongs to the owner of the tables, and what that calls or reads belongs to
/// this role or to a superuser.
#[test]
fn dependents_of_other_roles_are_refused_and_named() {
    let (cluster, mut client) = start();
    let mut mallory = session(&cluster, "mallory");
    mallory
        .batch_execute(
            "CREATE TABLE mallory.notes (id int);
             GRANT USAGE ON SCHEMA mallory TO app; GRANT SELECT ON mallory.notes TO app;",
        )
        .expect("a table");
    let convert = "SELECT snowflake_convert('orders', 'id', dependents => 'recreate'";
    let theirs = "A conversion runs as one role, which must own everything that it changes. Of postgres: materialized view public.theirs.";
    let called = |what: &str| format!("They would be used with the rights of app: {what}.");
    for (dependent, message, detail) in [
        (
            "CREATE MATERIALIZED VIEW theirs AS SELECT id FROM orders",
            "objects to be changed belong to app and to postgres",
            theirs.to_owned(),
        ),
        (
            "SET ROLE app; CREATE VIEW v AS SELECT id, mallory.spy('view', id) FROM orders",
            "objects that are called or read belong to mallory, and not to app or a superuser",
            called("function mallory.spy(text,bigint)"),
        ),
        (
            "SET ROLE app; CREATE VIEW v AS SELECT o.id FROM orders AS o JOIN mallory.notes USING (id)",
            "objects that are called or read belong to mallory, and not to app or a superuser",
            called("table mallory.notes"),
        ),
        (
            "SET ROLE app; CREATE FUNCTION mine() RETURNS bigint IMMUTABLE
                 BEGIN ATOMIC SELECT mallory.spy('body', 1); END;
             CREATE VIEW v AS SELECT id, mine() FROM orders",
            "objects that are called or read belong to mallory, and not to app or a superuser",
            called("function mallory.spy(text,bigint)"),
        ),
        (
            "SET ROLE app; CREATE VIEW v AS SELECT id, 1::mallory.watched FROM orders",
            "objects that are called or read belong to mallory, and not to app or a superuser",
            called("function mallory.spy(text,bigint), type mallory.watched"),
        ),
        (
            "SET ROLE app; ALTER TABLE orders ADD CHECK (mallory.spy('check'))",
            "objects that are called or read belong to mallory, and not to app or a superuser",
            called("function mallory.spy(text)"),
        ),
        (
            "SET ROLE app; CREATE INDEX ON orders (mallory.spy('index', id))",
            "objects that are called or read belong to mallory, and not to app or a superuser",
            called("function mallory.spy(text,bigint)"),
        ),
    ] {
        session(&cluster, "app")
            .batch_execute("CREATE TABLE orders (id serial PRIMARY KEY)")
            .expect("a table");
        client
            .batch_execute(&format!("{dependent}; RESET ROLE"))
            .unwrap_or_else(|error| panic!("{dependent}: {error:?}"));
        let since = cluster.log().len();
        for way in [")", ", rehearse => true)", ", dry_run => false)"] {
            let query = format!("{convert}{way}");
            for user in ["app", "postgres"] {
                let Err(error) = session(&cluster, user).query(&query, &[]) else {
                    panic!("{dependent}: {query} was executed");
                };
                let code = error.code();
                assert_eq!(code, Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{dependent}: {error}");
            }
        }
        let report =
            "SELECT reason FROM snowflake_convert_report('orders') WHERE kind = 'obstacle'";
        let rows = client.query(report, &[]).expect("a report");
        let reasons: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let mut reason = format!("{message}. {detail}");
        reason[..1].make_ascii_uppercase();
        assert!(reasons.contains(&reason), "{dependent}: {reason}: {reasons:#?}");
        assert_eq!(spied(&cluster, since), [""; 0], "{dependent}");
        client
            .batch_execute("DROP TABLE orders CASCADE; DROP FUNCTION IF EXISTS mine")
            .expect("dropped");
    }
}

/// In a schema of another role, the names of statements can become those of other objects.
#[test]
fn schemas_of_other_roles_are_refused_and_named() {
    let (cluster, mut client) = start();
    const DETAIL: &str = "The owner of a schema can put other objects in the place of those that the statements name.";
    client
        .batch_execute(
            "CREATE TABLE plain (id serial PRIMARY KEY);
             CREATE TABLE mallory.lines (plain_id int REFERENCES plain);
             CREATE TABLE own (id serial PRIMARY KEY);
             CREATE TABLE mallory.notes (id int);
             CREATE VIEW v AS SELECT o.id FROM own AS o JOIN mallory.notes USING (id);",
        )
        .expect("tables");
    for call in [
        "snowflake_convert('plain', 'id', false)",
        "snowflake_convert('own', 'id', false, dependents => 'recreate')",
        "snowflake_convert('own', 'id', rehearse => true, dependents => 'recreate')",
    ] {
        let message = "schema mallory belongs to mallory, and not to postgres or a superuser";
        assert_refused(&mut client, &format!("SELECT {call}"), message, DETAIL);
    }
    // The schema public belongs to the owner of the database.
    client.batch_execute("CREATE DATABASE theirs OWNER mallory").expect("a database");
    let mut theirs = snowflake_e2e::connect_to(&cluster, "theirs");
    theirs
        .batch_execute("CREATE EXTENSION snowflake; CREATE TABLE plain (id serial PRIMARY KEY)")
        .expect("a table");
    for call in [
        "snowflake_convert(schema => 'public', dry_run => false)",
        "snowflake_revert('plain', 'id')",
    ] {
        assert_refused(
            &mut theirs,
            &format!("SELECT {call}"),
            "schema public belongs to pg_database_owner, and not to postgres or a superuser",
            DETAIL,
        );
    }
    theirs.batch_execute("ALTER TABLE plain OWNER TO mallory").expect("altered");
    theirs
        .batch_execute("SELECT snowflake_convert(schema => 'public', dry_run => false)")
        .expect("converted as the owner of the database");
}

/// Where others create functions, a name that is parsed again can become that of one of theirs, since
/// the type of its argument has changed.
#[test]
fn schemas_in_which_others_create_functions_are_refused_and_named() {
    let (cluster, mut client) = start();
    session(&cluster, "app")
        .batch_execute(
            "CREATE FUNCTION public.label(anyelement) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1::text';
             CREATE TABLE orders (id serial PRIMARY KEY CHECK (public.label(id) <> 'x'));
             CREATE TABLE plain (id serial PRIMARY KEY CHECK (id > 0));
             INSERT INTO orders DEFAULT VALUES;",
        )
        .expect("a table");
    session(&cluster, "mallory")
        .batch_execute(
            "CREATE FUNCTION public.label(bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
                 $$ BEGIN PERFORM mallory.act('overload'); RETURN $1; END $$",
        )
        .expect("an overload");
    let since = cluster.log().len();
    let convert = "SELECT snowflake_convert('orders', 'id', dry_run => false)";
    assert_refused(
        &mut client,
        convert,
        "others than app can create objects in schema public",
        "After columns change their type, another function or operator could be called in place of: function public.label(anyelement).",
    );
    assert_eq!(spied(&cluster, since), [""; 0]);
    client
        .batch_execute(
            "SELECT snowflake_convert('plain', 'id', dry_run => false);
             REVOKE CREATE ON SCHEMA public FROM mallory; DROP FUNCTION public.label(bigint);",
        )
        .expect("what the hint says");
    client.batch_execute(convert).expect("converted");
}

#[test]
fn what_the_owner_lacks_is_said_by_the_dry_run() {
    let (_cluster, mut client) = start();
    client
        .batch_execute(
            "DROP EXTENSION snowflake; CREATE SCHEMA \"My IDs\"; CREATE EXTENSION snowflake SCHEMA \"My IDs\";
             CREATE SCHEMA closed; GRANT CREATE, USAGE ON SCHEMA closed TO app;
             SET SESSION AUTHORIZATION app;
             CREATE TABLE closed.orders (id serial PRIMARY KEY);
             CREATE TABLE closed.lines (order_id int CONSTRAINT of_order REFERENCES closed.orders);
             REVOKE REFERENCES ON closed.orders FROM app;
             RESET SESSION AUTHORIZATION;",
        )
        .expect("tables");
    let convert = "SELECT \"My IDs\".snowflake_convert('closed.orders', 'id')";
    let as_owner = "The statements run as the owner of the table.";
    assert_refused(
        &mut client,
        convert,
        "owner app of table closed.orders lacks USAGE on schema \"My IDs\"",
        "The statements run as the owner of the table, and name snowflake_nextval() in that \
         schema.",
    );
    client
        .batch_execute(
            "GRANT USAGE ON SCHEMA \"My IDs\" TO app; REVOKE USAGE ON SCHEMA closed FROM app",
        )
        .expect("granted");
    assert_refused(
        &mut client,
        convert,
        "owner app of table closed.lines lacks USAGE on schema closed",
        as_owner,
    );
    client.batch_execute("GRANT USAGE ON SCHEMA closed TO app").expect("granted");
    assert_refused(
        &mut client,
        convert,
        "owner app of table closed.lines lacks REFERENCES on table closed.orders",
        "The statements run as the owner of the table, and create foreign key of_order again.",
    );
    client.batch_execute("GRANT REFERENCES ON closed.orders TO app").expect("granted");
    client
        .batch_execute("SELECT \"My IDs\".snowflake_convert('closed.orders', 'id', false)")
        .expect("converted");
    client
        .batch_execute(
            "DROP SEQUENCE closed.orders_id_seq; REVOKE CREATE ON SCHEMA closed FROM app",
        )
        .expect("revoked");
    let revert = "SELECT \"My IDs\".snowflake_revert('closed.orders', 'id')";
    assert_refused(
        &mut client,
        revert,
        "owner app of table closed.orders lacks CREATE on schema closed",
        "The statements run as the owner of the table, and create a sequence.",
    );
    client.batch_execute("GRANT CREATE ON SCHEMA closed TO app").expect("granted");
    client
        .batch_execute("SELECT \"My IDs\".snowflake_revert('closed.orders', 'id', false)")
        .expect("reverted");
}

/// Before PostgreSQL 17, a reversion gives a partitioned table a sequence: PostgreSQL's own.
#[test]
fn a_function_in_the_callers_path_does_not_become_the_default() {
    let (_cluster, mut client) = start();
    client
        .batch_execute(
            "CREATE FUNCTION public.nextval(text) RETURNS bigint LANGUAGE sql AS 'SELECT \
             -1::bigint';
             CREATE TABLE orders (id bigint DEFAULT snowflake_nextval(), day int) PARTITION BY RANGE (day);
             CREATE TABLE part PARTITION OF orders FOR VALUES FROM (0) TO (10);
             SELECT snowflake_revert('orders', 'id', false);
             INSERT INTO orders (day) VALUES (1);",
        )
        .expect("reverted");
    let id: i64 = client.query_one("SELECT id FROM orders", &[]).expect("a row").get(0);
    assert_eq!(id, 1);
}

/// The owner would not see all values of the column.
#[test]
fn forced_row_level_security_is_an_obstacle() {
    let (cluster, mut client) = start();
    session(&cluster, "app")
        .batch_execute(
            "CREATE TABLE orders (id serial PRIMARY KEY);
             ALTER TABLE orders ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;",
        )
        .expect("a table");
    let error = error_of(client.query("SELECT snowflake_convert('orders', 'id')", &[]));
    assert_eq!(
        error.message(),
        "owner app of table public.orders is subject to its row-level security"
    );
    assert!(error.hint().is_some_and(|hint| hint.contains("NO FORCE ROW LEVEL SECURITY")));
}

/// A check whose function has names without a schema works as in a statement of the owner's own.
#[test]
fn the_search_path_is_the_callers() {
    let (_cluster, mut client) = start();
    client
        .batch_execute(
            "CREATE SCHEMA own; SET search_path = own, public;
             CREATE TABLE limits (largest bigint);
             INSERT INTO limits VALUES (9223372036854775807);
             CREATE FUNCTION allowed(id bigint) RETURNS boolean LANGUAGE plpgsql AS
                 $$ BEGIN RETURN id <= (SELECT largest FROM limits); END $$;
             CREATE TABLE orders (id serial PRIMARY KEY CHECK (allowed(id)));
             INSERT INTO orders DEFAULT VALUES;
             SELECT snowflake_convert('orders', 'id', dry_run => false);
             SELECT snowflake_revert('orders', 'id', dry_run => false);",
        )
        .expect("converted and reverted");
}

/// Their owner is the session itself: nobody else is there to be protected, and PostgreSQL has to
/// allow a new sequence.
#[test]
fn temporary_tables_are_converted_and_reverted() {
    let (cluster, _client) = start();
    session(&cluster, "mallory")
        .batch_execute(
            "CREATE TEMP TABLE mine (id serial PRIMARY KEY);
             INSERT INTO mine DEFAULT VALUES;
             SELECT snowflake_convert('mine', 'id', false);
             INSERT INTO mine DEFAULT VALUES;
             SELECT snowflake_revert('mine', 'id', false);
             INSERT INTO mine DEFAULT VALUES;",
        )
        .expect("converted and reverted");
}
