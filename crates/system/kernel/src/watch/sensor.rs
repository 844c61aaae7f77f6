//! The sensor at a network device.

use std::io;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use libbpf_rs::{Link, MapCore, MapFlags, Object, ProgramAttachType, RingBuffer, RingBufferBuilder};
use nix::net::if_::if_nametoindex;

use crate::control::WATCH;
use crate::load;
use crate::tcx;
use crate::trouble::Trouble;
use crate::watch::burst::Bin;
use crate::watch::heads;

/// Places of the number of lost bins and of the open bin in the map of the state (bpf/watch.bpf.c).
const LOST_BINS: usize = 40;
const OPEN_BIN: usize = 56;

/// Settings of the sensor.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Time of a bin, ns.
    pub bin_ns: u64,
    /// Bytes above which a bin is part of a burst.
    pub limit: u64,
    /// Bins of the longest pause within a burst.
    pub longest_pause: u64,
    /// Keep the latest packets' headers.
    pub keeps_heads: bool,
    /// Random number by which connections have places in the kernel's table.
    pub seed: u64,
}

/// An attached sensor. The kernel takes it back when this process ends in any way.
pub struct Sensor {
    /// Its maps.
    pub object: Object,
    links: Vec<Link>,
    ring: RingBuffer<'static>,
    bins: Receiver<Bin>,
    /// The latest bin that [`Sensor::bins`] returned.
    latest: u64,
}

impl Sensor {
    /// Attaches it to a device.
    ///
    /// # Errors
    /// There is no such device, or the kernel refuses the sensor.
    pub fn attach(device: &str, settings: Settings) -> Result<Sensor, Trouble> {
        let index = if_nametoindex(device).map_err(|error| {
            Trouble::Input(format!("--interface {device}: {error}; `ip link` lists this machine's network devices"))
        })?;
        let index = i32::try_from(index).map_err(io::Error::other)?;
        let object = load(settings)?;
        let mut links = Vec::new();
        for program in object.progs_mut().filter(|program| settings.keeps_heads || program.name() != LEAVES) {
            let what = || format!("attach to {device} (links at devices need Linux 6.6)");
            links.push(tcx::attach(&program, index).map_err(|error| Trouble::kernel(&what(), error))?);
        }
        let (sender, bins) = mpsc::channel();
        let mut builder = RingBufferBuilder::new();
        let take = move |bytes: &[u8]| i32::from(Bin::read(bytes).is_none_or(|bin| sender.send(bin).is_err()));
        let closed = load::map(&object, "closed")?;
        builder.add(&closed, take).map_err(unread)?;
        let ring = builder.build().map_err(unread)?;
        Ok(Sensor { object, links, ring, bins, latest: 0 })
    }

    /// Waits for bins.
    ///
    /// # Errors
    /// The kernel refuses to show them.
    pub fn wait(&self, longest: Duration) -> Result<(), Trouble> {
        match self.ring.poll(longest) {
            // A signal interrupts the wait.
            Err(error) if error.kind() != libbpf_rs::ErrorKind::Interrupted => Err(unread(error)),
            _ => Ok(()),
        }
    }

    /// Takes the bins before this one.
    ///
    /// # Errors
    /// The kernel refuses to show them.
    pub fn bins(&mut self, before: u64) -> Result<Vec<Bin>, Trouble> {
        // No later packet has closed it. Those closed before are in the ring buffer now.
        let open = open_bin(&self.object)?;
        self.ring.consume().map_err(unread)?;
        let mut bins: Vec<Bin> = self.bins.try_iter().filter(|bin| bin.id > self.latest).collect();
        let latest = bins.last().map_or(self.latest, |bin| bin.id);
        bins.extend(open.filter(|bin| bin.packets > 0 && latest < bin.id && bin.id < before));
        self.latest = bins.last().map_or(latest, |bin| bin.id);
        Ok(bins)
    }

    /// Bins for which the ring buffer had no space.
    ///
    /// # Errors
    /// The kernel refuses to show it.
    pub fn lost(&self) -> Result<u64, Trouble> {
        let state = state(&self.object)?;
        Ok(state.get(LOST_BINS..).and_then(|state| state.first_chunk()).map_or(0, |word| u64::from_ne_bytes(*word)))
    }

    /// Detaches it; its maps stay.
    pub fn detach(&mut self) {
        self.links.clear();
    }
}

fn state(object: &Object) -> Result<Vec<u8>, Trouble> {
    let state = load::map(object, "states")?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
    Ok(state.map_err(unread)?.unwrap_or_default())
}

/// The bin to which packets are added.
///
/// # Errors
/// The kernel refuses to show it.
pub fn open_bin(object: &Object) -> Result<Option<Bin>, Trouble> {
    Ok(state(object)?.get(OPEN_BIN..).and_then(Bin::read))
}

/// The program of departures, of which the headers alone are kept.
const LEAVES: &str = "watch_leaves";

/// Loads it.
///
/// # Errors
/// The kernel refuses it.
pub fn load(settings: Settings) -> Result<Object, Trouble> {
    let Settings { bin_ns, limit, longest_pause, keeps_heads, seed } = settings;
    let count = if keeps_heads { heads::COUNT } else { 0 };
    let mut object = load::open("watch", WATCH)?;
    let constants = [bin_ns, limit, longest_pause, count.into(), seed];
    let bytes: Vec<u8> = constants.iter().flat_map(|word| word.to_ne_bytes()).collect();
    load::set_constants(&mut object, &bytes)?;
    for mut map in object.maps_mut().filter(|map| map.name() == "heads") {
        map.set_max_entries(count.max(1)).map_err(|error| load::refused("set the number of headers", &error))?;
    }
    for mut program in object.progs_mut() {
        let leaves = program.name() == LEAVES;
        program.set_attach_type(if leaves { ProgramAttachType::TcxEgress } else { ProgramAttachType::TcxIngress });
        program.set_autoload(keeps_heads || !leaves);
    }
    object.load().map_err(|error| load::refused("load the sensor", &error))
}

fn unread(error: libbpf_rs::Error) -> Trouble {
    load::refused("read the sensor", &error)
}
