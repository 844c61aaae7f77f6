//! Requests as somebody's log has them: in place of what a key_value workload would draw.

use fanin_units::Time;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Objects, where they lie, and who asked for which.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    /// Bytes of each object.
    pub sizes: Vec<u32>,
    /// The hosts of each object's replicas, as many of each, object by object.
    pub homes: Vec<u32>,
    #[serde(with = "crate::packed::list_of_ps")]
    begins: Vec<Time>,
    /// Where each request's objects end.
    ends: Vec<usize>,
    objects: Vec<u32>,
}

impl Requests {
    /// Of objects with these sizes and homes, and no request yet.
    pub fn new(sizes: Vec<u32>, homes: Vec<u32>) -> Requests {
        Requests { sizes, homes, ..Requests::default() }
    }

    /// One more request, for some objects, each once, which begins then: no earlier than the one before.
    pub fn push(&mut self, begins: Time, objects: impl IntoIterator<Item = u32>) {
        self.begins.push(begins);
        self.objects.extend(objects);
        self.ends.push(self.objects.len());
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// SHA-256 over all that is in it.
    pub(crate) fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for (words, what) in [(&self.sizes, "sizes"), (&self.homes, "homes")] {
            digest.update(format!("{what} {}\n", words.len()));
            words.iter().for_each(|word| digest.update(word.to_le_bytes()));
        }
        for (begins, objects) in (0..self.len()).filter_map(|number| self.get(number)) {
            digest.update(format!("at {} {}\n", begins.0, objects.len()));
            objects.iter().for_each(|object| digest.update(object.to_le_bytes()));
        }
        hex::encode(digest.finalize())
    }

    /// When a request begins, and what it is for.
    pub fn get(&self, number: usize) -> Option<(Time, &[u32])> {
        let first = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some((*self.begins.get(number)?, &self.objects[first..self.ends[number]]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_that_differ_in_anything_have_other_digests() {
        let log = |size, home, begins, objects: [u32; 2]| {
            let mut log = Requests::new(vec![size, 20], vec![home, 2]);
            log.push(Time(begins), objects);
            log.digest()
        };
        let one = log(10, 1, 5, [0, 1]);
        assert_eq!(one, log(10, 1, 5, [0, 1]));
        for other in [log(11, 1, 5, [0, 1]), log(10, 3, 5, [0, 1]), log(10, 1, 6, [0, 1]), log(10, 1, 5, [1, 0])] {
            assert_ne!(one, other);
        }
    }
}
