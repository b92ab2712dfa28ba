//! GORM, whose `AutoMigrate()` compares the tables with the models each time.

use super::{FIRST, SECOND, assert_adopted, assert_rows};
use crate::program::{Program, stdout};

/// What the program of the blog prints with this argument.
#[track_caller]
fn printed(program: &Program, argument: &str) -> String {
    stdout(program.tool("blog", &[argument]))
}

/// Asserts that the program ends with this error.
#[track_caller]
fn assert_fails(program: &Program, argument: &str, error: &str) {
    let refused = program.tool("blog", &[argument]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains(error), "{said}");
}

/// The models declare keys and references as `uint`, which GORM makes `bigserial` and `bigint`. It
/// sees no difference after the conversion.
#[test]
fn gorm() {
    let program = Program::of_blog("gorm");
    printed(&program, "first");
    assert_adopted(&program.cluster, FIRST);
    printed(&program, "second");
    assert_adopted(&program.cluster, SECOND);
    let alterations = |log: String| log.matches(": ALTER TABLE").count();
    let after_second = alterations(program.cluster.log());
    printed(&program, "second");
    assert_eq!(alterations(program.cluster.log()), after_second);

    let written = printed(&program, "write");
    assert!(written.ends_with("Tea by Alice, edited by Bob: 2 tags, \"How long?\"\n"), "{written}");
    assert_rows(&program.cluster, SECOND, &written);
    assert!(!program.cluster.log().contains("WARNING"), "{}", program.cluster.log());
}

/// `AutoMigrate()` changes a reference that is declared as `int32` back to `integer` when it runs
/// again, and fails if there is a snowflake ID in the column.
#[test]
fn gorm_changes_references_of_32_bits_back() {
    let program = Program::of_blog("gorm");
    let mut client = program.cluster.connect();
    let mut assert_type = |expected: &str| {
        let query = "SELECT atttypid::regtype::text FROM pg_attribute
                     WHERE attrelid = 'categories'::regclass AND attname = 'parent_id'";
        let of_type: String = client.query_one(query, &[]).expect("the column").get(0);
        assert_eq!(of_type, expected);
    };
    printed(&program, "narrow");
    assert_type("bigint");
    printed(&program, "narrow");
    assert_type("integer");

    let mut client = program.cluster.connect();
    client.batch_execute("DROP TABLE categories").expect("no row refers to it");
    printed(&program, "narrow");
    let insert = "WITH parent AS (INSERT INTO categories DEFAULT VALUES RETURNING id)
                  INSERT INTO categories (parent_id) SELECT id FROM parent";
    client.batch_execute(insert).expect("a category with a parent");
    assert_fails(&program, "narrow", "integer out of range (SQLSTATE 22003)");
    assert_type("bigint");
}

/// Without `autoIncrement:false`, a key with a default of its own has two.
#[test]
fn gorm_makes_two_defaults_of_an_automatic_key() {
    let program = Program::of_blog("gorm");
    assert_fails(&program, "automatic", "multiple default values specified for column \"id\"");
}
