import os

INSTALLED_APPS = ["shop"]
DEFAULT_AUTO_FIELD = "shop.models.SnowflakeField"
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}}
