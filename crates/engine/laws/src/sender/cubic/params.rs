//! CUBIC's settings (`super`).

use fanin_units::Share;

use crate::settings::{params, words};

words! {
    /// Variant of CUBIC.
    Variant, "\"rfc9438\" or \"linux\"" {
        /// RFC 9438: the window moves with every ACK.
        Rfc9438 = "rfc9438",
        /// Linux 6.1 (net/ipv4/tcp_cubic.c): windows are whole segments; while the window stays the same, its growth rate is updated
        /// only after 31 ms, which is many round trips of a data centre.
        Linux = "linux",
    }
}

params! {
    /// CUBIC (RFC 9438).
    cubic {
        /// Variant of CUBIC: the RFC's, or Linux's, which counts whole segments and updates its growth rate every 31 ms.
        variant: Variant = Variant::Rfc9438,
        /// Share of the window that remains after a loss.
        #[range(Share::of(1, 1 << 11).., "the usual value is 0.7")]
        beta: Share = Share::of(7, 10),
        /// The constant C of the cubic function, in segments per second cubed.
        #[range(Share::of(1, 1 << 11).., "the usual value is 0.4")]
        c: Share = Share::of(4, 10),
        /// Give up bandwidth to newer flows sooner (RFC 9438, section 4.7).
        fast_convergence: bool = true,
    }
}
