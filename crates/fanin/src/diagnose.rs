//! What a machine recorded, and what it shows.

use std::fs::File;
use std::io::{self, Read, stdin};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fanin_diagnose::{Diagnosis, Input, diagnose};
use fanin_execute::Out;
use serde_json::json;

use crate::{Advised, Error, Lab, Scenario, diagnosed};

/// The name of standard input.
const STDIN: &str = "-";
/// How the scenario is called in the folder of a diagnosis.
pub(crate) const SCENARIO: &str = "scenario.toml";

/// A diagnosis, and what is written of it.
pub struct Diagnosed {
    /// What was found.
    pub diagnosis: Diagnosis,
    folder: Option<PathBuf>,
}

/// A stream that ends once it is asked to stop.
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
    /// Reads captures and counters, `-` being standard input, and says what they show.
    ///
    /// # Errors
    /// [`Error::Asked`] where an input cannot be read or tells nothing, [`Error::Stopped`].
    pub fn diagnose(&self, inputs: &[String]) -> Result<Diagnosed, Error> {
        let open = |name: &String| {
            let stop = Arc::clone(&self.stop);
            let stream: Box<dyn Read> = match name.as_str() {
                STDIN => Box::new(Stoppable { stream: stdin(), stop }),
                _ => {
                    let file = File::open(name)
                        .map_err(|error| Error::Asked(format!("{name}: it cannot be read: {error}")))?;
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
        // What is written can be run, or it is not written.
        if let Some(sketch) = &diagnosis.sketch
            && let Err(why) = Scenario::parse(SCENARIO, sketch.text()).and_then(|scenario| scenario.resolve())
        {
            diagnosis.cautions.push(format!("no scenario can be made of what was found: {why}"));
            diagnosis.sketch = None;
        }
        Ok(Diagnosed { diagnosis, folder: None })
    }
}

impl Diagnosed {
    /// Writes scenario, picture and `diagnosis.json` into a folder that was claimed.
    ///
    /// # Errors
    /// [`Error::Folder`].
    pub fn write(&mut self, out: Out, folder: &Path) -> Result<(), Error> {
        if self.diagnosis.sketch.is_some() {
            self.diagnosis.scenario = Some(folder.join(SCENARIO).display().to_string());
        }
        let mut files: Vec<(&str, String)> = Vec::new();
        files.extend(self.diagnosis.sketch.as_ref().map(|sketch| (SCENARIO, sketch.text())));
        files.push(("report.html", self.page()));
        files.push(("diagnosis.json", self.to_json() + "\n"));
        out.fill_files(&files)?;
        self.folder = Some(folder.into());
        Ok(())
    }

    /// The scenario, where one could be made.
    ///
    /// # Errors
    /// [`Error::Asked`] where there is none.
    pub fn scenario(&self) -> Result<(String, Scenario), Error> {
        let none = || Error::Asked("there is no round of several servers in it to make a scenario of".into());
        let text = self.diagnosis.sketch.as_ref().ok_or_else(none)?.text();
        let file = self.folder.as_ref().map_or(PathBuf::from(SCENARIO), |folder| folder.join(SCENARIO));
        let name = file.display().to_string();
        let scenario = Scenario::parse(&name, text)?;
        Ok((name, scenario))
    }

    /// What was found as a page: rounds over time, and the slowest one server by server.
    pub fn page(&self) -> String {
        diagnosed::page(&self.diagnosis)
    }

    /// One object: what `fanin diagnose --json` prints.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.diagnosis).unwrap_or_default()
    }

    /// The same with the advice on its scenario, as `advice`.
    pub fn to_json_with(&self, advice: &Advised) -> String {
        let mut both = json!(self.diagnosis);
        both["advice"] = json!(advice.advice);
        both.to_string()
    }
}
