import django

django.setup()

from orders.models import Cup, Order  # noqa: E402: after the set-up

order = Order(item="tea")
order.save()
print(order.item, order.id)
print(type(order.id), type(order.created_at), order.created_at.isoformat())

# bulk_create() does not put IDs of a db_default into the objects.
Order.objects.bulk_create([Order(item=item) for item in ["milk", "sugar"]])
for order in Order.objects.filter(item__in=["milk", "sugar"]).order_by("id"):
    print(order.item, order.id)

# It does so with keys that Django takes for automatic ones.
cups = Cup.objects.bulk_create([Cup(order=order) for _ in range(3)])
for cup in cups:
    print("cup", cup.id)
