//! Conversion runs code that comes with a table as the owner of the table, and can do no more than
//! a statement of the owner's own could.

mod refusals;

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
    let cluster = Cluster::start_with_conversion();
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
        .batch_execute(
            "SELECT snowflake_convert(
                 'mallory.orders', 'id', dry_run => false, acknowledged => '{mallory.act(text)}')",
        )
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
fn what_the_owner_lacks_is_said_by_the_dry_run() {
    let (_cluster, mut client) = start();
    client
        .batch_execute(
            "DROP EXTENSION snowflake_convert, snowflake; CREATE SCHEMA \"My IDs\";
             CREATE EXTENSION snowflake SCHEMA \"My IDs\"; CREATE EXTENSION snowflake_convert SCHEMA \"My IDs\";
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
