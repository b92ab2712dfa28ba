//! `sql/hosted.sql` as the first migration of an application: the same one on a server that loads
//! no library, on one that does, and in PGlite.

use snowflake_e2e::{Cluster, Dump, Run, assert_distinct, bigint, bigints, hosted_script, output};

use snowflake_repository::page;

use crate::program::{Program, row};

/// A client of the migration, and the commands that run it.
const MIGRATIONS: [(&str, &[&str]); 6] = [
    ("psycopg", &["python migrate.py", "python rows.py"]),
    ("node-postgres", &["node migrate.js"]),
    ("activerecord", &["ruby migrate.rb"]),
    ("django", &["python -m django migrate", "python django_rows.py"]),
    ("alembic", &["alembic -c alembic.ini upgrade head", "python rows.py"]),
    (
        "psycopg",
        &["psql -Xq -v ON_ERROR_STOP=1 -1 -f snowflake.sql -f orders.sql", "python rows.py"],
    ),
];

/// Options of a dump of the rows alone.
const DATA: [&str; 2] = ["--data-only", "--table=orders"];

/// A server with an empty database, that preloads the library with this worker ID, or does not.
fn server(preloads: bool, worker: usize) -> Cluster {
    let builder = match preloads {
        true => Cluster::builder()
            .set("snowflake.datacenter_id", "1")
            .set("snowflake.worker_id", &worker.to_string()),
        false => Cluster::builder().without_identity().set("shared_preload_libraries", ""),
    };
    builder.start_bare()
}

/// The rows that a migration printed, which are those of the table and came from this identity.
#[track_caller]
fn assert_rows(program: &Program, printed: &str, identity: (i64, i64)) {
    let rows: Vec<_> = printed.lines().filter_map(row).collect();
    let mut client = program.cluster.connect();
    let expected = client.query("SELECT item, id FROM orders ORDER BY id", &[]).expect("orders");
    let expected: Vec<(String, i64)> =
        expected.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(rows, expected, "{printed}");
    assert_eq!(rows.len(), 3);
    for (_, id) in rows {
        assert_eq!((id >> 17 & 31, id >> 12 & 31), identity, "{printed}");
    }
}

#[test]
fn one_migration_runs_everywhere_and_rows_meet_in_one_table() {
    let together = server(true, 31);
    together.run("CREATE EXTENSION snowflake");
    together.run(include_str!("../../../clients/first-migration/orders.sql"));
    let mut count = 0;
    for preloads in [false, true] {
        for (number, (client, commands)) in MIGRATIONS.iter().enumerate() {
            println!("{client}, preloads: {preloads}");
            // Rows of servers meet, so each has an identity of its own.
            let identity = (i64::from(preloads), number as i64);
            let script = hosted_script("0", &number.to_string());
            let program = Program::on(server(preloads, number), client, "first-migration");
            program.write("snowflake.sql", &script);
            program.write("alembic.ini", "[alembic]\nscript_location = .\n");
            let printed: String = commands.iter().map(|command| program.run(command)).collect();
            assert_rows(&program, &printed, identity);
            let extensions = "SELECT count(*) FROM pg_extension WHERE extname = 'snowflake'";
            let mut session = program.cluster.connect();
            assert_eq!(bigint(&mut session, extensions), i64::from(preloads));
            // Once more, as from a console.
            session.run(&script);
            let dump = Dump::of(&program.cluster, "postgres", "postgres", "custom", &DATA);
            dump.restore(&together, "postgres", "postgres", &["--exit-on-error"]).expect("rows");
            count += 3;
        }
    }
    let program = Program::on(server(false, 0), "node-postgres", "first-migration");
    program.write("snowflake.sql", &hosted_script("0", "31"));
    let printed = program.run("node migrate.js pglite");
    assert!(printed.ends_with("20020 ascending\n"), "{printed}");
    // PGlite is newer than some servers, and sets what these do not know.
    let dump = program.read("dump.sql").replace("SET transaction_timeout = 0;\n", "");
    program.write("dump.sql", &dump);
    let file = program.directory.path().join("dump.sql");
    output(together.client_program("psql").args(["-Xqv", "ON_ERROR_STOP=1", "-f"]).arg(file));
    let ids = bigints(&mut together.connect(), "SELECT id FROM orders");
    assert_eq!(ids.len(), count + 3);
    assert_distinct(ids);
}

/// Django splits what `RunSQL` gets into statements. With this key for all models, its own table of
/// migrations would have it, too, before the first migration.
#[test]
fn django_runs_it_as_a_migration_and_before_the_tests_of_an_application() {
    let program = Program::on(server(false, 0), "django", "first-migration");
    program.write("snowflake.sql", &hosted_script("0", "0"));
    let said = program.run("python -m django test --verbosity 2 shop");
    assert!(
        said.contains("Found 1 test(s).") && said.contains("shop.0001_initial... OK"),
        "{said}"
    );

    program.write("shop/apps.py", "");
    let error = program.error("python -m django migrate");
    assert!(error.contains("function snowflake_nextval() does not exist"), "{error}");
    program.replace("settings.py", "shop.models.SnowflakeField", "django.db.models.BigAutoField");
    program.replace(
        "shop/migrations/0001_initial.py",
        "    operations = [\n",
        "    operations = [\n        migrations.RunSQL(open('snowflake.sql').read()),\n",
    );
    program.run("python -m django migrate");
    assert_rows(&program, &program.run("python django_rows.py"), (0, 0));
}

/// The plugin creates a database for each test, by the configuration of the page.
#[test]
fn pytest_runs_it_in_the_databases_of_tests() {
    for preloads in [false, true] {
        let program = Program::on(server(preloads, 0), "psycopg", "first-migration");
        program.write("snowflake.sql", &hosted_script("0", "0"));
        let said = program.run("pytest -q test_orders.py");
        assert!(said.contains("1 passed"), "{said}");
    }
}

/// The engine of `prisma migrate` in JavaScript splits a script at each semicolon, so the page
/// hides those within the statement.
#[test]
fn prisma_s_engine_in_javascript_runs_it_without_semicolons() {
    let text = page("docs/clients.md").text;
    let (_, sed) = text.split_once("$ sed ").expect("a command");
    let (sed, _) = sed.split_once(" snowflake.sql > ").expect("its files");
    for preloads in [false, true] {
        let program = Program::on(server(preloads, 0), "node-postgres", "first-migration");
        program.write("snowflake.sql", &hosted_script("0", "0"));
        let error = program.error("node migrate-prisma.js snowflake.sql");
        assert!(error.contains("unterminated dollar-quoted string"), "{error}");
        program.sql("DROP TABLE _prisma_migrations");
        let split = program.eval("sh -c", &format!("sed {sed} snowflake.sql"));
        assert!(!split.contains(';'), "{split}");
        program.write("migration.sql", &split);
        let said = program.run("node migrate-prisma.js migration.sql orders.sql");
        assert_eq!(said, "migration.sql orders.sql\n");
        // Whichever way it came, it is the same.
        program.run("psql -Xq -v ON_ERROR_STOP=1 -f snowflake.sql");
        let insert = "INSERT INTO orders (item) VALUES ('tea'), ('milk'), ('sugar')
            RETURNING concat(item, ' ', id)";
        let printed = program.eval("psql -XAtqc", insert);
        assert_rows(&program, &printed, (i64::from(preloads), 0));
    }
}
