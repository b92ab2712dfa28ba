from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0001_initial")]
    operations = [
        migrations.RunSQL("CREATE EXTENSION IF NOT EXISTS snowflake_convert CASCADE"),
        migrations.RunSQL(
            "SELECT snowflake_convert('orders', 'id', dry_run => false, validate => true)",
            state_operations=[
                migrations.AlterField(
                    "order", "id", models.BigAutoField(primary_key=True, serialize=False)
                )
            ],
        ),
    ]
