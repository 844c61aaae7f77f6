//! Hosts that crash, return or slow down, as a scenario tells them.

use std::collections::BTreeSet;

use fanin_fabric::{Fabric, HostId};
use fanin_units::{Rate, Share, Time};

use crate::Settings;
use crate::range::RATE_MIN;

/// Something that becomes of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostFault {
    /// When, since the start of the run.
    pub at: Time,
    /// Of which.
    pub host: HostId,
    /// What.
    pub to: HostState,
}

/// What can become of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostState {
    /// It loses all that it has and hears nothing.
    Crashed,
    /// It hears again.
    Returned,
    /// It does what it does at this share of its speed, which is above zero.
    Slowed(Share),
}

/// Every port looks at all of them as it is set up.
const FAULTS_MAX: usize = 10_000;

const FORM: &str = "right would be a time, a host, then crashes, returns or slows to a share, such as \"10 ms server3 crashes\" \
                    or \"20 ms server5 slows to 0.1\"";

impl Settings {
    /// Whether packets may be lost for ever, or whoever waits for them: what waits may wait in vain.
    pub fn may_fail(&self) -> bool {
        !self.faults.loss.is_zero() || !self.faults.hosts.is_empty() || !self.fabric.changes.is_empty()
    }

    /// What becomes of the hosts of the fabric, in the order of time, at one instant in that of the scenario.
    ///
    /// # Errors
    /// The text that is not understood or cannot be, and what would be right.
    pub fn host_faults(&self, fabric: &Fabric) -> Result<Vec<HostFault>, String> {
        let texts = &self.faults.hosts;
        if texts.len() > FAULTS_MAX {
            return Err(format!("`faults.hosts`: more than {FAULTS_MAX} of them"));
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
                HostState::Crashed if !down.insert(host.0) => "it is down then: right would be that it returns before",
                HostState::Returned if !down.remove(&host.0) => "it is not down then: right would be a crash before",
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
    found
        .ok_or_else(|| format!("no host is called `{name}` here: right would be client, or server1 up to server{last}"))
}

fn pace(share: &str, host: HostId, fabric: &Fabric) -> Result<Share, String> {
    let pace: Share = share.parse().map_err(|why| format!("{why}; right would be a share above 0 and at most 1"))?;
    let rate = Rate(pace.part_of(fabric.link(fabric.uplink(host)).rate.0));
    match (pace.is_zero(), rate < RATE_MIN) {
        (true, _) => Err("what slows to nothing never sends: right would be \"crashes\", or a share above 0".into()),
        (false, true) => Err(format!("its link would be at {rate}: right would be at least {RATE_MIN}")),
        (false, false) => Ok(pace),
    }
}
