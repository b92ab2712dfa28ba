from django.db import models


class SnowflakeField(models.BigAutoField):
    def db_type_suffix(self, connection):
        return "DEFAULT snowflake_nextval()"


class Order(models.Model):
    item = models.TextField(null=True)

    class Meta:
        db_table = "orders"
