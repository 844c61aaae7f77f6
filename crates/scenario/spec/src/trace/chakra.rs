//! Reading of Chakra's execution traces: a file for each rank, of messages in protobuf's encoding, each after its length. The first one has
//! metadata, each other one is a node of the graph (MLCommons' `et_def.proto`).

use std::collections::BTreeMap;

use fanin_units::Time;

use super::operation::{Collective, CollectiveKind, On};
use super::protobuf::{Fields, Value, delimited, varint, zigzag};
use super::ranks::{Described, Fault, Ranks};

/// Processors of a rank: its own, and its accelerator.
const CPU: u64 = 0;
const ACCELERATOR: u64 = 1;

/// A node as read.
#[derive(Default)]
struct Node<'a> {
    id: u64,
    kind: u64,
    waits: Vec<u64>,
    micros: u64,
    attributes: Attributes<'a>,
}

/// Attributes by name: numbers, and texts.
#[derive(Default)]
struct Attributes<'a> {
    numbers: BTreeMap<&'a [u8], i64>,
    texts: BTreeMap<&'a [u8], &'a [u8]>,
}

impl Attributes<'_> {
    fn number(&self, name: &str) -> Result<u64, String> {
        let number = self.numbers.get(name.as_bytes()).ok_or_else(|| format!("`{name}` is missing"))?;
        u64::try_from(*number).map_err(|_| format!("`{name}` is {number}: use 0 or more"))
    }

    fn number_or(&self, name: &str, other: u64) -> Result<u64, String> {
        if self.numbers.contains_key(name.as_bytes()) { self.number(name) } else { Ok(other) }
    }
}

/// Collectives of the ranks that use a group's name.
struct Group {
    number: u32,
    /// The first rank.
    first: u32,
    /// In the order of each rank's file.
    collectives: Vec<u32>,
}

/// Reader of the ranks' files, one after another.
pub(super) struct Reader {
    ranks: Ranks,
    groups: BTreeMap<Vec<u8>, Group>,
}

impl Reader {
    pub fn new(ranks: u64) -> Result<Reader, String> {
        Ok(Reader { ranks: Ranks::new(ranks)?, groups: BTreeMap::new() })
    }

    /// Takes a rank's file.
    pub fn read(&mut self, rank: u32, mut file: &[u8]) -> Result<(), Fault> {
        let mut operations: BTreeMap<u64, u32> = BTreeMap::new();
        let mut waits = Vec::new();
        // The number of collectives of each group so far, with the node of the last one.
        let mut counts: BTreeMap<Vec<u8>, (usize, u64)> = BTreeMap::new();
        let unread = |nodes: usize| {
            let what = format!("no Chakra trace, or one that is cut off after {nodes} nodes");
            Fault { rank, place: None, what }
        };
        let metadata = delimited(&mut file).filter(|metadata| Fields(metadata).all(|field| field.is_ok()));
        metadata.ok_or_else(|| unread(0))?;
        while !file.is_empty() {
            let node = delimited(&mut file).and_then(node).ok_or_else(|| unread(operations.len()))?;
            let fault = |what: String| Fault { rank, place: Some(node.id), what };
            let described = self.described(rank, &node, &mut counts).map_err(fault)?;
            let number = self.ranks.add(rank, node.id, described).map_err(fault)?;
            if operations.insert(node.id, number).is_some() {
                return Err(fault("another node has this id".into()));
            }
            waits.push((node.id, number, node.waits));
        }
        for (id, number, others) in waits {
            for other in others {
                let on = operations.get(&other);
                let what = || format!("it depends on node {other}, which does not exist");
                let on = on.ok_or_else(|| Fault { rank, place: Some(id), what: what() })?;
                self.ranks.wait(rank, number, *on, On::End);
            }
        }
        for (name, (count, place)) in counts {
            let group = &self.groups[&name];
            if group.collectives.len() != count {
                let (first, all) = (group.first, group.collectives.len());
                let what = format!(
                    "the last of {count} collectives of group `{}`; rank {first} has {all}",
                    String::from_utf8_lossy(&name).escape_debug()
                );
                return Err(Fault { rank, place: Some(place), what });
            }
            self.ranks.groups[group.number as usize].push(rank);
        }
        Ok(())
    }

    pub fn finish(self) -> Ranks {
        self.ranks
    }

    fn described(
        &mut self,
        rank: u32,
        node: &Node,
        counts: &mut BTreeMap<Vec<u8>, (usize, u64)>,
    ) -> Result<Described, String> {
        let attributes = &node.attributes;
        match node.kind {
            // Metadata.
            1 => Ok(Described::Calc { time: Some(Time::ZERO), cpu: CPU }),
            4 if node.micros == 0 && attributes.number_or("num_ops", 0)? > 0 => {
                Err("`num_ops` without `duration_micros`: processors are not modelled, so give the time".into())
            }
            4 => {
                let time = node.micros.checked_mul(1_000_000).map(Time);
                let is_cpu = attributes.number_or("is_cpu_op", 1)? != 0;
                Ok(Described::Calc { time, cpu: if is_cpu { CPU } else { ACCELERATOR } })
            }
            5 => Ok(Described::Send {
                to: attributes.number("comm_dst")?,
                bytes: attributes.number("comm_size")?,
                tag: attributes.number_or("comm_tag", 0)?,
            }),
            6 => Ok(Described::Receive {
                from: attributes.number("comm_src")?,
                bytes: attributes.number("comm_size")?,
                tag: attributes.number_or("comm_tag", 0)?,
            }),
            7 => self.collective(rank, node, counts).map(Described::Collective),
            2 | 3 => Err("accesses to remote memory are not modelled: remove the node".into()),
            kind => Err(format!("nodes of type {kind} are not modelled: remove the node")),
        }
    }

    /// The number of a rank's next collective of its group. The ranks that use a name are its group.
    fn collective(
        &mut self,
        rank: u32,
        node: &Node,
        counts: &mut BTreeMap<Vec<u8>, (usize, u64)>,
    ) -> Result<u32, String> {
        let kind = match node.attributes.number("comm_type")? {
            0 | 9 => CollectiveKind::AllReduce,
            1 => CollectiveKind::Reduce,
            2 => CollectiveKind::AllGather,
            3 => CollectiveKind::Gather,
            4 => CollectiveKind::Scatter,
            5 => CollectiveKind::Broadcast,
            6 => CollectiveKind::AllToAll,
            7 | 8 => CollectiveKind::ReduceScatter,
            other => return Err(format!("collectives of type {other} are not modelled: use sends and receives")),
        };
        // A barrier moves nothing but its end.
        let is_barrier = node.attributes.number("comm_type")? == 9;
        let bytes = if is_barrier { 1 } else { node.attributes.number("comm_size")? };
        if bytes > crate::flows::BYTES_MAX {
            return Err(format!("use at most {} B, not {bytes}", crate::flows::BYTES_MAX));
        }
        let name = node.attributes.texts.get(&b"pg_name"[..]).map_or(Vec::new(), |name| name.to_vec());
        let new_group = self.ranks.groups.len() as u32;
        let group = self.groups.entry(name.clone()).or_insert_with(|| {
            self.ranks.groups.push(Vec::new());
            Group { number: new_group, first: rank, collectives: Vec::new() }
        });
        let (count, last) = counts.entry(name).or_default();
        let place = *count;
        (*count, *last) = (place + 1, node.id);
        match group.collectives.get(place) {
            None if group.first == rank => {
                let number = self.ranks.collectives.len() as u32;
                self.ranks.collectives.push(Collective { kind, bytes, group: group.number });
                group.collectives.push(number);
                Ok(number)
            }
            None => Err(format!("rank {} has only {place} collectives of this group", group.first)),
            Some(&number) => {
                let known = &self.ranks.collectives[number as usize];
                if (known.kind, known.bytes) == (kind, bytes) {
                    return Ok(number);
                }
                let (first, known) = (group.first, (known.kind, known.bytes));
                Err(format!(
                    "{} of {bytes} B, but this group's collective {} of rank {first} is {} of {} B",
                    kind.word(),
                    place + 1,
                    known.0.word(),
                    known.1
                ))
            }
        }
    }
}

/// A node; `None` if it is cut off.
fn node(bytes: &[u8]) -> Option<Node<'_>> {
    let mut node = Node::default();
    for field in Fields(bytes) {
        match field.ok()? {
            (1, Value::Varint(id)) => node.id = id,
            (3, Value::Varint(kind)) => node.kind = kind,
            (4 | 5, Value::Varint(other)) => node.waits.push(other),
            (4 | 5, Value::Bytes(mut packed)) => {
                while !packed.is_empty() {
                    node.waits.push(varint(&mut packed)?);
                }
            }
            (7, Value::Varint(micros)) => node.micros = micros,
            (10, Value::Bytes(bytes)) => attribute(&mut node.attributes, bytes)?,
            _ => {}
        }
    }
    Some(node)
}

/// Adds an attribute.
fn attribute<'a>(attributes: &mut Attributes<'a>, bytes: &'a [u8]) -> Option<()> {
    let mut name: &[u8] = &[];
    for field in Fields(bytes) {
        let number = match field.ok()? {
            (1, Value::Bytes(bytes)) => {
                name = bytes;
                continue;
            }
            (7 | 9 | 11 | 13 | 27, Value::Varint(number)) => number as i64,
            (15 | 17, Value::Varint(number)) => zigzag(number),
            (19, Value::Fixed32(number)) => number.into(),
            (23, Value::Fixed32(number)) => (number as i32).into(),
            (21 | 25, Value::Fixed64(number)) => number as i64,
            (29, Value::Bytes(text)) => {
                attributes.texts.insert(name, text);
                continue;
            }
            _ => continue,
        };
        attributes.numbers.insert(name, number);
    }
    Some(())
}
