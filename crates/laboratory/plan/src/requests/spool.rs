//! Temporary file of queries, for several passes that are faster than reading the log and see the same data even if the log changes. The
//! file has no name and disappears with the program.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use fanin_units::Time;

use super::Query;

/// The file: time, number of keys, and keys of each query.
pub(crate) struct Spool {
    file: BufWriter<File>,
    /// The first write that failed.
    failed: Option<io::Error>,
}

impl Spool {
    /// With nothing in it.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn new() -> io::Result<Spool> {
        Ok(Spool { file: BufWriter::new(tempfile::tempfile()?), failed: None })
    }

    /// Appends a query; errors appear when reading.
    pub fn put(&mut self, query: &Query) {
        let mut write = || {
            self.file.write_all(&query.time.0.to_le_bytes())?;
            self.file.write_all(&(query.keys.len() as u32).to_le_bytes())?;
            query.keys.iter().try_for_each(|key| self.file.write_all(&key.to_le_bytes()))
        };
        if self.failed.is_none() {
            self.failed = write().err();
        }
    }

    /// Gives all queries, in their order.
    ///
    /// # Errors
    /// Errors of the file system, now or earlier.
    pub fn each(&mut self, mut each: impl FnMut(Query)) -> io::Result<()> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        self.file.flush()?;
        let mut file = self.file.get_ref();
        file.rewind()?;
        let mut file = BufReader::with_capacity(1 << 16, file);
        let mut time = [0; 8];
        while !file_ends(&mut file)? {
            file.read_exact(&mut time)?;
            let count = number(&mut file)?;
            let keys = (0..count).map(|_| number(&mut file)).collect::<io::Result<_>>()?;
            each(Query { time: Time(u64::from_le_bytes(time)), keys });
        }
        Ok(())
    }
}

fn file_ends(file: &mut BufReader<&File>) -> io::Result<bool> {
    Ok(io::BufRead::fill_buf(file)?.is_empty())
}

fn number(file: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_queries_repeatedly() {
        let queries: Vec<Query> = (0..5_000)
            .map(|n| Query { time: Time(n * n), keys: (0..n as u32 % 40).map(|key| key * 7).collect() })
            .collect();
        let mut spool = Spool::new().unwrap();
        queries.iter().for_each(|query| spool.put(query));
        for _ in 0..2 {
            let mut seen = Vec::new();
            spool.each(|query| seen.push(query)).unwrap();
            assert_eq!(seen, queries);
        }
        let mut none = 0;
        Spool::new().unwrap().each(|_| none += 1).unwrap();
        assert_eq!(none, 0);
    }
}
