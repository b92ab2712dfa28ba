import django

django.setup()

from blog.models import Comment, Post, Tag, User  # noqa: E402: after the set-up
from django.contrib.admin.models import LogEntry  # noqa: E402
from django.contrib.auth.models import Group, Permission  # noqa: E402
from django.test import Client  # noqa: E402

ann = User.objects.create_superuser("ann", password="secret")
tag = Tag.objects.create(name="snow")
client = Client()
assert client.login(username="ann", password="secret")


def send(path, **fields):
    response = client.post(path, fields)
    assert response.status_code == 302, response.content.decode()


# The admin site adds a post with a comment and a tag, and changes both.
inline = {
    "comment_set-TOTAL_FORMS": 1,
    "comment_set-INITIAL_FORMS": 0,
    "comment_set-0-author": ann.pk,
    "comment_set-0-body": "!",
}
send("/admin/blog/post/add/", title="Snow", author=ann.pk, tags=[tag.pk], **inline)
post, comment = Post.objects.get(), Comment.objects.get()
assert list(post.tags.all()) == [tag]
inline |= {
    "comment_set-INITIAL_FORMS": 1,
    "comment_set-0-id": comment.pk,
    "comment_set-0-post": post.pk,
    "comment_set-0-body": "?",
}
send(f"/admin/blog/post/{post.pk}/change/", title="Ice", author=ann.pk, **inline)
post.refresh_from_db()
comment.refresh_from_db()
assert (post.title, comment.body, post.tags.count()) == ("Ice", "?", 0)
for page in ["/admin/", f"/admin/blog/post/{post.pk}/history/", f"/admin/blog/post/?id={post.pk}"]:
    assert b"Ice" in client.get(page).content, page

# Permissions by a group.
bob = User.objects.create_user("bob", is_staff=True)
group = Group.objects.create(name="editors")
group.permissions.set(Permission.objects.filter(content_type__app_label="blog"))
bob.groups.add(group)
assert User.objects.get(pk=bob.pk).has_perm("blog.change_post")
assert [entry.get_edited_object() for entry in LogEntry.objects.all()] == [post, post]

# The view of the application.
read = client.get(f"/posts/{post.pk}/")
assert read.json() == {"id": post.pk, "title": "Ice", "reader": "ann"}
send(f"/admin/blog/post/{post.pk}/delete/", post="yes")
assert client.get(f"/posts/{post.pk}/").status_code == 404
print("browsed")
