//! An integer key becomes bigint while the application writes.

mod held;
mod obstacles;
mod publication;
mod shadows;
mod shop;
mod walk;
mod whole;
