//! Advice on a diagnosis: remedies ranked over the values that the recording leaves open.

use fanin_diagnose::{Cause, Sketch};

use crate::diagnose::Diagnosed;
use crate::{Advised, Bytes, Error, Lab, Scenario, Update, Wanted};

/// The key whose value a recording bounds, but does not show.
const BUFFER: &str = "switch.buffer";

/// Advice on a diagnosis, or why there is none from simulation.
pub struct AdvisedOn {
    /// Remedies of the model, ranked over the interval of the buffer.
    pub advised: Option<Advised>,
    /// Reason for no advice from simulation, or its limit.
    pub why: Option<String>,
}

impl AdvisedOn {
    fn none(why: impl Into<String>) -> AdvisedOn {
        AdvisedOn { advised: None, why: Some(why.into()) }
    }
}

impl Lab {
    /// Advice on a diagnosis of incast, for the usual number of servers: remedies that are simulated at the likeliest buffer and at both
    /// ends of its interval, of `budget` data packets in all. Without incast, or without a model, the reason; the diagnosis' own next steps
    /// need none. Writes the scenario into the current folder, unless it is written.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::Broken`]; [`Error::Asked`] if the scenario cannot be written.
    pub fn advise_on(
        &self,
        found: &mut Diagnosed,
        budget: u64,
        hear: &mut dyn FnMut(Update),
    ) -> Result<AdvisedOn, Error> {
        let verdict = &found.diagnosis.verdict;
        if verdict.incast != Some(true) || verdict.causes.first().is_none_or(|first| first.cause != Cause::Incast) {
            return Ok(AdvisedOn::none("remedies are simulated against incast only"));
        }
        let Some(sketch) = found.model().cloned() else {
            return Ok(AdvisedOn::none(
                "no round of several servers is in the recording, so there is nothing to simulate",
            ));
        };
        if found.diagnosis.scenario.is_none() {
            found.save_scenario()?;
        }
        let name = found.diagnosis.scenario.clone().unwrap_or_default();
        let servers = found.diagnosis.usual_fan_in();
        let asked = Model { name: &name, servers, budget: budget / 3 };
        let (sizes, now) = sketch.sizes(BUFFER);
        let now = now.unwrap_or_default();
        let mut at = |lab: &Lab, value: &String| {
            let mut sketch = sketch.clone();
            sketch.settle(BUFFER, value, "within the interval");
            lab.advise_model(found, &sketch, &asked, hear)
        };
        let main = match at(self, &now)? {
            Ok(main) => main,
            Err(why) => return Ok(AdvisedOn::none(why)),
        };
        // An end at which the model is not impaired, as the recording is, lies outside of the interval.
        let mut ends: Vec<(String, Advised)> = Vec::new();
        for order in [sizes.clone(), sizes.into_iter().rev().collect()] {
            for value in order.iter().take_while(|value| **value != now) {
                let Ok(advised) = at(self, value)? else { continue };
                if advised.advice.needed {
                    ends.push((value.clone(), advised));
                    break;
                }
            }
        }
        Ok(ranked((now, main), ends))
    }

    /// Advice for a model; the reason if there is none.
    fn advise_model(
        &self,
        found: &Diagnosed,
        sketch: &Sketch,
        model: &Model<'_>,
        hear: &mut dyn FnMut(Update),
    ) -> Result<Result<Advised, String>, Error> {
        let wanted = Wanted {
            addresses: found.addresses(),
            servers: model.servers,
            ..Wanted::new(vec![model.name.into()], model.budget)
        };
        let scenario = Scenario::parse(model.name, sketch.text())?;
        match self.advise(&scenario, &wanted, hear) {
            Ok(advised) => Ok(Ok(advised)),
            Err(why @ (Error::Stopped | Error::Broken(_))) => Err(why),
            Err(why) => Ok(Err(format!("the scenario cannot be simulated: {why}"))),
        }
    }
}

/// The common parts of all models.
struct Model<'a> {
    name: &'a str,
    servers: Option<u32>,
    budget: u64,
}

/// The advice of the likeliest model that is impaired as the recording is, ranked over those at the ends.
fn ranked(main: (String, Advised), mut ends: Vec<(String, Advised)>) -> AdvisedOn {
    let (mut now, mut main) = main;
    let mut why = None;
    if !main.advice.needed {
        let Some((value, other)) = ends.pop() else {
            return AdvisedOn::none(
                "the simulation does not show the recorded losses, at any buffer that fits the recording",
            );
        };
        why = Some(format!(
            "With the likeliest buffer, {now}, the simulation shows no losses: the advice is for {value}."
        ));
        (now, main) = (value, other);
    }
    let own = main.advice.clone();
    let at = |end: &'_ (String, Advised)| (end.0.clone(), end.1.advice.clone());
    let mut ends = match (ends.first(), ends.last()) {
        (Some(one), Some(other)) if ends.len() > 1 => [at(one), at(other)],
        (Some(one), _) => [at(one), (now, own)],
        _ => return AdvisedOn { advised: Some(main), why },
    };
    ends.sort_by_key(|(value, _)| value.parse::<Bytes>().ok());
    main.advice.rank_over(BUFFER, [(&ends[0].0, &ends[0].1), (&ends[1].0, &ends[1].1)]);
    AdvisedOn { advised: Some(main), why }
}
