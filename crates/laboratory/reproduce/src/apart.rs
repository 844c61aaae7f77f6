//! Figures that are computed without runs.

use fanin_papers::{Apart, Measured, Mode};
use fanin_placement::SendQueue;

use crate::{planning, swarms};

/// The sub-queue and the exponent of PICC's queue (section III-C).
const QUEUE: (usize, u32) = (10, 3);

/// Computes such a figure.
pub(super) fn carry_out(apart: &Apart, mode: Mode, measured: &mut Measured) {
    let measure = apart.measure();
    let mut give = |curve: usize, x: f64, values| measured.give(measure, apart.curves()[curve], x, values);
    match apart {
        Apart::Swarms(targets) => targets.iter().for_each(|&n| give(0, n.into(), swarms::time(n))),
        Apart::Planning(rates) => {
            for &rate in rates {
                let [window, plan] = planning::time(rate, mode);
                give(0, rate.into(), window);
                give(1, rate.into(), plan);
            }
        }
        Apart::Queue(sizes) => {
            let [in_order, reordered] = [1, QUEUE.0].map(|most| mean_end(sizes, most));
            for (curve, mean) in [in_order, reordered, in_order - reordered].into_iter().enumerate() {
                give(curve, sizes.len() as f64, vec![mean]);
            }
        }
    }
}

/// Mean completion time of objects that have waited equally long, in the time that a unit of size takes.
fn mean_end(sizes: &[u32], most: usize) -> f64 {
    let mut queue = SendQueue::new(most, QUEUE.1);
    sizes.iter().for_each(|&size| queue.push(size, size, 0));
    let ends = std::iter::from_fn(|| queue.pop(1)).scan(0u64, |at, size| {
        *at += u64::from(size);
        Some(*at)
    });
    ends.sum::<u64>() as f64 / sizes.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_of_the_paper_has_the_published_means() {
        assert_eq!([1, 10].map(|most| mean_end(&[400, 2, 2, 200], most)), [452.5, 203.5]);
    }
}
