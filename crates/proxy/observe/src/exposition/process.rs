//! Figures of this process, with the names that Prometheus' client libraries share.

use prometheus_client::metrics::MetricType;

use super::family::{Family, family};

/// The figures that this system has.
pub fn families(started: u64) -> Vec<Family> {
    let mut families = vec![family("process_start_time_seconds", "Unix time of the start.", MetricType::Gauge)];
    families[0].number(&[], started as f64);
    let Ok(process) = procfs::process::Process::myself() else { return families };
    if let Ok(stat) = process.stat() {
        let mut cpu = family("process_cpu_seconds", "CPU time.", MetricType::Counter);
        cpu.number(&[], (stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64);
        let mut memory = family("process_resident_memory_bytes", "Resident memory.", MetricType::Gauge);
        memory.number(&[], (stat.rss * procfs::page_size()) as f64);
        families.extend([cpu, memory]);
    }
    if let Ok(files) = process.fd_count() {
        let mut open = family("process_open_fds", "Open file descriptors.", MetricType::Gauge);
        open.number(&[], files as f64);
        families.push(open);
    }
    families
}
