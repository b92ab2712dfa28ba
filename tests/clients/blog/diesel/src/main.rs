//! A blog, with keys and relations as Diesel's guides write them. The argument says what it does.

mod models;
mod schema;

use std::env;
use std::error::Error;

use diesel::prelude::*;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use models::*;
use schema::{comments, likes, posts, posts_tags, tags, users};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!();

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut connection = PgConnection::establish(&env::var("DATABASE_URL")?)?;
    match env::args().nth(1).as_deref() {
        // Before the migration that adds likes.
        Some("first") => {
            while connection.pending_migrations(MIGRATIONS)?.len() > 1 {
                println!("{}", connection.run_next_migration(MIGRATIONS)?);
            }
        }
        Some("migrate") => {
            for version in connection.run_pending_migrations(MIGRATIONS)? {
                println!("{version}");
            }
            println!("pending: {}", connection.has_pending_migration(MIGRATIONS)?);
        }
        Some("write") => write(&mut connection)?,
        Some("like") => like(&mut connection)?,
        argument => panic!("no such argument: {argument:?}"),
    }
    Ok(())
}

/// Writes a post, and reads it with what belongs to it.
fn write(connection: &mut PgConnection) -> QueryResult<()> {
    let users: Vec<User> = diesel::insert_into(users::table)
        .values(&["Ann", "Bob"].map(|name| users::name.eq(name)))
        .returning(User::as_returning())
        .get_results(connection)?;
    users.iter().for_each(|user| println!("users {}", user.id));
    let [ann, bob] = &users[..] else { panic!("two users") };

    let text = (posts::title.eq("Tea"), posts::body.eq("Let it draw."));
    let post: Post = diesel::insert_into(posts::table)
        .values((posts::author_id.eq(ann.id), text))
        .returning(Post::as_returning())
        .get_result(connection)?;
    println!("posts {}", post.id);

    let by = (comments::post_id.eq(post.id), comments::author_id.eq(bob.id));
    let comment: Comment = diesel::insert_into(comments::table)
        .values((by, comments::body.eq("How long?")))
        .returning(Comment::as_returning())
        .get_result(connection)?;
    println!("comments {}", comment.id);

    let tags: Vec<Tag> = diesel::insert_into(tags::table)
        .values(&["drinks", "kitchen"].map(|name| tags::name.eq(name)))
        .returning(Tag::as_returning())
        .get_results(connection)?;
    tags.iter().for_each(|tag| println!("tags {}", tag.id));
    let new: Vec<PostTag> =
        tags.iter().map(|tag| PostTag { post_id: post.id, tag_id: tag.id }).collect();
    diesel::insert_into(posts_tags::table).values(&new).execute(connection)?;

    let post: Post = posts::table.find(post.id).select(Post::as_select()).first(connection)?;
    let tagged: Vec<Tag> = PostTag::belonging_to(&post)
        .inner_join(tags::table)
        .order(tags::id)
        .select(Tag::as_select())
        .load(connection)?;
    let commented: Vec<(Comment, User)> = Comment::belonging_to(&post)
        .inner_join(users::table)
        .select((Comment::as_select(), User::as_select()))
        .load(connection)?;
    for tag in tagged {
        println!("{}: {}", post.title, tag.name);
    }
    for (comment, user) in commented {
        println!("{}: {} ({})", post.title, comment.body, user.name);
    }
    Ok(())
}

/// Likes the newest post, and makes the newest user its editor.
fn like(connection: &mut PgConnection) -> Result<(), Box<dyn Error + Send + Sync>> {
    let post: Post =
        posts::table.order(posts::id.desc()).select(Post::as_select()).first(connection)?;
    let user: User =
        users::table.order(users::id.desc()).select(User::as_select()).first(connection)?;
    let like: Like = diesel::insert_into(likes::table)
        .values((likes::post_id.eq(post.id), likes::user_id.eq(user.id)))
        .returning(Like::as_returning())
        .get_result(connection)?;
    println!("likes {}", like.id);

    diesel::update(&post)
        .set((posts::subtitle.eq("A start"), posts::editor_id.eq(user.id)))
        .execute(connection)?;
    let (title, subtitle, editor): (String, Option<String>, String) = posts::table
        .inner_join(users::table.on(posts::editor_id.eq(users::id.nullable())))
        .select((posts::title, posts::subtitle, users::name))
        .first(connection)?;
    println!("{title}: {}, edited by {editor}", subtitle.unwrap_or_default());
    Ok(())
}
