//! Code of a role is not run by a conversion, its report or what it returns with rights that this
//! role lacks, whatever the role does before, and while a statement of the conversion runs its code.

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of, eventually};

/// `mallory.act()` says who runs it, and makes mallory a superuser if it can. Each attack calls it.
const ROLES: &str = "
    CREATE ROLE mallory LOGIN;
    CREATE SCHEMA mallory AUTHORIZATION mallory;
    GRANT CREATE ON DATABASE postgres TO mallory;
    SET SESSION AUTHORIZATION mallory;
    CREATE FUNCTION mallory.act(place text) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        RAISE LOG 'spy in % runs as %', place, current_user;
        EXECUTE 'ALTER ROLE mallory SUPERUSER';
        RETURN true;
    EXCEPTION WHEN insufficient_privilege THEN
        RETURN true;
    END $$;
    CREATE FUNCTION mallory.spy(place text, id bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS
        $$ BEGIN PERFORM mallory.act(place); RETURN id; END $$;
    RESET SESSION AUTHORIZATION;";

pub fn start() -> (Cluster, Client) {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client.batch_execute(ROLES).expect("roles");
    (cluster, client)
}

pub fn mallory(cluster: &Cluster) -> Client {
    cluster.config().user("mallory").connect(postgres::NoTls).expect("a session")
}

/// The places in which the spies ran, and as whom. Nobody has become a superuser.
#[track_caller]
pub fn spied(cluster: &Cluster) -> Vec<String> {
    let supers = "SELECT count(*) FROM pg_roles WHERE rolsuper";
    assert_eq!(bigint(&mut cluster.connect(), supers), 1, "{}", cluster.log());
    let log = cluster.log();
    let lines = log.lines().filter_map(|line| line.split("LOG:  spy in ").nth(1));
    lines.map(str::to_owned).collect()
}

pub fn statements(client: &mut Client, query: &str) -> Vec<String> {
    let rows = client.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    rows.iter().map(|row| row.get(0)).collect()
}

/// A superuser's table has a check whose operator is that of another schema, if that schema comes
/// before in the path of the session.
#[test]
fn operators_of_a_schema_in_the_path_are_not_called() {
    let (cluster, mut client) = start();
    mallory(&cluster)
        .batch_execute(
            "CREATE FUNCTION mallory.modulo(bigint, integer) RETURNS bigint LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM mallory.act('operator'); RETURN 0; END $$;
             CREATE OPERATOR mallory.% (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = mallory.modulo);
             GRANT USAGE ON SCHEMA mallory TO PUBLIC;",
        )
        .expect("an operator");
    client
        .batch_execute(
            "CREATE FUNCTION is_whole(id bigint) RETURNS boolean LANGUAGE plpgsql AS
                 $$ BEGIN RETURN id % 1 = 0; END $$;
             CREATE TABLE plain (id serial PRIMARY KEY CHECK (is_whole(id)));
             CREATE TABLE lines (plain_id int REFERENCES plain CHECK (is_whole(plain_id)));
             CREATE TABLE modulo (id serial PRIMARY KEY CHECK (id % 1 = 0));
             INSERT INTO plain DEFAULT VALUES; INSERT INTO modulo DEFAULT VALUES;
             SET search_path = mallory, public;
             SELECT snowflake_convert_report('plain'); SELECT snowflake_convert_report('modulo');
             SELECT snowflake_convert('plain', 'id'); SELECT snowflake_convert('modulo', 'id');
             SELECT snowflake_convert('plain', 'id', rehearse => true);
             SELECT snowflake_convert('plain', 'id', dry_run => false);
             SELECT snowflake_convert('modulo', 'id', dry_run => false);
             SELECT snowflake_revert('plain', 'id', dry_run => false);",
        )
        .expect("converted");
    assert_eq!(spied(&cluster), [""; 0]);
}

/// What the next ID would be tried with, and what PostgreSQL computes when it plans a query.
const EXPRESSIONS: &str = "
    CREATE DOMAIN mallory.watched AS bigint CHECK (mallory.spy('domain', VALUE) > 0);
    CREATE TABLE mallory.checked (id serial PRIMARY KEY CHECK (mallory.spy('check', id) > 0));
    CREATE TABLE mallory.cast (id serial PRIMARY KEY CHECK (id::mallory.watched > 0));
    CREATE TABLE mallory.text (id serial PRIMARY KEY CHECK (id > 0 AND query_to_xml_and_xmlschema(
        'SELECT mallory.act(''text'')', true, true, '') IS NOT NULL));
    CREATE TABLE mallory.folded (id bigserial PRIMARY KEY);
    CREATE INDEX ON mallory.folded ((id + mallory.spy('folded', 1)));
    CREATE TABLE mallory.parted (id bigserial, day bigint) PARTITION BY RANGE (id, (day + mallory.spy('bound', 1)));
    CREATE TABLE mallory.part PARTITION OF mallory.parted FOR VALUES FROM (0, 0) TO (9, 9);
    CREATE TABLE mallory.referred (id serial PRIMARY KEY);
    CREATE TABLE mallory.refers (id int REFERENCES mallory.referred CHECK (mallory.spy('risk', id) > 0));";

/// The report and dry runs evaluate nothing of that, and say so. A rehearsal does, as the owner.
#[test]
fn a_report_and_a_dry_run_run_no_code() {
    let (cluster, mut client) = start();
    mallory(&cluster).batch_execute(EXPRESSIONS).expect("tables");
    let created = spied(&cluster).len();
    for (table, is_tested_by) in [
        ("checked", "check constraint checked_id_check"),
        ("cast", "check constraint cast_id_check"),
        ("text", "check constraint text_id_check"),
        ("folded", "The largest value was not read"),
        ("parted", "none of its partitions"),
        ("refers", ""),
    ] {
        let key = if table == "refers" { "referred" } else { table };
        let report = format!(
            "SELECT concat(object, ' ', reason, ' ', remedy) FROM snowflake_convert_report('mallory.{key}')
             WHERE kind = 'risk' AND reason LIKE 'The following could not be ruled out%'"
        );
        let untested = statements(&mut client, &report);
        assert_eq!(untested.len(), 1, "{table}: {untested:?}");
        assert!(
            untested[0].contains("Call snowflake_convert() with rehearse => true to test it."),
            "{table}: {untested:?}"
        );
        client
            .batch_execute(&format!("SELECT snowflake_convert('mallory.{key}', 'id')"))
            .unwrap_or_else(|error| panic!("{table}: {error:?}"));
        println!("{table}: {is_tested_by}: {untested:?}");
    }
    assert_eq!(spied(&cluster).len(), created, "{:?}", spied(&cluster));
    // What only calls PostgreSQL's own immutable functions is tried.
    mallory(&cluster)
        .batch_execute("CREATE TABLE mallory.small (id serial PRIMARY KEY CHECK (abs(id) < 1000))")
        .expect("a table");
    let error = error_of(client.query("SELECT snowflake_convert('mallory.small', 'id')", &[]));
    assert_eq!(error.code(), &SqlState::CHECK_VIOLATION, "{error}");

    client
        .batch_execute("SELECT snowflake_convert('mallory.checked', 'id', rehearse => true)")
        .expect("rehearsed");
    let spied = spied(&cluster);
    assert!(spied.len() > created, "a rehearsal evaluates the check");
    assert!(spied.iter().all(|line| line.ends_with("runs as mallory")), "{spied:?}");
}

/// A view cannot be read by way of a report.
#[test]
fn a_report_reads_no_view() {
    let (cluster, mut client) = start();
    mallory(&cluster)
        .batch_execute("CREATE VIEW mallory.v AS SELECT mallory.spy('view', 1) AS id")
        .expect("a view");
    for call in
        ["convert_report('mallory.v')", "convert('mallory.v', 'id')", "revert('mallory.v', 'id')"]
    {
        error_of(client.query(&format!("SELECT snowflake_{call}"), &[]));
    }
    assert_eq!(spied(&cluster), [""; 0]);
}

/// While a table is rewritten, its owner's check puts a view in the place of another one. A superuser
/// who converts them does not go on with that view.
#[test]
fn a_table_that_is_replaced_meanwhile_is_noticed() {
    let (cluster, mut client) = start();
    mallory(&cluster)
        .batch_execute(
            "CREATE TABLE mallory.orders (id serial PRIMARY KEY);
             CREATE TABLE mallory.tags (id serial PRIMARY KEY);
             CREATE FUNCTION mallory.replace(id bigint) RETURNS boolean LANGUAGE plpgsql AS $$
             BEGIN
                 IF to_regclass('mallory.hidden') IS NULL AND pg_typeof(id) = 'bigint'::regtype
                    AND (SELECT atttypid = 'bigint'::regtype FROM pg_attribute
                         WHERE attrelid = 'mallory.orders'::regclass AND attname = 'id') THEN
                     ALTER TABLE mallory.tags RENAME TO hidden;
                     CREATE VIEW mallory.tags AS SELECT mallory.spy('view', 1) AS id;
                 END IF;
                 RETURN true;
             END $$;
             ALTER TABLE mallory.orders ADD CHECK (mallory.replace(id));
             INSERT INTO mallory.orders DEFAULT VALUES;
             INSERT INTO mallory.tags DEFAULT VALUES;
             CREATE MATERIALIZED VIEW mallory.counted AS SELECT id FROM mallory.tags;",
        )
        .expect("tables");
    let convert =
        "SELECT snowflake_convert(schema => 'mallory', dependents => 'recreate', dry_run => false)";
    let error = error_of(client.query(convert, &[]));
    assert_eq!(error.code(), &SqlState::T_R_SERIALIZATION_FAILURE, "{error:?}");
    assert_eq!(error.message(), "mallory.tags was changed during the conversion");
    assert_eq!(spied(&cluster), [""; 0]);
    let hidden = "SELECT count(*) FROM pg_class WHERE relname = 'hidden'";
    assert_eq!(bigint(&mut client, hidden), 0, "nothing of it stays");
}

/// Lets a check of the owner wait for the test, which meanwhile does what other sessions can do.
struct Race {
    cluster: Cluster,
    client: Client,
}

/// The table `app.waits` has a check that waits while the table is rewritten. It comes before the
/// other tables, since statements are in the order of their text.
const WAITING: &str = "
    CREATE ROLE app LOGIN;
    CREATE SCHEMA app AUTHORIZATION app;
    SET SESSION AUTHORIZATION app;
    CREATE FUNCTION app.wait(id bigint) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        IF (SELECT atttypid = 'bigint'::regtype FROM pg_attribute
            WHERE attrelid = 'app.a_waits'::regclass AND attname = 'id') THEN
            PERFORM pg_advisory_xact_lock(1);
        END IF;
        RETURN true;
    END $$;
    CREATE TABLE app.a_waits (id serial PRIMARY KEY CHECK (app.wait(id)));
    INSERT INTO app.a_waits DEFAULT VALUES;
    RESET SESSION AUTHORIZATION;";

impl Race {
    fn start(extension_schema: &str) -> Race {
        let (cluster, mut client) = start();
        let extension = format!(
            "DROP EXTENSION snowflake_convert, snowflake; CREATE EXTENSION snowflake SCHEMA {extension_schema};
             CREATE EXTENSION snowflake_convert SCHEMA {extension_schema};
             GRANT USAGE ON SCHEMA {extension_schema} TO PUBLIC;"
        );
        client.batch_execute(&extension).expect("the extension");
        client.batch_execute(WAITING).expect("a table");
        Race { cluster, client }
    }

    /// Converts the schema `app` as a superuser, and executes statements while the check waits.
    fn convert(&mut self, function: &str, meanwhile: &str) -> Result<(), postgres::Error> {
        self.client.batch_execute("SELECT pg_advisory_lock(1)").expect("locked");
        let mut converting = self.cluster.connect();
        converting.batch_execute("SET lock_timeout = '60s'").expect("set");
        let call = format!(
            "SELECT {function}(schema => 'app', dependents => 'recreate', dry_run => false)"
        );
        std::thread::scope(|scope| {
            let conversion = scope.spawn(move || converting.batch_execute(&call));
            let waiting =
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
            eventually("the check waits", || {
                assert!(!conversion.is_finished(), "the check has not waited");
                bigint(&mut self.client, waiting) == 1
            });
            let done = self.client.batch_execute(meanwhile);
            self.client
                .batch_execute("RESET ROLE; SELECT pg_advisory_unlock(1)")
                .expect("unlocked");
            let converted = conversion.join().expect("no panic");
            done.expect("what others do meanwhile");
            converted
        })
    }
}

/// Who owns the schema of the extension puts another one in its place, whose snowflake_nextval() is
/// not the extension's.
#[test]
fn the_schema_of_the_extension_is_replaced_meanwhile() {
    let mut race = Race::start("mallory");
    race.client
        .batch_execute("SET ROLE app; CREATE TABLE app.orders (id serial PRIMARY KEY); RESET ROLE")
        .expect("a table");
    let result = race.convert(
        "mallory.snowflake_convert",
        "SET ROLE mallory;
         ALTER SCHEMA mallory RENAME TO hidden;
         RESET ROLE; CREATE SCHEMA mallory AUTHORIZATION mallory; SET ROLE mallory;
         GRANT USAGE ON SCHEMA mallory TO PUBLIC;
         CREATE FUNCTION mallory.snowflake_nextval() RETURNS bigint LANGUAGE plpgsql AS
             $$ BEGIN PERFORM hidden.act('default'); RETURN 1; END $$;
         RESET ROLE",
    );
    let error = error_of(result);
    assert_eq!(error.code(), &SqlState::T_R_SERIALIZATION_FAILURE, "{error:?}");
    assert_eq!(error.message(), "the schema of the extension was changed during the conversion");
    let defaults =
        "SELECT count(*) FROM pg_attrdef WHERE pg_get_expr(adbin, adrelid) LIKE '%snowflake%'";
    assert_eq!(bigint(&mut race.client, defaults), 0);
    assert_eq!(spied(&race.cluster), [""; 0]);
}

/// A view calls a function of any type. By the time it is created again, somebody else has been let
/// into the schema, and has a function of the new type there.
#[test]
fn a_view_that_would_call_another_function_is_not_used() {
    let mut race = Race::start("public");
    race.client
        .batch_execute(
            "SET ROLE app;
             CREATE FUNCTION app.label(anyelement) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1::bigint';
             CREATE MATERIALIZED VIEW app.labels AS SELECT app.label(id) FROM app.a_waits;
             RESET ROLE",
        )
        .expect("a view");
    let result = race.convert(
        "snowflake_convert",
        "SET ROLE app; GRANT CREATE, USAGE ON SCHEMA app TO mallory; SET ROLE mallory;
         CREATE FUNCTION app.label(bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS
             $$ BEGIN PERFORM mallory.act('overload'); RETURN 1; END $$;
         RESET ROLE",
    );
    let error = error_of(result);
    assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{error:?}");
    assert_eq!(
        error.message(),
        "objects that are called or read belong to mallory, and not to app or a superuser"
    );
    assert_eq!(spied(&race.cluster), [""; 0]);
}

/// The statements that a superuser keeps for later run as the owner, or not at all: meanwhile the
/// owner has put something else in the place of what they name.
#[test]
fn later_statements_run_as_the_owner_or_not_at_all() {
    let (cluster, mut client) = start();
    let mut owner = mallory(&cluster);
    owner
        .batch_execute(
            "CREATE TABLE mallory.orders (id serial PRIMARY KEY);
             CREATE TABLE mallory.lines (id int CONSTRAINT of_order REFERENCES mallory.orders);
             INSERT INTO mallory.orders DEFAULT VALUES; INSERT INTO mallory.lines VALUES (1);",
        )
        .expect("tables");
    client
        .batch_execute(
            "CREATE TABLE steps AS SELECT * FROM snowflake_convert('mallory.orders', 'id', dry_run => false)
                 WITH ORDINALITY AS s (step, statement, number)",
        )
        .expect("converted");
    let of =
        |step: &str| format!("SELECT statement FROM steps WHERE step = '{step}' ORDER BY number");
    owner
        .batch_execute(
            "ALTER TABLE mallory.lines DROP CONSTRAINT of_order;
             ALTER TABLE mallory.lines ADD CONSTRAINT of_order CHECK (mallory.spy('check', id) > 0) NOT VALID;
             CREATE TABLE mallory.rows AS SELECT * FROM mallory.orders;
             ALTER TABLE mallory.orders RENAME TO hidden;
             CREATE FUNCTION mallory.largest() RETURNS bigint LANGUAGE plpgsql AS
                 $$ BEGIN RETURN mallory.spy('view', 9); END $$;
             CREATE VIEW mallory.orders AS SELECT mallory.largest() AS id;",
        )
        .expect("replaced");
    for step in ["validate", "revert"] {
        let statements = statements(&mut client, &of(step));
        for role in ["", "SET ROLE mallory;"] {
            let error = error_of(client.batch_execute(&format!("BEGIN; {role} {}", statements[0])));
            client.batch_execute("ROLLBACK").expect("rolled back");
            assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{step}: {error}");
            assert_eq!(error.message(), "permission denied to execute statements of a conversion");
            assert_eq!(
                error.hint(),
                Some("In any other session, use snowflake_convert_execute(statements, 'mallory').")
            );
        }
        // The rest, as the function executes it.
        let execute = "SELECT snowflake_convert_execute($1, 'mallory')";
        let done = client.execute(execute, &[&statements]);
        println!("{step}: {done:?}");
        let mut other = cluster.connect();
        other.batch_execute("CREATE ROLE guest LOGIN").ok();
        let mut guest = cluster.config().user("guest").connect(postgres::NoTls).expect("a session");
        let error = error_of(guest.execute(execute, &[&statements]));
        assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{error}");
        assert_eq!(error.message(), "permission denied to execute as role \"mallory\"");
        let hint = "Execute this as \"mallory\", or as a role that can become it by SET ROLE.";
        assert_eq!(error.hint(), Some(hint));
        let as_nobody = "SELECT snowflake_convert_execute($1, 4294967294::oid::regrole)";
        let error = error_of(other.execute(as_nobody, &[&statements]));
        assert_eq!(error.code(), &SqlState::UNDEFINED_OBJECT, "{error}");
        assert_eq!(error.message(), "role with OID 4294967294 does not exist");
    }
    let spied = spied(&cluster);
    assert!(!spied.is_empty(), "the check was evaluated");
    assert!(spied.iter().all(|line| line.ends_with("runs as mallory")), "{spied:?}");
    // A backslash would mean something else. PostgreSQL 19 does not allow this any more.
    if cluster.programs().major() < 19 {
        let check = &statements(&mut client, &of("validate"))[0];
        let error = error_of(
            owner.batch_execute(&format!("SET standard_conforming_strings = off; {check}")),
        );
        assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{error}");
    }
    let error = error_of(
        client.execute("SELECT snowflake_convert_execute(ARRAY['SELECT 1', NULL], 'mallory')", &[]),
    );
    assert_eq!(error.code(), &SqlState::NULL_VALUE_NOT_ALLOWED, "{error}");
    // The rows of a conversion whose name is mistyped are none.
    for arguments in ["(SELECT array_agg('x'::text) WHERE false), 'mallory'", "'{SELECT 1}', NULL"]
    {
        let call = format!("SELECT snowflake_convert_execute({arguments})");
        let error = error_of(client.execute(&call, &[]));
        assert_eq!(error.code(), &SqlState::NULL_VALUE_NOT_ALLOWED, "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("no row matches")), "{error:?}");
    }
}

/// With standard_conforming_strings off, a name with a backslash and a quote would end a literal.
/// PostgreSQL 19 does not allow it to be off.
#[test]
fn names_do_not_break_out_of_literals() {
    let (cluster, mut client) = start();
    client
        .batch_execute(
            r#"CREATE SCHEMA "a\'; SELECT mallory.act('name'); --";
               SET search_path = "a\'; SELECT mallory.act('name'); --", public;
               CREATE TABLE "t\'; SELECT mallory.act('name'); --" ("i\'; SELECT mallory.act('name'); --" serial PRIMARY KEY);
               CREATE TABLE "r\'; SELECT mallory.act('name'); --" (
                   id int CONSTRAINT "c\'; SELECT mallory.act('name'); --" REFERENCES "t\'; SELECT mallory.act('name'); --");
               INSERT INTO "t\'; SELECT mallory.act('name'); --" DEFAULT VALUES;
               COMMENT ON CONSTRAINT "c\'; SELECT mallory.act('name'); --" ON "r\'; SELECT mallory.act('name'); --"
                   IS 'c\''; SELECT mallory.act(''comment''); --';
               ALTER TABLE "r\'; SELECT mallory.act('name'); --" DISABLE TRIGGER ALL;"#,
        )
        .expect("names");
    if cluster.programs().major() < 19 {
        client
            .batch_execute("ALTER DATABASE postgres SET standard_conforming_strings = off")
            .expect("a setting");
    }
    let mut client = cluster.connect();
    let schema = r#"(SELECT oid::regnamespace FROM pg_namespace WHERE nspname LIKE 'a%act%')"#;
    let since = cluster.log().len();
    let report = format!("SELECT reason FROM snowflake_convert_report(schema => {schema})");
    assert!(!statements(&mut client, &report).is_empty());
    client
        .batch_execute(&format!(
            "CREATE TABLE steps AS SELECT * FROM snowflake_convert(schema => {schema}, dry_run => false)
                 WITH ORDINALITY AS s (step, statement, number)"
        ))
        .expect("converted");
    let disabled = "SELECT count(*) FROM pg_trigger WHERE tgenabled = 'D' AND tgisinternal";
    assert_eq!(bigint(&mut client, disabled), 2, "the triggers of the foreign key");
    for step in ["validate", "revert"] {
        client
            .batch_execute(&format!(
                "SELECT snowflake_convert_execute(array_agg(statement ORDER BY number), 'postgres')
                 FROM steps WHERE step = '{step}'"
            ))
            .unwrap_or_else(|error| panic!("{step}: {error:?}"));
    }
    assert_eq!(spied(&cluster), [""; 0]);
    let log = &cluster.log()[since..];
    assert!(!log.contains("nonstandard use of"), "{log}");
}
