//! Current placement of objects: from a file, from an earlier plan, or by the keys' hashes.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fanin_placement::{Cluster, Object, Placement, Server, place_by_hash};
use fanin_plan_files::placement::{self, Form};
use fanin_plan_files::plan::{self, PlanFile};
use serde_json::Value;

use crate::error::PlanningError;
use crate::requests::Catalogue;

/// Source of the current placement.
#[derive(Clone, Debug, Default)]
pub enum CurrentPlacement {
    /// Nowhere: by their hashes.
    #[default]
    Hashed,
    /// By a front end's rule.
    By(Rule),
    /// By a table of keys and servers.
    File(PathBuf),
    /// As the plan in a folder leaves them.
    Planned(PathBuf),
}

/// Returns the servers of a key's replicas by the key's name.
pub type KeyLookup = dyn Fn(&[u8]) -> Option<Vec<u32>> + Send + Sync;

/// The rule by which a front end finds a key's servers.
#[derive(Clone)]
pub struct Rule {
    /// Its servers' names, in its order.
    pub servers: Vec<String>,
    /// Replicas of each key.
    pub replicas: usize,
    /// The servers of a key's replicas by its name in a log; `None` if the log does not say.
    pub homes: Arc<KeyLookup>,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a rule for {} servers", self.servers.len())
    }
}

/// Servers of all objects, which of them are known, and the servers' names, if known.
pub(crate) struct StoredObjects {
    pub placement: Placement,
    pub told: Vec<bool>,
    pub servers: Vec<String>,
}

/// The servers of each key's replicas.
pub(crate) fn lie(
    current_placement: &CurrentPlacement,
    catalogue: &Catalogue,
    cluster: &Cluster,
    replicas: usize,
) -> Result<StoredObjects, PlanningError> {
    let keys = (0..catalogue.len() as u32).map(|number| catalogue.key(number));
    let hashed = place_by_hash(keys, cluster, replicas).ok_or_else(|| {
        PlanningError::Cluster(format!(
            "`key_value.replicas` of {replicas} needs as many racks with servers: use fewer replicas or more `fabric.racks`"
        ))
    })?;
    match current_placement {
        CurrentPlacement::Hashed => {
            Ok(StoredObjects { placement: hashed, told: vec![false; catalogue.len()], servers: Vec::new() })
        }
        CurrentPlacement::By(rule) => by(rule, catalogue, cluster, replicas),
        CurrentPlacement::File(path) => read(path, Form::Listed, catalogue, cluster, &hashed),
        CurrentPlacement::Planned(folder) => {
            same(folder, cluster, replicas)?;
            read(&folder.join(placement::FILE), Form::Written, catalogue, cluster, &hashed)
        }
    }
}

/// Whether a plan is for this cluster.
pub(crate) fn identity(cluster: &Cluster, replicas: usize) -> Value {
    let mut racks = cluster.racks.clone();
    racks.sort_unstable();
    let sizes: Vec<usize> = racks.chunk_by(|one, other| one == other).map(<[u32]>::len).collect();
    plan::cluster(&sizes, replicas)
}

/// Refuses the plan of another cluster.
fn same(folder: &Path, cluster: &Cluster, replicas: usize) -> Result<(), PlanningError> {
    let path = folder.join(plan::FILE);
    let refused = |what: String| PlanningError::CurrentPlacement { path: path.clone(), what };
    let (here, there) =
        (identity(cluster, replicas), PlanFile::read(&path).map_err(|error| refused(error.into()))?.cluster);
    if there == here {
        return Ok(());
    }
    Err(refused(format!("the plan is for another cluster, {there}; this one is {here}")))
}

/// Placement by a front end's hash. For hashed keys with one replica, the log names the server.
fn by(rule: &Rule, catalogue: &Catalogue, cluster: &Cluster, replicas: usize) -> Result<StoredObjects, PlanningError> {
    let (servers, here) = (rule.servers.len(), cluster.racks.len());
    if replicas != rule.replicas {
        return Err(PlanningError::Cluster(format!(
            "`key_value.replicas` of {replicas}: the front end has {} of each key; set it to {}",
            rule.replicas, rule.replicas
        )));
    }
    if servers != here {
        return Err(PlanningError::Cluster(format!(
            "the cluster has {here} servers, but the front end has {servers}: set `workload.fan_in` to {servers}"
        )));
    }
    let logged = |key: u32| catalogue.server(key).filter(|_| replicas == 1).map(|number| vec![number - 1]);
    let known = |key: u32| (rule.homes)(catalogue.key(key)).or_else(|| logged(key));
    let homes: Vec<Vec<u32>> = (0..catalogue.len() as u32).filter_map(known).collect();
    let unknown = catalogue.len() - homes.len();
    if unknown > 0 {
        let of_log = if replicas == 1 { "a log with the column `server_by_hash`" } else { "a log with plain keys" };
        return Err(PlanningError::Places(format!(
            "{unknown} of {} keys are hashed, and the log does not give their servers: use {of_log}, or a placement \
             table (--current)",
            catalogue.len()
        )));
    }
    let homes: Vec<Server> = homes.concat().into_iter().map(Server).collect();
    if let Some(other) = homes.iter().find(|home| home.0 as usize >= servers) {
        return Err(PlanningError::Places(format!(
            "the log has keys of server {}, but the front end has {servers} servers: use the configuration of the front end that wrote the log",
            other.0 + 1
        )));
    }
    for (key, theirs) in (0..).zip(homes.chunks_exact(replicas)) {
        if let Some((one, two)) = in_one_rack(theirs, cluster) {
            let key = String::from_utf8_lossy(catalogue.key(key)).into_owned();
            return Err(PlanningError::Cluster(format!(
                "the front end has replicas of `{key}` on servers {} and {}, which are in the same rack: use as many \
                 `fabric.racks` as servers",
                one.0 + 1,
                two.0 + 1
            )));
        }
    }
    Ok(StoredObjects {
        placement: Placement::new(replicas, homes),
        told: vec![true; catalogue.len()],
        servers: rule.servers.clone(),
    })
}

/// Two of these servers in the same rack, if there are any.
fn in_one_rack(servers: &[Server], cluster: &Cluster) -> Option<(Server, Server)> {
    servers.iter().enumerate().find_map(|(place, server)| {
        let other = servers[..place].iter().find(|other| cluster.rack(**other) == cluster.rack(*server))?;
        Some((*other, *server))
    })
}

/// Reads a table; keys that it does not list are placed by their hashes.
fn read(
    path: &Path,
    form: Form,
    catalogue: &Catalogue,
    cluster: &Cluster,
    hashed: &Placement,
) -> Result<StoredObjects, PlanningError> {
    let refused = |what: String| PlanningError::CurrentPlacement { path: path.into(), what };
    let file = File::open(path).map_err(|error| refused(error.to_string()))?;
    let mut reader =
        placement::Reader::new(file, form, cluster.racks.len() as u32).map_err(|error| refused(error.into()))?;
    let mut homes: Vec<Vec<Server>> = vec![Vec::new(); catalogue.len()];
    while let Some(row) = reader.next_row().map_err(|error| refused(error.into()))? {
        let Some((object, server)) = catalogue.number(row.key).zip(row.server) else { continue };
        let theirs = &mut homes[object as usize];
        theirs.push(Server(server));
        if let Some((one, two)) = in_one_rack(theirs, cluster) {
            let (line, key, [one, two]) = (row.line, String::from_utf8_lossy(row.key), [one, two].map(|at| at.0 + 1));
            return Err(refused(format!(
                "line {line}: `{key}` is on servers {one} and {two}, which are in the same rack"
            )));
        }
    }
    let (replicas, told) = (hashed.replicas(), homes.iter().map(|theirs| !theirs.is_empty()).collect());
    for (object, theirs) in (0..).zip(&mut homes) {
        if theirs.is_empty() {
            theirs.extend(hashed.homes(Object(object)));
        } else if theirs.len() != replicas {
            let key = String::from_utf8_lossy(catalogue.key(object)).into_owned();
            let what = format!("`{key}` is on {} servers, but `key_value.replicas` is {replicas}", theirs.len());
            return Err(refused(what));
        }
    }
    Ok(StoredObjects { placement: Placement::new(replicas, homes.concat()), told, servers: Vec::new() })
}
