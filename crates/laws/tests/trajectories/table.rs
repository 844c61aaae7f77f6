//! Tables: aligned, compared line by line with the committed ones, of fan-outs too.

use std::path::PathBuf;
use std::{env, fs};

/// A story under way.
pub struct Table {
    law: &'static str,
    says: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(law: &'static str, says: &str) -> Table {
        Table { law, says: says.into(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = format!("{}: {}\n\n", self.law, self.says);
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                // The second column is words, the others are numbers.
                let width = widths[column];
                line += &if column == 1 { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// In what a story differs from the committed one; with `UPDATE=1`, writes it anew.
#[expect(clippy::disallowed_methods, reason = "the one switch between checking stories and writing them")]
pub fn differs(table: &Table) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/trajectories/{}.txt", table.law));
    let found = table.text();
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &found).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        return None;
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    if wanted == found {
        return None;
    }
    let mut diff = String::new();
    let (mut old, mut new) = (wanted.lines(), found.lines());
    loop {
        match (old.next(), new.next()) {
            (None, None) => break,
            (old, new) if old == new => {}
            (old, new) => {
                diff += &old.map(|line| format!("- {line}\n")).unwrap_or_default();
                diff += &new.map(|line| format!("+ {line}\n")).unwrap_or_default();
            }
        }
    }
    Some(format!(
        "\n{} tells another story:\n{diff}\nIf that is meant: UPDATE=1 cargo test -p {} --test trajectories, and \
         review {}\n",
        table.law,
        env!("CARGO_PKG_NAME"),
        path.display()
    ))
}
