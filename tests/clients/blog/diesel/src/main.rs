//! A blog, with keys and relations as Diesel's guides write them. The argument says what it does.

mod schema;

use std::env;

use diesel::prelude::*;

use schema::{comments, posts, posts_tags, tags, users};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut connection = PgConnection::establish(&env::var("DATABASE_URL")?)?;
    match env::args().nth(1).as_deref() {
        Some("write") => write(&mut connection)?,
        _ => comment(&mut connection)?,
    }
    Ok(())
}

fn write(connection: &mut PgConnection) -> QueryResult<()> {
    let users: Vec<i64> = diesel::insert_into(users::table)
        .values(&["Ann", "Bob"].map(|name| users::name.eq(name)))
        .returning(users::id)
        .get_results(connection)?;
    let post: i64 = diesel::insert_into(posts::table)
        .values((posts::author_id.eq(users[0]), posts::title.eq("Tea")))
        .returning(posts::id)
        .get_result(connection)?;
    let tags: Vec<i64> = diesel::insert_into(tags::table)
        .values(&["drinks", "kitchen", "garden"].map(|name| tags::name.eq(name)))
        .returning(tags::id)
        .get_results(connection)?;
    let joined = [tags[0], tags[1]];
    diesel::insert_into(posts_tags::table)
        .values(&joined.map(|tag| (posts_tags::post_id.eq(post), posts_tags::tag_id.eq(tag))))
        .execute(connection)?;
    for (table, ids) in [("users", users), ("posts", vec![post]), ("tags", tags)] {
        ids.iter().for_each(|id| println!("{table} {id}"));
    }

    let (title, author): (String, String) = posts::table
        .inner_join(users::table.on(posts::author_id.eq(users::id)))
        .filter(posts::id.eq(post))
        .select((posts::title, users::name))
        .first(connection)?;
    let tagged: Vec<String> = posts_tags::table
        .inner_join(tags::table)
        .filter(posts_tags::post_id.eq(post))
        .order(tags::name)
        .select(tags::name)
        .load(connection)?;
    println!("{title} by {author}: {}", tagged.join(", "));
    Ok(())
}

fn comment(connection: &mut PgConnection) -> QueryResult<()> {
    let post: i64 = posts::table.select(posts::id).first(connection)?;
    let bob: i64 =
        users::table.filter(users::name.eq("Bob")).select(users::id).first(connection)?;
    let by_bob = (comments::post_id.eq(post), comments::author_id.eq(bob));
    let id: i64 = diesel::insert_into(comments::table)
        .values((by_bob, comments::body.eq("How long?")))
        .returning(comments::id)
        .get_result(connection)?;
    println!("comments {id}");
    diesel::update(posts::table.find(post)).set(posts::editor_id.eq(bob)).execute(connection)?;
    let (title, editor, body): (String, String, String) = posts::table
        .inner_join(users::table.on(posts::editor_id.eq(users::id.nullable())))
        .inner_join(comments::table)
        .select((posts::title, users::name, comments::body))
        .first(connection)?;
    println!("{title}, edited by {editor}: {body}");
    Ok(())
}
