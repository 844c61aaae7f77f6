//! Priority flow control: a switch that holds too many packets of one link pauses the link's sending end.
//! Sources: IEEE 802.1Qbb-2011; thresholds in a shared memory: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments"
//!          (SIGCOMM 2015), section 4, and the switch of Li et al., HPCC (SIGCOMM 2019), section 5.1.
//! Law:     packets from a link fill its reserve, then shared memory up to a threshold T = alpha (S - used), then its headroom. A link's
//!          class is paused once its share reaches T or headroom is in use; it resumes once headroom is empty and the share is at least
//!          resume below T. Packets that find the headroom full are dropped. Departures empty the headroom first.
//! Units:   bytes as stored in the buffer; alpha in 1/65536, T rounded down.
//! Owns:    a memory's shared use, and each link's use by class. The driver sends pauses and keeps queues.
//! Departs: nowhere.
//! Checked: vectors/pfc.json; tests/trajectories/pfc.txt; tests/properties/pauses.rs.

use fanin_units::{Bytes, QueueSize, Rate, Share, Time};

use crate::settings::params;

params! {
    /// Lossless ports: switches pause the links by which they fill (PFC, IEEE 802.1Qbb).
    pfc {
        /// Whether switches pause links. Without, ports drop packets that exceed their buffers, as those of TCP do.
        enabled: bool = true,
        /// Memory reserved for each link into a switch.
        reserved: Bytes = Bytes(4_096),
        /// Memory for packets that arrive over a link after it was paused; "auto": three times the link's rate by its delay, but at least the bytes of two delays, of a random delay of hosts' packets, and of three frames, one of them the pause.
        headroom: Option<QueueSize> = None,
        /// Share of the unused memory that one link may fill before it is paused. Links faster than the slowest may fill as many times more.
        #[range(Share::of(1, 1_024)..)]
        alpha: Share = Share::of(1, 8),
        /// How far below the threshold a paused link resumes.
        resume: Bytes = Bytes(3_072),
    }
}

/// Headroom of a link by default, which `needs` these bytes.
pub fn usual_headroom(rate: Rate, delay: Time, needs: u64) -> u64 {
    (3 * rate.bytes_in(delay)).max(needs)
}

/// Headroom that a link needs: the bytes that it carries while a pause frame crosses it, with a delay each way and packets that are late at
/// random (`jitter`), and a frame that has begun at either end.
pub fn needed_headroom(rate: Rate, delay: Time, jitter: Time, frame: u64, pause_frame: u64) -> u64 {
    rate.bytes_in(Time(2 * delay.0 + jitter.0)) + 2 * frame + pause_frame
}

/// Memory that the links into a switch share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    shared: u64,
    reserved: u64,
    resume: u64,
    used: u64,
}

/// The part of one link's class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Size of its headroom.
    headroom: u64,
    alpha_q16: u64,
    /// Bytes in reserve and shared memory, and those in headroom.
    bytes: u64,
    beyond: u64,
    paused: bool,
}

impl Held {
    /// An empty link into a switch, `times` as fast as its slowest.
    pub fn new(params: &Params, headroom: u64, times: u64) -> Held {
        let alpha_q16 = (u64::from(params.alpha.in_q(16)) * times).min(1 << 16);
        Held { headroom, alpha_q16, bytes: 0, beyond: 0, paused: false }
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.beyond
    }

    /// Whether it is paused.
    pub fn is_paused(&self) -> bool {
        self.paused
    }
}

impl Memory {
    /// A memory of `bytes` with these headrooms, one for each link; `None` if reserves and headrooms take all of it.
    pub fn new(params: &Params, bytes: u64, headrooms: impl Iterator<Item = u64>) -> Option<Memory> {
        let own = headrooms.fold(0, |sum, headroom| sum + headroom + params.reserved.0);
        let shared = bytes.checked_sub(own).filter(|&shared| shared > 0)?;
        Some(Memory { shared, reserved: params.reserved.0, resume: params.resume.0, used: 0 })
    }

    /// Shared bytes in use.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Shared bytes that a link may fill now before it is paused.
    pub fn threshold(&self, held: &Held) -> u64 {
        ((u128::from(self.shared.saturating_sub(self.used)) * u128::from(held.alpha_q16)) >> 16) as u64
    }

    fn share(&self, held: &Held) -> u64 {
        held.bytes.saturating_sub(self.reserved)
    }

    /// Whether a packet of this size fits.
    pub fn admits(&self, held: &Held, bytes: u64) -> bool {
        held.beyond + bytes <= held.headroom || self.share(held) + bytes <= self.threshold(held)
    }

    /// A packet is queued; returns whether its link is to be paused.
    #[inline]
    pub fn queued(&mut self, held: &mut Held, bytes: u64) -> bool {
        let share = (held.bytes + bytes).saturating_sub(self.reserved);
        if share > self.threshold(held) {
            held.beyond += bytes;
        } else {
            self.used += bytes.min(share);
            held.bytes += bytes;
        }
        let pauses = !held.paused && (held.beyond > 0 || self.share(held) >= self.threshold(held));
        held.paused |= pauses;
        pauses
    }

    /// A packet has left; returns whether its link is to resume.
    #[inline]
    pub fn left(&mut self, held: &mut Held, bytes: u64) -> bool {
        let beyond = held.beyond.min(bytes);
        let rest = bytes - beyond;
        self.used -= rest.min(self.share(held));
        (held.beyond, held.bytes) = (held.beyond - beyond, held.bytes - rest);
        let share = self.share(held);
        let resumes = held.paused && held.beyond == 0 && (share == 0 || share + self.resume <= self.threshold(held));
        held.paused &= !resumes;
        resumes
    }
}
