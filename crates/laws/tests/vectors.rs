//! Every law answers as `vectors/*.json` says: worked out from the papers and RFCs, not from this code.

#[path = "vectors/drivers.rs"]
mod drivers;
#[path = "vectors/replay.rs"]
mod replay;
mod support;

use drivers::{Flow, Port};
use replay::replay;
use support::{files, is_of_ports};

#[test]
fn every_law_answers_as_its_vectors_say() {
    for (law, file) in files() {
        match is_of_ports(law) {
            true => replay(law, &file, Port::new, Port::step),
            false => replay(law, &file, Flow::new, Flow::step),
        }
    }
}
