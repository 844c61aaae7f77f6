//! Lifecycle of an agent: its sockets, its thread, and its end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use super::listeners::Listeners;
use crate::exposition::AgentMetrics;
use crate::running::watchdog::Watchdog;
use fanin_proxy_agent::{Agent, AgentCounters};
use fanin_proxy_config::AgentSettings;
use fanin_proxy_core::clock::{Clock, duration};
use fanin_proxy_core::memory::Memory;
use fanin_proxy_net::secure::Secure;
use fanin_proxy_net::sockets::{Sockets, Waker};
use fanin_proxy_net::{Address, Net};
use fanin_proxy_observe::exposition::{self, HttpThread};
use fanin_proxy_observe::messages;
use fanin_proxy_observe::metrics::Counters;

/// A running agent.
pub struct RunningAgent {
    thread: JoinHandle<io::Result<()>>,
    waker: Waker,
    stop: Arc<AtomicBool>,
    listeners: Arc<Listeners>,
    settings: Arc<AgentSettings>,
    counters: Arc<AgentCounters>,
    metrics: Option<HttpThread>,
    watchdog: Watchdog,
    metrics_at: Option<SocketAddr>,
}

/// Starts an agent.
///
/// # Errors
/// An address or a thread is not available.
pub fn start(settings: AgentSettings) -> io::Result<RunningAgent> {
    messages::install(&settings.messages)?;
    settings.warnings.iter().for_each(|warning| messages::warning(&warning.to_string()));
    let settings = Arc::new(settings);
    // The allocator's settings are the front end's.
    Memory::new(settings.memory.0, 1);
    let listeners = Arc::new(Listeners::new(1, Vec::new())?);
    listeners.open(std::slice::from_ref(&settings.listen))?;
    let metrics = settings.metrics.map(exposition::listen).transpose()?;
    let (stop, counters) = (Arc::new(AtomicBool::new(false)), Arc::new(AgentCounters::default()));
    let (tell, told) = std::sync::mpsc::channel();
    let its = (settings.clone(), counters.clone(), stop.clone(), listeners.clone());
    let work = move || {
        let (settings, counters, stop, listeners) = its;
        let sockets = Sockets::new(settings.event_loop, Box::new(move |at| listeners.of_thread(0, at)));
        // A ring belongs to the thread that creates it.
        let made = sockets.and_then(|(sockets, waker)| {
            let net = Secure::new(sockets, Arc::new(Counters::default()));
            let event_loop = net.name();
            Ok((Agent::new(net, settings, counters.clone(), stop)?, (waker, event_loop)))
        });
        match made {
            Ok((agent, begun)) => {
                // The caller waits for this, unless it is gone.
                let _ = tell.send(Ok(begun));
                run(agent, &counters)
            }
            Err(error) => {
                let _ = tell.send(Err(error));
                Ok(())
            }
        }
    };
    let thread = std::thread::Builder::new().name("fanin-agent".to_owned()).spawn(work)?;
    let (waker, event_loop) = told.recv().map_err(|_| io::Error::other("the agent's thread did not start"))??;
    let metrics_at = metrics.as_ref().and_then(|socket| socket.local_addr().ok()?.as_socket());
    let source = AgentMetrics::new(counters.clone(), event_loop, stop.clone());
    let metrics = metrics.map(|socket| HttpThread::start(socket, source)).transpose()?;
    let (pulses, stalls) = (counters.clone(), counters.clone());
    let watchdog = Watchdog::start(1, move |_| pulses.pulse.stall(), move |_| stalls.stalls.add(1))?;
    Ok(RunningAgent { thread, waker, stop, listeners, settings, counters, metrics, watchdog, metrics_at })
}

/// Runs until stopped.
fn run(mut agent: Agent<Secure<Sockets>>, counters: &AgentCounters) -> io::Result<()> {
    let (clock, mut events) = (Clock::start(), Vec::new());
    agent.turn(clock.now(), std::iter::empty());
    while !agent.is_over() {
        let longest = agent.waits().map(duration);
        agent.net().wait(longest, &mut events)?;
        counters.pulse.begins();
        agent.turn(clock.now(), events.drain(..));
        agent.has_turned(clock.now());
        counters.pulse.ends();
    }
    Ok(())
}

impl RunningAgent {
    /// Its address, with the actual port.
    pub fn listens(&self) -> Address {
        let actual = self.listeners.actual(std::slice::from_ref(&self.settings.listen));
        actual.into_iter().next().unwrap_or_else(|| self.settings.listen.clone())
    }

    /// Address of its metrics, if any, with the actual port.
    pub fn metrics_at(&self) -> Option<SocketAddr> {
        self.metrics_at
    }

    /// Its settings.
    pub fn settings(&self) -> &AgentSettings {
        &self.settings
    }

    /// Its counters.
    pub fn counters(&self) -> &AgentCounters {
        &self.counters
    }

    /// Whether it has ended by itself.
    pub fn has_failed(&self) -> bool {
        self.thread.is_finished() && !self.stop.load(Relaxed)
    }

    /// Stops it. Front ends ask the servers without it from now on.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
        self.waker.wake();
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// It has failed.
    pub fn wait(self) -> io::Result<()> {
        let ended = self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the agent panicked")));
        self.listeners.keep(&[]);
        self.metrics.into_iter().for_each(HttpThread::end);
        self.watchdog.end();
        messages::flush();
        ended
    }
}
