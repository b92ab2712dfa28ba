//! Medians and the like.

/// The value in the middle.
pub fn median(values: Vec<f64>) -> f64 {
    quantiles(values)(0.5)
}

/// The value that this share of all does not exceed.
pub fn quantiles(mut values: Vec<f64>) -> impl Fn(f64) -> f64 {
    assert!(!values.is_empty());
    values.sort_unstable_by(f64::total_cmp);
    move |share| values[((values.len() - 1) as f64 * share).round() as usize]
}
