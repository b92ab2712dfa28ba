//! Options for linking the library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The reason is in src/pg/memory.rs.
    println!("cargo::rustc-cdylib-link-arg=-Wl,--wrap=CopyErrorData");
}
