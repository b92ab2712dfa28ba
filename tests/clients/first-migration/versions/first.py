from pathlib import Path

from alembic import op

revision = "first"
down_revision = None


def upgrade():
    op.execute(Path("snowflake.sql").read_text())
    op.execute(Path("orders.sql").read_text())
