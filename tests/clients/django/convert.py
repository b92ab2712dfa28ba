from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0001_initial")]
    operations = [
        migrations.RunSQL("SET LOCAL lock_timeout = '2s'", migrations.RunSQL.noop),
        migrations.RunSQL(
            "SELECT snowflake_convert('orders', 'id', dry_run => false)",
            "SELECT snowflake_revert('orders', 'id', dry_run => false)",
            state_operations=[
                migrations.AlterField(
                    "order", "id", models.BigAutoField(primary_key=True, serialize=False)
                )
            ],
        ),
    ]
