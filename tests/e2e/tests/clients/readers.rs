//! Readers of IDs in JSON, with those that round them: the table of the page.

use crate::program::Program;

/// An order, its cups, and the order whose ID a double makes of that. A double has 53 bits for the
/// digits, so the IDs of 256 numbers in a millisecond are one.
const ORDERS: &str = "
    CREATE TABLE orders (id bigint PRIMARY KEY, item text NOT NULL DEFAULT '\": 2126762083105382401');
    CREATE TABLE cups (id bigint PRIMARY KEY, order_id bigint NOT NULL REFERENCES orders);
    INSERT INTO orders VALUES (2126767223489040385);
    INSERT INTO cups VALUES (2126767223489040386, 2126767223489040385),
        (2126767223489040387, 2126767223489040385), (2126767223489040388, 2126767223489040385);
    INSERT INTO orders VALUES (2126767223489040640)";

const EXACT: &str = "2126767223489040386 2126767223489040385
2126767223489040387 2126767223489040385
2126767223489040388 2126767223489040385
";
const ROUNDED: &str = "2126767223489040384 2126767223489040384
2126767223489040384 2126767223489040384
2126767223489040384 2126767223489040384
";

/// A reader, the cups that it gives without the parser of the page, the type and the digits of the
/// order, and what else it gives; and the last two with the parser, with which all cups are exact.
const READERS: [(&str, &str, &str, &str); 7] = [
    ("drizzle", ROUNDED, "bigint 2126767223489040385", "bigint 2126767223489040385"),
    ("kysely", ROUNDED, "string 2126767223489040385", "string 2126767223489040385"),
    // The text of an item, which is in the JSON, too.
    (
        "zapatos",
        ROUNDED,
        "number 2126767223489040384 \": 2126762083105382401",
        "string 2126767223489040385 \": 2126762083105382401",
    ),
    ("prisma", EXACT, "bigint 2126767223489040385", "bigint 2126767223489040385"),
    ("typeorm", EXACT, "string 2126767223489040385", "string 2126767223489040385"),
    // A max() of IDs, and one of a text.
    (
        "sequelize",
        EXACT,
        "string 2126767223489040385 2126767223489040384 2126767223489040388",
        "string 2126767223489040385 2126767223489040384 2126767223489040388",
    ),
    // Pages, of which the first returns for ever where the cursor is rounded.
    (
        "postgraphile",
        EXACT,
        "string 2126767223489040385 2126767223489040388 2126767223489040388 2126767223489040388",
        "string 2126767223489040385 2126767223489040388 2126767223489040387 2126767223489040386",
    ),
];

#[test]
fn readers_of_javascript_round_in_json_unless_a_parser_makes_strings() {
    let program = Program::with("node-postgres", "readers");
    program.sql(ORDERS);
    for (reader, cups, order, with_parser) in READERS {
        let printed = program.run(&format!("node read.js {reader}"));
        assert_eq!(printed, format!("{cups}{order}\n"), "{reader}");
        let printed = program.run(&format!("node read.js {reader} exact"));
        assert_eq!(printed, format!("{EXACT}{with_parser}\n"), "{reader}");
    }
}

/// jq rounds before its version 1.7, and afterwards what it computes with.
#[test]
fn programs_that_read_json_have_doubles() {
    let program = Program::with("node-postgres", "readers");
    let printed =
        program.eval("lua5.1 -e", "print(require('cjson').decode('[2126767223489040385]')[1])");
    assert_eq!(printed, "2.126767223489e+18\n");
    let newer = Program::with("jq", "readers");
    assert!(newer.run("jq --version").starts_with("jq-1.7"));
    // That of the machine is one of both.
    for program in [program, newer] {
        let version = program.run("jq --version");
        let rounds = version.starts_with("jq-1.5") || version.starts_with("jq-1.6");
        let expected = if rounds { "2126767223489040400\n" } else { "2126767223489040385\n" };
        assert_eq!(program.eval("jq -n", "2126767223489040385"), expected, "{version}");
        let sum = program.eval("jq -n", "2126767223489040385 + 0");
        assert_ne!(sum, "2126767223489040385\n", "{version}");
    }
}
