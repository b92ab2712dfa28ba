//! How the library is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Why, src/pg/memory.rs says.
    println!("cargo::rustc-cdylib-link-arg=-Wl,--wrap=CopyErrorData");
}
