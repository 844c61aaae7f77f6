//! Whatever a peer sends ends in a message that is written so, in a wish for more, or in a refusal.
#![no_main]

use bytes::Bytes;
use fanin_roles::Message;
use fanin_roles::wire::Key;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Some((message, took))) = Message::<Key, Bytes>::take(&Bytes::copy_from_slice(bytes)) {
        let mut again = Vec::new();
        message.put(&mut again);
        assert_eq!((again.len(), &again[..]), (message.len(), &bytes[..took]));
    }
});
