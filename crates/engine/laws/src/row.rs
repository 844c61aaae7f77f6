//! Metadata of an algorithm or a part of a scheme. The registry of schemes, `explain`, the checks of combinations and the tests
//! all derive from these rows.

/// One row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its word in a scheme's name.
    pub word: &'static str,
    /// Its files: its own, or several for a part that acts in several places.
    pub laws: &'static [File],
    /// The sections of a scenario that hold its settings.
    pub sections: &'static [&'static str],
    /// Parts that it adds to a scheme by default: a queue discipline's word, and `ecn`.
    pub brings: &'static [&'static str],
    /// Parts that it cannot be combined with, by word, and why.
    pub refuses: &'static [(&'static str, &'static str)],
    /// For a congestion control: whether it reduces the window as queues grow, not only on congestion.
    pub is_delay_based: bool,
    /// For a congestion control: whether every packet is to measure a round trip, so that `tcp.timestamps` is on and `tcp.delayed_ack`
    /// is 1 by default.
    pub times_packets: bool,
    /// For a congestion control: its names in Linux; `None` if the kernel has none like it.
    pub linux: Option<Linux>,
    /// Keys of other sections that only it reads.
    pub reads_keys: &'static [&'static str],
    /// The named schemes that include it.
    pub offers: &'static [Offer],
}

impl Row {
    /// Defaults of a row.
    pub const PLAIN: Row = Row {
        word: "",
        laws: &[],
        sections: &[],
        brings: &[],
        refuses: &[],
        is_delay_based: false,
        times_packets: false,
        linux: None,
        reads_keys: &[],
        offers: &[],
    };

    /// Whether it brings `word`.
    pub fn brings(&self, word: &str) -> bool {
        self.brings.contains(&word)
    }
}

/// Names of a congestion control in Linux, as in net.ipv4.tcp_congestion_control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linux {
    /// The kernel's own.
    pub name: &'static str,
    /// That with gentle slow start, which `fanin kernel` loads.
    pub gentle: Option<&'static str>,
}

/// An algorithm's source file.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// The algorithm's name, also of its file, vectors and trajectory.
    pub law: &'static str,
    /// The file's text, which begins with the header.
    pub text: &'static str,
}

/// A scheme that is documented and tested by name.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The canonical name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// One-line description.
    pub says: &'static str,
}

/// An algorithm's file, named relative to the table.
#[macro_export]
macro_rules! file {
    ($law:ident) => {
        $crate::row::File { law: stringify!($law), text: include_str!(concat!(stringify!($law), ".rs")) }
    };
}
pub use file;

/// Declares the kinds of a table: the type in its file beside the table, the section of its settings (`from`), and its [`Row`],
/// which may name other files. One more kind, in brackets, may come with a row of its own.
#[macro_export]
macro_rules! kinds {
    (#[doc = $what:literal] $([$Other:ident($own:ty): $other:literal])? $($(#[doc = $doc:literal])* $Law:ident in $file:ident $(from $section:ident)? { $($row:tt)* })*) => {
        #[doc = $what]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind { $($(#[doc = $doc])* $Law,)* $(#[doc = $other] $Other($own),)? }

        impl Kind {
            /// All kinds declared here.
            pub const ALL: &'static [Kind] = &[$(Kind::$Law),*];

            /// Its row.
            pub const fn row(self) -> &'static Row {
                match self {
                    $(Kind::$Law => const {
                        &Row {
                            $($row)*
                            ..Row {
                                word: stringify!($file),
                                laws: &[$crate::row::file!($file)],
                                sections: &[$(stringify!($section))?],
                                ..Row::PLAIN
                            }
                        }
                    },)*
                    $(Kind::$Other(own) => own.row(),)?
                }
            }
        }
    };
}
pub use kinds;

/// A value of an algorithm's state to display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its name.
    pub name: &'static str,
    /// Its value, in units of 1/2^`bits`.
    pub value: u64,
    /// Number of fraction bits.
    pub bits: u8,
}
