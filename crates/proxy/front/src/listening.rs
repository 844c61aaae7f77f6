//! Listening addresses of a thread, and the pool whose clients connect to each.

use fanin_proxy_net::{Address, Net};

/// The addresses, by the number of their listener.
#[derive(Debug, Default)]
pub struct Listening {
    entries: Vec<Option<(Address, usize)>>,
}

impl Listening {
    /// The pool of a listener.
    pub fn pool(&self, listener: usize) -> Option<usize> {
        self.entries.get(listener)?.as_ref().map(|(_, pool)| *pool)
    }

    /// The listeners.
    pub fn numbers(&self) -> Vec<usize> {
        (0..self.entries.len()).filter(|number| self.entries[*number].is_some()).collect()
    }

    /// Listens at these addresses, each for a pool, and at no others.
    pub fn install<N: Net>(&mut self, pools: &[(Address, usize)], net: &mut N) {
        for (number, entry) in self.entries.iter_mut().enumerate() {
            if entry.take_if(|(at, _)| pools.iter().all(|(wanted, _)| wanted != at)).is_some() {
                net.unlisten(number);
            }
        }
        for (at, pool) in pools {
            if let Some(entry) = self.entries.iter_mut().flatten().find(|(listens, _)| listens == at) {
                entry.1 = *pool;
                continue;
            }
            let number = self.entries.iter().position(Option::is_none).unwrap_or_else(|| {
                self.entries.push(None);
                self.entries.len() - 1
            });
            match net.listen(number, at) {
                Ok(()) => self.entries[number] = Some((at.clone(), *pool)),
                Err(error) => net.tell(&format!("{at}: a thread cannot listen: {error}")),
            }
        }
    }

    /// Stops listening.
    pub fn close<N: Net>(&mut self, net: &mut N) {
        self.numbers().into_iter().for_each(|number| net.unlisten(number));
        self.entries.clear();
    }
}
