//! Public IDs: names of IDs that tell nothing of them, and that nobody can make without the key.
//!
//! A name is one block of AES-128, over the ID and a check that depends on the prefix alone. It is
//! written as 22 digits of base 62, behind the prefix. Whatever deciphers to another check was not
//! made with this key and prefix: a random block is taken with a probability of 2^-64. This is
//! Encode-then-Encipher (Bellare and Rogaway 2000). The ID is enciphered without a nonce, so the
//! same ID always has the same name.
//!
//! ```
//! use snowflake_core::outside::public::{Key, Prefix, id};
//!
//! let keys = [Key::new(&[7; 16])];
//! let orders = Prefix::new("ord").unwrap();
//! let name = keys[0].name(1268118639732232192, &orders);
//! assert_eq!(name.len(), "ord_".len() + 22);
//! let read = |prefix| id(&keys, name.as_bytes(), &Prefix::new(prefix).unwrap());
//! assert_eq!(read("ord"), Some(1268118639732232192));
//! assert_eq!(read("usr"), None);
//! ```

use aes::Aes128;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use sha2::{Digest, Sha256};

use crate::outside::text::{digits, value};

/// The number of digits behind the prefix: 62 to the power of 22 is more than 2 to the power of
/// 128.
pub const LENGTH: usize = 22;

/// The longest prefix, in characters.
pub const LONGEST_PREFIX: usize = 63;

/// The largest number of keys in a set.
pub const MOST_KEYS: usize = 8;

/// The hash of this and a prefix is the check of the prefix.
const CHECK: &[u8] = b"snowflake public ID of ";

/// The hash of this and a key is the key's fingerprint.
const FINGERPRINT: &[u8] = b"snowflake public key ";

/// 62 to the power of 10: as many digits fit into 64 bits, in which division is fast.
const TEN_DIGITS: u64 = 62u64.pow(10);

/// The beginning of a name: the kind of thing that the ID is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    text: [u8; LONGEST_PREFIX],
    length: u8,
    check: u64,
}

/// Reasons for which a text is no prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// It is too long.
    #[error("it has more than {LONGEST_PREFIX} characters")]
    Length,
    /// It has a character that is neither a small letter nor an underscore.
    #[error("it has characters other than a to z and underscores")]
    Character,
    /// It begins or ends with an underscore.
    #[error("it begins or ends with an underscore")]
    Underscore,
}

impl Prefix {
    /// The prefix with this text, which might be empty: letters a to z, with underscores inside.
    pub fn new(text: impl AsRef<[u8]>) -> Result<Prefix, PrefixError> {
        let text = text.as_ref();
        if text.len() > LONGEST_PREFIX {
            return Err(PrefixError::Length);
        } else if !text.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_') {
            return Err(PrefixError::Character);
        } else if text.starts_with(b"_") || text.ends_with(b"_") {
            return Err(PrefixError::Underscore);
        }
        let mut prefix =
            Prefix { text: [0; LONGEST_PREFIX], length: text.len() as u8, check: check(text) };
        prefix.text[..text.len()].copy_from_slice(text);
        Ok(prefix)
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[..self.length.into()]
    }

    /// The part of a name before its digits: the prefix and an underscore, or nothing.
    fn lead(&self) -> impl Iterator<Item = u8> {
        let underscore = (self.length > 0).then_some(b'_');
        self.as_bytes().iter().copied().chain(underscore)
    }
}

fn check(prefix: &[u8]) -> u64 {
    let hash = Sha256::new().chain_update(CHECK).chain_update(prefix).finalize();
    u64::from_be_bytes(hash[..8].try_into().expect("8 bytes"))
}

/// The number that at most ten digits stand for; `None` where one of them is no digit.
fn read_digits(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |number, digit| Some(number * 62 + value((*digit).into())? as u64))
}

/// The block that a name with this prefix has; `None` if the text is no such name.
fn block(name: &[u8], prefix: &Prefix) -> Option<u128> {
    let at = name.len().checked_sub(LENGTH)?;
    let (lead, digits) = name.split_at(at);
    if !lead.iter().copied().eq(prefix.lead()) {
        return None;
    }
    let (two, tens) = digits.split_at(2);
    let (tens, last) = tens.split_at(10);
    let [two, tens, last] = [read_digits(two)?, read_digits(tens)?, read_digits(last)?];
    let ten = u128::from(TEN_DIGITS);
    // A number above the largest block is no name, so that each ID has one.
    u128::from(two)
        .checked_mul(ten * ten)?
        .checked_add(u128::from(tens) * ten)?
        .checked_add(u128::from(last))
}

/// A key, ready for use. It is never shown, so it has no `Debug`.
#[derive(Clone)]
pub struct Key {
    cipher: Aes128,
    fingerprint: [u8; 4],
}

impl Key {
    /// The key with these bytes.
    pub fn new(bytes: &[u8; 16]) -> Key {
        let hash = Sha256::new().chain_update(FINGERPRINT).chain_update(bytes).finalize();
        let fingerprint = hash[..4].try_into().expect("4 bytes");
        Key { cipher: Aes128::new(bytes.into()), fingerprint }
    }

    /// A text that tells keys apart and reveals none of them: 8 hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        format!("{:08x}", u32::from_be_bytes(self.fingerprint))
    }

    /// The name of an ID: a prefix, an underscore and digits, or digits alone.
    pub fn name(&self, id: i64, prefix: &Prefix) -> String {
        let mut block = (u128::from(id as u64) << 64 | u128::from(prefix.check)).to_be_bytes();
        self.cipher.encrypt_block((&mut block).into());
        let (block, ten) = (u128::from_be_bytes(block), u128::from(TEN_DIGITS));
        let mut name = Vec::with_capacity(prefix.as_bytes().len() + 1 + LENGTH);
        name.extend(prefix.lead());
        name.extend(digits::<2>((block / ten / ten) as u64));
        name.extend(digits::<10>((block / ten % ten) as u64));
        name.extend(digits::<10>((block % ten) as u64));
        String::from_utf8(name).expect("all of it is ASCII")
    }

    /// The ID of which this is the block; `None` if the block was not made with this key and
    /// prefix.
    fn open(&self, block: u128, prefix: &Prefix) -> Option<i64> {
        let mut block = block.to_be_bytes();
        self.cipher.decrypt_block((&mut block).into());
        let block = u128::from_be_bytes(block);
        // One comparison of two registers takes the same time wherever they differ.
        (block as u64 == prefix.check).then_some((block >> 64) as i64)
    }
}

/// The ID that has this name with one of the keys; `None` if the name was made with none of them.
pub fn id(keys: &[Key], name: &[u8], prefix: &Prefix) -> Option<i64> {
    let block = block(name, prefix)?;
    keys.iter().find_map(|key| key.open(block, prefix))
}

/// The bytes of the keys of a file, in their order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyBytes {
    keys: [[u8; 16]; MOST_KEYS],
    count: usize,
}

/// Faults of a file of keys. A message never shows what the file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// A line that is no key.
    #[error("line {0} is not 32 hexadecimal digits")]
    Line(usize),
    /// A byte order mark.
    #[error("line 1 begins with a byte order mark")]
    Mark,
    /// A key that occurs twice.
    #[error("line {second} has the same key as line {first}")]
    Twice {
        /// The first line that has it.
        first: usize,
        /// The second one.
        second: usize,
    },
    /// Too many keys.
    #[error("line {0} has one key more than the {MOST_KEYS} that are allowed")]
    TooMany(usize),
    /// No key.
    #[error("it has no key")]
    Empty,
}

impl KeyBytes {
    /// No keys.
    pub const NONE: KeyBytes = KeyBytes { keys: [[0; 16]; MOST_KEYS], count: 0 };

    /// The keys of a file: one on a line, as 32 hexadecimal digits. What follows a `#` is a
    /// comment.
    pub fn read(file: &[u8]) -> Result<KeyBytes, KeysError> {
        if file.starts_with(b"\xef\xbb\xbf") {
            return Err(KeysError::Mark);
        }
        let mut found = KeyBytes::NONE;
        let mut lines = [0; MOST_KEYS];
        for (line, text) in file.split(|byte| *byte == b'\n').enumerate() {
            let line = line + 1;
            let text = text.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii();
            if text.is_empty() {
                continue;
            }
            let key = key(text).ok_or(KeysError::Line(line))?;
            if let Some(first) = found.as_slice().iter().position(|other| *other == key) {
                return Err(KeysError::Twice { first: lines[first], second: line });
            } else if found.count == MOST_KEYS {
                return Err(KeysError::TooMany(line));
            }
            (found.keys[found.count], lines[found.count]) = (key, line);
            found.count += 1;
        }
        if found.count == 0 { Err(KeysError::Empty) } else { Ok(found) }
    }

    /// The keys.
    pub fn as_slice(&self) -> &[[u8; 16]] {
        &self.keys[..self.count]
    }
}

/// The key that a text is.
fn key(text: &[u8]) -> Option<[u8; 16]> {
    let text: &[u8; 32] = text.try_into().ok()?;
    let mut key = [0; 16];
    for (byte, digits) in key.iter_mut().zip(text.chunks_exact(2)) {
        let digit = |at: usize| char::from(digits[at]).to_digit(16);
        *byte = (digit(0)? << 4 | digit(1)?) as u8;
    }
    Some(key)
}
