//! Settings of the hosts' transport.

use fanin_spec::RunSpec;
use fanin_tcp::Settings;

use crate::sender::sender_law;
use crate::tcp::tcp_params;

/// Settings of TCP for all endpoints of a run.
pub fn tcp_settings(spec: &RunSpec) -> Settings {
    Settings::new(tcp_params(spec), sender_law(spec))
}
