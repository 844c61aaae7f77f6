//! Aligned tables, compared line by line with the committed ones; fan-outs use them too.

use std::path::PathBuf;
use std::{env, fs};

/// Table of a timeline in progress.
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
                // The second column is text, the others are numbers.
                let width = widths[column];
                line += &if column == 1 { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// Compare with the committed table; `UPDATE=1` rewrites it.
#[expect(clippy::disallowed_methods, reason = "the one switch between checking tables and writing them")]
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
        "\n{} differs from the committed table:\n{diff}\nIf intended: UPDATE=1 cargo test -p {} --test trajectories, and \
         review {}\n",
        table.law,
        env!("CARGO_PKG_NAME"),
        path.display()
    ))
}
