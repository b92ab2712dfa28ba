import shop.models
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    operations = [
        migrations.CreateModel(
            "Order",
            [
                ("id", shop.models.SnowflakeField(primary_key=True, serialize=False)),
                ("item", models.TextField(null=True)),
            ],
            options={"db_table": "orders"},
        ),
    ]
