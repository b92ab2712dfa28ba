//! What is not adopted, and what is said of it.

use super::{assert_left, listening, server, take};

#[test]
fn what_has_no_new_key_is_left_alone_in_silence() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "CREATE TABLE public.elsewhere (id bigserial PRIMARY KEY);
             CREATE TEMPORARY TABLE temporary (id bigserial PRIMARY KEY);
             CREATE TABLE copied AS SELECT 1::bigint AS id;
             SELECT 1::bigint AS id INTO selected;
             CREATE TABLE own (id bigint PRIMARY KEY DEFAULT 7);
             CREATE TABLE none (id bigint PRIMARY KEY);
             CREATE TABLE uuids (id uuid PRIMARY KEY DEFAULT gen_random_uuid());
             CREATE TABLE other (id bigint PRIMARY KEY, number bigserial);
             CREATE TABLE included (id bigserial, key bigint, PRIMARY KEY (key) INCLUDE (id));
             CREATE TABLE shares (id bigserial PRIMARY KEY REFERENCES own);
             CREATE TABLE unnamed (id bigserial);
             CREATE TABLE renamed (id bigint PRIMARY KEY);
             ALTER TABLE renamed RENAME TO renamed_again;
             ALTER TABLE renamed_again ADD CHECK (id > 0), ALTER COLUMN id SET DEFAULT 3;
             ALTER TABLE renamed_again ADD COLUMN more bigserial, ALTER COLUMN more SET STATISTICS 50;
             CREATE TABLE unkeyed (id bigserial); ALTER TABLE unkeyed ADD PRIMARY KEY (id);
             CREATE TABLE public.moved (id bigserial PRIMARY KEY); ALTER TABLE public.moved SET SCHEMA blog",
        )
        .expect("tables");
    assert_left(&mut client, "public.elsewhere", "id", "bigint");
    assert_left(&mut client, "pg_temp.temporary", "id", "bigint");
    for table in [
        "copied", "selected", "own", "none", "other", "included", "shares", "unnamed", "unkeyed",
        "moved",
    ] {
        assert_left(&mut client, table, "id", "bigint");
    }
    assert_left(&mut client, "other", "number", "bigint");
    assert_left(&mut client, "renamed_again", "more", "bigint");
    assert_eq!(take(&heard), [""; 0]);
}

/// The application has declared these keys as narrow, so the rest of it might be as narrow.
#[test]
fn narrow_keys_stay_and_are_named_once_a_statement() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    let hint = "Declare keys as bigint, or convert the schema with snowflake_convert() when its migrations have run.";
    for (number, (key, of)) in [
        ("serial PRIMARY KEY", "integer"),
        ("smallserial PRIMARY KEY", "smallint"),
        ("integer GENERATED ALWAYS AS IDENTITY (START WITH 10) PRIMARY KEY", "integer"),
        ("serial, other integer, PRIMARY KEY (other, id)", "integer"),
    ]
    .into_iter()
    .enumerate()
    {
        client.batch_execute(&format!("CREATE TABLE t{number} (id {key})")).expect(key);
        assert_left(&mut client, &format!("t{number}"), "id", of);
        let said = format!(
            "NOTICE: not all new keys were converted to snowflake IDs Column id of table blog.t{number}: \
             it is of type {of}. {hint}"
        );
        assert_eq!(take(&heard), [said], "{key}");
        client.batch_execute(&format!("INSERT INTO t{number} VALUES (DEFAULT)")).ok();
    }
    client
        .batch_execute(
            "SET snowflake.adopted_schemas = '*';
             CREATE SCHEMA shop CREATE TABLE a (id serial PRIMARY KEY) CREATE TABLE b (id serial PRIMARY KEY)
                 CREATE TABLE c (id bigserial PRIMARY KEY)",
        )
        .expect("a schema");
    super::assert_adopted(&mut client, "shop.c", "id");
    let said = take(&heard);
    assert!(
        said.len() == 1
            && said[0].contains(
                "Column id of table shop.a: it is of type integer.\nColumn id of table shop.b"
            ),
        "{said:?}"
    );
}

#[test]
fn what_somebody_might_expect_otherwise_is_said_once_a_statement() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute("CREATE SEQUENCE shared; CREATE TABLE full_table (a integer); INSERT INTO full_table VALUES (1)")
        .expect("set up");
    let options = "its sequence has options of its own";
    for (table, columns, reason) in [
        (
            "one",
            "id bigint PRIMARY KEY DEFAULT nextval('shared')",
            "its default takes values of a sequence that it does not own",
        ),
        ("two", "id bigint GENERATED ALWAYS AS IDENTITY (START WITH 1000) PRIMARY KEY", options),
        ("three", "id bigint GENERATED ALWAYS AS IDENTITY (INCREMENT BY 2) PRIMARY KEY", options),
        ("four", "id bigint GENERATED ALWAYS AS IDENTITY (CACHE 5) PRIMARY KEY", options),
        ("five", "id bigserial PRIMARY KEY CHECK (id < 1000)", "something computes with it"),
        (
            "six",
            "id bigserial PRIMARY KEY CHECK (id % 2 = 0 OR id > 0)",
            "something computes with it",
        ),
        (
            "seven",
            "id bigserial PRIMARY KEY, other bigint DEFAULT nextval('seven_id_seq')",
            "another column uses its sequence",
        ),
        (
            "eight",
            "id bigserial PRIMARY KEY, square integer GENERATED ALWAYS AS (id * id) STORED",
            "something computes with it",
        ),
        (
            "nine",
            "id bigserial PRIMARY KEY, EXCLUDE USING btree ((id::integer) WITH =)",
            "something computes with it",
        ),
        (
            "ten",
            "id bigserial PRIMARY KEY, EXCLUDE USING btree (id WITH =, (id::integer) WITH =)",
            "something computes with it",
        ),
        (
            "eleven",
            "id bigserial PRIMARY KEY, other integer, EXCLUDE USING btree (other WITH =) WHERE (id < 5)",
            "something computes with it",
        ),
    ] {
        client.batch_execute(&format!("CREATE TABLE {table} ({columns})")).expect(columns);
        assert_left(&mut client, table, "id", "bigint");
        let start = format!(
            "NOTICE: not all new keys were converted to snowflake IDs Column id of table blog.{table}: {reason}. "
        );
        let said = take(&heard);
        assert!(
            said.len() == 1
                && said[0].starts_with(&start)
                && said[0].contains("snowflake_convert("),
            "{columns}: {said:?}"
        );
    }
    for (table, statement, reason) in [
        (
            "parts",
            "CREATE TABLE parts (id bigserial PRIMARY KEY) PARTITION BY RANGE (id)",
            "the table is partitioned by it",
        ),
        (
            "listed",
            "CREATE TABLE listed (id bigserial PRIMARY KEY) PARTITION BY LIST (id)",
            "the table is partitioned by it",
        ),
        (
            "full_table",
            "ALTER TABLE full_table ADD COLUMN id bigserial PRIMARY KEY",
            "the table has rows",
        ),
    ] {
        client.batch_execute(statement).expect(statement);
        assert_left(&mut client, table, "id", "bigint");
        let said = take(&heard);
        assert!(said.len() == 1 && said[0].contains(reason), "{said:?}");
    }
    // The rows of a child are rows of the table.
    client
        .batch_execute(
            "CREATE TABLE top (a integer); CREATE TABLE under () INHERITS (top); INSERT INTO under VALUES (1);
             ALTER TABLE top ADD COLUMN id bigserial PRIMARY KEY",
        )
        .expect("a column");
    assert_left(&mut client, "top", "id", "bigint");
    assert!(take(&heard)[0].contains("the table has rows"));
}

#[test]
fn a_restore_of_a_dump_keeps_the_keys_of_the_dump() {
    let (cluster, _client) = server();
    let (mut client, heard) = listening(&cluster);
    // As pg_dump writes them.
    client
        .batch_execute(
            "CREATE TABLE blog.old (id bigint NOT NULL, other bigint NOT NULL);
             CREATE SEQUENCE blog.old_id_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1;
             ALTER SEQUENCE blog.old_id_seq OWNED BY blog.old.id;
             ALTER TABLE ONLY blog.old ALTER COLUMN id SET DEFAULT nextval('blog.old_id_seq'::regclass);
             ALTER TABLE blog.old ALTER COLUMN other ADD GENERATED ALWAYS AS IDENTITY (
                 SEQUENCE NAME blog.old_other_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1);
             ALTER TABLE ONLY blog.old ADD CONSTRAINT old_pkey PRIMARY KEY (id)",
        )
        .expect("a table");
    assert_left(&mut client, "old", "id", "bigint");
    assert_eq!(take(&heard), [""; 0]);
}

#[test]
fn replicas_and_extensions_are_left_alone() {
    let (cluster, _client) = server();
    let extensions = cluster.programs().extensions();
    let write = |name: &str, text: &str| {
        std::fs::write(extensions.join(name), text).expect("a file of an extension");
    };
    write("with_a_table.control", "default_version = '1'\n");
    write("with_a_table--1.sql", "CREATE TABLE @extschema@.theirs (id bigserial PRIMARY KEY);\n");
    let (mut client, heard) = listening(&cluster);
    client
        .batch_execute(
            "CREATE EXTENSION with_a_table SCHEMA blog;
             SET session_replication_role = replica; CREATE TABLE one (id bigserial PRIMARY KEY, r integer REFERENCES one);
             RESET session_replication_role",
        )
        .expect("tables");
    assert_left(&mut client, "theirs", "id", "bigint");
    assert_left(&mut client, "one", "id", "bigint");
    assert_eq!(take(&heard), [""; 0]);
}
