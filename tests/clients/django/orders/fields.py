from django.db import models


class SnowflakeField(models.BigAutoField):
    """A bigint key whose default is a snowflake ID, and which Django takes for an automatic one."""

    def db_type_suffix(self, connection):
        return "DEFAULT snowflake_nextval()"
