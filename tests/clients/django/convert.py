from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0001_initial")]
    operations = [
        migrations.RunSQL(
            [
                "SET LOCAL lock_timeout = 500",
                "LOCK TABLE public.cups, public.orders IN ACCESS EXCLUSIVE MODE",
                "ALTER TABLE public.cups ALTER order_id TYPE bigint",
                """ALTER TABLE public.orders ALTER id DROP IDENTITY IF EXISTS, ALTER id TYPE bigint,
                    ALTER id SET DEFAULT public.snowflake_nextval()""",
            ],
            [
                "SET LOCAL lock_timeout = 500",
                "LOCK TABLE public.orders IN ACCESS EXCLUSIVE MODE",
                "CREATE SEQUENCE IF NOT EXISTS public.orders_id_seq",
                "ALTER SEQUENCE public.orders_id_seq OWNED BY public.orders.id",
                """SELECT pg_catalog.setval('public.orders_id_seq', pg_catalog.max(id))
                    FROM public.orders""",
                """ALTER TABLE public.orders
                    ALTER id SET DEFAULT pg_catalog.nextval('public.orders_id_seq')""",
            ],
            state_operations=[
                migrations.AlterField(
                    "order", "id", models.BigAutoField(primary_key=True, serialize=False)
                )
            ],
        ),
    ]
