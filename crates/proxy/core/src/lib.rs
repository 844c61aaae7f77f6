//! Foundation of the proxy: its clock, memory, tokens of connections, tenants, loop iterations, and reasons why a server
//! gives no response.

pub mod clock;
pub mod memory;
pub mod prediction;
pub mod pulse;
pub mod server_error;
pub mod tenants;
pub mod token;
