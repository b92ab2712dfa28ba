//! Django, with keys of the page's `SnowflakeField` and with keys that have a `db_default`, in the
//! two versions of it that are maintained.

use snowflake_e2e::{bigints, values};

use crate::program::Program;

/// The program of the page in each version, as `tools/test-clients` calls them.
fn versions() -> impl Iterator<Item = Program> {
    ["django", "django6"].into_iter().map(|version| {
        println!("{version}");
        Program::with(version, "django")
    })
}

const MODELS: &str = "orders/models.py";

/// The key of a model of the program.
const KEY: &str = "SnowflakeField(primary_key=True)";

/// Makes a migration of the models, and executes it.
fn migrate(program: &Program) {
    program.run("python -m django makemigrations orders");
    program.run("python -m django migrate");
}

/// Asserts that the migrations are like the models.
#[track_caller]
fn assert_no_difference(program: &Program) {
    let found = program.run("python -m django makemigrations --check --dry-run");
    assert!(found.contains("No changes detected"), "{found}");
}

/// Returns the output of a program that uses the models.
#[track_caller]
fn eval(program: &Program, code: &str) -> String {
    let set_up = "import django; django.setup()\nfrom orders.models import *\n";
    program.eval("python -c", &[set_up, code].concat())
}

/// The ID of a new order, which is a snowflake ID.
#[track_caller]
fn new_order(program: &Program, code: &str) -> i64 {
    let id = eval(program, code).trim().parse().expect("an ID");
    assert!(id > 1 << 40, "{id}");
    id
}

/// The models, without the column that keeps the type of its key from being changed.
fn without_generated_column(program: &Program) -> String {
    let models = program.read(MODELS);
    let generated = models.find("    created_at").expect("a generated column");
    let after = generated + models[generated..].find("\n\n").expect("an empty line");
    [&models[..generated], &models[after..]].concat()
}

/// The migration has the default and the generated column. `save()` and `bulk_create()` set the ID,
/// and rows of another table refer to it.
#[test]
fn orders_and_cups() {
    for program in versions() {
        // The models declare no keys: those of DEFAULT_AUTO_FIELD.
        program.replace(MODELS, &format!("    id = {KEY}\n"), "");
        migrate(&program);
        assert_no_difference(&program);
        let printed = program.run("python insert.py");
        let (cups, orders): (Vec<&str>, Vec<&str>) =
            printed.lines().partition(|line| line.starts_with("cup "));
        assert_eq!(program.assert_orders(&orders.join("\n")), 3);
        let time = "SELECT (snowflake_json(min(id)) ->> 'unix_ms')::bigint FROM orders";
        let time = program.cluster.bigint(time);
        assert!(printed.contains(&format!("\nint\nissued at {time}\n")), "{printed}");
        let wrong = "SELECT count(*) FROM orders WHERE created_at <> snowflake_timestamp(id)";
        assert_eq!(program.cluster.bigint(wrong), 0);
        let query = "SELECT format('cup %s of %s', id, order_id) FROM cups ORDER BY id";
        let rows = program.cluster.connect().query(query, &[]).expect("cups");
        assert_eq!(cups, rows.iter().map(|row| row.get(0)).collect::<Vec<&str>>());
    }
}

/// A migration that changes the declaration of a key leaves the default of a table that exists as
/// it is. The new default, set by hand, makes no difference for Django.
#[test]
fn a_table_that_exists_is_converted() {
    for program in versions() {
        let models = without_generated_column(&program);
        program.write(MODELS, &models.replace(KEY, "models.BigAutoField(primary_key=True)"));
        migrate(&program);
        program.write(MODELS, &models);
        migrate(&program);
        program.sql("INSERT INTO orders (item) VALUES ('old')");
        assert_eq!(program.ids("orders"), [1]);
        program.sql(
            "ALTER TABLE orders ALTER id DROP IDENTITY, ALTER id SET DEFAULT snowflake_nextval()",
        );
        assert_no_difference(&program);
        let id = new_order(&program, "print(Order.objects.create(item='new').id)");
        assert_eq!(program.ids("orders"), [1, id]);
    }
}

/// A migration converts a table whose key is an `integer`, with the column that refers to it, and
/// with it the declaration of the key, which needs no default. It has what the extension prints,
/// and can be undone and repeated.
#[test]
fn a_migration_converts_a_table() {
    for program in versions() {
        let models = without_generated_column(&program);
        let models = models.replace(KEY, "models.AutoField(primary_key=True)");
        program.write(MODELS, &models);
        migrate(&program);
        program.sql("INSERT INTO orders (item) VALUES ('old')");
        program.sql("INSERT INTO cups (order_id) VALUES (1)");
        program.write(MODELS, &models.replacen("models.AutoField", "models.BigAutoField", 1));
        let migration = program.read("convert.py");
        for printed in changes(&program, "snowflake_conversion('{orders}')") {
            let pasted = printed.replace("DROP IDENTITY", "DROP IDENTITY IF EXISTS");
            assert!(one_line(&migration).contains(&pasted), "{pasted}");
        }
        program.write("orders/migrations/0002_convert.py", &migration);
        program.run("python -m django migrate");
        assert_no_difference(&program);
        let insert = "order = Order.objects.create(item='new')
assert Cup.objects.create(order=order).id == 2
print(order.id)";
        let id = new_order(&program, insert);
        assert_eq!(program.ids("orders"), [1, id]);
        let references = "SELECT order_id FROM cups ORDER BY order_id";
        assert_eq!(bigints(&mut program.cluster.connect(), references), [1, id]);
        program.run("python -m django migrate orders 0001");
        program.sql("INSERT INTO orders (item) VALUES ('again')");
        assert_eq!(program.ids("orders"), [1, id, id + 1]);
        program.run("python -m django migrate");
        assert!(new_order(&program, "print(Order.objects.create(item='newer').id)") > id + 1);
    }
}

/// The text with each run of spaces and line breaks as one space.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// The locks and changes that a function prints, without the semicolons.
fn changes(program: &Program, function: &str) -> Vec<String> {
    let printed = format!("SELECT line FROM {function} AS line WHERE line ~ '^(LOCK|ALTER)'");
    let lines = values::<String>(&mut program.cluster.connect(), &printed);
    assert!(lines.len() > 1);
    lines.iter().map(|line| line.trim_end_matches(';').to_owned()).collect()
}

/// Keys and references are strings in JSON, and come back as such.
#[test]
fn a_serializer_gives_strings() {
    for program in versions() {
        migrate(&program);
        let printed = eval(&program, SERIALIZED);
        let ids = [program.ids("cups")[0], program.ids("orders")[0]];
        let expected = format!("{{\"id\":\"{}\",\"order\":\"{}\"}}", ids[0], ids[1]);
        assert_eq!(printed.trim(), format!("{expected}\n{{\"id\":\"3\"}}"));
    }
}

const SERIALIZED: &str = r#"
from rest_framework.renderers import JSONRenderer
from orders.serializers import CupSerializer, SnowflakeSerializer
sent = CupSerializer(data={"order": str(Order.objects.create(item="tea").id)})
sent.is_valid(raise_exception=True)
print(JSONRenderer().render(CupSerializer(sent.save()).data).decode())

class Former(models.Model):
    id = models.AutoField(primary_key=True)
    class Meta:
        app_label = "orders"
class FormerSerializer(SnowflakeSerializer):
    class Meta:
        model = Former
        fields = ["id"]
print(JSONRenderer().render(FormerSerializer(Former(id=3)).data).decode())
"#;

/// `inspectdb` takes a key with the default for an automatic one, so that rows can be inserted, and
/// `bulk_create()` sets IDs. It makes no model of what belongs to the extension.
#[test]
fn inspects_a_default() {
    for program in versions() {
        let default = "id bigint PRIMARY KEY DEFAULT snowflake_nextval()";
        program.sql(&format!("CREATE TABLE orders ({default}, item text)"));
        let models = program.run("python -m django inspectdb");
        assert_eq!(models.matches("(models.Model)").count(), 1, "{models}");
        assert!(models.contains("id = models.BigAutoField(primary_key=True)"), "{models}");
        program.write(MODELS, &models);
        let printed = eval(&program, INSPECTED);
        assert_eq!(program.assert_orders(&printed), 3);
    }
}

const INSPECTED: &str = r#"
orders = [Orders.objects.create(item="tea")]
orders += Orders.objects.bulk_create([Orders(item="milk"), Orders(item="sugar")])
for order in orders:
    print(order.item, order.id)
"#;

/// Acts of programs on objects whose key is not known yet, and on those of `bulk_create()`. Each
/// line of output is the result of one.
const TRIED: &str = r#"
def many_parents_and_then_their_children():
    orders = Order.objects.bulk_create([Order(item=item) for item in "ab"])
    Cup.objects.bulk_create([Cup(order=order) for order in orders])
    return f"{Cup.objects.filter(order__isnull=False).count()} of 2 references"

def a_child_that_is_built_before_its_parent_is_saved():
    order = Order(item="c")
    cup = Cup(order=order)
    order.save()
    cup.save()
    cup.refresh_from_db()
    return "its parent" if cup.order_id == order.id else cup.order_id

def a_child_whose_parent_is_not_saved():
    Cup(order=Order(item="d")).save()
    return "saved"

def another_save():
    order, = Order.objects.bulk_create([Order(item="e")])
    order.save()
    return f"{Order.objects.filter(item='e').count()} row"

for tried in [many_parents_and_then_their_children, a_child_that_is_built_before_its_parent_is_saved,
              a_child_whose_parent_is_not_saved, another_save]:
    try:
        print(tried.__name__, tried())
    except Exception as error:
        print(tried.__name__, type(error).__name__)
"#;

/// Whatever a program does with objects that have no key yet, no reference and no row is lost: what
/// would lose one is an error.
#[test]
fn keys_of_the_field_lose_nothing() {
    for program in versions() {
        migrate(&program);
        let expected = "\
many_parents_and_then_their_children 2 of 2 references
a_child_that_is_built_before_its_parent_is_saved its parent
a_child_whose_parent_is_not_saved ValueError
another_save 1 row
";
        assert_eq!(eval(&program, TRIED), expected);
    }
}

/// With a `db_default`, an object that is not saved yet has an expression in place of its key,
/// which is not NULL, and is stored as NULL in a reference. In Django 5, a second `save()` inserts
/// again.
#[test]
fn keys_with_a_db_default_lose_references() {
    let expected = [
        "\
many_parents_and_then_their_children 0 of 2 references
a_child_that_is_built_before_its_parent_is_saved None
a_child_whose_parent_is_not_saved saved
another_save 2 row
",
        "\
many_parents_and_then_their_children 2 of 2 references
a_child_that_is_built_before_its_parent_is_saved None
a_child_whose_parent_is_not_saved ValueError
another_save 1 row
",
    ];
    for (program, expected) in versions().zip(expected) {
        let by = "models.BigIntegerField(primary_key=True, db_default=SnowflakeNextval())";
        let models = program.read(MODELS).replace(KEY, by);
        let models = models.replacen("class Order", &[NEXTVAL, "class Order"].concat(), 1);
        program.write(MODELS, &models);
        migrate(&program);
        assert_eq!(eval(&program, TRIED), expected);
    }
}

const NEXTVAL: &str = "
class SnowflakeNextval(models.Func):
    function = 'snowflake_nextval'
    arity = 0
    output_field = models.BigIntegerField()


";
