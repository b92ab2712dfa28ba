//! PostgreSQL creates the indexes of a column again when it changes its type. What it does not give
//! them then, a conversion does.

use snowflake_e2e::{Cluster, output};

/// Without an integer but the key.
const SCHEMA: &str = "
    CREATE SEQUENCE numbers;
    CREATE TABLE film (id integer PRIMARY KEY DEFAULT nextval('numbers'), title text);
    CREATE INDEX twice ON film ((id * 2), title);
    ALTER INDEX twice ALTER COLUMN 1 SET STATISTICS 55;
    CREATE STATISTICS \"Of film\" ON id, title FROM film;
    ALTER STATISTICS \"Of film\" SET STATISTICS 33;

    CREATE TABLE rental (
        id integer DEFAULT nextval('numbers'), day date NOT NULL,
        CONSTRAINT \"The key\" PRIMARY KEY (id, day) WITH (fillfactor = 60)
    ) PARTITION BY RANGE (day);
    CREATE TABLE rental_2025 PARTITION OF rental FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
    CREATE TABLE rental_2026 PARTITION OF rental FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')
        PARTITION BY RANGE (day);
    CREATE TABLE rental_may PARTITION OF rental_2026 FOR VALUES FROM ('2026-05-01') TO ('2026-06-01');
    CREATE TABLE \"Rest\" PARTITION OF rental_2026 DEFAULT;
    CREATE INDEX by_id ON rental (id, (id * 2));
    -- Names that PostgreSQL would give to others.
    ALTER INDEX rental_2025_pkey RENAME TO \"Key of 2025\";
    ALTER INDEX rental_2026_pkey RENAME TO rental_2025_pkey;
    ALTER INDEX rental_may_pkey RENAME TO rental_2026_pkey;
    ALTER INDEX rental_may_id_expr_idx RENAME TO may;
    ALTER INDEX \"Rest_id_expr_idx\" RENAME TO rental_may_id_expr_idx;
    ALTER INDEX may ALTER COLUMN 2 SET STATISTICS 77;
    ALTER INDEX may SET (fillfactor = 50, deduplicate_items = off);
    COMMENT ON INDEX may IS 'of may';
    COMMENT ON INDEX \"Key of 2025\" IS 'the index';
    COMMENT ON CONSTRAINT \"Key of 2025\" ON rental_2025 IS 'the constraint';
    ALTER TABLE rental_2025 CLUSTER ON \"Key of 2025\";
    ALTER TABLE rental_2025 REPLICA IDENTITY USING INDEX \"Key of 2025\";";

#[test]
fn nothing_of_an_index_is_lost() {
    let cluster = Cluster::start_with_conversion();
    let mut client = cluster.connect();
    client.batch_execute(SCHEMA).unwrap_or_else(|error| panic!("{error:?}"));
    let dump = || -> Vec<String> {
        let text = output(cluster.client_program("pg_dump").arg("--schema-only"));
        text.lines().filter(|line| !line.contains("restrict ")).map(str::to_owned).collect()
    };
    let before: Vec<String> =
        dump().into_iter().map(|line| line.replace("integer", "bigint")).collect();
    client
        .batch_execute(
            "CREATE TEMP TABLE steps AS SELECT row_number() OVER () AS number, *
                 FROM snowflake_convert(schema => 'public', dry_run => false);
             INSERT INTO rental (day) VALUES ('2025-02-03'), ('2026-05-06');
             SELECT snowflake_convert_execute(array_agg(statement ORDER BY number), 'postgres')
             FROM steps WHERE step = 'revert'",
        )
        .unwrap_or_else(|error| panic!("{error:?}"));
    let after = dump();
    let lost: Vec<_> = before.iter().filter(|line| !after.contains(line)).collect();
    let more: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
    assert_eq!(before, after, "no {lost:#?}, but {more:#?}");
}
