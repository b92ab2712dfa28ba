from django.test import TestCase

from .models import Order


class Tests(TestCase):
    def test_keys(self):
        first, second = (Order.objects.create(item=item) for item in ["tea", "milk"])
        self.assertGreater(second.id, first.id)
