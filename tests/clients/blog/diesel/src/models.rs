use diesel::prelude::*;

use crate::schema::{comments, likes, posts, posts_tags, tags, users};

#[derive(Queryable, Selectable, Identifiable)]
pub struct User {
    pub id: i64,
    pub name: String,
}

#[derive(Queryable, Selectable, Identifiable, Associations)]
#[diesel(belongs_to(User, foreign_key = author_id))]
pub struct Post {
    pub id: i64,
    pub author_id: i64,
    pub title: String,
}

#[derive(Queryable, Selectable, Identifiable, Associations)]
#[diesel(belongs_to(Post), belongs_to(User, foreign_key = author_id))]
pub struct Comment {
    pub id: i64,
    pub post_id: i64,
    pub author_id: i64,
    pub body: String,
}

#[derive(Queryable, Selectable, Identifiable)]
pub struct Tag {
    pub id: i64,
    pub name: String,
}

#[derive(Queryable, Selectable, Identifiable, Insertable, Associations)]
#[diesel(primary_key(post_id, tag_id), table_name = posts_tags)]
#[diesel(belongs_to(Post), belongs_to(Tag))]
pub struct PostTag {
    pub post_id: i64,
    pub tag_id: i64,
}

#[derive(Queryable, Selectable, Identifiable, Associations)]
#[diesel(belongs_to(Post), belongs_to(User))]
pub struct Like {
    pub id: i64,
    pub post_id: i64,
    pub user_id: i64,
}
