// @generated automatically by Diesel CLI.

diesel::table! {
    comments (id) {
        id -> Int8,
        post_id -> Int8,
        author_id -> Int8,
        body -> Text,
    }
}

diesel::table! {
    posts (id) {
        id -> Int8,
        author_id -> Int8,
        title -> Varchar,
        editor_id -> Nullable<Int8>,
    }
}

diesel::table! {
    posts_tags (post_id, tag_id) {
        post_id -> Int8,
        tag_id -> Int8,
    }
}

diesel::table! {
    tags (id) {
        id -> Int8,
        name -> Varchar,
    }
}

diesel::table! {
    users (id) {
        id -> Int8,
        name -> Varchar,
    }
}

diesel::joinable!(comments -> posts (post_id));
diesel::joinable!(comments -> users (author_id));
diesel::joinable!(posts_tags -> posts (post_id));
diesel::joinable!(posts_tags -> tags (tag_id));

diesel::allow_tables_to_appear_in_same_query!(comments, posts, posts_tags, tags, users,);
