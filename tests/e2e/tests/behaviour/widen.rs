//! An integer key becomes bigint while the application writes.

mod shadows;
mod walk;
