//! A blog whose tables a framework creates with its own migrations, in an adopted schema. The
//! models declare keys as 64-bit integers in the way of the framework's own documentation, and
//! nothing in them names snowflake IDs.
//!
//! The first migration has users, posts, tags, and a table that joins posts and tags. The second
//! one adds comments, and a reference `posts.editor_id` to the table with rows.
//!
//! The program `steps` of each framework prints keys as `table ID`. With `write`, Ann writes the
//! post `Tea` with two of three tags. With `comment`, Bob comments on it, and becomes its editor.
//! Each step ends with a line of what it reads.

mod javascript;
mod migrations;
mod others;
mod python;
mod ruby;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::path::Path;

use crate::program::{ISSUED, Program, copy, source, stdout};
use crate::sqlalchemy::ENV;

/// A framework: the commands of a migration, in which `STEP` is `first` or `second`; its program;
/// and how it looks for differences between its models or migrations and the database, and says
/// that there are none.
struct Framework {
    client: &'static str,
    migration: &'static [&'static str],
    steps: &'static str,
    check: (&'static str, &'static str),
}

const FRAMEWORKS: [Framework; 9] = [
    Framework {
        client: "django",
        migration: &["python -m django makemigrations", "python -m django migrate"],
        steps: "python steps.py",
        check: ("python -m django makemigrations --check --dry-run", "No changes detected"),
    },
    Framework {
        client: "alembic",
        migration: &["alembic revision --autogenerate --rev-id STEP", "alembic upgrade head"],
        steps: "python steps.py",
        check: ("alembic check", "No new upgrade operations detected"),
    },
    Framework {
        client: "activerecord",
        migration: &["rake db:migrate"],
        steps: "ruby steps.rb",
        check: ("rake db:abort_if_pending_migrations db:migrate", ""),
    },
    // The foreign keys come last. drizzle-kit compares with what it remembers.
    Framework {
        client: "drizzle",
        migration: &["drizzle-kit generate", "drizzle-kit migrate"],
        steps: "node steps.js",
        check: ("drizzle-kit generate", "No schema changes, nothing to migrate"),
    },
    // Foreign keys are part of the tables and columns.
    Framework {
        client: "sequelize",
        migration: &["sequelize-cli db:migrate"],
        steps: "node steps.js",
        check: ("sequelize-cli db:migrate:status", "up 20260102000000-second.js"),
    },
    Framework {
        client: "typeorm",
        migration: &[
            "typeorm migration:generate migrations/STEP --outputJs --esm -d data-source.js",
            "typeorm migration:run -d data-source.js",
        ],
        steps: "node steps.js",
        check: ("typeorm schema:log -d data-source.js", "Your schema is up to date"),
    },
    // `AutoMigrate()` compares the tables with the models each time.
    Framework {
        client: "gorm",
        migration: &["blog STEP"],
        steps: "blog",
        check: ("blog second", ""),
    },
    // The schema that Diesel prints is the one of the program.
    Framework {
        client: "diesel",
        migration: &["diesel migration run"],
        steps: "blog-diesel",
        check: ("diesel migration run --config-file schema.toml --locked-schema", ""),
    },
    // sqlx compares the checksums of migrations that were run, and not what they have become.
    Framework {
        client: "sqlx",
        migration: &["blog-sqlx migrate"],
        steps: "blog-sqlx",
        check: ("blog-sqlx migrate", ""),
    },
];

/// Files of the pages that the blogs use.
const OF_PAGES: [(&str, &str, &str); 2] = [
    ("activerecord", "activerecord/snowflake.rb", "config/initializers/snowflake.rb"),
    ("drizzle", "drizzle/drizzle.config.js", "drizzle.config.js"),
];

/// The tables of the first migration whose key is their `id`.
const FIRST: &[&str] = &["posts", "tags", "users"];

/// With those of the second one.
const SECOND: &[&str] = &["comments", "posts", "tags", "users"];

/// The blog of a framework, and a server whose schema `public` is adopted.
struct Blog {
    program: Program,
    framework: &'static Framework,
    printed: RefCell<String>,
}

impl Deref for Blog {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.program
    }
}

impl Blog {
    /// The blog without what the second migration adds: files of this name, lines that end with the
    /// comment `second`, and all that comes after a line of only that comment. The schema is
    /// adopted for the role, so that databases that frameworks create for tests are adopted, too.
    fn of(client: &str) -> Blog {
        let framework = FRAMEWORKS.iter().find(|framework| framework.client == client);
        let framework = framework.expect("a framework");
        let program = Program::with(client, &format!("blog/{client}"));
        program.sql("ALTER ROLE postgres SET snowflake.adopted_schemas = 'public'");
        for (_, page, file) in OF_PAGES.iter().filter(|(of, ..)| *of == client) {
            program.write(file, &fs::read_to_string(source(page)).expect("a file of the page"));
        }
        let second = program.directory.path().join("second");
        hold_back_second(&program, &source(&format!("blog/{client}")), Path::new(""));
        assert!(second.exists() || client == "gorm", "{client} has no second migration");
        let blog = Blog { program, framework, printed: RefCell::default() };
        if client == "alembic" {
            blog.run("alembic init migrations");
            let models = "from models import Base\n\ntarget_metadata = Base.metadata\n";
            blog.replace(ENV, "target_metadata = None\n", models);
            let url = "driver://user:pass@localhost/dbname";
            blog.replace("alembic.ini", url, "postgresql+psycopg://");
        }
        blog
    }

    /// Puts what belongs to the second migration in its place.
    fn use_second(&self) {
        let directory = self.directory.path();
        if directory.join("second").exists() {
            copy(&directory.join("second"), directory);
        }
    }

    /// Makes and executes a migration.
    #[track_caller]
    fn migrate(&self, step: &str) {
        for command in self.framework.migration {
            self.run(&command.replace("STEP", step));
        }
    }

    #[track_caller]
    fn migrate_to_second(&self) {
        self.use_second();
        self.migrate("second");
    }

    /// Does the step, in which the blog prints its keys.
    #[track_caller]
    fn step(&self, step: &str) {
        let printed = self.run(&format!("{} {step}", self.framework.steps));
        let last = match step {
            "write" => "Tea by Ann: drinks, kitchen\n",
            _ => "Tea, edited by Bob: How long?\n",
        };
        assert!(printed.ends_with(last), "{printed}");
        self.printed.borrow_mut().push_str(&printed);
    }

    /// Asserts that the framework finds no difference, and changes nothing.
    #[track_caller]
    fn assert_no_difference(&self) {
        let alterations = || self.cluster.log().matches(": ALTER TABLE").count();
        let before = alterations();
        let (command, expected) = self.framework.check;
        let output = self.output(command, None);
        // diesel and drizzle-kit say it in different places.
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let said = stdout(output) + &said;
        assert!(said.contains(expected), "{said}");
        assert_eq!(alterations(), before, "{said}");
    }

    /// Asserts that these tables have keys that are snowflake IDs, that every reference to such a
    /// key is a `bigint`, and that the tables have their references.
    #[track_caller]
    fn assert_adopted(&self, tables: &[&str]) {
        let rows = self.cluster.connect().query(COLUMNS, &[&tables]).expect("columns");
        let columns: BTreeMap<String, (String, bool)> =
            rows.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect();
        for table in tables {
            let key = columns.get(&format!("{table}.id"));
            assert_eq!(key, Some(&("bigint".into(), true)), "{table}: {columns:?}");
        }
        let is_bigint = |(of_type, _): &(String, bool)| of_type == "bigint";
        assert!(columns.values().all(is_bigint), "{columns:?}");
        let of_second = ["posts.editor_id", "comments.post_id", "comments.author_id"];
        let of_second = of_second.into_iter().filter(|_| tables == SECOND);
        for reference in of_second.chain(["posts.author_id"]) {
            assert!(columns.contains_key(reference), "{reference}: {columns:?}");
        }
    }

    /// Asserts that the server issued every key of these tables, and that the program printed each
    /// of them as `table ID`, and rows of each.
    #[track_caller]
    fn assert_printed(&self, tables: &[&str]) {
        let printed = self.printed.borrow();
        let mut client = self.cluster.connect();
        for table in tables {
            let issued = format!("SELECT bool_and({ISSUED}) FROM {table}");
            let issued: Option<bool> = client.query_one(&issued, &[]).expect("a row").get(0);
            assert_eq!(issued, Some(true), "{table}: {printed}");
            for id in self.ids(table) {
                let line = format!("{table} {id}");
                assert!(printed.lines().any(|printed| printed == line), "{line}\n{printed}");
            }
        }
    }

    /// Asserts that the server has warned of nothing.
    #[track_caller]
    fn assert_no_warning(&self) {
        assert!(!self.cluster.log().contains("WARNING"), "{}", self.cluster.log());
    }
}

/// Moves what belongs to the second migration to `second/`, in a directory of the program.
fn hold_back_second(program: &Program, source: &Path, directory: &Path) {
    for entry in fs::read_dir(source.join(directory)).expect("a directory").flatten() {
        let file = directory.join(entry.file_name());
        let name = file.to_str().expect("UTF-8");
        if entry.path().is_dir() && !name.contains("second") {
            hold_back_second(program, source, &file);
        } else if name.contains("second") {
            let there = program.directory.path().join("second").join(directory);
            fs::create_dir_all(&there).expect("a directory to write to");
            let from = program.directory.path().join(&file);
            fs::rename(from, there.join(entry.file_name())).expect("the same file system");
        } else {
            let both = program.read(name);
            let lines = both.lines().take_while(|line| !["# second", "// second"].contains(line));
            let first: String = lines
                .filter(|line| !line.ends_with("# second") && !line.ends_with("// second"))
                .map(|line| format!("{line}\n"))
                .collect();
            if first != both {
                program.write(name, &first);
                program.write(&format!("second/{name}"), &both);
            }
        }
    }
}

/// A row: a column that is a key of its own table, or refers to one that has snowflake IDs; its
/// type, and whether its default is a snowflake ID.
const COLUMNS: &str = "
    WITH keys AS (
        SELECT conrelid, conkey[1] AS number FROM pg_constraint
        WHERE contype = 'p' AND cardinality(conkey) = 1
    ), own AS (
        SELECT c.oid, c.relname, a.attnum, a.attname, format_type(a.atttypid, NULL) AS type,
            coalesce(pg_get_expr(d.adbin, d.adrelid) = 'snowflake_nextval()', false) AS is_snowflake
        FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
        LEFT JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0
    )
    SELECT format('%s.%s', relname, attname), type, is_snowflake FROM own
    JOIN keys ON (conrelid, number) = (oid, attnum)
    WHERE is_snowflake OR relname = ANY ($1)
    UNION
    SELECT format('%s.%s', o.relname, o.attname), o.type, o.is_snowflake
    FROM own AS o
    JOIN pg_constraint ON contype = 'f' AND conrelid = o.oid AND conkey[1] = o.attnum
    JOIN own AS other ON other.oid = confrelid AND other.attnum = confkey[1] AND other.is_snowflake";

/// The type of a column.
fn of_type(blog: &Blog, table: &str, column: &str) -> String {
    let query = "SELECT format_type(atttypid, NULL) FROM pg_attribute
         WHERE attrelid = to_regclass($1) AND attname = $2";
    let row = blog.cluster.connect().query_one(query, &[&table, &column]);
    row.expect("a column").get(0)
}
