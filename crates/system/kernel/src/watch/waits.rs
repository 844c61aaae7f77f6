//! Waits of this host's connections, by their cause.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc::{self, Receiver};

use crate::control::WAITS;
use crate::load;
use crate::trouble::Trouble;
use crate::watch::row::Cause;
use libbpf_rs::{Link, MapCore, MapFlags, Object, RingBuffer, RingBufferBuilder};

const FAMILY_IPV6: u16 = 10;

/// Place of the number of lost waits among the object's variables (bpf/waits.bpf.c).
const LOST: usize = 3;

/// A wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Its end in CLOCK_MONOTONIC, ns.
    pub at: u64,
    /// Its length, us.
    pub us: u64,
    /// Why.
    pub cause: Cause,
    /// Cgroup of its socket; zero if it is unknown.
    pub cgroup: u64,
    /// This host's end of the connection.
    pub own: (IpAddr, u16),
    /// The other end.
    pub peer: (IpAddr, u16),
}

impl Wait {
    /// A record of bpf/waits.bpf.c.
    fn read(record: &[u8]) -> Option<Wait> {
        let word = |place: usize| Some(u64::from_ne_bytes(*record.get(place..)?.first_chunk()?));
        let short = |place: usize| Some(u16::from_ne_bytes(*record.get(place..)?.first_chunk()?));
        let (family, cause) = (short(60)?, short(62)?);
        let address = |place: usize| -> Option<IpAddr> {
            let bytes: [u8; 16] = *record.get(place..)?.first_chunk()?;
            Some(match (family == FAMILY_IPV6, Ipv6Addr::from(bytes).to_ipv4_mapped()) {
                (true, None) => Ipv6Addr::from(bytes).into(),
                (true, Some(mapped)) => mapped.into(),
                (false, _) => Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into(),
            })
        };
        Some(Wait {
            at: word(0)?,
            us: word(8)?,
            cause: *Cause::ALL.get(usize::from(cause))?,
            cgroup: word(16)?,
            own: (address(24)?, short(56)?),
            peer: (address(40)?, short(58)?),
        })
    }
}

/// The attached programs. The kernel takes them back when this process ends in any way.
pub struct Waits {
    object: Object,
    _links: Vec<Link>,
    ring: RingBuffer<'static>,
    waits: Receiver<Wait>,
    /// Segments sent again until the latest reading.
    segments: [u64; 3],
}

impl Waits {
    /// Attaches the programs to this network namespace's connections.
    ///
    /// # Errors
    /// The kernel has no such tracepoints, or refuses the programs.
    pub fn attach() -> Result<Waits, Trouble> {
        let mut object = load::open("waits", WAITS)?;
        let space = fs::metadata("/proc/self/ns/net")?.ino();
        let space = u32::try_from(space).map_err(io::Error::other)?;
        load::set_constants(&mut object, &space.to_ne_bytes())?;
        let object = object.load().map_err(unloaded)?;
        let links =
            object.progs_mut().map(|program| program.attach_trace().map_err(unloaded)).collect::<Result<_, _>>()?;
        let (sender, waits) = mpsc::channel();
        let mut builder = RingBufferBuilder::new();
        let take = move |bytes: &[u8]| i32::from(Wait::read(bytes).is_none_or(|wait| sender.send(wait).is_err()));
        let map = load::map(&object, "waits")?;
        builder.add(&map, take).map_err(unloaded)?;
        let ring = builder.build().map_err(unloaded)?;
        Ok(Waits { object, _links: links, ring, waits, segments: [0; 3] })
    }

    /// Takes the waits that ended.
    ///
    /// # Errors
    /// The kernel refuses to show them.
    pub fn take(&self) -> Result<Vec<Wait>, Trouble> {
        self.ring.consume().map_err(unloaded)?;
        Ok(self.waits.try_iter().collect())
    }

    /// Waits for which the ring buffer had no space.
    ///
    /// # Errors
    /// The kernel refuses to show them.
    pub fn lost(&self) -> Result<u64, Trouble> {
        Ok(self.variables()?.get(LOST).copied().unwrap_or(0))
    }

    /// The object's variables, words in their order.
    fn variables(&self) -> Result<Vec<u64>, Trouble> {
        let variables = self.object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"));
        let variables = variables.ok_or_else(|| Trouble::Environment("the object has no variables".into()))?;
        let bytes = variables.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(unloaded)?.unwrap_or_default();
        Ok(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect())
    }

    /// Segments sent again since the last call, by cause.
    ///
    /// # Errors
    /// The kernel refuses to show them.
    pub fn segments(&mut self) -> Result<[u64; 3], Trouble> {
        let words = self.variables()?;
        let now = std::array::from_fn(|cause| words.get(cause).copied().unwrap_or(0));
        let before = std::mem::replace(&mut self.segments, now);
        Ok(std::array::from_fn(|cause| now[cause].wrapping_sub(before[cause])))
    }
}

fn unloaded(error: libbpf_rs::Error) -> Trouble {
    load::refused("observe waits", &error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_is_read() {
        let mut record = [5_u64, 200_000, 77].map(u64::to_ne_bytes).concat();
        record.extend(
            [[10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [10, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]
                .concat(),
        );
        record.extend([7_000_u16, 40_000, 2, 1].iter().flat_map(|short| short.to_ne_bytes()));
        let wanted = Wait {
            at: 5,
            us: 200_000,
            cause: Cause::LossProbe,
            cgroup: 77,
            own: (Ipv4Addr::new(10, 0, 0, 1).into(), 7_000),
            peer: (Ipv4Addr::new(10, 0, 0, 2).into(), 40_000),
        };
        assert_eq!(Wait::read(&record), Some(wanted));
        assert_eq!(Wait::read(&record[..63]), None);
        record[62] = 9;
        assert_eq!(Wait::read(&record), None, "an unknown cause");
        record[60..64].copy_from_slice(&[10_u16.to_ne_bytes(), 2_u16.to_ne_bytes()].concat());
        record[24..40].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
        record[40..56].copy_from_slice(&Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets());
        let found = Wait::read(&record).unwrap();
        assert_eq!((found.cause, found.own.0), (Cause::FastRetransmit, Ipv6Addr::LOCALHOST.into()));
        assert_eq!(found.peer.0, IpAddr::from(Ipv4Addr::LOCALHOST));
    }
}
