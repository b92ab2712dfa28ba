//! GORM, whose `AutoMigrate()` compares the tables with the models each time.

use super::{FIRST, SECOND, assert_adopted, assert_no_warning, assert_rows, blog};
use crate::program::{Program, error, stdout};

/// What the program of the blog prints with this argument.
#[track_caller]
fn printed(program: &Program, argument: &str) -> String {
    stdout(program.tool("blog", &[argument]))
}

/// The models declare keys and references as `uint`, which GORM makes `bigserial` and `bigint`. It
/// sees no difference after the conversion.
#[test]
fn gorm() {
    let program = blog("gorm");
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
    assert_no_warning(&program);
}

/// Keys and references that are declared as `int32` stay, and `AutoMigrate()` sees no difference.
#[test]
fn gorm_keeps_keys_of_32_bits() {
    let program = blog("gorm");
    let insert = "WITH parent AS (INSERT INTO categories DEFAULT VALUES RETURNING id)
                  INSERT INTO categories (parent_id) SELECT id FROM parent";
    for _ in 0..2 {
        printed(&program, "narrow");
        program.cluster.connect().batch_execute(insert).expect("a category with a parent");
    }
    assert_no_warning(&program);
}

/// Without `autoIncrement:false`, a key with a default of its own has two.
#[test]
fn gorm_makes_two_defaults_of_an_automatic_key() {
    let program = blog("gorm");
    let said = error(program.tool("blog", &["automatic"]));
    assert!(said.contains("multiple default values specified for column \"id\""), "{said}");
}
