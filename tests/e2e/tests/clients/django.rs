//! Django, with keys of the page's `SnowflakeField` and with keys that have a `db_default`, in the two
//! versions of it that are maintained.

use std::fs;

use snowflake_e2e::{bigint, bigints};

use crate::program::{Program, source};
use crate::python::assert_issued_at;

/// As `tools/test-clients` calls them.
const VERSIONS: [&str; 2] = ["django", "django6"];

/// The program of the page, in a database with its tables.
fn migrated(version: &str) -> Program {
    let program = Program::of_version(version, "django");
    migrate(&program);
    program
}

fn migrate(program: &Program) {
    program.python(&["manage.py", "makemigrations", "orders"]);
    program.python(&["manage.py", "migrate"]);
}

/// Asserts that the migrations are like the models.
#[track_caller]
pub fn assert_no_difference(program: &Program) {
    let found = program.python(&["manage.py", "makemigrations", "--check", "--dry-run"]);
    assert!(found.contains("No changes detected"), "{found}");
}

/// The migration has the default and the generated column. `save()` and `bulk_create()` set the ID,
/// and rows of another table refer to it.
#[test]
fn orders_and_cups() {
    for version in VERSIONS {
        let program = Program::of_version(version, "django");
        // The models declare no keys: those of DEFAULT_AUTO_FIELD.
        let models = program.read("orders/models.py").replace(&format!("    id = {KEY}\n"), "");
        program.write("orders/models.py", &models);
        migrate(&program);
        assert_no_difference(&program);
        let printed = program.python(&["insert.py"]);
        let (cups, orders): (Vec<&str>, Vec<&str>) =
            printed.lines().partition(|line| line.starts_with("cup "));
        assert_eq!(program.assert_orders(&orders.join("\n")), 3);
        assert_issued_at(&program, &printed);
        let wrong = "SELECT count(*) FROM orders WHERE created_at <> snowflake_timestamp(id)";
        assert_eq!(bigint(&mut program.cluster.connect(), wrong), 0);
        let query = "SELECT format('cup %s of %s', id, order_id) FROM cups ORDER BY id";
        let rows = program.cluster.connect().query(query, &[]).expect("cups");
        assert_eq!(cups, rows.iter().map(|row| row.get(0)).collect::<Vec<&str>>());
    }
}

/// A migration that changes the declaration of a key leaves the default of a table that exists as it
/// is. The conversion gives it the new one, and Django finds no difference afterwards.
#[test]
fn a_table_that_exists_is_converted() {
    for version in VERSIONS {
        let program = Program::of_version(version, "django");
        let models = without_generated_column(&program.read("orders/models.py"));
        let key = "models.BigAutoField(primary_key=True)";
        program.write("orders/models.py", &models.replace(KEY, key));
        migrate(&program);
        let insert = "INSERT INTO orders (item) VALUES ('old')";
        program.cluster.connect().batch_execute(insert).expect("a row");
        program.write("orders/models.py", &models);
        migrate(&program);
        program.cluster.connect().batch_execute(insert).expect("a row");
        assert_eq!(program.ids("orders"), [1, 2]);
        let convert = "SELECT snowflake_convert('public.orders', 'id', dry_run => false)";
        program.cluster.connect().batch_execute(convert).expect("a conversion");
        assert_no_difference(&program);
        let insert = "import django; django.setup(); from orders.models import Order
print(Order.objects.create(item='new').id)";
        let id: i64 = program.python(&["-c", insert]).trim().parse().expect("an ID");
        assert_eq!(program.ids("orders"), [1, 2, id]);
        assert!(id > 1 << 40, "{id}");
    }
}

/// A migration converts a table whose key is an `integer`, with the column that refers to it, and with
/// it the declaration of the key, which needs no default.
#[test]
fn a_migration_converts_a_table() {
    for version in VERSIONS {
        let program = Program::of_version(version, "django");
        let models = without_generated_column(&program.read("orders/models.py"));
        let models = models.replace(KEY, "models.AutoField(primary_key=True)");
        program.write("orders/models.py", &models);
        migrate(&program);
        let old =
            "INSERT INTO orders (item) VALUES ('old'); INSERT INTO cups (order_id) VALUES (1)";
        program.cluster.connect().batch_execute(old).expect("rows");
        let converted = models.replacen("models.AutoField", "models.BigAutoField", 1);
        program.write("orders/models.py", &converted);
        program.write("orders/migrations/0002_convert.py", &program.read("convert.py"));
        program.python(&["manage.py", "migrate"]);
        assert_no_difference(&program);
        let insert = "import django; django.setup(); from orders.models import Cup, Order
order = Order.objects.create(item='new')
assert Cup.objects.create(order=order).id == 2
print(order.id)";
        let id: i64 = program.python(&["-c", insert]).trim().parse().expect("an ID");
        assert_eq!(program.ids("orders"), [1, id]);
        assert!(id > 1 << 40, "{id}");
        let references = "SELECT order_id FROM cups ORDER BY order_id";
        assert_eq!(bigints(&mut program.cluster.connect(), references), [1, id]);
        program.python(&["manage.py", "migrate", "orders", "0001"]);
        let again = "INSERT INTO orders (item) VALUES ('again')";
        program.cluster.connect().batch_execute(again).expect("a row");
        assert_eq!(program.ids("orders"), [1, id, id + 1]);
    }
}

/// The key of a model of the program.
const KEY: &str = "SnowflakeField(primary_key=True)";

/// The models, without the column that keeps the type of its key from being changed.
fn without_generated_column(models: &str) -> String {
    let generated = models.find("    created_at").expect("a generated column");
    let after = generated + models[generated..].find("\n\n").expect("an empty line");
    [&models[..generated], &models[after..]].concat()
}

/// Keys and references are strings in JSON, and come back as such.
#[test]
fn a_serializer_gives_strings() {
    for version in VERSIONS {
        let program = migrated(version);
        let printed = program.python(&["-c", SERIALIZED]);
        let ids = [program.ids("cups")[0], program.ids("orders")[0]];
        let expected = format!("{{\"id\":\"{}\",\"order\":\"{}\"}}", ids[0], ids[1]);
        assert_eq!(printed.trim(), format!("{expected}\n{{\"id\":\"3\"}}"), "{version}");
    }
}

const SERIALIZED: &str = r#"
import django
django.setup()
from django.db import models
from rest_framework.renderers import JSONRenderer
from orders.models import Order
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
    for version in VERSIONS {
        let program = Program::of_version(version, "django");
        program
            .cluster
            .connect()
            .batch_execute(
                "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text)",
            )
            .expect("a table");
        let models = program.python(&["manage.py", "inspectdb"]);
        assert_eq!(models.matches("(models.Model)").count(), 1, "{models}");
        assert!(models.contains("id = models.BigAutoField(primary_key=True)"), "{models}");
        program.write("orders/models.py", &models);
        let printed = program.python(&["-c", INSPECTED]);
        assert_eq!(program.assert_orders(&printed), 3);
    }
}

const INSPECTED: &str = r#"
import django
django.setup()
from orders.models import Orders
orders = [Orders.objects.create(item="tea")]
orders += Orders.objects.bulk_create([Orders(item="milk"), Orders(item="sugar")])
for order in orders:
    print(order.item, order.id)
"#;

/// What programs do with objects whose key is not known yet, and with those of `bulk_create()`. Each
/// line that this prints is what became of it.
const TRIED: &str = r#"
import django
django.setup()
from django.test import Client
from orders.models import Cup, Order
from django.contrib.auth.models import User

def orders(*items):
    return [Order(item=item) for item in items]

def many_parents_and_then_their_children():
    cups = [Cup(order=order) for order in Order.objects.bulk_create(orders("a", "b"))]
    Cup.objects.bulk_create(cups)
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

def keys_of_a_dictionary():
    before = Order.objects.count()
    Order.objects.bulk_create(dict.fromkeys(orders(*map(str, range(100)))))
    return f"{Order.objects.count() - before} of 100 rows"

def equality():
    first, second = orders("e", "f")
    return first == second

def another_save():
    order, = Order.objects.bulk_create(orders("g"))
    order.save()
    return f"{Order.objects.filter(item='g').count()} row"

def bulk_update():
    order, = Order.objects.bulk_create(orders("h"))
    order.item = "i"
    Order.objects.bulk_update([order], ["item"])
    return f"{Order.objects.filter(item='i').count()} row"

def deletion():
    order, = Order.objects.bulk_create(orders("j"))
    order.delete()
    return f"{Order.objects.filter(item='j').count()} rows"

User.objects.create_superuser("ann", password="secret")
client = Client()
assert client.login(username="ann", password="secret")
page = "/admin/orders/order/add/"

def admin_page():
    return client.get(page).status_code

def admin_form():
    form = {"item": "k", "cup_set-TOTAL_FORMS": 1, "cup_set-INITIAL_FORMS": 0}
    return client.post(page, form).status_code

for tried in [many_parents_and_then_their_children, a_child_that_is_built_before_its_parent_is_saved,
              a_child_whose_parent_is_not_saved, keys_of_a_dictionary, equality, another_save,
              bulk_update, deletion, admin_page, admin_form]:
    try:
        print(tried.__name__, tried())
    except Exception as error:
        print(tried.__name__, type(error).__name__)
"#;

/// The same for both versions: every reference is stored, and what would lose one is an error.
const OF_THE_FIELD: &str = "\
many_parents_and_then_their_children 2 of 2 references
a_child_that_is_built_before_its_parent_is_saved its parent
a_child_whose_parent_is_not_saved ValueError
keys_of_a_dictionary TypeError
equality False
another_save 1 row
bulk_update 1 row
deletion 0 rows
admin_page 200
admin_form 302
";

/// References are lost without a word, rows are lost or doubled, and the admin page fails.
const OF_A_DB_DEFAULT_5: &str = "\
many_parents_and_then_their_children 0 of 2 references
a_child_that_is_built_before_its_parent_is_saved None
a_child_whose_parent_is_not_saved saved
keys_of_a_dictionary 1 of 100 rows
equality True
another_save 2 row
bulk_update 0 row
deletion TypeError
admin_page TypeError
admin_form TypeError
";

/// A reference is still lost where the child was built first, and the form of the admin page asks for
/// the key.
const OF_A_DB_DEFAULT_6: &str = "\
many_parents_and_then_their_children 2 of 2 references
a_child_that_is_built_before_its_parent_is_saved None
a_child_whose_parent_is_not_saved ValueError
keys_of_a_dictionary TypeError
equality True
another_save 1 row
bulk_update 1 row
deletion 0 rows
admin_page 200
admin_form 200
";

/// What becomes of all that with these models. The admin site needs Django's own apps.
fn tried(version: &str, models: impl FnOnce(String) -> String) -> String {
    let program = Program::of_version(version, "django");
    program.write("orders/models.py", &models(program.read("orders/models.py")));
    program.write("orders/admin.py", ADMIN);
    program.write("urls.py", URLS);
    let settings = source("blog").join("django/settings.py");
    program.write("settings.py", &fs::read_to_string(settings).expect("the settings of the blog"));
    program.replace("settings.py", "\"blog\"", "\"orders\"");
    program.replace("settings.py", "AUTH_USER_MODEL = \"blog.User\"", "");
    migrate(&program);
    program.python(&["-c", TRIED])
}

const ADMIN: &str = "
from django.contrib import admin
from .models import Cup, Order

class CupInline(admin.TabularInline):
    model = Cup

@admin.register(Order)
class OrderAdmin(admin.ModelAdmin):
    inlines = [CupInline]
";

const URLS: &str = "
from django.contrib import admin
from django.urls import path
urlpatterns = [path('admin/', admin.site.urls)]
";

/// Whatever a program does with objects that have no key yet, no reference and no row is lost.
#[test]
fn keys_of_the_field_lose_nothing() {
    for version in VERSIONS {
        assert_eq!(tried(version, |models| models), OF_THE_FIELD, "{version}");
    }
}

/// With a `db_default`, an object that is not saved yet has an expression in place of its key, which
/// is not NULL, equals that of any other object, and is stored as NULL in a reference.
#[test]
fn keys_with_a_db_default_lose_references() {
    for (version, expected) in VERSIONS.into_iter().zip([OF_A_DB_DEFAULT_5, OF_A_DB_DEFAULT_6]) {
        let printed = tried(version, |models| {
            let by = "models.BigIntegerField(primary_key=True, db_default=SnowflakeNextval())";
            let models = models.replace(KEY, by);
            models.replacen("class Order", &[NEXTVAL, "class Order"].concat(), 1)
        });
        assert_eq!(printed, expected, "{version}");
    }
}

const NEXTVAL: &str = "
class SnowflakeNextval(models.Func):
    function = 'snowflake_nextval'
    arity = 0
    output_field = models.BigIntegerField()


";
