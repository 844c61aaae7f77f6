//! Embeds the papers' files, so that the program reproduces them without a checkout.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Types of files that a reproduction reads: claims and scenarios, lists of flows, recorded verdicts.
const READ: [&str; 3] = ["toml", "csv", "json"];

fn main() -> io::Result<()> {
    let crate_folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    // A link to the project's folder; in a packed crate, a copy of it.
    let papers = crate_folder.join("papers");
    println!("cargo::rerun-if-changed={}", papers.display());
    let mut rows = String::new();
    for folder in sorted(&papers)?.into_iter().filter(|entry| entry.is_dir()) {
        println!("cargo::rerun-if-changed={}", folder.display());
        for file in sorted(&folder)? {
            let read = file.extension().is_some_and(|ending| READ.iter().any(|known| ending == *known));
            let (Some(paper), Some(name), true) = (folder.file_name(), file.file_name(), read) else { continue };
            let place = Path::new(paper).join(name);
            let whole = file.canonicalize()?;
            let _ = writeln!(rows, "    ({place:?}, include_str!({whole:?})),");
        }
    }
    #[expect(clippy::disallowed_methods, reason = "this is how cargo tells a build script where to write")]
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("papers.rs");
    fs::write(out, format!("&[\n{rows}]\n"))
}

/// The entries of a folder, by name.
fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort_unstable();
    Ok(entries)
}
