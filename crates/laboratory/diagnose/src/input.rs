//! Inputs: format detection by the first bytes, and decompression.

use std::io::{self, Chain, Cursor, Read};

use flate2::read::MultiGzDecoder;

/// A stream whose first bytes were inspected.
type Peeked<'a> = Chain<Cursor<Vec<u8>>, Box<dyn Read + 'a>>;

/// Format of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Pcap,
    PcapNg,
    /// Text, as far as inspected.
    Text,
    Unknown,
}

/// Number of bytes to inspect.
const LOOKED_AT: usize = 512;
/// Maximum number of nested compressions.
const LAYERS: usize = 3;
/// Maximum window that a zstd frame may request, in bits: 128 MiB would exceed all other memory.
#[cfg(not(target_arch = "wasm32"))]
const WINDOW_BITS: u32 = 25;

/// Decompresses a stream, repeatedly if needed, and detects its format.
///
/// # Errors
/// Errors of the reader.
pub(crate) fn open<'a>(source: Box<dyn Read + 'a>) -> io::Result<(Kind, Box<dyn Read + 'a>)> {
    let (mut head, mut stream) = peek(source)?;
    for _ in 0..LAYERS {
        let unpacked: Box<dyn Read + 'a> = match head.as_slice() {
            [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(stream)),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => zstd_decoder(stream)?,
            _ => break,
        };
        (head, stream) = peek(unpacked)?;
    }
    Ok((kind(&head), Box::new(stream)))
}

#[cfg(not(target_arch = "wasm32"))]
fn zstd_decoder<'a>(stream: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(io::BufReader::new(stream))?;
    decoder.window_log_max(WINDOW_BITS)?;
    Ok(Box::new(decoder))
}

#[cfg(target_arch = "wasm32")]
fn zstd_decoder<'a>(_: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    Err(io::Error::other("zstd is not read in a browser; decompress the file first"))
}

fn peek<'a>(mut source: Box<dyn Read + 'a>) -> io::Result<(Vec<u8>, Peeked<'a>)> {
    let mut head = Vec::new();
    source.by_ref().take(LOOKED_AT as u64).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(source)))
}

fn kind(head: &[u8]) -> Kind {
    match head {
        [0xa1, 0xb2, 0xc3, 0xd4, ..] | [0xd4, 0xc3, 0xb2, 0xa1, ..] => Kind::Pcap,
        [0xa1, 0xb2, 0x3c, 0x4d, ..] | [0x4d, 0x3c, 0xb2, 0xa1, ..] => Kind::Pcap,
        [0x0a, 0x0d, 0x0d, 0x0a, ..] => Kind::PcapNg,
        _ if is_text(head) => Kind::Text,
        _ => Kind::Unknown,
    }
}

fn is_text(head: &[u8]) -> bool {
    let whole = match std::str::from_utf8(head) {
        Ok(_) => true,
        // The last character may be truncated.
        Err(error) => error.error_len().is_none() && head.len() == LOOKED_AT,
    };
    whole && !head.is_empty() && head.iter().all(|byte| !matches!(byte, 0..=8 | 14..=31 | 127))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn read(bytes: &[u8]) -> (Kind, Vec<u8>) {
        let (kind, mut stream) = open(Box::new(bytes)).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        (kind, all)
    }

    #[test]
    fn detects_inputs_by_content_compressed_or_not() {
        let plain = [&[0x0a, 0x0d, 0x0d, 0x0a][..], &[7; 3000]].concat();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&plain).unwrap();
        let gzip = gzip.finish().unwrap();
        let both = zstd::encode_all(gzip.as_slice(), 1).unwrap();
        for packed in [&plain, &gzip, &both] {
            assert_eq!(read(packed), (Kind::PcapNg, plain.clone()));
        }
        assert_eq!(read(b"#kernel\nTcpRetransSegs 3 0.0\n").0, Kind::Text);
        assert_eq!(read(&[1, 2, 3]).0, Kind::Unknown);
        assert_eq!(read(&[]).0, Kind::Unknown);
    }
}
