//! Requests as somebody's log has them: in place of what a key_value workload would draw.

use fanin_units::Time;

/// Objects, where they lie, and who asked for which.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requests {
    /// Bytes of each object.
    pub sizes: Vec<u32>,
    /// The hosts of each object's replicas, as many of each, object by object.
    pub homes: Vec<u32>,
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

    /// When a request begins, and what it is for.
    pub fn get(&self, number: usize) -> Option<(Time, &[u32])> {
        let first = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some((*self.begins.get(number)?, &self.objects[first..self.ends[number]]))
    }
}
