//! Frameworks that do not run here: the SQL of their migrations, as their documentation publishes it.

use std::fs;
use std::sync::{Arc, Mutex};

use postgres::NoTls;
use snowflake_e2e::{Cluster, bigint};

use super::{FIRST, SECOND, adopt, assert_adopted, hinted};
use crate::program::source;

/// A server whose schema `public` is adopted.
fn adopted() -> Cluster {
    let cluster = Cluster::start();
    adopt(&cluster);
    cluster
}

/// The SQL of a migration.
fn migration(name: &str) -> String {
    let file = source("blog").join("published").join(name).with_extension("sql");
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Executes SQL, and returns what the server says of it.
fn execute(cluster: &Cluster, sql: &str) -> Vec<String> {
    let said = Arc::new(Mutex::new(Vec::new()));
    let notices = Arc::clone(&said);
    let mut config = cluster.config();
    config.notice_callback(move |notice| {
        let hint = notice.hint().unwrap_or_default();
        let text = format!("{}: {} {hint}", notice.severity(), notice.message());
        notices.lock().expect("nobody panics").push(text);
    });
    let mut client = config.connect(NoTls).expect("a connection");
    client.batch_execute(sql).unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    drop(client);
    let said = said.lock().expect("nobody panics");
    said.iter().filter(|text| !text.contains("already exists, skipping")).cloned().collect()
}

/// Inserts a user as a framework does, and a post whose author and editor is `USER`. The server issues
/// both keys.
#[track_caller]
fn insert(cluster: &Cluster, user: &str, post: &str) {
    let mut client = cluster.connect();
    let mut id = 0;
    for statement in [user, post] {
        let statement = statement.replace("USER", &id.to_string());
        id = bigint(&mut client, &statement);
        let issued = format!("SELECT count(*) WHERE snowflake_worker_id({id}) = 9");
        assert_eq!(bigint(&mut client, &issued), 1, "{statement}: {id}");
    }
}

/// Asserts that both migrations are adopted, and nothing is said of them.
#[track_caller]
fn assert_migrations_adopted(cluster: &Cluster, migrations: [String; 2]) {
    for (sql, tables) in migrations.into_iter().zip([FIRST, SECOND]) {
        assert_eq!(execute(cluster, &sql), [""; 0]);
        assert_adopted(cluster, tables);
    }
}

/// Executes both migrations with rows in between. The server warns of the reference that the second one
/// adds, and its hint is followed. The reference takes keys then.
#[track_caller]
fn mended(first: &str, rows: &str, second: &str, update: &str) -> Cluster {
    let cluster = adopted();
    execute(&cluster, &migration(first));
    execute(&cluster, rows);
    let said = execute(&cluster, second);
    let [warning] = &said[..] else { panic!("one warning: {said:?}") };
    assert!(warning.starts_with("WARNING: column "), "{warning}");
    assert!(warning.contains("cannot hold the snowflake IDs that it refers to"), "{warning}");
    execute(&cluster, hinted(warning));
    execute(&cluster, update);
    cluster
}

/// Prisma Migrate writes `BIGSERIAL` for `BigInt`, and adds all foreign keys at the end.
#[test]
fn migrations_of_prisma_are_adopted() {
    let cluster = adopted();
    assert_migrations_adopted(&cluster, ["prisma-1", "prisma-2"].map(migration));
    insert(
        &cluster,
        r#"INSERT INTO "public"."users" ("email") VALUES ('ada@example.com')
           RETURNING "public"."users"."id""#,
        r#"INSERT INTO "public"."posts" ("title", "author_id", "editor_id")
           VALUES ('Hello', USER, USER) RETURNING "public"."posts"."id""#,
    );
}

/// With `Int`, Prisma Migrate writes `SERIAL` and `INTEGER`. The keys stay, and a notice names each.
#[test]
fn narrow_keys_of_prisma_stay() {
    let cluster = adopted();
    for name in ["prisma-1", "prisma-2"] {
        let narrow = migration(name).replace("BIGSERIAL", "SERIAL").replace("BIGINT", "INTEGER");
        let said = execute(&cluster, &narrow);
        let notice = "NOTICE: not all new keys were converted to snowflake IDs";
        assert!(!said.is_empty() && said.iter().all(|one| one.starts_with(notice)), "{said:?}");
    }
    let rows = "WITH ada AS (INSERT INTO users (email) VALUES ('ada@example.com') RETURNING id)
        INSERT INTO posts (title, author_id, editor_id) SELECT 'Hello', id, id FROM ada";
    execute(&cluster, rows);
}

/// Prisma Migrate: a reference of type `Int` stays an integer.
#[test]
fn a_narrow_reference_that_prisma_adds_is_mended_as_the_hint_says() {
    let rows = "WITH ada AS (INSERT INTO users (email) VALUES ('ada@example.com') RETURNING id)
        INSERT INTO posts (title, author_id) SELECT 'Hello', id FROM ada";
    let second = migration("prisma-2").replace("\"editor_id\" BIGINT", "\"editor_id\" INTEGER");
    let cluster = mended("prisma-1", rows, &second, "UPDATE posts SET editor_id = author_id");
    assert_adopted(&cluster, SECOND);
}

/// Hibernate 6 writes `bigserial` keys for `GenerationType.IDENTITY`, and version 5 for PostgreSQL 10
/// identity columns. Foreign keys name no column of the other table.
#[test]
fn schemas_of_hibernate_are_adopted() {
    for key in ["bigserial not null", "bigint generated by default as identity"] {
        let cluster = adopted();
        let migrations = ["hibernate-1", "hibernate-2"].map(migration);
        let of_version = migrations.map(|sql| sql.replace("bigserial not null", key));
        assert_migrations_adopted(&cluster, of_version);
        insert(
            &cluster,
            "insert into users (name) values ('Ada') returning id",
            "insert into posts (author_id,editor_id,title) values (USER,USER,'Hello') returning id",
        );
    }
}

/// Hibernate: a reference of type `Long` is a `bigint` already, so that it can be added to a table with
/// rows.
#[test]
fn a_reference_that_hibernate_adds_to_a_table_with_rows_is_a_bigint() {
    let cluster = adopted();
    execute(&cluster, &migration("hibernate-1"));
    let rows = "WITH ada AS (INSERT INTO users (name) VALUES ('Ada') RETURNING id)
        INSERT INTO posts (title, author_id) SELECT 'Hello', id FROM ada";
    execute(&cluster, rows);
    assert_eq!(execute(&cluster, &migration("hibernate-2")), [""; 0]);
    assert_adopted(&cluster, SECOND);
    execute(&cluster, "UPDATE posts SET editor_id = author_id");
}

/// With `GenerationType.SEQUENCE`, which is Hibernate's choice for `@GeneratedValue` alone, keys have no
/// default, and Hibernate takes them from a sequence. They are left alone, and nothing is said of them.
#[test]
fn keys_that_hibernate_takes_from_sequences_are_left_alone() {
    let cluster = adopted();
    assert_eq!(execute(&cluster, &migration("hibernate-sequence")), [""; 0]);
    let defaults = "SELECT count(*) FROM information_schema.columns
        WHERE table_schema = 'public' AND column_name = 'id' AND column_default IS NULL";
    let mut client = cluster.connect();
    assert_eq!(bigint(&mut client, defaults), 2);
    assert_eq!(bigint(&mut client, "SELECT nextval('users_seq')"), 1);
    assert_eq!(bigint(&mut client, "SELECT nextval('users_seq')"), 51);
}

/// The columns of EF Core's keys and references, each with its type, and an asterisk for keys that are
/// snowflake IDs.
fn columns_of_ef_core(cluster: &Cluster) -> Vec<String> {
    const QUERY: &str = "
        SELECT format('%s.%s %s%s', table_name, column_name, data_type,
            CASE WHEN column_default = 'snowflake_nextval()' THEN ' *' END)
        FROM information_schema.columns
        WHERE table_schema = 'public' AND table_name <> '__EFMigrationsHistory'
            AND column_name LIKE '%Id'
        ORDER BY table_name COLLATE \"C\", column_name COLLATE \"C\"";
    let rows = cluster.connect().query(QUERY, &[]).expect("columns");
    rows.iter().map(|row| row.get(0)).collect()
}

/// The columns after EF Core's migrations, the second one included.
const OF_EF_CORE: [&str; 13] = [
    "PostTag.PostsId bigint",
    "PostTag.TagsId bigint",
    "comments.AuthorId bigint",
    "comments.Id bigint *",
    "comments.PostId bigint",
    "likes.Id bigint *",
    "likes.PostId bigint",
    "likes.UserId bigint",
    "posts.AuthorId bigint",
    "posts.EditorId bigint",
    "posts.Id bigint *",
    "tags.Id bigint *",
    "users.Id bigint *",
];

/// EF Core writes identity columns, whose names are quoted, and foreign keys within tables. A script
/// that is made with `--idempotent` consists of `DO` blocks.
#[test]
fn migrations_of_ef_core_are_adopted() {
    let cluster = adopted();
    assert_eq!(execute(&cluster, &migration("ef-core-1")), [""; 0]);
    let of_second = |column: &&str| column.starts_with("likes.") || column.contains("Editor");
    let of_first: Vec<&str> = OF_EF_CORE.into_iter().filter(|it| !of_second(it)).collect();
    assert_eq!(columns_of_ef_core(&cluster), of_first);
    assert_eq!(execute(&cluster, &migration("ef-core-2")), [""; 0]);
    assert_eq!(columns_of_ef_core(&cluster), OF_EF_CORE);
    assert_eq!(execute(&cluster, &migration("ef-core-2")), [""; 0], "a second time");
    insert(
        &cluster,
        r#"INSERT INTO users ("Name") VALUES ('Ada') RETURNING "Id""#,
        r#"INSERT INTO posts ("Title", "AuthorId", "EditorId") VALUES ('Hello', USER, USER)
           RETURNING "Id""#,
    );
}

/// EF Core: a reference of type `int` stays an integer.
#[test]
fn a_narrow_reference_that_ef_core_adds_is_mended_as_the_hint_says() {
    let rows = r#"WITH ada AS (INSERT INTO users ("Name") VALUES ('Ada') RETURNING "Id")
        INSERT INTO posts ("Title", "AuthorId") SELECT 'Hello', "Id" FROM ada"#;
    let second = migration("ef-core-2").replace("\"EditorId\" bigint", "\"EditorId\" integer");
    let update = r#"UPDATE posts SET "EditorId" = "AuthorId""#;
    let cluster = mended("ef-core-1", rows, &second, update);
    assert_eq!(columns_of_ef_core(&cluster), OF_EF_CORE);
}
