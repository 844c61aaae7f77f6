//! What of CUBIC can be set (`super`).

use fanin_units::Share;

use crate::settings::{params, words};

words! {
    /// Whose CUBIC.
    Variant, "\"rfc9438\" or \"linux\"" {
        /// The RFC's: the window moves with every ACK.
        Rfc9438 = "rfc9438",
        /// That of Linux 6.1 (net/ipv4/tcp_cubic.c): windows are whole segments, and how fast one grows that stands is worked
        /// out anew after 31 ms alone, which is many round trips of a data centre.
        Linux = "linux",
    }
}

params! {
    /// CUBIC (RFC 9438).
    cubic {
        /// Whose CUBIC: the RFC's, or Linux's, which counts whole segments and works out its growth every 31 ms.
        variant: Variant = Variant::Rfc9438,
        /// What is left of the window after a loss.
        #[range(Share::of(1, 1 << 11).., "the usual value is 0.7")]
        beta: Share = Share::of(7, 10),
        /// The constant C of the cubic function, in segments a cubed second.
        #[range(Share::of(1, 1 << 11).., "the usual value is 0.4")]
        c: Share = Share::of(4, 10),
        /// Give up bandwidth to newer flows sooner (RFC 9438, section 4.7).
        fast_convergence: bool = true,
    }
}
