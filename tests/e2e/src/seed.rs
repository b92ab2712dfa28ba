//! The seed of what is random in tests. The simulation uses it, too.

use std::env;
use std::sync::LazyLock;

/// The seed of random numbers: `SNOWFLAKE_SEED`, or else one that this process has drawn. It is
/// printed, and a test that fails shows it.
pub fn seed() -> u64 {
    static SEED: LazyLock<u64> = LazyLock::new(|| match env::var("SNOWFLAKE_SEED") {
        Ok(seed) => seed.parse().expect("SNOWFLAKE_SEED is a number"),
        Err(_) => fastrand::u64(..),
    });
    println!("SNOWFLAKE_SEED={} repeats this", *SEED);
    *SEED
}
