//! Columns that refer to keys that are converted.

use postgres::error::SqlState;
use snowflake_e2e::error_of;

use super::{column, listening, server, take};

#[test]
fn an_integer_that_refers_to_a_converted_key_becomes_bigint() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "CREATE TABLE users (id serial PRIMARY KEY, name text);
             INSERT INTO users (name) VALUES ('Ada');
             CREATE TABLE posts (id serial PRIMARY KEY, author_id integer NOT NULL REFERENCES users ON DELETE CASCADE);
             -- A tool that adds foreign keys afterwards.
             CREATE TABLE comments (id serial PRIMARY KEY, post_id integer NOT NULL, writer integer);
             ALTER TABLE comments ADD CONSTRAINT of_post FOREIGN KEY (post_id) REFERENCES posts (id)
                 DEFERRABLE INITIALLY DEFERRED;
             CREATE VIEW written AS SELECT post_id, writer FROM comments;
             ALTER TABLE comments ADD FOREIGN KEY (writer) REFERENCES users;
             -- By way of a key that is itself a reference, and of a table that refers to itself.
             CREATE TABLE editors (id integer PRIMARY KEY REFERENCES users);
             CREATE TABLE edits (editor smallint REFERENCES editors, id serial PRIMARY KEY,
                                 former integer REFERENCES edits);
             ALTER TABLE posts ADD COLUMN editor_id integer REFERENCES editors",
        )
        .expect("tables");
    for (table, name) in [
        ("posts", "author_id"),
        ("comments", "post_id"),
        ("comments", "writer"),
        ("written", "writer"),
        ("editors", "id"),
        ("edits", "editor"),
        ("edits", "former"),
        ("posts", "editor_id"),
    ] {
        assert_eq!(column(&mut client, table, name).0, "bigint", "{table}.{name}");
    }
    let constraints = "SELECT string_agg(pg_get_constraintdef(oid), '; ' ORDER BY conname) FROM pg_constraint
                       WHERE contype = 'f' AND conrelid IN ('comments'::regclass, 'posts'::regclass)";
    let constraints: String = client.query_one(constraints, &[]).expect("constraints").get(0);
    assert_eq!(
        constraints,
        "FOREIGN KEY (writer) REFERENCES users(id); \
         FOREIGN KEY (post_id) REFERENCES posts(id) DEFERRABLE INITIALLY DEFERRED; \
         FOREIGN KEY (author_id) REFERENCES users(id) ON DELETE CASCADE; \
         FOREIGN KEY (editor_id) REFERENCES editors(id)"
    );
    client
        .batch_execute(
            "INSERT INTO posts (author_id) SELECT id FROM users;
             INSERT INTO comments (post_id, writer) SELECT id, author_id FROM posts",
        )
        .expect("rows");
    assert_eq!(take(&heard), [""; 0]);
}

#[test]
fn where_rows_are_there_a_warning_says_that_inserts_will_fail() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "CREATE TABLE users (id bigserial PRIMARY KEY);
             CREATE TABLE old (user_id integer); INSERT INTO old VALUES (NULL);
             ALTER TABLE old ADD FOREIGN KEY (user_id) REFERENCES users",
        )
        .expect("tables");
    assert_eq!(column(&mut client, "old", "user_id").0, "integer");
    let said = take(&heard);
    assert_eq!(
        said,
        [
            "WARNING: column user_id of table blog.old cannot hold the snowflake IDs that it refers to \
          It is an integer, and the table has rows. An INSERT that refers to a new row of blog.users fails, \
          because the ID is out of range for an integer."
        ]
    );
    let insert = "WITH u AS (INSERT INTO users DEFAULT VALUES RETURNING id) INSERT INTO old SELECT id FROM u";
    let error = error_of(client.execute(insert, &[]));
    assert_eq!(error.code(), &SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    // Other changes of the table neither repeat the warning nor convert the column.
    client
        .batch_execute(
            "ALTER TABLE old ADD COLUMN name text; DELETE FROM old; ALTER TABLE old ADD COLUMN more text;
             INSERT INTO old VALUES (NULL)",
        )
        .expect("columns");
    assert_eq!(column(&mut client, "old", "user_id").0, "integer");
    assert_eq!(take(&heard), [""; 0]);
    // A new table that refers to the same key does not touch the old one.
    client.batch_execute("CREATE TABLE new (user_id integer REFERENCES users)").expect("a table");
    assert_eq!(column(&mut client, "new", "user_id").0, "bigint");
    assert_eq!(column(&mut client, "old", "user_id").0, "integer");
    assert_eq!(take(&heard), [""; 0]);
    // As the hint says.
    client
        .batch_execute(
            "SELECT * FROM snowflake_convert('users', 'id', validate => true, dry_run => false)",
        )
        .expect("converted");
    assert_eq!(column(&mut client, "old", "user_id").0, "bigint");
}

#[test]
fn a_reference_to_a_key_that_is_not_converted_stays() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "CREATE TABLE public.countries (id bigserial PRIMARY KEY);
             CREATE TABLE cities (id serial PRIMARY KEY, country integer REFERENCES public.countries)",
        )
        .expect("tables");
    assert_eq!(column(&mut client, "cities", "country").0, "integer");
    assert_eq!(take(&heard), [""; 0]);
}
