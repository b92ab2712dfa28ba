//! Django, and SQLAlchemy with Alembic.

use super::{FIRST, SECOND, assert_adopted, assert_no_warning, assert_rows, blog, use_second};
use crate::alembic::{ENV, alembic, assert_no_difference, revision};
use crate::program::{Program, error, stdout};
use snowflake_e2e::bigint;

/// The type of a column.
fn of_type(program: &Program, table: &str, column: &str) -> String {
    let query = "SELECT format_type(atttypid, NULL) FROM pg_attribute
         WHERE attrelid = to_regclass($1) AND attname = $2";
    let row = program.cluster.connect().query_one(query, &[&table, &column]);
    row.expect("a column").get(0)
}

/// A Django project whose first migration is made, and creates the extension before it creates tables.
fn django() -> Program {
    let program = django_with("django.db.models.BigAutoField");
    program.python(&["manage.py", "migrate"]);
    program
}

/// The same, with another DEFAULT_AUTO_FIELD, and the migration not executed yet.
fn django_with(auto_field: &str) -> Program {
    let program = blog("django");
    let drop = "DROP EXTENSION snowflake";
    program.cluster.connect().batch_execute(drop).expect("a database without the extension");
    program.replace("settings.py", "django.db.models.BigAutoField", auto_field);
    let migration = "blog/migrations/0001_initial.py";
    program.python(&["manage.py", "makemigrations"]);
    assert!(!program.read(migration).contains("snowflake"));
    let imported = "from django.conf import settings\n";
    let import = "from django.contrib.postgres.operations import CreateExtension\n";
    program.replace(migration, imported, &[imported, import].concat());
    let operations = "    operations = [\n";
    let create = "        CreateExtension(\"snowflake\"),\n";
    program.replace(migration, operations, &[operations, create].concat());
    program
}

/// Makes the second migration of the Django project, and executes it. Returns what this prints.
fn migrate_second(program: &Program) -> String {
    use_second(program, "blog/models.py");
    program.python(&["manage.py", "makemigrations"]);
    program.python(&["manage.py", "migrate"])
}

/// What a program prints in the Django project, with all models.
#[track_caller]
fn in_django(program: &Program, statements: &str) -> String {
    let set_up = "import django; django.setup()\nfrom blog.models import *\n";
    program.python(&["-c", &[set_up, statements].concat()])
}

/// The tables with an `id`, also that which Django makes of a `ManyToManyField`.
const OF_DJANGO: &[&str] = &["comments", "likes", "posts", "posts_tags", "tags", "users"];

/// Django: a migration creates the extension and tables, in one transaction, and another one
/// changes them. Keys are known after `save()` and `bulk_create()`, rows are found by them, and there
/// is no difference afterwards. The tables of Django's own apps that declare an `AutoField` keep their
/// keys.
#[test]
fn django_migrates_and_inserts() {
    let program = django();
    assert_adopted(&program.cluster, FIRST);
    migrate_second(&program);
    assert_adopted(&program.cluster, SECOND);
    crate::django::assert_no_difference(&program);
    assert_rows(&program.cluster, OF_DJANGO, &program.python(&["insert.py"]));
    assert_no_warning(&program);
    for table in ["auth_permission", "django_admin_log"] {
        assert_eq!(of_type(&program, table, "id"), "integer", "{table}");
    }
}

/// The admin site adds, changes, shows and deletes rows. Sessions, groups and permissions work, and
/// so do the tests of the project, in a database that its migrations make.
#[test]
fn django_s_own_apps_work_with_their_own_keys() {
    let program = django();
    assert_eq!(program.python(&["browse.py"]), "browsed\n");
    let tested = stdout(program.tool("python", &["manage.py", "test"]));
    assert!(tested.contains("Found 1 test(s)."), "{tested}");
}

/// Keys that are declared as `AutoField` stay, and the program works as without adoption.
#[test]
fn django_keeps_the_keys_of_an_auto_field() {
    let program = django_with("django.db.models.AutoField");
    program.python(&["manage.py", "migrate"]);
    assert_eq!(of_type(&program, "posts", "id"), "integer");
    crate::django::assert_no_difference(&program);
    let found = "get True\nupdate 1\nsave None\nauthor ann\nparent !\nbulk 2\n";
    assert_eq!(in_django(&program, USE), found);
    program.python(&["manage.py", "flush", "--no-input"]);
    migrate_second(&program);
    program.python(&["insert.py"]);
    assert_no_warning(&program);
}

const USE: &str = r#"
def tell(what, act):
    try:
        print(what, act())
    except Exception as error:
        print(what, type(error).__name__)


ann = User.objects.create(username="ann")
post = Post.objects.create(author=ann, title="Snow")
parent = Comment.objects.create(post=post, author=ann, body="!")
reply = Comment.objects.create(post=post, author=ann, body="?", parent=parent)
tell("get", lambda: User.objects.filter(pk=ann.pk).exists())
tell("update", lambda: Post.objects.filter(pk=post.pk).update(title="Ice"))
tell("save", lambda: ann.save(update_fields=["username"]))
tell("author", lambda: Post.objects.first().author.username)
Comment.objects.bulk_update([reply], ["parent"])
reply = Comment.objects.select_related("parent").get(body="?")
tell("parent", lambda: reply.parent and reply.parent.body)
tell("bulk", lambda: len(Comment.objects.bulk_create([Comment(post=post, author=ann) for _ in range(2)])))
"#;

/// A reference that is added to a table with rows is a `bigint`, as the key is.
#[test]
fn django_adds_a_reference_to_a_table_with_rows() {
    let program = django();
    in_django(&program, WRITE_POST);
    migrate_second(&program);
    assert_eq!(in_django(&program, EDIT), "edited 1\n");
    assert_no_warning(&program);
    assert_adopted(&program.cluster, SECOND);
}

const WRITE_POST: &str =
    "Post.objects.create(author=User.objects.create(username='ann'), title='Snow')";

const EDIT: &str = "
try:
    print('edited', Post.objects.update(editor=User.objects.get(username='ann')))
except Exception as error:
    print(error)";

/// A fixture is loaded with its keys, and new rows get snowflake IDs afterwards. What `loaddata` and
/// `sqlsequencereset` do to sequences has no effect.
#[test]
fn django_loads_what_it_has_dumped() {
    let program = django();
    program.python(&["insert.py"]);
    let [before, joined] = ["comments", "posts_tags"].map(|table| program.ids(table));
    let dump = ["manage.py", "dumpdata", "blog", "--output", "blog.json"];
    let load = ["manage.py", "loaddata", "blog.json"];
    let empty = "TRUNCATE users, tags RESTART IDENTITY CASCADE";
    program.python(&dump);
    program.cluster.connect().batch_execute(empty).expect("tables");
    let loaded = program.python(&load);
    assert!(loaded.contains("Installed 107 object(s)"), "{loaded}");
    assert_eq!(program.ids("comments"), before);
    // Django does not dump the keys of the table of a ManyToManyField, so these are new.
    let joined_again = program.ids("posts_tags");
    assert!(joined_again.len() == joined.len() && joined_again[0] > joined[1], "{joined_again:?}");
    let reset = program.python(&["manage.py", "sqlsequencereset", "blog"]);
    assert!(reset.contains("setval(pg_get_serial_sequence('\"posts\"','id')"), "{reset}");
    program.cluster.connect().batch_execute(&reset).expect("sequences");
    let printed = in_django(&program, "print(Tag.objects.create(name='rain').pk)");
    let last = bigint(&mut program.cluster.connect(), "SELECT max(id) FROM tags");
    assert_eq!(printed, format!("{last}\n"));
    assert!(Some(&last) > before.last(), "{last}");
}

/// What `alembic init` sets up, with the models and the database of the program.
fn initialized() -> Program {
    let program = blog("alembic");
    stdout(alembic(&program, &["init", "migrations"]));
    let none = "target_metadata = None\n";
    let models = "from models import Base\n\ntarget_metadata = Base.metadata\n";
    program.replace(ENV, none, models);
    let url = "driver://user:pass@localhost/dbname";
    program.replace("alembic.ini", url, "postgresql+psycopg://");
    program
}

/// The same, with these replacements in the models.
fn alembic_with(replacements: &[(&str, &str)]) -> Program {
    let program = initialized();
    for (part, by) in replacements {
        for file in ["models.py", "second/models.py"] {
            program.replace(file, part, by);
        }
    }
    program
}

/// Makes a migration of all differences, and executes it. Returns its statements.
#[track_caller]
fn migrate(program: &Program, name: &str) -> String {
    let migration = revision(program, name);
    stdout(alembic(program, &["upgrade", "head"]));
    migration
}

#[track_caller]
fn migrate_to_second(program: &Program) {
    use_second(program, "models.py");
    migrate(program, "second");
}

const METADATA: &str = "target_metadata=target_metadata";
const INTEGERS: (&str, &str) = ("    type_annotation_map = {int: BigInteger}\n", "    pass\n");
const IMPORT: (&str, &str) = ("import BigInteger, ", "import BigInteger, Identity, ");
const KEY: &str = "mapped_column(primary_key=True)";

/// SQLAlchemy and Alembic, with keys that become a `BIGSERIAL`: migrations create and change the
/// tables, keys are known after a flush, and a flush sends one statement for many rows. There is no
/// difference afterwards, also if Alembic compares defaults.
#[test]
fn alembic_migrates_and_inserts() {
    let program = initialized();
    let migration = migrate(&program, "first");
    assert!(!migration.contains("snowflake"), "{migration}");
    assert_adopted(&program.cluster, FIRST);
    assert_no_difference(&program);
    migrate_to_second(&program);
    assert_adopted(&program.cluster, SECOND);
    assert_no_difference(&program);
    let compare = [METADATA, ", compare_server_default=True"].concat();
    program.replace(ENV, METADATA, &compare);
    assert_no_difference(&program);
    print_all(&program);
    assert_eq!(program.inserts("tags"), 1);
    assert_no_warning(&program);
}

#[track_caller]
fn print_all(program: &Program) {
    assert_rows(&program.cluster, SECOND, &program.python(&["insert.py"]));
}

/// The same with keys that become identity columns, also `GENERATED ALWAYS`. If Alembic compares
/// defaults, it ends with an `AssertionError`, unless a function of the program compares those of
/// snowflake IDs.
#[test]
fn alembic_compares_defaults_of_identities_with_a_function() {
    for identity in ["Identity()", "Identity(always=True)"] {
        let key = format!("mapped_column({identity}, primary_key=True)");
        let program = alembic_with(&[IMPORT, (KEY, &key)]);
        let migration = migrate(&program, "first");
        assert!(migration.contains("sa.Identity("), "{migration}");
        assert_adopted(&program.cluster, FIRST);
        migrate_to_second(&program);
        assert_adopted(&program.cluster, SECOND);
        assert_no_difference(&program);
        print_all(&program);

        let compare = [METADATA, ", compare_server_default=True"].concat();
        program.replace(ENV, METADATA, &compare);
        let said = error(alembic(&program, &["check"]));
        assert!(said.trim_end().ends_with("AssertionError"), "{said}");
        program.replace(ENV, "=True", "=compare_server_default");
        let begins = "def run_migrations_offline()";
        program.replace(ENV, begins, &[COMPARE, begins].concat());
        assert_no_difference(&program);
    }
}

const COMPARE: &str = r#"def compare_server_default(
    context, inspected_column, metadata_column, inspected_default, metadata_default, rendered_default
):
    # Whether they differ; None leaves it to Alembic.
    return False if inspected_default == "snowflake_nextval()" else None


"#;

/// Keys of the type `Integer` stay, and the program works as without adoption. There is no difference.
#[test]
fn sqlalchemy_keeps_keys_of_integers() {
    let program = alembic_with(&[INTEGERS]);
    migrate(&program, "first");
    assert_eq!(of_type(&program, "users", "id"), "integer");
    assert_no_difference(&program);
    migrate_to_second(&program);
    program.python(&["insert.py"]);
    assert_no_difference(&program);
    assert_no_warning(&program);
}

/// A reference is added to a table with rows.
#[test]
fn alembic_adds_a_reference_to_a_table_with_rows() {
    let program = initialized();
    migrate(&program, "first");
    let rows = "WITH ann AS (INSERT INTO users (name) VALUES ('ann') RETURNING id)
         INSERT INTO posts (author_id, title) SELECT id, 'Snow' FROM ann";
    program.cluster.connect().batch_execute(rows).expect("a post");
    migrate_to_second(&program);
    assert_no_warning(&program);
    assert_adopted(&program.cluster, SECOND);
    let before = ["users", "posts"].map(|table| format!("{table} {}\n", program.ids(table)[0]));
    let printed = before.concat() + &program.python(&["insert.py"]);
    assert_rows(&program.cluster, SECOND, &printed);
}

/// A sequence that the program names stays one, with its small keys: SQLAlchemy takes the next value
/// itself, so the column has no default, or one that uses a sequence of its own. Without RETURNING,
/// SQLAlchemy takes values of the sequence that a converted column still owns. A notice names columns
/// with a default that stay, and the logger shows it.
#[test]
fn sqlalchemy_takes_values_of_sequences_that_the_program_names() {
    let program = blog("alembic");
    let output = program.tool("python", &["-c", SEQUENCES]);
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
