//! Migration tests with sockets, and servers with the commands that a migration needs.

pub mod model;
mod plans;
mod stages;
mod versions;

use std::fs;
use std::path::Path;

use fanin_daemon::log::{Naming, Secret};
use fanin_daemon::routing::{Hash, Placement, Router, Weighted};
use fanin_daemon::{Running, Settings};
use fanin_testing::wait_until;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::support::Client;
use model::Model;

pub const SECRET: &str = "sixteen bytes or more";

/// Writes a plan's folder like `fanin plan`, for keys with one replica.
pub fn write_plan(folder: &Path, servers: usize, table: &str) {
    write_replica_plan(folder, servers, 1, table);
}

/// The same for this number of replicas; the table has a row for each.
pub fn write_replica_plan(folder: &Path, servers: usize, replicas: usize, table: &str) {
    fs::write(folder.join("placement.csv"), table).unwrap();
    let digest: String = Sha256::digest(table).iter().map(|byte| format!("{byte:02x}")).collect();
    let plan = serde_json::json!({"cluster": {"servers": servers, "replicas": replicas}, "placement_sha256": digest});
    fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
}

pub fn write_stage(folder: &Path, stage: &str) {
    // Atomically.
    fs::write(folder.join("stage.new"), stage).unwrap();
    fs::rename(folder.join("stage.new"), folder.join("stage")).unwrap();
}

/// Servers, a plan that moves keys to the next server, and two front ends.
struct Moving {
    servers: Vec<Model>,
    folder: TempDir,
    fronts: [Running; 2],
    router: Router,
}

impl Moving {
    /// With a plan of hashed keys, only requests copy keys.
    fn start(count: usize, keys: &[String], stage: &str, hashes: bool) -> Moving {
        let servers: Vec<Model> = (0..count).map(|_| Model::start()).collect();
        let listed: Vec<String> = servers.iter().map(|server| format!("\"{}\"", server.address)).collect();
        let weighted: Vec<Weighted> =
            servers.iter().map(|server| Weighted { name: server.address.to_string(), weight: 1 }).collect();
        let router = Router::new(Placement::WORDS[0].1, Hash::Fnv1a64, &weighted);
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        fs::write(&secret, SECRET).unwrap();
        let log = if hashes { format!("secret = \"{}\"", secret.display()) } else { "keys = \"plain\"".to_owned() };
        let name = |key: &String| if hashes { hashed(SECRET, key) } else { key.clone() };
        write_plan(folder.path(), count, &named_table(&router, keys, count, 1, name));
        write_stage(folder.path(), stage);
        let text = |front: usize| {
            format!(
                "threads = 2\n[log]\nfile = \"{0}/asked{front}.csv\"\n{log}\n[[pool]]\nname = \"p\"\nlisten = \"127.0.0.{front}:0\"\n\
                 timeout = \"5 s\"\nservers = [{1}]\nplan = \"{0}\"\n",
                folder.path().display(),
                listed.join(",")
            )
        };
        // Progress is stored by their addresses.
        let fronts =
            [1, 2].map(|front| fanin_daemon::start(&Settings::of_file("test.toml", &text(front)).unwrap()).unwrap());
        Moving { servers, folder, fronts, router }
    }

    fn client(&self) -> Client {
        self.client_of(0)
    }

    /// A client of one front end.
    fn client_of(&self, front: usize) -> Client {
        Client::to(self.fronts[front % 2].listens()[0].ip().unwrap())
    }

    /// Old and new server of a key.
    fn places(&self, key: &str) -> [&Model; 2] {
        let old = self.router.server(key.as_bytes());
        [&self.servers[old], &self.servers[(old + 1) % self.servers.len()]]
    }

    fn told(&self, stage: &str) {
        write_stage(self.folder.path(), stage);
    }

    /// Waits until both front ends reach a stage.
    fn reaches(&self, stage: &str) {
        for mut client in [self.client(), self.client_of(1)] {
            wait_until(stage, || client.word("p.plan_stage") == stage);
        }
    }
}

/// A table that moves keys by this number of servers.
pub fn table(router: &Router, keys: &[String], servers: usize, by: usize) -> String {
    named_table(router, keys, servers, by, String::clone)
}

fn named_table(
    router: &Router,
    keys: &[String],
    servers: usize,
    by: usize,
    name: impl Fn(&String) -> String,
) -> String {
    // The front end computes a hashed key's old server.
    let new = |key: &String| (router.server(key.as_bytes()) + by) % servers + 1;
    let row = |key: &String| format!("{},{},\n", name(key), new(key));
    format!("key,server,was\n{}", keys.iter().map(row).collect::<String>())
}

/// A key's name in the plan, by a secret.
pub fn hashed(secret: &str, key: &str) -> String {
    let mut name = Vec::new();
    Naming::Hashed(Secret::of(secret.as_bytes()).unwrap()).write(key.as_bytes(), &mut name);
    String::from_utf8(name).unwrap()
}

pub fn keys(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{number}-key")).collect()
}
