//! `placement.csv`: each key's name, its server, and its previous server, if known. A key with several replicas has a row for each.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};
use sha2::{Digest, Sha256};

use crate::error::Error;

/// Name of the file.
pub const FILE: &str = "placement.csv";
/// Its columns.
const COLUMNS: [&str; 3] = ["key", "server", "was"];

/// A row. Servers count from zero here, and from one in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// Line in the file.
    pub line: u64,
    /// Name of the key.
    pub key: &'a [u8],
    /// Its server; none for the one that its hash selects, which only a written table has.
    pub server: Option<u32>,
    /// Its previous server, if known; else the one that its hash selects.
    pub was: Option<u32>,
}

/// Columns that a table must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Exactly those of the [`Writer`].
    Written,
    /// The key and its server, in any place; the table may be from another program, which may write a server as `server3`.
    Listed,
}

/// Reader of a table.
#[derive(Debug)]
pub struct Reader<R> {
    table: csv::Reader<R>,
    record: ByteRecord,
    form: Form,
    /// Places of the key and of its server, and of the previous server, if there is one.
    key: usize,
    server: usize,
    was: Option<usize>,
    servers: u32,
}

impl<R: Read> Reader<R> {
    /// A reader of a table for a cluster with this number of servers.
    ///
    /// # Errors
    /// The columns are wrong, or reading fails.
    pub fn new(table: R, form: Form, servers: u32) -> Result<Reader<R>, Error> {
        let mut table = ReaderBuilder::new().from_reader(table);
        let header = table.byte_headers()?;
        let place = |name: &str| header.iter().position(|field| field.trim_ascii() == name.as_bytes());
        let (key, server, was) = match form {
            Form::Written if header.iter().eq(COLUMNS.map(str::as_bytes)) => (0, 1, Some(2)),
            Form::Written => return Err(Error::NotWritten(&COLUMNS)),
            Form::Listed => match (place("key"), place("server")) {
                (Some(key), Some(server)) => (key, server, None),
                _ => return Err(Error::NoColumns),
            },
        };
        Ok(Reader { table, record: ByteRecord::new(), form, key, server, was, servers })
    }

    /// The next row.
    ///
    /// # Errors
    /// The row is invalid, or reading fails.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, Error> {
        if !self.table.read_byte_record(&mut self.record)? {
            return Ok(None);
        }
        let line = self.record.position().map_or(0, csv::Position::line);
        let number = |place: usize| Some(&self.record[place]).filter(|text| !text.is_empty());
        let server = match number(self.server) {
            None if self.form == Form::Written => None,
            text => Some(self.number(text.unwrap_or_default(), line)?),
        };
        let was = self.was.and_then(number).map(|was| self.number(was, line)).transpose()?;
        Ok(Some(Row { line, key: &self.record[self.key], server, was }))
    }

    fn number(&self, text: &[u8], line: u64) -> Result<u32, Error> {
        let (word, whose) = match self.form {
            Form::Written => (text, ""),
            Form::Listed => {
                (text.trim_ascii().strip_prefix(b"server").unwrap_or(text.trim_ascii()), " of this cluster")
            }
        };
        let number = str::from_utf8(word).ok().and_then(|text| text.parse::<u32>().ok());
        let found = number.filter(|number| (1..=self.servers).contains(number));
        let name = || crate::printable(text);
        found.map(|number| number - 1).ok_or_else(|| Error::NoServer {
            line,
            name: name(),
            whose,
            servers: self.servers,
        })
    }
}

/// Whether a written table has no rows.
///
/// # Errors
/// Errors of the file system.
pub fn is_empty(path: &Path) -> io::Result<bool> {
    Ok(std::fs::metadata(path)?.len() <= COLUMNS.join(",").len() as u64 + 1)
}

/// Reads a table and checks its bytes by their digest, which `plan.json` has: a table cut at a line end would be valid otherwise.
///
/// # Errors
/// The digest is another one; else the error of `read`.
pub fn read_verified<T, E: From<Error>>(
    path: &Path,
    digest: &str,
    read: impl FnOnce(&mut dyn Read) -> Result<T, E>,
) -> Result<T, E> {
    let file = File::open(path).map_err(Error::from)?;
    let mut digesting = Digesting { file: BufReader::new(file), digest: Sha256::new() };
    let result = read(&mut digesting);
    io::copy(&mut digesting, &mut io::sink()).map_err(Error::from)?;
    // This error explains all others.
    if hex::encode(digesting.digest.finalize()) != digest {
        return Err(Error::Digest(crate::plan::FILE).into());
    }
    result
}

/// Writer of a table.
#[derive(Debug)]
pub struct Writer {
    table: csv::Writer<Digesting<File>>,
}

impl Writer {
    /// Creates the file.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn create(path: &Path) -> io::Result<Writer> {
        let file = Digesting { file: File::create(path)?, digest: Sha256::new() };
        let mut table = csv::Writer::from_writer(file);
        table.write_record(COLUMNS)?;
        Ok(Writer { table })
    }

    /// Writes a key's name, its server, or none for the one that its hash selects, and its previous server, if known.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write(&mut self, key: &[u8], server: Option<u32>, was: Option<u32>) -> io::Result<()> {
        let [server, was] =
            [server, was].map(|server| server.map_or_else(String::new, |server| (server + 1).to_string()));
        Ok(self.table.write_record([key, server.as_bytes(), was.as_bytes()])?)
    }

    /// Writes the remainder; returns the digest of all bytes.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn finish(self) -> io::Result<String> {
        let mut file = self.table.into_inner().map_err(csv::IntoInnerError::into_error)?;
        file.flush()?;
        Ok(hex::encode(file.digest.finalize()))
    }
}

/// A file whose digest is computed while it is read or written.
#[derive(Debug)]
struct Digesting<F> {
    file: F,
    digest: Sha256,
}

impl<F: Read> Read for Digesting<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.digest.update(&into[..count]);
        Ok(count)
    }
}

impl<F: Write> Write for Digesting<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.digest.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Found = Vec<(Vec<u8>, Option<u32>, Option<u32>)>;

    fn rows(table: impl Read, form: Form) -> Result<Found, Error> {
        let (mut reader, mut found) = (Reader::new(table, form, 4)?, Vec::new());
        while let Some(row) = reader.next_row()? {
            found.push((row.key.to_vec(), row.server, row.was));
        }
        Ok(found)
    }

    #[test]
    fn reads_written_table_if_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let mut writer = Writer::create(&path).unwrap();
        writer.write(b"a,b", Some(0), Some(3)).unwrap();
        writer.write(b"c", None, None).unwrap();
        let digest = writer.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "key,server,was\n\"a,b\",1,4\nc,,\n");
        let read = |digest: &str| read_verified(&path, digest, |table| rows(table, Form::Written));
        assert_eq!(read(&digest).unwrap(), [(b"a,b".to_vec(), Some(0), Some(3)), (b"c".to_vec(), None, None)]);
        assert!(!is_empty(&path).unwrap());
        std::fs::write(&path, "key,server,was\n").unwrap();
        assert!(is_empty(&path).unwrap());
        std::fs::write(&path, "key,server,was\n\"a,b\",1,4\n").unwrap();
        assert!(read(&digest).unwrap_err().to_string().contains("does not match plan.json"));
    }

    #[test]
    fn reads_tables_of_other_programs_if_listed() {
        let table = "server,x, key\nserver2,0,a\n 3 ,0,b\n";
        let found = rows(table.as_bytes(), Form::Listed).unwrap();
        assert_eq!(found, [(b"a".to_vec(), Some(1), None), (b"b".to_vec(), Some(2), None)]);
        let not_written = rows(table.as_bytes(), Form::Written).unwrap_err();
        assert_eq!(not_written.to_string(), "line 1: use the columns key,server,was");
        let wrong = rows("key,server\na,5\n".as_bytes(), Form::Listed).unwrap_err();
        assert_eq!(wrong.to_string(), "line 2: `5` is not a server of this cluster: use 1 to 4");
    }
}
