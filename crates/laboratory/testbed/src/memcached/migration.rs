//! PICC with real programs: the front end moves keys to the servers of the scheme's plan, stage by stage, while a client reads them.
//!
//! The plan is the one that the simulator makes for the same run; every key begins where the simulator stores it. Servers have no
//! send queue that PICC's Algorithm 3 could order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io, thread};

use fanin_apps::Reads;
use fanin_placement::picc::Learn;
use fanin_plan_files::{placement, plan};
use fanin_spec::{Route, RunSpec};
use fanin_units::Time;
use serde_json::json;
use tempfile::TempDir;

use super::client::Client;
use crate::clock::Clock;
use crate::trouble::Trouble;

/// Stages of a front end, in order (`docs/front.md`).
const STAGES: [&str; 5] = ["begin", "move", "copied", "turn", "over"];
/// Time between two requests while keys move.
const BETWEEN: Duration = Duration::from_millis(100);
/// Longest time for a stage.
const LONGEST: Time = Time::from_secs(300);
/// A file system that the machines of a testbed can write to.
const WRITABLE: &str = "/run";

/// The setting that the front end needs for this scheme, if the run has another.
pub fn lacks(spec: &RunSpec) -> Option<&'static str> {
    let (k, moves) = (&spec.settings.key_value, spec.scheme.gathering.is_some());
    let needs = [
        (k.replicas == 1, "key_value.replicas = 1"),
        (k.route == Route::Direct, "key_value.route = \"direct\""),
        (spec.settings.placements.picc.learn != Learn::Running, "picc.learn = \"same\""),
    ];
    needs.into_iter().find(|(has, _)| moves && !has).map(|(_, key)| key)
}

/// A plan's folder.
pub struct Migration {
    folder: TempDir,
}

impl Migration {
    /// The plan of a scheme that places objects, for servers of these names.
    pub fn of(spec: &RunSpec, servers: &[String]) -> Result<Option<Migration>, Trouble> {
        if spec.scheme.gathering.is_none() {
            return Ok(None);
        }
        let folder = tempfile::Builder::new().prefix("fanin-plan-").tempdir_in(WRITABLE)?;
        let mut table = placement::Writer::create(&folder.path().join(placement::FILE))?;
        for (object, [was, server]) in Reads::places(spec).into_iter().enumerate() {
            // Host 0 is the client.
            table.write(object.to_string().as_bytes(), Some(server.0 - 1), Some(was.0 - 1))?;
        }
        let digest = table.finish()?;
        let description = json!({"schema": 1, "cluster": plan::cluster(&[servers.len()], 1), "servers": servers});
        plan::write(&folder.path().join(plan::FILE), &description, &digest)?;
        let migration = Migration { folder };
        migration.enter(STAGES[0])?;
        Ok(Some(migration))
    }

    /// Keys of the front end's pool.
    pub fn keys(&self) -> String {
        format!("plan = \"{}\"\n", self.folder.path().display())
    }

    fn enter(&self, stage: &str) -> io::Result<()> {
        fs::write(self.folder.path().join("stage"), stage)
    }

    /// Leads the front end through all stages. Meanwhile the client makes requests of the workload.
    ///
    /// # Errors
    /// A request that lacks a value.
    pub fn carry_out(&self, client: &mut Client, spec: &RunSpec, stop: &AtomicBool) -> Result<(), Trouble> {
        for stage in STAGES {
            self.enter(stage)?;
            let (mut reads, clock) = (Reads::new(spec), Clock::start()?);
            while client.statistic("plan_stage")?.as_deref() != Some(stage) {
                if stop.load(Ordering::Relaxed) {
                    return Err(Trouble::Stopped);
                }
                if clock.now() > LONGEST {
                    return Err(Trouble::Lacks(format!("`fanin front` does not reach stage `{stage}`")));
                }
                let objects = reads.request();
                let response = client.get(&objects)?;
                if response.failed || response.values < objects.len() as u64 {
                    let (found, all) = (response.values, objects.len());
                    return Err(Trouble::Lacks(format!(
                        "{found} of {all} values while keys moved, in stage `{stage}`"
                    )));
                }
                thread::sleep(BETWEEN);
            }
        }
        Ok(())
    }
}
