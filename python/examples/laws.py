"""Two built-in algorithms rewritten in Python: NewReno, and gentle slow start on top of it.

They give the same tables as the built-in ones, byte for byte (`tests/test_laws.py`), and pass the same vectors.
"""

from math import isqrt

import fanin

ONE_Q16 = 1 << 16


@fanin.law("py-newreno")
class NewReno(fanin.Law):
    """Double the window per round trip below ssthresh, add one segment above, halve on loss (RFC 5681)."""

    def grow(self, ack, mss, window):
        if window.cwnd < window.ssthresh:
            window.cwnd += min(ack.acked, mss)
        else:
            window.cwnd += max(mss * mss // window.cwnd, 1)

    def cut(self, cause, at, mss, window):
        return max(at.flight // 2, 2 * mss)


@fanin.law("py-gentle")
class GentleSlowStart(NewReno):
    """Below ssthresh, grow more slowly with fuller queues on the path: once per window, cwnd <- cwnd + cwnd^(1 - alpha)
    (Memon, Huang and Saajid, 2019, equations 7 and 8). A new connection starts at 2 segments: `tcp.initial_window = 2`.
    """

    def __init__(self):
        self.rtt = self.rtt_max = 0
        self.rtt_min = None
        # End of the window that is being acknowledged; zero until its first ACK.
        self.window_end = 0
        self.window_done = False

    def sees(self, rtt):
        """Record a round trip of data; the handshake's, which `sample` would get, does not count."""
        self.rtt = rtt
        self.rtt_min = rtt if self.rtt_min is None else min(self.rtt_min, rtt)
        self.rtt_max = max(self.rtt_max, rtt)

    def observe(self, ack):
        if ack.rtt is not None:
            self.sees(ack.rtt)
        # Data sent on the ACK that ends a window belongs to the next one: the following ACK sets its end.
        self.window_done = 0 < self.window_end <= ack.una or ack.una >= ack.nxt
        if self.window_done:
            self.window_end = 0
        elif self.window_end == 0 or self.window_end > ack.nxt:
            self.window_end = ack.nxt

    def grow(self, ack, mss, window):
        if window.cwnd >= window.ssthresh:
            super().grow(ack, mss, window)
        elif self.window_done:
            segments_q16 = max((window.cwnd << 16) // mss, ONE_Q16)
            window.cwnd += pow_q16(segments_q16, ONE_Q16 - self.alpha_q16()) * mss >> 16

    def alpha_q16(self):
        """Equation 7: how full the path's queues are, from 0 to 65536."""
        least = self.rtt_max if self.rtt_min is None else self.rtt_min
        full = self.rtt_max - least
        return ((self.rtt - least) << 16) // full if full else 0

    @property
    def alpha(self):
        """The same from 0 to 1, for vectors."""
        return self.alpha_q16() / ONE_Q16


def roots_of_two():
    """2^(2^-k) for k = 1..16, with 32 bits of fraction."""
    last, roots = 2 << 62, []
    for _ in range(16):
        last = isqrt(last << 62)
        roots.append((last + (1 << 29)) >> 30)
    return roots


ROOTS_OF_TWO_Q32 = roots_of_two()


def log2_q16(x_q16):
    """The binary logarithm, rounded down to 1/65536; zero for anything not above one."""
    if x_q16 <= ONE_Q16:
        return 0
    whole = x_q16.bit_length() - 1
    mantissa = x_q16 >> (whole - 31) if whole >= 31 else x_q16 << (31 - whole)
    log = (whole - 16) << 16
    for bit in range(15, -1, -1):
        mantissa = mantissa * mantissa >> 31
        if mantissa >> 32:
            mantissa >>= 1
            log |= 1 << bit
    return log


def pow_q16(x_q16, exponent_q16):
    """`x` to the power of `exponent`, both with sixteen bits of fraction."""
    power = log2_q16(x_q16) * exponent_q16 >> 16
    product = 1 << 32
    for k, root in enumerate(ROOTS_OF_TWO_Q32):
        if power & (1 << (15 - k)):
            product = product * root >> 32
    return product << (power >> 16) >> 16
