//! What became of a front end's requests: objects, hubs, gathering servers.

use serde::{Deserialize, Serialize};

use super::column::{Cell, Column, Row, Value};

table! {
    /// One request of a front end of a key_value workload, and what became of its objects.
    RequestRow in "requests" {
        /// The request, as `round` of `queries`.
        request: u32,
        /// The host of its front end.
        from_host: u32,
        /// Objects that were asked for.
        objects: u64,
        /// Of those, objects that came.
        answered: u64,
        /// Objects that no server has: that is an answer, too.
        missed: u64,
        /// Objects that could not be had: by the deadline, or after so many tries.
        failed: u64,
        /// Payload of the objects that came.
        payload_bytes: u64,
        /// Hosts that answered the front end itself: servers, or hubs for them.
        answering_hosts: u64,
        /// When it began.
        start_ps: u64,
        /// From then until every object was there, missing or given up; absent where the run ended or the front end crashed first.
        latency_ps: Option<u64>,
    }
}

table! {
    /// One hub of a request that was watched, or the front end itself, which stands first: what came through it and whom it waited for. What counts is the way by which each object came in the end.
    HubRow in "hubs" {
        /// The request, as in `requests`.
        request: u32,
        /// The host of the hub, or of the front end.
        hub_host: u32,
        /// The host that it sends to, the front end's or another hub's; absent of the front end.
        parent_host: Option<u64>,
        /// Its rack.
        rack: u32,
        /// Servers that it had objects of itself, not through a hub below it.
        servers: u64,
        /// These objects.
        own_objects: u64,
        /// Their bytes.
        own_bytes: u64,
        /// All objects that came through it.
        objects: u64,
        /// Their bytes.
        payload_bytes: u64,
        /// When it was told that it is a hub; of the front end when the request began. Absent, as the times below, of what did not happen.
        told_ps: Option<u64>,
        /// When it last asked: a hub a server, the front end anyone.
        asked_ps: Option<u64>,
        /// When the last of its own objects was there.
        own_ps: Option<u64>,
        /// When the last of all objects was there.
        last_ps: Option<u64>,
        /// Whom that one came from, a hub below it or a server: whom it waited for.
        last_host: Option<u64>,
        /// When the last one left it.
        left_ps: Option<u64>,
        /// When that was where it sends to.
        end_ps: Option<u64>,
    }
}

table! {
    /// One hub over a step of a watched run in which something came from it, or its speed was set.
    HubSpeedRow in "hub_speeds" {
        /// When the step begins, since the first request, as in `hubs`.
        time_ps: u64,
        /// The request.
        request: u32,
        /// The host of the hub.
        hub_host: u32,
        /// What came of it where it sends to, with the headers of its messages: what its speed is measured by.
        came_bytes: u64,
        /// The speed that it was told by the step's end; absent where it sends as fast as it can.
        assigned_bps: Option<u64>,
    }
}

table! {
    /// One gathering server of a plan: what all that lies there asks of it in a period, and what it can give.
    GatheringRow in "gathering" {
        /// The server's host.
        host: u32,
        /// Bytes of its objects.
        memory_bytes: u64,
        /// Those that it has room for.
        memory_most_bytes: u64,
        /// Requests for them.
        requests: u64,
        /// Those that it can answer.
        requests_most: u64,
    }
}
