//! Errors of a plan's files.

use std::io;

/// A file of a plan that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Errors of the file system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not CSV.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// A table that was not written by a [`Writer`](crate::placement::Writer).
    #[error("line 1: use the columns {}", .0.join(","))]
    NotWritten(&'static [&'static str]),
    /// A table without keys or servers.
    #[error(
        "line 1: no columns key and server: use the header key,server and a line for each replica, such as user:7,3"
    )]
    NoColumns,
    /// A server that the cluster does not have.
    #[error("line {line}: `{name}` is not a server{whose}: use 1 to {servers}")]
    NoServer {
        /// Line in the file.
        line: u64,
        /// The cell, as printable text.
        name: String,
        /// Whose server it should be.
        whose: &'static str,
        /// Number of the cluster's servers.
        servers: u32,
    },
    /// The table is not the one that its plan describes.
    #[error("the digest does not match {0}: the file is damaged or incomplete; use the folder of a plan's --out")]
    Digest(&'static str),
    /// It is not JSON.
    #[error("not a plan: {0}")]
    Json(#[from] serde_json::Error),
    /// A plan without its cluster.
    #[error("the plan does not name its cluster; use a folder that `fanin plan --out` wrote")]
    NoCluster,
}

impl From<Error> for String {
    fn from(error: Error) -> String {
        error.to_string()
    }
}
