//! An integer key becomes bigint while the application writes.

mod held;
mod obstacles;
mod shadows;
mod shop;
mod walk;
mod whole;
