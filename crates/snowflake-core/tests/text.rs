//! Property tests of the text forms.

use proptest::prelude::*;
use snowflake_core::layout::PartsError;
use snowflake_core::outside::text::{Base62Error, from_base62, iso8601, to_base62};
use snowflake_core::time::Timestamp;

fn ids() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), Just(1), Just(61), Just(62), Just(i64::MAX), 0..=i64::MAX]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn from_base62_inverts_to_base62(id in ids()) {
        let text = to_base62(id).expect("an ID");
        prop_assert_eq!(text.as_str().len(), 11);
        prop_assert_eq!(from_base62(text.as_str()), Ok(id));
    }

    #[test]
    fn texts_sort_as_ids(a in ids(), b in ids()) {
        let (text_a, text_b) = (to_base62(a).expect("an ID"), to_base62(b).expect("an ID"));
        prop_assert_eq!(a.cmp(&b), text_a.cmp(&text_b));
    }

    #[test]
    fn what_is_read_is_what_is_written(text in "[0-9A-Za-z]{11}|.{0,12}") {
        if let Ok(id) = from_base62(&text) {
            let written = to_base62(id).expect("an ID");
            prop_assert_eq!(written, text);
        }
    }

    #[test]
    fn iso8601_is_read_back(unix_ms in 0..=jiff::Timestamp::MAX.as_millisecond()) {
        let text = iso8601(Timestamp(unix_ms));
        prop_assert_eq!(text.len(), "2020-06-03T09:53:38.874Z".len());
        prop_assert_eq!(text.parse::<jiff::Timestamp>().map(|time| time.as_millisecond()).ok(), Some(unix_ms));
    }
}

#[test]
fn the_smallest_and_the_largest_id_have_texts_and_no_other_number() {
    assert_eq!(to_base62(0), Ok("00000000000".to_owned()));
    assert_eq!(to_base62(i64::MAX), Ok("AzL8n0Y58m7".to_owned()));
    assert_eq!(to_base62(-1), Err(PartsError::Negative(-1)));
    assert_eq!(from_base62("AzL8n0Y58m8"), Err(Base62Error::TooLarge));
    assert_eq!(from_base62("zzzzzzzzzzz"), Err(Base62Error::TooLarge));
}

#[test]
fn malformed_texts_are_refused() {
    let digit = |character, position| Err(Base62Error::Digit { character, position });
    for (text, error) in [
        ("", Err(Base62Error::Length(0))),
        ("1Vfznn0WLj", Err(Base62Error::Length(10))),
        ("1Vfznn0WLjcw", Err(Base62Error::Length(12))),
        ("1Vfznn0WLj-", digit('-', 11)),
        (" 1Vfznn0WLjc", digit(' ', 1)),
        ("1Vfznn0WLjc\n", digit('\n', 12)),
        ("1Veb_VCqF w", digit('_', 5)),
        ("1Vebä", digit('ä', 5)),
        ("ä1Veb-", digit('ä', 1)),
        ("zzzzzzzzzzzzzzzzzzzz", Err(Base62Error::Length(20))),
    ] {
        assert_eq!(from_base62(text), error, "{text}");
    }
}

#[test]
fn years_beyond_9999_are_written_as_javascript_does() {
    // Python: datetime cannot. JavaScript: new Date(ms).toISOString().
    for (unix_ms, text) in [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
        (8_640_000_000_000_000, "+275760-09-13T00:00:00.000Z"),
    ] {
        assert_eq!(iso8601(Timestamp(unix_ms)), text);
    }
}
