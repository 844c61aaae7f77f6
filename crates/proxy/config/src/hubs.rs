//! Settings of a pool whose multigets go through agents: hubs of SICC, or data servers of PICC.

use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::sync::Arc;

use fanin_fanout::Kind;
use fanin_fanout::sicc;
use fanin_fanout::swarm::Policy;
use fanin_fanout::tree::{self, Bound};
use fanin_units::{Bytes, Rate, Time};
use serde::Deserialize;
use toml::Spanned;

use super::racks::{AgentAuth, AgentAuthInFile, Racks};
use super::security::Files;
use super::types::{AgentRole, HubSettings, OnDown, Pool};
use super::values::{LINKS, Written, Wrong, bounded, right, whole};

/// The keys of a pool in a file.
pub struct HubsInFile {
    pub racks: Option<Spanned<PathBuf>>,
    pub auth: AgentAuthInFile,
    pub sicc: Option<Spanned<SiccInFile>>,
}

/// SICC's settings in a file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiccInFile {
    hubs: Option<Spanned<i64>>,
    buffer: Option<Spanned<Written>>,
    uplink: Option<Spanned<Written>>,
    object: Option<Spanned<Written>>,
    period: Option<Spanned<Written>>,
    queue: Option<Spanned<PathBuf>>,
}

/// Bounds of a port's buffer, of a mean object, and of a period.
const BUFFER: RangeInclusive<Bytes> = Bytes(1500)..=Bytes(1 << 30);
const OBJECT: RangeInclusive<Bytes> = Bytes(1)..=Bytes(1 << 20);
const PERIOD: RangeInclusive<Time> = Time::from_millis(1)..=Time::from_secs(10);
/// Default buffer of the port.
const USUAL_BUFFER: Bytes = Bytes(64 << 10);

/// Multigets that go through hubs, with the simulator's names.
pub fn kinds() -> impl Iterator<Item = (&'static str, Kind)> {
    let usual = sicc::Params::default();
    let with_hubs = Kind::ALL.iter().filter(move |kind| kind.parts(&usual).is_some());
    with_hubs.map(|kind| (kind.row().word, *kind))
}

/// Name of multigets from agents that are data servers.
pub const DATA_SERVERS: &str = "picc";

/// How a pool's multigets use agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multigets {
    /// Not at all.
    Direct(Kind),
    /// As hubs.
    Hubs(Kind),
    /// As data servers.
    DataServers,
}

/// Right form of the TLS towards agents.
pub const AGENT_TLS: &str = "agent_tls = { ca = \"ca.pem\", certificate = \"cert.pem\", key = \"key.pem\" }";

/// Converts them for a pool with its servers and failover; `multigets` are its multigets if they use agents.
pub fn hubs(
    file: HubsInFile,
    multigets: Option<(Multigets, Range<usize>)>,
    pool: &mut Pool,
    files: &Files,
) -> Result<(), Wrong> {
    let Some((multigets, place)) = multigets else {
        let places = [
            file.racks.map(|it| it.span()),
            file.auth.plaintext.map(|it| it.span()),
            file.auth.agent_tls.map(|it| it.span()),
            file.auth.agent_secret.map(|it| it.span()),
            file.sicc.map(|it| it.span()),
        ];
        return match places.into_iter().flatten().next() {
            Some(place) => Err(Wrong(
                Some(place),
                "it is for multigets through agents: add multiget = \"sicc\" or \"picc\", or remove it".to_owned(),
            )),
            None => Ok(()),
        };
    };
    let wrong = |why: &str| Err(Wrong(Some(place.clone()), why.to_owned()));
    if pool.on_down == OnDown::Next {
        return wrong(
            "agents ask the server of a key, or one of its replicas: remove `on_down = \"next\"`, or use another algorithm",
        );
    }
    let Some(racks) = file.racks else {
        return wrong("agents are found by the racks of the servers: add racks = \"racks.toml\"");
    };
    let auth = AgentAuth::read(file.auth, place.clone(), AGENT_TLS, files)?;
    let racks = Arc::new(Racks::read(&racks, &auth, files)?);
    if !pool.servers.iter().any(|server| racks.position(&server.target.address).is_some()) {
        return wrong("the racks have none of the pool's servers: add them as [[server]]");
    }
    if multigets == Multigets::DataServers
        && let Some(sicc) = &file.sicc
    {
        return Err(Wrong(Some(sicc.span()), "it is for hubs: remove it, or use multiget = \"sicc\"".to_owned()));
    }
    let (settings, most) = sicc(file.sicc.map(Spanned::into_inner), pool.link, files)?;
    let SiccSettings { sicc, buffer, queue } = settings;
    let (role, kind) = match multigets {
        Multigets::Direct(kind) | Multigets::Hubs(kind) => (AgentRole::Hub, kind),
        Multigets::DataServers => (AgentRole::DataServer, Kind::Sicc),
    };
    let Some(parts) = kind.parts(&sicc) else { return Ok(()) };
    pool.hubs = Some(Arc::new(HubSettings { role, parts, sicc, most, racks, buffer, queue }));
    Ok(())
}

/// SICC's settings, the port before the front end, and the file of its queue.
struct SiccSettings {
    sicc: sicc::Params,
    buffer: Bytes,
    queue: Option<PathBuf>,
}

/// Converts SICC's settings; returns also the most hubs that send to the front end itself.
fn sicc(file: Option<SiccInFile>, link: Rate, files: &Files) -> Result<(SiccSettings, u32), Wrong> {
    let file = file.unwrap_or_default();
    let usual = sicc::Params { hub: Policy::SpareIo, ..sicc::Params::default() };
    let buffer = bounded(file.buffer, USUAL_BUFFER, right("buffer", "64 KiB", "KiB"), BUFFER)?;
    let uplink = bounded(file.uplink, link, right("uplink", "10 Gbit/s", "Gbit/s"), LINKS)?;
    let mean_object = bounded(file.object, usual.mean_object, right("object", "500 B", "B"), OBJECT)?;
    let period = bounded(file.period, usual.period, right("period", "10 ms", "ms"), PERIOD)?;
    let fixed = file.hubs.map(|hubs| whole(Some(hubs), 1, 1_000_000)).transpose()?;
    let bound = if fixed.is_some() { Bound::Fixed } else { usual.bound };
    let most = tree::bound(bound, buffer, mean_object, uplink, link, fixed.unwrap_or(1) as u32);
    let sicc = sicc::Params { mean_object, period, bound, ..usual };
    Ok((SiccSettings { sicc, buffer, queue: file.queue.map(|path| files.path(&path)) }, most))
}
