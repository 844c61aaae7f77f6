//! Chakra's execution traces, written.

/// Types of nodes.
pub const COMPUTE: u64 = 4;
/// A message to another rank.
pub const SEND: u64 = 5;
/// A message from another rank.
pub const RECEIVE: u64 = 6;
/// A collective operation.
pub const COLLECTIVE: u64 = 7;

/// A rank's file.
pub fn file(nodes: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    // Metadata with a version.
    delimited(&mut file, b"\x0a\x050.0.4");
    nodes.iter().for_each(|node| delimited(&mut file, node));
    file
}

/// A node after others, with its duration and attributes; a group is the name of a collective's ranks.
pub fn node(
    id: u64,
    kind: u64,
    after: &[u64],
    micros: u64,
    attributes: &[(&str, i64)],
    group: Option<&str>,
) -> Vec<u8> {
    let mut node = Vec::new();
    for (field, value) in [(1, id), (3, kind), (7, micros)] {
        varint(&mut node, field << 3);
        varint(&mut node, value);
    }
    let mut packed = Vec::new();
    after.iter().for_each(|&other| varint(&mut packed, other));
    varint(&mut node, 5 << 3 | 2);
    delimited(&mut node, &packed);
    let named = |name: &str| {
        let mut attribute = vec![1 << 3 | 2];
        delimited(&mut attribute, name.as_bytes());
        attribute
    };
    for &(name, value) in attributes {
        let mut attribute = named(name);
        varint(&mut attribute, 9 << 3);
        varint(&mut attribute, value as u64);
        varint(&mut node, 10 << 3 | 2);
        delimited(&mut node, &attribute);
    }
    if let Some(group) = group {
        let mut attribute = named("pg_name");
        varint(&mut attribute, 29 << 3 | 2);
        delimited(&mut attribute, group.as_bytes());
        varint(&mut node, 10 << 3 | 2);
        delimited(&mut node, &attribute);
    }
    node
}

/// Bytes after their length.
fn delimited(to: &mut Vec<u8>, bytes: &[u8]) {
    varint(to, bytes.len() as u64);
    to.extend(bytes);
}

fn varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}
