//! Converts the lines of its input: public-ids to|from PREFIX. The file "keys" has the keys.

use public_ids::{from_public, to_public};

fn main() {
    let keys = std::fs::read_to_string("keys").expect("the file of the keys");
    let key = |line: &str| u128::from_str_radix(line, 16).expect("a key").to_be_bytes();
    let keys: Vec<[u8; 16]> = keys.lines().map(key).collect();
    let [direction, prefix] = [1, 2].map(|at| std::env::args().nth(at).expect("an argument"));
    for line in std::io::stdin().lines() {
        let line = line.expect("a line");
        let converted = match &*direction {
            "to" => Some(to_public(keys[0], line.parse().expect("an ID"), &prefix)),
            _ => from_public(&keys, &line, &prefix).map(|id| id.to_string()),
        };
        println!("{}", converted.as_deref().unwrap_or("nobody's"));
    }
}
