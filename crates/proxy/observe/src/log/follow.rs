//! Reader of a log that a front end writes at the same time: returns the rows since the last call, across rotated files.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::writer::{HEAD, numbered};

/// Most files of a log.
const FILES: usize = 1000;

/// A followed log.
#[derive(Debug)]
pub struct FollowedLog {
    path: PathBuf,
    /// The file with the next rows, and the number of its bytes already read.
    current: Option<(File, u64)>,
}

/// Rows since the last call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NewRows {
    /// Whole lines, without a header.
    pub text: Vec<u8>,
    /// Whether files with further rows were deleted before they were read.
    pub lost: bool,
}

impl FollowedLog {
    /// Follows a log from its current end; a file that does not exist yet is read from its beginning.
    ///
    /// # Errors
    /// The file cannot be read, or is not a front end's log.
    pub fn open(path: &Path) -> io::Result<FollowedLog> {
        let mut log = FollowedLog { path: path.to_owned(), current: None };
        log.read()?;
        Ok(log)
    }

    /// The rows since the last call.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn read(&mut self) -> io::Result<NewRows> {
        let mut rows = NewRows::default();
        if self.current.is_none() {
            self.current = opened(&self.path)?;
        }
        while let Some((file, read)) = &mut self.current {
            // Asked before the rows are read: nothing is added to a file that is not the current one.
            let next = next(&self.path, file)?;
            *read += whole_lines(file, *read, &mut rows.text)?;
            match next {
                Next::None => break,
                Next::At(path) => self.current = opened(&path)?,
                Next::Lost(path) => {
                    rows.lost = true;
                    self.current = opened(&path)?;
                }
            }
        }
        Ok(rows)
    }
}

/// The file after another one.
enum Next {
    /// That one is the last.
    None,
    At(PathBuf),
    /// There were others in between.
    Lost(PathBuf),
}

fn next(path: &Path, file: &File) -> io::Result<Next> {
    let identity = |of: fs::Metadata| (of.dev(), of.ino());
    let its = identity(file.metadata()?);
    let is_it = |path: &Path| fs::metadata(path).is_ok_and(|there| identity(there) == its);
    if is_it(path) {
        return Ok(Next::None);
    }
    if !path.exists() {
        // Between two renames.
        return Ok(Next::None);
    }
    let mut after = path.to_owned();
    for number in 1..FILES {
        let older = numbered(path, number);
        if is_it(&older) {
            return Ok(Next::At(after));
        }
        if !older.exists() {
            break;
        }
        after = older;
    }
    Ok(Next::Lost(after))
}

/// Opens a file behind its header.
fn opened(path: &Path) -> io::Result<Option<(File, u64)>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut head = [0; HEAD.len()];
    file.read_exact(&mut head).ok().filter(|()| head == HEAD).ok_or_else(|| {
        io::Error::new(ErrorKind::InvalidData, "not a log of `fanin front`: it lacks the header of one")
    })?;
    Ok(Some((file, HEAD.len() as u64)))
}

/// Appends the whole lines of a file from a place on; returns their length.
fn whole_lines(file: &mut File, from: u64, text: &mut Vec<u8>) -> io::Result<u64> {
    let begin = text.len();
    file.seek(SeekFrom::Start(from))?;
    file.read_to_end(text)?;
    let end = text[begin..].iter().rposition(|byte| *byte == b'\n').map_or(begin, |place| begin + place + 1);
    text.truncate(end);
    Ok((end - begin) as u64)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    fn begin(path: &Path, rows: &str) {
        fs::write(path, [HEAD, rows.as_bytes()].concat()).unwrap();
    }

    fn append(path: &Path, text: &str) {
        OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn read(log: &mut FollowedLog) -> (String, bool) {
        let NewRows { text, lost } = log.read().unwrap();
        (String::from_utf8(text).unwrap(), lost)
    }

    #[test]
    fn returns_whole_new_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.csv");
        begin(&path, "1\n");
        let mut log = FollowedLog::open(&path).unwrap();
        assert_eq!(read(&mut log), (String::new(), false));
        append(&path, "2\n3");
        assert_eq!(read(&mut log), ("2\n".into(), false));
        append(&path, "0\n");
        assert_eq!(read(&mut log), ("30\n".into(), false));
    }

    #[test]
    fn goes_on_in_rotated_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.csv");
        let mut log = FollowedLog::open(&path).unwrap();
        assert_eq!(read(&mut log), (String::new(), false));
        begin(&path, "1\n");
        assert_eq!(read(&mut log), ("1\n".into(), false));
        append(&path, "2\n");
        let turn = |rows: &str, count: usize| {
            for number in (1..count).rev() {
                let _ = fs::rename(numbered(&path, number), numbered(&path, number + 1));
            }
            fs::rename(&path, numbered(&path, 1)).unwrap();
            begin(&path, rows);
        };
        turn("3\n", 3);
        turn("4\n", 3);
        assert_eq!(read(&mut log), ("2\n3\n4\n".into(), false));
        (5..10).for_each(|row| turn(&format!("{row}\n"), 2));
        fs::remove_file(numbered(&path, 2)).unwrap();
        assert_eq!(read(&mut log), ("8\n9\n".into(), true));
    }

    #[test]
    fn refuses_other_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.csv");
        for text in ["", "time,query,key,size\n1,a,b,2\n"] {
            fs::write(&path, text).unwrap();
            assert_eq!(FollowedLog::open(&path).unwrap_err().kind(), ErrorKind::InvalidData, "{text}");
        }
    }
}
