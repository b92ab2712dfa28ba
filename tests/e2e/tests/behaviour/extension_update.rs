//! `ALTER EXTENSION ... UPDATE` from each release whose SQL is kept in
//! `tests/upgrade/`, which the private server has, too.

use std::fs;

use postgres::Client;
use snowflake_e2e::{
    Cluster, INSERT, Programs, Run, assert_increasing, bigint, bigints, call_everything, check,
    dump_and_restore, error_of, eventually, new_directory, value, values,
};

/// A description of the extension in the catalog, object by object: one text for each. Nothing is
/// left out that one database can have and another lack, but for numbers of objects.
const CATALOG: &str = r"
    WITH extension AS (SELECT * FROM pg_extension WHERE extname = 'snowflake'),
    members AS (
        SELECT d.classid, d.objid, pg_describe_object(d.classid, d.objid, 0) AS name
        FROM pg_depend AS d JOIN extension AS e ON d.refobjid = e.oid
        WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'),
    relations AS (
        SELECT m.name AS member, c.* FROM members AS m JOIN pg_class AS c
        ON m.classid = 'pg_class'::regclass AND m.objid = c.oid
        UNION ALL
        SELECT m.name, c.* FROM members AS m JOIN pg_type AS t
        ON m.classid = 'pg_type'::regclass AND m.objid = t.oid
        JOIN pg_class AS c ON c.oid = t.typrelid AND c.relkind = 'c'),
    acls (object, acl) AS (
        SELECT m.name, p.proacl FROM members AS m JOIN pg_proc AS p
        ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid
        UNION ALL SELECT member, relacl FROM relations
        UNION ALL SELECT 'initial ' || m.name || ' ' || i.objsubid, i.initprivs
        FROM members AS m JOIN pg_init_privs AS i ON i.classoid = m.classid AND i.objoid = m.objid),
    facts (fact) AS (
        SELECT name FROM members
        UNION ALL SELECT format('comment %s %s', m.name, obj_description(m.objid, c.relname))
        FROM members AS m JOIN pg_class AS c ON c.oid = m.classid
        UNION ALL SELECT pg_get_functiondef(m.objid) FROM members AS m
        WHERE m.classid = 'pg_proc'::regclass
        UNION ALL SELECT format('acl %s %s', object, ARRAY(SELECT a::text FROM unnest(acl) AS a ORDER BY 1))
        FROM acls
        UNION ALL SELECT format('relation %s %s %s %s %s', member, relkind, reloptions, relpersistence,
            relreplident) FROM relations
        UNION ALL SELECT format('column %s %s %s %s %s %s %s', r.member,
            row_number() OVER (PARTITION BY r.oid ORDER BY a.attnum), a.attname,
            format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attacl, pg_get_expr(d.adbin, d.adrelid))
        FROM relations AS r JOIN pg_attribute AS a ON a.attrelid = r.oid AND a.attnum > 0
        AND NOT a.attisdropped LEFT JOIN pg_attrdef AS d ON d.adrelid = r.oid AND d.adnum = a.attnum
        UNION ALL SELECT pg_get_viewdef(oid) FROM relations WHERE relkind = 'v'
        UNION ALL SELECT format('constraint %s %s %s', r.member, c.conname, pg_get_constraintdef(c.oid))
        FROM relations AS r JOIN pg_constraint AS c ON c.conrelid = r.oid
        UNION ALL SELECT pg_get_indexdef(i.indexrelid)
        FROM relations AS r JOIN pg_index AS i ON i.indrelid = r.oid
        UNION ALL SELECT format('%s %s', pg_get_triggerdef(t.oid), t.tgenabled)
        FROM relations AS r JOIN pg_trigger AS t ON t.tgrelid = r.oid
        UNION ALL SELECT format('type %s %s %s %s %s', m.name, t.typtype, t.typbasetype::regtype,
            t.typnotnull, t.typdefault)
        FROM members AS m JOIN pg_type AS t ON m.classid = 'pg_type'::regclass AND m.objid = t.oid
        UNION ALL SELECT format('configuration %s %s', extconfig::regclass[], extcondition) FROM extension
        UNION ALL SELECT format('%s: version %s, relocatable %s', extname, extversion, extrelocatable)
        FROM extension)
    SELECT fact FROM facts ORDER BY fact";

fn catalog(client: &mut Client) -> Vec<String> {
    values(client, CATALOG)
}

const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../upgrade");

/// The releases whose SQL is kept, the oldest first.
pub fn releases() -> Vec<String> {
    let list = fs::read_to_string(format!("{KEPT}/releases")).expect("the list");
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(' ').expect("a release and its commit").0.to_owned()).collect()
}

/// A database of its own, with the extension of a release; the newest without one.
fn database(cluster: &Cluster, name: &str, release: Option<&str>) -> Client {
    cluster.run(&format!("CREATE DATABASE {name}"));
    let mut client = cluster.connect_to(name);
    let version = release.map_or_else(String::new, |release| format!("VERSION '{release}'"));
    client.run(&format!("CREATE EXTENSION snowflake {version}"));
    client
}

/// A database with the extension of each release: its name, and a session.
fn databases(cluster: &Cluster) -> Vec<(String, Client)> {
    let named = releases().into_iter().map(|release| {
        let name = format!("of_{}", release.replace('.', "_"));
        let client = database(cluster, &name, Some(&release));
        (name, client)
    });
    named.collect()
}

const UPDATE: &str = "ALTER EXTENSION snowflake UPDATE";

/// Objects of a user that depend on those of a former release.
const USED: &str = "
    CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text,
        created timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED);
    CREATE INDEX orders_by_time ON orders (snowflake_timestamp(id));
    CREATE TABLE visits (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), order_id bigint REFERENCES orders);
    CREATE TABLE logs (id bigint PRIMARY KEY DEFAULT snowflake_nextval()) PARTITION BY RANGE (id);
    CREATE TABLE logs_all PARTITION OF logs DEFAULT;
    CREATE TABLE by_worker (id bigint DEFAULT snowflake_nextval())
        PARTITION BY LIST (snowflake_worker_id(id));
    CREATE TABLE by_worker_9 PARTITION OF by_worker FOR VALUES IN (9);
    CREATE TABLE parts (p snowflake_parts);
    CREATE VIEW state AS SELECT issued, lead FROM pg_stat_snowflake;
    CREATE VIEW identity AS SELECT worker_id, ends FROM snowflake_status;
    CREATE VIEW recent AS SELECT * FROM orders
        WHERE snowflake_within(id, '2026-01-01 00:00:00+00', 'infinity');
    CREATE FUNCTION next_id() RETURNS bigint LANGUAGE sql RETURN snowflake_nextval();
    GRANT EXECUTE ON FUNCTION snowflake_stat_reset() TO pg_monitor;";

/// Rows through everything that was made.
const FILL: &str = "
    INSERT INTO orders (item) SELECT 'book' FROM generate_series(1, 100);
    INSERT INTO visits (order_id) SELECT id FROM orders;
    INSERT INTO logs SELECT FROM generate_series(1, 100);
    INSERT INTO by_worker SELECT FROM generate_series(1, 100);
    INSERT INTO parts SELECT snowflake_parse(next_id());";

/// Functions of others in the schema of the extension, which fit calls of its own, one of them to a
/// function that 0.4.0 does not have.
const OTHERS: &str = "
    DO $$ DECLARE name text; type text; BEGIN
        FOR name IN SELECT proname FROM pg_proc WHERE proname ~ '^snowflake_' UNION VALUES ('snowflake_conversion') LOOP
            FOREACH type IN ARRAY ARRAY['point', 'line'] LOOP
                EXECUTE format('CREATE FUNCTION %I(a %s DEFAULT NULL) RETURNS int RETURN 1', name, type);
            END LOOP;
        END LOOP;
    END $$";
const DROP_OTHERS: &str = "
    DO $$ DECLARE function regprocedure; BEGIN
        FOR function IN SELECT oid FROM pg_proc
            WHERE proname ~ '^snowflake_' AND prosqlbody IS NOT NULL AND pronargs = 1 LOOP
            EXECUTE format('DROP FUNCTION %s', function);
        END LOOP;
    END $$";

/// The update leads to what a new installation has, whatever functions others have created there.
#[test]
fn an_update_leads_to_what_is_installed_anew() {
    let cluster = Cluster::start();
    let new = catalog(&mut database(&cluster, "new", None));
    assert!(new.len() > 150, "{} facts", new.len());
    for (name, mut client) in databases(&cluster) {
        assert_ne!(catalog(&mut client), new);
        client.run(OTHERS);
        error_of(client.batch_execute("SELECT * FROM snowflake_stat()"));
        client.run(UPDATE);
        client.run("SELECT * FROM pg_stat_snowflake");
        client.run(DROP_OTHERS);
        let updated = catalog(&mut client);
        for (there, here, only) in [(&new, &updated, "installed"), (&updated, &new, "updated")] {
            let lacking: Vec<_> = there.iter().filter(|fact| !here.contains(fact)).collect();
            assert!(lacking.is_empty(), "{name}: only the {only} extension has {lacking:#?}");
        }
    }
}

/// The entry which says that this database has claims.
const NOTED: &str = "FROM pg_shdepend WHERE refclassid = 'pg_database'::regclass
    AND objid = 'snowflake_internal.snowflake_node_claims'::regclass
    AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// Whatever uses the extension goes on before the update, with this library, and after it.
#[test]
fn what_uses_the_extension_survives_the_update() {
    let cluster = Cluster::start();
    for (_, mut client) in databases(&cluster) {
        client.run(USED);
        client.run(FILL);
        client.run("SELECT snowflake_claim_node('db-1')");
        // The library of the release noted nothing.
        client.run(&format!("DELETE {NOTED}"));
        client.run("SELECT * FROM state, identity, recent");
        client.run(UPDATE);
        client.run(FILL);
        client.run("SELECT * FROM state, identity");
        assert_eq!(bigint(&mut client, "SELECT count(*) FROM recent"), 200);
        assert_increasing(&bigints(&mut client, "SELECT id FROM orders ORDER BY created, id"));
        let allowed =
            "SELECT has_function_privilege('pg_monitor', 'snowflake_stat_reset()', 'EXECUTE')";
        assert!(value::<bool>(&mut client, allowed));
        assert_eq!(bigint(&mut client, "SELECT count(*) FROM snowflake_nodes"), 1);
        assert_eq!(bigint(&mut client, &format!("SELECT count(*) {NOTED}")), 1);
    }
}

/// The row `version` compares the library that runs, the files, and the extension of the database.
#[test]
fn the_check_says_which_versions_there_are() {
    let directory = new_directory();
    let programs = Programs::from_env().copy(directory.path());
    let control = programs.extensions().join("snowflake.control");
    let text = fs::read_to_string(&control).expect("a control file");
    let cluster = Cluster::builder().programs(programs).start();
    let mut client = database(&cluster, "orders", None);
    let version = |client: &mut Client| check(client, "version");
    let own: String =
        value(&mut client, "SELECT extversion FROM pg_extension WHERE extname = 'snowflake'");
    let well = format!("The library, its files and the extension are {own}.");
    assert_eq!(version(&mut client), (true, well, String::new()));

    let [former] = &releases()[..] else { panic!("one former release") };
    let (ok, detail, hint) = version(&mut database(&cluster, "former", Some(former)));
    assert!(!ok && detail.ends_with(&format!("this database is {former}.")), "{detail}");
    assert!(hint.starts_with("Execute ALTER EXTENSION snowflake UPDATE"), "{hint}");

    // The files of a later release are there, before the restart.
    fs::write(&control, text.replace(&own, "99.0.0")).expect("a copy of ours");
    let (ok, detail, hint) = version(&mut client);
    assert!(!ok && detail.contains(&format!("{own}, the files are 99.0.0")), "{detail}");
    assert!(hint.starts_with("Restart") && hint.contains("ALTER EXTENSION"), "{hint}");
    // The database was updated too early.
    client.run("UPDATE pg_extension SET extversion = '99.0.0' WHERE extname = 'snowflake'");
    let (ok, _, hint) = version(&mut client);
    assert!(!ok && hint.starts_with("Restart") && !hint.contains("ALTER"), "{hint}");
    // The files of this release again, as on a standby that is upgraded last.
    fs::write(&control, &text).expect("a copy of ours");
    let (ok, _, hint) = version(&mut client);
    assert!(!ok && hint.starts_with("Install release 99.0.0"), "{hint}");
    fs::remove_file(&control).expect("a copy of ours");
    let (ok, detail, _) = version(&mut client);
    assert!(!ok && detail.ends_with("the extension has no control file."), "{detail}");
}

/// pg_upgrade creates the functions as the old cluster has them, and PostgreSQL looks for the
/// symbols of all of them. A dump creates the newest version.
#[test]
fn pg_upgrade_and_dumps_carry_each_former_release_over() {
    let mut old = Cluster::start();
    let mut names = Vec::new();
    for (name, mut client) in databases(&old) {
        client.run(USED);
        client.run(FILL);
        dump_and_restore(&old, &name, &format!("restored_{name}"));
        names.push(name);
    }
    old.stop();
    let new = Cluster::builder().start_upgraded_from(&old);
    for name in names {
        let mut client = new.connect_to(&name);
        client.run(UPDATE);
        client.run(FILL);
    }
}

/// Each function of a former release works with this library, or says what is wrong; both views
/// work.
#[test]
fn the_sql_of_former_releases_works_with_this_library() {
    let cluster = Cluster::start();
    for (_, mut client) in databases(&cluster) {
        client.run("SELECT * FROM pg_stat_snowflake, snowflake_status");
        call_everything(&cluster, &mut client);
    }
}

/// The tables of the extension are in a publication of all tables. A subscriber that has not been
/// updated yet might lack some of them, and gets the rows of the others.
#[test]
fn a_subscriber_is_updated_later() {
    for release in releases() {
        let start = || Cluster::builder().set("wal_level", "logical").start();
        let (publisher, subscriber) = (start(), start());
        let [mut published, mut client] = [&publisher, &subscriber].map(|cluster| {
            let mut client = database(cluster, "orders", Some(&release));
            client.run("CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval())");
            client
        });
        published.run("CREATE PUBLICATION everything FOR ALL TABLES");
        subscriber.subscribe(&publisher, "orders", "s", "PUBLICATION everything");
        subscriber.wait_for_the_copy("orders");
        let rows = "SELECT count(*) FROM orders";
        published.run(UPDATE);
        published.run(INSERT);
        eventually("the row arrives", || bigint(&mut client, rows) == 1);

        client.run(UPDATE);
        client.run("ALTER SUBSCRIPTION s REFRESH PUBLICATION");
        subscriber.wait_for_the_copy("orders");
        published.run(INSERT);
        eventually("the row arrives", || bigint(&mut client, rows) == 2);
    }
}
