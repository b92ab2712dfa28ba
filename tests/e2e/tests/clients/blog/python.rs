//! Django, and SQLAlchemy with Alembic.

use super::{Blog, FIRST, SECOND, of_type};
use crate::program::stdout;
use crate::sqlalchemy::{ENV, assert_no_difference, revision};
use snowflake_e2e::{Run, check};

/// The admin site adds, changes, shows and deletes rows. Sessions, groups and permissions work,
/// with keys of their own that stay, and so do the tests of the project, in a copy of `template1`.
#[test]
fn django_s_own_apps_work_with_their_own_keys() {
    let blog = Blog::of("django");
    let mut template = blog.cluster.connect_to("template1");
    template.run("CREATE EXTENSION IF NOT EXISTS snowflake");
    drop(template);
    blog.use_second();
    blog.migrate("");
    assert_eq!(blog.run("python browse.py"), "browsed\n");
    for table in ["auth_permission", "django_admin_log"] {
        assert_eq!(of_type(&blog, table, "id"), "integer", "{table}");
    }
    assert!(check(&mut blog.cluster.connect(), "adoption").0);
    let tested = blog.run("python -m django test");
    assert!(tested.contains("Found 1 test(s)."), "{tested}");
}

/// A fixture is loaded with its keys, and new rows get snowflake IDs afterwards. What `loaddata`
/// and `sqlsequencereset` do to sequences has no effect.
#[test]
fn django_loads_what_it_has_dumped() {
    let blog = Blog::of("django");
    blog.migrate("first");
    blog.step("write");
    let [before, joined] = ["tags", "posts_tags"].map(|table| blog.ids(table));
    blog.run("python -m django dumpdata blog --output blog.json");
    blog.sql("TRUNCATE users, tags RESTART IDENTITY CASCADE");
    let loaded = blog.run("python -m django loaddata blog.json");
    assert!(loaded.contains("Installed 6 object(s)"), "{loaded}");
    assert_eq!(blog.ids("tags"), before);
    // Django does not dump the keys of the table of a ManyToManyField, so these are new.
    let joined_again = blog.ids("posts_tags");
    assert!(joined_again.len() == joined.len() && joined_again[0] > joined[1], "{joined_again:?}");
    let reset = blog.run("python -m django sqlsequencereset blog");
    assert!(reset.contains("setval(pg_get_serial_sequence('\"posts\"','id')"), "{reset}");
    blog.sql(&reset);
    let create = "import django; django.setup()
from blog.models import Tag
print(Tag.objects.create(name='rain').pk)";
    let printed = blog.eval("python -c", create);
    let last = blog.cluster.bigint("SELECT max(id) FROM tags");
    assert_eq!(printed, format!("{last}\n"));
    assert!(Some(&last) > before.last(), "{last}");
}

/// Lets Alembic compare defaults.
fn compare_defaults(blog: &Blog) {
    let metadata = "target_metadata=target_metadata";
    blog.replace(ENV, metadata, &[metadata, ", compare_server_default=True"].concat());
}

/// Alembic finds no difference of keys that become a `BIGSERIAL` also if it compares defaults.
/// Nothing in its migration names the extension, and a flush sends one statement for many rows.
#[test]
fn alembic_compares_defaults_of_serials() {
    let blog = Blog::of("alembic");
    let migration = revision(&blog, "first");
    assert!(!migration.contains("snowflake"), "{migration}");
    blog.run("alembic upgrade head");
    compare_defaults(&blog);
    assert_no_difference(&blog);
    blog.step("write");
    assert_eq!(blog.inserts("users"), 1);
}

/// The same with keys that become identity columns, also `GENERATED ALWAYS`. If Alembic compares
/// defaults, it ends with an `AssertionError`, unless a function of the program compares those of
/// snowflake IDs.
#[test]
fn alembic_compares_defaults_of_identities_with_a_function() {
    for identity in ["Identity()", "Identity(always=True)"] {
        let blog = Blog::of("alembic");
        for file in ["models.py", "second/models.py"] {
            blog.replace(file, "import BigInteger, ", "import BigInteger, Identity, ");
            let key = format!("mapped_column({identity}, primary_key=True)");
            blog.replace(file, "mapped_column(primary_key=True)", &key);
        }
        let migration = revision(&blog, "first");
        assert!(migration.contains("sa.Identity("), "{migration}");
        blog.run("alembic upgrade head");
        blog.assert_adopted(FIRST);
        blog.step("write");
        blog.migrate_to_second();
        blog.assert_adopted(SECOND);
        assert_no_difference(&blog);
        blog.step("comment");
        blog.assert_printed(SECOND);

        compare_defaults(&blog);
        let said = blog.error("alembic check");
        assert!(said.trim_end().ends_with("AssertionError"), "{said}");
        blog.replace(ENV, "=True", "=compare_server_default");
        let begins = "def run_migrations_offline()";
        blog.replace(ENV, begins, &[COMPARE, begins].concat());
        assert_no_difference(&blog);
    }
}

const COMPARE: &str = r#"def compare_server_default(
    context, inspected_column, metadata_column, inspected_default, metadata_default, rendered_default
):
    # Whether they differ; None leaves it to Alembic.
    return False if inspected_default == "snowflake_nextval()" else None


"#;

/// A sequence that the program names stays one, with its small keys: SQLAlchemy takes the next
/// value itself, so the column has no default, or one that uses a sequence of its own. Without
/// RETURNING, SQLAlchemy takes values of the sequence that a converted column still owns. A notice
/// names columns with a default that stay, and the logger shows it.
#[test]
fn sqlalchemy_takes_values_of_sequences_that_the_program_names() {
    let blog = Blog::of("alembic");
    let output = blog.output("python -c", Some(SEQUENCES));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let small = "named 1\nby_default 1\nstarted 42\nwithout_returning 1\nwith_returning True\n";
    assert_eq!(stdout(output), small, "{said}");
    let notice = "NOTICE: not all new keys were converted to snowflake IDs";
    assert_eq!(said.matches(notice).count(), 2, "{said}");
    assert!(said.contains("currval of sequence \"with_returning_id_seq\" is not yet defined"));
}

const SEQUENCES: &str = r#"
import logging

from sqlalchemy import *

logging.basicConfig()
logging.getLogger("sqlalchemy.dialects.postgresql").setLevel(logging.INFO)
metadata = MetaData()
sequence = Sequence("numbers", metadata=metadata)


def table(name, *more, **options):
    key = Column("id", BigInteger, *more, primary_key=True, **options)
    return Table(name, metadata, key, Column("x", Text), implicit_returning="without" not in name)


tables = [
    table("named", Sequence("named_id_seq")),
    table("by_default", server_default=sequence.next_value()),
    table("started", Identity(start=42, cycle=True)),
    table("without_returning"),
    table("with_returning"),
]
engine = create_engine("postgresql+psycopg://")
metadata.create_all(engine)
for table in tables:
    with engine.begin() as connection:
        key = connection.execute(insert(table).values(x="x")).inserted_primary_key[0]
        print(table.name, key if key < 100 else key > 2**53)
try:
    with engine.begin() as connection:
        connection.execute(func.currval("with_returning_id_seq"))
except Exception as error:
    logging.error(error)
"#;
