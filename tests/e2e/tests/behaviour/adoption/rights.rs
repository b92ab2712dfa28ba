//! Who may adopt a schema, and with whose rights keys are converted.

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of};

use super::{assert_adopted, assert_left, column, listening, server, take};

fn as_role(cluster: &Cluster, role: &str) -> Client {
    cluster.config().user(role).connect(postgres::NoTls).expect("a connection")
}

#[test]
fn a_schema_is_adopted_by_its_owner() {
    let (cluster, mut client) = server();
    client
        .batch_execute(
            "CREATE ROLE app LOGIN; CREATE ROLE other LOGIN; CREATE SCHEMA app AUTHORIZATION app",
        )
        .expect("roles");
    let roles = ["postgres", "app", "other"];
    let [mut superuser, mut app, mut other] = roles.map(|role| as_role(&cluster, role));
    for (role, call, code, message) in [
        (
            "other",
            "snowflake_adopt('app')",
            SqlState::INSUFFICIENT_PRIVILEGE,
            "must be owner of schema app",
        ),
        (
            "other",
            "snowflake_disown('app')",
            SqlState::INSUFFICIENT_PRIVILEGE,
            "must be owner of schema app",
        ),
        (
            "app",
            "snowflake_adopt('nowhere')",
            SqlState::INVALID_SCHEMA_NAME,
            "schema \"nowhere\" does not exist",
        ),
        (
            "app",
            "snowflake_adopt('app', 'some')",
            SqlState::INVALID_PARAMETER_VALUE,
            "invalid value for argument \"keys\": \"some\"",
        ),
        (
            "postgres",
            "snowflake_adopt('pg_catalog')",
            SqlState::RESERVED_NAME,
            "schema \"pg_catalog\" cannot be adopted",
        ),
    ] {
        let client = match role {
            "postgres" => &mut superuser,
            "app" => &mut app,
            _ => &mut other,
        };
        let error = error_of(client.query(&format!("SELECT {call}"), &[]));
        assert_eq!((error.code(), error.message()), (&code, message), "{call}");
    }
    let called = error_of(client.query("SELECT snowflake_adopt_new()", &[]));
    assert!(
        [&SqlState::FEATURE_NOT_SUPPORTED, &SqlState::E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED]
            .contains(&called.code()),
        "{called}"
    );
    app.batch_execute(
        "SELECT snowflake_adopt('app'); CREATE TABLE app.one (id serial PRIMARY KEY)",
    )
    .expect("adopted");
    assert_adopted(&mut app, "app.one", "id");
    assert_eq!(bigint(&mut other, "SELECT count(*) FROM snowflake_adopted"), 2);
    let write = error_of(app.execute(
        "INSERT INTO snowflake_adopt_internal.adopted_schemas VALUES ('blog', 'all')",
        &[],
    ));
    assert_eq!(write.code(), &SqlState::INSUFFICIENT_PRIVILEGE);
    app.batch_execute(
        "SELECT snowflake_disown('app'); CREATE TABLE app.two (id serial PRIMARY KEY)",
    )
    .expect("disowned");
    assert_left(&mut app, "app.two", "id", "integer");
}

#[test]
fn a_table_in_a_schema_of_another_role_is_left_alone() {
    let (cluster, mut client) = server();
    client
        .batch_execute("CREATE ROLE app LOGIN; CREATE SCHEMA app AUTHORIZATION app; SELECT snowflake_adopt('app')")
        .expect("a role");
    let (mut superuser, heard) = listening(&cluster);
    superuser.batch_execute("CREATE TABLE app.one (id serial PRIMARY KEY)").expect("a table");
    assert_left(&mut superuser, "app.one", "id", "integer");
    let said = take(&heard);
    assert!(
        said.len() == 1
            && said[0].starts_with("NOTICE: not all new keys")
            && said[0].contains("schema app belongs to app"),
        "{said:?}"
    );
}

/// Tables of an adopted schema depend on the extension `snowflake`, which its creator can drop. So
/// only the owner of a schema, or a superuser, can have the schema adopted, whoever created the
/// extension.
#[test]
fn who_created_the_extension_adopts_no_schema_of_others() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "DROP EXTENSION IF EXISTS snowflake; CREATE ROLE mallory LOGIN; CREATE ROLE victim LOGIN;
             GRANT CREATE ON DATABASE postgres TO mallory; CREATE SCHEMA vic AUTHORIZATION victim",
        )
        .expect("roles");
    let mut mallory = as_role(&cluster, "mallory");
    mallory
        .batch_execute(
            "CREATE SCHEMA m; CREATE EXTENSION snowflake SCHEMA m; CREATE EXTENSION snowflake_adopt SCHEMA m;
             GRANT USAGE ON SCHEMA m TO PUBLIC;
             INSERT INTO snowflake_adopt_internal.adopted_schemas
             VALUES ('vic', 'all'), ('not_there_yet', 'all'), ('m', 'primary')",
        )
        .expect("rows");
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM m.snowflake_adopted"), 1);
    let mut victim = as_role(&cluster, "victim");
    victim.batch_execute("CREATE TABLE vic.one (id serial PRIMARY KEY)").expect("a table");
    assert_left(&mut victim, "vic.one", "id", "integer");
    // The extension's function is for everybody who owns a schema, whoever created the extension.
    victim
        .batch_execute(
            "SELECT m.snowflake_adopt('vic'); CREATE TABLE vic.two (id serial PRIMARY KEY)",
        )
        .expect("a table");
    assert_eq!(column(&mut victim, "vic.two", "id").0, "bigint");
    // A superuser restores what a dump has, whatever comes first.
    let restore = "INSERT INTO snowflake_adopt_internal.adopted_schemas VALUES ('later', 'all')";
    assert_eq!(client.execute(restore, &[]).expect("a row"), 1);
}

/// Anybody may create a trigger with the function that guards the table, or call it.
#[test]
fn the_guard_is_called_by_its_trigger_only() {
    let (_cluster, mut client) = server();
    client.batch_execute("CREATE TABLE public.rows (schema text)").expect("a table");
    for event in [
        "BEFORE INSERT ON public.rows FOR EACH STATEMENT",
        "AFTER INSERT ON public.rows FOR EACH ROW",
        "BEFORE UPDATE ON public.rows FOR EACH ROW",
    ] {
        let mut transaction = client.transaction().expect("a transaction");
        transaction
            .batch_execute(&format!(
                "INSERT INTO public.rows VALUES ('x');
                 CREATE TRIGGER guard {event} EXECUTE FUNCTION snowflake_guard_adopted()"
            ))
            .expect("a trigger");
        let act = "INSERT INTO public.rows VALUES ('x'); UPDATE public.rows SET schema = 'y'";
        let error = error_of(transaction.batch_execute(act));
        assert_eq!(error.code(), &SqlState::E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, "{event}: {error}");
    }
    let error = error_of(client.batch_execute("SELECT snowflake_guard_adopted()"));
    assert_eq!(error.code(), &SqlState::E_R_I_E_TRIGGER_PROTOCOL_VIOLATED, "{error}");
}

/// A function of mallory's that says who runs it.
const SPY: &str = "
    CREATE FUNCTION mallory.spy(place text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
        RAISE LOG 'spy in % runs as %', place, current_user;
        BEGIN EXECUTE 'ALTER ROLE mallory SUPERUSER'; EXCEPTION WHEN OTHERS THEN NULL; END;
        RETURN true;
    END $$;
    CREATE OPERATOR mallory.= (LEFTARG = name, RIGHTARG = name, FUNCTION = nameeq);
    CREATE FUNCTION mallory.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS 'SELECT mallory.spy(''format'')::text';
    CREATE FUNCTION mallory.snowflake_nextval() RETURNS bigint LANGUAGE plpgsql AS $$
    BEGIN PERFORM mallory.spy('nextval'); RETURN 1; END $$;";

/// What runs as which role while a superuser executes statements in a schema of mallory's.
fn spied(is_adopted: bool) -> Vec<String> {
    let (cluster, mut client) = server();
    client
        .batch_execute("CREATE ROLE mallory LOGIN; CREATE SCHEMA mallory AUTHORIZATION mallory")
        .expect("a role");
    let mut mallory = as_role(&cluster, "mallory");
    mallory.batch_execute(SPY).expect("spies");
    mallory
        .batch_execute(
            "CREATE TABLE mallory.users (id bigint PRIMARY KEY CHECK (id > 0 AND mallory.spy('check')));
             ALTER TABLE mallory.users ALTER id SET DEFAULT public.snowflake_nextval();
             CREATE TABLE mallory.posts (author integer, part integer CHECK (mallory.spy('part check')));
             CREATE INDEX ON mallory.posts (author) WHERE mallory.spy('index');
             CREATE VIEW mallory.seen AS SELECT author, mallory.spy('view') FROM mallory.posts",
        )
        .expect("tables");
    if is_adopted {
        mallory.batch_execute("SELECT snowflake_adopt('mallory', 'all')").expect("adopted");
    }
    let begin = cluster.log().len();
    client
        .batch_execute(
            "SET search_path = mallory, public;
             ALTER TABLE mallory.posts ADD FOREIGN KEY (author) REFERENCES mallory.users NOT VALID;
             ALTER TABLE mallory.posts ADD COLUMN number serial;
             CREATE TABLE mallory.of_superuser (id serial PRIMARY KEY, author integer REFERENCES mallory.users);
             CREATE TABLE mallory.inheriting (id serial PRIMARY KEY) INHERITS (mallory.posts);
             ALTER SCHEMA mallory RENAME TO mallory_2; ALTER SCHEMA mallory_2 RENAME TO mallory",
        )
        .expect("statements");
    let superusers = "SELECT count(*) FROM pg_roles WHERE rolsuper AND rolname = 'mallory'";
    assert_eq!(bigint(&mut client, superusers), 0);
    assert_eq!(column(&mut client, "mallory.posts", "number").1, is_adopted);
    assert_eq!(column(&mut client, "mallory.posts", "author").0 == "bigint", is_adopted);
    let log = &cluster.log()[begin..];
    let spied = log.lines().filter_map(|line| line.split_once("spy in "));
    spied.map(|(_, what)| what.to_owned()).collect()
}

/// PostgreSQL itself evaluates the expressions of an index as the role that executes a statement.
/// The adoption of the schema adds nothing to that.
#[test]
fn a_superuser_s_statement_runs_nothing_of_the_schema_s_owner_as_superuser() {
    let as_superuser = |is_adopted| {
        let mut spied = spied(is_adopted);
        assert!(!is_adopted || spied.iter().any(|what| what.ends_with("as mallory")), "{spied:?}");
        spied.retain(|what| !what.ends_with("as mallory"));
        spied
    };
    assert_eq!(as_superuser(true), as_superuser(false));
}
