//! Inputs of every driver: the scenario file, the registry of schemes, and [`RunSpec`].
//!
//! [`Scenario::parse`] reads a scenario, [`Scenario::assign`] applies `--set` and similar arguments, and resolving gives one
//! [`Settings`] per scheme. A scheme's own keys override `--set`, which overrides the file, the registry and the defaults, in this
//! order.

mod assignment;
mod bursts;
mod cards;
mod changes;
mod check;
mod chips;
mod class_of;
mod classes;
mod conditions;
mod declare;
mod edit;
mod effect;
mod facts;
mod faults;
mod flows;
mod foreign;
mod former;
mod framing;
mod groups;
mod jitter;
mod laws;
mod limits;
mod literal;
mod lossless;
mod matrix;
mod network;
mod packed;
mod packets;
mod plan;
mod point;
mod problem;
mod pulls;
mod range;
mod register;
mod registry;
mod requests;
mod resolve;
mod rows;
mod run;
mod scenario;
mod servers;
mod setting;
mod settings;
mod sizes;
mod stacks;
mod sweep;
mod switch;
mod topology;
mod trace;
mod transport;
mod transports;
mod trees;
mod volume;
mod workload;

pub use bursts::{Burst, Bursts};
pub use cards::{DCQCN_PROFILES, dcqcn_keys};
pub use chips::Chip;
pub use class_of::ClassOf;
pub use classes::TrafficClass;
pub use declare::KeyDoc;
pub use edit::set_value;
pub use facts::{Facts, Payload, Swept};
pub use fanin_driver::Watch;
pub use fanin_fabric::{Fabric, Framing, HostId, State, TIERS};
pub use fanin_fanout::Kind as FanOut;
pub use fanin_laws::port::Kind as Discipline;
pub use fanin_laws::rate::Kind as RateBased;
pub use fanin_laws::rate::rdma::Recovery;
pub use fanin_laws::row::Offer;
pub use fanin_laws::sender::Kind as Base;
pub use fanin_laws::stack::{Ect, NewReno, RtoFloor, RttVariance};
pub use fanin_laws::uet::Kind as TrimBased;
pub use fanin_placement::Kind as Gathering;
pub use fanin_units::{Ratio, Share};
pub use flows::{Flow, Flows};
pub use jitter::PacketJitter;
pub use limits::{ELSEWHERE, Elsewhere, LIMITS, Limit};
pub use literal::Literal;
pub use matrix::{Cell, Matrix};
pub use network::PURE_ACK;
pub use packed::Packed;
pub use packets::Packets;
pub use plan::Plan;
pub use point::{Coordinate, FAN_IN, Point};
pub use problem::{Invalid, Origin, Problem};
pub use pulls::{Pull, Pulls};
pub use registry::{REGISTRY, Scheme};
pub use requests::Requests;
pub use run::{At, RunParts, RunSpec, Variant, VariantParts};
pub use scenario::{Reader, Scenario};
pub use setting::{FilePath, Optional, Setting, WarmUp};
pub use settings::{
    Algorithm, BurstShape, Classes, Connections, FabricKind, FabricSettings, Faults, Frames, Host, HostQueue, Inputs,
    KeyValue, Kind, Link, MapReduce, MaxAckDelay, Measure, Placement, Popularity, Replica, ReplicaRacks, Route, Run,
    ServerOrder, Servers, Service, Settings, Sweep, Switch, Tcp, Tell, Windows, Workload,
};
pub use sizes::{Distribution, Sizes};
pub use stacks::Stack;
pub use switch::PortClass;
pub use topology::Topology;
pub use trace::{Collective, CollectiveKind, On, Operation, Progress, Trace, Work};
pub use transport::Transport;
pub use volume::{Memory, Need, Volume, what_would_fit};

/// Algorithms supplied by the caller.
pub mod law {
    pub use fanin_laws::sender::foreign::{Foreign, Source};
    pub use fanin_laws::sender::{Ack, Cause, Congestion, Control, Window};

    pub use crate::register::{Traits, register};
}
