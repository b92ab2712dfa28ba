//! Tools that take a default that contains "nextval" for that of a sequence, and the function of
//! another name that the recipe shows.

use crate::program::Program;

const NEW_ID: &str =
    "CREATE FUNCTION new_id() RETURNS bigint LANGUAGE sql RETURN snowflake_nextval()";

/// `MikroORM` alters a column with the default each time, and drops a default that is not declared.
/// With another name, it finds no difference.
#[test]
fn mikro_orm_finds_no_difference_with_another_name() {
    let program = Program::of("mikro-orm");
    program.sql(NEW_ID);
    let alters = "alter column \\\"id\\\" type bigint";
    for _ in 0..2 {
        let printed = program.run("node orders.js snowflake_nextval()");
        assert!(printed.contains(alters), "{printed}");
    }
    program.run("node orders.js");
    let log = program.cluster.log();
    assert!(log.contains("alter column \"id\" drop default"), "{log}");
    program.sql("TRUNCATE orders");
    let printed: String = (0..2).map(|_| program.run("node orders.js new_id()")).collect();
    assert_eq!(program.assert_orders(&printed), 2);
    assert_eq!(printed.lines().filter(|line| *line == "\"\"").count(), 2, "{printed}");
}

/// Sequel leaves the defaults of both names out of a dump unless that is for the same kind of
/// database.
#[test]
fn sequel_dumps_defaults_for_the_same_database_only() {
    let program = Program::of("activerecord");
    program.create_orders();
    program.sql(NEW_ID);
    program.sql("CREATE TABLE cups (id bigint PRIMARY KEY DEFAULT new_id(), item text)");
    let printed = program.eval(
        "ruby -e",
        "require 'sequel'
         database = Sequel.connect(adapter: 'postgres')
         database.extension :schema_dumper
         [:orders, :cups].each do |table|
           [false, true].each do |same_db|
             dump = database.dump_table_schema(table, same_db: same_db)
             puts \"#{table} #{same_db} #{dump[/\\w+\\(\\)/]}\"
           end
           puts \"#{database[table].insert(item: 'tea') > 1 << 40}\"
         end",
    );
    let expected = "orders false \norders true snowflake_nextval()\ntrue\n\
                    cups false \ncups true new_id()\ntrue\n";
    assert_eq!(printed, expected);
}

/// Rails takes the default for that of a sequence without a name, unless it has another name.
#[test]
fn rails_finds_no_sequence_with_another_name() {
    let program = Program::of("activerecord");
    program.create_orders();
    program.sql(NEW_ID);
    program.sql("CREATE TABLE cups (id bigint PRIMARY KEY DEFAULT new_id(), item text)");
    let printed = program.eval(
        "ruby -e",
        "require 'active_record'
         ActiveRecord::Base.establish_connection(adapter: 'postgresql')
         connection = ActiveRecord::Base.connection
         ['orders', 'cups'].each { |table| p connection.pk_and_sequence_for(table)&.last.to_s }",
    );
    assert_eq!(printed, "\"public.\"\n\"\"\n");
}
