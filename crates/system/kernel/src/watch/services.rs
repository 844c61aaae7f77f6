//! Services by their cgroups: units of systemd, and pods of Kubernetes.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cgroup::Cgroup;
use crate::names::printable;
use crate::watch::row::Receiver;
use crate::watch::shares::Share;

/// Shortest time between two readings of all cgroups.
const READING: Duration = Duration::from_secs(1);
/// Letters of a pod's UID.
const UID: usize = 36;

/// Paths of this machine's cgroups by their numbers.
#[derive(Debug, Default)]
pub struct Services {
    root: Option<PathBuf>,
    paths: BTreeMap<u64, String>,
    read: Option<Duration>,
}

impl Services {
    /// Without cgroup v2, no service has a name.
    pub fn new() -> Services {
        Services { root: Cgroup::open(Path::new("/")).ok().map(|root| root.path), ..Services::default() }
    }

    /// Receiver of a share; cgroups are read again if this one is new. `now`: CLOCK_MONOTONIC.
    pub fn receiver(&mut self, share: Share, now: Duration) -> Receiver {
        let cgroup = self.path(share.cgroup, now);
        Receiver { service: service(&cgroup), cgroup, bytes: share.bytes }
    }

    /// A cgroup's service.
    pub fn name(&mut self, cgroup: u64, now: Duration) -> String {
        service(&self.path(cgroup, now))
    }

    fn path(&mut self, id: u64, now: Duration) -> String {
        let is_due = self.read.is_none_or(|read| now >= read + READING);
        if let Some(root) = self.root.as_ref().filter(|_| is_due && !self.paths.contains_key(&id)) {
            // A cgroup that ends meanwhile has no packets to report.
            self.paths = paths(root).unwrap_or_default();
            self.read = Some(now);
        }
        self.paths.get(&id).cloned().unwrap_or_else(|| format!("cgroup {id}"))
    }
}

/// Paths below cgroup v2's mount.
fn paths(root: &Path) -> io::Result<BTreeMap<u64, String>> {
    let mut found = BTreeMap::from([(fs::metadata(root)?.ino(), "/".to_string())]);
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        // Another program may have removed it.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let path = entry.path();
                let below = path.strip_prefix(root).unwrap_or(&path);
                found.insert(entry.ino(), printable(&format!("/{}", below.display())));
                open.push(path);
            }
        }
    }
    Ok(found)
}

/// A pod, else the innermost unit of systemd, else the path.
fn service(path: &str) -> String {
    let parts = || path.rsplit('/');
    let is_unit = |part: &&str| [".service", ".scope", ".slice"].iter().any(|end| part.ends_with(end));
    let pod = parts().find_map(pod);
    pod.or_else(|| parts().find(is_unit).map(str::to_string)).unwrap_or_else(|| path.to_string())
}

/// UID of a pod, from a cgroup's name such as `kubepods-burstable-pod…_….slice` or `pod…-…`.
fn pod(part: &str) -> Option<String> {
    let (_, rest) = part.rsplit_once("pod")?;
    let uid = rest.get(..UID)?.replace('_', "-");
    let is_uid = uid.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && uid.bytes().all(|letter| letter.is_ascii_hexdigit() || letter == b'-');
    is_uid.then(|| format!("pod {uid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_units_and_pods() {
        let uid = "01234567-89ab-cdef-0123-456789abcdef";
        let slice = format!(
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice/cri-containerd-9f.scope",
            uid.replace('-', "_")
        );
        let pod = format!("pod {uid}");
        for (path, wanted) in [
            ("/system.slice/memcached.service", "memcached.service"),
            ("/user.slice/user-1000.slice/user@1000.service/app.slice/web.service", "web.service"),
            ("/system.slice/docker-9f.scope", "docker-9f.scope"),
            ("/system.slice/podman.service/inner", "podman.service"),
            (slice.as_str(), pod.as_str()),
            (&format!("/kubepods/besteffort/pod{uid}/9f"), &pod),
            ("/", "/"),
            ("/tests/one", "/tests/one"),
            ("cgroup 7", "cgroup 7"),
        ] {
            assert_eq!(service(path), wanted, "{path}");
        }
    }

    #[test]
    fn new_cgroups_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut services = Services { root: Some(folder.path().into()), ..Services::default() };
        fs::create_dir_all(folder.path().join("system.slice/web.service")).unwrap();
        let id = |path: &str| fs::metadata(folder.path().join(path)).unwrap().ino();
        let web = id("system.slice/web.service");
        let receiver = services.receiver(Share { cgroup: web, bytes: 5 }, READING);
        let wanted = Receiver { service: "web.service".into(), cgroup: "/system.slice/web.service".into(), bytes: 5 };
        assert_eq!(receiver, wanted);
        fs::create_dir(folder.path().join("new.slice")).unwrap();
        let new = id("new.slice");
        assert_eq!(services.name(new, READING), format!("cgroup {new}"), "within a second");
        assert_eq!(services.name(new, 2 * READING), "new.slice");
        assert_eq!(services.name(id(""), 2 * READING), "/");
    }
}
