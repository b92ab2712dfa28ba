import models
from models import Comment, Post, Tag, User
from sqlalchemy import create_engine, insert, select
from sqlalchemy.orm import Session

# The connection is that of the environment: PGHOST and others, or what is set here.
engine = create_engine("postgresql+psycopg://")


def show(*rows):
    for row in rows:
        print(row.__tablename__, row.id)


with Session(engine, expire_on_commit=False) as session:
    # A flush sets the keys, also of what is reached by a relationship.
    ann, bob = User(name="ann"), User(name="bob")
    tags = [Tag(name=name) for name in ["ice", "snow", "wind"]]
    post = Post(author=ann, title="Snow", tags=tags)
    session.add_all([post, bob])
    session.flush()
    show(ann, bob, post, *tags)
    assert dict(session.execute(select(Tag.id, Tag.name)).all()) == {tag.id: tag.name for tag in tags}

    # A bulk insert with RETURNING, and one without.
    rows = [{"post_id": post.id, "author_id": bob.id, "body": str(number)} for number in range(1000)]
    comments = session.scalars(insert(Comment).returning(Comment, sort_by_parameter_order=True), rows).all()
    assert [comment.body for comment in comments] == [row["body"] for row in rows]
    session.execute(insert(Comment), rows)
    reply = Comment(post=post, author_id=ann.id, parent_id=comments[0].id, body="?")
    session.add(reply)
    post.tags.remove(tags[2])
    session.commit()

# Core, without objects.
with engine.begin() as connection:
    [key] = connection.execute(insert(User).values(name="eve")).inserted_primary_key
    print("users", key)

# What was inserted is found by its key, by its references, and changed.
with Session(engine, expire_on_commit=False) as session:
    found = session.get(Comment, reply.id)
    assert found.post.author.name == "ann"
    assert {tag.name for tag in found.post.tags} == {"ice", "snow"}
    of_ann = select(Comment).join(Comment.post).where(Post.author_id == ann.id, Comment.id != reply.id)
    comments = session.scalars(of_ann).all()
    assert len(comments) == 2000
    show(found, *comments)
    found.body = "??"
    session.commit()
    assert session.scalars(select(Comment.body).where(Comment.id == reply.id)).one() == "??"

# The tables and columns of the second migration.
if hasattr(models, "Like"):
    with Session(engine, expire_on_commit=False) as session:
        post = session.get(Post, post.id)
        post.editor_id, post.subtitle = bob.id, "and ice"
        likes = [models.Like(post_id=post.id, user_id=user.id) for user in [ann, bob]]
        session.add_all(likes)
        session.flush()
        show(*likes)
        session.commit()
