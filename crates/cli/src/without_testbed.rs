//! `fanin testbed` and `fanin advise --prove` in a program that was built without the testbed: both are refused.

use fanin::advice::Advice;
use fanin::{Advised, Error, Lab, Scenario, Update};

use crate::arguments::{TestbedArguments, TestbedMachine};
use crate::failure::Failure;

pub fn testbed(_: &TestbedArguments) -> Result<(), Failure> {
    Err(Failure::not_built("testbed"))
}

/// None exists here.
pub enum Prover {}

impl Prover {
    pub fn on(_: TestbedMachine) -> Result<Prover, Failure> {
        Err(Failure::not_built("testbed"))
    }

    pub fn check(&self, _: &Lab, _: &Scenario, _: &mut dyn FnMut(Update)) -> Result<(), Error> {
        match *self {}
    }

    pub fn prove(&self, _: &Lab, _: &Scenario, _: &Advice, _: &mut dyn FnMut(Update)) -> Result<Proved, Error> {
        match *self {}
    }
}

/// None exists here.
pub enum Proved {}

impl Proved {
    pub fn json(&self, _: &Advised) -> String {
        match *self {}
    }

    pub fn text(&self) -> String {
        match *self {}
    }
}
