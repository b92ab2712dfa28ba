use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use sha2::{Digest, Sha256};

const DIGITS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

fn check(prefix: &str) -> [u8; 8] {
    Sha256::digest(format!("snowflake public ID of {prefix}"))[..8].try_into().unwrap()
}

pub fn to_public(key: [u8; 16], id: i64, prefix: &str) -> String {
    let mut block: [u8; 16] = [id.to_be_bytes(), check(prefix)].concat().try_into().unwrap();
    aes::Aes128::new(&key.into()).encrypt_block((&mut block).into());
    let number = u128::from_be_bytes(block);
    let digit = |place| char::from(DIGITS.as_bytes()[(number / 62_u128.pow(place) % 62) as usize]);
    let digits: String = (0..22).rev().map(digit).collect();
    if prefix.is_empty() { digits } else { format!("{prefix}_{digits}") }
}

pub fn from_public(keys: &[[u8; 16]], name: &str, prefix: &str) -> Option<i64> {
    let lead = if prefix.is_empty() { String::new() } else { format!("{prefix}_") };
    let digits = name.strip_prefix(&lead).filter(|digits| digits.len() == 22)?;
    let number = digits.chars().try_fold(0_u128, |number, digit| {
        number.checked_mul(62)?.checked_add(DIGITS.find(digit)? as u128)
    })?;
    keys.iter().find_map(|key| {
        let mut block = number.to_be_bytes();
        aes::Aes128::new(key.into()).decrypt_block((&mut block).into());
        (block[8..] == check(prefix)).then(|| i64::from_be_bytes(block[..8].try_into().unwrap()))
    })
}
