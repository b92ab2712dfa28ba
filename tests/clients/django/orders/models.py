from django.db import models


class SnowflakeNextval(models.Func):
    function = "snowflake_nextval"
    arity = 0
    output_field = models.BigIntegerField()


class SnowflakeTimestamp(models.Func):
    function = "snowflake_timestamp"
    arity = 1
    output_field = models.DateTimeField()


class Order(models.Model):
    id = models.BigIntegerField(primary_key=True, db_default=SnowflakeNextval())
    item = models.TextField()
    created_at = models.GeneratedField(
        expression=SnowflakeTimestamp("id"),
        output_field=models.DateTimeField(),
        db_persist=True,
    )

    class Meta:
        db_table = "orders"


class SnowflakeField(models.BigAutoField):
    """A bigint key with the default, which Django takes for an automatic one."""

    def db_type_suffix(self, connection):
        return "DEFAULT snowflake_nextval()"


class Cup(models.Model):
    id = SnowflakeField(primary_key=True)
    order = models.ForeignKey(Order, on_delete=models.CASCADE)

    class Meta:
        db_table = "cups"
