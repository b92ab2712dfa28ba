//! The bytes of a record.

use proptest::prelude::*;
use snowflake_core::layout::TWITTER_EPOCH;
use snowflake_core::register::{LENGTH, MAGIC, Record, RecordError, VERSION};
use snowflake_core::time::Span;

use crate::fixtures::{NOW, WRITER, own};
use crate::records::records;

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decode_inverts_encode(record in records()) {
        prop_assert_eq!(Record::decode(&record.encode()), Ok(record));
    }

    #[test]
    fn any_flipped_bit_is_noticed(record in records(), bit in 0..LENGTH * 8) {
        let mut bytes = record.encode();
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Record::decode(&bytes).is_err());
    }

    #[test]
    fn other_content_is_damage(bytes in prop::array::uniform32(any::<u8>())) {
        let bytes: [u8; LENGTH] = [bytes; 5].concat()[..LENGTH].try_into().expect("as many bytes");
        prop_assert_eq!(Record::decode(&bytes), Err(RecordError::Damaged));
    }
}

/// It is written out for whoever reads the page without knowing the layout; -1 stands for none.
#[test]
fn a_record_holds_the_highest_id_that_it_permits() {
    for (floor, highest) in [
        (NOW, ((NOW - TWITTER_EPOCH).0 << 22) | ((1 << 22) - 1)),
        (TWITTER_EPOCH, (1 << 22) - 1),
        (TWITTER_EPOCH - Span(1), -1),
    ] {
        let record = Record { floor, ..own() };
        assert_eq!(record.highest_id().unwrap_or(-1), highest);
        assert_eq!(record.encode()[32..40], highest.to_le_bytes());
    }
}

/// Records without a confirmed layout are as they were before there were any with one. What is said
/// of a copy is behind all that release 0.4.0 reads, and changes none of it.
#[test]
fn a_record_without_a_confirmed_layout_is_112_bytes_long() {
    let bytes = own().encode();
    assert_eq!(bytes[112..], [0; LENGTH - 112]);
    assert_eq!(bytes[108..112], crc32fast::hash(&bytes[..108]).to_le_bytes());
    let copy = Record { copy_of: Some(WRITER), ..own() }.encode();
    assert_eq!(copy[..124], bytes[..124]);
    assert_ne!(copy[124..], bytes[124..]);
}

/// No release wrote one. It is refused by its number, and never misread.
#[test]
fn a_record_of_an_older_version_is_refused() {
    for version in 0..VERSION {
        let mut older = own().encode();
        older[8..12].copy_from_slice(&version.to_le_bytes());
        assert_eq!(Record::decode(&older), Err(RecordError::OlderVersion(version)));
    }
}

#[test]
fn zeros_and_later_versions_are_refused() {
    assert_eq!(Record::decode(&[0; LENGTH]), Err(RecordError::Damaged));
    let mut later = [0xff; LENGTH];
    later[..8].copy_from_slice(&MAGIC);
    later[8..12].copy_from_slice(&(VERSION + 1).to_le_bytes());
    assert_eq!(Record::decode(&later), Err(RecordError::NewerVersion(VERSION + 1)));
}
