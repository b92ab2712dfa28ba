//! Conditions under which a server may issue IDs, and the worker ID that its name gives.
//!
//! ```
//! use snowflake_core::condition::{Numbered, Found};
//!
//! let numbered = Numbered::parse("HOSTNAME=shop-*, NAMESPACE=shop-db").unwrap();
//! assert_eq!(numbered.pattern.number("shop-3"), Found::Number(3));
//! assert_eq!(numbered.pattern.number("shop-standby"), Found::NoNumber);
//! ```

/// A name, which is that of the machine or of an environment variable, and the value that it has to
/// have.
///
/// A copy of a data directory has the identity that is set in it. Where it cannot be set outside, a
/// name that the copy does not have tells it from its original: that of the cluster, in the
/// environment, or that of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// `hostname`, or the name of an environment variable.
    pub name: String,
    /// The value, which is not empty.
    pub value: String,
}

/// Reads conditions, which are separated by commas; `None` where the text is no list of them.
pub fn parse(text: &str) -> Option<Vec<Condition>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    text.split(',').map(condition).collect()
}

fn condition(text: &str) -> Option<Condition> {
    let (name, value) = text.split_once('=')?;
    let [name, value] = [name.trim(), value.trim()];
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    (is_name && !value.is_empty()).then(|| Condition { name: name.into(), value: value.into() })
}

/// Conditions, one of which has the place of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// The one that gives the number.
    pub pattern: Condition,
    /// All others, which have to hold.
    pub conditions: Vec<Condition>,
}

/// The result of matching a pattern with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The number.
    Number(u32),
    /// A number that no layout holds.
    TooLarge,
    /// The value does not match.
    NoNumber,
}

impl Numbered {
    /// Reads conditions of which exactly one has one asterisk; `None` for another text.
    pub fn parse(text: &str) -> Option<Numbered> {
        let (patterns, conditions): (Vec<_>, Vec<_>) =
            parse(text)?.into_iter().partition(|condition| condition.value.contains('*'));
        let [pattern] = <[_; 1]>::try_from(patterns).ok()?;
        (pattern.value.matches('*').count() == 1).then_some(Numbered { pattern, conditions })
    }
}

impl Condition {
    /// The number at the place of the asterisk: decimal digits, which may begin with zeros. Nothing
    /// else may differ.
    pub fn number(&self, value: &str) -> Found {
        let digits = self.value.split_once('*').and_then(|(before, after)| {
            value.strip_prefix(before).and_then(|rest| rest.strip_suffix(after))
        });
        match digits {
            Some(digits)
                if !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit()) =>
            {
                digits.parse().map_or(Found::TooLarge, Found::Number)
            }
            _ => Found::NoNumber,
        }
    }
}
