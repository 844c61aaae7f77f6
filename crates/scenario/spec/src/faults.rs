//! Hosts that crash, return or slow down.

use std::collections::BTreeSet;

use fanin_fabric::{Fabric, HostFault, HostId, HostState};
use fanin_units::{Rate, Share, Time};

use crate::Settings;
use crate::range::RATE_MIN;

/// Maximum number of faults; every port checks all of them at its setup.
const FAULTS_MAX: usize = 10_000;

const FORM: &str = "use a time, a host, then crashes, returns or slows to a share, such as \"10 ms server3 crashes\" \
                    or \"20 ms server5 slows to 0.1\"";

impl Settings {
    /// Whether packets or hosts may be lost for good, so that an application may wait in vain.
    pub fn may_fail(&self) -> bool {
        !self.faults.loss.is_zero() || !self.faults.hosts.is_empty() || !self.fabric.changes.is_empty()
    }

    /// Faults of the fabric's hosts, in the order of time, then of the scenario.
    ///
    /// # Errors
    /// The first invalid or impossible text.
    pub fn host_faults(&self, fabric: &Fabric) -> Result<Vec<HostFault>, String> {
        let texts = &self.faults.hosts;
        if texts.len() > FAULTS_MAX {
            return Err(format!("`faults.hosts`: use at most {FAULTS_MAX} faults"));
        }
        let of = |text: &str, what: String| format!("`faults.hosts`, \"{text}\": {what}");
        let mut faults = Vec::with_capacity(texts.len());
        for text in texts {
            faults.push((fault(text, fabric).map_err(|what| of(text, what))?, text));
        }
        faults.sort_by_key(|(fault, _)| fault.at);
        let mut down = BTreeSet::new();
        for &(HostFault { host, to, .. }, text) in &faults {
            let amiss = match to {
                HostState::Crashed if !down.insert(host.0) => "it is already down: add a return before it",
                HostState::Returned if !down.remove(&host.0) => "it is not down: add a crash before it",
                _ => continue,
            };
            return Err(of(text, amiss.into()));
        }
        Ok(faults.into_iter().map(|(fault, _)| fault).collect())
    }
}

fn fault(text: &str, fabric: &Fabric) -> Result<HostFault, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [number, unit, name, rest @ ..] = words.as_slice() else { return Err(FORM.into()) };
    let at = format!("{number} {unit}").parse::<Time>().map_err(|why| format!("{why}; {FORM}"))?;
    let host = host(name, fabric)?;
    let to = match rest {
        ["crashes"] => HostState::Crashed,
        ["returns"] => HostState::Returned,
        ["slows", "to", share @ ..] => HostState::Slowed(pace(&share.join(" "), host, fabric)?),
        _ => return Err(FORM.into()),
    };
    Ok(HostFault { at, host, to })
}

fn host(name: &str, fabric: &Fabric) -> Result<HostId, String> {
    let number = match name {
        "client" => Some(0),
        _ => name.strip_prefix("server").and_then(|number| number.parse().ok()).filter(|&number| number > 0),
    };
    let last = fabric.hosts() - 1;
    let found = number.map(HostId).filter(|host| host.0 <= last && fabric.name(host.node()) == name);
    found.ok_or_else(|| format!("unknown host `{name}`: use client, or server1 to server{last}"))
}

fn pace(share: &str, host: HostId, fabric: &Fabric) -> Result<Share, String> {
    let pace: Share = share.parse().map_err(|why| format!("{why}; use a share above 0 and at most 1"))?;
    let slowest = fabric.uplinks(host).map(|link| fabric.link(link).rate.0).min().unwrap_or(0);
    let rate = Rate(pace.part_of(slowest));
    match (pace.is_zero(), rate < RATE_MIN) {
        (true, _) => Err("a host slowed to zero never sends: use \"crashes\", or a share above 0".into()),
        (false, true) => Err(format!("its link would be at {rate}: use at least {RATE_MIN}")),
        (false, false) => Ok(pace),
    }
}
