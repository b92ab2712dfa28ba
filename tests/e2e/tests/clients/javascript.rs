//! Clients of JavaScript programs.

use crate::program::{Program, use_own_schema};

/// node-postgres parses JSON, in which an ID is a number, so that its last digits are others.
/// `JSON.stringify()` raises an error for a BigInt.
#[test]
fn ids_within_json_are_numbers() {
    let program = Program::of("node-postgres");
    let printed = program.eval(
        "node --input-type=module -e",
        "import pg from 'pg';
        const client = new pg.Client();
        await client.connect();
        const { rows } = await client.query('SELECT to_json(2124270996806078465) AS id');
        console.log(typeof rows[0].id, BigInt(rows[0].id));
        try { JSON.stringify(1n); } catch (error) { console.log(error.name); }
        await client.end();",
    );
    assert_eq!(printed, "number 2124270996806078464n\nTypeError\n");
}

const PUSH: &str = "drizzle-kit push --force";

/// Drizzle: drizzle-kit creates the table with the default and finds no difference afterwards, and
/// IDs are of type bigint. Without `tablesFilter`, drizzle-kit also wants to drop what belongs to
/// the extension, and fails. With the extension in a schema of its own, it needs no filter.
/// `drizzle-kit pull` makes a schema with numbers instead of bigints.
#[test]
fn drizzle() {
    let program = Program::of("drizzle");
    assert!(program.run(PUSH).contains("Changes applied"));
    let again = program.run(PUSH);
    assert!(again.contains("No changes detected"), "{again}");
    let printed = program.run("node orders.js");
    assert_eq!(program.assert_orders(&printed), 3);
    let newest = program.cluster.bigint("SELECT max(id) FROM orders");
    let shown = format!("bigint {{ id: {newest}n, item: 'sugar' }}");
    assert!(printed.lines().any(|line| line == shown), "{printed}");

    program.replace("drizzle.config.js", "  tablesFilter: ['!*snowflake*'],\n", "");
    let output = program.output(PUSH, None);
    let error = "because extension snowflake requires it";
    let log = program.cluster.log();
    assert!(log.contains(error), "{}\n{log}", String::from_utf8_lossy(&output.stdout));

    use_own_schema(&program.cluster);
    assert!(program.run(PUSH).contains("Changes applied"));
    assert!(program.run(PUSH).contains("No changes detected"));
    program.run("drizzle-kit pull");
    let pulled = program.read("drizzle/schema.ts");
    assert!(pulled.contains("id: bigint({ mode: \"number\" })"), "{pulled}");
    assert!(!pulled.contains("Claims"), "{pulled}");
}
