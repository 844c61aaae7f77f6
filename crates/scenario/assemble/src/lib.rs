//! Conversion of a run's settings to algorithms, parameters, the network, initial placements, and settings of Linux.
//!
//! Every driver of a [`RunSpec`] uses this crate, so settings have the same meaning everywhere. A spec was validated when it was made, so
//! only two conversions can fail: [`fits`] refuses a placement plan for another cluster, and [`linux()`] what no kernel has.

mod key_value;
mod linux;
mod network;
mod placement;
mod port;
mod receiver;
mod sender;
mod tcp;
mod transport;

pub use key_value::{data_server_params, front_end_params, hub_params, most_hubs};
pub use linux::{
    Batch, CoDel, Egress, Htb, LinuxFabric, LinuxGrants, LinuxHost, LinuxSetup, MOST_SERVERS, MTU, Namespaces, Qdisc,
    Red, RouteAttribute, Sysctl, Unsupported, linux, linux_fabric, route_window_holds, socket_buffer,
};
pub use network::{changes, fabric, host_faults};
pub use placement::{drawn, fits, racks};
pub use port::{class_port_law, host_port_law, port_buffer, port_trim, switch_port_law};
pub use receiver::receiver_law;
pub use transport::{rdma_settings, tcp_settings, uet_settings};
