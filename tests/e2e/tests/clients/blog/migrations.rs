//! Steps that all frameworks take alike.

use super::javascript::assert_defaults_have_to_be_declared;
use super::{Blog, FIRST, FRAMEWORKS, SECOND, of_type};

/// The migrations of each framework are adopted, and its program works with the keys, also with a
/// reference that is added to a table with rows. The framework finds no difference afterwards.
#[test]
fn migrations_are_adopted() {
    for framework in &FRAMEWORKS {
        println!("{}", framework.client);
        let blog = Blog::of(framework.client);
        blog.migrate("first");
        blog.assert_adopted(FIRST);
        blog.step("write");
        if framework.client == "typeorm" {
            assert_defaults_have_to_be_declared(&blog);
        }
        blog.migrate_to_second();
        blog.assert_adopted(SECOND);
        blog.step("comment");
        blog.assert_printed(SECOND);
        if framework.client == "django" {
            // Django gives the table that joins two others a key of its own.
            blog.assert_printed(&["posts_tags"]);
        }
        blog.assert_no_difference();
        blog.assert_no_warning();
    }
}

/// Keys that are declared as 32-bit integers stay, and the program works as without adoption. Rails
/// declares such keys in migrations that began before version 5.1.
#[test]
fn integer_keys_stay() {
    for (client, file, part, by) in [
        ("django", "settings.py", "BigAutoField", "AutoField"),
        ("alembic", "models.py", "type_annotation_map = {int: BigInteger}", "pass"),
        ("activerecord", "db/migrate/20260105090000_create_blog.rb", "[7.2]", "[5.0]"),
    ] {
        println!("{client}");
        let blog = Blog::of(client);
        blog.replace(file, part, by);
        blog.migrate("first");
        blog.step("write");
        blog.use_second();
        match client {
            "alembic" => blog.replace(file, part, by),
            "activerecord" => blog.replace("db/migrate/20260202090000_second.rb", part, by),
            _ => (),
        }
        blog.migrate("second");
        blog.step("comment");
        blog.assert_no_difference();
        blog.assert_no_warning();
        for table in SECOND {
            assert_eq!(of_type(&blog, table, "id"), "integer", "{client}: {table}");
        }
    }
}
