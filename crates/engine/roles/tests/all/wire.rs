//! Encoding of messages.

use bytes::Bytes;
use fanin_roles::wire::{
    Buffers, HEADER, Hello, Item, ItemKey, Key, LONGEST, Load, Malformed, NotHello, Numbered, Part, Size, Swarm,
    VERSION,
};
use fanin_roles::{Body, Message, Node, Tag};
use fanin_units::Rate;
use proptest::prelude::*;

type Real = Message<Numbered, Bytes>;

fn body() -> impl Strategy<Value = Body<Numbered, Bytes>> {
    let swarm = (any::<u32>(), any::<u64>(), any::<u32>(), any::<u32>());
    prop_oneof![
        swarm.prop_map(|(parent, rate, own, all)| {
            Body::Swarm(Swarm { parent: Node(parent), rate: Rate(rate), own, all })
        }),
        (any::<u64>(), any::<u32>()).prop_map(|(key, holder)| Body::Ask { key: Numbered(key), holder: Node(holder) }),
        any::<u64>().prop_map(|key| Body::Get(Numbered(key))),
        any::<(u64, u32, u8)>().prop_map(|(key, asker, hops)| Body::Pass {
            key: Numbered(key),
            asker: Node(asker),
            hops
        }),
        proptest::collection::vec(any::<u8>(), 0..2_000).prop_map(|value| Body::Object(value.into())),
        any::<u64>().prop_map(|rate| Body::Speed(Rate(rate))),
        any::<u32>().prop_map(|child| Body::Child(Node(child))),
        any::<(u32, u32)>().prop_map(|(spare, round_trip)| Body::Load(Load { spare, round_trip })),
        (0..5usize)
            .prop_map(|bare| { [Body::Miss, Body::Lost, Body::Withdraw, Body::Withdrawn, Body::Over][bare].clone() }),
    ]
}

fn message() -> impl Strategy<Value = Real> {
    (any::<(u32, u32, u16, u16)>(), 0..1u32 << 24, body()).prop_map(|((origin, request, epoch, nonce), index, body)| {
        Message { tag: Tag { origin: Node(origin), request, epoch, nonce }, index, body }
    })
}

fn put(message: &Real) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.put(&mut bytes);
    bytes
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn messages_round_trip_through_splits(
        messages in proptest::collection::vec(message(), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Vec::new();
        for message in &messages {
            let before = bytes.len();
            message.put(&mut bytes);
            prop_assert_eq!(bytes.len() - before, message.len());
        }
        let (mut at, mut taken) = (0, Vec::new());
        let bytes = Bytes::from(bytes);
        // First from a part of the buffer, then from all of it.
        for end in [cut.index(bytes.len() + 1), bytes.len()] {
            while let Some((message, took)) = Real::take(&bytes.slice(at..end)).expect("well formed") {
                at += took;
                taken.push(message);
            }
        }
        prop_assert_eq!(taken, messages);
        prop_assert_eq!(at, bytes.len());
    }

    #[test]
    fn partial_message_needs_more(message in message(), cut in any::<prop::sample::Index>()) {
        let bytes = put(&message);
        prop_assert_eq!(Real::take(&Bytes::from(bytes[..cut.index(bytes.len())].to_vec())), Ok(None));
    }

    #[test]
    fn any_bytes_decode_or_are_refused(
        sound in any::<bool>(),
        kind in 0..14u8,
        length in 0..64u32,
        mut bytes in proptest::collection::vec(any::<u8>(), 0..96),
    ) {
        if sound && bytes.len() >= 8 {
            (bytes[0], bytes[1]) = (VERSION, kind);
            bytes.resize(bytes.len().max(HEADER), 0);
            bytes[14..17].copy_from_slice(&length.to_be_bytes()[1..]);
        }
        let bytes = Bytes::from(bytes);
        match Real::take(&bytes) {
            Ok(Some((message, took))) => prop_assert_eq!(&put(&message)[..], &bytes[..took]),
            Ok(None) => prop_assert!(bytes.len() < HEADER + LONGEST),
            Err(malformed) => prop_assert!(!malformed.to_string().is_empty()),
        }
    }
}

fn refused(at: usize, byte: u8) -> Malformed {
    let mut bytes = put(&Message {
        tag: Tag { origin: Node(1), request: 2, epoch: 3, nonce: 0 },
        index: 4,
        body: Body::Get(Numbered(5)),
    });
    bytes[at] = byte;
    Real::take(&bytes.into()).expect_err("it is no message")
}

#[test]
fn refuses_each_malformation() {
    assert_eq!(refused(0, 1), Malformed::Version(1));
    assert_eq!(Real::take(&Bytes::from_static(&[9])), Err(Malformed::Version(9)), "before more of it is there");
    assert_eq!(refused(1, 14), Malformed::Kind(14));
    assert_eq!(refused(HEADER + 3, b'x'), Malformed::Body);
    assert_eq!(refused(1, 7), Malformed::Body, "a speed is eight bytes");
    assert_eq!(refused(1, 5), Malformed::Body, "a miss has none");
    assert_eq!(refused(1, 11), Malformed::Body, "what is passed on has an asker before its key");
}

#[test]
fn refuses_too_long_messages() {
    let mut bytes =
        put(&Message { tag: Tag { origin: Node(1), request: 2, epoch: 3, nonce: 0 }, index: 4, body: Body::Miss });
    for (length, is_too_long) in [(LONGEST - HEADER, false), (LONGEST - HEADER + 1, true)] {
        bytes[14..17].copy_from_slice(&(length as u32).to_be_bytes()[1..]);
        let refused = Real::take(&bytes.clone().into()) == Err(Malformed::TooLong(length as u32));
        assert_eq!(refused, is_too_long, "{length}");
    }
}

#[test]
fn simulated_value_has_real_length() {
    let tag = Tag { origin: Node(1), request: 2, epoch: 3, nonce: 0 };
    let simulated: Message<Numbered, Size> = Message { tag, index: 4, body: Body::Object(Size(500)) };
    let real = Message { tag, index: 4, body: Body::Object(vec![7; 500].into()) };
    assert_eq!((simulated.len(), real.len()), (HEADER + 500, put(&real).len()));
    let mut bytes = Vec::new();
    simulated.put(&mut bytes);
    assert_eq!(Message::take(&bytes.into()), Ok(Some((simulated, HEADER + 500))));
}

#[test]
fn key_is_sixteen_hex_digits() {
    let bytes = put(&Message {
        tag: Tag { origin: Node(0), request: 0, epoch: 0, nonce: 0 },
        index: 0,
        body: Body::Get(Numbered(0x0123_4567_89ab_cdef)),
    });
    assert_eq!(&bytes[HEADER..], b"0123456789abcdef");
}

#[test]
fn values_are_passed_on_without_a_copy() {
    let read = Bytes::from(put(&Message {
        tag: Tag { origin: Node(1), request: 2, epoch: 3, nonce: 0 },
        index: 4,
        body: Body::Object(vec![7; 500].into()),
    }));
    let (message, _) = Real::take(&read).expect("well formed").expect("whole");
    let mut out = Buffers::default();
    message.put(&mut out);
    let [header, value] = &out.finish()[..] else { panic!("a header and a value") };
    assert_eq!(header.len(), HEADER);
    assert_eq!(value.as_ptr(), read[HEADER..].as_ptr(), "it is the memory that was read");
}

#[test]
fn refuses_keys_that_memcached_does_not_take() {
    let tag = Tag { origin: Node(1), request: 2, epoch: 3, nonce: 0 };
    let received = |key: &[u8]| {
        let mut bytes = put(&Message { tag, index: 4, body: Body::Get(Numbered(5)) });
        bytes.truncate(HEADER);
        bytes[14..17].copy_from_slice(&(key.len() as u32).to_be_bytes()[1..]);
        bytes.extend_from_slice(key);
        Message::<Key, Bytes>::take(&bytes.into()).map(|taken| taken.is_some())
    };
    for key in [&b"a"[..], &[b'k'; 250], "gr\u{fc}n".as_bytes()] {
        assert_eq!(received(key), Ok(true), "{key:?}");
    }
    for key in [&b""[..], &[b'k'; 251], b"a b", b"get\r\nflush_all", b"a\0", b"a\x7f"] {
        assert_eq!(received(key), Err(Malformed::Body), "{key:?}");
    }
}

/// A part, encoded and decoded.
fn again<P: Part>(part: &P) -> Option<P> {
    let mut bytes = Vec::new();
    part.put(&mut bytes);
    assert_eq!(bytes.len(), part.len());
    P::take(bytes.into())
}

#[test]
fn items_keep_flags_and_cas_unique() {
    for (flags, cas, value) in [(0, None, ""), (u32::MAX, Some(u64::MAX), "a\r\nb"), (7, Some(0), "x")] {
        let item = Item { flags, cas, value: Bytes::from_static(value.as_bytes()) };
        assert_eq!(again(&item), Some(item));
    }
    for with_cas in [false, true] {
        let key = ItemKey { with_cas, key: Key::new(Bytes::from_static(b"k")).unwrap() };
        assert_eq!(again(&key), Some(key));
    }
    for wrong in [&b""[..], b"\0", b"\x01\0\0\0\0\0\0\0\0\0\0\0", b"\x02\0\0\0\0"] {
        assert_eq!(Item::take(Bytes::from_static(wrong)), None, "{wrong:?}");
    }
    for wrong in [&b""[..], b"\0", b"\x02k", b"\0a b"] {
        assert_eq!(ItemKey::take(Bytes::from_static(wrong)), None, "{wrong:?}");
    }
}

#[test]
fn greetings_name_every_version() {
    for version in [0, VERSION, u8::MAX] {
        let (mut bytes, hello) = (Vec::new(), Hello { version, node: Node(0x0102_0304), proves: version == VERSION });
        hello.put(&mut bytes);
        assert_eq!(bytes.len(), Hello::LEN);
        (0..bytes.len()).for_each(|part| assert_eq!(Hello::take(&bytes[..part]), Ok(None)));
        bytes.extend_from_slice(b"what follows");
        assert_eq!(Hello::take(&bytes), Ok(Some(hello)));
    }
    for wrong in [&b"g"[..], b"fanout", b"\0\0\0\0\0\0\0\0\0\0\0\0"] {
        assert_eq!(Hello::take(wrong), Err(NotHello));
    }
}
