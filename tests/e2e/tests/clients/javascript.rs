//! Clients of JavaScript programs.

use snowflake_e2e::bigint;

use crate::program::{Program, row, stdout, use_own_schema};

/// node-postgres: an ID is a string. As a number, it is the same as the next ID; as a BigInt, it is
/// right. `snowflake_json()` gives it as a string within JSON.
#[test]
fn node_postgres() {
    let program = Program::of("node-postgres");
    let printed = program.node("orders.js");
    assert_eq!(program.assert_orders(&printed), 3);
    let (_, id) = printed.lines().find_map(row).expect("an ID");
    let typed = printed.lines().find_map(|line| line.strip_prefix("string "));
    let (string, number) = typed.expect("a string").split_once(" as a number: ").expect("both");
    assert_eq!(string, id.to_string());
    let number: f64 = number.parse().expect("a number");
    assert_eq!(number, id as f64, "the nearest number of 53 bits");
    assert_eq!(number, (id + 1) as f64, "the next ID is the same number");
    let json: serde_json::Value =
        serde_json::from_str(printed.lines().last().expect("JSON")).expect("JSON");
    assert_eq!(json["id"], id.to_string());
    assert_eq!(json["worker_id"], 9);
}

/// node-postgres parses JSON, in which an ID is a number, so that its last digits are others.
/// `JSON.stringify()` raises an error for a BigInt.
#[test]
fn ids_within_json_are_numbers() {
    const FILE: &str = "
        import pg from 'pg';
        const client = new pg.Client();
        await client.connect();
        const { rows } = await client.query('SELECT to_json(2124270996806078465) AS id');
        console.log(typeof rows[0].id, BigInt(rows[0].id));
        try { JSON.stringify(1n); } catch (error) { console.log(error.name); }
        await client.end();";
    let program = Program::of("node-postgres");
    program.write("json.js", FILE);
    assert_eq!(program.node("json.js"), "number 2124270996806078464n\nTypeError\n");
}

/// What drizzle-kit says when it makes the database like the schema of the program.
fn push(program: &Program) -> String {
    stdout(program.package("drizzle-kit", &["push", "--force"]))
}

/// Drizzle: drizzle-kit creates the table with the default and finds no difference afterwards, and
/// IDs are of type bigint.
#[test]
fn drizzle() {
    let program = Program::of("drizzle");
    assert!(push(&program).contains("Changes applied"));
    let again = push(&program);
    assert!(again.contains("No changes detected"), "{again}");
    let printed = program.node("orders.js");
    assert_eq!(program.assert_orders(&printed), 3);
    let newest = bigint(&mut program.cluster.connect(), "SELECT max(id) FROM orders");
    let shown = format!("bigint {{ id: {newest}n, item: 'sugar' }}");
    assert!(printed.lines().any(|line| line == shown), "{printed}");
}

/// Without `tablesFilter`, drizzle-kit also wants to drop what belongs to the extension, and fails.
/// With the extension in a schema of its own, it needs no filter. `drizzle-kit pull` makes a
/// schema with numbers instead of bigints.
#[test]
fn drizzle_kit_needs_a_filter_for_what_belongs_to_the_extension() {
    const CONFIG: &str = "
        const { PGHOST: host, PGUSER: user, PGDATABASE: database } = process.env;
        export default {
          dialect: 'postgresql', schema: './schema.js',
          dbCredentials: { host, user, database, ssl: false },
        };";
    let program = Program::of("drizzle");
    assert!(push(&program).contains("Changes applied"));
    program.write("drizzle.config.js", CONFIG);
    let output = program.package("drizzle-kit", &["push", "--force"]);
    let error = "because extension snowflake requires it";
    let log = program.cluster.log();
    assert!(log.contains(error), "{}\n{log}", String::from_utf8_lossy(&output.stdout));

    use_own_schema(&program.cluster);
    assert!(push(&program).contains("Changes applied"));
    assert!(push(&program).contains("No changes detected"));
    stdout(program.package("drizzle-kit", &["pull"]));
    let pulled = program.read("drizzle/schema.ts");
    assert!(pulled.contains("id: bigint({ mode: \"number\" })"), "{pulled}");
    assert!(!pulled.contains("Claims"), "{pulled}");
}

/// Prisma leaves the key out of what it inserts, and IDs are of type bigint.
#[test]
fn prisma() {
    let program = Program::of("prisma");
    let printed = program.node("orders.js");
    assert_eq!(program.assert_orders(&printed), 3);
    let oldest = bigint(&mut program.cluster.connect(), "SELECT min(id) FROM orders");
    let shown = format!("bigint {{ id: {oldest}n, item: 'tea' }}");
    assert!(printed.lines().any(|line| line == shown), "{printed}");
    assert!(printed.ends_with("\n3 orders since an hour\n"), "{printed}");
    assert_eq!(program.inserts("\"public\".\"orders\""), 2);
}
