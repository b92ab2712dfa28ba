//! The application: a shop that rents films.

use snowflake_e2e::{Cluster, error_of};

const SCHEMA: &str = include_str!("schema.sql");
const REMEDIES: &str = include_str!("remedies.sql");

/// The columns whose type becomes bigint, and stays so.
pub const WIDENED: [(&str, &[&str]); 21] = [
    ("artist", &["id"]),
    ("artist_meta", &["id"]),
    ("artist_note", &["artist_id"]),
    ("category", &["id"]),
    ("film", &["film_id", "director_id", "sequel_of"]),
    ("film_artist", &["film_id", "artist_id"]),
    ("film_category", &["film_id", "category_id"]),
    ("film_note", &["film_id"]),
    ("inventory", &["inventory_id", "film_id", "store_id"]),
    ("loan", &["loan_id", "inventory_id"]),
    ("note", &["id", "author_id"]),
    ("payment", &["payment_id", "rental_id"]),
    ("rental", &["rental_id", "inventory_id"]),
    ("rental_2025", &["rental_id", "inventory_id"]),
    ("rental_2026", &["rental_id", "inventory_id"]),
    ("rental_rest", &["rental_id", "inventory_id"]),
    ("review", &["id", "film_id"]),
    ("staff", &["staff_id", "store_id", "reports_to"]),
    ("store", &["store_id", "manager_id"]),
    ("\"Sound \"\"Track\"\"\"", &["\"Track Id\"", "\"Film Id\"", "\"Follows\""]),
    ("setting", &[]),
];

pub fn application() -> Cluster {
    let cluster = Cluster::start_with_conversion();
    cluster.connect().batch_execute(SCHEMA).unwrap_or_else(|error| fail("", error));
    cluster
}

/// The same, after its owner has changed what the report warns of.
pub fn prepared_application() -> Cluster {
    let cluster = application();
    cluster.connect().batch_execute(REMEDIES).unwrap_or_else(|error| fail("", error));
    cluster
}

/// Says what has failed, and where: the statement inside of a conversion.
#[track_caller]
pub fn fail(what: &str, error: postgres::Error) -> ! {
    let error = error_of::<()>(Err(error));
    panic!("{what}: {error}\n{}", error.where_().unwrap_or_default())
}
