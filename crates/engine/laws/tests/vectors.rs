//! Every algorithm matches `vectors/*.json`, derived from the papers and RFCs, not from this code.

#[path = "vectors/drivers.rs"]
mod drivers;
#[path = "vectors/replay.rs"]
mod replay;
mod support;

use drivers::{Flow, Port, Receiver};
use replay::replay;
use support::{Granting, Lossless, Pair, Sender, files, is_of_ports, is_of_rates, is_of_receivers, is_over_trimming};

#[test]
fn algorithms_match_their_vectors() {
    for (law, file) in files() {
        match law {
            _ if is_of_ports(law) => replay(law, &file, Port::new, Port::step),
            _ if is_of_rates(law) => replay(law, &file, Sender::new, Sender::step),
            _ if is_over_trimming(law) => replay(law, &file, Pair::new, Pair::step),
            "pfc" => replay(law, &file, Lossless::new, Lossless::step),
            "grants" => replay(law, &file, Granting::new, Granting::step),
            _ if is_of_receivers(law) => replay(law, &file, Receiver::new, Receiver::step),
            _ => replay(law, &file, Flow::new, Flow::step),
        }
    }
}
