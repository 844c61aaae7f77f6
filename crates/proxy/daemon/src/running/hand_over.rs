//! Hand-over to a successor process.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

use super::coordinator::MigrationThread;
use super::{INSTALL_TIME, Running};
use fanin_proxy_config::MetricsSettings;
use fanin_proxy_observe::log::Writer;
use fanin_proxy_observe::messages;
use fanin_proxy_state::handover::{Departures, Kind, Link, Offer, Released, Started, deliver};

/// Refusal of a front end whose own predecessor still has clients.
const BUSY: &str = "it still takes over clients itself; try again when its predecessor has ended, which `drain` limits";

/// Time in which its own predecessor may still end.
const PREDECESSOR_TIME: Duration = Duration::from_secs(1);

impl Running {
    /// Hands over to the process at the other end of a connection. As soon as that has started, `release` must free everything that only
    /// one of both can have; it gets the number of the new process. Wait for the end of the threads then.
    ///
    /// # Errors
    /// The other process ends or fails before it has started, or, with `ResourceBusy`, a server is not in use: this one goes on unchanged.
    pub fn hand_over(&mut self, to: UnixStream, release: impl FnOnce(i32)) -> io::Result<()> {
        let process = getsockopt(&to, PeerCredentials)?.pid();
        let link = Link::new(to)?;
        self.wait_until(PREDECESSOR_TIME, || !self.shared.arrivals.are_open());
        if self.shared.arrivals.are_open() {
            link.send(Kind::Failure, BUSY.as_bytes(), None)?;
            return Err(io::Error::other(BUSY));
        }
        self.await_servers(&link)?;
        self.offer(&link)?;
        link.expect(Kind::Prepared)?;
        let started = self.pause_until_started(&link)?;
        self.depart(link, started, || release(process))
    }

    /// Fails while a server is not in use, and lets the other process wait.
    fn await_servers(&self, link: &Link) -> io::Result<()> {
        let servers = self.shared.unsettled_servers();
        if servers.is_empty() {
            return Ok(());
        }
        let why = format!(
            "{} is not in use, and only the old process knows which keys must be deleted there; remove it from the settings by a reload \
             if it does not return",
            servers.join(", ")
        );
        link.send(Kind::Wait, why.as_bytes(), None)?;
        Err(io::Error::new(io::ErrorKind::ResourceBusy, why))
    }

    fn offer(&self, link: &Link) -> io::Result<()> {
        let (sockets, files): (Vec<_>, Vec<_>) = self.listeners.offer()?.into_iter().unzip();
        let metrics = |metrics: &MetricsSettings| metrics.listen.to_string();
        let plans = self.settings.pools.iter().filter_map(|pool| pool.plan_description()).collect();
        let offer = Offer { sockets, metrics: self.settings.metrics.as_ref().map(metrics), plans };
        link.send_value(Kind::Offer, &offer)?;
        link.send_files(files.iter().chain(&self.metrics_socket))
    }

    /// Pauses the work that only one process may do until the other one has started; goes on with it if that fails.
    fn pause_until_started(&mut self, link: &Link) -> io::Result<Started> {
        let plans = self.coordinator.take().map(MigrationThread::end).unwrap_or_default();
        self.shared.writes.set_elsewhere(true);
        let mut log = self.log.as_ref().map(Writer::pause);
        let started = link.send(Kind::Paused, &[], None).and_then(|()| link.expect_value(Kind::Started));
        // One may have failed meanwhile.
        let started = started.and_then(|started| self.await_servers(link).map(|()| started));
        if started.is_ok() {
            log.iter_mut().for_each(|log| log.end_files());
            return started;
        }
        drop(log);
        self.shared.writes.set_elsewhere(false);
        self.start_migrations(plans, None)?;
        started
    }

    /// Stops accepting, and sends the clients to the successor.
    fn depart(&mut self, link: Link, started: Started, release: impl FnOnce()) -> io::Result<()> {
        let addresses: Vec<String> = started.pools.iter().map(|pool| pool.listen.clone()).collect();
        let (departures, queue) = Departures::new(started, self.threads.len());
        let departures = Arc::new(departures);
        self.shared.depart(departures.clone());
        self.shared.wake();
        self.wait_until(INSTALL_TIME, || departures.all_have_stopped());
        self.metrics.iter_mut().for_each(|metrics| metrics.stop_accepting());
        self.metrics_socket = None;
        self.listeners.release(&addresses);
        release();
        if let Err(error) = link.send_value(Kind::Released, &Released { clients: self.shared.clients() }) {
            messages::warning(&format!("the new process has ended: {error}"));
        }
        let work = move || deliver(&queue, &link);
        self.delivery = Some(std::thread::Builder::new().name("fanin-departures".to_owned()).spawn(work)?);
        Ok(())
    }
}
