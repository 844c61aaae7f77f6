//! Estimate of a run's memory and time. Rough: measured with variants of `scenarios/fixed-fragment.toml` on the machine of
//! `docs/performance.md`.

use std::mem::size_of;

use fanin_spec::{Memory, Need, RunSpec, Settings};
use fanin_tables::FlowRow;

/// Bytes per host with its links, per connection with its two endpoints, and per closed connection.
const HOST: f64 = 600.0;
const CONNECTION: f64 = 1_200.0;
const OVER: f64 = 100.0;
/// Seconds of an empty run, and per host, connection and data packet.
const RUN_S: f64 = 20e-6;
const HOST_S: f64 = 100e-9;
const CONNECTION_S: f64 = 2e-6;
const PACKET_S: f64 = 0.2e-6;

/// Bytes that the packets of such a run touch, without rows of tables.
pub(crate) fn touched(settings: &Settings) -> f64 {
    let volume = settings.volume();
    volume.hosts * HOST + volume.open * CONNECTION
}

/// Estimate for a run with these settings.
pub fn need(settings: &Settings) -> Need {
    let volume = settings.volume();
    // Every run has its own copy of the settings.
    let lists: usize = [&settings.fabric.edges, &settings.fabric.changes, &settings.faults.hosts]
        .iter()
        .flat_map(|list| list.iter())
        .map(|text| size_of::<String>() + text.len())
        .sum();
    let memory = |rows: f64, open: f64, over: f64, held: f64| {
        let rows = rows * size_of::<FlowRow>() as f64;
        // At the end the rows exist twice.
        let working = volume.hosts * HOST + open * CONNECTION + over * OVER + held + 2.0 * rows;
        Memory { working, kept: 2.0 * size_of::<RunSpec>() as f64 + lists as f64 + rows }
    };
    let [begins_with, ends_with] = volume.held;
    let over = volume.least_rows.min(volume.connections - volume.open);
    Need {
        memory: memory(volume.rows, volume.connections, 0.0, begins_with + ends_with),
        // A closed connection has a row.
        least: memory(volume.least_rows, volume.open, over, begins_with),
        cpu_s: RUN_S + volume.hosts * HOST_S + volume.connections * CONNECTION_S + volume.packets * PACKET_S,
    }
}
