//! Objects of this crate in the kernel.

use std::ffi::OsStr;
use std::os::fd::AsRawFd;
use std::sync::Mutex;

use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, PrintLevel, set_print};

use crate::cgroup::Cgroup;
use crate::control::Control;
use crate::requirements::{of_devices, requirements, root};
use crate::trouble::Trouble;

/// Warnings of libbpf since the last success, which say why the kernel refused an object.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Warnings that a message shows.
const SHOWN: usize = 4;

/// Registration of a congestion control, with its object.
#[derive(Debug)]
pub struct Registered {
    object: Object,
    /// The registration: it ends with this value unless it is pinned.
    pub link: Link,
}

/// Collects libbpf's warnings instead of printing them.
pub fn collect_warnings() {
    set_print(Some((PrintLevel::Warn, |_, text| {
        if let Ok(mut warnings) = WARNINGS.lock() {
            warnings.push(text.trim_start_matches("libbpf: ").trim_end().to_string());
        }
    })));
}

/// A refusal, with libbpf's last warnings.
pub fn refused(what: &str, error: &libbpf_rs::Error) -> Trouble {
    let warnings = WARNINGS.lock().map(|mut warnings| std::mem::take(&mut *warnings)).unwrap_or_default();
    let last = warnings.iter().skip(warnings.len().saturating_sub(SHOWN)).map(|text| format!("\n  {text}"));
    Trouble::kernel(what, format!("{error}{}", last.collect::<String>()))
}

/// Checks that the kernel can load a congestion control.
///
/// # Errors
/// Names the missing requirements.
pub fn check(control: &Control, pins: bool) -> Result<(), Trouble> {
    let needed = |what: &str| pins || what != "bpffs";
    let root = root();
    let found = if root.met { requirements(control) } else { vec![root] };
    let lacking: Vec<String> =
        found.iter().filter(|one| !one.met && needed(one.what)).map(|one| one.note.clone()).collect();
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(Trouble::Environment(format!("this machine cannot load {control}: {}", lacking.join("; ")))),
    }
}

/// Checks that the kernel can load programs of network devices.
///
/// # Errors
/// Names the missing requirements.
pub fn check_devices(what: &str, pins: bool) -> Result<(), Trouble> {
    let root = root();
    let found = if root.met { of_devices() } else { vec![root] };
    let lacking: Vec<String> =
        found.iter().filter(|one| !one.met && (pins || one.what != "bpffs")).map(|one| one.note.clone()).collect();
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(Trouble::Environment(format!("this machine cannot load {what}: {}", lacking.join("; ")))),
    }
}

/// Opens an object of this crate.
pub fn open(name: &str, bytes: &[u8]) -> Result<OpenObject, Trouble> {
    let mut builder = ObjectBuilder::default();
    let named = builder.name(name).map_err(|error| refused(&format!("name the object {name}"), &error))?;
    named.open_memory(bytes).map_err(|error| refused(&format!("read the object {name}"), &error))
}

/// Registers a congestion control.
pub fn register(control: &Control) -> Result<Registered, Trouble> {
    let mut object = open("fanin", control.object())?;
    for mut map in object.maps_mut() {
        let is_control = map.map_type() == libbpf_rs::MapType::StructOps;
        if is_control && map.name() != OsStr::new(control.map) {
            map.set_autocreate(false).map_err(|error| refused("leave a map out", &error))?;
        }
    }
    object.progs_mut().filter(|program| program.name() == OsStr::new("replay")).for_each(|mut program| {
        program.set_autoload(false);
    });
    let mut object = object.load().map_err(|error| refused(&format!("load {control}"), &error))?;
    let map = object.maps_mut().find(|map| map.name() == OsStr::new(control.map));
    let mut map = map.ok_or_else(|| Trouble::Environment(format!("the object has no map {}", control.map)))?;
    let link =
        map.attach_struct_ops().map_err(|error| refused(&format!("register {}", control.kernel_name), &error))?;
    Ok(Registered { object, link })
}

impl Registered {
    /// Lets gentle slow start act until this time of CLOCK_MONOTONIC, ns; zero: for ever.
    pub fn act_until(&self, nanos: u64) -> Result<(), Trouble> {
        set_variables(&self.object, ".bss", &nanos.to_ne_bytes())
    }
}

/// Attaches the only program of an object to a cgroup's sockets.
pub fn attach(object: &Object, cgroup: &Cgroup) -> Result<Link, Trouble> {
    let program = object.progs_mut().next().ok_or_else(|| Trouble::Environment("the object has no program".into()))?;
    let attached = program.attach_cgroup(cgroup.folder.as_raw_fd());
    attached.map_err(|error| refused(&format!("attach to {}", cgroup.path.display()), &error))
}

/// A map of an object.
///
/// # Errors
/// It has no such map.
pub fn map<'a>(object: &'a Object, name: &'a str) -> Result<libbpf_rs::Map<'a>, Trouble> {
    let found = object.maps().find(|map| map.name() == name);
    found.ok_or_else(|| Trouble::Environment(format!("the object has no map {name}")))
}

/// Sets the variables of an object's section.
pub fn set_variables(object: &Object, section: &str, value: &[u8]) -> Result<(), Trouble> {
    let map = object.maps().find(|map| map.name().to_string_lossy().ends_with(section));
    let map = map.ok_or_else(|| Trouble::Environment(format!("the object has no section {section}")))?;
    let key = 0_u32.to_ne_bytes();
    map.update(&key, value, MapFlags::ANY).map_err(|error| refused("set a variable of the object", &error))
}

/// Sets an object's constants before it is loaded.
pub fn set_constants(object: &mut OpenObject, value: &[u8]) -> Result<(), Trouble> {
    let mut maps = object.maps_mut().filter(|map| map.name().to_string_lossy().ends_with(".rodata"));
    let lacks = || Trouble::Environment("the object has no constants".into());
    let mut map = maps.next().ok_or_else(lacks)?;
    let place = map.initial_value_mut().and_then(|place| place.get_mut(..value.len())).ok_or_else(lacks)?;
    place.copy_from_slice(value);
    Ok(())
}

/// A name as the kernel has it: 16 bytes, filled with zeros.
pub fn name_bytes(control: &Control) -> [u8; 16] {
    let mut bytes = [0; 16];
    let name = control.kernel_name.as_bytes();
    bytes[..name.len()].copy_from_slice(name);
    bytes
}
