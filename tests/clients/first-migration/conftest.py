import os
from pathlib import Path

from pytest_postgresql import factories

postgresql_noproc = factories.postgresql_noproc(
    host=os.environ["PGHOST"], user=os.environ["PGUSER"], load=[Path("snowflake.sql")]
)
postgresql = factories.postgresql("postgresql_noproc")
