//! What a scenario can be made of: schemes and their parts, every key, fabrics, TCPs, switches, and what is not modelled.

pub use fanin_model::headers as closed_forms;
pub use fanin_spec::{Chip, FabricKind, KeyDoc, Kind, LIMITS, Limit, REGISTRY, Scheme, Settings, Stack};
