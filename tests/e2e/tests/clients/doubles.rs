//! Clients that read numbers as doubles, which have 53 bits for the digits: pandas where some
//! values are NULL, and R. (JavaScript has a file of its own.)

use snowflake_e2e::bigint;

use crate::program::{Program, row};

/// Orders, and cups that refer to four of them and to none. The IDs of these four, rounded to what
/// a double holds, are those of other orders.
const CUPS: &str = "
    CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text);
    CREATE TABLE cups (
        id bigint PRIMARY KEY DEFAULT snowflake_nextval(),
        order_id bigint REFERENCES orders
    );
    INSERT INTO orders (item) SELECT 'tea' FROM generate_series(1, 4000);
    INSERT INTO cups (order_id) (
        SELECT o.id FROM orders AS o JOIN orders AS other ON other.id = o.id::float8::bigint
        WHERE other.id <> o.id ORDER BY o.id LIMIT 4
    ) UNION ALL SELECT NULL;
    CREATE TABLE copies (id bigint, order_id bigint)";

/// The numbers of copies that refer to the same order as the cup, to another one that exists, and
/// to none.
const COPIES: &str = "
    SELECT format(
        '%s %s %s', count(*) FILTER (WHERE copies.order_id = cups.order_id),
        count(*) FILTER (WHERE copies.order_id <> cups.order_id AND EXISTS (
            SELECT FROM orders WHERE orders.id = copies.order_id)),
        count(*) FILTER (WHERE copies.order_id IS NULL)
    )
    FROM copies JOIN cups USING (id)";

const PRELUDE: &str = "import io, pandas, polars
from sqlalchemy import create_engine, text
engine = create_engine('postgresql+psycopg://')
cups = 'SELECT id, order_id FROM cups'
";

/// A column of IDs in which some are NULL is one of doubles for pandas, and what it writes refers
/// to other orders, which exist.
#[test]
fn pandas_rounds_nullable_references() {
    const WRITE: &str = "
print(frame.order_id.dtype)
frame.to_sql('copies', engine, if_exists='append', index=False)";
    const POLARS: &str = "frame = polars.read_database(cups, engine)
print(frame.schema['order_id'])
with engine.begin() as connection:
    insert = text('INSERT INTO copies VALUES (:id, :order_id)')
    connection.execute(insert, frame.to_dicts())";
    let program = Program::of("pandas");
    program.sql(CUPS);
    for (read, of_type, became) in [
        ("frame = pandas.read_sql(cups, engine)", "float64", "0 4 1"),
        ("frame = pandas.read_sql(cups, engine, dtype_backend='numpy_nullable')", "Int64", "4 0 1"),
        (POLARS, "Int64", "4 0 1"),
    ] {
        program.sql("TRUNCATE copies");
        let write = if read == POLARS { "" } else { WRITE };
        let printed = program.eval("python -c", &[PRELUDE, read, write].concat());
        assert_eq!(printed.trim_end(), of_type, "{read}");
        let copies = program.cluster.connect().query_one(COPIES, &[]).expect("copies");
        assert_eq!(copies.get::<_, &str>(0), became, "{read}");
    }
}

/// Frames that are joined in pandas have the same fault: the rows without a partner make the column
/// one of doubles. So does a file of CSV with an empty field. JSON is rounded even with
/// `dtype_backend`, because pandas parses it as doubles first.
#[test]
fn pandas_rounds_what_it_joins_and_parses() {
    const PARSE: &str = r#"
cups = pandas.read_sql(cups + " WHERE order_id IS NOT NULL", engine).rename(columns={"id": "cup"})
orders = pandas.read_sql("SELECT id FROM orders", engine)
print(orders.merge(cups, how="left", left_on="id", right_on="order_id").cup.dtype)
nullable = [frame.convert_dtypes() for frame in [orders, cups]]
print(nullable[0].merge(nullable[1], how="left", left_on="id", right_on="order_id").cup.dtype)

lines = "id,order_id\n2125623701600374784,2125623701600374785\n2125623701600374787,\n"
print(pandas.read_csv(io.StringIO(lines)).order_id.dtype)
print(pandas.read_csv(io.StringIO(lines), dtype_backend="numpy_nullable").order_id[0])
lines = '[{"order_id": 2125623701600374785}, {"order_id": null}]'
print(pandas.read_json(io.StringIO(lines), dtype_backend="numpy_nullable").order_id[0])
"#;
    let program = Program::of("pandas");
    program.sql(CUPS);
    let printed = program.eval("python -c", &[PRELUDE, PARSE].concat());
    let expected = "float64\nInt64\nfloat64\n2125623701600374785\n2125623701600374784\n";
    assert_eq!(printed, expected);
}

/// R has no integers of 64 bits, so RPostgreSQL gives doubles, of which three are equal here. IDs
/// of different milliseconds would not be, and an INSERT can begin in one and end in the next.
#[test]
fn r_reads_doubles() {
    let program = Program::of("r");
    let mut client = program.cluster.connect();
    let milliseconds = "SELECT count(DISTINCT snowflake_timestamp(id)) FROM orders";
    program.create_orders();
    let mut of_one_millisecond = || {
        program.sql("TRUNCATE orders");
        let printed = program.run("Rscript orders.R");
        (bigint(&mut client, milliseconds) == 1).then_some(printed)
    };
    let printed = (0..20).find_map(|_| of_one_millisecond()).expect("IDs of one millisecond");
    let (ids, doubles) = printed.split_once("numeric ").expect("a class");
    assert_eq!(program.assert_orders(ids), 3);
    let first = row(ids.lines().next().expect("an order")).expect("an ID").1;
    let distinct = "SELECT count(DISTINCT id::double precision) FROM orders";
    assert_eq!(bigint(&mut client, distinct), 1);
    assert_eq!(doubles.trim_end(), format!("{first} {first} {first}"));
}
