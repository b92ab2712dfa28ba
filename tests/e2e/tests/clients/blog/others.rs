//! GORM and sqlx.

use super::Blog;

/// Keys and references that are declared as `int32` stay, and `AutoMigrate()` sees no difference.
#[test]
fn gorm_keeps_keys_of_32_bits() {
    let blog = Blog::of("gorm");
    for _ in 0..2 {
        blog.run("blog narrow");
        blog.sql(
            "WITH parent AS (INSERT INTO categories DEFAULT VALUES RETURNING id)
             INSERT INTO categories (parent_id) SELECT id FROM parent",
        );
    }
    blog.assert_no_warning();
}

/// Without `autoIncrement:false`, a key with a default of its own has two.
#[test]
fn gorm_makes_two_defaults_of_an_automatic_key() {
    let said = Blog::of("gorm").error("blog automatic");
    assert!(said.contains("multiple default values specified for column \"id\""), "{said}");
}

/// sqlx notices that a migration that was run has another text.
#[test]
fn sqlx_compares_checksums() {
    let blog = Blog::of("sqlx");
    blog.migrate("first");
    blog.replace("migrations/20260105090000_create_blog.sql", "BIGSERIAL", "BIGINT");
    let said = blog.error("blog-sqlx migrate");
    assert!(said.contains("VersionMismatch(20260105090000)"), "{said}");
}
