//! Programs that ask the sequence of a key: the list of the page.

use snowflake_e2e::{Run, bigint, error_of};

use crate::program::Program;

/// `EclipseLink`'s IDENTITY asks `lastval()`, which is another key's where a sequence gave one. A
/// query of its own takes the ID first.
#[test]
fn eclipselink_asks_lastval_unless_a_query_takes_ids() {
    let program = Program::of("eclipselink");
    program.create_orders();
    program.run("javac Orders.java");
    let error = program.error("java Orders identity");
    assert!(error.contains("lastval is not yet defined in this session"), "{error}");
    assert_eq!(program.ids("orders"), [0; 0]);
    assert_eq!(program.assert_orders(&program.run("java Orders query")), 3);

    // A trigger that takes a value of a sequence.
    program.sql(
        "CREATE TABLE log (number bigserial, item text);
         CREATE FUNCTION log() RETURNS trigger LANGUAGE plpgsql
             AS 'BEGIN INSERT INTO log (item) VALUES (new.item); RETURN new; END';
         CREATE TRIGGER log BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION log()",
    );
    assert_eq!(program.run("java Orders identity"), "tea 1\nmilk 2\nsugar 3\n");
    assert_eq!(program.ids("orders").iter().filter(|id| **id > 1 << 40).count(), 6);
}

/// The client of pgmq brings its SQL. Its metrics read the sequence of a queue: they count no
/// message of one whose key is adopted, and fail for one that is converted.
#[test]
fn metrics_of_pgmq_count_values_of_a_sequence() {
    let program = Program::of("psycopg");
    let code = "from importlib.util import find_spec
print(open(find_spec('pgmq').submodule_search_locations[0] + '/sql/pgmq.sql').read())";
    program.sql(&program.eval("python -c", code));
    let mut client = program.cluster.connect();
    let total = |queue| format!("SELECT total_messages FROM pgmq.metrics('{queue}')");
    for (queue, schemas) in [("own", ""), ("adopted", "pgmq"), ("converted", "")] {
        let send = format!(
            "SET snowflake.adopted_schemas = '{schemas}'; SELECT pgmq.create('{queue}');
             SELECT pgmq.send('{queue}', '{{}}'), pgmq.send('{queue}', '{{}}')"
        );
        client.run(&send);
    }
    for (queue, messages) in [("own", 2), ("adopted", 0), ("converted", 2)] {
        assert_eq!(bigint(&mut client, &total(queue)), messages, "{queue}");
    }
    program.write("convert.sql", "SELECT snowflake_conversion('{pgmq.q_converted}') \\gexec");
    program.run("psql -Xq -v ON_ERROR_STOP=1 -1 -f convert.sql");
    let error = error_of(client.batch_execute(&total("converted")));
    assert_eq!(error.message(), "relation \"pgmq.q_converted_msg_id_seq\" does not exist");
    // Messages are read and archived nevertheless.
    let id = bigint(&mut client, "SELECT pgmq.send('converted', '{}')");
    assert!(id > 1 << 40, "{id}");
    let read = "SELECT count(*) FROM pgmq.read('converted', 30, 10)";
    assert_eq!(bigint(&mut client, read), 3);
    let archive = format!("SELECT pgmq.archive('converted', {id})::int::bigint");
    assert_eq!(bigint(&mut client, &archive), 1);
}
