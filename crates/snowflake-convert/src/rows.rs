//! What the queries beside this file return, in Rust, and what functions return of it.

use pgrx::prelude::*;
use snowflake_server::encoding::encode;
use snowflake_server::spi::Row;

/// A text in the encoding of the database.
pub type Bytes = Vec<u8>;

pub fn bytes(text: &str) -> Bytes {
    encode(text).into_bytes()
}

/// A row that has this number of columns.
pub fn fields<const COUNT: usize>(row: Row) -> [Option<String>; COUNT] {
    row.try_into().expect("as many columns as the query has")
}

pub fn oid(text: String) -> pg_sys::Oid {
    pg_sys::Oid::from(text.parse::<u32>().expect("an OID"))
}

/// PostgreSQL packs the five characters of a SQLSTATE into six bits each.
pub fn sqlstate_of(text: &str) -> PgSqlErrorCode {
    let packed = text
        .bytes()
        .rev()
        .fold(0, |packed, byte| packed << 6 | (i32::from(byte) - i32::from(b'0')) & 0x3f);
    PgSqlErrorCode::from(packed)
}

/// An enum of the texts that a column of a query has.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($word:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = $text] $word,)*
        }

        impl $name {
            /// Panics for any other text: the query and this enum are not of one version.
            pub fn of(text: &str) -> $name {
                match text {
                    $($text => $name::$word,)*
                    _ => panic!("unknown {}: {text:?}", stringify!($name)),
                }
            }
        }
    };
}
pub(super) use words;

#[cfg(test)]
mod tests {
    words! {
        /// The words that the test knows.
        Section {
            Known = "known",
        }
    }

    #[test]
    #[should_panic(expected = "unknown Section: \"other\"")]
    fn a_section_that_rust_does_not_know_is_an_error() {
        assert_eq!(Section::of("known"), Section::Known);
        Section::of("other");
    }
}
