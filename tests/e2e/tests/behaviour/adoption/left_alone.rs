//! What is not adopted, and what is said of it.

use snowflake_e2e::bigint;

use super::{assert_adopted, assert_left, listening, server, take};

#[test]
fn what_has_no_new_key_is_left_alone_in_silence() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "CREATE TABLE public.elsewhere (id serial PRIMARY KEY);
             CREATE TEMPORARY TABLE temporary (id serial PRIMARY KEY);
             CREATE TABLE copied AS SELECT 1 AS id;
             SELECT 1 AS id INTO selected;
             CREATE TABLE own (id integer PRIMARY KEY DEFAULT 7);
             CREATE TABLE none (id integer PRIMARY KEY);
             CREATE TABLE uuids (id uuid PRIMARY KEY DEFAULT gen_random_uuid());
             CREATE TABLE other (id integer PRIMARY KEY, number serial);
             CREATE TABLE renamed (id integer PRIMARY KEY);
             ALTER TABLE renamed RENAME TO renamed_again;
             ALTER TABLE renamed_again ADD CHECK (id > 0), ALTER COLUMN id SET DEFAULT 3",
        )
        .expect("tables");
    assert_left(&mut client, "public.elsewhere", "id", "integer");
    assert_left(&mut client, "pg_temp.temporary", "id", "integer");
    for table in ["copied", "selected", "own", "none", "other"] {
        assert_left(&mut client, table, "id", "integer");
    }
    assert_left(&mut client, "other", "number", "integer");
    assert_eq!(take(&heard), [""; 0]);
}

#[test]
fn what_somebody_might_expect_otherwise_is_said_once_a_statement() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client.batch_execute("CREATE SEQUENCE shared; CREATE TABLE full_table (a integer); INSERT INTO full_table VALUES (1)").expect("set up");
    for (statement, table, reason) in [
        (
            "CREATE TABLE one (id integer PRIMARY KEY DEFAULT nextval('shared'))",
            "one",
            "its default takes values of a sequence that it does not own",
        ),
        (
            "CREATE TABLE two (id integer GENERATED ALWAYS AS IDENTITY (START WITH 1000) PRIMARY KEY)",
            "two",
            "its sequence has options of its own",
        ),
        (
            "CREATE TABLE three (id integer GENERATED ALWAYS AS IDENTITY (INCREMENT BY 2) PRIMARY KEY)",
            "three",
            "its sequence has options of its own",
        ),
        (
            "ALTER TABLE full_table ADD COLUMN id serial PRIMARY KEY",
            "full_table",
            "the table has rows",
        ),
    ] {
        client.batch_execute(statement).expect(statement);
        assert_left(&mut client, table, "id", "integer");
        let said = format!(
            "NOTICE: not all new keys were converted to snowflake IDs Column id of table blog.{table}: {reason}."
        );
        assert_eq!(take(&heard), [said], "{statement}");
    }
    client
        .batch_execute(
            "SELECT snowflake_adopt('blog', 'all');
             CREATE TABLE four (id bigint GENERATED ALWAYS AS IDENTITY (CACHE 5) PRIMARY KEY,
                                other integer DEFAULT nextval('shared'))",
        )
        .expect("a table");
    let heard = take(&heard);
    assert!(
        heard.len() == 1 && heard[0].contains("Column id") && heard[0].contains("\nColumn other"),
        "{heard:?}"
    );
}

/// What computes with a key might be created with small numbers in mind, and inserts of larger ones
/// would then fail.
#[test]
fn keys_that_something_computes_with_stay() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    for (statement, table, reason) in [
        (
            "CREATE TABLE parts (id bigserial PRIMARY KEY) PARTITION BY RANGE (id)",
            "parts",
            "the table is partitioned by it",
        ),
        (
            "CREATE TABLE squares (id bigserial PRIMARY KEY, square integer GENERATED ALWAYS AS (id * id) STORED)",
            "squares",
            "a generated column is computed from it",
        ),
        (
            "CREATE TABLE numbers (id bigserial, EXCLUDE USING btree ((id::integer) WITH =)); \
             ALTER TABLE numbers ADD COLUMN other bigserial, ADD EXCLUDE USING btree ((other::integer) WITH =)",
            "numbers",
            "an index computes with it",
        ),
        (
            "CREATE TABLE twice (id bigserial, EXCLUDE USING btree (id WITH =, (id::integer) WITH =))",
            "twice",
            "an index computes with it",
        ),
    ] {
        client.batch_execute("SELECT snowflake_adopt('blog', 'all')").expect("adopted");
        client.batch_execute(statement).expect(statement);
        let said = take(&heard);
        assert!(
            !said.is_empty() && said.iter().all(|one| one.contains(reason)),
            "{statement}: {said:?}"
        );
        if table != "parts" {
            client.batch_execute(&format!("INSERT INTO {table} DEFAULT VALUES")).expect("a row");
        }
    }
    client
        .batch_execute(
            "CREATE TABLE part PARTITION OF parts FOR VALUES FROM (1) TO (1000);
             INSERT INTO parts DEFAULT VALUES;
             CREATE TABLE hashed (id bigserial PRIMARY KEY) PARTITION BY HASH (id)",
        )
        .expect("a row");
    assert_adopted(&mut client, "hashed", "id");
}

#[test]
fn a_column_that_was_there_is_left_alone() {
    let (cluster, mut client) = server();
    client
        .batch_execute(
            "SELECT snowflake_disown('blog'); CREATE TABLE blog.old (id serial PRIMARY KEY);
             SELECT snowflake_adopt('blog')",
        )
        .expect("a table");
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "ALTER TABLE old ADD COLUMN IF NOT EXISTS id serial, ADD COLUMN name text,
                 ALTER COLUMN id SET STATISTICS 50",
        )
        .expect("a column");
    assert_left(&mut client, "old", "id", "integer");
    let heard = take(&heard);
    assert!(heard.len() == 1 && heard[0].contains("already exists, skipping"), "{heard:?}");
}

#[test]
fn a_sequence_that_others_use_stays() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    // The second table is made by the same statement, and takes values of the first one's sequence.
    client
        .batch_execute(
            "CREATE TABLE one (a integer);
             ALTER TABLE one ADD COLUMN id serial PRIMARY KEY,
                 ADD COLUMN other integer DEFAULT nextval('blog.one_id_seq')",
        )
        .expect("a table");
    assert_left(&mut client, "one", "id", "integer");
    let heard = take(&heard);
    assert!(heard.len() == 1 && heard[0].contains("other objects use its sequence"), "{heard:?}");
}

#[test]
fn a_restore_of_a_dump_keeps_the_keys_of_the_dump() {
    let (_cluster, mut client) = server();
    // As pg_dump writes them.
    client
        .batch_execute(
            "CREATE TABLE blog.old (id integer NOT NULL, other integer NOT NULL);
             CREATE SEQUENCE blog.old_id_seq AS integer START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1;
             ALTER SEQUENCE blog.old_id_seq OWNED BY blog.old.id;
             ALTER TABLE ONLY blog.old ALTER COLUMN id SET DEFAULT nextval('blog.old_id_seq'::regclass);
             ALTER TABLE blog.old ALTER COLUMN other ADD GENERATED ALWAYS AS IDENTITY (
                 SEQUENCE NAME blog.old_other_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1);
             ALTER TABLE ONLY blog.old ADD CONSTRAINT old_pkey PRIMARY KEY (id)",
        )
        .expect("a table");
    assert_left(&mut client, "old", "id", "integer");
}

#[test]
fn replicas_and_extensions_are_left_alone() {
    let (cluster, mut client) = server();
    let extensions = cluster.programs().extensions();
    let write = |name: &str, text: &str| {
        std::fs::write(extensions.join(name), text).expect("a file of an extension");
    };
    write("with_a_table.control", "default_version = '1'\n");
    write("with_a_table--1.sql", "CREATE TABLE @extschema@.theirs (id serial PRIMARY KEY);\n");
    client
        .batch_execute(
            "CREATE EXTENSION with_a_table SCHEMA blog;
             SET session_replication_role = replica; CREATE TABLE one (id serial PRIMARY KEY);
             RESET session_replication_role",
        )
        .expect("tables");
    assert_left(&mut client, "theirs", "id", "integer");
    assert_left(&mut client, "one", "id", "integer");
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM snowflake_adopted"), 1);
}
