import sys

import django

django.setup()

from blog import models  # noqa: E402: after the set-up


def show(*rows):
    for row in rows:
        print(row._meta.db_table, row.pk)


if sys.argv[1] == "write":
    ann = models.User(username="Ann")
    ann.save()
    post = models.Post.objects.create(author=ann, title="Tea")
    tags = models.Tag.objects.bulk_create(
        [models.Tag(name=name) for name in ["drinks", "kitchen", "garden"]]
    )
    post.tags.set(tags[:2])
    show(ann, models.User.objects.create_user("Bob"), post, *tags, *post.tags.through.objects.all())
    post = models.Post.objects.select_related("author").get(pk=post.pk)
    names = ", ".join(post.tags.order_by("name").values_list("name", flat=True))
    print(f"{post.title} by {post.author.username}: {names}")
else:
    bob = models.User.objects.get(username="Bob")
    post = models.Post.objects.get(author__username="Ann")
    comment, _ = models.Comment.objects.get_or_create(post=post, author=bob, body="How long?")
    show(comment)
    post.editor = bob
    post.save()
    comment = models.Comment.objects.select_related("post__editor").get(pk=comment.pk)
    print(f"{comment.post.title}, edited by {comment.post.editor.username}: {comment.body}")
