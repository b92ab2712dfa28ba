//! Drizzle, TypeORM and Sequelize.
//!
//! JavaScript numbers hold 53 bits. node-postgres returns a `bigint` as a string, and what a
//! framework makes of it depends on what its models declare.

use super::{Blog, SECOND};

const MODULE: &str = "node --input-type=module -e";

/// Asserts that the program works with the keys of both migrations.
#[track_caller]
fn assert_steps(blog: &Blog) {
    blog.assert_adopted(SECOND);
    blog.step("write");
    blog.step("comment");
    blog.assert_printed(SECOND);
}

/// `drizzle-kit push` compares the schema with the database, and finds no difference if the default
/// is declared.
#[test]
fn drizzle_kit_push_finds_no_difference_if_the_default_is_declared() {
    const PUSH: &str = "drizzle-kit push --force";
    let blog = Blog::of("drizzle");
    blog.use_second();
    assert!(blog.run(PUSH).contains("Changes applied"));
    assert_steps(&blog);
    let key = "bigint({ mode: 'bigint' }).primaryKey()";
    blog.replace("schema.js", "bigserial({ mode: 'bigint' }).primaryKey()", key);
    blog.replace("schema.js", ".generatedAlwaysAsIdentity()", "");
    blog.replace("schema.js", key, &format!("{key}.default(sql`snowflake_nextval()`)"));
    blog.replace("schema.js", "{ relations }", "{ relations, sql }");
    let before = blog.cluster.log().len();
    blog.run(PUSH);
    let log = &blog.cluster.log()[before..];
    assert!(log.contains(" LOG:  statement: "), "{log}");
    // It reads the columns of a key of two in no order, and with PostgreSQL 18 in another one.
    let changes = log.lines().filter(|line| {
        line.contains(" LOG:  statement: ALTER ") && !line.contains("posts_tags_post_id_tag_id_pk")
    });
    assert_eq!(changes.collect::<Vec<_>>(), [""; 0]);
}

/// The declaration of a key in the entities of TypeORM, and that of a key as it is in the database.
const KEY: &str = "type: 'bigint', primary: true, generated: 'increment'";
const DECLARED: &str = "type: 'bigint', primary: true, default: () => 'snowflake_nextval()'";

/// TypeORM compares the entities with the database: the next migration that it generates, and
/// `synchronize`, make the keys take values of their sequences again, unless they are declared as
/// what they are. The entities declare them so afterwards.
#[track_caller]
pub fn assert_defaults_have_to_be_declared(blog: &Blog) {
    const CHECK: &str = "typeorm migration:generate migrations/check --check -d data-source.js";
    let said = blog.run("typeorm schema:log -d data-source.js");
    let back = r#"ALTER TABLE "users" ALTER COLUMN "id" SET DEFAULT nextval('"users_id_seq"')"#;
    assert!(said.contains(back), "{said}");
    assert!(!blog.output(CHECK, None).status.success());
    for file in ["entities.js", "second/entities.js"] {
        blog.replace(file, KEY, DECLARED);
    }
    blog.assert_no_difference();
    blog.run(CHECK);
}

/// TypeORM makes numbers of keys that are declared as `type: Number`, which is what
/// `@PrimaryGeneratedColumn()` declares: those of rows that are inserted together become equal, and
/// a reference to one is refused, or refers to another row. With `parseInt8`, those of type
/// `bigint` are strings of rounded numbers.
#[test]
fn typeorm_rounds_keys_that_are_declared_as_numbers() {
    const WRITE: &str = "
        import { AppDataSource } from './data-source.js';
        await AppDataSource.initialize();
        const [users, posts] = ['user', 'post'].map((name) => AppDataSource.getRepository(name));
        const names = Array.from({ length: 100 }, (_, number) => ({ name: `${number}` }));
        const rows = await users.save(names);
        const all = new Set(rows.map(({ id }) => id)).size === 100 ? 'distinct' : 'equal';
        const exact = await AppDataSource.query('SELECT id::text, name FROM users');
        const { id, name } = exact.find(({ id }) => BigInt(id) % 256n !== 0n);
        const author = rows.find((row) => row.name === name);
        const said = await posts.save({ title: 'x', author })
          .then(() => AppDataSource.query('SELECT author_id::text AS written FROM posts'))
          .then(([{ written }]) => written === id ? 'right' : 'wrong',
            ({ code }) => code === '23503' ? 'wrong' : code);
        console.log(typeof rows[0].id, all, said);
        await AppDataSource.destroy();";
    let blog = Blog::of("typeorm");
    blog.migrate("first");
    assert_eq!(blog.eval(MODULE, WRITE), "string distinct right\n");

    blog.sql("TRUNCATE users CASCADE");
    blog.replace("entities.js", KEY, &KEY.replace("'bigint'", "Number"));
    assert_eq!(blog.eval(MODULE, WRITE), "number equal wrong\n");

    blog.sql("TRUNCATE users CASCADE");
    blog.replace("entities.js", "type: Number", "type: 'bigint'");
    blog.replace("data-source.js", "database,\n", "database,\n  parseInt8: true,\n");
    assert_eq!(blog.eval(MODULE, WRITE), "string equal wrong\n");
}

/// Sequelize: what `sync()` creates is adopted, and `sync({ alter: true })` leaves types and
/// defaults as they are, with and without rows.
#[test]
fn sequelize_sync_leaves_converted_keys_alone() {
    let blog = Blog::of("sequelize");
    let sync = || {
        blog.eval(
            "node -e",
            "const { sequelize } = require('./models');
            sequelize.sync({ alter: true }).finally(() => sequelize.close());",
        );
    };
    blog.use_second();
    sync();
    blog.assert_adopted(SECOND);
    sync();
    assert_steps(&blog);
    sync();
    blog.assert_adopted(SECOND);
}
