import json

import django

django.setup()

from django.db.models import BigIntegerField, CharField, F, Func, Value  # noqa: E402: after the set-up
from orders.models import Order  # noqa: E402


class ToPublic(Func):
    function = "snowflake_to_public"
    output_field = CharField()


class FromPublic(Func):
    function = "snowflake_from_public"
    output_field = BigIntegerField()


# One query for many orders, with the name of each.
orders = Order.objects.annotate(public_id=ToPublic(F("id"), Value("ord")))


def serialize(order):
    return {"id": order.public_id, "item": order.item}


def find(name):
    return orders.get(id=FromPublic(Value(name), Value("ord")))


for item in ["tea", "milk"]:
    Order(item=item).save()
print(json.dumps([serialize(order) for order in orders.order_by("id")]))
print("found", find(orders.earliest("id").public_id).item)
try:
    find("ord_0123456789ABCDEFGHIJKL")
except Order.DoesNotExist:
    print("a forged name: not found")
