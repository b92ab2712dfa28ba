from sqlalchemy import BigInteger, Column, ForeignKey, Table
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Base(DeclarativeBase):
    # Integers are bigint columns, and so are keys and what refers to them.
    type_annotation_map = {int: BigInteger}


posts_tags = Table(
    "posts_tags",
    Base.metadata,
    Column("post_id", ForeignKey("posts.id"), primary_key=True),
    Column("tag_id", ForeignKey("tags.id"), primary_key=True),
)


class User(Base):
    __tablename__ = "users"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]


class Tag(Base):
    __tablename__ = "tags"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)


class Post(Base):
    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
    author_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    editor_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))  # second
    editor: Mapped[User | None] = relationship(foreign_keys=editor_id)  # second
    title: Mapped[str]
    author: Mapped[User] = relationship(foreign_keys=author_id)
    tags: Mapped[list[Tag]] = relationship(secondary=posts_tags, order_by=Tag.name)


# second
class Comment(Base):
    __tablename__ = "comments"
    id: Mapped[int] = mapped_column(primary_key=True)
    post_id: Mapped[int] = mapped_column(ForeignKey("posts.id"))
    author_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    body: Mapped[str]
    post: Mapped[Post] = relationship()
