import django

django.setup()

from blog.models import Comment, Post, Tag, User  # noqa: E402: after the set-up
from django.contrib.admin.models import LogEntry  # noqa: E402
from django.contrib.auth.models import Group, Permission  # noqa: E402
from django.test import Client  # noqa: E402

ann = User.objects.create_superuser("Ann", password="secret")
tag = Tag.objects.create(name="drinks")
client = Client()
assert client.login(username="Ann", password="secret")


def send(page, **fields):
    response = client.post(f"/admin/blog/post/{page}/", fields)
    assert response.status_code == 302, response.content.decode()


def comments(initial, body, **more):
    fields = {"0-author": ann.pk, "0-body": body, "TOTAL_FORMS": 1, "INITIAL_FORMS": initial}
    return {f"comment_set-{name}": value for name, value in (fields | more).items()}


# The admin site adds a post with a comment and a tag, and changes both.
send("add", title="Tea", author=ann.pk, tags=[tag.pk], **comments(0, "How long?"))
post, comment = Post.objects.get(tags=tag), Comment.objects.get()
of_comment = {"0-id": comment.pk, "0-post": post.pk}
send(f"{post.pk}/change", title="Milk", author=ann.pk, **comments(1, "How much?", **of_comment))
post, comment = Post.objects.get(tags=None), Comment.objects.get(pk=comment.pk)
assert (post.title, comment.body) == ("Milk", "How much?")
for page in ["/admin/", f"/admin/blog/post/{post.pk}/history/", f"/admin/blog/post/?id={post.pk}"]:
    assert b"Milk" in client.get(page).content, page
assert [entry.get_edited_object() for entry in LogEntry.objects.all()] == [post, post]
send(f"{post.pk}/delete", post="yes")
assert not Post.objects.exists()

# Permissions by a group.
bob = User.objects.create_user("Bob", is_staff=True)
group = Group.objects.create(name="editors")
group.permissions.set(Permission.objects.filter(content_type__app_label="blog"))
bob.groups.add(group)
assert User.objects.get(pk=bob.pk).has_perm("blog.change_post")
print("browsed")
