//! A blog, with the keys that SQL makes by itself. The argument says what it does.

use std::env;
use std::error::Error;
use std::path::Path;

use sqlx::migrate::Migrator;
use sqlx::postgres::PgPool;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let pool = PgPool::connect(&env::var("DATABASE_URL")?).await?;
    match env::args().nth(1).as_deref() {
        Some("migrate") => Migrator::new(Path::new("migrations")).await?.run(&pool).await?,
        Some("write") => write(&pool).await?,
        _ => comment(&pool).await?,
    }
    Ok(())
}

async fn write(pool: &PgPool) -> Result<(), sqlx::Error> {
    let insert = "INSERT INTO users (name) SELECT unnest($1::text[]) RETURNING id";
    let users: Vec<i64> = sqlx::query_scalar(insert).bind(["Ann", "Bob"]).fetch_all(pool).await?;
    let insert = "INSERT INTO posts (author_id, title) VALUES ($1, $2) RETURNING id";
    let post: i64 = sqlx::query_scalar(insert).bind(users[0]).bind("Tea").fetch_one(pool).await?;
    let insert = "INSERT INTO tags (name) SELECT unnest($1::text[]) RETURNING id";
    let names = ["drinks", "kitchen", "garden"];
    let tags: Vec<i64> = sqlx::query_scalar(insert).bind(names).fetch_all(pool).await?;
    let insert = "INSERT INTO posts_tags (post_id, tag_id) SELECT $1, unnest($2)";
    sqlx::query(insert).bind(post).bind(&tags[..2]).execute(pool).await?;
    for (table, ids) in [("users", users), ("posts", vec![post]), ("tags", tags)] {
        ids.iter().for_each(|id| println!("{table} {id}"));
    }

    let read = "SELECT title, users.name, array_agg(tags.name ORDER BY tags.name) FROM posts
                JOIN users ON users.id = author_id
                JOIN posts_tags ON post_id = posts.id JOIN tags ON tags.id = tag_id
                WHERE posts.id = $1 GROUP BY posts.id, users.id";
    let (title, author, tags): (String, String, Vec<String>) =
        sqlx::query_as(read).bind(post).fetch_one(pool).await?;
    println!("{title} by {author}: {}", tags.join(", "));
    Ok(())
}

async fn comment(pool: &PgPool) -> Result<(), sqlx::Error> {
    let of_both = "SELECT posts.id, users.id FROM posts, users WHERE name = 'Bob'";
    let (post, bob): (i64, i64) = sqlx::query_as(of_both).fetch_one(pool).await?;
    let insert = "INSERT INTO comments (post_id, author_id, body) VALUES ($1, $2, $3) RETURNING id";
    let comment = sqlx::query_scalar(insert).bind(post).bind(bob).bind("How long?");
    let id: i64 = comment.fetch_one(pool).await?;
    println!("comments {id}");
    let update = "UPDATE posts SET editor_id = $2 WHERE id = $1";
    sqlx::query(update).bind(post).bind(bob).execute(pool).await?;
    let read = "SELECT title, name, body FROM posts JOIN users ON users.id = editor_id
                JOIN comments ON comments.post_id = posts.id";
    let (title, editor, body): (String, String, String) =
        sqlx::query_as(read).fetch_one(pool).await?;
    println!("{title}, edited by {editor}: {body}");
    Ok(())
}
