//! Active Record, the part of Rails that uses the database.

use std::fs;
use std::path::Path;
use std::process::Output;

use snowflake_e2e::bigint;

use super::{
    FIRST, LIKED, SECOND, WRITTEN, assert_adopted, assert_no_warning, assert_story, blog, hinted,
};
use crate::program::{Program, error, source, stdout};

/// The migrations of the application.
const MIGRATIONS: [&str; 2] =
    ["db/migrate/20260105090000_create_blog.rb", "db/migrate/20260202090000_add_likes.rb"];

/// The argument of rake that ends a migration before likes.
const FIRST_ONLY: &str = "VERSION=20260105090000";

const INITIALIZER: &str = "config/initializers/snowflake.rb";

/// The application, with the initializer of the page.
fn application() -> Program {
    let program = blog("activerecord");
    let initializer = fs::read_to_string(source("activerecord").join("snowflake.rb"));
    program.write(INITIALIZER, &initializer.expect("the initializer of the page"));
    program
}

/// What Ruby does with these arguments, in an environment of Rails: `development`, whose database
/// is adopted, or `test`.
fn ruby(program: &Program, environment: &str, arguments: &[&str]) -> Output {
    let libraries = program.installed("lib");
    let libraries = ["-I", libraries.to_str().expect("a path of UTF-8")];
    let path = std::env::var("PATH").expect("a PATH");
    let servers = program.cluster.programs().bin();
    program
        .command(Path::new("ruby"), &[&libraries, arguments].concat())
        .env_remove("DATABASE_URL")
        .env("RAILS_ENV", environment)
        .env("PATH", format!("{}:{path}", servers.display()))
        .output()
        .expect("ruby runs")
}

/// What a task of rake does in the environment `development`, for example `db:migrate`.
fn rake(program: &Program, arguments: &[&str]) -> Output {
    ruby(program, "development", &[&["-S", "rake"], arguments].concat())
}

/// What a program prints that uses the application, as `rails runner` does.
#[track_caller]
fn runner(program: &Program, environment: &str, arguments: &[&str]) -> String {
    stdout(ruby(program, environment, &[&["-r", "./config/environment"], arguments].concat()))
}

/// What such a program says that fails.
#[track_caller]
fn error_of_runner(program: &Program, environment: &str, text: &str) -> String {
    let failed = ruby(program, environment, &["-r", "./config/environment", "-e", text]);
    error(failed)
}

/// Creates the tables of the first migration, one post, and the tables of the second migration.
fn migrate_with_rows(program: &Program) -> String {
    stdout(rake(program, &["db:migrate", FIRST_ONLY]));
    let written = runner(program, "development", &["db/seeds.rb"]);
    stdout(rake(program, &["db:migrate"]));
    written
}

/// The migrations of Rails declare keys as `bigserial` and references as `bigint`. Rails knows
/// which migrations are pending.
#[test]
fn activerecord() {
    let program = application();
    stdout(rake(&program, &["db:migrate", FIRST_ONLY]));
    assert_adopted(&program.cluster, FIRST);
    let check = "ActiveRecord::Migration.check_all_pending!; puts 'none'";
    let said = error_of_runner(&program, "development", check);
    assert!(said.contains("20260202090000_add_likes.rb"), "{said}");
    stdout(rake(&program, &["db:migrate"]));
    assert_adopted(&program.cluster, SECOND);
    assert_eq!(runner(&program, "development", &["-e", check]), "none\n");
    assert_eq!(stdout(rake(&program, &["db:migrate"])), "");
    stdout(rake(&program, &["db:migrate:redo"]));
    assert_adopted(&program.cluster, SECOND);

    let written = runner(&program, "development", &["db/seeds.rb"]);
    let liked = runner(&program, "development", &["db/like.rb"]);
    assert_story(&program, &written, &liked);
    let joined = "SELECT count(*) FROM posts_tags";
    assert_eq!(bigint(&mut program.cluster.connect(), joined), 2);
}

/// Because references are `bigint`, they can be added to a table that has rows, and there is no
/// warning.
#[test]
fn activerecord_adds_a_reference_to_a_table_with_rows() {
    let program = application();
    let written = migrate_with_rows(&program);
    assert_adopted(&program.cluster, SECOND);
    let liked = runner(&program, "development", &["db/like.rb"]);
    assert_story(&program, &written, &liked);
    assert_no_warning(&program);
}

/// Migrations that began before Rails 5.1 declare keys as `serial` and references as `integer`. They
/// stay, and the application works as without adoption, its join table included.
#[test]
fn activerecord_keeps_keys_of_integers() {
    let program = application();
    for migration in MIGRATIONS {
        program.replace(migration, "[7.2]", "[5.0]");
    }
    stdout(rake(&program, &["db:migrate"]));
    let narrow = "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'public'
                  AND column_name = 'id' AND data_type = 'integer'";
    assert_eq!(bigint(&mut program.cluster.connect(), narrow), 5);
    let written = runner(&program, "development", &["db/seeds.rb"]);
    assert!(written.ends_with(WRITTEN), "{written}");
    let liked = runner(&program, "development", &["db/like.rb"]);
    assert!(liked.ends_with(LIKED), "{liked}");
    assert_no_warning(&program);
}

/// Rails prints the warning of an `integer` reference to a snowflake ID. A migration with the statement
/// of its hint mends it.
#[test]
fn activerecord_prints_the_warning_of_a_narrow_reference() {
    let program = application();
    stdout(rake(&program, &["db:migrate", FIRST_ONLY]));
    let written = runner(&program, "development", &["db/seeds.rb"]);
    let editor = "add_reference :posts, :editor,";
    program.replace(MIGRATIONS[1], editor, &[editor, " type: :integer,"].concat());

    let migrated = rake(&program, &["db:migrate"]);
    let said = String::from_utf8(migrated.stderr.clone()).expect("UTF-8");
    stdout(migrated);
    let warning = "column editor_id of table public.posts cannot hold the snowflake IDs";
    assert!(said.contains(warning), "{said}");
    let edit = "Post.last.update!(editor: User.last)";
    let refused = error_of_runner(&program, "development", edit);
    assert!(refused.contains("is out of range for ActiveModel::Type::Integer"), "{refused}");

    let statement = hinted(&said);
    let migration = format!(
        "class ChangeEditor < ActiveRecord::Migration[7.2]
           def up
             execute \"{statement}\"
           end
         end"
    );
    program.write("db/migrate/20260202090001_change_editor.rb", &migration);
    stdout(rake(&program, &["db:migrate"]));
    assert_adopted(&program.cluster, SECOND);
    let liked = runner(&program, "development", &["db/like.rb"]);
    assert_story(&program, &written, &liked);
}

/// schema.rb has the extension and the defaults. The test database is created with it, is dumped as the
/// same, and needs no further maintenance. Migrations that are run there later are adopted as well,
/// because the setting is the role's.
#[test]
fn activerecord_dumps_an_adopted_schema() {
    let program = application();
    stdout(rake(&program, &["db:migrate", FIRST_ONLY]));
    let schema = program.read("db/schema.rb");
    for line in [
        "  enable_extension \"snowflake\"\n",
        "  create_table \"users\", id: :bigint, default: -> { \"snowflake_nextval()\" }, force",
        "    t.bigint \"author_id\", null: false\n",
    ] {
        assert!(schema.contains(line), "{line}: {schema}");
    }
    assert!(!schema.contains("create_schema"), "{schema}");

    stdout(rake(&program, &["db:test:prepare"]));
    stdout(ruby(&program, "test", &["-S", "rake", "db:schema:dump"]));
    assert_eq!(program.read("db/schema.rb"), schema);
    stdout(rake(&program, &["db:migrate"]));
    stdout(ruby(&program, "test", &["-S", "rake", "db:migrate"]));
    let of_likes = "SELECT count(*) FROM pg_attrdef WHERE adrelid = 'likes'::regclass
                    AND pg_get_expr(adbin, adrelid) = 'snowflake_nextval()'";
    assert_eq!(bigint(&mut program.cluster.connect_to("blog_test"), of_likes), 1);

    stdout(rake(&program, &["db:test:prepare"]));
    let maintain = "ActiveRecord::Migration.maintain_test_schema!
                    puts User.create!(name: 'Ann').id";
    let id = runner(&program, "test", &["-e", maintain]);
    assert!(id.trim().parse::<i64>().expect("an ID") > 1 << 40, "{id}");
}

/// Without the initializer, schema.rb creates the schema of the extension's tables, and cannot be
/// loaded.
#[test]
fn activerecord_dumps_the_schema_of_the_extension() {
    let program = application();
    program.write(INITIALIZER, "");
    stdout(rake(&program, &["db:migrate"]));
    let schema = program.read("db/schema.rb");
    assert!(schema.contains("  create_schema \"snowflake_internal\"\n"), "{schema}");
    let said = error(rake(&program, &["db:test:prepare"]));
    assert!(said.contains("schema \"snowflake_internal\" already exists"), "{said}");
}

/// `structure.sql` has the extension and the defaults. A table of a later migration is adopted, because
/// the setting is the role's.
#[test]
fn activerecord_adopts_what_comes_after_structure_sql() {
    let program = application();
    program.write(INITIALIZER, "ActiveRecord.schema_format = :sql\n");
    stdout(rake(&program, &["db:migrate", FIRST_ONLY]));
    stdout(rake(&program, &["db:test:prepare"]));
    stdout(ruby(&program, "test", &["-S", "rake", "db:migrate"]));
    let mut client = program.cluster.connect_to("blog_test");
    for table in ["users", "likes"] {
        let default = "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef
                       WHERE adrelid = $1::text::regclass AND adnum = 1";
        let default: String = client.query_one(default, &[&table]).expect("a default").get(0);
        assert_eq!(default, "snowflake_nextval()", "{table}");
    }
}

/// Fixtures give rows IDs that are hashes of names, and reset sequences. In the adopted database, a
/// key still owns its sequence, so this needs no initializer. In the test database, which is made
/// of schema.rb, there is no sequence, and it needs one.
#[test]
fn activerecord_loads_fixtures_of_a_blog() {
    let program = application();
    stdout(rake(&program, &["db:migrate"]));
    let load = ["-S", "rake", "db:fixtures:load"];
    let read = "puts Post.find_by!(title: 'Tea').tags.pluck(:name).sort, User.first.posts.count";
    stdout(rake(&program, &["db:test:prepare"]));
    let initializer = program.read(INITIALIZER);
    for environment in ["development", "test"] {
        program.write(INITIALIZER, &initializer);
        stdout(ruby(&program, environment, &load));
        assert_eq!(runner(&program, environment, &["-e", read]), "drinks\nkitchen\n1\n");
        program.write(INITIALIZER, "");
        let without = ruby(&program, environment, &load);
        if environment == "development" {
            stdout(without);
        } else {
            let said = error(without);
            assert!(said.contains("relation \"public\" does not exist"), "{said}");
        }
    }
    // Rows that are created later have snowflake IDs, which are greater than those of fixtures.
    let create = "puts User.create!(name: 'Bob').id > User.find_by!(name: 'Ann').id";
    assert_eq!(runner(&program, "development", &["-e", create]), "true\n");
}

/// `default_sequence_name` and `reset_pk_sequence!` find the sequence of a converted key, which
/// gives out no keys any more.
#[test]
fn activerecord_resets_the_sequence_of_a_converted_key() {
    let program = application();
    stdout(rake(&program, &["db:migrate"]));
    const RESET: &str = "
        connection = ActiveRecord::Base.lease_connection
        puts connection.default_sequence_name('users')
        user = User.create!(name: 'Ann')
        puts connection.reset_pk_sequence!('users') == user.id
        puts User.create!(name: 'Bob').id > user.id";
    assert_eq!(
        runner(&program, "development", &["-e", RESET]),
        "public.users_id_seq\ntrue\ntrue\n"
    );
}

/// With `insert_returning: false`, Rails asks the sequence for the key of a row, and fails.
#[test]
fn activerecord_needs_returning() {
    let program = application();
    stdout(rake(&program, &["db:migrate"]));
    let database = "database: postgres";
    let without = [database, "\n  insert_returning: false"].concat();
    program.replace("config/database.yml", database, &without);
    let said = error_of_runner(&program, "development", "User.create!(name: 'Ann')");
    assert!(said.contains("currval of sequence \"users_id_seq\" is not yet defined"), "{said}");
}
