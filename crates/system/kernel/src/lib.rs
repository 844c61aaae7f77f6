//! Congestion controls of this project in the Linux kernel: BPF objects, how they are loaded, and trials of them.
//!
//! The objects are compiled beforehand and committed, so that neither building nor loading needs a C compiler. Everything that
//! calls the kernel is behind the feature `load`, which links libelf and zlib of the system; the program `fanin-kernel` has it.

pub mod control;
pub mod list;
pub mod names;
pub mod trial;
pub mod watch;

#[cfg(feature = "load")]
mod canary;
#[cfg(feature = "load")]
mod capabilities;
#[cfg(feature = "load")]
mod cgroup;
#[cfg(feature = "load")]
mod clock;
#[cfg(feature = "load")]
pub mod commands;
#[cfg(feature = "load")]
mod device;
#[cfg(feature = "load")]
mod grants;
#[cfg(feature = "load")]
mod idle;
#[cfg(feature = "load")]
mod load;
#[cfg(feature = "load")]
mod pins;
#[cfg(feature = "load")]
mod prediction;
#[cfg(feature = "load")]
pub mod replay;
#[cfg(feature = "load")]
mod requirements;
#[cfg(feature = "load")]
mod resident;
#[cfg(feature = "load")]
mod rig;
#[cfg(feature = "load")]
mod tcx;
#[cfg(feature = "load")]
mod tools;
#[cfg(feature = "load")]
pub mod trouble;
