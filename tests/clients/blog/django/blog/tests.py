from django.test import TestCase

from .models import User


class UserTest(TestCase):
    def test_the_database_of_the_tests_has_snowflake_ids(self):
        self.assertGreater(User.objects.create_user("Ann").pk, 2**53)
