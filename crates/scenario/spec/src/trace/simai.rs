//! Reading of SimAI's workload files, as AICB writes them: a line of parallelism, the number of layers, and a line for each layer. All ranks
//! carry out one pass over the layers, as `iterate_hybrid_parallel_Transformer_fwd_in_bckwd` of SimAI's `Workload.cc` does: forward through all
//! layers, then backward. A pass waits for collectives of activations, but not for those of weights.

use std::collections::BTreeMap;

use fanin_units::Time;

use super::operation::{Collective, CollectiveKind, On};
use super::ranks::{Described, OPERATIONS_MAX, Ranks};
use crate::flows::{BYTES_MAX, whole};
use crate::problem::excerpt;

/// First words of SimAI's files.
const POLICIES: [&str; 11] = [
    TRANSFORMER,
    "HYBRID_TRANSFORMER",
    "HYBRID_DLRM",
    "HYBRID_DLRM_ENHANCED",
    "HYBRID_DATA_MODEL",
    "HYBRID_MODEL_DATA",
    "HYBRID_CUSTOMIZED",
    "DATA",
    "MODEL",
    "MICRO",
    "DISTRIBUTED_INFERENCE",
];
/// The policy of AICB's models.
const TRANSFORMER: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";
/// Processors of a rank: one computes the layers, the other one takes the time after collectives.
const LAYERS: u64 = 0;
const UPDATES: u64 = 1;

/// Whether a text begins as this form does.
pub(super) fn is_simai(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|word| POLICIES.contains(&word))
}

/// The ranks over which a collective operation runs, in SimAI's words TP, DP, EP and DP_EP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Tensor,
    Data,
    Expert,
    ExpertReplicas,
}

/// Sizes of groups, after the first line.
struct Parallelism {
    ranks: u64,
    tensor: u64,
    expert: u64,
    pipeline: u64,
}

impl Parallelism {
    fn parse(words: &[&str]) -> Result<Parallelism, String> {
        let mut sizes = BTreeMap::new();
        for pair in words[1..].chunks(2) {
            let name = pair[0].trim_end_matches(':');
            let known = ["model_parallel_NPU_group", "ep", "pp", "all_gpus", "checkpoints", "checkpoint_initiates"];
            let unused = ["vpp", "ga", "mode", "pp_comm"];
            if !known.contains(&name) && !unused.contains(&name) {
                return Err(format!("unknown word {}; expected one of {}", excerpt(name), known.join(", ")));
            }
            let value = pair.get(1).and_then(|word| whole(word));
            let value = value.ok_or_else(|| format!("expected a whole number after `{name}:`"))?;
            // A list of layers follows their number.
            if name.starts_with("checkpoint") && value > 0 {
                return Err("checkpoints are not modelled: use `checkpoints: 0 checkpoint_initiates: 0`".into());
            }
            sizes.insert(name, value);
        }
        let size = |name: &str| match sizes.get(name) {
            Some(0) => Err(format!("`{name}` is 0: use 1 or more")),
            size => Ok(size.copied()),
        };
        let ranks = size("all_gpus")?.ok_or("the number of ranks is missing: add `all_gpus: N` to this line")?;
        let [tensor, expert, pipeline] = [size("model_parallel_NPU_group")?, size("ep")?, size("pp")?];
        let of = Parallelism {
            ranks,
            tensor: tensor.unwrap_or(1),
            expert: expert.unwrap_or(1),
            pipeline: pipeline.unwrap_or(1),
        };
        let stages = of.tensor.checked_mul(of.pipeline).filter(|stages| ranks % stages == 0);
        let stages = stages.ok_or("`all_gpus` is no multiple of `model_parallel_NPU_group` times `pp`")?;
        if (ranks / stages) % of.expert != 0 {
            return Err(format!("{} data-parallel ranks are no multiple of `ep`", ranks / stages));
        }
        Ok(of)
    }

    /// Number of ranks in each group.
    fn size(&self, group: Group) -> u64 {
        let data = self.ranks / (self.tensor * self.pipeline);
        match group {
            Group::Tensor => self.tensor,
            Group::Data => data,
            Group::Expert => self.expert,
            Group::ExpertReplicas => data / self.expert,
        }
    }

    /// The number of a rank's group among those of its kind, as SimAI's `MockNcclGroup` forms them: a tensor group has consecutive ranks;
    /// expert groups join the same place of consecutive tensor groups.
    fn group_of(&self, group: Group, rank: u64) -> u64 {
        let (tensor_group, place) = (rank / self.tensor, rank % self.tensor);
        match group {
            Group::Tensor => tensor_group,
            Group::Data => rank % (self.tensor * self.pipeline),
            Group::Expert => tensor_group / self.expert * self.tensor + place,
            Group::ExpertReplicas => {
                let expert = (tensor_group / self.expert / self.size(group), tensor_group % self.expert);
                (expert.0 * self.expert + expert.1) * self.tensor + place
            }
        }
    }
}

/// A step of each rank: a computation, then a collective operation, then the time after it.
struct Step {
    line: u64,
    compute: u64,
    collective: Option<(Group, Collective)>,
    update: u64,
    /// Whether the next step waits for the collective.
    blocks: bool,
}

/// Reads a file; a fault has its line.
pub(super) fn read(text: &str) -> Result<Ranks, (u64, String)> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, row)| !row.trim().is_empty());
    let (first, row) = lines.next().unwrap_or((1, ""));
    let words: Vec<&str> = row.split_whitespace().collect();
    if words[0] != TRANSFORMER {
        return Err((first, format!("workloads of type {} are not modelled; use {TRANSFORMER}", words[0])));
    }
    let parallelism = Parallelism::parse(&words).map_err(|what| (first, what))?;
    let (second, row) = lines.next().ok_or((first, "the file ends before the number of layers".to_string()))?;
    let count =
        whole(row.trim()).ok_or((second, format!("expected the number of layers; this is {}", excerpt(row))))?;
    let mut layers = Vec::new();
    for (line, row) in lines {
        if layers.len() as u64 == count {
            return Err((line, format!("a layer beyond the {count} that line {second} states")));
        }
        layers.push(layer(line, row, &parallelism).map_err(|what| (line, what))?);
    }
    if (layers.len() as u64) < count {
        return Err((second, format!("{count} layers, but the file has only {}", layers.len())));
    }
    let (mut steps, mut backward) = (Vec::new(), Vec::new());
    for [forward, inputs, weights] in layers {
        steps.push(forward);
        backward.extend([weights, inputs]);
    }
    steps.extend(backward.into_iter().rev());
    // A step without work would cost time for every rank.
    steps.retain(|step| step.compute > 0 || step.collective.is_some());
    if steps.is_empty() {
        return Err((second, "the trace has no operations".into()));
    }
    let of_collective = |step: &Step| step.collective.as_ref().map_or(0, |_| 1 + u64::from(step.update > 0));
    let count: u64 = steps.iter().map(|step| u64::from(step.compute > 0) + of_collective(step)).sum();
    if parallelism.ranks.saturating_mul(count) > OPERATIONS_MAX as u64 {
        let what = format!("{} ranks with {count} operations each; use at most {OPERATIONS_MAX}", parallelism.ranks);
        return Err((first, what));
    }
    lower(&parallelism, &steps)
}

/// The steps of a layer: forward, gradients of inputs, gradients of weights.
fn layer(line: u64, row: &str, parallelism: &Parallelism) -> Result<[Step; 3], String> {
    let words: Vec<&str> = row.split_whitespace().collect();
    let [_, _, phases @ .., update] = words.as_slice() else { return Err(form(row)) };
    let (&[forward, inputs, weights], []) = phases.as_chunks::<3>() else { return Err(form(row)) };
    let number = |word: &str| whole(word).ok_or_else(|| form(row));
    let update = number(update)?;
    let step = |[compute, word, bytes]: [&str; 3], of: Group| -> Result<Step, String> {
        let (compute, bytes) = (number(compute)?, number(bytes)?);
        let collective = collective(word, bytes, of, parallelism)?;
        Ok(Step { line, compute, collective, update, blocks: of == Group::Tensor })
    };
    Ok([step(forward, Group::Tensor)?, step(inputs, Group::Tensor)?, step(weights, Group::Data)?])
}

fn form(row: &str) -> String {
    format!("expected NAME, a number, three times TIME, COLLECTIVE and BYTES, and TIME; this is {}", excerpt(row))
}

/// A collective operation by its word, of the group in the word or of `group`; `None` if it moves nothing.
fn collective(
    word: &str,
    bytes: u64,
    group: Group,
    parallelism: &Parallelism,
) -> Result<Option<(Group, Collective)>, String> {
    let (name, group) = match word.split_once('_') {
        None => (word, group),
        Some((name, "EP")) => (name, Group::Expert),
        Some((name, "DP_EP")) => (name, Group::ExpertReplicas),
        Some(_) => ("", group),
    };
    let kind = match name {
        "ALLREDUCE" => CollectiveKind::AllReduce,
        "ALLGATHER" => CollectiveKind::AllGather,
        "REDUCESCATTER" => CollectiveKind::ReduceScatter,
        "ALLTOALL" => CollectiveKind::AllToAll,
        // SimAI does not carry out broadcasts.
        "NONE" | "BROADCAST" => return Ok(None),
        _ => {
            let known = "ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, alone or with _EP or _DP_EP, or NONE";
            return Err(format!("unknown collective {}; expected {known}", excerpt(word)));
        }
    };
    if bytes > BYTES_MAX {
        return Err(format!("use at most {BYTES_MAX} B, not {bytes}"));
    }
    let ranks = parallelism.size(group);
    // All ranks together gather these bytes.
    let bytes = if kind == CollectiveKind::AllGather { bytes.div_ceil(ranks) } else { bytes };
    let collective = Collective { kind, bytes, group: 0 };
    Ok((ranks > 1 && bytes > 0).then_some((group, collective)))
}

/// The operations of all ranks.
fn lower(parallelism: &Parallelism, steps: &[Step]) -> Result<Ranks, (u64, String)> {
    let mut ranks = Ranks::new(parallelism.ranks).map_err(|what| (1, what))?;
    // By kind and number, and by step and group.
    let mut groups: BTreeMap<(Group, u64), u32> = BTreeMap::new();
    let mut collectives: BTreeMap<(usize, u32), u32> = BTreeMap::new();
    for rank in 0..parallelism.ranks as u32 {
        let mut joined = BTreeMap::new();
        let mut last = None;
        for (place, step) in steps.iter().enumerate() {
            let after = |ranks: &mut Ranks, last: Option<u32>, described: Described| {
                let number = ranks.add(rank, step.line, described).map_err(|what| (step.line, what))?;
                last.into_iter().for_each(|other| ranks.wait(rank, number, other, On::End));
                Ok::<_, (u64, String)>(Some(number))
            };
            if step.compute > 0 {
                last = after(&mut ranks, last, calc(step.compute, LAYERS))?;
            }
            let Some((kind, of)) = &step.collective else { continue };
            let group = *joined.entry(*kind).or_insert_with(|| {
                let new = ranks.groups.len() as u32;
                let group = *groups.entry((*kind, parallelism.group_of(*kind, rank.into()))).or_insert(new);
                if group == new {
                    ranks.groups.push(Vec::new());
                }
                ranks.groups[group as usize].push(rank);
                group
            });
            let new = ranks.collectives.len() as u32;
            let number = *collectives.entry((place, group)).or_insert(new);
            if number == new {
                ranks.collectives.push(Collective { group, ..of.clone() });
            }
            let mut end = after(&mut ranks, last, Described::Collective(number))?;
            if step.update > 0 {
                end = after(&mut ranks, end, calc(step.update, UPDATES))?;
            }
            if step.blocks {
                last = end;
            }
        }
    }
    Ok(ranks)
}

/// A computation of nanoseconds.
fn calc(ns: u64, cpu: u64) -> Described {
    Described::Calc { time: ns.checked_mul(1_000).map(Time), cpu }
}
