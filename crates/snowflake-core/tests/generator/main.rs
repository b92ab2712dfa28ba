//! Tests of the generator.
//!
//! The numbers in the comments of tests are those of the promises at the top of `src/generator.rs`.
//! `make mutants` breaks the rules one by one and shows that these tests notice.

mod cases;
mod observe;
mod properties;
mod queue;
mod reuse;
mod world;
