from pathlib import Path

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import pre_migrate


def run_script(using, **_):
    with connections[using].cursor() as cursor:
        cursor.execute(Path("snowflake.sql").read_text())


class ShopConfig(AppConfig):
    name = "shop"

    def ready(self):
        # Before any table, also in the databases of tests.
        pre_migrate.connect(run_script, sender=self)
