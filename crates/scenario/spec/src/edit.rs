//! Changes to a scenario's text.

use toml_edit::{DocumentMut, Item, TableLike};

use crate::Invalid;

/// Sets a value, or with an empty one removes it; the rest of the text stays as it is. `path` is `section.key`, or `schemes` or
/// `title`. Numbers, lists and truth values are written as they are, other values in quotes.
///
/// # Errors
/// A text that is not TOML, or has no section of this name.
pub fn set_value(text: &str, path: &str, value: &str) -> Result<String, Invalid> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let (section, key) = path.split_once('.').unwrap_or(("", path));
    let table: &mut dyn TableLike = match section {
        "" => document.as_table_mut(),
        _ => {
            let item = document.entry(section).or_insert_with(toml_edit::table);
            item.as_table_like_mut().ok_or_else(|| format!("`{section}` is not a section"))?
        }
    };
    if value.is_empty() {
        table.remove(key);
    } else {
        let literal: toml_edit::Value = match value.parse() {
            Ok(toml_edit::Value::Datetime(_)) | Err(_) => value.into(),
            Ok(literal) => literal,
        };
        replace(table, key, literal);
    }
    if table.is_empty() && !section.is_empty() {
        document.remove(section);
    }
    Ok(document.to_string())
}

/// Replaces a value, with the spaces and comments around the last one. A comment that calls the last one assumed goes with it.
fn replace(table: &mut dyn TableLike, key: &str, mut value: toml_edit::Value) {
    if let Some(old) = table.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
        let comment = old.decor().suffix().and_then(|suffix| suffix.as_str());
        if comment.is_some_and(|comment| comment.trim_start().starts_with("# assumed")) {
            value.decor_mut().set_suffix("");
        }
    }
    table.insert(key, Item::Value(value));
}
