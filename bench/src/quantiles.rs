//! Medians and the like.

/// The value in the middle.
pub fn median(values: Vec<f64>) -> f64 {
    quantiles(values)(0.5)
}

/// The median of the ratios of two figures of the same round. What disturbs the machine for longer
/// than a round disturbs both.
pub fn ratio(these: &[f64], those: &[f64]) -> f64 {
    median(these.iter().zip(those).map(|(this, that)| this / that).collect())
}

/// The value that this share of all does not exceed.
pub fn quantiles(mut values: Vec<f64>) -> impl Fn(f64) -> f64 {
    assert!(!values.is_empty());
    values.sort_unstable_by(f64::total_cmp);
    move |share| values[((values.len() - 1) as f64 * share).round() as usize]
}
