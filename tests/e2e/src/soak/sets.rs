//! Sets of synchronous standbys, and which standby every commit then waits for.

/// A standby, by its number; its name is `a` or `b`.
pub const STANDBYS: [&str; 2] = ["a", "b"];

/// Standbys, a bit for each.
pub type Set = u8;

/// The set of one standby.
pub fn only(standby: usize) -> Set {
    1 << standby
}

/// Values of `synchronous_standby_names`.
pub const NAMES: [&str; 9] = [
    "",
    "a",
    "b",
    "FIRST 1 (a, b)",
    "FIRST 1 (b, a)",
    "FIRST 2 (a, b)",
    "ANY 1 (a, b)",
    "ANY 2 (a, b)",
    "nobody",
];

/// The standbys that every commit waits for, where so many of them are connected. With `ANY 1`, it
/// might be either.
pub fn required(names: &str, connected: Set) -> Set {
    let first = |one: Set, other: Set| {
        if connected & one != 0 { one } else { connected & other }
    };
    let (a, b) = (only(0), only(1));
    match names {
        "a" => a,
        "b" => b,
        "FIRST 1 (a, b)" => first(a, b),
        "FIRST 1 (b, a)" => first(b, a),
        "FIRST 2 (a, b)" | "ANY 2 (a, b)" => a | b,
        "ANY 1 (a, b)" if connected.count_ones() == 1 => connected,
        _ => 0,
    }
}
