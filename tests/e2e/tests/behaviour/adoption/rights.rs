//! With whose rights keys are adopted, and what roles without rights make of it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use postgres::{Client, NoTls};
use snowflake_e2e::{Cluster, bigint, error_of};

use super::{assert_adopted, assert_left, listening, server, take};

fn as_role(cluster: &Cluster, role: &str) -> Client {
    cluster.config().user(role).connect(NoTls).expect("a connection")
}

/// Nobody steers what the functions of others create.
#[test]
fn what_runs_with_the_rights_of_another_role_is_left_alone() {
    let (cluster, mut client) = server();
    client
        .batch_execute(
            "CREATE ROLE app LOGIN; CREATE ROLE mallory LOGIN; CREATE SCHEMA app AUTHORIZATION app;
             GRANT USAGE ON SCHEMA app TO mallory; GRANT CREATE ON SCHEMA public TO app, mallory",
        )
        .expect("roles");
    let mut app = as_role(&cluster, "app");
    app.batch_execute(
        "CREATE FUNCTION app.make(name text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
         BEGIN
             EXECUTE format('CREATE TABLE app.%I (id bigserial PRIMARY KEY)', name);
             EXECUTE format('CREATE TABLE app.%I (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)', name || '_2');
         END $$",
    )
    .expect("a function");
    let mut mallory = as_role(&cluster, "mallory");
    mallory
        .batch_execute("SET snowflake.adopted_schemas = '*'; SELECT app.make('steered')")
        .expect("tables");
    for table in ["app.steered", "app.steered_2"] {
        assert_left(&mut client, table, "id", "bigint");
    }
    // The function says it for itself, and it is still not the caller who creates.
    app.batch_execute(
        "ALTER FUNCTION app.make(text) SET snowflake.adopted_schemas = '*'; SELECT app.make('own')",
    )
    .expect("tables");
    assert_left(&mut client, "app.own", "id", "bigint");
    app.batch_execute("ALTER FUNCTION app.make(text) SECURITY INVOKER; SELECT app.make('invoked')")
        .expect("tables");
    for table in ["app.invoked", "app.invoked_2"] {
        assert_adopted(&mut client, table, "id");
    }
    // CREATE SCHEMA creates its elements as the owner of the schema.
    client
        .batch_execute(
            "SET snowflake.adopted_schemas = '*';
             CREATE SCHEMA theirs AUTHORIZATION mallory CREATE TABLE one (id bigserial PRIMARY KEY)",
        )
        .expect("a schema");
    assert_left(&mut client, "theirs.one", "id", "bigint");
}

/// REFRESH MATERIALIZED VIEW is a restricted operation, with the rights of the view's owner.
#[test]
fn what_a_restricted_operation_creates_is_left_alone() {
    let (cluster, mut client) = server();
    client
        .batch_execute("CREATE ROLE mallory LOGIN; CREATE SCHEMA mallory AUTHORIZATION mallory")
        .expect("a role");
    as_role(&cluster, "mallory")
        .batch_execute(
            "CREATE FUNCTION mallory.make() RETURNS bigint LANGUAGE plpgsql AS $$
             BEGIN
                 CREATE TABLE mallory.one (id bigserial PRIMARY KEY, r integer REFERENCES mallory.one);
                 RETURN 1;
             END $$;
             CREATE MATERIALIZED VIEW mallory.seen AS SELECT mallory.make() WITH NO DATA",
        )
        .expect("a view");
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "SET snowflake.adopted_schemas = '*'; REFRESH MATERIALIZED VIEW mallory.seen",
        )
        .expect("refreshed");
    assert_left(&mut client, "mallory.one", "id", "bigint");
    assert_eq!(take(&heard), [""; 0]);
}

/// Whoever changes a table of another role runs nothing of that role's, and leaves it nothing.
#[test]
fn a_superuser_s_statement_in_the_schema_of_another_role() {
    let (cluster, mut client) = server();
    client
        .batch_execute("CREATE ROLE mallory LOGIN; CREATE SCHEMA mallory AUTHORIZATION mallory")
        .expect("a role");
    as_role(&cluster, "mallory")
        .batch_execute(
            "CREATE FUNCTION mallory.spy(place text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
             BEGIN
                 RAISE LOG 'spy in % runs as %', place, current_user;
                 BEGIN EXECUTE 'ALTER ROLE mallory SUPERUSER'; EXCEPTION WHEN OTHERS THEN NULL; END;
                 RETURN true;
             END $$;
             CREATE OPERATOR mallory.= (LEFTARG = name, RIGHTARG = name, FUNCTION = nameeq);
             CREATE FUNCTION mallory.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS 'SELECT mallory.spy(''format'')::text';
             CREATE FUNCTION mallory.snowflake_nextval() RETURNS bigint LANGUAGE plpgsql AS $$
             BEGIN PERFORM mallory.spy('nextval'); RETURN 1; END $$;
             CREATE TABLE mallory.posts (part integer CHECK (mallory.spy('check')), author integer);
             CREATE INDEX ON mallory.posts (author) WHERE mallory.spy('index');
             ALTER TABLE mallory.posts ENABLE ROW LEVEL SECURITY; ALTER TABLE mallory.posts FORCE ROW LEVEL SECURITY;
             CREATE POLICY spy ON mallory.posts USING (mallory.spy('policy'))",
        )
        .expect("spies");
    let spied = |cluster: &Cluster, begin: usize| -> Vec<String> {
        let lines = cluster.log()[begin..].lines().map(str::to_owned).collect::<Vec<_>>();
        lines.into_iter().filter(|line| line.contains("spy in ")).collect()
    };
    // PostgreSQL itself evaluates the expressions of an index when it rewrites a table.
    let statements = "
        ALTER TABLE mallory.posts ADD COLUMN id bigserial PRIMARY KEY;
        CREATE TABLE mallory.of_superuser (id bigserial PRIMARY KEY CHECK (id > 0 OR mallory.spy('own check')));
        CREATE TABLE mallory.inheriting (id bigserial PRIMARY KEY) INHERITS (mallory.posts);
        CREATE TABLE mallory.like_it (LIKE mallory.posts INCLUDING ALL)";
    let begin = cluster.log().len();
    client
        .batch_execute(&format!(
            "SET search_path = mallory, public; BEGIN; SET LOCAL snowflake.adopted_schemas = ''; {statements}; ROLLBACK"
        ).replace("CREATE TABLE mallory.inheriting (id bigserial PRIMARY KEY) INHERITS (mallory.posts);", ""))
        .expect("statements");
    let plain = spied(&cluster, begin);
    let begin = cluster.log().len();
    client
        .batch_execute(&format!(
            "SET snowflake.adopted_schemas = 'mallory'; BEGIN; {statements}; COMMIT"
        ).replace("CREATE TABLE mallory.inheriting (id bigserial PRIMARY KEY) INHERITS (mallory.posts);", ""))
        .expect("statements");
    assert_eq!(spied(&cluster, begin).len(), plain.len());
    assert_adopted(&mut client, "mallory.posts", "id");
    assert_left(&mut client, "mallory.of_superuser", "id", "bigint");
    let superusers = "SELECT count(*) FROM pg_roles WHERE rolsuper AND rolname = 'mallory'";
    assert_eq!(bigint(&mut client, superusers), 0);
    // The sequence of an identity column stays its owner's.
    client
        .batch_execute(
            "SET snowflake.adopted_schemas = 'mallory'; SET ROLE mallory; CREATE TABLE mallory.late (a integer); RESET ROLE;
             ALTER TABLE mallory.late ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        )
        .expect("a column");
    assert_adopted(&mut client, "mallory.late", "id");
    let owned = "SELECT count(*) FROM pg_class
                 WHERE relname = 'late_id_seq' AND relowner = 'mallory'::regrole";
    assert_eq!(bigint(&mut client, owned), 1);
}

/// The extension is trusted, so its creator need not be a superuser, and owns it. What she makes
/// belong to it is never called, whatever it is named.
#[test]
fn the_creator_of_the_extension_puts_no_function_in_the_place_of_ours() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "DROP EXTENSION IF EXISTS snowflake; CREATE ROLE mallory LOGIN; GRANT CREATE ON DATABASE postgres TO mallory",
        )
        .expect("a role");
    let mut mallory = as_role(&cluster, "mallory");
    mallory
        .batch_execute(
            "CREATE SCHEMA a; CREATE SCHEMA m; CREATE EXTENSION snowflake SCHEMA m;
             CREATE FUNCTION a.snowflake_nextval() RETURNS bigint LANGUAGE plpgsql AS $$
             BEGIN EXECUTE 'ALTER ROLE mallory SUPERUSER'; RETURN 1; END $$;
             ALTER EXTENSION snowflake ADD FUNCTION a.snowflake_nextval()",
        )
        .expect("a member");
    let error = error_of(
        mallory.batch_execute("ALTER EXTENSION snowflake DROP FUNCTION m.snowflake_nextval()"),
    );
    assert_eq!(error.code(), &postgres::error::SqlState::INSUFFICIENT_PRIVILEGE, "{error}");
    client
        .batch_execute(
            "SET search_path = a, m, public; SET snowflake.adopted_schemas = '*';
             CREATE TABLE public.one (id bigserial PRIMARY KEY); INSERT INTO public.one DEFAULT VALUES",
        )
        .expect("a table");
    assert_eq!(called(&mut client, "public"), 1);
    assert_eq!(
        bigint(&mut client, "SELECT count(*) FROM pg_roles WHERE rolsuper AND rolname = 'mallory'"),
        0
    );
    // Nor is the library's function taken once it belongs to her, who could replace it.
    client.batch_execute("ALTER FUNCTION m.snowflake_nextval() OWNER TO mallory").expect("given");
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute("SET snowflake.adopted_schemas = '*'; CREATE TABLE public.two (id bigserial PRIMARY KEY)")
        .expect("a table");
    assert_left(&mut client, "public.two", "id", "bigint");
    assert!(take(&heard)[0].contains("not the library's and a superuser's"), "no notice");
}

/// How many columns of tables in a schema have defaults that call the library's function, and no
/// other function.
fn called(client: &mut Client, schema: &str) -> i64 {
    let query = format!(
        "SELECT count(*) FILTER (WHERE l.lanname = 'c' AND f.prosrc = 'snowflake_nextval' AND r.rolsuper)
                - 1000000 * count(*) FILTER (WHERE l.lanname <> 'c')
         FROM pg_class AS c JOIN pg_attrdef AS d ON d.adrelid = c.oid
         JOIN pg_depend AS p ON p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid AND p.refclassid = 'pg_proc'::regclass
         JOIN pg_proc AS f ON f.oid = p.refobjid JOIN pg_language AS l ON l.oid = f.prolang
         JOIN pg_roles AS r ON r.oid = f.proowner
         WHERE c.relnamespace = '{schema}'::regnamespace"
    );
    bigint(client, &query)
}

/// The owner of schemas puts other ones in their places while a superuser creates tables there.
#[test]
fn schemas_that_are_swapped_under_a_statement_change_nothing() {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "DROP EXTENSION IF EXISTS snowflake; CREATE ROLE mallory LOGIN; GRANT CREATE ON DATABASE postgres TO mallory",
        )
        .expect("a role");
    let mut mallory = as_role(&cluster, "mallory");
    mallory
        .batch_execute(
            "CREATE SCHEMA m; CREATE EXTENSION snowflake SCHEMA m; CREATE SCHEMA m_2; CREATE SCHEMA app; CREATE SCHEMA app_2;
             CREATE FUNCTION m_2.snowflake_nextval() RETURNS bigint LANGUAGE plpgsql AS $$
             BEGIN EXECUTE 'ALTER ROLE mallory SUPERUSER'; RETURN 1; END $$",
        )
        .expect("schemas");
    let is_over = AtomicBool::new(false);
    let swaps = std::thread::scope(|scope| {
        let swapping = scope.spawn(|| {
            let mut swaps = 0;
            while !is_over.load(Relaxed) {
                for schema in ["m", "app"] {
                    // The name is that of no schema for a moment, as little as can be.
                    let swap = format!(
                        "BEGIN; ALTER SCHEMA {schema} RENAME TO x; ALTER SCHEMA {schema}_2 RENAME TO {schema};
                         ALTER SCHEMA x RENAME TO {schema}_2; COMMIT"
                    );
                    match mallory.batch_execute(&swap) {
                        Ok(()) => swaps += 1,
                        Err(_) => mallory.batch_execute("ROLLBACK").expect("over"),
                    }
                }
            }
            swaps
        });
        // The swaps end whatever becomes of this.
        let created = client.batch_execute("SET snowflake.adopted_schemas = '*'").and_then(|()| {
            (0..300).try_for_each(|number| {
                // Where the schema has just gone, the statement fails as it does without the setting.
                let key = ["bigserial", "bigint GENERATED ALWAYS AS IDENTITY"][number % 2];
                let create =
                    |schema| format!("CREATE TABLE {schema}.t{number}_ (id {key} PRIMARY KEY)");
                client.batch_execute(&create("app")).ok();
                client.batch_execute(&create("public"))
            })
        });
        is_over.store(true, Relaxed);
        created.expect("tables in a schema that stays");
        swapping.join().expect("swaps")
    });
    let adopted: i64 =
        ["public", "app", "app_2"].map(|schema| called(&mut client, schema)).iter().sum();
    assert!(swaps > 100 && adopted > 100, "{swaps} swaps, {adopted} keys");
    // Whatever was not adopted still takes values of the sequence that it owns.
    let broken = "
        SELECT count(*) FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'id'
        LEFT JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
        WHERE c.relkind = 'r' AND c.relname ~ '^t[0-9]+_' AND (
            (d.oid IS NULL AND a.attidentity = '')
            OR NOT EXISTS (SELECT FROM pg_depend WHERE (refclassid, refobjid, refobjsubid, classid)
                           = ('pg_class'::regclass, c.oid, a.attnum::integer, 'pg_class'::regclass) AND deptype IN ('a', 'i')))";
    assert_eq!(bigint(&mut client, broken), 0);
    assert_eq!(
        bigint(&mut client, "SELECT count(*) FROM pg_roles WHERE rolsuper AND rolname = 'mallory'"),
        0
    );
}
