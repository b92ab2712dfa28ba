//! Programs that insert orders and print each as `item ID`, as the page of the clients shows it.

use crate::program::{Program, row};

/// A client, and the command that runs its program; how many orders it inserts, with how many
/// statements; and an expression for all else that it prints, of `tea`, the ID of the first order,
/// `ms`, its time in milliseconds of Unix time, and `last`, the greatest ID.
type Case = (&'static str, &'static str, usize, usize, &'static str);

/// The clients whose programs create the table.
const CREATE: [&str; 6] = ["sqlalchemy", "pandas", "activerecord", "gorm", "doctrine", "doctrine2"];

const NO_MORE: &str = "''";
const TIME: &str = "'issued at ' || ms";

/// The output of node-postgres for an ID: a string, the number that is nearest to it, and what
/// `snowflake_json()` returns, with the ID as a string.
const NODE_POSTGRES: &str = r#"
    format(E'string %s as a number: %s\n%s', tea, tea::float8::text::numeric,
        regexp_replace(snowflake_json(tea)::text, '([:,]) ', '\1', 'g'))"#;

const PRISMA: &str = "format(E'bigint { id: %sn, item: ''tea'' }\n3 orders since an hour', tea)";

const CASES: [Case; 16] = [
    // With RETURNING, of many rows, and by COPY.
    ("psycopg", "python orders.py", 1003, 3, "E'int\nissued at ' || ms"),
    // A flush sends a statement for each row, and a bulk insert one for 1,000 rows.
    ("sqlalchemy", "python orders.py", 1004, 3 + 1 + 1, NO_MORE),
    ("pandas", "python orders.py", 4, 4, "E'Int64 Int64\nInt64 Int64'"),
    ("activerecord", "ruby orders.rb", 3, 2, NO_MORE),
    ("node-postgres", "node orders.js", 3, 3, NODE_POSTGRES),
    ("prisma", "node orders.js", 3, 2, PRISMA),
    // Rows with IDs that were taken first are copied, as with sqlc, whose statements begin with a
    // comment and are not counted.
    ("pgx", "orders", 3, 1, TIME),
    ("sqlc", "orders", 3, 0, TIME),
    // One row, two rows, three batches, and the row whose ID was taken first.
    ("gorm", "orders", 254, 6, NO_MORE),
    ("rust-postgres", "orders-postgres", 3, 2, TIME),
    ("sqlx", "orders-sqlx", 3, 3, "'newest: sugar, ' || last"),
    ("diesel", "orders-diesel", 3, 1, NO_MORE),
    ("pdo", "php orders.php", 4, 3, r#"format(E'integer\n{"id":"%s"}', last)"#),
    // In two versions.
    ("doctrine", "php orders.php", 3, 3, NO_MORE),
    ("doctrine2", "php orders.php", 3, 3, NO_MORE),
    ("dbd-pg", "perl orders.pl", 3, 3, NO_MORE),
];

/// Each client reads the IDs that the server issued, in the type that the page names. Where the
/// page says how the client creates the table, it has the default.
#[test]
fn clients_read_the_ids_of_the_server() {
    for (client, command, rows, statements, more) in CASES {
        println!("{client}");
        let program = Program::with(client, client.trim_end_matches('2'));
        if client == "activerecord" {
            // The migration creates the extension, too.
            program.sql("DROP EXTENSION snowflake");
        } else if !CREATE.contains(&client) {
            program.create_orders();
        }
        let printed = program.run(command);
        assert_eq!(program.assert_orders(&printed), rows, "{client}");
        assert_eq!(program.inserts("orders"), statements, "{client}");
        let others: Vec<&str> = printed.lines().filter(|line| row(line).is_none()).collect();
        let query = format!(
            "SELECT {more} FROM (SELECT min(id) AS tea, max(id) AS last,
                 (snowflake_json(min(id)) ->> 'unix_ms') AS ms FROM orders) AS orders"
        );
        let expected: String =
            program.cluster.connect().query_one(&query, &[]).expect("a text").get(0);
        assert_eq!(others.join("\n"), expected, "{client}");
        program.sql("INSERT INTO orders (item) VALUES ('by the default')");
    }
}

/// `AutoMigrate()` of GORM finds nothing to change in the table that it created.
#[test]
fn gorm_migrates_once() {
    let program = Program::of("gorm");
    let printed: String = (0..2).map(|_| program.run("orders")).collect();
    program.assert_orders(&printed);
    let log = program.cluster.log();
    assert!(!log.contains("ALTER TABLE"), "{log}");
}

/// In Rails, keys and references are strings in JSON, also those of records that others include.
#[test]
fn activerecord_writes_ids_as_strings() {
    let program = Program::of("activerecord");
    program.run("ruby orders.rb");
    program.sql(
        "TRUNCATE orders; CREATE TABLE lines (id serial PRIMARY KEY, amount integer,
         order_id bigint REFERENCES orders)",
    );
    let printed = program.eval(
        "ruby -e",
        "require 'active_record'
         require 'active_support/all'
         ActiveRecord::Base.establish_connection(adapter: 'postgresql')
         require './application_record'
         class Order < ApplicationRecord; has_many :lines; end
         class Line < ApplicationRecord; belongs_to :order, optional: true; end
         order = Order.create!(item: 'tea')
         order.lines.create!(amount: 2)
         Line.create!(amount: 3)
         puts Order.all.to_json(include: :lines), Line.order(:id).last.to_json, order.id",
    );
    let [orders, line, id] = printed.lines().collect::<Vec<_>>()[..] else { panic!("{printed}") };
    let lines = format!(r#""lines":[{{"id":"1","amount":2,"order_id":"{id}"}}]"#);
    assert_eq!(orders, format!(r#"[{{"id":"{id}","item":"tea",{lines}}}]"#));
    assert_eq!(line, r#"{"id":"2","amount":3,"order_id":null}"#);
}

/// `last_insert_id()` of DBD::Pg looks for a sequence of the table, and raises an error, because
/// there is none. The row is inserted.
#[test]
fn dbd_pg_finds_no_sequence() {
    let program = Program::of("dbd-pg");
    program.create_orders();
    let said = program.error_of(
        "perl -e",
        "use DBI;
         my $database = DBI->connect('dbi:Pg:', undef, undef, { RaiseError => 1, PrintError => 0 });
         $database->do(\"INSERT INTO orders (item) VALUES ('cake')\");
         print $database->last_insert_id(undef, undef, 'orders', undef);",
    );
    let expected = "No suitable column found for last_insert_id of table \"orders\"";
    assert!(said.contains(expected), "{said}");
    assert_eq!(program.cluster.bigint("SELECT count(*) FROM orders"), 1);
}
