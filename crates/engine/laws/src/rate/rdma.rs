//! Settings of RDMA's reliable connection, which the crate `rdma` carries out.

use fanin_units::{Bytes, QueueSize, Time};

use crate::settings::{Refusal, params, words};

/// Bytes of an IP packet around its payload: IPv4, UDP, base transport header, invariant CRC (RoCEv2).
pub const HEADERS: u32 = 20 + 8 + 12 + 4;

words! {
    /// Packets that a queue pair sends again after a loss.
    Recovery, "\"go-back-n\" or \"selective-repeat\"" {
        /// Everything from the first missing packet on.
        GoBackN = "go-back-n",
        /// The missing packets only.
        SelectiveRepeat = "selective-repeat",
    }
}

params! {
    /// RDMA's reliable connection (RoCEv2), over lossless ports unless `pfc.enabled` is off.
    rdma {
        /// Payload of a full packet.
        #[range(Bytes(64)..=Bytes(16_384))]
        payload: Bytes = Bytes(1_024),
        /// Time without an acknowledgement after which everything unacknowledged is sent again.
        #[range(Time::from_micros(10)..)]
        timeout: Time = Time::from_millis(4),
        /// Local ACK timeout as cards have it, in place of `timeout`: n for 4.096 us * 2^n; 0: `timeout` applies.
        #[range(0..=31)]
        local_ack_timeout: u32 = 0,
        /// Timeouts in a row after which a connection breaks, as `retry_cnt` of cards; 0: never. For a key_value workload only.
        #[range(0..=255)]
        retries: u32 = 0,
        /// Least time between two requests for the same missing packet; "none": one request for each burst of loss, as cards have it, repeated only if the first packet that is sent again is lost, too.
        nack_interval: Option<Time> = Some(Time::from_micros(500)),
        /// Packets that are sent again after a loss: everything from the first missing packet on, or the missing packets only (IRN).
        recovery: Recovery = Recovery::GoBackN,
        /// Most bytes of a queue pair in flight; "auto": those of the scheme.
        window: Option<QueueSize> = None,
        /// Size of the messages into which a stream of bytes is divided; 0 B: each write of the application is one message.
        #[range(..=Bytes(1 << 31))]
        message: Bytes = Bytes(0),
        /// Messages of a queue pair in flight, the depth of its send queue; 0: any number.
        #[needs(|rdma| rdma.message.0 > 0, "`rdma.message` is 0 B: each write is one message")]
        depth: u32 = 0,
    }
    refuses |rdma| {
        let Some(QueueSize::Bytes(window)) = rdma.window else { return None };
        let what = alloc::format!("an `rdma.window` of {window} B holds no packet of {}: use at least one packet", rdma.payload);
        (window < rdma.payload.0).then_some(Refusal { paths: &["rdma.window", "rdma.payload"], what })
    };
}
