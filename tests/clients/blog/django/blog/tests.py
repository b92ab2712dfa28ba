from django.test import TestCase

from .models import Post, User


class PostTest(TestCase):
    def test_the_database_of_the_tests_has_snowflake_ids(self):
        post = Post.objects.create(author=User.objects.create_user("ann"), title="Snow")
        self.assertGreater(Post.objects.get(author=post.author_id).pk, 2**53)
