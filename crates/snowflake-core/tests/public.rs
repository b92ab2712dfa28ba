//! Public IDs: what is read, what is not, and what a name tells.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use snowflake_core::outside::public::{
    self, Key, KeyBytes, KeysError, LENGTH, Prefix, PrefixError,
};

const DIGITS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

fn ids() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), Just(-1), Just(i64::MIN), Just(i64::MAX), any::<i64>()]
}

fn prefixes() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z]([a-z_]{0,61}[a-z])?", Just("a".repeat(63))]
}

fn prefix(text: &str) -> Prefix {
    Prefix::new(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn keys() -> impl Strategy<Value = [u8; 16]> {
    any::<[u8; 16]>()
}

fn id_of(key: &Key, name: &str, prefix: &Prefix) -> Option<i64> {
    public::id(std::slice::from_ref(key), name.as_bytes(), prefix)
}

/// The name with other digits behind its prefix.
fn digits_changed(name: &str, change: impl Fn(u8) -> u8) -> String {
    let (prefix, digits) = name.split_at(name.len() - LENGTH);
    let changed = digits.bytes().map(|digit| char::from(change(digit)));
    [prefix.to_owned(), changed.collect()].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_id_is_read_back(key in keys(), id in ids(), text in prefixes()) {
        let (key, prefix) = (Key::new(&key), prefix(&text));
        let name = key.name(id, &prefix);
        let lead = if text.is_empty() { String::new() } else { format!("{text}_") };
        prop_assert_eq!(name.as_str().len(), lead.len() + LENGTH);
        prop_assert!(name.as_str().starts_with(&lead));
        prop_assert!(name.as_str()[lead.len()..].chars().all(|digit| DIGITS.contains(digit)));
        prop_assert_eq!(id_of(&key, name.as_str(), &prefix), Some(id));
    }

    #[test]
    fn another_prefix_or_key_reads_nothing(
        key in keys(), other in keys(), id in ids(), one in prefixes(), two in prefixes(),
    ) {
        if key == other || one == two {
            return Ok(());
        }
        let (key, other) = (Key::new(&key), Key::new(&other));
        let (one, two) = (prefix(&one), prefix(&two));
        let name = key.name(id, &one);
        prop_assert_eq!(id_of(&other, name.as_str(), &one), None);
        let both = [other, key.clone()];
        prop_assert_eq!(public::id(&both, name.as_bytes(), &one), Some(id));
        prop_assert_eq!(id_of(&key, name.as_str(), &two), None);
        // Nor does somebody who knows how names look, and exchanges the prefix.
        let digits = &name.as_str()[name.as_str().len() - LENGTH..];
        let renamed = match std::str::from_utf8(two.as_bytes()).unwrap() {
            "" => digits.to_owned(),
            two => format!("{two}_{digits}"),
        };
        prop_assert_eq!(id_of(&key, &renamed, &two), None);
    }

    #[test]
    fn a_changed_name_is_nobodys(
        key in keys(), id in ids(), text in prefixes(), at in any::<prop::sample::Index>(), to in any::<char>(),
    ) {
        let (key, prefix) = (Key::new(&key), prefix(&text));
        let name = key.name(id, &prefix);
        let at = at.index(name.len());
        for changed in [
            format!("{}{to}{}", &name[..at], &name[at + 1..]),
            format!("{}{to}{}", &name[..at], &name[at..]),
            format!("{}{}", &name[..at], &name[at + 1..]),
            name.to_uppercase(),
            name.to_lowercase(),
            format!(" {name}"),
            format!("{name} "),
            format!("{name}\n"),
            format!("_{name}"),
            name.chars().rev().collect(),
            // Other alphabets of base62, and one of base64.
            digits_changed(&name, |digit| match digit {
                b'a'..=b'z' => digit.to_ascii_uppercase(),
                _ => digit.to_ascii_lowercase(),
            }),
            digits_changed(&name, |digit| match digit {
                b'0'..=b'9' => b'A' + (digit - b'0'),
                b'A'..=b'J' => b'0' + (digit - b'A'),
                _ => digit,
            }),
            digits_changed(&name, |digit| if digit == b'z' { b'-' } else { b'_' }),
        ] {
            if changed != name {
                prop_assert_eq!(id_of(&key, &changed, &prefix), None, "{}", changed);
            }
        }
    }

    #[test]
    fn what_is_no_name_is_nobodys(key in keys(), text in prefixes(), name in "[0-9A-Za-z]{22}|.{0,90}") {
        let key = Key::new(&key);
        prop_assert_eq!(id_of(&key, &name, &prefix(&text)), None);
    }

    #[test]
    fn a_file_is_read_or_refused(file in prop::collection::vec(any::<u8>(), 0..400)) {
        // Whatever it contains, the error says nothing of it but a line.
        if let Err(error) = KeyBytes::read(&file) {
            let error = error.to_string();
            prop_assert!(error.len() < 80, "{}", error);
        }
    }
}

/// They look as names do: a stranger has made them, with a key of his own.
#[test]
fn ten_million_forged_names_are_nobodys() {
    let keys = [Key::new(&[1; 16]), Key::new(&[2; 16])];
    let (stranger, orders) = (Key::new(&[6; 16]), prefix("ord"));
    for id in 0..10_000_000 {
        let name = stranger.name(id, &orders);
        assert_eq!(public::id(&keys, name.as_bytes(), &orders), None, "{}", name.as_str());
    }
}

#[test]
fn no_two_of_ten_million_ids_share_a_name() {
    let (key, none) = (Key::new(&[3; 16]), prefix(""));
    let first = 1_268_118_639_732_232_192;
    let mut names: Vec<[u8; LENGTH]> = (first..first + 10_000_000)
        .map(|id| key.name(id, &none).as_bytes().try_into().expect("22 digits"))
        .collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}

/// Where the cipher is left out, one or two of 128 bits differ between successive IDs.
#[test]
fn half_of_the_bits_of_successive_ids_differ() {
    let (key, none) = (Key::new(&[4; 16]), prefix(""));
    let mut flipped = [0_u32; 128];
    const PAIRS: u32 = 10_000;
    for id in 0..i64::from(PAIRS) {
        let differ = block(key.name(id, &none).as_str()) ^ block(key.name(id + 1, &none).as_str());
        for (bit, flipped) in flipped.iter_mut().enumerate() {
            *flipped += (differ >> bit & 1) as u32;
        }
    }
    // Of 10,000 throws of a coin, fewer than 4,700 or more than 5,300 heads are 6 deviations away.
    for (bit, flipped) in flipped.iter().enumerate() {
        assert!((4_700..=5_300).contains(flipped), "bit {bit} differs in {flipped} of {PAIRS}");
    }
}

/// The number that digits stand for, without what is above 128 bits.
fn block(digits: &str) -> u128 {
    digits.chars().fold(0, |block: u128, digit| {
        block.wrapping_mul(62).wrapping_add(DIGITS.find(digit).expect("a digit") as u128)
    })
}

#[test]
fn the_largest_block_is_read_and_what_is_above_it_is_not() {
    let none = prefix("");
    assert_eq!(block("7n42DGM5Tflk9n8mt7Fhc7"), u128::MAX);
    for above in ["7n42DGM5Tflk9n8mt7Fhc8", "7n42DGM5Tflk9n8mt7Fhd0", "zzzzzzzzzzzzzzzzzzzzzz"] {
        assert_eq!(id_of(&Key::new(&[5; 16]), above, &none), None);
    }
    // 2^128 more than the block of a name would be the same block, if its top were cut off.
    let key = Key::new(&[5; 16]);
    let name = key.name(1, &none);
    let more = "CuOXJqX2Kf2NDisoV5Cc8I";
    assert_ne!(name.as_str(), more);
    assert_eq!(block(name.as_str()), block(more));
    assert_eq!(id_of(&key, more, &none), None);
}

#[test]
fn prefixes_are_those_of_typeid() {
    for valid in ["", "a", "ord", "order_line", "a__b", &"z".repeat(63)] {
        assert!(Prefix::new(valid).is_ok(), "{valid}");
    }
    for (invalid, why) in [
        ("_ord", PrefixError::Underscore),
        ("ord_", PrefixError::Underscore),
        ("_", PrefixError::Underscore),
        ("Ord", PrefixError::Character),
        ("ord1", PrefixError::Character),
        ("ord ", PrefixError::Character),
        ("ö", PrefixError::Character),
        (&"z".repeat(64), PrefixError::Length),
    ] {
        assert_eq!(Prefix::new(invalid).err(), Some(why), "{invalid}");
    }
}

#[test]
fn a_file_has_a_key_on_each_line() {
    let one = "000102030405060708090a0b0c0d0e0f";
    let two = "F0E0D0C0B0A090807060504030201000";
    let bytes: [u8; 16] = std::array::from_fn(|at| at as u8);
    let read = |file: &str| KeyBytes::read(file.as_bytes());
    for file in [
        one.to_owned(),
        format!("{one}\n"),
        format!("# orders\n\n  {one}  # made in May\r\n"),
        format!("{}\r\n", one.to_uppercase()),
    ] {
        assert_eq!(read(&file).expect("a key").as_slice(), [bytes], "{file:?}");
    }
    let both = read(&format!("{two}\n{one}")).expect("two keys");
    assert_eq!(both.as_slice().len(), 2);
    assert_eq!(both.as_slice()[1], bytes);

    let many =
        |count: usize| (0..count).map(|number| format!("{number:032x}\n")).collect::<String>();
    assert!(read(&many(8)).is_ok());
    for (file, why) in [
        (String::new(), KeysError::Empty),
        ("# nothing\n\n".into(), KeysError::Empty),
        (many(9), KeysError::TooMany(9)),
        (format!("{one}\n\n{one}\n"), KeysError::Twice { first: 1, second: 3 }),
        (format!("{one}\n{}\n", one.to_uppercase()), KeysError::Twice { first: 1, second: 2 }),
        (one[1..].into(), KeysError::Line(1)),
        (format!("{one}0"), KeysError::Line(1)),
        (format!("\n{one}{two}"), KeysError::Line(2)),
        (format!("{one} {two}"), KeysError::Line(1)),
        (one.replace('a', "g"), KeysError::Line(1)),
        (format!("{one}\0"), KeysError::Line(1)),
        (format!("\u{feff}{one}"), KeysError::Mark),
        (
            one.encode_utf16().flat_map(u16::to_le_bytes).map(char::from).collect(),
            KeysError::Line(1),
        ),
    ] {
        assert_eq!(read(&file).err(), Some(why), "{file:?}");
    }
}

/// Keys, prefixes, IDs and names, beside those of the page.
const VECTORS: [[&str; 4]; 8] = [
    [ONE, "usr", "1268118639732232192", "usr_1l8rvnOS7tf9qZDAALkUmG"],
    [ONE, "", "1268118639732232192", "2EGMV9oizKRSD2xYtT1b43"],
    [ONE, "ord", "1268118639732232193", "ord_6RkQ71udInocK4iMIB4pF0"],
    [ZEROS, "", "0", "4uRJ8GQta8f5esMPMauKEX"],
    [ZEROS, "order_line", "1", "order_line_7RV8TSSGFgOZiYsYpeQwFI"],
    [
        "ffffffffffffffffffffffffffffffff",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "9223372036854775807",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_5tlVYpFUKaODcf9cLPCkuE",
    ],
    [OTHER, "ord", "-9223372036854775808", "ord_5xX4JSTildcz5bDQGjEJtm"],
    [OTHER, "a", "4096", "a_5HvMa5SNamYo154q6PC01x"],
];
const ONE: &str = "000102030405060708090a0b0c0d0e0f";
const ZEROS: &str = "00000000000000000000000000000000";
const OTHER: &str = "2b7e151628aed2a6abf7158809cf4f3c";

/// The page says the same as the code.
#[test]
fn the_vectors_of_the_page_are_right() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/public-ids.md");
    let page = fs::read_to_string(page).expect("the page");
    let rows: Vec<[&str; 4]> = page
        .lines()
        .filter_map(|line| {
            let cells: Vec<_> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            let cells: [&str; 4] = cells.try_into().ok()?;
            (cells[0].len() == 32 && cells[0].bytes().all(|c| c.is_ascii_hexdigit()))
                .then_some(cells)
        })
        .collect();
    assert_eq!(rows.len(), 2);
    let key_of =
        |text: &str| Key::new(&KeyBytes::read(text.as_bytes()).expect("a key").as_slice()[0]);
    let first = rows[0][0];
    assert!(page.contains(&format!("`{first}` is `{}`.", key_of(first).fingerprint())));
    for [key, text, id, name] in rows.into_iter().chain(VECTORS) {
        let key = key_of(key);
        let (id, prefix) = (id.parse().expect("an ID"), prefix(text));
        assert_eq!(key.name(id, &prefix).as_str(), name);
        assert_eq!(id_of(&key, name, &prefix), Some(id));
    }
}
