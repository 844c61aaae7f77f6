//! Errors of networks and of names in them.

/// A network that cannot be built, or a name that it does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Both ends of an edge are this node.
    #[error("`{0}` is joined to itself; an edge has two ends")]
    SelfLoop(String),
    /// An edge has no rate.
    #[error("the edge from {} to {} has a rate of zero", .0[0], .0[1])]
    NoRate([String; 2]),
    /// An edge joins two hosts where hosts have several links.
    #[error("the edge from {} to {} joins two hosts; join each of them to a switch", .0[0], .0[1])]
    JoinsHosts([String; 2]),
    /// A host is on no edge.
    #[error("`{0}` is on no edge; every host has one, such as \"{0} switch\"")]
    NoEdge(String),
    /// There is no path from one node to another.
    #[error(
        "no way from `{from}` to `{to}`: the edges are not one network{}",
        if *.hosts_forward { "" } else { ", and no path leads through a host" }
    )]
    Apart {
        /// The first node.
        from: String,
        /// The second node.
        to: String,
        /// Whether paths may lead through hosts.
        hosts_forward: bool,
    },
    /// A tree has none of these.
    #[error("a tree has at least one {0}")]
    Empty(&'static str),
    /// Cores join the pods of a tree of one pod, or do not join those of several.
    #[error("{pods} pods and {cores} cores a spine: cores join several pods")]
    Cores {
        /// Pods.
        pods: u32,
        /// Cores of each spine.
        cores: u32,
    },
    /// The tree is too large.
    #[error("more than {0} hosts or links between switches")]
    TooLarge(u32),
    /// No node has this name.
    #[error("nothing is called `{0}` here")]
    UnknownNode(String),
    /// No link joins these nodes.
    #[error("no link joins `{}` and `{}`", .0[0], .0[1])]
    NoLink([String; 2]),
    /// A link's number is larger than the number of links of these nodes.
    #[error("link {number} of `{}` and `{}`: there are {links}", .nodes[0], .nodes[1])]
    NoSuchLink {
        /// The nodes.
        nodes: [String; 2],
        /// The number, from one.
        number: usize,
        /// Links that join the nodes.
        links: usize,
    },
    /// A node's name ends with something other than a link's number.
    #[error("`{name}`: use a number from 1 after #, such as `{node}#2`")]
    LinkNumber {
        /// The name.
        name: String,
        /// The part before `#`.
        node: String,
    },
}

impl From<Error> for String {
    fn from(error: Error) -> String {
        error.to_string()
    }
}
