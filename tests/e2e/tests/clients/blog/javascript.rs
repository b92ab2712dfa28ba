//! Drizzle, TypeORM and Sequelize.
//!
//! JavaScript numbers hold 53 bits. node-postgres returns a `bigint` as a string, and what a framework
//! makes of it depends on what its models declare.

use std::process::Output;

use super::{FIRST, SECOND, assert_adopted, assert_story, blog, use_second};
use crate::program::{Program, stdout};

/// Writes the rows of both migrations.
#[track_caller]
fn assert_written(program: &Program) {
    assert_story(program, &program.node("write.mjs"), &program.node("like.mjs"));
}

/// What drizzle-kit writes as the next migration, and what it says of it.
fn generate(program: &Program) -> String {
    stdout(program.package("drizzle-kit", &["generate"]))
}

/// What drizzle-kit says when it makes the next migration and executes it.
fn generate_and_migrate(program: &Program) {
    let said = generate(program);
    assert!(said.contains("Your SQL migration file"), "{said}");
    let said = stdout(program.package("drizzle-kit", &["migrate"]));
    assert!(said.contains("migrations applied successfully"), "{said}");
}

/// Drizzle with keys that are declared as `bigint({ mode: 'bigint' })` with
/// `generatedAlwaysAsIdentity()`, and as `bigserial({ mode: 'bigint' })`: the migrations that drizzle-kit
/// generates add foreign keys last, and are adopted. They are made from what it remembers, so it finds no
/// difference afterwards.
#[test]
fn migrations_of_drizzle_are_adopted() {
    let program = blog("drizzle");
    generate_and_migrate(&program);
    assert_adopted(&program.cluster, FIRST);
    use_second(&program, "schema.js");
    generate_and_migrate(&program);
    assert_adopted(&program.cluster, SECOND);
    assert_written(&program);
    let said = generate(&program);
    assert!(said.contains("No schema changes, nothing to migrate"), "{said}");
}

/// Drizzle: a reference is added to a table with rows.
#[test]
fn drizzle_adds_a_reference_to_a_table_with_rows() {
    let program = blog("drizzle");
    generate_and_migrate(&program);
    let written = program.node("write.mjs");
    use_second(&program, "schema.js");
    generate_and_migrate(&program);
    assert_adopted(&program.cluster, SECOND);
    assert_story(&program, &written, &program.node("like.mjs"));
}

/// Drizzle's relational queries pass through JSON, so that a nested key is rounded whatever is
/// declared: as a bigint, it is the key of another row. `extras` with a text gives the right one.
#[test]
fn drizzle_rounds_keys_that_are_nested_in_relational_queries() {
    const FILE: &str = "
        import { eq, sql } from 'drizzle-orm';
        import { db, pool } from './db.js';
        import { posts, users } from './schema.js';
        const names = Array.from({ length: 100 }, (_, number) => ({ name: `${number}` }));
        const rows = await db.insert(users).values(names).returning();
        const { id: authorId } = rows.find(({ id }) => id % 256n !== 0n);
        await db.insert(posts).values({ title: 'x', authorId });
        const extras = { exact: sql`${users.id}::text`.as('exact') };
        const post = await db.query.posts.findFirst({
          with: { author: { extras } }, where: eq(posts.authorId, authorId),
        });
        console.log(post.authorId === authorId, BigInt(post.author.id) === authorId,
          BigInt(post.author.exact) === authorId, typeof post.author.id);
        await pool.end();";
    let program = blog("drizzle");
    generate_and_migrate(&program);
    program.write("nested.js", FILE);
    assert_eq!(program.node("nested.js"), "true false true bigint\n");
}

/// What `drizzle-kit push` does: it makes the database like the schema.
fn push(program: &Program) -> Output {
    program.package("drizzle-kit", &["push", "--force"])
}

/// `drizzle-kit push` compares the schema with the database, and finds no difference if the default is
/// declared.
#[test]
fn drizzle_kit_push_finds_no_difference_if_the_default_is_declared() {
    let program = blog("drizzle");
    use_second(&program, "schema.js");
    assert!(stdout(push(&program)).contains("Changes applied"));
    assert_adopted(&program.cluster, SECOND);
    assert_written(&program);
    let key = "bigint({ mode: 'bigint' }).primaryKey()";
    program.replace("schema.js", "bigserial({ mode: 'bigint' }).primaryKey()", key);
    program.replace("schema.js", ".generatedAlwaysAsIdentity()", "");
    program.replace("schema.js", key, &format!("{key}.default(sql`snowflake_nextval()`)"));
    program.replace("schema.js", "{ relations }", "{ relations, sql }");
    let said = stdout(push(&program));
    assert!(said.contains("No changes detected"), "{said}");
}

/// TypeORM's command line, with the data source of the program.
fn typeorm(program: &Program, arguments: &[&str]) -> Output {
    program.package("typeorm", &[arguments, &["--dataSource", "data-source.js"]].concat())
}

/// Generates a migration of TypeORM, and returns it. The time is part of its name, and says which
/// migration is the next.
#[track_caller]
fn typeorm_generate(program: &Program, time: &str) -> String {
    let arguments =
        ["migration:generate", "migrations/generated", "--outputJs", "--esm", "--timestamp", time];
    let said = stdout(typeorm(program, &arguments));
    assert!(said.contains("has been generated successfully"), "{said}");
    program.read(&format!("migrations/{time}-generated.js"))
}

/// The times of its migrations.
const FIRST_TIME: &str = "1700000000000";
const SECOND_TIME: &str = "1800000000000";

/// The declaration of a key in the entities of TypeORM, and another one. Those of the second migration
/// are changed, too.
fn declare_keys(program: &Program, of_type: &str, as_what: &str) {
    for file in ["entities.js", "second/entities.js"] {
        let key = "type: 'bigint', primary: true, generated: 'increment'";
        program.replace(file, key, &format!("type: {of_type}, primary: true, {as_what}"));
    }
}

/// A key as it is in the database.
const TYPEORM_DEFAULT: (&str, &str) = ("'bigint'", "default: () => 'snowflake_nextval()'");

/// TypeORM with keys that are declared as `type: 'bigint', generated: 'increment'`: the
/// migrations that it generates, and those that are written by hand with its API, are adopted. Keys are
/// strings.
#[test]
fn migrations_of_typeorm_are_adopted() {
    let program = blog("typeorm");
    let migration = typeorm_generate(&program, FIRST_TIME);
    assert!(migration.contains(r#"CREATE TABLE "users" ("id" BIGSERIAL NOT NULL"#), "{migration}");
    stdout(typeorm(&program, &["migration:run"]));
    assert_adopted(&program.cluster, FIRST);
    use_second(&program, "entities.js");
    program.write("migrations/second.js", &program.read("second-migration.js"));
    stdout(typeorm(&program, &["migration:run"]));
    assert_adopted(&program.cluster, SECOND);
    assert_written(&program);
}

/// TypeORM compares the entities with the database: the next migration that it generates, and
/// `synchronize`, make the keys take values of their sequences again. If they are declared as what
/// they are, it finds no difference, and the next migration is all right, also if there are rows.
#[test]
fn typeorm_would_change_the_defaults_unless_they_are_declared() {
    let program = blog("typeorm");
    typeorm_generate(&program, FIRST_TIME);
    stdout(typeorm(&program, &["migration:run"]));
    let written = program.node("write.mjs");
    let said = stdout(typeorm(&program, &["schema:log"]));
    let back = r#"ALTER TABLE "users" ALTER COLUMN "id" SET DEFAULT nextval('"users_id_seq"')"#;
    assert!(said.contains(back), "{said}");
    let check = ["migration:generate", "migrations/check", "--check"];
    assert!(!typeorm(&program, &check).status.success());

    let (of_type, as_what) = TYPEORM_DEFAULT;
    declare_keys(&program, of_type, as_what);
    let said = stdout(typeorm(&program, &["schema:log"]));
    assert!(said.contains("Your schema is up to date"), "{said}");
    stdout(typeorm(&program, &check));

    use_second(&program, "entities.js");
    let migration = typeorm_generate(&program, SECOND_TIME);
    assert!(migration.contains(r#"ADD "editor_id" bigint"#), "{migration}");
    assert!(!migration.contains(r#"DROP COLUMN "id""#), "{migration}");
    stdout(typeorm(&program, &["migration:run"]));
    assert_adopted(&program.cluster, SECOND);
    assert_story(&program, &written, &program.node("like.mjs"));
}

/// TypeORM makes numbers of keys that are declared as `type: Number`, which is what
/// `@PrimaryGeneratedColumn()` declares: those of rows that are inserted together become equal, and a
/// reference to one is refused, or refers to another row. With `parseInt8`, those of type `bigint` are
/// strings of rounded numbers.
#[test]
fn typeorm_rounds_keys_that_are_declared_as_numbers() {
    const FILE: &str = "
        import { AppDataSource } from './data-source.js';
        await AppDataSource.initialize();
        const [users, posts] = ['user', 'post'].map((name) => AppDataSource.getRepository(name));
        const names = Array.from({ length: 100 }, (_, number) => ({ name: `${number}` }));
        const rows = await users.save(names);
        console.log(typeof rows[0].id, new Set(rows.map(({ id }) => id)).size);
        const exact = await AppDataSource.query('SELECT id::text, name FROM users');
        const { id, name } = exact.find(({ id }) => BigInt(id) % 256n !== 0n);
        const author = rows.find((row) => row.name === name);
        const said = await posts.save({ title: 'x', author })
          .then(() => AppDataSource.query('SELECT author_id::text AS written FROM posts'))
          .then(([{ written }]) => written === id ? 'right' : 'another row', ({ code }) => code);
        console.log(said);
        await AppDataSource.destroy();";
    let assert_rounded = |program: &Program, of_type: &str| {
        let printed = program.node("rounded.js");
        let (first, said) = printed.split_once('\n').expect("two lines");
        let (found, distinct) = first.split_once(' ').expect("a type, and how many");
        assert_eq!(found, of_type, "{printed}");
        assert!(distinct.parse::<usize>().expect("how many") < 100, "{printed}");
        assert!(["23503\n", "another row\n"].contains(&said), "{printed}");
    };
    let program = blog("typeorm");
    typeorm_generate(&program, FIRST_TIME);
    stdout(typeorm(&program, &["migration:run"]));
    program.write("rounded.js", FILE);
    assert_eq!(program.node("rounded.js"), "string 100\nright\n");

    let empty = "TRUNCATE users CASCADE";
    program.cluster.connect().batch_execute(empty).expect("an empty table");
    declare_keys(&program, "Number", "generated: 'increment'");
    assert_rounded(&program, "number");

    program.cluster.connect().batch_execute(empty).expect("an empty table");
    program.replace("entities.js", "type: Number", "type: 'bigint'");
    program.replace("data-source.js", "database,\n", "database,\n  parseInt8: true,\n");
    assert_rounded(&program, "string");
}

/// Sequelize's command line.
#[track_caller]
fn sequelize(program: &Program, arguments: &[&str]) -> String {
    stdout(program.package("sequelize-cli", arguments))
}

/// The first migration of Sequelize, alone.
const SEQUELIZE_FIRST: &[&str] = &["db:migrate", "--to", "20260101000000-first.js"];

/// Sequelize with keys of `Sequelize.BIGINT` and `autoIncrement`: foreign keys are part of the tables
/// and columns that migrations create, and are adopted. Keys are strings. Sequelize does not compare a
/// database with its models.
#[test]
fn migrations_of_sequelize_are_adopted() {
    let program = blog("sequelize");
    sequelize(&program, SEQUELIZE_FIRST);
    assert_adopted(&program.cluster, FIRST);
    sequelize(&program, &["db:migrate"]);
    assert_adopted(&program.cluster, SECOND);
    use_second(&program, "models/index.js");
    assert_written(&program);
    let status = sequelize(&program, &["db:migrate:status"]);
    assert!(status.contains("up 20260102000000-second.js"), "{status}");
}

/// Sequelize: what `sync()` creates is adopted, and `sync({ alter: true })` leaves types and defaults as
/// they are, with and without rows.
#[test]
fn sequelize_sync_leaves_converted_keys_alone() {
    const FILE: &str = "
        const { sequelize } = require('./models');
        sequelize.sync({ alter: true }).finally(() => sequelize.close());";
    let program = blog("sequelize");
    use_second(&program, "models/index.js");
    program.write("sync.js", FILE);
    program.node("sync.js");
    assert_adopted(&program.cluster, SECOND);
    program.node("sync.js");
    assert_adopted(&program.cluster, SECOND);
    assert_written(&program);
    program.node("sync.js");
    assert_adopted(&program.cluster, SECOND);
}

/// Sequelize gives keys as strings, also those that are nested, and accepts them as bigints, but `min()`
/// and `max()` make numbers of them, unless they are given a type.
#[test]
fn sequelize_rounds_the_results_of_aggregates() {
    const FILE: &str = "
        const { sequelize, User, Post, Sequelize } = require('./models');
        (async () => {
          const names = Array.from({ length: 100 }, (_, number) => ({ name: `${number}` }));
          const rows = await User.bulkCreate(names);
          console.log(typeof rows[0].id, new Set(rows.map(({ id }) => id)).size);
          const { id } = rows.find(({ id }) => BigInt(id) % 256n !== 0n);
          const post = await Post.create({ title: 'x', authorId: BigInt(id) });
          const found = await Post.findByPk(post.id, { include: 'author' });
          console.log(found.authorId === id, found.author.id === id);
          const where = { id };
          console.log(typeof await User.max('id', { where }),
            BigInt(await User.max('id', { where })) === BigInt(id),
            await User.max('id', { where, dataType: new Sequelize.STRING() }) === id);
          await sequelize.close();
        })();";
    let program = blog("sequelize");
    sequelize(&program, SEQUELIZE_FIRST);
    program.write("aggregates.js", FILE);
    let printed = program.node("aggregates.js");
    assert_eq!(printed, "string 100\ntrue true\nnumber false true\n");
}
