//! Leaf-spine fabrics and fat trees: their numbers of nodes and link rates.

use fanin_fabric::{Fabric, Tree, tree};
use fanin_units::Rate;

use crate::setting::Optional;
use crate::{FabricKind, FabricSettings, Placement, Settings};

/// Numbers of nodes.
struct Shape {
    pods: u32,
    /// Per pod.
    racks: u32,
    hosts_per_rack: u32,
    /// Per pod.
    spines: u32,
}

impl Settings {
    /// The fabric's number of hosts if it does not depend on the fan-in; `None` also for invalid settings.
    pub(crate) fn fixed_hosts(&self) -> Option<u32> {
        match self.fabric.kind {
            FabricKind::Star => None,
            FabricKind::Edges | FabricKind::Rails | FabricKind::Dragonfly => Some(self.named_servers().ok()? + 1),
            FabricKind::LeafSpine | FabricKind::FatTree => self.fabric.shape().ok()?.hosts(),
        }
    }

    /// Ratio of a rack's host rate to its uplink rate, if the fabric has racks.
    pub fn oversubscription(&self) -> Option<f64> {
        let (uplinks, hosts) = self.rack()?;
        Some(self.link.rate.0 as f64 * f64::from(hosts) / uplinks as f64)
    }

    /// A host's share of its rack's uplinks, at most its link's rate; without racks, the link's rate.
    pub fn uplink_of_host(&self) -> Rate {
        self.rack().map_or(self.link.rate, |(uplinks, hosts)| self.link.rate.min(Rate(uplinks / u64::from(hosts))))
    }

    /// Total rate of a rack's uplinks, and its number of hosts.
    fn rack(&self) -> Option<(u64, u32)> {
        match self.fabric.kind {
            FabricKind::Star | FabricKind::Edges | FabricKind::Rails | FabricKind::Dragonfly => None,
            FabricKind::LeafSpine | FabricKind::FatTree => {
                let shape = self.fabric.shape().ok()?;
                let uplinks = self.uplink_rate(&shape).ok()?.0.saturating_mul(shape.spines.into());
                Some((uplinks, shape.hosts_per_rack))
            }
        }
    }

    pub(crate) fn of_tree(&self, servers: u32) -> Result<Fabric, String> {
        let shape = self.fabric.shape()?;
        let uplink_rate = self.uplink_rate(&shape)?;
        let fabric = tree(&Tree {
            pods: shape.pods,
            racks: shape.racks,
            hosts: shape.hosts_per_rack,
            spines: shape.spines,
            // As many links up as down.
            cores: if shape.pods > 1 { shape.racks } else { 0 },
            placement: match self.fabric.placement {
                Placement::ByRack => fanin_fabric::Placement::ByRack,
                Placement::Spread => fanin_fabric::Placement::Spread,
            },
            rate: self.link.rate,
            client_rate: self.link.client_rate.0.unwrap_or(self.link.rate),
            uplink_rate,
            core_rate: uplink_rate,
            delay: self.link.delay,
        })
        .map_err(|what| format!("`fabric`: {what}"))?;
        if fabric.hosts() <= servers {
            return Err(format!(
                "the {} has {} hosts including the client, but the scenario needs {servers} servers: lower the fan-in to {}, or add racks",
                self.fabric.kind.word(),
                fabric.hosts(),
                fabric.hosts() - 1,
            ));
        }
        Ok(fabric)
    }

    fn uplink_rate(&self, shape: &Shape) -> Result<Rate, String> {
        match (self.fabric.uplink_rate.0, self.fabric.oversubscription.0) {
            (Some(_), Some(_)) => {
                Err("`fabric.uplink_rate` and `fabric.oversubscription` are mutually exclusive; set only one".into())
            }
            (Some(rate), None) => Ok(rate),
            (None, None) => Ok(self.link.rate),
            (None, Some(0)) => Err("`fabric.oversubscription` of 0: use 1 (none) or more".into()),
            (None, Some(times)) => {
                let hosts = u128::from(self.link.rate.0) * u128::from(shape.hosts_per_rack);
                let ways = u128::from(shape.spines) * u128::from(times);
                match u64::try_from(hosts / ways) {
                    Ok(rate) if rate > 0 && hosts.is_multiple_of(ways) => Ok(Rate(rate)),
                    _ => Err(format!(
                        "`fabric.oversubscription` of {times}: {} hosts at {} over {} uplinks give a fractional rate; set `fabric.uplink_rate`",
                        shape.hosts_per_rack, self.link.rate, shape.spines
                    )),
                }
            }
        }
    }
}

impl Shape {
    fn hosts(&self) -> Option<u32> {
        self.pods.checked_mul(self.racks)?.checked_mul(self.hosts_per_rack)
    }
}

impl FabricSettings {
    fn shape(&self) -> Result<Shape, String> {
        let kind = self.kind.word();
        if let Some(arity) = self.arity.0 {
            return self.k_ary(arity);
        }
        let need = |value: Optional<u32>, key: &str| match value.0 {
            None => Err(format!("the {kind} fabric needs {}", self.missing())),
            Some(0) => Err(format!("`fabric.{key}` of 0: use at least 1")),
            Some(count) => Ok(count),
        };
        let racks = need(self.racks, "racks")?;
        let (hosts_per_rack, spines) = (need(self.hosts_per_rack, "hosts_per_rack")?, need(self.spines, "spines")?);
        let pods = if self.kind == FabricKind::FatTree { need(self.pods, "pods")? } else { 1 };
        if !racks.is_multiple_of(pods) {
            let less = racks - racks % pods;
            let fits =
                if less == 0 { format!("{pods}") } else { format!("{less} or {}", u64::from(less) + u64::from(pods)) };
            return Err(format!("`fabric.racks` of {racks} cannot be divided evenly among {pods} pods: use {fits}"));
        }
        if self.kind == FabricKind::FatTree && pods == 1 {
            return Err("`fabric.pods` of 1: a fat tree needs at least 2; use a leaf-spine fabric for one pod".into());
        }
        Ok(Shape { pods, racks: racks / pods, hosts_per_rack, spines })
    }

    /// The missing keys of its shape.
    fn missing(&self) -> String {
        let pods = (self.kind == FabricKind::FatTree).then_some(("pods", self.pods));
        let keys = [("racks", self.racks), ("hosts_per_rack", self.hosts_per_rack), ("spines", self.spines)];
        let missing = keys.into_iter().chain(pods).filter(|(_, value)| value.0.is_none());
        missing.map(|(key, _)| format!("`fabric.{key}`")).collect::<Vec<_>>().join(", ")
    }

    fn k_ary(&self, k: u32) -> Result<Shape, String> {
        let twice = [
            ("racks", self.racks),
            ("hosts_per_rack", self.hosts_per_rack),
            ("spines", self.spines),
            ("pods", self.pods),
        ];
        if let Some((key, _)) = twice.iter().find(|(_, value)| value.0.is_some()) {
            return Err(format!("`fabric.arity` determines `fabric.{key}`: remove one of them"));
        }
        if k < 2 || !k.is_multiple_of(2) {
            let fits = if k < 2 { "2".into() } else { format!("{} or {}", k - 1, u64::from(k) + 1) };
            return Err(format!(
                "`fabric.arity` of {k} must be even, because half of a switch's ports are uplinks: use {fits}"
            ));
        }
        Ok(Shape { pods: k, racks: k / 2, hosts_per_rack: k / 2, spines: k / 2 })
    }
}
