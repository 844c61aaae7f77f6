//! Whatever a peer sends ends in a message that is written so, in a wish for more, or in a refusal.
#![no_main]

use bytes::Bytes;
use fanin_roles::Message;
use fanin_roles::wire::{Hello, Item, ItemKey, Key, Part};
use libfuzzer_sys::fuzz_target;

/// A message with keys and values of one kind.
fn take<K: Part, V: Part>(bytes: &[u8]) {
    if let Ok(Some((message, took))) = Message::<K, V>::take(&Bytes::copy_from_slice(bytes)) {
        let mut again = Vec::new();
        message.put(&mut again);
        assert_eq!((again.len(), &again[..]), (message.len(), &bytes[..took]));
    }
}

fuzz_target!(|bytes: &[u8]| {
    take::<Key, Bytes>(bytes);
    take::<ItemKey, Item>(bytes);
    if let Ok(Some(hello)) = Hello::take(bytes) {
        let mut again = Vec::new();
        hello.put(&mut again);
        assert_eq!(Hello::take(&again), Ok(Some(hello)));
    }
});
