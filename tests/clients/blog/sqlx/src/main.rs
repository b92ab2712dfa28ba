//! A blog, with the keys that SQL makes by itself. The argument says what it does.

use std::env;
use std::error::Error;
use std::path::Path;

use sqlx::migrate::Migrator;
use sqlx::postgres::PgPool;

static MIGRATOR: Migrator = sqlx::migrate!();

#[derive(sqlx::FromRow)]
struct Post {
    id: i64,
    title: String,
}

#[derive(sqlx::FromRow)]
struct Tag {
    id: i64,
    name: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let pool = PgPool::connect(&env::var("DATABASE_URL")?).await?;
    match env::args().nth(1).as_deref() {
        // Before the migration that adds likes.
        Some("first") => {
            let first = MIGRATOR.iter().next().expect("a migration");
            MIGRATOR.run_to(first.version, &pool).await?;
        }
        Some("migrate") => MIGRATOR.run(&pool).await?,
        Some("migrate-from-files") => {
            Migrator::new(Path::new("migrations")).await?.run(&pool).await?;
        }
        Some("write") => write(&pool).await?,
        Some("like") => like(&pool).await?,
        argument => panic!("no such argument: {argument:?}"),
    }
    Ok(())
}

/// Writes a post, and reads it with what belongs to it.
async fn write(pool: &PgPool) -> Result<(), sqlx::Error> {
    let insert = "INSERT INTO users (name) SELECT unnest($1::text[]) RETURNING id";
    let users: Vec<i64> = sqlx::query_scalar(insert).bind(["Ann", "Bob"]).fetch_all(pool).await?;
    users.iter().for_each(|id| println!("users {id}"));

    let insert = "INSERT INTO posts (author_id, title, body) VALUES ($1, $2, $3) RETURNING *";
    let post: Post = sqlx::query_as(insert)
        .bind(users[0])
        .bind("Tea")
        .bind("Let it draw.")
        .fetch_one(pool)
        .await?;
    println!("posts {}", post.id);

    let insert = "INSERT INTO comments (post_id, author_id, body) VALUES ($1, $2, $3) RETURNING id";
    let id: i64 = sqlx::query_scalar(insert)
        .bind(post.id)
        .bind(users[1])
        .bind("How long?")
        .fetch_one(pool)
        .await?;
    println!("comments {id}");

    for name in ["drinks", "kitchen"] {
        let insert = "INSERT INTO tags (name) VALUES ($1) RETURNING *";
        let tag: Tag = sqlx::query_as(insert).bind(name).fetch_one(pool).await?;
        println!("tags {}", tag.id);
        let insert = "INSERT INTO posts_tags (post_id, tag_id) VALUES ($1, $2)";
        sqlx::query(insert).bind(post.id).bind(tag.id).execute(pool).await?;
    }

    let tags = "SELECT tags.* FROM tags JOIN posts_tags ON tag_id = tags.id
                WHERE post_id = $1 ORDER BY tags.id";
    let tags: Vec<Tag> = sqlx::query_as(tags).bind(post.id).fetch_all(pool).await?;
    for tag in tags {
        println!("{}: {}", post.title, tag.name);
    }
    let comments = "SELECT body, name FROM comments JOIN users ON author_id = users.id
                    WHERE post_id = $1";
    let comments: Vec<(String, String)> =
        sqlx::query_as(comments).bind(post.id).fetch_all(pool).await?;
    for (body, name) in comments {
        println!("{}: {body} ({name})", post.title);
    }
    Ok(())
}

/// Likes the newest post, and makes the newest user its editor.
async fn like(pool: &PgPool) -> Result<(), sqlx::Error> {
    let newest = "SELECT id, title FROM posts ORDER BY id DESC LIMIT 1";
    let post: Post = sqlx::query_as(newest).fetch_one(pool).await?;
    let newest = "SELECT max(id) FROM users";
    let user: i64 = sqlx::query_scalar(newest).fetch_one(pool).await?;
    let insert = "INSERT INTO likes (post_id, user_id) VALUES ($1, $2) RETURNING id";
    let id: i64 = sqlx::query_scalar(insert).bind(post.id).bind(user).fetch_one(pool).await?;
    println!("likes {id}");

    let update = "UPDATE posts SET subtitle = 'A start', editor_id = $2 WHERE id = $1";
    sqlx::query(update).bind(post.id).bind(user).execute(pool).await?;
    let edited = "SELECT title, subtitle, name FROM posts JOIN users ON editor_id = users.id";
    let (title, subtitle, editor): (String, String, String) =
        sqlx::query_as(edited).fetch_one(pool).await?;
    println!("{title}: {subtitle}, edited by {editor}");
    Ok(())
}
