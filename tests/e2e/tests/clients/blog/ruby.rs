//! Active Record, the part of Rails that uses the database.

use super::{Blog, SECOND};
use crate::program::use_own_schema;

const INITIALIZER: &str = "config/initializers/snowflake.rb";

/// Begins a program that uses the application, as `rails runner` does.
const RUNNER: &str = "ruby -r ./config/environment -e";

/// The same, in the environment `test`.
const RUNNER_OF_TESTS: &str = "RAILS_ENV=test ruby -r ./config/environment -e";

/// The application after its first migration.
fn application() -> Blog {
    let blog = Blog::of("activerecord");
    blog.migrate("first");
    blog
}

/// Rails knows which migrations are pending, and undoes and repeats one.
#[test]
fn activerecord_repeats_a_migration() {
    let blog = application();
    blog.use_second();
    let said = blog.error("rake db:abort_if_pending_migrations");
    assert!(said.contains("to update your database"), "{said}");
    blog.migrate("second");
    blog.run("rake db:migrate:redo");
    blog.assert_adopted(SECOND);
}

/// Rails prints the warning of an `integer` reference to a snowflake ID. A migration with the
/// statement of its hint mends it.
#[test]
fn activerecord_prints_the_warning_of_a_narrow_reference() {
    let blog = application();
    blog.step("write");
    blog.use_second();
    let editor = "add_reference :posts, :editor,";
    let second = "db/migrate/20260202090000_second.rb";
    blog.replace(second, editor, &[editor, " type: :integer,"].concat());
    let migrated = blog.output("rake db:migrate", None);
    assert!(migrated.status.success());
    let said = String::from_utf8(migrated.stderr).expect("UTF-8");
    let warning = "column editor_id of table public.posts cannot hold the snowflake IDs";
    assert!(said.contains(warning), "{said}");
    let refused = blog.error_of(RUNNER, "Post.last.update!(editor: User.last)");
    assert!(refused.contains("is out of range for ActiveModel::Type::Integer"), "{refused}");

    let statement = "ALTER TABLE public.posts ALTER COLUMN editor_id TYPE bigint";
    assert!(said.contains(&format!("Run {statement}.")), "{said}");
    let migration = format!(
        "class ChangeEditor < ActiveRecord::Migration[7.2]
           def up
             execute \"{statement}\"
           end
         end"
    );
    blog.write("db/migrate/20260202090001_change_editor.rb", &migration);
    blog.run("rake db:migrate");
    blog.assert_adopted(SECOND);
    blog.step("comment");
    blog.assert_printed(SECOND);
}

/// schema.rb has the extension and the defaults. The test database is created with it, is dumped as
/// the same, and needs no further maintenance. Migrations that are run there later are adopted as
/// well, because the setting is the role's.
#[test]
fn activerecord_dumps_an_adopted_schema() {
    let blog = application();
    let schema = blog.read("db/schema.rb");
    for line in [
        "  enable_extension \"snowflake\"\n",
        "  create_table \"users\", id: :bigint, default: -> { \"snowflake_nextval()\" }, force",
        "    t.bigint \"author_id\", null: false\n",
    ] {
        assert!(schema.contains(line), "{line}: {schema}");
    }
    assert!(!schema.contains("create_schema"), "{schema}");

    blog.run("rake db:test:prepare");
    blog.run("RAILS_ENV=test rake db:schema:dump");
    assert_eq!(blog.read("db/schema.rb"), schema);
    blog.migrate_to_second();
    blog.run("RAILS_ENV=test rake db:migrate");
    assert_default_in_test(&blog, "comments");

    blog.run("rake db:test:prepare");
    let maintain = "ActiveRecord::Migration.maintain_test_schema!
                    puts User.create!(name: 'Ann').id";
    let id = blog.eval(RUNNER_OF_TESTS, maintain);
    assert!(id.trim().parse::<i64>().expect("an ID") > 1 << 40, "{id}");
}

/// Asserts that the key of the table has the default in the test database.
#[track_caller]
fn assert_default_in_test(blog: &Blog, table: &str) {
    let default = "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef
                   WHERE adrelid = $1::text::regclass AND adnum = 1";
    let mut client = blog.cluster.connect_to("blog_test");
    let default: String = client.query_one(default, &[&table]).expect("a default").get(0);
    assert_eq!(default, "snowflake_nextval()", "{table}");
}

/// Without the initializer, schema.rb creates the schema of the extension's tables, and cannot be
/// loaded. It does not say that the extension is in a schema of its own.
#[test]
fn activerecord_dumps_a_schema_that_cannot_be_loaded() {
    let blog = Blog::of("activerecord");
    let initializer = blog.read(INITIALIZER);
    blog.write(INITIALIZER, "");
    blog.migrate("first");
    let schema = blog.read("db/schema.rb");
    assert!(schema.contains("  create_schema \"snowflake_internal\"\n"), "{schema}");
    let said = blog.error("rake db:test:prepare");
    assert!(said.contains("schema \"snowflake_internal\" already exists"), "{said}");

    blog.write(INITIALIZER, &initializer);
    blog.sql("DROP EXTENSION snowflake CASCADE; DROP TABLE users, posts, tags CASCADE");
    blog.sql("CREATE EXTENSION snowflake");
    use_own_schema(&blog.cluster);
    blog.sql("CREATE TABLE users (id bigint PRIMARY KEY DEFAULT tools.snowflake_nextval())");
    blog.sql("ALTER DATABASE postgres RESET search_path");
    blog.run("rake db:schema:dump");
    let schema = blog.read("db/schema.rb");
    assert!(schema.contains("enable_extension \"snowflake\"\n"), "{schema}");
    let said = blog.error("rake db:test:prepare");
    assert!(said.contains("function tools.snowflake_nextval() does not exist"), "{said}");
}

/// `structure.sql` has the extension and the defaults, without the initializer. A table of a later
/// migration is adopted, because the setting is the role's. With schemas that are named, it lacks
/// the extension.
#[test]
fn activerecord_adopts_what_comes_after_structure_sql() {
    let blog = Blog::of("activerecord");
    blog.write(INITIALIZER, "ActiveRecord.schema_format = :sql\n");
    blog.migrate("first");
    blog.run("rake db:test:prepare");
    blog.use_second();
    blog.run("RAILS_ENV=test rake db:migrate");
    for table in ["users", "comments"] {
        assert_default_in_test(&blog, table);
    }
    assert!(blog.read("db/structure.sql").contains("CREATE EXTENSION"));
    let database = "database: postgres";
    let named = [database, "\n  schema_search_path: public"].concat();
    blog.replace("config/database.yml", database, &named);
    blog.run("rake db:schema:dump");
    assert!(!blog.read("db/structure.sql").contains("CREATE EXTENSION"));
}

/// Fixtures give rows IDs that are hashes of names, and reset sequences. In the adopted database, a
/// key still owns its sequence, so this needs no initializer. In the test database, which is made
/// of schema.rb, there is no sequence, and it needs one.
#[test]
fn activerecord_loads_fixtures() {
    let blog = application();
    let read = "puts Post.find_by!(title: 'Tea').tags.pluck(:name).sort, User.first.posts.count";
    blog.run("rake db:test:prepare");
    for (environment, runner) in [("development", RUNNER), ("test", RUNNER_OF_TESTS)] {
        blog.run(&format!("RAILS_ENV={environment} rake db:fixtures:load"));
        assert_eq!(blog.eval(runner, read), "drinks\nkitchen\n1\n");
    }
    blog.write(INITIALIZER, "");
    blog.run("rake db:fixtures:load");
    let said = blog.error("RAILS_ENV=test rake db:fixtures:load");
    assert!(said.contains("relation \"public\" does not exist"), "{said}");
    // Rows that are created later have snowflake IDs, which are greater than those of fixtures.
    let create = "puts User.create!(name: 'Bob').id > User.find_by!(name: 'Ann').id";
    assert_eq!(blog.eval(RUNNER, create), "true\n");
}

/// `default_sequence_name` and `reset_pk_sequence!` find the sequence of a converted key, which
/// gives out no keys any more. With `insert_returning: false`, Rails asks it for the key of a row,
/// and fails.
#[test]
fn activerecord_finds_the_sequence_of_a_converted_key() {
    let blog = application();
    const RESET: &str = "
        connection = ActiveRecord::Base.lease_connection
        puts connection.default_sequence_name('users')
        user = User.create!(name: 'Ann')
        puts connection.reset_pk_sequence!('users') == user.id
        puts User.create!(name: 'Bob').id > user.id";
    assert_eq!(blog.eval(RUNNER, RESET), "public.users_id_seq\ntrue\ntrue\n");
    let database = "database: postgres";
    let without = [database, "\n  insert_returning: false"].concat();
    blog.replace("config/database.yml", database, &without);
    let said = blog.error_of(RUNNER, "User.create!(name: 'Eve')");
    assert!(said.contains("currval of sequence \"users_id_seq\" is not yet defined"), "{said}");
    assert_eq!(blog.cluster.bigint("SELECT count(*) FROM users"), 2);
}
