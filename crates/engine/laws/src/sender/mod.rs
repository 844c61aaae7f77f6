//! The sender's window: a congestion control, an optional gentler slow start, an optional cap.
//!
//! The endpoint owns the scoreboard, loss recovery, the retransmission timer, the once-a-window gate on ECE, and the
//! [`Window`] itself. It passes application data ([`Law::begin`]) and every ACK ([`Law::observe`]) to the algorithm, which
//! [grows](Law::grow) the window outside recovery, sets a new ssthresh on congestion ([`Law::cut`]), and limits the
//! [`usable`](Law::usable) window.

mod control;
mod credits;
pub mod cubic;
pub mod d2tcp;
pub mod dctcp;
pub mod foreign;
pub mod gentle_slow_start;
pub mod l2dct;
pub mod max_cwnd;
pub mod newreno;
pub mod swift;
pub mod vegas;

use alloc::boxed::Box;

use fanin_units::{Rate, Time};

pub use control::{Ack, Cause, Congestion, Control, Window};
use foreign::Foreign;
use gentle_slow_start::GentleSlowStart;
use max_cwnd::MaxCwnd;

use crate::port::HeaderOption;
use crate::row::{Linux, Offer, Row, Shown};
use crate::settings::sections;

sections! {
    /// Settings of congestion controls.
    newreno: newreno::Params,
    dctcp: dctcp::Params,
    cubic: cubic::Params,
    vegas: vegas::Params,
    swift: swift::Params,
}

/// Declares the congestion controls, one row each: the type in its file, the section of its settings (`from`), and its [`Row`].
macro_rules! bases {
    ($($(#[doc = $doc:literal])* $Law:ident in $file:ident $(from $section:ident)? { $($row:tt)* })*) => {
        crate::row::kinds! {
            /// Kind of congestion control.
            [Foreign(foreign::Named): "One from outside."]
            $($(#[doc = $doc])* $Law in $file $(from $section)? { $($row)* })*
        }

        impl Kind {
            /// The state of a new connection.
            pub fn start(self, settings: &Settings) -> Base {
                let _ = settings;
                match self {
                    $(Kind::$Law => Base::$Law($file::$Law::start($(&settings.$section)?)),)*
                    Kind::Foreign(law) => Base::Foreign(law.source().start()),
                }
            }
        }

        /// State of a connection's congestion control.
        #[derive(Clone, Debug)]
        #[repr(u8)]
        pub enum Base {
            $($(#[doc = $doc])* $Law($file::$Law),)*
            /// From outside.
            Foreign(Box<dyn Foreign>),
        }

        impl Control for Base {
            fn passes(&mut self, switches: u32) {
                match self { $(Base::$Law(law) => law.passes(switches),)* Base::Foreign(law) => law.passes(switches) }
            }

            fn sample(&mut self, rtt: Time) {
                match self { $(Base::$Law(law) => law.sample(rtt),)* Base::Foreign(law) => law.sample(rtt) }
            }

            fn begin(&mut self, start: u64, end: u64, deadline: Time) {
                match self { $(Base::$Law(law) => law.begin(start, end, deadline),)* Base::Foreign(law) => law.begin(start, end, deadline) }
            }

            #[inline(always)]
            fn observe(&mut self, ack: &Ack) {
                match self { $(Base::$Law(law) => law.observe(ack),)* Base::Foreign(law) => law.observe(ack) }
            }

            #[inline]
            fn slow_start(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
                match self { $(Base::$Law(law) => law.slow_start(ack, mss, window),)* Base::Foreign(law) => law.slow_start(ack, mss, window) }
            }

            #[inline]
            fn congestion_avoidance(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
                match self { $(Base::$Law(law) => law.congestion_avoidance(ack, mss, window),)* Base::Foreign(law) => law.congestion_avoidance(ack, mss, window) }
            }

            fn takes_several(&self) -> bool {
                match self { $(Base::$Law(law) => law.takes_several(),)* Base::Foreign(law) => law.takes_several() }
            }

            fn paces(&self) -> bool {
                match self { $(Base::$Law(law) => law.paces(),)* Base::Foreign(law) => law.paces() }
            }

            fn rate(&self, window: &Window, srtt: Time) -> Option<Rate> {
                match self { $(Base::$Law(law) => law.rate(window, srtt),)* Base::Foreign(law) => law.rate(window, srtt) }
            }

            fn cut(&mut self, cause: Cause, at: &Congestion, mss: u32, window: &Window) -> u32 {
                match self { $(Base::$Law(law) => law.cut(cause, at, mss, window),)* Base::Foreign(law) => law.cut(cause, at, mss, window) }
            }

            fn shown(&self) -> Option<Shown> {
                match self { $(Base::$Law(law) => law.shown(),)* Base::Foreign(law) => law.shown() }
            }
        }
    };
}

bases! {
    /// RFC 5681 and 6582.
    NewReno in newreno from newreno {
        linux: Some(Linux { name: "reno", gentle: Some("fanin_gss_reno") }),
        offers: &[Offer {
            name: "newreno",
            aliases: &["reno"],
            says: "TCP NewReno over drop-tail queues: the baseline that collapses",
        }],
    }
    /// RFC 9438.
    Cubic in cubic from cubic {
        linux: Some(Linux { name: "cubic", gentle: Some("fanin_gss_cubic") }),
        offers: &[Offer {
            name: "cubic",
            aliases: &[],
            says: "CUBIC over drop-tail queues: the common default today",
        }],
    }
    /// RFC 8257.
    Dctcp in dctcp from dctcp {
        linux: Some(Linux { name: "dctcp", gentle: Some("fanin_gss_dctcp") }),
        brings: &["ecn_threshold", "ecn"],
        offers: &[Offer { name: "dctcp", aliases: &[], says: "DCTCP over ports that mark above a threshold" }],
    }
    /// DCTCP with deadlines.
    D2tcp in d2tcp from dctcp {
        brings: &["ecn_threshold", "ecn"],
        reads_keys: &["workload.deadline"],
        offers: &[Offer {
            name: "d2tcp",
            aliases: &[],
            says: "DCTCP that backs off less the nearer a flow's deadline is",
        }],
    }
    /// DCTCP weighted by attained service.
    L2dct in l2dct from dctcp {
        brings: &["ecn_threshold", "ecn"],
        offers: &[Offer {
            name: "l2dct",
            aliases: &[],
            says: "DCTCP that backs off less the less a flow has sent",
        }],
    }
    /// Brakmo and Peterson: by delay.
    Vegas in vegas from vegas {
        linux: Some(Linux { name: "vegas", gentle: None }),
        is_delay_based: true,
        offers: &[Offer {
            name: "vegas",
            aliases: &[],
            says: "TCP Vegas over drop-tail queues: keeps a few segments per flow queued",
        }],
    }
    /// Kumar et al.: by a target delay.
    Swift in swift from swift {
        is_delay_based: true,
        times_packets: true,
        refuses: &[("gss", "Swift has no slow start that could be gentler; use swift alone")],
        offers: &[Offer {
            name: "swift",
            aliases: &[],
            says: "Swift over drop-tail queues: a target delay, and windows below one packet; sets tcp.timestamps and tcp.delayed_ack = 1",
        }],
    }
}

/// Complete algorithm of one sender.
#[derive(Clone, Debug)]
pub struct Law {
    /// The maximum segment size, bytes.
    pub mss: u32,
    /// The congestion control.
    pub base: Base,
    /// Replacement for its slow start.
    pub slow_start: Option<GentleSlowStart>,
    /// A cap assigned by the switch.
    pub cap: Option<MaxCwnd>,
}

impl Law {
    /// Take a round-trip sample from the handshake; ACKs bring the others.
    pub fn sample(&mut self, rtt: Time) {
        self.base.sample(rtt);
        if let Some(gss) = &mut self.slow_start {
            gss.handshake(rtt);
        }
    }

    /// The application hands over the bytes from `start` to `end` of the stream, due by `deadline`.
    pub fn begin(&mut self, start: u64, end: u64, deadline: Time) {
        self.base.begin(start, end, deadline);
    }

    /// Process an ACK, in recovery too.
    #[inline(always)]
    pub fn observe(&mut self, ack: &Ack) {
        self.base.observe(ack);
        if let Some(gss) = &mut self.slow_start {
            gss.observe(ack);
        }
    }

    /// The connection sends again after it was idle.
    pub fn resume(&mut self, now: Time, last_sent: Time) {
        if let Base::Cubic(cubic) = &mut self.base {
            cubic.resume(now, last_sent);
        }
    }

    /// HyStart, for CUBIC as in Linux: note an ACK's round trip before the window grows; may lower ssthresh to the window.
    pub fn search(&mut self, ack: &Ack, window: &mut Window) {
        if let (Base::Cubic(cubic), None) = (&mut self.base, &self.slow_start) {
            cubic.search(ack, self.mss, window);
        }
    }

    /// Move the window on an ACK of new data outside recovery: a delay-based congestion control may reduce it.
    #[inline(always)]
    pub fn grow(&mut self, ack: &Ack, window: &mut Window) {
        if window.cwnd < window.ssthresh {
            match &mut self.slow_start {
                Some(gss) => gss.grow(ack, self.mss, window),
                None => self.base.slow_start(ack, self.mss, window),
            }
        } else {
            self.base.congestion_avoidance(ack, self.mss, window);
        }
        if let Some(cap) = &self.cap {
            cap.hold(self.mss, window);
        }
    }

    /// Whether congestion avoidance takes an ACK of several segments at once.
    pub fn takes_several(&self) -> bool {
        self.base.takes_several()
    }

    /// Whether a cap or a rate may keep data of an open window back: so a sender that nothing keeps back tests once for both.
    pub fn is_limited(&self) -> bool {
        self.cap.is_some() || self.base.paces()
    }

    /// Rate at which packets of the window leave; `None` if they leave at once.
    pub fn rate(&self, window: &Window, srtt: Time) -> Option<Rate> {
        self.base.rate(window, srtt)
    }

    /// The new ssthresh after congestion; the endpoint's recovery sets the window.
    pub fn cut(&mut self, cause: Cause, at: &Congestion, window: &Window) -> u32 {
        self.base.cut(cause, at, self.mss, window)
    }

    /// Take the ports' header option, if there is a cap.
    #[inline]
    pub fn allot(&mut self, note: &HeaderOption) {
        if let Some(cap) = &mut self.cap {
            cap.allot(note.mcw);
        }
    }

    /// Bytes of the window that may be in flight; may be under one MSS.
    #[inline]
    pub fn usable(&self, window: &Window) -> u32 {
        match &self.cap {
            Some(cap) => window.cwnd.min(cap.limit(self.mss)),
            None => window.cwnd,
        }
    }

    /// State to display.
    pub fn shown(&self) -> Option<Shown> {
        match &self.slow_start {
            Some(gss) => Some(gss.shown()),
            None => self.base.shown(),
        }
    }
}
