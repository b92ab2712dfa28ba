from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0001_initial")]
    operations = [
        migrations.RunSQL(
            "CREATE EXTENSION IF NOT EXISTS snowflake_convert CASCADE; SET LOCAL lock_timeout = '2s'",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(
            "SELECT snowflake_convert('orders', 'id', dry_run => false, validate => true)",
            "SELECT snowflake_revert('orders', 'id', dry_run => false)",
            state_operations=[
                migrations.AlterField(
                    "order", "id", models.BigAutoField(primary_key=True, serialize=False)
                )
            ],
        ),
    ]
