import sys

import models
from sqlalchemy import create_engine, insert, select
from sqlalchemy.orm import Session

# The connection is that of the environment: PGHOST and others, or what is set here.
engine = create_engine("postgresql+psycopg://")


def show(*rows):
    for row in rows:
        print(row.__tablename__, row.id)


with Session(engine, expire_on_commit=False) as session:
    if sys.argv[1] == "write":
        # A bulk insert, whose order counts on keys that increase.
        names = ["drinks", "kitchen", *map(str, range(1500))]
        returning = insert(models.Tag).returning(models.Tag, sort_by_parameter_order=True)
        tags = session.scalars(returning, [{"name": name} for name in names]).all()
        assert [tag.name for tag in tags] == names
        # A flush sets the keys, also of what is reached by a relationship.
        post = models.Post(author=models.User(name="Ann"), title="Tea", tags=tags[:2])
        bob = models.User(name="Bob")
        session.add_all([post, bob])
        session.commit()
        show(post, post.author, bob, *tags)
    else:
        bob = session.scalars(select(models.User).filter_by(name="Bob")).one()
        post = session.scalars(select(models.Post).join(models.Post.author).filter_by(name="Ann")).one()
        comment = models.Comment(post=post, author_id=bob.id, body="How long?")
        post.editor_id = bob.id
        session.add(comment)
        session.commit()
        show(comment)

with Session(engine) as session:
    if sys.argv[1] == "write":
        post = session.get(models.Post, post.id)
        print(f"{post.title} by {post.author.name}: {', '.join(tag.name for tag in post.tags)}")
    else:
        comment = session.get(models.Comment, comment.id)
        print(f"{comment.post.title}, edited by {comment.post.editor.name}: {comment.body}")
