//! `plan.json`: the cluster of a plan, its servers' names if known, and the digest of `placement.csv`. It also has the plan's effect, which
//! is for people and other programs; nothing here reads it.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::error::Error;

/// Name of the file.
pub const FILE: &str = "plan.json";
/// Keys that are read again.
const CLUSTER: &str = "cluster";
const SERVERS: &str = "servers";
const DIGEST: &str = "placement_sha256";

/// Description of a cluster, by which a plan for another one is recognised. `servers_per_rack` is sorted by rack.
pub fn cluster(servers_per_rack: &[usize], replicas: usize) -> Value {
    json!({"servers": servers_per_rack.iter().sum::<usize>(), "servers_a_rack": servers_per_rack, "replicas": replicas})
}

/// The fields of the file by which plans are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFile {
    /// Description of the cluster, as by [`cluster`].
    pub cluster: Value,
    /// Number of its servers.
    pub servers: u64,
    /// Number of replicas per key.
    pub replicas: u64,
    /// Names of the servers, if known.
    pub names: Vec<String>,
    /// Digest of `placement.csv`, if known.
    pub digest: Option<String>,
}

impl PlanFile {
    /// Reads the file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a plan.
    pub fn read(path: &Path) -> Result<PlanFile, Error> {
        let text = std::fs::read_to_string(path)?;
        let plan: Value = serde_json::from_str(&text)?;
        let number = |key: &str| plan.get(CLUSTER)?.get(key)?.as_u64();
        let (Some(servers), Some(replicas)) = (number("servers"), number("replicas")) else {
            return Err(Error::NoCluster);
        };
        let names = plan.get(SERVERS).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        Ok(PlanFile {
            cluster: plan[CLUSTER].clone(),
            servers,
            replicas,
            names: names.map(str::to_owned).collect(),
            digest: plan.get(DIGEST).and_then(Value::as_str).map(str::to_owned),
        })
    }
}

/// Text of the file: a plan's description with the digest of its `placement.csv`, by which a reader knows that both are whole.
///
/// # Errors
/// It cannot be serialised.
pub fn text(description: &Value, digest: &str) -> io::Result<String> {
    let mut plan = description.clone();
    plan[DIGEST] = digest.into();
    Ok(format!("{}\n", serde_json::to_string_pretty(&plan)?))
}

/// Writes the file.
///
/// # Errors
/// Errors of the file system.
pub fn write(path: &Path, description: &Value, digest: &str) -> io::Result<()> {
    std::fs::write(path, text(description, digest)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_written_plan() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let description = json!({"schema": 1, "cluster": cluster(&[2, 1], 1), "servers": ["a", "b", "c"]});
        write(&path, &description, "0123").unwrap();
        let read = PlanFile::read(&path).unwrap();
        assert_eq!((read.servers, read.replicas, read.digest.as_deref()), (3, 1, Some("0123")));
        assert_eq!((read.cluster, read.names.join(" ")), (cluster(&[2, 1], 1), "a b c".to_owned()));
        std::fs::write(&path, "{\"cluster\": {\"servers\": \"2\", \"replicas\": 1}}").unwrap();
        assert!(PlanFile::read(&path).unwrap_err().to_string().contains("does not name its cluster"));
    }
}
