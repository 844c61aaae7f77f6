//! Take-over from a running process, the predecessor.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use socket2::Socket;

use super::control::request_take_over;
use super::{Inherited, Running, start_with};
use fanin_proxy_config::Settings;
use fanin_proxy_net::Address;
use fanin_proxy_observe::messages;
use fanin_proxy_state::handover::{Arrival, Kind, Link, Offer, OfferedSocket, PoolName, Released, Started};
use fanin_proxy_state::shared::Shared;

/// A running front end that offers its sockets.
#[derive(Debug)]
pub struct Predecessor {
    link: Link,
    plans: Vec<String>,
    sockets: Vec<(OfferedSocket, OwnedFd)>,
    /// Address and socket of the metrics.
    metrics: Option<(String, OwnedFd)>,
}

impl Predecessor {
    /// Asks the front end that listens at one of these addresses to hand over; nothing if there is none.
    ///
    /// # Errors
    /// It refuses, belongs to another user, or has another version.
    pub fn find(addresses: &[Address]) -> io::Result<Option<Predecessor>> {
        let Some(stream) = request_take_over(addresses)? else { return Ok(None) };
        let link = Link::new(stream)?;
        let offer: Offer = link.expect_value(Kind::Offer)?;
        let sockets = offer.sockets.into_iter().map(|socket| Ok((socket, link.expect_file()?)));
        let sockets = sockets.collect::<io::Result<_>>()?;
        let metrics = offer.metrics.map(|address| link.expect_file().map(|file| (address, file))).transpose()?;
        Ok(Some(Predecessor { link, plans: offer.plans, sockets, metrics }))
    }

    /// Checks that these settings can follow, and makes the predecessor pause its plans and its log. Read the settings again then: only
    /// now their plans have the last stage.
    ///
    /// # Errors
    /// A plan has changed, or the predecessor has ended.
    pub fn pause(&self, settings: &Settings) -> io::Result<()> {
        let plans: Vec<String> = settings.pools.iter().filter_map(|pool| pool.plan_description()).collect();
        if plans != self.plans {
            return self.fail(io::Error::other(
                "a plan, or the name, address, servers, hash or placement of its pool, has changed; restart the front end instead",
            ));
        }
        self.link.send(Kind::Prepared, &[], None)?;
        self.link.expect(Kind::Paused).map(drop)
    }

    /// Starts a front end in place of the predecessor.
    ///
    /// # Errors
    /// As for [`super::start`]; the predecessor goes on then.
    pub fn start(mut self, settings: &Settings) -> io::Result<Running> {
        let (begins, end) = channel();
        let is_same = |(address, _): &(String, OwnedFd)| {
            settings.metrics.as_ref().is_some_and(|metrics| metrics.listen.to_string() == *address)
        };
        let metrics = self.metrics.take().filter(is_same).map(|(_, file)| Socket::from(file));
        let inherited = Inherited { sockets: std::mem::take(&mut self.sockets), metrics, end: Some(end) };
        match start_with(settings, inherited) {
            Ok(running) => self.complete(running, begins),
            Err(error) => self.fail(error),
        }
    }

    /// Tells the predecessor about a failure.
    fn fail<T>(&self, error: io::Error) -> io::Result<T> {
        // It goes on in any case.
        let _ = self.link.send(Kind::Failure, error.to_string().as_bytes(), None);
        Err(error)
    }

    /// Reports the start to the predecessor, and receives its clients.
    fn complete(self, running: Running, begins: Sender<()>) -> io::Result<Running> {
        let pools = running.settings.pools.iter().map(PoolName::of).collect();
        let started = Started { pools, clients: running.shared.most_clients() };
        let released =
            self.link.send_value(Kind::Started, &started).and_then(|()| self.link.expect_value(Kind::Released));
        match released {
            Ok(Released { clients }) => running.shared.arrivals.expect(clients),
            // It may go on.
            Err(error) => {
                running.stop();
                return running.wait().and(Err(error));
            }
        }
        running.listeners.keep_inherited();
        self.link.wait_for_ever()?;
        let (link, shared) = (self.link, running.shared.clone());
        let work = move || receive(&link, &shared, begins);
        std::thread::Builder::new().name("fanin-arrivals".to_owned()).spawn(work)?;
        Ok(running)
    }
}

/// Receives the predecessor's clients until it ends.
fn receive(link: &Link, shared: &Arc<Shared>, begins: Sender<()>) {
    while let Ok(message) = link.receive() {
        match message.kind {
            Kind::Client => match Arrival::of(message) {
                Some(arrival) => {
                    shared.arrivals.one_left();
                    shared.wake_thread(shared.arrivals.put(arrival));
                }
                None => messages::warning("a client of the old process was lost: too many open files"),
            },
            _ => shared.arrivals.one_left(),
        }
    }
    shared.arrivals.close();
    shared.writes.set_elsewhere(false);
    // Plans advance from now on.
    drop(begins);
}
