import django

django.setup()

from shop.models import Order  # noqa: E402: after the set-up

for order in Order.objects.bulk_create([Order(item=item) for item in ["tea", "milk", "sugar"]]):
    print(order.item, order.id)
