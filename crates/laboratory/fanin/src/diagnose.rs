//! Diagnosis of captures and counters that a machine recorded.

use std::fs::{self, File};
use std::io::{self, Read, Write, stdin};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fanin_advise::Addresses;
use fanin_diagnose::{Diagnosis, Input, Sketch, calibrate, diagnose, page};
use fanin_execute::{Draft, Out};
use fanin_lab::{CompareOptions, Outcome, conduct};
use fanin_spec::{RunSpec, Variant};
use serde_json::json;

use crate::{Advised, Error, Lab, Scenario, Update};

/// The command line's name of standard input.
const STDIN: &str = "-";
/// Name of the scenario in a diagnosis' folder.
const SCENARIO: &str = "scenario.toml";

/// A diagnosis, and the files made from it.
pub struct Diagnosed {
    /// The findings.
    pub diagnosis: Diagnosis,
}

/// A stream that ends after a stop request.
struct Stoppable<R> {
    stream: R,
    stop: Arc<AtomicBool>,
}

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(io::Error::other("stopped")),
            false => self.stream.read(buffer),
        }
    }
}

impl Lab {
    /// Diagnoses captures and counters; `-` is standard input.
    ///
    /// # Errors
    /// [`Error::Asked`] if an input cannot be read or contains nothing usable, [`Error::Stopped`].
    pub fn diagnose(&self, inputs: &[String]) -> Result<Diagnosed, Error> {
        let open = |name: &String| {
            let stop = Arc::clone(&self.stop);
            let stream: Box<dyn Read> = match name.as_str() {
                STDIN => Box::new(Stoppable { stream: stdin(), stop }),
                _ => {
                    let file =
                        File::open(name).map_err(|error| Error::Asked(format!("{name}: cannot read: {error}")))?;
                    Box::new(Stoppable { stream: file, stop })
                }
            };
            Ok(Input { name: name.clone(), stream })
        };
        if inputs.iter().filter(|name| *name == STDIN).count() > 1 {
            return Err(Error::Asked("`-` is given twice; standard input can be read once".into()));
        }
        let inputs = inputs.iter().map(open).collect::<Result<Vec<_>, Error>>()?;
        let found = diagnose(inputs);
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        let mut diagnosis = found.map_err(|why| Error::Asked(why.0))?;
        // Keep only a scenario that can run.
        if let Some(sketch) = &diagnosis.sketch
            && let Err(why) = Scenario::parse(SCENARIO, sketch.text()).and_then(|scenario| scenario.resolve())
        {
            diagnosis.cautions.push(format!("the findings do not make a valid scenario: {why}"));
            diagnosis.sketch = None;
        }
        Ok(Diagnosed { diagnosis })
    }

    /// Settles the values that the recording leaves open in a diagnosis' scenario: picks, of each value's candidates, the one whose
    /// simulated rounds resemble the recorded ones most. Changes nothing if the first trial fits. Adds the scenario's results beside the
    /// measured ones. Withholds a scenario that does not predict them, and says which part is known.
    ///
    /// # Errors
    /// As [`Lab::compare`].
    pub fn calibrate(&self, found: &mut Diagnosed, hear: &mut dyn FnMut(Update)) -> Result<(), Error> {
        calibrate(&mut found.diagnosis, &mut |variants| self.simulated(variants, hear))?;
        found.diagnosis.withhold();
        Ok(())
    }

    /// All runs of variants; `None` if they exceed the memory.
    fn simulated(
        &self,
        variants: &[Variant],
        hear: &mut dyn FnMut(Update),
    ) -> Result<Option<(Vec<RunSpec>, Outcome)>, Error> {
        match self.forecast(variants) {
            Err(Error::Memory(_)) => return Ok(None),
            fits => drop(fits?),
        }
        let mut progress = |progress| hear(Update::Progress(progress));
        let (specs, outcome) =
            self.with_executor(|executor| conduct(executor, variants, CompareOptions::default(), &mut progress))?;
        match outcome.runs.iter().all(Option::is_some) {
            true => Ok(Some((specs, outcome))),
            false => Err(Error::Stopped),
        }
    }
}

/// The smallest network that holds all these addresses; `None` if it is larger than any network of a single owner.
fn network(addresses: &[Ipv4Addr]) -> Option<String> {
    const LARGEST: u32 = 8;
    let first = addresses.first()?.to_bits();
    let length = addresses.iter().map(|other| (other.to_bits() ^ first).leading_zeros()).min()?;
    let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
    (length >= LARGEST).then(|| format!("{}/{length}", Ipv4Addr::from_bits(first & mask)))
}

impl Diagnosed {
    /// Writes scenario, report and `diagnosis.json` into a claimed folder.
    ///
    /// # Errors
    /// [`Error::Folder`].
    pub fn write(&mut self, out: Out, folder: &Path) -> Result<(), Error> {
        if self.diagnosis.sketch.is_some() {
            self.diagnosis.scenario = Some(folder.join(SCENARIO).display().to_string());
        }
        let mut files: Vec<(String, String)> = Vec::new();
        files.extend(self.diagnosis.sketch.as_ref().map(|sketch| (SCENARIO.into(), sketch.text())));
        files.push(("report.html".into(), self.page()));
        files.push(("diagnosis.json".into(), self.to_json() + "\n"));
        Ok(out.fill_files(&files)?)
    }

    /// Writes the scenario alone into the current folder, so that commands can name it. Never overwrites another file.
    ///
    /// # Errors
    /// [`Error::Asked`] if there is no scenario, or if it cannot be written.
    pub fn save_scenario(&mut self) -> Result<(), Error> {
        let none = || Error::Asked("the input permits no scenario: see the notes of the diagnosis".into());
        let text = self.model().ok_or_else(none)?.text();
        let input = self.diagnosis.inputs.first().map_or("", |input| input.name.as_str());
        let stem = Path::new(input).file_name().and_then(|name| name.to_str()).and_then(|name| name.split('.').next());
        let stem = stem.filter(|stem| !stem.is_empty() && *stem != STDIN).unwrap_or("capture");
        let names = (1..).map(|n| if n == 1 { format!("{stem}.toml") } else { format!("{stem}-{n}.toml") });
        for name in names {
            match fs::read_to_string(&name) {
                Ok(there) if there == text => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let unwritten =
                        |error| Error::Asked(format!("{name}: cannot write the scenario ({error}); use --out"));
                    let draft = Draft::open(Path::new(&name)).map_err(unwritten)?;
                    draft.file().write_all(text.as_bytes()).and_then(|()| draft.publish()).map_err(unwritten)?;
                }
                // A file of the user's.
                _ => continue,
            }
            self.diagnosis.scenario = Some(name);
            break;
        }
        Ok(())
    }

    /// The scenario, reliable or not.
    pub(crate) fn model(&self) -> Option<&Sketch> {
        self.diagnosis.sketch.as_ref().or(self.diagnosis.withheld.as_ref())
    }

    /// Addresses of the client and of the servers' network, from the slowest round; for IPv6, or if no network contains all servers,
    /// documentation addresses.
    pub fn addresses(&self) -> Addresses {
        let Some((round, lanes)) = &self.diagnosis.slowest else { return Addresses::default() };
        let servers: Option<Vec<Ipv4Addr>> = lanes.iter().map(|lane| lane.server.parse().ok()).collect();
        let (Ok(client), Some(network)) = (round.asker.parse::<Ipv4Addr>(), servers.and_then(|all| network(&all)))
        else {
            return Addresses::default();
        };
        Addresses { client: format!("{client}/32"), servers: network }
    }

    /// The findings as a page: rounds over time, and the slowest one server by server.
    pub fn page(&self) -> String {
        page(&self.diagnosis)
    }

    /// One JSON object: the output of `fanin diagnose --json`.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.diagnosis).unwrap_or_default()
    }

    /// The same with the next steps, and with the advice on its scenario as `advice`.
    pub fn to_json_with(&self, advised: Option<&Advised>) -> String {
        let mut both = json!(self.diagnosis);
        both["next_steps"] = json!(self.diagnosis.next_steps());
        both["advice"] = json!(advised.map(|advised| &advised.advice));
        both.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_is_the_smallest_network_with_all_servers() {
        let of = |all: &[&str]| network(&all.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>());
        assert_eq!(of(&["10.91.1.1", "10.91.16.1"]).as_deref(), Some("10.91.0.0/19"));
        assert_eq!(of(&["10.0.0.7"]).as_deref(), Some("10.0.0.7/32"));
        assert_eq!(of(&["10.0.0.7", "203.0.113.4"]), None, "half of the internet");
        assert_eq!(of(&[]), None);
    }
}
