//! Conditions that IDs have to meet.

/// Asserts that no ID occurs twice.
#[track_caller]
pub fn assert_distinct(mut ids: Vec<i64>) {
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "{} of {count} IDs are duplicates", count - ids.len());
}

/// Asserts that each ID is greater than the one before it.
#[track_caller]
pub fn assert_increasing(ids: &[i64]) {
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] >= pair[1]) {
        panic!("{} came after {}", pair[1], pair[0]);
    }
}
