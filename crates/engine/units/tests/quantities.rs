//! Parsing, printing and errors of quantities.

use fanin_units::{Bytes, ParseError, QueueSize, Rate, Time};
use proptest::prelude::*;

#[test]
fn quantities_parse_with_their_units() {
    assert_eq!("25 us".parse(), Ok(Time::from_micros(25)));
    assert_eq!("2.5ms".parse(), Ok(Time::from_micros(2500)));
    assert_eq!("1_000 ps".parse(), Ok(Time(1000)));
    assert_eq!("64 KB".parse(), Ok(Bytes(64_000)));
    assert_eq!("64 KiB".parse(), Ok(Bytes(65_536)));
    assert_eq!("0.5 MiB".parse(), Ok(Bytes(524_288)));
    assert_eq!("10 Gbit/s".parse(), Ok(Rate(10_000_000_000)));
    assert_eq!("250 packets".parse(), Ok(QueueSize::Packets(250)));
    assert_eq!("64 KiB".parse(), Ok(QueueSize::Bytes(65_536)));
}

#[test]
fn knows_units_of_other_tools() {
    for text in ["25G", "25g", "25GbE", "25 GE", "25Gb", "25 Gb/s", "25Gbps", "25 Gbit", "25gbit", "25000M"] {
        assert_eq!(text.parse(), Ok(Rate(25_000_000_000)), "{text}");
    }
    for text in ["10 \u{b5}s", "10\u{3bc}s", "10 usec"] {
        assert_eq!(text.parse(), Ok(Time::from_micros(10)), "{text}");
    }
    assert_eq!("5 min".parse(), Ok(Time::from_secs(300)));
    assert_eq!("1.5h".parse(), Ok(Time::from_secs(5400)));
    assert_eq!("64 kB".parse(), Ok(Bytes(64_000)));
    assert_eq!("64 bytes".parse(), Ok(QueueSize::Bytes(64)));
}

#[test]
fn refuses_ambiguous_units() {
    for (text, one, other) in
        [("1M", "MB", "MiB"), ("64 k", "KB", "KiB"), ("64K", "KB", "KiB"), ("1m", "MB", "MiB"), ("2G", "GB", "GiB")]
    {
        assert_eq!(text.parse::<Bytes>(), Err(ParseError::Ambiguous(one, other)), "{text}");
        assert_eq!(text.parse::<QueueSize>(), Err(ParseError::Ambiguous(one, other)), "{text}");
    }
    assert_eq!("5m".parse::<Time>(), Err(ParseError::Ambiguous("min", "ms")));
    let why = "1M".parse::<Bytes>().unwrap_err().to_string();
    assert_eq!(why, "its unit may mean `MB` or `MiB`: write one of them");
}

#[test]
fn refuses_byte_rates_with_bit_rate() {
    for (text, bits) in
        [("25GB/s", "200 Gbit/s"), ("1.25 GBps", "10 Gbit/s"), ("125 MB/s", "1 Gbit/s"), ("1 MiB/s", "8.388608 Mbit/s")]
    {
        let why = text.parse::<Rate>().unwrap_err();
        assert_eq!(why, ParseError::BytesPerSecond(bits.parse().unwrap()), "{text}");
        assert_eq!(why.to_string(), format!("it is in bytes per second: write `{bits}`"));
    }
}

#[test]
fn quantities_print_in_natural_unit() {
    assert_eq!(Time::from_micros(1500).to_string(), "1.5 ms");
    assert_eq!(Time::ZERO.to_string(), "0 s");
    assert_eq!(Bytes(65_536).to_string(), "64 KiB");
    assert_eq!(Bytes(1_000_000).to_string(), "1 MB");
    assert_eq!(Bytes(1460).to_string(), "1460 B");
    assert_eq!(Bytes(576).to_string(), "576 B");
    assert_eq!(Rate(2_500_000_000).to_string(), "2.5 Gbit/s");
    assert_eq!(QueueSize::Packets(1).to_string(), "1 packet");
}

#[test]
fn explains_invalid_quantities() {
    assert_eq!("10".parse::<Rate>(), Err(ParseError::NoUnit));
    assert_eq!("fast".parse::<Rate>(), Err(ParseError::NoNumber));
    assert_eq!("10 furlongs".parse::<Rate>(), Err(ParseError::UnknownUnit(None)));
    for (text, near) in [("10 GBIT/S", "Gbit/s"), ("10 gbit/s", "Gbit/s"), ("10 gb/s", "Gbit/s"), ("10 MBPS", "Mbit/s")]
    {
        assert_eq!(text.parse::<Rate>(), Err(ParseError::UnknownUnit(Some(near))), "{text}");
    }
    assert_eq!("64 kb".parse::<Bytes>(), Err(ParseError::UnknownUnit(Some("KB"))));
    assert_eq!("-1 s".parse::<Time>(), Err(ParseError::Negative));
    assert_eq!("0.1 ps".parse::<Time>(), Err(ParseError::TooFine));
    assert_eq!("99999999 s".parse::<Time>(), Err(ParseError::TooLarge));
    assert_eq!("99999999999999999999 B".parse::<Bytes>(), Err(ParseError::TooLarge));
    assert_eq!("5000000000 packets".parse::<QueueSize>(), Err(ParseError::TooLarge));
    assert_eq!("packets".parse::<QueueSize>(), Err(ParseError::NoNumber));
    assert_eq!("-3 packets".parse::<QueueSize>(), Err(ParseError::Negative));
    assert_eq!("".parse::<Time>(), Err(ParseError::NoNumber));
}

#[test]
fn frame_takes_time_of_its_bits() {
    assert_eq!(Rate(1_000_000_000).time_for(1502), Time(1502 * 8000));
    assert_eq!(Rate(3).time_for(1), Time(2_666_666_666_667));
    assert_eq!(Rate(8_000).time_for(u64::from(u32::MAX)), Time(u64::from(u32::MAX) * 1_000_000_000));
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn quantities_round_trip_through_text(value: u64, packets: u32) {
        prop_assert_eq!(Time(value).to_string().parse(), Ok(Time(value)));
        prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
        prop_assert_eq!(Rate(value).to_string().parse(), Ok(Rate(value)));
        prop_assert_eq!(QueueSize::Packets(packets).to_string().parse(), Ok(QueueSize::Packets(packets)));
    }

    #[test]
    fn parsers_never_panic(text: String) {
        let _ = (text.parse::<Time>(), text.parse::<Bytes>(), text.parse::<Rate>(), text.parse::<QueueSize>());
    }
}

#[test]
fn transmission_time_saturates() {
    assert_eq!(Rate(8).time_for(1), Time::from_secs(1));
    assert_eq!(Rate(1).time_for(u64::MAX), Time::NEVER);
    assert_eq!(Rate(1_000_000_000).time_for(1 << 40), Time(8_796_093_022_208_000));
}
