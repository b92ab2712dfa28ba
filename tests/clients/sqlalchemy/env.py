from alembic import context
from sqlalchemy import create_engine

from models import Base


def include_name(name, type_, parent_names):
    # This schema and its tables come with the extension.
    return type_ != "schema" or name != "snowflake_internal"


# The connection is that of the environment: PGHOST and others, or what is set here.
engine = create_engine("postgresql+psycopg://")
with engine.connect() as connection:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        include_schemas=True,
        include_name=include_name,
    )
    with context.begin_transaction():
        context.run_migrations()
