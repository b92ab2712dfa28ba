"""The backend for PostgreSQL, to which integers are bigint, and so are AutoFields and what refers to them."""

from django.db.backends.postgresql import base, operations


class DatabaseOperations(operations.DatabaseOperations):
    integer_field_ranges = operations.DatabaseOperations.integer_field_ranges | {
        "AutoField": operations.DatabaseOperations.integer_field_ranges["BigAutoField"],
        "IntegerField": operations.DatabaseOperations.integer_field_ranges["BigIntegerField"],
    }
    integerfield_type_map = operations.DatabaseOperations.integerfield_type_map | {
        "IntegerField": operations.DatabaseOperations.integerfield_type_map["BigIntegerField"],
    }


class DatabaseWrapper(base.DatabaseWrapper):
    ops_class = DatabaseOperations
    data_types = base.DatabaseWrapper.data_types | {"AutoField": "bigint", "IntegerField": "bigint"}
