//! The schema of a whole application is converted and reverted, with everything that hangs on its
//! keys: views, policies, triggers, rules, functions, and what is granted on them.

use postgres::Client;
use postgres::error::SqlState;
use snowflake_e2e::{
    Cluster, assert_increasing, bigint, connect_to, dump_and_restore, error_of, output,
};

const SCHEMA: &str = include_str!("application/schema.sql");
const REMEDIES: &str = include_str!("application/remedies.sql");
const DAY: &str = include_str!("application/a_day.sql");

/// What converts the schema; more arguments may follow. What triggers call was changed before, and
/// still has a parameter that is an integer.
const CONVERT: &str =
    "SELECT step, statement FROM snowflake_convert(schema => '\"Film Shop\"', acknowledged =>
    ARRAY['\"Film Shop\".inc_ref_count(text,bigint,integer)']::regprocedure[]";

/// The keys that take snowflake IDs, and how tables are named in dumps.
const KEYS: [(&str, &str); 13] = [
    ("artist", "id"),
    ("category", "id"),
    ("customer", "customer_id"),
    ("edit_log", "id"),
    ("film", "film_id"),
    ("inventory", "inventory_id"),
    ("loan", "loan_id"),
    ("note", "id"),
    ("payment", "payment_id"),
    ("rental", "rental_id"),
    ("review", "id"),
    ("staff", "staff_id"),
    ("store", "store_id"),
];
const QUOTED_KEY: (&str, &str) = ("\"Sound \"\"Track\"\"\"", "\"Track Id\"");

/// The columns whose type becomes bigint, and stays so.
const WIDENED: [(&str, &[&str]); 21] = [
    ("artist", &["id"]),
    ("artist_meta", &["id"]),
    ("artist_note", &["artist_id"]),
    ("category", &["id"]),
    ("film", &["film_id", "director_id", "sequel_of"]),
    ("film_artist", &["film_id", "artist_id"]),
    ("film_category", &["film_id", "category_id"]),
    ("film_note", &["film_id"]),
    ("inventory", &["inventory_id", "film_id", "store_id"]),
    ("loan", &["loan_id", "inventory_id"]),
    ("note", &["id", "author_id"]),
    ("payment", &["payment_id", "rental_id"]),
    ("rental", &["rental_id", "inventory_id"]),
    ("rental_2025", &["rental_id", "inventory_id"]),
    ("rental_2026", &["rental_id", "inventory_id"]),
    ("rental_rest", &["rental_id", "inventory_id"]),
    ("review", &["id", "film_id"]),
    ("staff", &["staff_id", "store_id", "reports_to"]),
    ("store", &["store_id", "manager_id"]),
    ("\"Sound \"\"Track\"\"\"", &["\"Track Id\"", "\"Film Id\"", "\"Follows\""]),
    ("setting", &[]),
];

/// Sequences that were integer or smallint and are bigint after a reversion. That of an identity
/// has its column's type, which a dump does not repeat.
const WIDENED_SEQUENCES: [&str; 8] = [
    "artist_id_seq",
    "category_id_seq",
    "inventory_inventory_id_seq",
    "loan_loan_id_seq",
    "note_id_seq",
    "payment_payment_id_seq",
    "rental_rental_id_seq",
    "review_id_seq",
];

/// What else differs after a conversion and its reversion: what it was, and what it is.
const CHANGED: [(&str, &str); 3] = [
    // The type of a literal follows that of the column beside it.
    ("sequel_of, 0) AS sequel_of,", "sequel_of, (0)::bigint) AS sequel_of,"),
    // Sequences go on above snowflake IDs.
    ("    MAXVALUE 1000000", "    NO MAXVALUE"),
    ("    MAXVALUE 9000000000", "    NO MAXVALUE"),
];

/// What PostgreSQL does not change with the type of a key, as it names that.
const DEPENDENTS: [&str; 34] = [
    "view film_list",
    "function list_films()",
    "function listed(text)",
    "view \"Long \"\"List\"\"\"",
    "view longest",
    "view stock",
    "view first_stock",
    "view film_entry",
    "view review_entry",
    "view sequel",
    "view by_ada",
    "view open_rental",
    "view best_seller",
    "view news",
    "materialized view film_revenue",
    "materialized view shelf",
    "trigger enter_film on view film_entry",
    "trigger keep_film on view film_entry",
    "rule review_entered on view review_entry",
    "rule review_kept on view review_entry",
    "function films_of(text)",
    "function \"Film's label\"(film)",
    "function give_back(bigint)",
    "trigger film_moved on table film",
    "trigger film_follows_itself on table film",
    "trigger inventory_off on table inventory",
    "trigger inventory_always on table inventory",
    "trigger rental_seen on table rental",
    "trigger Track \"it\" on table \"Sound \"\"Track\"\"\"",
    "rule film_gone on table film",
    "rule loan_gone on table loan",
    "policy reads on table review",
    "policy writes on table review",
    "policy changes on table review",
];

type Rows = Vec<(String, String)>;

fn application() -> Cluster {
    let cluster = Cluster::start();
    cluster.connect().batch_execute(SCHEMA).unwrap_or_else(|error| fail("", error));
    cluster
}

/// The same, after its owner has changed what the report warns of.
fn prepared_application() -> Cluster {
    let cluster = application();
    cluster.connect().batch_execute(REMEDIES).unwrap_or_else(|error| fail("", error));
    cluster
}

fn session(cluster: &Cluster, user: &str) -> Client {
    cluster.config().user(user).connect(postgres::NoTls).expect("a session")
}

/// Says what has failed, and where: the statement inside of a conversion.
#[track_caller]
fn fail(what: &str, error: postgres::Error) -> ! {
    let error = error_of::<()>(Err(error));
    panic!("{what}: {error}\n{}", error.where_().unwrap_or_default())
}

/// Steps and statements that a conversion returns.
#[track_caller]
fn rows(client: &mut Client, query: &str) -> Rows {
    let rows = client.query(query, &[]).unwrap_or_else(|error| fail(query, error));
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

fn statements_of<'a>(rows: &'a Rows, step: &str) -> Vec<&'a str> {
    rows.iter().filter(|row| row.0 == step).map(|row| &*row.1).collect()
}

/// Executes the statements of a step: one by one in a session of their owner, and by the function in
/// another one.
#[track_caller]
fn execute_as_owner(client: &mut Client, rows: &Rows, step: &str) {
    let statements = statements_of(rows, step);
    assert!(statements.len() > 1, "there is no statement to {step}");
    if bigint(client, "SELECT (session_user = 'Shop Owner')::int::bigint") == 1 {
        client.batch_execute("BEGIN").expect("begun");
        for statement in statements {
            client.batch_execute(statement).unwrap_or_else(|error| fail(statement, error));
        }
        client.batch_execute("COMMIT").expect("committed");
    } else {
        let error = error_of(client.batch_execute(statements[0]));
        assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{error}");
        let execute = "SELECT snowflake_convert_execute($1, '\"Shop Owner\"')";
        client.execute(execute, &[&statements]).unwrap_or_else(|error| fail(step, error));
    }
}

#[track_caller]
fn live_a_day(client: &mut Client, when: &str) {
    client.batch_execute(DAY).unwrap_or_else(|error| fail(when, error));
}

/// The lines of a dump without its rows.
fn dump(cluster: &Cluster) -> Vec<String> {
    let text = output(cluster.client_program("pg_dump").arg("--schema-only"));
    let is_random =
        |line: &&str| line.starts_with("\\restrict") || line.starts_with("\\unrestrict");
    text.lines().filter(|line| !is_random(line)).map(str::to_owned).collect()
}

/// What no dump of a schema says: whether triggers of foreign keys fire, whether materialized views
/// are filled, who owns what and granted it to whom, and from where columns take their values.
fn beside_the_dump(client: &mut Client) -> Vec<String> {
    let query = "
        WITH relations AS (
            SELECT * FROM pg_class WHERE relnamespace = '\"Film Shop\"'::regnamespace
        ),
        columns AS (
            SELECT relations.oid, attname, attnum, attacl, relkind
            FROM relations
            JOIN pg_attribute ON attrelid = relations.oid AND attnum > 0 AND NOT attisdropped
        ),
        functions AS (
            SELECT * FROM pg_proc WHERE pronamespace = '\"Film Shop\"'::regnamespace
        ),
        acls(class, object, number, acls) AS (
            SELECT 'pg_class'::regclass, oid, 0, coalesce(relacl, acldefault(
                CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::\"char\", relowner))
            FROM relations WHERE relkind <> 'i'
            UNION ALL
            SELECT 'pg_class'::regclass, oid, attnum, attacl FROM columns
            UNION ALL
            SELECT 'pg_proc'::regclass, oid, 0, coalesce(proacl, acldefault('f', proowner))
            FROM functions
        )
        SELECT format('%s of %s on %s: %s', tgfoid::regproc, conname, tgrelid::regclass, tgenabled)
        FROM pg_trigger JOIN pg_constraint ON pg_constraint.oid = tgconstraint
        WHERE tgisinternal AND tgrelid >= 16384
        UNION ALL
        SELECT format('%s %s of %s: %s', relkind, oid::regclass, relowner::regrole, relispopulated)
        FROM relations
        UNION ALL
        SELECT format('%s: %s', pg_describe_object(class, object, number), acl)
        FROM acls, unnest(acls) AS acl
        UNION ALL
        SELECT format('%s.%s: %s', oid::regclass, attname,
                      pg_get_serial_sequence(oid::regclass::text, attname))
        FROM columns WHERE relkind IN ('r', 'p')
        UNION ALL
        SELECT format('%s of %s', oid::regprocedure, proowner::regrole) FROM functions
        ORDER BY 1";
    let rows = client.query(query, &[]).expect("the catalog");
    rows.iter().map(|row| row.get(0)).collect()
}

/// The files of tables and indexes.
fn files(client: &mut Client) -> Vec<String> {
    let query = "SELECT format('%s %s', oid, relfilenode) FROM pg_class
        WHERE relnamespace = '\"Film Shop\"'::regnamespace ORDER BY 1";
    client.query(query, &[]).expect("the catalog").iter().map(|row| row.get(0)).collect()
}

/// The largest value of each key.
fn largest_keys(client: &mut Client) -> Vec<i64> {
    let keys = KEYS.iter().chain([&QUOTED_KEY]);
    keys.map(|(table, column)| {
        bigint(client, &format!("SELECT max({column})::bigint FROM {table}"))
    })
    .collect()
}

/// Asserts that texts are the same, and shows the first line that is not.
#[track_caller]
fn assert_same(what: &str, found: &[String], expected: &[String]) {
    let missing: Vec<_> = expected.iter().filter(|line| !found.contains(line)).collect();
    let more: Vec<_> = found.iter().filter(|line| !expected.contains(line)).collect();
    assert!(missing.is_empty() && more.is_empty(), "{what}: no {missing:#?}, but {more:#?}");
    let other = found.iter().zip(expected).position(|(one, other)| one != other);
    assert!(
        found == expected,
        "{what}: another order at {:?}",
        other.map(|at| (&found[at], &expected[at]))
    );
}

/// What a dump is to be after a conversion and its reversion: as before, but for what stays changed.
fn expected_after(before: &[String]) -> Vec<String> {
    let mut done = Vec::new();
    let mut inside = String::new();
    let mut after = Vec::new();
    for line in before {
        if let Some(object) = line.strip_prefix("CREATE ") {
            inside = object.trim_end_matches(" (").replace("\"Film Shop\".", "");
        }
        let widened = WIDENED.iter().flat_map(|(table, columns)| {
            columns.iter().map(move |column| (format!("TABLE {table}"), *column))
        });
        let widened = widened.filter(|(table, _)| *table == inside);
        let mut new = Some(line.clone());
        for (table, column) in widened {
            for narrow in ["integer", "smallint"] {
                let start = format!("    {column} {narrow}");
                if let Some(rest) = line.strip_prefix(&start) {
                    new = Some(format!("    {column} bigint{rest}"));
                    done.push(format!("{table}.{column}"));
                }
            }
        }
        let is_narrow = line == "    AS integer" || line == "    AS smallint";
        if is_narrow && WIDENED_SEQUENCES.iter().any(|name| inside == format!("SEQUENCE {name}")) {
            new = None;
            done.push(inside.clone());
        }
        if let Some((old, changed)) = CHANGED.iter().find(|(old, _)| line.ends_with(old)) {
            new = Some(line.replace(old, changed));
            done.push((*old).into());
        }
        after.extend(new);
    }
    let columns: usize = WIDENED.iter().map(|(_, columns)| columns.len()).sum();
    let all = columns + WIDENED_SEQUENCES.len() + CHANGED.len();
    assert_eq!(done.len(), all, "the dump was to have each of these once: {done:#?}");
    after
}

/// Converts the schema as this user, lives on, and reverts it.
fn convert_and_revert(cluster: &Cluster, user: &str) {
    let mut superuser = cluster.connect();
    let mut client = session(cluster, user);
    live_a_day(&mut superuser, "before the conversion");
    let (expected, beside) = (expected_after(&dump(cluster)), beside_the_dump(&mut superuser));
    let untouched = "SELECT ('setting_list'::regclass::oid::bigint << 32)
        + 'price_list'::regclass::oid::bigint";
    let views = bigint(&mut superuser, untouched);
    let largest = largest_keys(&mut superuser);

    let done =
        rows(&mut client, &format!("{CONVERT}, dependents => 'recreate', dry_run => false)"));
    assert_eq!(
        bigint(&mut superuser, untouched),
        views,
        "views that need no key were created again"
    );
    assert_same("after the conversion", &beside_the_dump(&mut superuser), &beside);
    // Functions of PL/pgSQL keep the types of their first execution in a session.
    superuser.batch_execute("DISCARD PLANS").expect("discarded");
    let mut keys = vec![largest];
    for day in ["first", "second"] {
        live_a_day(&mut superuser, &format!("the {day} day after the conversion"));
        keys.push(largest_keys(&mut superuser));
    }
    for (number, (table, column)) in KEYS.iter().chain([&QUOTED_KEY]).enumerate() {
        let of_key: Vec<i64> = keys.iter().map(|largest| largest[number]).collect();
        assert_increasing(&of_key);
        assert!(of_key[1] > 1 << 40, "no snowflake ID in {column} of {table}: {of_key:?}");
    }
    execute_as_owner(&mut client, &done, "validate");
    let not_validated =
        "SELECT count(*) FROM pg_constraint WHERE NOT convalidated AND conparentid = 0";
    assert_eq!(bigint(&mut superuser, not_validated), 1, "one foreign key was not valid before");
    dump_and_restore(cluster, "postgres", "restored");
    live_a_day(&mut connect_to(cluster, "restored"), "after dump and restore");
    superuser.batch_execute("DROP DATABASE restored").expect("dropped");

    execute_as_owner(&mut client, &done, "revert");
    assert_same("the dump after the reversion", &dump(cluster), &expected);
    assert_same("after the reversion", &beside_the_dump(&mut superuser), &beside);
    let largest = largest_keys(&mut superuser);
    live_a_day(&mut superuser, "after the reversion");
    for (before, after) in largest.iter().zip(largest_keys(&mut superuser)) {
        assert!(*before < after && after - before < 1000, "{before}, {after}: no sequence");
    }
}

#[test]
fn a_schema_is_converted_and_reverted() {
    convert_and_revert(&prepared_application(), "postgres");
}

/// What belongs to others stands in the way, whoever asks, and so do triggers that only a superuser
/// could disable again.
#[test]
fn an_owner_converts_and_reverts_a_schema() {
    let cluster = prepared_application();
    let mut superuser = cluster.connect();
    let mut owner = session(&cluster, "Shop Owner");
    let convert = format!("{CONVERT}, dependents => 'recreate')");
    superuser
        .batch_execute(
            "ALTER TABLE loan DISABLE TRIGGER ALL; ALTER VIEW news OWNER TO shop_reporting;
             ALTER FUNCTION listed(text) OWNER TO shop_reporting",
        )
        .expect("altered");
    for client in [&mut owner, &mut superuser] {
        let error = error_of(client.query(&convert, &[]));
        assert_eq!(error.code(), &SqlState::INSUFFICIENT_PRIVILEGE, "{error}");
        let message = "objects to be changed belong to \"Shop Owner\" and to shop_reporting";
        assert_eq!(error.message(), message);
        let detail =
            "Of shop_reporting: function \"Film Shop\".listed(text), view \"Film Shop\".news.";
        assert!(error.detail().is_some_and(|said| said.ends_with(detail)), "{error:?}");
    }
    superuser
        .batch_execute(
            "ALTER VIEW news OWNER TO \"Shop Owner\"; GRANT SELECT ON news TO shop_reporting;
             ALTER FUNCTION listed(text) OWNER TO \"Shop Owner\"",
        )
        .expect("altered");
    for client in [&mut owner, &mut superuser] {
        let error = error_of(client.query(&convert, &[]));
        assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
        assert_eq!(
            error.message(),
            "triggers of foreign key loan_inventory_id_fkey of table \"Film Shop\".loan are disabled"
        );
    }
    superuser.batch_execute("ALTER TABLE loan ENABLE TRIGGER ALL").expect("altered");
    convert_and_revert(&cluster, "Shop Owner");
}

/// The rows of a dry run, of a rehearsal and of the conversion are the same.
#[test]
fn what_a_dry_run_says_is_what_is_done() {
    let cluster = prepared_application();
    let mut client = cluster.connect();
    let query = format!("{CONVERT}, dependents => 'recreate'");
    let said = rows(&mut client, &format!("{query})"));
    let rehearsed = rows(&mut client, &format!("{query}, rehearse => true)"));
    let at_once = rows(&mut client, &format!("{query}, validate => true)"));
    let done = rows(&mut client, &format!("{query}, dry_run => false)"));
    assert_eq!(said, rehearsed, "a rehearsal returns the rows of a dry run");
    assert_eq!(said, done);
    for step in ["convert", "validate", "revert"] {
        assert!(said.iter().any(|row| row.0 == step), "no row is of step {step}");
    }
    // What is validated at once needs no validation later.
    let (without, with) = (statements_of(&said, "validate"), statements_of(&at_once, "convert"));
    assert_eq!(statements_of(&at_once, "validate"), [""; 0]);
    assert!(with.ends_with(&without[1..]), "{with:#?}");
    // Then there is nothing more to do.
    let again = error_of(client.query(&format!("{query})"), &[]));
    assert_eq!(again.code(), &SqlState::UNDEFINED_OBJECT, "{again}");
    let query = "SELECT step, statement FROM snowflake_convert('film', 'film_id')";
    assert_eq!(rows(&mut client, query), []);
}

#[test]
fn the_rehearsal_leaves_nothing() {
    let cluster = prepared_application();
    let mut client = cluster.connect();
    let (before, beside, old) = (dump(&cluster), beside_the_dump(&mut client), files(&mut client));
    let rehearse = format!("{CONVERT}, dependents => 'recreate', rehearse => true)");
    let held = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock'
        AND pid = pg_backend_pid()";
    client.batch_execute("BEGIN").expect("begun");
    rows(&mut client, &rehearse);
    assert_eq!(bigint(&mut client, held), 0, "a rehearsal keeps locks");
    client.batch_execute("COMMIT").expect("committed");
    assert_same("the dump", &dump(&cluster), &before);
    assert_same("beside the dump", &beside_the_dump(&mut client), &beside);
    assert_same("the files", &files(&mut client), &old);

    // The statement that fails is named: in the detail if its definition does not fit, else in the
    // context.
    for (view, sqlstate, failing) in [
        (
            "CREATE FUNCTION old(id integer) RETURNS text LANGUAGE sql AS 'SELECT id::text';
             CREATE VIEW olds AS SELECT old(film_id) FROM film;",
            SqlState::UNDEFINED_FUNCTION,
            "CREATE VIEW \"Film Shop\".olds AS",
        ),
        (
            "CREATE FUNCTION old(id anyelement) RETURNS text LANGUAGE plpgsql AS $$
             BEGIN
                 IF pg_typeof(id) <> 'integer'::regtype THEN RAISE 'not yet'; END IF;
                 RETURN id;
             END $$;
             CREATE MATERIALIZED VIEW olds AS SELECT old(film_id) FROM film;",
            SqlState::RAISE_EXCEPTION,
            "REFRESH MATERIALIZED VIEW \"Film Shop\".olds",
        ),
    ] {
        let view = format!("SET ROLE \"Shop Owner\"; {view} RESET ROLE;");
        client.batch_execute(&view).expect("a view");
        let old = files(&mut client);
        let error = error_of(client.query(&rehearse, &[]));
        assert_eq!(error.code(), &sqlstate, "{error}");
        let statement = error.detail().or(error.where_()).unwrap_or_default();
        assert!(statement.contains(failing), "{error:?}");
        assert_same("the files", &files(&mut client), &old);
        let object = if view.contains("MATERIALIZED") { "MATERIALIZED VIEW" } else { "VIEW" };
        client.batch_execute(&format!("DROP {object} olds")).expect("dropped");
    }
}

/// Without `recreate`, a conversion is refused, and says all that is in the way.
#[test]
fn all_dependents_are_named() {
    let cluster = prepared_application();
    let mut client = cluster.connect();
    for more in ["", ", dependents => 'refuse'", ", dry_run => false", ", rehearse => true"] {
        let error = error_of(client.query(&format!("{CONVERT}{more})"), &[]));
        assert_eq!(error.code(), &SqlState::DEPENDENT_OBJECTS_STILL_EXIST, "{error}");
        let detail = error.detail().unwrap_or_default().replace("\"Film Shop\".", "");
        let missing: Vec<_> = DEPENDENTS.iter().filter(|name| !detail.contains(**name)).collect();
        assert!(missing.is_empty(), "{missing:#?} are not named: {detail}");
        for other in ["setting_list", "price_list", "cheapest", "artist_renamed", "policy own"] {
            assert!(!detail.contains(other), "{other} is not in the way: {detail}");
        }
        assert!(error.hint().is_some_and(|hint| hint.contains("recreate")), "{:?}", error.hint());
    }
}

struct Finding {
    kind: String,
    object: String,
    text: String,
    rewritten: Option<i64>,
    lock: Option<String>,
}

#[track_caller]
fn report(client: &mut Client, arguments: &str) -> Vec<Finding> {
    let query = format!("SELECT * FROM snowflake_convert_report({arguments})");
    let rows = client.query(&query, &[]).unwrap_or_else(|error| fail(&query, error));
    let findings = rows.iter().map(|row| {
        let remedy: Option<String> = row.get("remedy");
        Finding {
            kind: row.get("kind"),
            object: row.get("object"),
            text: row.get::<_, String>("reason") + " " + &remedy.unwrap_or_default(),
            rewritten: row.get("rewritten"),
            lock: row.get("lock"),
        }
    });
    findings.collect()
}

/// A word of each object that is at risk, and one of why.
const RISKS: [(&str, &str); 21] = [
    // Integer parameters, results and variables.
    ("inc_ref_count(text,integer,integer)", "integer"),
    ("film_in_stock(integer)", "integer"),
    ("first_of(text)", "integer"),
    // The last value of a sequence.
    ("new_artist(text)", "currval"),
    ("new_category(text)", "lastval"),
    ("new_loan(text)", "pg_get_serial_sequence"),
    // Columns that may hold keys.
    ("edit_log.film_id", "guess"),
    ("edit_log.artist_id", "guess"),
    ("loan", "loan_of_old_discs"),
    // A key that is a foreign key.
    ("artist_meta.id", "artist"),
    // Who goes on to use the sequence.
    ("\"Store Numbers\"", "shop_clerk"),
    ("artist_id_seq", "shop_clerk"),
    ("category_id_seq", "shop_clerk"),
    ("edit_log_id_seq", "\"till-1\""),
    ("inventory_inventory_id_seq", "\"till-1\""),
    ("film_film_id_seq", "shop_clerk"),
    ("payment_payment_id_seq", "\"till-1\""),
    // Keys that nobody could choose.
    ("store.store_id", "GENERATED ALWAYS"),
    ("\"Track Id\"", "GENERATED ALWAYS"),
    ("category", "newsletter"),
    ("Film Shop", "DISCARD PLANS"),
];

#[test]
fn the_report_names_every_risk() {
    let cluster = application();
    let mut client = cluster.connect();
    let old = files(&mut client);
    client.batch_execute("BEGIN").expect("begun");
    let findings = report(&mut client, "schema => '\"Film Shop\"'");
    let locks = "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation
        WHERE pid = pg_backend_pid() AND pg_class.oid >= 16384 AND mode <> 'AccessShareLock'";
    assert_eq!(bigint(&mut client, locks), 0, "the report takes more than ACCESS SHARE locks");
    client.batch_execute("COMMIT").expect("committed");
    assert_same("the files", &files(&mut client), &old);
    for finding in &findings {
        println!("{}: {}: {}", finding.kind, finding.object, finding.text);
    }

    let of_kind = |kind: &'static str| findings.iter().filter(move |finding| finding.kind == kind);
    for (object, reason) in RISKS {
        let found = of_kind("risk")
            .filter(|risk| risk.object.contains(object) && risk.text.contains(reason))
            .count();
        assert_eq!(found, 1, "risks of {object} for {reason}");
    }
    for harmless in ["in_days", "with_tax", "cheapest", "accept", "setting", "counter", "stars"] {
        let mut risks = of_kind("risk");
        assert!(!risks.any(|risk| risk.object.contains(harmless)), "{harmless} is at no risk");
    }

    // With 'recreate', nothing is an obstacle but the triggers that a superuser has disabled.
    let obstacles: Vec<_> =
        of_kind("obstacle").map(|finding| (&finding.object, &finding.text)).collect();
    let others: Vec<_> = obstacles.iter().filter(|(_, text)| !text.contains("recreate")).collect();
    assert_eq!(others.len(), 1, "{others:#?}");
    assert!(
        others[0].1.starts_with("Triggers of foreign key loan_inventory_id_fkey"),
        "{others:?}"
    );

    let size = bigint(&mut client, "SELECT pg_total_relation_size('film')");
    let changes: Vec<_> = of_kind("change").filter(|change| change.rewritten.is_some()).collect();
    let film: Vec<_> = changes.iter().filter(|change| change.object.ends_with(".film")).collect();
    assert_eq!(film.len(), 1, "table film is rewritten once");
    assert_eq!(film[0].rewritten, Some(size));
    assert_eq!(film[0].lock.as_deref(), Some("ACCESS EXCLUSIVE"));
    for (table, columns) in WIDENED {
        let changes = changes.iter().filter(|change| change.object.ends_with(&format!(".{table}")));
        // A partitioned table has no file itself.
        let expected = usize::from(!columns.is_empty() && table != "rental");
        assert_eq!(changes.count(), expected, "changes of {table}");
    }
    let unwidened = of_kind("change").filter(|change| change.object.ends_with(".customer"));
    let unwidened: Vec<_> = unwidened.map(|change| change.rewritten).collect();
    assert_eq!(unwidened, [None], "table customer has a bigint key, and is not rewritten");
}
