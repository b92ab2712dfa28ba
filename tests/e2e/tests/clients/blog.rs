//! A blog whose tables a framework creates with its own migrations, in an adopted schema. The models
//! declare keys as 64-bit integers in the way of the framework's own documentation, and nothing in them
//! names snowflake IDs.
//!
//! The first migration has users, posts, comments, tags, and a table that joins posts and tags. The
//! second one adds a table `likes`, a column `posts.subtitle`, and a reference `posts.editor_id`.
//!
//! Programs print each key as `table ID`. Those in JavaScript, Ruby and Rust write the same rows: After the
//! first migration, Ann writes the post `Tea` with two tags, and Bob comments on it. After the second one,
//! Bob likes it, and becomes its editor. At the end, they print what they read, without IDs. Those in Go
//! and Python write more, and compare it themselves.

mod go;
mod javascript;
mod python;
mod ruby;
mod rust;

use std::collections::BTreeMap;

use snowflake_e2e::{Cluster, bigint};

use crate::program::{Program, source};

/// The tables of the first migration whose key is their `id`.
pub const FIRST: &[&str] = &["comments", "posts", "tags", "users"];

/// With those of the second one.
pub const SECOND: &[&str] = &["comments", "likes", "posts", "tags", "users"];

/// Adopts the schema `public` for the role that runs migrations, in every database, so that those that
/// frameworks create for tests are adopted, too.
pub fn adopt(cluster: &Cluster) {
    let adopt = "ALTER ROLE postgres SET snowflake.adopted_schemas = 'public'";
    cluster.connect().batch_execute(adopt).expect("an adopted schema");
}

/// What programs print at the end after the first migration.
pub const WRITTEN: &str = "Tea: drinks\nTea: kitchen\nTea: How long? (Bob)\n";

/// And after the second one.
pub const LIKED: &str = "Tea: A start, edited by Bob\n";

/// The files of models that are those of both migrations.
const MODELS: [(&str, &str); 5] = [
    ("alembic", "models.py"),
    ("django", "blog/models.py"),
    ("drizzle", "schema.js"),
    ("sequelize", "models/index.js"),
    ("typeorm", "entities.js"),
];

/// A client with the program of its blog, and a server whose schema `public` is adopted. Its models lack
/// what the second migration adds: lines that end with the comment `second`, and all that comes after a
/// line of only that comment.
pub fn blog(client: &str) -> Program {
    let program = Program::with(client, &source("blog").join(client));
    adopt(&program.cluster);
    if let Some((_, file)) = MODELS.iter().find(|(of, _)| *of == client) {
        let both = program.read(file);
        let lines = both.lines().take_while(|line| !["# second", "// second"].contains(line));
        let first = lines.filter(|line| !line.ends_with(" second"));
        program.write(file, &first.map(|line| format!("{line}\n")).collect::<String>());
        program.write(&format!("second/{file}"), &both);
    }
    program
}

/// Puts the models of the second migration in their place.
pub fn use_second(program: &Program, file: &str) {
    program.write(file, &program.read(&format!("second/{file}")));
}

/// A row: a column that is a key of its own table, or refers to one that has snowflake IDs; its type,
/// and whether its default is a snowflake ID.
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

/// Asserts that these tables have keys that are snowflake IDs, that every reference to such a key is a
/// `bigint`, and that `posts` and `comments` have references.
#[track_caller]
pub fn assert_adopted(cluster: &Cluster, tables: &[&str]) {
    let rows = cluster.connect().query(COLUMNS, &[&tables]).expect("columns");
    let columns: BTreeMap<String, (String, bool)> =
        rows.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect();
    for table in tables {
        let key = columns.get(&format!("{table}.id"));
        assert_eq!(key, Some(&("bigint".into(), true)), "{table}: {columns:?}");
    }
    let is_bigint = |(of_type, _): &(String, bool)| of_type == "bigint";
    assert!(columns.values().all(is_bigint), "{columns:?}");
    for reference in ["posts.author_id", "comments.post_id"] {
        assert!(columns.contains_key(reference), "{reference}: {columns:?}");
    }
    if tables.contains(&"likes") {
        for reference in ["posts.editor_id", "likes.post_id", "likes.user_id"] {
            assert!(columns.contains_key(reference), "{reference}: {columns:?}");
        }
    }
}

/// Asserts that the server issued every key of these tables, that there are rows in each, and that the
/// program printed each of the keys as `table ID`.
#[track_caller]
pub fn assert_rows(cluster: &Cluster, tables: &[&str], printed: &str) {
    let mut client = cluster.connect();
    for table in tables {
        let issued = format!(
            "SELECT count(*) FROM {table} WHERE snowflake_datacenter_id(id) = 5
             AND snowflake_worker_id(id) = 9
             AND snowflake_timestamp(id) BETWEEN pg_postmaster_start_time() AND snowflake_floor()"
        );
        let rows = bigint(&mut client, &format!("SELECT count(*) FROM {table}"));
        assert!(rows > 0, "{table} has no rows: {printed}");
        assert_eq!(bigint(&mut client, &issued), rows, "{table}");
        let ids = client.query(&format!("SELECT id FROM {table} ORDER BY id"), &[]).expect("rows");
        for id in ids.iter().map(|row| row.get::<_, i64>(0)) {
            let line = format!("{table} {id}");
            assert!(printed.lines().any(|printed| printed == line), "{line}\n{printed}");
        }
    }
}

/// Asserts that the programs printed what they have to, and that the server issued all keys.
#[track_caller]
pub fn assert_story(program: &Program, written: &str, liked: &str) {
    assert!(written.ends_with(WRITTEN), "{written}");
    assert!(liked.ends_with(LIKED), "{liked}");
    assert_rows(&program.cluster, SECOND, &[written, liked].concat());
}

/// Asserts that the server has warned of nothing.
#[track_caller]
pub fn assert_no_warning(program: &Program) {
    assert!(!program.cluster.log().contains("WARNING"), "{}", program.cluster.log());
}

/// The statement that the hint of a warning tells to execute.
#[track_caller]
pub fn hinted(said: &str) -> &str {
    let (_, hint) = said.split_once("Run ALTER TABLE").unwrap_or_else(|| panic!("no hint: {said}"));
    let length = hint.find(" TYPE bigint").expect("a statement") + " TYPE bigint".len();
    let begin = said.len() - hint.len() - "ALTER TABLE".len();
    &said[begin..begin + "ALTER TABLE".len() + length]
}
