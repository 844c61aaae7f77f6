//! Bytes of a burst by the cgroups whose sockets receive them.

/// Cgroups of a bin, as bpf/watch.bpf.c counts them. Bytes for further ones are in none.
pub const CGROUPS: usize = 4;

/// Bytes for a cgroup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Its number; zero if the place is free.
    pub cgroup: u64,
    /// Bytes with their headers.
    pub bytes: u64,
}

/// Bytes by cgroup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares(pub [Share; CGROUPS]);

impl Shares {
    /// Adds those of another bin, as far as there are places.
    pub fn add(&mut self, other: &Shares) {
        for share in other.present() {
            let place = self.0.iter_mut().find(|own| own.cgroup == share.cgroup || own.cgroup == 0);
            if let Some(own) = place {
                *own = Share { cgroup: share.cgroup, bytes: own.bytes + share.bytes };
            }
        }
    }

    /// Those with a cgroup.
    pub fn present(&self) -> impl Iterator<Item = Share> {
        self.0.into_iter().filter(|share| share.cgroup > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_cgroup_are_joined() {
        let of = |pairs: &[[u64; 2]]| {
            let mut shares = Shares::default();
            for (place, [cgroup, bytes]) in shares.0.iter_mut().zip(pairs) {
                *place = Share { cgroup: *cgroup, bytes: *bytes };
            }
            shares
        };
        let mut shares = of(&[[7, 100], [8, 1]]);
        shares.add(&of(&[[8, 2], [9, 3]]));
        assert_eq!(shares, of(&[[7, 100], [8, 3], [9, 3]]));
        shares.add(&of(&[[1, 1], [2, 5], [7, 5]]));
        assert_eq!(shares, of(&[[7, 105], [8, 3], [9, 3], [1, 1]]), "a fifth one has no place");
    }
}
