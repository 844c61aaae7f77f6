//! Files of a placement plan. The planner writes them, and the planner and the front end read them: [`placement`] is `placement.csv`,
//! [`plan`] is `plan.json`, and [`key_name`] has the names of keys in `placement.csv` and in request logs.
//!
//! ```
//! use fanin_plan_files::placement::{Form, Reader};
//!
//! let table = "key,server,was\nuser:1,2,1\n";
//! let mut rows = Reader::new(table.as_bytes(), Form::Written, 3)?;
//! assert_eq!(rows.next_row()?.expect("a row").server, Some(1), "counted from zero");
//! # Ok::<(), fanin_plan_files::Error>(())
//! ```

mod error;
pub mod key_name;
pub mod placement;
pub mod plan;

pub use error::Error;

/// Printable form of the first bytes of a text, for error messages.
pub fn printable(text: &[u8]) -> String {
    /// Longer texts are cut.
    const LONGEST: usize = 40;
    text.iter().take(LONGEST).map(|byte| byte.escape_ascii().to_string()).collect()
}
