//! The papers' files that are embedded in the program, under a virtual folder.

use std::path::Path;

/// The virtual folder.
pub const EMBEDDED: &str = "papers of this program";

/// Path within it and text.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// Text of an embedded file; `None` for other paths.
pub fn text(path: &Path) -> Option<&'static str> {
    let within = path.strip_prefix(EMBEDDED).ok()?;
    FILES.iter().find(|(place, _)| Path::new(place) == within).map(|(_, text)| *text)
}

/// Virtual folders that contain a file of this name.
pub fn folders_with(name: &str) -> impl Iterator<Item = String> {
    let split =
        |(place, _): &(&str, &str)| place.split_once('/').map(|(folder, file)| (folder.to_string(), file.to_string()));
    FILES.iter().filter_map(split).filter(move |(_, file)| file == name).map(|(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embeds_the_folder_of_papers() {
        let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("papers");
        let names: Vec<String> = folders_with("claims.toml").collect();
        assert!(names.len() >= 6, "{names:?}");
        for (place, carried) in FILES {
            let there = std::fs::read_to_string(papers.join(place)).unwrap();
            assert_eq!(*carried, there, "{place}");
            assert_eq!(text(&Path::new(EMBEDDED).join(place)), Some(*carried));
        }
        assert_eq!(text(Path::new("papers/m21/claims.toml")), None, "a folder of that name is the user's");
    }
}
