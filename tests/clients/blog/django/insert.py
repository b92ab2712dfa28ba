import django

django.setup()

from blog import models  # noqa: E402: after the set-up
from blog.models import Comment, Post, Tag, User  # noqa: E402


def show(*rows):
    for row in rows:
        print(row._meta.db_table, row.pk)


# save() and create() set the key.
ann = User(username="ann")
ann.save()
bob = User.objects.create_user("bob")
show(ann, bob)
post = Post.objects.create(author=ann, title="Snow")
show(post)

# bulk_create() sets the keys of all rows.
tags = Tag.objects.bulk_create([Tag(name=name) for name in ["ice", "snow", "wind"]])
comments = Comment.objects.bulk_create([Comment(post=post, author=bob, body="!") for _ in range(100)])
show(*tags, *comments)
reply, _ = Comment.objects.get_or_create(post=post, author=ann, parent=comments[0], body="?")
show(reply)

# A table that joins two others, with a key of its own.
post.tags.add(*tags)
post.tags.remove(tags[2])
assert {tag.name for tag in Post.objects.get(pk=post.pk).tags.all()} == {"ice", "snow"}
show(*Post.tags.through.objects.all())

# What was inserted is found by its key, by its references, and changed.
found = Comment.objects.select_related("post__author").get(pk=reply.pk)
assert (found.post.author, found.parent.author.username) == (ann, "bob")
assert Comment.objects.filter(post__author__id=ann.id, id__gt=comments[0].id).count() == 100
assert Tag.objects.get(post=post.pk, name="ice") == tags[0]
ann.first_name = "Ann"
ann.save()
assert User.objects.in_bulk([ann.pk])[ann.pk].first_name == "Ann"
Comment.objects.filter(pk=comments[1].pk).update(body="!!")
assert [c.body for c in Comment.objects.order_by("pk")[:3]] == ["!", "!!", "!"]
ann.full_clean(exclude=["password"])

# The tables and columns of the second migration.
if hasattr(models, "Like"):
    post.editor = bob
    post.subtitle = "and ice"
    post.save()
    assert bob.edited.get() == post
    show(*models.Like.objects.bulk_create([models.Like(post=post, user=user) for user in [ann, bob]]))
