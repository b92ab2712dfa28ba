//! "Leave" of README.md and of docs/conversion.md, followed to the letter.

use std::fs;

use snowflake_e2e::{
    Cluster, NEXT, Register, Run, assert_increasing, bigint, new_directory, output,
};
use snowflake_repository::{Page, page};

use super::documents::run_block;

/// Tables of another schema and another owner, with names that have to be quoted: one with
/// partitions, of which one was attached, and with a key in a composite primary key; two that were
/// converted, one of which keeps its sequence; one that another one inherits from; and one with a
/// column that was dropped, whose time is stored and indexed.
const TABLES: &str = r#"
    CREATE ROLE clerk;
    CREATE SCHEMA "My Shop";
    GRANT ALL ON SCHEMA "My Shop" TO clerk;
    SET search_path = "My Shop", public;
    CREATE TABLE "Order Lines" (region text, "Line Id" bigint DEFAULT snowflake_nextval(),
        PRIMARY KEY (region, "Line Id")) PARTITION BY LIST (region);
    CREATE TABLE "Of Europe" PARTITION OF "Order Lines" FOR VALUES IN ('europe');
    CREATE TABLE "Of Asia" (LIKE "Order Lines" INCLUDING DEFAULTS) PARTITION BY HASH ("Line Id");
    CREATE TABLE "Of Japan" PARTITION OF "Of Asia" FOR VALUES WITH (MODULUS 1, REMAINDER 0);
    ALTER TABLE "Order Lines" ATTACH PARTITION "Of Asia" FOR VALUES IN ('asia');
    CREATE TABLE "Clerks" (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, region text);
    ALTER TABLE "Clerks" OWNER TO clerk;
    INSERT INTO "Clerks" (region) VALUES ('europe');
    CREATE TABLE "Shifts" (id bigserial PRIMARY KEY, region text);
    ALTER TABLE "Shifts" OWNER TO clerk;
    ALTER TABLE "Clerks" ALTER id DROP IDENTITY, ALTER id TYPE bigint,
        ALTER id SET DEFAULT snowflake_nextval();
    ALTER TABLE "Shifts" ALTER id SET DEFAULT snowflake_nextval();
    CREATE TABLE notes (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), region text);
    CREATE TABLE "More" () INHERITS (notes);
    CREATE TABLE orders (
        dropped text,
        id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
        region text,
        created_at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED);
    ALTER TABLE orders DROP COLUMN dropped;
    ALTER TABLE orders OWNER TO clerk;
    CREATE INDEX by_time ON orders (snowflake_timestamp(id));
    SET search_path = public;"#;

/// A row in each table that takes IDs.
const INSERT: &str = r#"
    INSERT INTO "My Shop"."Order Lines" VALUES ('europe'), ('asia');
    INSERT INTO "My Shop"."Of Europe" VALUES ('europe');
    INSERT INTO "My Shop"."Of Asia" VALUES ('asia');
    INSERT INTO "My Shop"."Of Japan" VALUES ('asia');
    INSERT INTO "My Shop"."Clerks" (region) VALUES ('europe');
    INSERT INTO "My Shop"."Shifts" (region) VALUES ('europe');
    INSERT INTO "My Shop".notes (region) VALUES ('europe');
    INSERT INTO "My Shop"."More" (region) VALUES ('europe');
    INSERT INTO "My Shop".orders (region) VALUES ('europe');
    INSERT INTO logs (line) VALUES ('this month')"#;

/// The statements of the page for generated columns, indexes and functions.
const REPLACE: &str = r#"
    ALTER TABLE "My Shop".orders ALTER COLUMN created_at DROP EXPRESSION;
    DROP INDEX "My Shop".by_time;
    CREATE INDEX ON "My Shop".orders (id_timestamp(id));
    DO $do$ BEGIN
        EXECUTE replace(pg_get_functiondef('create_logs_partition'::regproc), 'snowflake_min', 'id_min');
    END $do$"#;

/// A superuser leaves an awkward database, as the section of a page says.
fn leave(section: &Page) {
    let cluster = Cluster::start();
    let mut client = cluster.connect();
    client.run(TABLES);
    let recipe = page("docs/recipes.md").section("Partition by time").blocks().swap_remove(0);
    client.run(&recipe.text);
    client.run(INSERT);
    // The functions that decode without the extension.
    client.run(&page("docs/reference.md").block("id_timestamp"));
    let same = "SELECT count(*) FROM \"My Shop\".orders
        WHERE id_timestamp(id) = snowflake_timestamp(id)
          AND id_min(created_at) = snowflake_min(created_at)
          AND id_min(created_at + interval '999 us') = snowflake_min(created_at)";
    assert_eq!(bigint(&mut client, same), 1);
    client.run(REPLACE);
    let blocks = section.blocks();
    for (index, _) in blocks.iter().enumerate().filter(|(_, block)| block.language == "sql") {
        run_block(section, index, &cluster, cluster.directory());
    }
    assert_eq!(
        bigint(&mut client, "SELECT count(*) FROM pg_extension WHERE extname = 'snowflake'"),
        0
    );
    client.run(INSERT);
    client.run("CALL create_logs_partition((now() + interval '1 month')::date)");
    // Each sequence goes on above the largest key.
    for table in ["orders", "\"Shifts\"", "\"Clerks\""] {
        let largest = format!("SELECT max(id) FROM \"My Shop\".{table}");
        let last = bigint(&mut client, &largest);
        client.run(INSERT);
        assert_eq!(bigint(&mut client, &largest), last + 1);
    }
    let owners =
        "SELECT count(*) FROM pg_class WHERE relkind = 'S' AND relowner = 'clerk'::regrole";
    assert_eq!(bigint(&mut client, owners), 3);
}

#[test]
fn an_awkward_database_is_left() {
    leave(&page("docs/conversion.md").section("Leave"));
}

#[test]
fn an_awkward_database_is_left_by_the_readme() {
    leave(&page("README.md").section("Leave"));
}

/// The page looks for this in a dump after the keys have sequences again.
#[test]
fn a_dump_shows_what_else_uses_the_extension() {
    let cluster = Cluster::start();
    cluster.run(TABLES);
    let recipe = page("docs/recipes.md").section("Partition by time").blocks().swap_remove(0);
    cluster.run(&recipe.text);
    let leave = page("docs/conversion.md").section("Leave");
    assert!(leave.text.contains("`pg_dump --schema-only | grep snowflake_`"));
    run_block(&leave, 0, &cluster, cluster.directory());
    let dump = output(cluster.client_program("pg_dump").arg("--schema-only"));
    let uses: Vec<&str> = dump.lines().filter(|line| line.contains("snowflake_")).collect();
    // Two of the procedure, one of the generated column, and one of the index.
    assert_eq!(uses.len(), 4, "{uses:?}");
}

/// The server works on without the library, and the register stays. If snowflake_pg comes back,
/// with a clock that was set back, IDs go on.
#[test]
fn a_server_works_on_after_the_extension_was_uninstalled() {
    let mut cluster = Cluster::builder().fake_clock().start();
    let mut client = cluster.connect();
    let last = bigint(&mut client, NEXT);
    client.run("CREATE TABLE orders (id bigint); DROP EXTENSION snowflake");
    cluster.restart_with(&[("shared_preload_libraries", "")]);
    let register = fs::read(Register::path(&cluster)).expect("the register");
    cluster.run("INSERT INTO orders SELECT generate_series(1, 1000); CHECKPOINT");
    let mut copy = cluster.base_backup(&[]);
    copy.start_again();
    cluster.stop();
    for cluster in [&cluster, &copy] {
        assert!(fs::read(Register::path(cluster)).expect("the register") == register);
    }

    cluster.set_clock("-1h");
    cluster.configure(&[("shared_preload_libraries", "snowflake_pg")]);
    cluster.start_again();
    let mut client = cluster.connect();
    client.run("CREATE EXTENSION snowflake");
    assert_increasing(&[last, bigint(&mut client, NEXT)]);
}

/// After the files are removed, a server starts if its configuration no longer names them, with the
/// register and without. A recovery creates the register again.
#[test]
fn a_server_starts_without_the_files_if_nothing_names_them() {
    // It outlives the cluster, whose server is in it.
    let directory = new_directory();
    let mut cluster = Cluster::start();
    cluster.bigint(NEXT);
    cluster.kill();
    let register = Register::path(&cluster);
    fs::remove_file(&register).expect("the register");
    let without = cluster.programs().without_the_extension(directory.path());
    cluster.use_programs(without);
    assert!(cluster.try_start().is_err());
    cluster.assert_logged("could not access file \"snowflake_pg\"");
    cluster.configure(&[("shared_preload_libraries", "")]);
    cluster.start_again();
    cluster.run("CHECKPOINT");
    assert!(register.exists());
    cluster.stop();
    fs::remove_file(&register).expect("the register");
    cluster.start_again();
    cluster.run("CREATE TABLE orders (id int); CHECKPOINT");
    cluster.base_backup(&[]).start_again();
    assert!(!register.exists());
}
