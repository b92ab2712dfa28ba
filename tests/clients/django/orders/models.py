from django.db import models

from .fields import SnowflakeField


class SnowflakeTimestamp(models.Func):
    function = "snowflake_timestamp"
    arity = 1
    output_field = models.DateTimeField()


class Order(models.Model):
    id = SnowflakeField(primary_key=True)
    item = models.TextField()
    created_at = models.GeneratedField(
        expression=SnowflakeTimestamp("id"),
        output_field=models.DateTimeField(),
        db_persist=True,
    )

    class Meta:
        db_table = "orders"


class Cup(models.Model):
    id = SnowflakeField(primary_key=True)
    order = models.ForeignKey(Order, null=True, on_delete=models.CASCADE)

    class Meta:
        db_table = "cups"
