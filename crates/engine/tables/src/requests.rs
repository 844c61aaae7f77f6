//! Tables of a front end's requests: objects, hubs and servers with co-located objects.

use serde::{Deserialize, Serialize};

use crate::column::{Cell, Column, Row, Value};

table! {
    /// One request of a front end in a key_value workload, with the outcome of its objects.
    RequestRow in "requests" {
        /// Request number, the `round` of `queries`.
        request: u32,
        /// Host of the front end.
        from_host: u32,
        /// Requested objects.
        objects: u64,
        /// Objects that arrived.
        answered: u64,
        /// Objects that no server stores; these responses also count as answered requests.
        missed: u64,
        /// Objects that failed: past the deadline, or after the maximum number of attempts.
        failed: u64,
        /// Payload of the objects that arrived.
        payload_bytes: u64,
        /// Hosts that responded directly to the front end: servers, or hubs on their behalf.
        answering_hosts: u64,
        /// Connections opened for it between the front end and other hosts; 0 over persistent ones.
        connections: u64,
        /// Connections opened for it between other hosts, such as servers that forward requests for moved objects.
        connections_beyond: u64,
        /// Start time.
        start_ps: u64,
        /// Time from the start until every object had arrived, missed or failed; absent if the run ended or the front end crashed first.
        latency_ps: Option<u64>,
    }
}

table! {
    /// One hub of a watched request, or the front end itself, which comes first: the objects that it forwarded and the host that it waited for. An object counts for the path on which it finally arrived.
    HubRow in "hubs" {
        /// Request number, as in `requests`.
        request: u32,
        /// Host of the hub or front end.
        hub_host: u32,
        /// Host that it sends to, the front end's or another hub's; absent for the front end.
        parent_host: Option<u64>,
        /// Rack of the host.
        rack: u32,
        /// Servers from which it received objects directly, not through another hub.
        servers: u64,
        /// Objects received from these servers.
        own_objects: u64,
        /// Bytes of these objects.
        own_bytes: u64,
        /// All objects that it forwarded.
        objects: u64,
        /// Bytes of these objects.
        payload_bytes: u64,
        /// When it received its role as hub; for the front end, when the request began. This and the following times are absent for events that did not happen.
        told_ps: Option<u64>,
        /// When it sent its last request: a hub to a server, the front end to any host.
        asked_ps: Option<u64>,
        /// When the last object from its own servers arrived.
        own_ps: Option<u64>,
        /// When the last of all its objects arrived.
        last_ps: Option<u64>,
        /// Sender of that last object, a server or a hub below: the host that it waited for.
        last_host: Option<u64>,
        /// When it sent the last object.
        left_ps: Option<u64>,
        /// When that object arrived at its parent.
        end_ps: Option<u64>,
    }
}

table! {
    /// One hub in one step of a watched run in which it sent objects or received a speed.
    HubSpeedRow in "hub_speeds" {
        /// Start of the step, from the first request, as in `hubs`.
        time_ps: u64,
        /// Request number.
        request: u32,
        /// Host of the hub.
        hub_host: u32,
        /// Bytes that arrived from it at its parent, including message headers; its speed is measured from these.
        came_bytes: u64,
        /// Speed assigned to it at the end of the step; absent if it sends at full speed.
        assigned_bps: Option<u64>,
    }
}

table! {
    /// One server with co-located objects of a plan: the demand on it per period, and its capacity.
    GatheringRow in "gathering" {
        /// Host of the server.
        host: u32,
        /// Bytes of its objects.
        memory_bytes: u64,
        /// Capacity for objects in bytes.
        memory_most_bytes: u64,
        /// Requests for its objects per period.
        requests: u64,
        /// Requests that it can serve per period.
        requests_most: u64,
    }
}
