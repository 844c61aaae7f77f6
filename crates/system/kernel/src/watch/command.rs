//! The command `watch`.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fanin_proxy_observe::collector::Uri;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::capabilities::{Capability, keep_only};
use crate::clock::{monotonic, since_1970};
use crate::device;
use crate::load;
use crate::names::printable;
use crate::tools;
use crate::trouble::Trouble;
use crate::watch::anonymous::Key;
use crate::watch::burst::{Burst, Finder};
use crate::watch::counters::{self, Counters};
use crate::watch::figures::Figures;
use crate::watch::hours::Hours;
use crate::watch::live::Live;
use crate::watch::metrics::Metrics;
use crate::watch::row::{BurstRow, Receiver, Row, WaitRow};
use crate::watch::save::{SaveOptions, Saver};
use crate::watch::sensor::{Sensor, Settings};
use crate::watch::services::Services;
use crate::watch::waits::Waits;

/// Rate of a device that has none, such as a veth, Mbit/s.
const ASSUMED_MBIT: u64 = 1_000;
/// Longest pause within a burst.
const PAUSE: Duration = Duration::from_millis(10);
/// Longest wait for bins.
const POLL: Duration = Duration::from_millis(100);
const SECOND: Duration = Duration::from_secs(1);

/// What is watched, and how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// The network device.
    pub device: String,
    /// Rate of its link in Mbit/s; read from the device if absent.
    pub rate_mbit: Option<u64>,
    /// Time of a bin.
    pub bin: Duration,
    /// End; never if absent.
    pub lasts: Option<Duration>,
    /// One JSON object a line.
    pub json: bool,
    /// Bursts to save.
    pub save: Option<SaveOptions>,
    /// Hash addresses.
    pub anonymous: bool,
    /// Address of the page for Prometheus.
    pub metrics: Option<SocketAddr>,
    /// An OpenTelemetry collector.
    pub otlp: Option<Uri>,
    /// Folder for hourly figures.
    pub write: Option<PathBuf>,
    /// Rack of this host, for these figures.
    pub rack: Option<String>,
}

/// Clocks and the link's rate, by which bins are times and bytes are rates.
struct Scale {
    bin: Duration,
    /// Unix time at zero of CLOCK_MONOTONIC.
    zero: Duration,
    link_mbit: u64,
    is_assumed: bool,
    /// Bytes of a bin at half of the rate.
    limit: u64,
}

impl Scale {
    fn row(&self, burst: Burst, receivers: Vec<Receiver>) -> BurstRow {
        let bin_s = self.bin.as_secs_f64();
        BurstRow {
            start_s: self.zero.as_secs_f64() + burst.first as f64 * bin_s,
            duration_ms: (burst.last + 1 - burst.first) as f64 * bin_s * 1e3,
            peak_mbit: burst.peak as f64 * 8e-6 / bin_s,
            link_mbit: self.link_mbit,
            rate_is_assumed: self.is_assumed,
            burst,
            receivers,
        }
    }

    /// Bin of a time of CLOCK_MONOTONIC.
    fn bin_at(&self, time: Duration) -> u64 {
        u64::try_from(time.as_nanos() / self.bin.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Begin of a bin.
    fn begin(&self, bin: u64) -> Duration {
        Duration::from_nanos(bin.saturating_mul(u64::try_from(self.bin.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Rate of a device's link, and whether it is assumed. A virtual device reports a rate that nothing enforces; then its own queue may have one, in
/// the other direction.
fn link_rate(options: &Options) -> (u64, bool) {
    let device = &options.device;
    let own = if device::is_on_a_bus(device) { device::rate_mbit(device) } else { None };
    match options.rate_mbit.or(own) {
        Some(mbit) => (mbit, false),
        None => (tools::shaped_mbit(device).unwrap_or(ASSUMED_MBIT), true),
    }
}

/// Watches a device, and prints each burst that ended; without the sensor, counters of each second.
///
/// # Errors
/// There is no such device, or the kernel refuses the sensor.
pub fn watch(options: &Options) -> Result<(), Trouble> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let end = options.lasts.map(|lasts| Ok::<_, Trouble>(monotonic()? + lasts)).transpose()?;
    let is_over = |now| end.is_some_and(|end| now >= end) || stop.load(Ordering::Relaxed);
    if let Some(lacking) = lacking()? {
        return count(options, &lacking, &is_over);
    }
    let mut watch = Watch::begin(options)?;
    while !is_over(monotonic()?) {
        watch.sensor.wait(POLL)?;
        watch.step()?;
    }
    watch.end()
}

/// Reason why the sensor cannot run here.
fn lacking() -> Result<Option<String>, Trouble> {
    match load::check_devices("the sensor", false) {
        Err(trouble) => Ok(Some(trouble.to_string())),
        Ok(()) if !fs::exists("/sys/kernel/btf/vmlinux")? => {
            Ok(Some("there is no /sys/kernel/btf/vmlinux: the kernel needs CONFIG_DEBUG_INFO_BTF=y".into()))
        }
        Ok(()) => Ok(counters::too_old()?),
    }
}

/// Prints counters of each second.
fn count(options: &Options, lacking: &str, is_over: &dyn Fn(Duration) -> bool) -> Result<(), Trouble> {
    let metrics = options.metrics.is_some() || options.otlp.is_some();
    if options.save.is_some() || metrics || options.write.is_some() {
        let why = "--save, --metrics, --otlp and --write need the sensor, but";
        return Err(Trouble::Environment(format!("{why} {lacking}")));
    }
    let mut before = Counters::read(&options.device)?;
    let mut then = monotonic()?;
    writeln!(io::stderr(), "note: counters of each second instead of bursts, since {lacking}")?;
    loop {
        thread::sleep(POLL);
        let now = monotonic()?;
        let over = is_over(now);
        if now >= then + SECOND || over && now > then {
            let counters = Counters::read(&options.device)?;
            let zero = since_1970()?.saturating_sub(now);
            let row = counters.since(&before, (zero + then).as_secs_f64(), (now - then).as_secs_f64());
            print(&Row::CountersOnly(row), options.json)?;
            (before, then) = (counters, now);
        }
        if over {
            return Ok(());
        }
    }
}

fn print(row: &Row, json: bool) -> Result<(), Trouble> {
    let text = if json { serde_json::to_string(row).map_err(io::Error::from)? } else { row.to_string() };
    writeln!(io::stdout(), "{text}")?;
    io::stdout().flush().map_err(Trouble::from)
}

/// Observes waits if the kernel can.
fn observe_waits() -> Result<Option<Waits>, Trouble> {
    match Waits::attach() {
        Ok(waits) => Ok(Some(waits)),
        Err(trouble) => {
            writeln!(io::stderr(), "note: waits of connections are not reported: {trouble}")?;
            Ok(None)
        }
    }
}

/// A running watch.
struct Watch<'a> {
    options: &'a Options,
    scale: Scale,
    sensor: Sensor,
    finder: Finder,
    saver: Option<Saver>,
    waits: Option<Waits>,
    services: Services,
    key: Option<Key>,
    metrics: Option<Metrics>,
    hours: Option<Hours>,
    /// In a terminal.
    live: Option<Live>,
    /// Largest bin since the line was shown, and when that was.
    largest: u64,
    shown: Duration,
    /// Events that the kernel had lost at the last look, and when that was.
    lost: u64,
    looked: Duration,
    /// Whether the last file could not be written.
    fails: bool,
}

impl Watch<'_> {
    fn begin(options: &Options) -> Result<Watch<'_>, Trouble> {
        let (link_mbit, is_assumed) = link_rate(options);
        let bin_ns = u64::try_from(options.bin.as_nanos()).map_err(io::Error::other)?;
        let settings = Settings {
            bin_ns,
            // Half of the bytes that the link carries in a bin: 125 B/ms for each Mbit/s.
            limit: link_mbit * bin_ns / 16_000,
            longest_pause: (PAUSE.as_nanos() / options.bin.as_nanos()) as u64,
            keeps_heads: options.save.is_some(),
            seed: Key::random()?.seed(),
        };
        let zero = since_1970()?.saturating_sub(monotonic()?);
        let device = &options.device;
        let key = options.anonymous.then(Key::random).transpose()?;
        let saver = options.save.as_ref().map(|save| Saver::new(save, device, key.clone(), zero)).transpose()?;
        let sensor = Sensor::attach(device, settings)?;
        let waits = observe_waits()?;
        // What is attached, its owner may read without them.
        let writes = options.save.is_some() || options.write.is_some();
        let listens_low = options.metrics.is_some_and(|address| (1..1_024).contains(&address.port()));
        let kept = [(Capability::DacOverride, writes), (Capability::NetBindService, listens_low)];
        let kept: Vec<Capability> = kept.into_iter().filter(|(_, needed)| *needed).map(|(one, _)| one).collect();
        keep_only(&kept).map_err(|error| Trouble::kernel("give up capabilities", error))?;
        if is_assumed {
            let limit = link_mbit / 2;
            let name = printable(device);
            writeln!(
                io::stderr(),
                "note: {name} does not report the rate of a link: assuming {link_mbit} Mbit/s. Only arrivals above {limit} Mbit/s are \
                 bursts then, and a slower link shows none: set --rate-mbit to the rate of the path's narrowest port"
            )?;
        }
        let scale = Scale { bin: options.bin, zero, link_mbit, is_assumed, limit: settings.limit };
        let finder = Finder::new(settings.limit, settings.longest_pause);
        let (address, collector) = (options.metrics, options.otlp.as_ref());
        let has_metrics = address.is_some() || collector.is_some();
        let metrics = has_metrics.then(|| Metrics::start(device, address, collector)).transpose()?;
        let now = since_1970()?;
        let new_hours = |folder: &PathBuf| Hours::new(folder, device, options.rack.clone(), now);
        let hours = options.write.as_ref().map(new_hours).transpose()?;
        let live = (!options.json && io::stdout().is_terminal()).then(Live::default);
        Ok(Watch {
            options,
            scale,
            sensor,
            finder,
            saver,
            waits,
            services: Services::new(),
            key,
            metrics,
            hours,
            live,
            largest: 0,
            shown: Duration::ZERO,
            lost: 0,
            looked: Duration::ZERO,
            fails: false,
        })
    }

    /// Takes bins, and prints the bursts that ended.
    fn step(&mut self) -> Result<(), Trouble> {
        let now = monotonic()?;
        let current = self.scale.bin_at(now);
        let mut largest = 0;
        for bin in self.sensor.bins(current)? {
            largest = largest.max(bin.bytes);
            let ended = self.finder.push(&bin);
            self.report(ended)?;
        }
        // Without packets, bursts end, too.
        let ended = self.finder.pass(current);
        self.report(ended)?;
        self.report_waits()?;
        let saved = match &mut self.saver {
            Some(saver) => saver.tick(now, &self.sensor.object),
            None => Ok(None),
        };
        let saved = self.tolerate(saved)?;
        saved.flatten().map_or(Ok(()), |row| self.print(&Row::Saved(row)))?;
        if now >= self.looked + SECOND {
            self.looked = now;
            self.count_lost()?;
            let unix = since_1970()?;
            let written = self.hours.as_mut().map_or(Ok(()), |hours| hours.tick(unix));
            self.tolerate(written)?;
        }
        self.show(largest, now)
    }

    /// Counts a file that cannot be written, and goes on: a disk may be full for a while. Only the first of a series is noted.
    fn tolerate<R>(&mut self, done: Result<R, Trouble>) -> Result<Option<R>, Trouble> {
        match done {
            Ok(value) => {
                self.fails = false;
                Ok(Some(value))
            }
            Err(trouble) => {
                self.count(|figures| figures.unwritten += 1);
                if !std::mem::replace(&mut self.fails, true) {
                    let _ = writeln!(io::stderr(), "note: {trouble}; watching goes on");
                }
                Ok(None)
            }
        }
    }

    /// Counts bins and waits for which the kernel's buffers had no space.
    fn count_lost(&mut self) -> Result<(), Trouble> {
        let waits = self.waits.as_ref().map_or(Ok(0), Waits::lost)?;
        let lost = self.sensor.lost()? + waits;
        let more = lost.saturating_sub(self.lost);
        self.lost = lost;
        if more > 0 {
            self.count(|figures| figures.lost += more);
            let _ = writeln!(
                io::stderr(),
                "note: {more} bins or waits were lost, since this program did not read them in time"
            );
        }
        Ok(())
    }

    /// Shows the latest seconds in a terminal.
    fn show(&mut self, largest: u64, now: Duration) -> Result<(), Trouble> {
        let full = 2 * self.scale.limit;
        self.largest = self.largest.max(largest);
        let Some(live) = self.live.as_mut().filter(|_| now >= self.shown + POLL) else { return Ok(()) };
        write!(io::stdout(), "{}", live.step(self.largest, full, self.scale.link_mbit))?;
        (self.largest, self.shown) = (0, now);
        io::stdout().flush().map_err(Trouble::from)
    }

    /// Reports the bursts until now.
    fn end(mut self) -> Result<(), Trouble> {
        if self.live.take().is_some() {
            write!(io::stdout(), "{}", Live::ERASE)?;
        }
        self.sensor.detach();
        for bin in self.sensor.bins(u64::MAX)? {
            let ended = self.finder.push(&bin);
            self.report(ended)?;
        }
        let ended = self.finder.finish();
        self.report(ended)?;
        self.report_waits()?;
        let now = monotonic()?;
        self.count_lost()?;
        let saved = match &mut self.saver {
            Some(saver) => saver.finish(now, &self.sensor.object),
            None => Ok(None),
        };
        let saved = self.tolerate(saved)?;
        saved.flatten().map_or(Ok(()), |row| self.print(&Row::Saved(row)))?;
        let unix = since_1970()?;
        self.hours.as_mut().map_or(Ok(()), |hours| hours.write(unix))
    }

    fn report(&mut self, bursts: Vec<Burst>) -> Result<(), Trouble> {
        for burst in bursts {
            let now = monotonic()?;
            let mut receivers: Vec<Receiver> =
                burst.shares.present().map(|share| self.services.receiver(share, now)).collect();
            receivers.sort_by_key(|receiver| std::cmp::Reverse(receiver.bytes));
            let row = self.scale.row(burst, receivers);
            let (began, ended) = (self.scale.begin(burst.first), self.scale.begin(burst.last + 1));
            if let Some(saver) = &mut self.saver {
                saver.offer(&row, began, ended);
            }
            self.count(|figures| figures.burst(&row));
            self.print(&Row::Burst(row))?;
        }
        Ok(())
    }

    /// Changes the figures that are kept.
    fn count(&mut self, change: impl Fn(&mut Figures)) {
        if let Some(metrics) = &self.metrics {
            metrics.count(&change);
        }
        if let Some(hours) = &mut self.hours {
            change(hours.figures());
        }
    }

    fn report_waits(&mut self) -> Result<(), Trouble> {
        let Some(waits) = &mut self.waits else { return Ok(()) };
        let (ended, segments) = (waits.take()?, waits.segments()?);
        self.count(|figures| figures.segments(segments));
        let now = monotonic()?;
        for wait in ended {
            let shown = |(address, port)| {
                SocketAddr::new(self.key.as_ref().map_or(address, |key| key.address(address)), port).to_string()
            };
            let row = WaitRow {
                end_s: (self.scale.zero + Duration::from_nanos(wait.at)).as_secs_f64(),
                duration_ms: wait.us as f64 / 1e3,
                cause: wait.cause,
                own: shown(wait.own),
                peer: shown(wait.peer),
                service: (wait.cgroup > 0).then(|| self.services.name(wait.cgroup, now)),
            };
            self.count(|figures| figures.wait(&row));
            self.print(&Row::Wait(row))?;
        }
        Ok(())
    }

    fn print(&self, row: &Row) -> Result<(), Trouble> {
        if self.live.is_some() {
            write!(io::stdout(), "{}", Live::ERASE)?;
        }
        print(row, self.options.json)
    }
}
