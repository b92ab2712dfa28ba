from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    class Meta:
        db_table = "users"


class Tag(models.Model):
    name = models.CharField(max_length=50, unique=True)

    class Meta:
        db_table = "tags"


class Post(models.Model):
    author = models.ForeignKey(User, on_delete=models.CASCADE)
    editor = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="edited")  # second
    title = models.CharField(max_length=200)
    tags = models.ManyToManyField(Tag, blank=True)

    class Meta:
        db_table = "posts"

    def __str__(self):
        return self.title


# second
class Comment(models.Model):
    post = models.ForeignKey(Post, on_delete=models.CASCADE)
    author = models.ForeignKey(User, on_delete=models.CASCADE)
    body = models.TextField()

    class Meta:
        db_table = "comments"
