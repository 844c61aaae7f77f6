//! Estimate of a run's memory and time. Rough: measured with variants of `scenarios/fixed-fragment.toml` on the machine of
//! `docs/performance.md`.

use std::mem::size_of;

use fanin_sim::{HOST_BYTES, Reached};
use fanin_spec::{HostId, Memory, Need, RunSpec, Scheme, Settings};
use fanin_tables::FlowRow;

/// Bytes per closed connection.
const OVER: f64 = 100.0;
/// Seconds of an empty run, and per host and connection.
const RUN_S: f64 = 20e-6;
const HOST_S: f64 = 100e-9;
const CONNECTION_S: f64 = 2e-6;

/// Estimate for a run of a scheme with these settings.
pub fn need(scheme: &Scheme, settings: &Settings) -> Need {
    let volume = settings.volume(scheme);
    // Every run has its own copy of the settings.
    let lists: usize = [&settings.fabric.edges, &settings.fabric.changes, &settings.faults.hosts]
        .iter()
        .flat_map(|list| list.iter())
        .map(|text| size_of::<String>() + text.len())
        .sum();
    let memory = |rows: f64, open: f64, over: f64, held: f64| {
        let rows = rows * size_of::<FlowRow>() as f64;
        // At the end the rows exist twice.
        let working =
            volume.hosts * HOST_BYTES + open * scheme.transport.connection_bytes() + over * OVER + held + 2.0 * rows;
        Memory { working, kept: 2.0 * size_of::<RunSpec>() as f64 + lists as f64 + rows }
    };
    let [begins_with, ends_with] = volume.held;
    let over = volume.least_rows.min(volume.connections - volume.open);
    Need {
        memory: memory(volume.rows, volume.connections, 0.0, begins_with + ends_with),
        // A closed connection has a row.
        least: memory(volume.least_rows, volume.open, over, begins_with),
        cpu_s: RUN_S
            + volume.hosts * HOST_S
            + volume.connections * CONNECTION_S
            + volume.packets * links(settings) * scheme.transport.packet_s(),
    }
}

/// Links of the path between the client and the last host.
fn links(settings: &Settings) -> f64 {
    let last = HostId(settings.hosts() - 1);
    settings.network().map_or(2.0, |fabric| fabric.path(last, HostId::CLIENT).count() as f64)
}

/// Share of a run that is done: by its duration, or by its packets where it ends with them.
pub fn share_done(spec: &RunSpec, Reached { now, data_packets }: Reached) -> f64 {
    let share = match spec.settings.workload.kind.facts().lasts {
        true => now.as_secs_f64() / spec.settings.given_s(),
        false => data_packets as f64 / spec.settings.volume(&spec.scheme).packets.max(1.0),
    };
    share.clamp(0.0, 1.0)
}
