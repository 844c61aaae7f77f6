//! Thinning and rounding of a series' points.

use std::cmp::Ordering;
use std::ops::Sub;

/// Rounds to a multiple of `unit`, without digits beyond it.
pub(super) fn round_to(value: f64, unit: f64) -> f64 {
    let scale = (1.0 / unit).round();
    (value * scale).round() / scale
}

/// At most about `most` points: keeps the first, least, largest and last of neighbours within `apart`, so that all
/// peaks and dips remain.
pub(crate) fn thinned<T>(points: &[(T, T)], apart: T, most: usize) -> Vec<(T, T)>
where
    T: Copy + PartialOrd + Sub<Output = T>,
{
    if points.len() <= most {
        return points.to_vec();
    }
    let group = points.len().div_ceil(most / 4);
    let mut kept = Vec::new();
    let mut rest = points;
    while !rest.is_empty() {
        let near = rest.windows(2).take(group - 1).take_while(|pair| pair[1].0 - pair[0].0 <= apart).count();
        let (these, others) = rest.split_at(near + 1);
        let by_value = |i: &usize, j: &usize| these[*i].1.partial_cmp(&these[*j].1).unwrap_or(Ordering::Equal);
        let least = (0..=near).min_by(by_value).unwrap_or(0);
        let largest = (0..=near).max_by(by_value).unwrap_or(0);
        let mut indices = [0, least, largest, near];
        indices.sort_unstable();
        for (i, &index) in indices.iter().enumerate() {
            if i == 0 || indices[i - 1] != index {
                kept.push(these[index]);
            }
        }
        rest = others;
    }
    kept
}
