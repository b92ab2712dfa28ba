import django

django.setup()

from orders.models import Cup, Order  # noqa: E402: after the set-up

order = Order(item="tea")
order.save()
print(order.item, order.id)
print(type(order.id).__name__)
print("issued at", round(order.created_at.timestamp() * 1000))

# Many rows with one statement: the objects have their IDs afterwards, so that others can refer to
# them.
orders = Order.objects.bulk_create([Order(item=item) for item in ["milk", "sugar"]])
for order in orders:
    print(order.item, order.id)
for cup in Cup.objects.bulk_create([Cup(order=order) for order in orders]):
    print("cup", cup.id, "of", cup.order_id)
