//! Keys and values of messages: by number and length in the simulator, those of memcached elsewhere.

use bytes::Bytes;

use super::{Fields, Part, Sink};

/// A value with only a length, for the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u32);

impl Part for Size {
    fn len(&self) -> usize {
        self.0 as usize
    }

    fn put(&self, out: &mut impl Sink) {
        out.copy(&vec![0; self.len()]);
    }

    fn take(bytes: Bytes) -> Option<Size> {
        Some(Size(bytes.len() as u32))
    }
}

/// An object by number; encoded as a key of sixteen hexadecimal digits, which memcached accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Numbered(pub u64);

impl Part for Numbered {
    fn len(&self) -> usize {
        16
    }

    fn put(&self, out: &mut impl Sink) {
        let digit = |place: usize| b"0123456789abcdef"[(self.0 >> (60 - 4 * place)) as usize & 15];
        out.copy(&core::array::from_fn::<u8, 16, _>(digit));
    }

    fn take(bytes: Bytes) -> Option<Numbered> {
        let digits = |b: &u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        let text =
            core::str::from_utf8(&bytes).ok().filter(|text| text.len() == 16 && text.bytes().all(|b| digits(&b)))?;
        u64::from_str_radix(text, 16).ok().map(Numbered)
    }
}

/// A key of real traffic, which may be sent to memcached: 1 to 250 bytes without spaces and control characters (memcached's protocol.txt,
/// "Keys"). A decoded one is a part of the buffer that was read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(Bytes);

impl Key {
    /// Length of the longest key.
    pub const LONGEST: usize = 250;

    /// A key; `None` if memcached does not take it.
    pub fn new(bytes: Bytes) -> Option<Key> {
        let fits = (1..=Key::LONGEST).contains(&bytes.len()) && !bytes.iter().any(|b| matches!(b, 0..=b' ' | 0x7f));
        fits.then_some(Key(bytes))
    }

    /// The same in memory of its own, so that it keeps no other part of the buffer.
    pub fn detached(&self) -> Key {
        Key(Bytes::copy_from_slice(&self.0))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }
}

impl Part for Key {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn put(&self, out: &mut impl Sink) {
        out.share(&self.0);
    }

    fn take(bytes: Bytes) -> Option<Key> {
        Key::new(bytes)
    }
}

/// A value of real traffic: a decoded one is a part of the buffer that was read.
impl Part for Bytes {
    fn len(&self) -> usize {
        Bytes::len(self)
    }

    fn put(&self, out: &mut impl Sink) {
        out.share(self);
    }

    fn take(bytes: Bytes) -> Option<Bytes> {
        Some(bytes)
    }
}

/// A key to get, and whether with its CAS unique (`gets`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemKey {
    /// Whether the CAS unique is wanted.
    pub with_cas: bool,
    /// The key.
    pub key: Key,
}

impl Part for ItemKey {
    fn len(&self) -> usize {
        1 + self.key.len()
    }

    fn put(&self, out: &mut impl Sink) {
        out.copy(&[self.with_cas.into()]);
        self.key.put(out);
    }

    fn take(mut bytes: Bytes) -> Option<ItemKey> {
        let key = bytes.split_off(bytes.len().min(1));
        let with_cas = match bytes[..] {
            [0] => false,
            [1] => true,
            _ => return None,
        };
        Some(ItemKey { with_cas, key: Key::new(key)? })
    }
}

/// An item of memcached: its flags, its CAS unique if that was wanted, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Flags.
    pub flags: u32,
    /// CAS unique.
    pub cas: Option<u64>,
    /// The value. A decoded one is a part of the buffer that was read.
    pub value: Bytes,
}

impl Item {
    /// The same in memory of its own, so that it keeps no other part of the buffer.
    pub fn detached(&self) -> Item {
        Item { value: Bytes::copy_from_slice(&self.value), ..*self }
    }
}

impl Part for Item {
    fn len(&self) -> usize {
        5 + if self.cas.is_some() { 8 } else { 0 } + self.value.len()
    }

    fn put(&self, out: &mut impl Sink) {
        out.copy(&[self.cas.is_some().into()]);
        out.copy(&self.flags.to_be_bytes());
        self.cas.iter().for_each(|cas| out.copy(&cas.to_be_bytes()));
        out.share(&self.value);
    }

    fn take(bytes: Bytes) -> Option<Item> {
        let mut fields = Fields(&bytes);
        let (has_cas, flags) = (fields.byte()?, fields.word()?);
        let cas = match has_cas {
            0 => None,
            1 => Some(fields.double()?),
            _ => return None,
        };
        let value = bytes.slice_ref(fields.0);
        Some(Item { flags, cas, value })
    }
}
