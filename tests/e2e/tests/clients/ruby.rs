//! Active Record, the part of Rails that uses the database.

use std::process::Output;

use crate::program::{Program, error, stdout, use_own_schema};

/// A migration creates the extension and the table with the default, and inserts return IDs.
#[test]
fn activerecord() {
    let program = Program::of("activerecord");
    program.cluster.connect().batch_execute("DROP EXTENSION snowflake").expect("no extension");
    assert_eq!(program.assert_orders(&stdout(program.ruby(&["orders.rb"]))), 3);
}

/// What Ruby does with a program that uses the database of that name, after the initializer of the
/// page, or without it.
fn active_record(program: &Program, initializer: bool, database: &str, text: &str) -> Output {
    let connect =
        "ActiveRecord::Base.establish_connection(adapter: 'postgresql', database: ARGV[0])";
    let mut arguments = vec!["-r", "active_record"];
    if initializer {
        arguments.extend(["-r", "./snowflake.rb"]);
    }
    program.ruby(&[&arguments, &["-e", connect, "-e", text, "--", database][..]].concat())
}

/// Dumps the schema as schema.rb, and loads it into another database. Returns what the dump says,
/// and what became of loading it.
fn dump_and_load(program: &Program, initializer: bool) -> (String, Output) {
    let dump = "ActiveRecord::SchemaDumper.dump";
    let schema = stdout(active_record(program, initializer, "postgres", dump));
    program.write("schema.rb", &schema);
    program.cluster.connect().batch_execute("CREATE DATABASE loaded").expect("a database");
    (schema, active_record(program, initializer, "loaded", "load 'schema.rb'"))
}

/// With the initializer, schema.rb has the extension and the default, and can be loaded.
#[test]
fn activerecord_loads_the_schema_that_it_dumps() {
    let program = Program::of("activerecord");
    stdout(program.ruby(&["orders.rb"]));
    let (schema, loaded) = dump_and_load(&program, true);
    assert!(schema.contains("enable_extension \"snowflake\"\n"), "{schema}");
    let table = "create_table \"orders\", id: :bigint, default: -> { \"snowflake_nextval()\" }";
    assert!(schema.contains(table), "{schema}");
    assert!(!schema.contains("create_schema"), "{schema}");
    stdout(loaded);
    let insert = "class Order < ActiveRecord::Base; end; puts Order.create!(item: 'tea').id";
    let id = stdout(active_record(&program, true, "loaded", insert));
    assert!(id.trim().parse::<i64>().expect("an ID") > 1 << 40, "{id}");
}

/// Without it, schema.rb creates the schema of the extension's tables, which the extension creates,
/// too.
#[test]
fn activerecord_dumps_the_schema_of_the_extension() {
    let program = Program::of("activerecord");
    stdout(program.ruby(&["orders.rb"]));
    let (schema, loaded) = dump_and_load(&program, false);
    assert!(schema.contains("create_schema \"snowflake_internal\""), "{schema}");
    let said = error(loaded);
    assert!(said.contains("schema \"snowflake_internal\" already exists"), "{said}");
}

/// Loads fixtures of Rails, which give rows IDs that are hashes of names.
fn load_fixtures(program: &Program, initializer: bool) -> Output {
    const LOAD: &str = "
        require 'active_record/fixtures'
        class Order < ActiveRecord::Base; end
        ActiveRecord::FixtureSet.create_fixtures('.', ['orders'])
        puts Order.order(:item).pluck(:item)";
    program.write("orders.yml", "tea:\n  item: tea\nmilk:\n  item: milk\n");
    active_record(program, initializer, "postgres", LOAD)
}

/// With the initializer, fixtures are loaded. Without it, Rails looks for a sequence.
#[test]
fn activerecord_loads_fixtures() {
    let program = Program::of("activerecord");
    stdout(program.ruby(&["orders.rb"]));
    assert_eq!(stdout(load_fixtures(&program, true)), "milk\ntea\n");
    let said = error(load_fixtures(&program, false));
    assert!(said.contains("relation \"public\" does not exist"), "{said}");
}

/// Keys and references are strings in JSON, also those of records that others include.
#[test]
fn activerecord_writes_ids_as_strings() {
    const WRITE: &str = "
        require 'active_support/all'
        require './application_record'
        class Order < ApplicationRecord; has_many :lines; end
        class Line < ApplicationRecord; belongs_to :order, optional: true; end
        order = Order.create!(item: 'tea')
        order.lines.create!(amount: 2)
        Line.create!(amount: 3)
        puts Order.all.to_json(include: :lines), Line.order(:id).last.to_json, order.id";
    let program = Program::of("activerecord");
    stdout(program.ruby(&["orders.rb"]));
    let table = "TRUNCATE orders; CREATE TABLE lines (id serial PRIMARY KEY, amount integer,
                 order_id bigint REFERENCES orders)";
    program.cluster.connect().batch_execute(table).expect("a table");
    let printed = stdout(active_record(&program, true, "postgres", WRITE));
    let [orders, line, id] = printed.lines().collect::<Vec<_>>()[..] else { panic!("{printed}") };
    let lines = format!(r#""lines":[{{"id":"1","amount":2,"order_id":"{id}"}}]"#);
    assert_eq!(orders, format!(r#"[{{"id":"{id}","item":"tea",{lines}}}]"#));
    assert_eq!(line, r#"{"id":"2","amount":3,"order_id":null}"#);
}

/// schema.rb does not say that the extension is in a schema of its own.
#[test]
fn activerecord_forgets_the_schema_of_the_extension() {
    let program = Program::of("activerecord");
    use_own_schema(&program.cluster);
    let table = "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT tools.snowflake_nextval())";
    let alter = "ALTER DATABASE postgres RESET search_path";
    program.cluster.connect().batch_execute(&format!("{table}; {alter}")).expect("a table");
    let (schema, loaded) = dump_and_load(&program, true);
    assert!(schema.contains("enable_extension \"snowflake\"\n"), "{schema}");
    let said = error(loaded);
    assert!(said.contains("function tools.snowflake_nextval() does not exist"), "{said}");
}

/// `structure.sql` has the extension and the default, and can be loaded without the initializer.
/// With schemas that are named, it lacks the extension.
#[test]
fn activerecord_loads_structure_sql() {
    let program = Program::of("activerecord");
    stdout(program.ruby(&["orders.rb"]));
    let task = |more: &str, what: &str| {
        let path = program.cluster.programs().bin();
        format!(
            "ENV['PATH'] = '{}:' + ENV['PATH']
            options = {{ adapter: 'postgresql', database: ARGV[0]{more} }}
            config = ActiveRecord::DatabaseConfigurations::HashConfig.new('test', 'primary', options)
            ActiveRecord::Tasks::PostgreSQLDatabaseTasks.new(config).structure_{what}('structure.sql', nil)",
            path.display()
        )
    };
    let named = task(", schema_search_path: 'public'", "dump");
    stdout(active_record(&program, false, "postgres", &named));
    assert!(!program.read("structure.sql").contains("CREATE EXTENSION"));

    stdout(active_record(&program, false, "postgres", &task("", "dump")));
    program.cluster.connect().batch_execute("CREATE DATABASE loaded").expect("a database");
    stdout(active_record(&program, false, "loaded", &task("", "load")));
    let insert = "class Order < ActiveRecord::Base; end; puts Order.create!(item: 'tea').id";
    let id = stdout(active_record(&program, false, "loaded", insert));
    assert!(id.trim().parse::<i64>().expect("an ID") > 1 << 40, "{id}");
}
