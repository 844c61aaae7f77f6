//! Recorded requests, which replace the random ones of a key_value workload.

use fanin_units::Time;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Objects, their placement, and requests for them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    /// Bytes of each object.
    pub sizes: Vec<u32>,
    /// Hosts of each object's replicas; all objects have the same number.
    pub homes: Vec<u32>,
    #[serde(with = "crate::packed::list_of_ps")]
    begins: Vec<Time>,
    /// End of each request's objects.
    ends: Vec<usize>,
    objects: Vec<u32>,
}

impl Requests {
    /// A log without requests, of objects with these sizes and hosts.
    pub fn new(sizes: Vec<u32>, homes: Vec<u32>) -> Requests {
        Requests { sizes, homes, ..Requests::default() }
    }

    /// Adds a request for distinct objects that starts at this time, not before the previous one.
    pub fn push(&mut self, begins: Time, objects: impl IntoIterator<Item = u32>) {
        self.begins.push(begins);
        self.objects.extend(objects);
        self.ends.push(self.objects.len());
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no requests.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// SHA-256 of the contents.
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

    /// Start and objects of a request.
    pub fn get(&self, number: usize) -> Option<(Time, &[u32])> {
        let first = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some((*self.begins.get(number)?, &self.objects[first..self.ends[number]]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_logs_have_different_digests() {
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
