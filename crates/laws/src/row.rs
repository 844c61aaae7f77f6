//! What a law, or a part of a scheme, says of itself in its table: the registry of schemes, what explains them, the checks
//! of what goes together, and the tests are made from rows.

/// One row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What stands for it in a scheme's name.
    pub word: &'static str,
    /// The laws that it is made of: its own, but of a part that several places follow.
    pub laws: &'static [File],
    /// The sections of a scenario that hold its settings.
    pub sections: &'static [&'static str],
    /// What it brings into a scheme that says nothing of it: a port law's word, and `ecn`.
    pub brings: &'static [&'static str],
    /// What it cannot go together with, by its word, and why.
    pub refuses: &'static [(&'static str, &'static str)],
    /// Of a base: whether it takes from the window outside a cut, too, as queues grow.
    pub gives_way: bool,
    /// Keys of other sections that it alone looks at.
    pub heeds: &'static [&'static str],
    /// The schemes with it that are offered by name.
    pub offers: &'static [Offer],
}

impl Row {
    /// What a row has where it says nothing.
    pub const PLAIN: Row = Row {
        word: "",
        laws: &[],
        sections: &[],
        brings: &[],
        refuses: &[],
        gives_way: false,
        heeds: &[],
        offers: &[],
    };

    /// Whether it brings this.
    pub fn brings(&self, word: &str) -> bool {
        self.brings.contains(&word)
    }
}

/// A law's file.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// The law's name: that of the file, of its vectors and of its trajectory.
    pub law: &'static str,
    /// All of it, which begins with the law's header.
    pub text: &'static str,
}

/// A scheme that is documented and tested by name.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The canonical name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// What it is, in a sentence.
    pub says: &'static str,
}

/// A law's file as a row has it, by the file's name beside the table.
#[macro_export]
macro_rules! file {
    ($law:ident) => {
        $crate::row::File { law: stringify!($law), text: include_str!(concat!(stringify!($law), ".rs")) }
    };
}
pub use file;

/// Declares the kinds of a table, with what each says of itself: the law's type in its file beside the table, whose settings it
/// has (`from`), and its [`Row`], which may name other files. One kind more may come with a row of its own (in brackets).
#[macro_export]
macro_rules! kinds {
    (#[doc = $what:literal] $([$Other:ident($own:ty): $other:literal])? $($(#[doc = $doc:literal])* $Law:ident in $file:ident $(from $section:ident)? { $($row:tt)* })*) => {
        #[doc = $what]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind { $($(#[doc = $doc])* $Law,)* $(#[doc = $other] $Other($own),)? }

        impl Kind {
            /// All that are declared here.
            pub const ALL: &'static [Kind] = &[$(Kind::$Law),*];

            /// What it says of itself.
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

/// What of a law's state a person would look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What it is called.
    pub name: &'static str,
    /// It, in units of 1/2^`bits`.
    pub value: u64,
    /// How many bits of it are fraction.
    pub bits: u8,
}
