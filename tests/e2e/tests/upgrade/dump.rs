//! A dump of the older release, which has the domain `snowflake`, restored with the newer one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use postgres::{Client, NoTls};
use snowflake_e2e::{Cluster, bigint, output};

use super::old_cluster;

const TABLES: &str = "
    CREATE TABLE visits (id snowflake PRIMARY KEY, page text);
    CREATE TABLE clicks (id snowflake PRIMARY KEY, visit_id bigint REFERENCES visits);
    INSERT INTO visits (page) SELECT '/' FROM generate_series(1, 100);
    INSERT INTO clicks (visit_id) SELECT id FROM visits;";

/// What the page on operations gives before the restore, and after it.
const BEFORE: &str = "
    CREATE EXTENSION IF NOT EXISTS snowflake;
    CREATE DOMAIN snowflake AS bigint DEFAULT snowflake_nextval();";
const AFTER: &str = "
    ALTER TABLE visits ALTER COLUMN id TYPE bigint,
                       ALTER COLUMN id SET DEFAULT snowflake_nextval();
    ALTER TABLE clicks ALTER COLUMN id TYPE bigint,
                       ALTER COLUMN id SET DEFAULT snowflake_nextval();
    DROP DOMAIN snowflake;";

/// A cluster of this release, and a role that may create databases.
fn new_cluster() -> Cluster {
    let mut new = Cluster::builder().create();
    new.start_again();
    new.connect().batch_execute("CREATE ROLE owner LOGIN CREATEDB").expect("a role");
    new
}

/// A new database of that role.
fn database(cluster: &Cluster, name: &str) -> Client {
    let connect =
        |name: &str| cluster.config().user("owner").dbname(name).connect(NoTls).expect("a session");
    let create = format!("CREATE DATABASE {name}");
    connect("postgres").batch_execute(&create).expect("a database");
    connect(name)
}

fn dump(cluster: &Cluster, directory: &Path, format: &str) -> PathBuf {
    let file = directory.join(format);
    let arguments = ["--no-owner", "--format", format, "--file"];
    output(cluster.client_program("pg_dump").args(arguments).arg(&file));
    file
}

/// Restores a dump as that role.
fn restore(cluster: &Cluster, database: &str, file: &Path, options: &[&str]) -> Output {
    let program = if file.ends_with("plain") { "psql" } else { "pg_restore" };
    let mut restore = cluster.client_program(program);
    restore.env("PGUSER", "owner").args(["--dbname", database]).args(options).arg(file);
    restore.output().expect("it runs")
}

/// All rows are there, and both tables take IDs; before the domain is gone, and after that.
#[track_caller]
fn assert_goes_on(client: &mut Client) {
    let insert = "INSERT INTO visits (page) VALUES ('/'); INSERT INTO clicks DEFAULT VALUES";
    client.batch_execute(insert).expect("rows");
    client.batch_execute(AFTER).expect("bigint");
    client.batch_execute(insert).expect("rows");
    for table in ["visits", "clicks"] {
        assert_eq!(bigint(client, &format!("SELECT count(DISTINCT id) FROM {table}")), 102);
    }
}

#[test]
fn tables_with_the_domain_are_restored_once_it_is_there() {
    let (old, new) = (old_cluster(), new_cluster());
    old.connect().batch_execute(TABLES).expect("tables");
    let directory = tempfile::tempdir().expect("a directory");
    for (format, options) in [
        ("plain", &["-Xq", "-v", "ON_ERROR_STOP=1", "-f"][..]),
        ("custom", &["--exit-on-error", "--no-owner"]),
    ] {
        let file = dump(&old, directory.path(), format);
        let without = format!("{format}_without");
        drop(database(&new, &without));
        let restored = restore(&new, &without, &file, options);
        let said = String::from_utf8_lossy(&restored.stderr);
        assert!(said.contains("type \"public.snowflake\" does not exist"), "{said}");

        let mut client = database(&new, format);
        client.batch_execute(BEFORE).expect("the domain");
        let restored = restore(&new, format, &file, options);
        assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
        assert_goes_on(&mut client);
    }
}

#[test]
fn tables_with_the_domain_in_another_schema_are_restored() {
    let (old, new) = (old_cluster(), new_cluster());
    let moved = format!(
        "CREATE SCHEMA tools; ALTER EXTENSION snowflake SET SCHEMA tools;
         SET search_path = public, tools; {TABLES}"
    );
    old.connect().batch_execute(&moved).expect("tables");
    let directory = tempfile::tempdir().expect("a directory");
    let file = dump(&old, directory.path(), "custom");
    let list = output(new.client_program("pg_restore").arg("--list").arg(&file));
    let lines = list.split_inclusive('\n').filter(|line| !line.contains(" SCHEMA - tools "));
    let chosen = directory.path().join("list");
    fs::write(&chosen, lines.collect::<String>()).expect("a file");

    let mut client = database(&new, "restored");
    client.batch_execute("CREATE SCHEMA tools; SET search_path = tools").expect("a schema");
    client.batch_execute(BEFORE).expect("the domain");
    let chosen = format!("--use-list={}", chosen.display());
    let restored = restore(&new, "restored", &file, &["--exit-on-error", "--no-owner", &chosen]);
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    client.batch_execute("SET search_path = public, tools").expect("set");
    assert_goes_on(&mut client);
}
