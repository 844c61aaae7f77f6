//! Roles over the simulator: what front ends, hubs and data servers promise one another.

mod common;

use common::{run, spec};

#[test]
fn a_hub_has_all_of_its_own_objects_however_few_its_server_looks_for_at_once() {
    let scenario = "schemes = [\"sicc\"]\n[workload]\nkind = \"key_value\"\nqueries = 2\nduration = \"10 s\"\n\
                    [key_value]\nobjects = 100\nper_request = 80\nreplicas = 1\nlookups = 1\ntries = 1\n\
                    [fabric]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 2\nspines = 1\n";
    // A server a rack, so that each is a hub and has what it is asked for itself.
    for row in run(&spec(scenario, 2, 1)).requests {
        assert_eq!((row.answered, row.failed), (80, 0));
    }
}
