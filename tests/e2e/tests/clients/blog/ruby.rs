//! Active Record, the part of Rails that uses the database.

use std::fs;
use std::path::Path;
use std::process::Output;

use snowflake_e2e::bigint;

use super::rust::hinted;
use super::{FIRST, SECOND, assert_adopted, assert_rows};
use crate::program::{Program, source, stdout};

/// The migrations of the application.
const MIGRATIONS: [&str; 2] =
    ["db/migrate/20260105090000_create_blog.rb", "db/migrate/20260202090000_add_likes.rb"];

/// The argument of rake that ends a migration before likes.
const FIRST_ONLY: &str = "VERSION=20260105090000";

const INITIALIZER: &str = "config/initializers/snowflake.rb";

/// What a program prints of a post that it has read, without IDs.
const READ: &str = "Tea: drinks\nTea: kitchen\nTea: How long? (Bob)\n";

const EDITED: &str = "Tea: A start, edited by Bob\n";

/// The application, with the initializer of the page.
fn application() -> Program {
    let program = Program::of_blog("activerecord");
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

#[track_caller]
fn error(output: Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).expect("UTF-8")
}

/// Makes the migrations those of an application that began before Rails 5.1. Their keys are
/// `serial`, and their references `integer`.
fn of_rails_5_0(program: &Program) {
    for migration in MIGRATIONS {
        program.write(migration, &program.read(migration).replace("[7.2]", "[5.0]"));
    }
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
    assert!(written.ends_with(READ), "{written}");
    let liked = runner(&program, "development", &["db/like.rb"]);
    assert!(liked.ends_with(EDITED), "{liked}");
    assert_rows(&program.cluster, SECOND, &(written + &liked));
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
    assert!(liked.ends_with(EDITED), "{liked}");
    assert_rows(&program.cluster, SECOND, &(written + &liked));
    assert!(!program.cluster.log().contains("WARNING"), "{}", program.cluster.log());
}

/// Keys that are declared as `:serial` or `:integer` become `bigint`, too, and so do references
/// that are declared as `:integer`.
#[test]
fn activerecord_declares_keys_as_integers() {
    let program = application();
    for migration in MIGRATIONS {
        let text = program.read(migration).replace("foreign_key:", "type: :integer, foreign_key:");
        let mut text = text.replace("create_table :users", "create_table :users, id: :serial");
        for table in ["posts", "comments", "tags", "likes"] {
            let create = format!("create_table :{table}");
            text = text.replace(&create, &format!("{create}, id: :integer"));
        }
        program.write(migration, &text);
    }
    stdout(rake(&program, &["db:migrate"]));
    let log = program.cluster.log();
    for table in SECOND {
        let declared = format!(": CREATE TABLE \"{table}\" (\"id\" serial ");
        assert!(log.contains(&declared), "{table}");
    }
    for reference in ["\"author_id\" integer", "\"post_id\" integer", "ADD \"editor_id\" integer"] {
        assert!(log.contains(reference), "{reference}");
    }
    assert_adopted(&program.cluster, SECOND);
    let written = runner(&program, "development", &["db/seeds.rb"]);
    let liked = runner(&program, "development", &["db/like.rb"]);
    assert!(liked.ends_with(EDITED), "{liked}");
    assert_rows(&program.cluster, SECOND, &(written + &liked));
}

/// Migrations that began before Rails 5.1 add an `integer` reference. If the table has rows, it
/// stays one, and Rails prints the warning. A migration with the statement of its hint, and with
/// `validate`, converts it.
#[test]
fn activerecord_prints_the_warning_of_a_reference_that_stays_an_integer() {
    let program = application();
    of_rails_5_0(&program);
    stdout(rake(&program, &["db:migrate", FIRST_ONLY]));
    assert_adopted(&program.cluster, FIRST);
    // The columns of the join table do not fit, either, and there is no warning.
    let wide = "%i[post_id tag_id].each do |key|
        ActiveRecord::Base.lease_connection.change_column :posts_tags, key, :bigint
    end";
    runner(&program, "development", &["-e", wide]);
    let written = runner(&program, "development", &["db/seeds.rb"]);

    let migrated = rake(&program, &["db:migrate"]);
    let said = String::from_utf8(migrated.stderr.clone()).expect("UTF-8");
    stdout(migrated);
    let warning = "column editor_id of table public.posts cannot hold the snowflake IDs";
    assert!(said.contains(warning), "{said}");
    let edit = "Post.last.update!(editor: User.last)";
    let refused = error_of_runner(&program, "development", edit);
    assert!(refused.contains("is out of range for ActiveModel::Type::Integer"), "{refused}");

    let statement = hinted(&said).to_owned();
    let migration = format!(
        "class ConvertEditor < ActiveRecord::Migration[7.2]
           def up
             execute \"{statement}\"
           end
         end"
    );
    program.write("db/migrate/20260202090001_convert_editor.rb", &migration);
    stdout(rake(&program, &["db:migrate"]));
    assert_adopted(&program.cluster, SECOND);
    let schema = program.read("db/schema.rb");
    assert!(schema.contains("t.bigint \"editor_id\""), "{schema}");
    assert!(!schema.contains("validate: false"), "{schema}");
    let liked = runner(&program, "development", &["db/like.rb"]);
    assert!(liked.ends_with(EDITED), "{liked}");
    assert_rows(&program.cluster, SECOND, &(written + &liked));
}

/// Without the hint's `validate => true`, the foreign key is not valid, and Rails writes this into
/// schema.rb.
#[test]
fn activerecord_dumps_a_foreign_key_that_is_not_valid() {
    let program = application();
    let second = program.read(MIGRATIONS[1]).replace("[7.2]", "[5.0]");
    program.write(MIGRATIONS[1], &second);
    migrate_with_rows(&program);
    let mut client = program.cluster.connect();
    let without = hinted(&program.cluster.log()).replace("validate => true, ", "");
    client.batch_execute(&without).expect("a conversion");
    stdout(rake(&program, &["db:schema:dump"]));
    let key = "add_foreign_key \"posts\", \"users\", column: \"editor_id\"";
    let schema = program.read("db/schema.rb");
    assert!(schema.contains(&format!("{key}, validate: false\n")), "{schema}");
    let validate = "ActiveRecord::Base.lease_connection
        .validate_foreign_key :posts, :users, column: :editor_id";
    runner(&program, "development", &["-e", validate]);
    stdout(rake(&program, &["db:schema:dump"]));
    let schema = program.read("db/schema.rb");
    assert!(schema.contains(&format!("{key}\n")), "{schema}");
}

/// A join table has no foreign keys, so nothing is known of its columns. Where they are integers,
/// as in migrations that began before Rails 5.1, they have to be changed by hand. With foreign
/// keys, they are converted.
#[test]
fn activerecord_joins_with_integers_that_do_not_fit() {
    let program = application();
    of_rails_5_0(&program);
    stdout(rake(&program, &["db:migrate"]));
    assert_adopted(&program.cluster, SECOND);
    assert!(!program.cluster.log().contains("WARNING"), "{}", program.cluster.log());
    let seed = ruby(&program, "development", &["-r", "./config/environment", "db/seeds.rb"]);
    let said = error(seed);
    assert!(said.contains("is out of range for ActiveModel::Type::Integer"), "{said}");

    let program = application();
    of_rails_5_0(&program);
    let join = "create_join_table :posts, :tags";
    let with_keys = format!("{join}, column_options: {{ foreign_key: true }}");
    let migration = program.read(MIGRATIONS[0]).replace(join, &with_keys);
    program.write(MIGRATIONS[0], &migration);
    stdout(rake(&program, &["db:migrate"]));
    let written = runner(&program, "development", &["db/seeds.rb"]);
    assert!(written.ends_with(READ), "{written}");
}

/// schema.rb has the extensions, the defaults, and the adoption. The test database is created with
/// it, is dumped as the same, and needs no further maintenance. Migrations that are run there later
/// are converted as well.
#[test]
fn activerecord_dumps_an_adopted_schema() {
    let program = application();
    stdout(rake(&program, &["db:migrate", FIRST_ONLY]));
    let schema = program.read("db/schema.rb");
    for line in [
        "  enable_extension \"snowflake\"\n",
        "  enable_extension \"snowflake_adopt\"\n",
        "  create_table \"users\", id: :bigint, default: -> { \"snowflake_nextval()\" }, force",
        "    t.bigint \"author_id\", null: false\n",
        "  execute \"SELECT snowflake_adopt('public', 'primary')\"\nend\n",
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

/// Without the initializer, schema.rb creates the schemas of the tables of both extensions, and
/// cannot be loaded.
#[test]
fn activerecord_dumps_the_schemas_of_the_extensions() {
    let program = application();
    program.write(INITIALIZER, "");
    stdout(rake(&program, &["db:migrate"]));
    let schema = program.read("db/schema.rb");
    for name in ["snowflake_adopt_internal", "snowflake_internal"] {
        assert!(schema.contains(&format!("  create_schema \"{name}\"\n")), "{schema}");
    }
    let said = error(rake(&program, &["db:test:prepare"]));
    assert!(said.contains("schema \"snowflake_internal\" already exists"), "{said}");
    // The adoption has a schema of its own.
    let one = schema.replace("  create_schema \"snowflake_internal\"\n", "");
    program.write("db/schema.rb", &one);
    let said = error(rake(&program, &["db:test:prepare"]));
    assert!(said.contains("schema \"snowflake_adopt_internal\" already exists"), "{said}");
}

/// `structure.sql` has the extension, but not which schemas are adopted, because Rails dumps no
/// data. A table of a later migration keeps its `bigserial`, until the database is adopted.
#[test]
fn activerecord_loads_structure_sql_without_the_adoption() {
    let program = application();
    program.write(INITIALIZER, "ActiveRecord.schema_format = :sql\n");
    stdout(rake(&program, &["db:migrate", FIRST_ONLY]));
    let structure = program.read("db/structure.sql");
    assert!(structure.contains("CREATE EXTENSION IF NOT EXISTS snowflake_adopt"), "{structure}");
    stdout(rake(&program, &["db:test:prepare"]));
    let mut client = program.cluster.connect_to("blog_test");
    assert_eq!(bigint(&mut client, "SELECT count(*) FROM snowflake_adopted"), 0);
    let default = "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef
                   WHERE adrelid = $1::text::regclass AND adnum = 1";
    let mut default =
        |table: &str| -> String { client.query_one(default, &[&table]).expect("a default").get(0) };
    assert_eq!(default("users"), "snowflake_nextval()");
    stdout(ruby(&program, "test", &["-S", "rake", "db:migrate"]));
    assert_eq!(default("likes"), "nextval('likes_id_seq'::regclass)");
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
/// gives out no keys any more. That of a `serial` key holds snowflake IDs, too.
#[test]
fn activerecord_resets_the_sequence_of_a_converted_key() {
    let program = application();
    let first = program.read(MIGRATIONS[0]);
    let of_serial = first.replace("create_table :tags", "create_table :tags, id: :serial");
    program.write(MIGRATIONS[0], &of_serial);
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

    const RESET_SERIAL: &str = "
        tag = Tag.create!(name: 'drinks')
        puts ActiveRecord::Base.lease_connection.reset_pk_sequence!('tags') == tag.id";
    assert_eq!(runner(&program, "development", &["-e", RESET_SERIAL]), "true\n");
}

/// With `insert_returning: false`, Rails asks the sequence for the key of a row, and fails.
#[test]
fn activerecord_needs_returning() {
    let program = application();
    stdout(rake(&program, &["db:migrate"]));
    let database = program.read("config/database.yml");
    let without =
        database.replace("database: postgres", "database: postgres\n  insert_returning: false");
    program.write("config/database.yml", &without);
    let said = error_of_runner(&program, "development", "User.create!(name: 'Ann')");
    assert!(said.contains("currval of sequence \"users_id_seq\" is not yet defined"), "{said}");
}
