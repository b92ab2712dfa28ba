import os

INSTALLED_APPS = ["orders"]
USE_TZ = True
# The key of models that declare none.
DEFAULT_AUTO_FIELD = "orders.fields.SnowflakeField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": os.environ["PGDATABASE"],
        # The rest is that of the environment: PGHOST and others, or what is set here.
    }
}
