//! What stands in the way of a conversion is refused, with what to do about it, before anything is
//! changed.

use postgres::error::SqlState;
use snowflake_e2e::{Cluster, bigint, error_of};

/// One obstacle: the tables, the arguments of the call, and the error.
struct Obstacle {
    tables: &'static str,
    arguments: &'static str,
    sqlstate: SqlState,
    message: &'static str,
    /// What the detail and the hint contain.
    detail: &'static str,
    hint: &'static str,
}

const OBSTACLES: [Obstacle; 14] = [
    Obstacle {
        tables: "CREATE TABLE artist (id serial PRIMARY KEY);
            CREATE TABLE meta (id serial PRIMARY KEY REFERENCES artist);",
        arguments: "'meta', 'id'",
        sqlstate: SqlState::INVALID_TABLE_DEFINITION,
        message: "column id of table public.meta refers to table public.artist",
        detail: "By foreign key meta_id_fkey, its values are those of that table.",
        hint: "Convert the key of public.artist: this column then becomes bigint too.",
    },
    Obstacle {
        tables: "CREATE TABLE film (id serial PRIMARY KEY CONSTRAINT small CHECK (id < 1000000));",
        arguments: "'film'",
        sqlstate: SqlState::CHECK_VIOLATION,
        message: "no row with the next ID could be inserted into table public.film",
        detail: "does not satisfy check constraint small.",
        hint: "Drop the constraint, or change it.",
    },
    Obstacle {
        tables: "CREATE TABLE film (id bigserial PRIMARY KEY) PARTITION BY RANGE (id);
            CREATE TABLE part PARTITION OF film FOR VALUES FROM (0) TO (1000000);",
        arguments: "'film'",
        sqlstate: SqlState::CHECK_VIOLATION,
        message: "no row with the next ID could be inserted into table public.film",
        detail: "belongs to none of its partitions.",
        hint: "Add a partition for it, or a default partition.",
    },
    Obstacle {
        tables: "CREATE TABLE film (id serial PRIMARY KEY) PARTITION BY RANGE (id);
            CREATE TABLE part PARTITION OF film DEFAULT;",
        arguments: "'film', dependents => 'recreate'",
        sqlstate: SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        message: "cannot change the type of column id of table public.film",
        detail: "the partition key of public.film",
        hint: "",
    },
    Obstacle {
        tables: "CREATE TABLE film (id serial PRIMARY KEY);
            CREATE VIEW films AS SELECT id FROM film;
            ALTER EXTENSION snowflake ADD VIEW films;",
        arguments: "'film', dependents => 'recreate'",
        sqlstate: SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        message: "cannot drop view public.films",
        detail: "Extension snowflake needs it.",
        hint: "",
    },
    Obstacle {
        tables: "CREATE TABLE film (id serial PRIMARY KEY);
            CREATE TABLE past (films film[]);",
        arguments: "'film', dependents => 'recreate'",
        sqlstate: SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        message: "cannot change the type of column id of table public.film",
        detail: "column films of table public.past",
        hint: "Drop that, convert the column, and create it again.",
    },
    Obstacle {
        tables: "CREATE TABLE film (
                id serial PRIMARY KEY,
                twice int GENERATED ALWAYS AS (id * 2) STORED
            );",
        arguments: "'film', dependents => 'recreate'",
        sqlstate: SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        message: "cannot change the type of column id of table public.film",
        detail: "column twice of table public.film",
        hint: "Drop that, convert the column, and create it again.",
    },
    Obstacle {
        tables: "CREATE TABLE film (id serial PRIMARY KEY, title text);
            CREATE PUBLICATION news FOR TABLE film (id);",
        arguments: "'film', dependents => 'recreate'",
        sqlstate: SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        message: "cannot change the type of column id of table public.film",
        detail: "publication of table public.film in publication news",
        hint: "Drop that, convert the column, and create it again.",
    },
    Obstacle {
        tables: "CREATE TABLE film (id serial PRIMARY KEY, title text);
            CREATE PUBLICATION news FOR TABLE film WHERE (id > 7);",
        arguments: "'film', dependents => 'recreate'",
        sqlstate: SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        message: "cannot change the type of column id of table public.film",
        detail: "publication of table public.film in publication news",
        hint: "Drop that, convert the column, and create it again.",
    },
    Obstacle {
        tables: "CREATE TABLE film (id serial PRIMARY KEY);
            CREATE FUNCTION twice(film) RETURNS int LANGUAGE sql IMMUTABLE
                BEGIN ATOMIC SELECT $1.id * 2; END;
            CREATE INDEX by_twice ON film (twice(film));",
        arguments: "'film', dependents => 'recreate'",
        sqlstate: SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        message: "cannot change the type of column id of table public.film",
        detail: "index public.by_twice",
        hint: "Drop that, convert the column, and create it again.",
    },
    Obstacle {
        tables: "CREATE TABLE film (id serial PRIMARY KEY);
            CREATE TABLE sequel () INHERITS (film);",
        arguments: "'sequel', 'id'",
        sqlstate: SqlState::INVALID_TABLE_DEFINITION,
        message: "column id of table public.sequel is inherited",
        detail: "The table has it from public.film.",
        hint: "Name that table instead.",
    },
    Obstacle {
        tables: "CREATE TABLE film (code text);",
        arguments: "'film', 'code'",
        sqlstate: SqlState::DATATYPE_MISMATCH,
        message: "column code of table public.film has type text",
        detail: "",
        hint: "",
    },
    Obstacle {
        tables: "CREATE TABLE film (code text);",
        arguments: "'film', 'id'",
        sqlstate: SqlState::UNDEFINED_COLUMN,
        message: "column id of table public.film does not exist",
        detail: "",
        hint: "",
    },
    Obstacle {
        tables: "CREATE TABLE film (code text);",
        arguments: "'film'",
        sqlstate: SqlState::UNDEFINED_OBJECT,
        message: "table public.film has no keys that take values of a sequence",
        detail: "",
        hint: "Name a column to convert, or the table that its foreign keys refer to.",
    },
];

#[test]
fn each_obstacle_is_refused() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    for obstacle in &OBSTACLES {
        client.batch_execute("BEGIN").expect("begun");
        client
            .batch_execute(obstacle.tables)
            .unwrap_or_else(|error| panic!("{}: {error:?}", obstacle.tables));
        for way in ["dry_run => true", "dry_run => false", "rehearse => true"] {
            let call = format!("SELECT snowflake_convert({}, {way})", obstacle.arguments);
            client.batch_execute("SAVEPOINT before").expect("a savepoint");
            let error = error_of(client.query(&call, &[]));
            client.batch_execute("ROLLBACK TO before").expect("rolled back");
            let case = format!("{} {call}: {error:?}", obstacle.tables);
            assert_eq!(error.code(), &obstacle.sqlstate, "{case}");
            assert_eq!(error.message(), obstacle.message, "{case}");
            assert!(error.detail().unwrap_or_default().contains(obstacle.detail), "{case}");
            assert!(error.hint().unwrap_or_default().contains(obstacle.hint), "{case}");
        }
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

/// A child's not-null constraint has a name of its own. PostgreSQL 18 cannot change the type of such
/// a column; earlier versions do not name not-null constraints. After what the hint says, the
/// conversion works.
#[test]
fn a_child_with_a_not_null_constraint_of_another_name_is_an_obstacle() {
    let trees = [
        "CREATE TABLE film (id serial PRIMARY KEY, title text NOT NULL);
         CREATE TABLE sequel (PRIMARY KEY (id)) INHERITS (film);
         CREATE TABLE \"Part 3\" (PRIMARY KEY (id)) INHERITS (sequel)",
        "CREATE TABLE film (id serial, year int, PRIMARY KEY (id, year)) PARTITION BY LIST (year);
         CREATE TABLE past PARTITION OF film (id CONSTRAINT numbered NOT NULL) DEFAULT",
        "CREATE TABLE film (id serial PRIMARY KEY);
         CREATE TABLE review (film int NOT NULL REFERENCES film);
         CREATE TABLE blurb (film int CONSTRAINT \"Of film\" NOT NULL) INHERITS (review)",
    ];
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    for tree in trees {
        client.batch_execute(&format!("BEGIN; {tree}")).unwrap_or_else(|error| panic!("{error:?}"));
        let convert = "SELECT snowflake_convert('film', dry_run => false)";
        let mut refused = 0;
        loop {
            client.batch_execute("SAVEPOINT before").expect("a savepoint");
            let Err(error) = client.query(convert, &[]) else { break };
            let error = error.as_db_error().expect("an error of the server");
            assert_eq!(error.code(), &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error:?}");
            assert!(error.message().starts_with("cannot change the type of column"), "{error:?}");
            client.batch_execute("ROLLBACK TO before").expect("rolled back");
            let hint = error.hint().expect("a hint");
            let first = hint.strip_prefix("First run ").expect("statements").trim_end_matches('.');
            client.batch_execute(first).unwrap_or_else(|error| panic!("{first}: {error:?}"));
            refused += 1;
            assert!(refused < 4, "{hint}");
        }
        assert_eq!(refused > 0, cluster.programs().major() >= 18, "{tree}");
        let smaller = "SELECT count(*) FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid \
            WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') \
            AND attname IN ('id', 'film') AND atttypid <> 'bigint'::regtype";
        assert_eq!(bigint(&mut client, smaller), 0, "{tree}");
        client.batch_execute("ROLLBACK").expect("rolled back");
    }
}

/// The report says the same as the error, and does not stop at the first obstacle.
#[test]
fn a_report_has_all_obstacles() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client
        .batch_execute(
            "CREATE TABLE film (id serial PRIMARY KEY CONSTRAINT small CHECK (id < 1000000));
             CREATE TABLE past (films film[]);
             CREATE TABLE artist (id serial PRIMARY KEY);
             CREATE VIEW artists AS SELECT id FROM artist;
             ALTER EXTENSION snowflake ADD VIEW artists;",
        )
        .expect("tables");
    let query = "SELECT object, concat(reason, ' ', remedy)
        FROM snowflake_convert_report(schema => 'public') WHERE kind = 'obstacle'";
    let rows = client.query(query, &[]).expect("a report");
    let found: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    for (object, reason) in [
        ("public.film", "check constraint small"),
        ("public.film", "column films of table public.past"),
        ("public.artists", "Extension snowflake needs it."),
    ] {
        let is_it =
            |finding: &&(String, String)| finding.0.contains(object) && finding.1.contains(reason);
        assert_eq!(found.iter().filter(is_it).count(), 1, "{object}, {reason}: {found:#?}");
    }
}

#[test]
fn wrong_arguments_are_refused() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client.batch_execute("CREATE TABLE film (id serial PRIMARY KEY)").expect("a table");
    for (arguments, message) in [
        ("", "exactly one of relation and schema must be given"),
        ("'film', schema => 'public'", "exactly one of relation and schema must be given"),
        ("column_name => 'id'", "exactly one of relation and schema must be given"),
        ("column_name => 'id', schema => 'public'", "column_name needs a relation"),
        (
            "'film', dependents => 'cascade'",
            "invalid value for argument \"dependents\": \"cascade\"",
        ),
        (
            "'film', rehearse => true, dry_run => false",
            "rehearse => true and dry_run => false cannot be used together",
        ),
    ] {
        let error = error_of(client.query(&format!("SELECT snowflake_convert({arguments})"), &[]));
        assert_eq!(error.code(), &SqlState::INVALID_PARAMETER_VALUE, "{arguments}: {error}");
        assert_eq!(error.message(), message, "{arguments}");
        assert!(error.hint().is_some(), "{arguments}");
    }
    for arguments in ["", "'film', schema => 'public'"] {
        let query = format!("SELECT snowflake_convert_report({arguments})");
        let error = error_of(client.query(&query, &[]));
        assert_eq!(error.code(), &SqlState::INVALID_PARAMETER_VALUE, "{arguments}: {error}");
    }
}

/// As many tables as the lock table has no room for. What the hint says is enough, and the room that
/// the detail names is there.
#[test]
fn too_many_locks_are_foreseen() {
    const TABLES: i64 = 100;
    let mut cluster = Cluster::builder()
        .with_conversion()
        .set("max_locks_per_transaction", "10")
        .set("max_connections", "20")
        .start();
    let mut client = cluster.connect();
    for number in 0..TABLES {
        client
            .batch_execute(&format!(
                "CREATE TABLE film_{number} (id serial PRIMARY KEY, title text UNIQUE);
                 CREATE TABLE review_{number} (film_id int REFERENCES film_{number}, text text);
                 CREATE VIEW list_{number} AS SELECT id FROM film_{number};"
            ))
            .expect("tables");
    }
    let convert = |more| {
        format!("SELECT snowflake_convert(schema => 'public', dependents => 'recreate'{more})")
    };
    let (mut detail, mut hint) = (String::new(), String::new());
    for more in ["", ", dry_run => false", ", rehearse => true"] {
        let error = error_of(client.query(&convert(more), &[]));
        assert_eq!(error.code(), &SqlState::CONFIGURATION_LIMIT_EXCEEDED, "{error}");
        detail = error.detail().unwrap_or_default().to_owned();
        hint = error.hint().unwrap_or_default().to_owned();
    }
    let room = detail.split("room for ").nth(1).and_then(|rest| rest.strip_suffix('.'));
    let room = room.unwrap_or_else(|| panic!("the detail names the room: {detail}"));
    let locks = format!("SELECT pg_advisory_xact_lock(n) FROM generate_series(1, {room}) AS n");
    client.batch_execute(&locks).expect("locks");
    let size = hint
        .strip_prefix("Set max_locks_per_transaction to ")
        .and_then(|rest| rest.split(' ').next())
        .unwrap_or_else(|| panic!("the hint names a number: {hint}"));
    assert!(size.parse::<i64>().is_ok_and(|size| size > 10), "{hint}");
    drop(client);
    cluster.stop();
    cluster.configure(&[("max_locks_per_transaction", size)]);
    cluster.start_again();
    let mut client = cluster.connect();
    client.batch_execute("BEGIN").expect("begun");
    client.query(&convert(", dry_run => false"), &[]).expect("converted");
    let held = bigint(&mut client, "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()");
    client.batch_execute("COMMIT").expect("committed");
    let foreseen = detail.strip_prefix("They take about ").and_then(|rest| rest.split(' ').next());
    let foreseen: i64 = foreseen.and_then(|number| number.parse().ok()).expect("a number of locks");
    assert!(held <= foreseen && foreseen < 2 * held, "{held} locks were taken: {detail}");
    let keys = "SELECT count(*) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relkind = 'r' AND relname ~ '_[0-9]+$' AND atttypid = 'bigint'::regtype";
    assert_eq!(bigint(&mut client, keys), 2 * TABLES, "columns that are bigint now");
}
