use std::fs::File;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

fn log(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

const PLAIN: Reading = Reading { gap: Time::from_micros(500), skip_bad: false };

/// The queries of a log, with their keys' names and sizes.
fn queries(name: &str, text: &str, reading: Reading) -> Result<(Vec<(u64, String)>, Tally), String> {
    let (_folder, path) = log(name, text);
    let mut catalogue = Catalogue::default();
    let mut all = Vec::new();
    let tally = read(&[path], reading, &mut catalogue, &mut |query| all.push(query)).map_err(|e| e.why.to_string())?;
    let sizes: Vec<u32> = catalogue.sizes().collect();
    let said = |key: &u32| format!("{}:{}", String::from_utf8_lossy(catalogue.key(*key)), sizes[*key as usize]);
    let said = |query: &Query| (query.time.0 / 1_000_000, query.keys.iter().map(said).collect::<Vec<_>>().join(" "));
    Ok((all.iter().map(said).collect(), tally))
}

#[test]
fn merges_rows_of_a_query() {
    let text = "time,query,key,size\n1.5,q1,a,10\n1.5,q2,b,20\n1.500002,q1,b,20\n1.6,q3,\"a\",11\n";
    let (queries, tally) = queries("log.csv", text, PLAIN).unwrap();
    // Sizes are the latest.
    assert_eq!(queries, [(0, "a:11 b:20".into()), (0, "b:20".into()), (100_000, "a:11".into())]);
    assert_eq!(tally, Tally { queries: 3, requests: 4, ..Tally::default() });
}

#[test]
fn unknown_sizes_stay_empty() {
    let text = "time,query,key,size\n1,q1,a,\n1,q1,b,20\n2,q2,a,7\n";
    assert_eq!(queries("log.csv", text, PLAIN).unwrap().0, [(0, "a:7 b:20".into()), (1_000_000, "a:7".into())]);
    assert!(
        queries("log.csv", "time,query,key,size\n1,q1,a,x\n", PLAIN).unwrap_err().contains("leave the field empty")
    );
}

#[test]
fn keys_have_the_last_server_of_the_log() {
    let (_folder, path) =
        log("log.csv", "time,query,server_by_hash,key,size\n1,q,3,a,1\n1,q,,b,1\n2,r,5,c,1\n3,s,4,a,1\n");
    let mut catalogue = Catalogue::default();
    read(&[path], PLAIN, &mut catalogue, &mut |_| {}).unwrap();
    assert_eq!([0, 1, 2].map(|number| catalogue.server(number)), [Some(4), None, Some(5)]);
    for server in ["0", "-1", "cache7"] {
        let text = format!("time,query,key,size,server_by_hash\n1,q,a,1,{server}\n");
        let wrong = queries("log.csv", &text, PLAIN).unwrap_err();
        assert_eq!(
            wrong,
            format!("line 2: `{server}` is not a server: use its number, from 1, or leave the field empty if unknown")
        );
    }
}

#[test]
fn reads_compressed_logs() {
    let text = "time,query,key,size\n1.5,q1,a,10\n1.5,q2,b,20\n";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
    let packed =
        [("log.csv.gz", gzip.finish().unwrap()), ("log.csv.zst", zstd::encode_all(text.as_bytes(), 1).unwrap())];
    let folder = tempfile::tempdir().unwrap();
    let keys = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let mut all = Vec::new();
        let told = read(&[path], PLAIN, &mut Catalogue::default(), &mut |query| all.push(query.keys));
        told.map(|tally| (all, tally.requests)).map_err(|error| error.to_string())
    };
    for (name, bytes) in &packed {
        assert_eq!(keys(name, bytes).unwrap(), keys("log.csv", text.as_bytes()).unwrap());
        assert!(keys(name, &bytes[..bytes.len() - 9]).is_err(), "{name} is cut off");
    }
    assert!(keys("log.parquet.gz", &packed[0].1).unwrap_err().contains("decompress it"));
}

#[test]
fn refuses_a_compressed_line_without_end() {
    let folder = tempfile::tempdir().unwrap();
    for (name, head) in [("log.csv.zst", "time,query,key,size\n1,q,"), ("log.log.zst", "<31 get ")] {
        let path = folder.path().join(name);
        let mut packed = zstd::Encoder::new(std::fs::File::create(&path).unwrap(), 1).unwrap();
        std::io::Write::write_all(&mut packed, head.as_bytes()).unwrap();
        std::io::copy(&mut std::io::Read::take(std::io::repeat(b'k'), 300 << 20), &mut packed).unwrap();
        packed.finish().unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() < 1 << 20);
        let read = read(&[path], PLAIN, &mut Catalogue::default(), &mut |_| {});
        let why = read.unwrap_err().to_string();
        assert!(
            name != "log.csv.zst" || why.contains("a line is longer than 64 MiB: this is no log of requests"),
            "{why}"
        );
    }
}

#[test]
fn identifies_columns_by_name() {
    let text = "size,host,key,query,time\n7,h,k,q,0\n";
    assert_eq!(queries("log.csv", text, PLAIN).unwrap().0, [(0, "k:7".into())]);
    let missing = queries("log.csv", "time,key,size\n1,a,1\n", PLAIN).unwrap_err();
    assert_eq!(missing, "line 1: no column `query`: use the header time,query,key,size");
}

#[test]
fn same_query_name_after_a_second_is_another_query() {
    let text = "time,query,key,size\n1,q,a,1\n1.9,q,b,1\n3,q,c,1\n";
    assert_eq!(queries("log.csv", text, PLAIN).unwrap().0, [(0, "a:1 b:1".into()), (2_000_000, "c:1".into())]);
}

#[test]
fn reports_or_counts_invalid_lines() {
    for (line, says) in [
        ("x,q,a,1", "`x` is not a time: use seconds, such as 12.5"),
        ("1,q,a,-1", "`-1` is not a size: use bytes, such as 512, or leave the field empty if unknown"),
        ("1,q,,1", "no key"),
        ("1,,a,1", "no query: add its name"),
        ("1,q,a", "3 fields: the header has 4"),
    ] {
        let text = format!("time,query,key,size\n1,q,a,1\n{line}\n1,q,b,1\n");
        assert_eq!(queries("log.csv", &text, PLAIN).unwrap_err(), format!("line 3: {says}"));
        let (queries, tally) = queries("log.csv", &text, Reading { skip_bad: true, ..PLAIN }).unwrap();
        assert_eq!((queries, tally.bad), (vec![(0, "a:1 b:1".to_string())], 1), "{line}");
    }
}

/// Microseconds are no decimals: .900 is 900 us, .1200 is 1,200 us.
const WATCHED: &str = "OK
ts=7.900 gid=1 type=item_get key=a status=found clsid=1 cfd=10 size=5
ts=7.1200 gid=2 type=item_get key=b%20c status=found clsid=1 cfd=10 size=6
ts=7.1201 gid=3 type=item_get key=a status=found clsid=1 cfd=11 size=5
ts=7.1300 gid=4 type=item_get key=z status=not_found clsid=0 cfd=10 size=0
skipped=12
ts=7.1898 gid=5 type=item_get key=a status=found clsid=1 cfd=11 size=5
ts=7.1900 gid=5 type=item_store key=a status=stored cmd=set ttl=0 clsid=1 cfd=11 size=9
ts=7.2000 gid=6 type=item_get key=a status=found clsid=1 cfd=10 size=9
";

#[test]
fn requests_without_a_gap_are_one_query() {
    let (queries, tally) = queries("mc1.log", WATCHED, PLAIN).unwrap();
    assert_eq!(queries, [(0, "a:9 b%20c:6".into()), (301, "a:9".into()), (1_100, "a:9".into())]);
    assert_eq!(tally, Tally { queries: 3, requests: 4, misses: 1, dropped: 12, bad: 0 });
}

/// memcached 1.6.18 wrote `watched.log`; `watch.py` beside it sent the requests.
#[test]
fn lookups_of_storage_commands_are_no_requests() {
    let (mut catalogue, mut all) = (Catalogue::default(), Vec::new());
    let tally = read(&[kept("watched.log")], PLAIN, &mut catalogue, &mut |query| all.push(query)).unwrap();
    let names = |query: &Query| {
        query.keys.iter().map(|key| String::from_utf8_lossy(catalogue.key(*key)).into_owned()).collect::<Vec<_>>()
    };
    let asked: Vec<_> = all.iter().map(names).collect();
    assert_eq!(asked, [vec!["a"], vec!["a"], vec!["a", "b"], vec!["b"], vec!["a", "b"]]);
    // A get of a missing key, and one of a missing key among others.
    assert_eq!((tally.queries, tally.requests, tally.misses), (5, 7, 2));
}

#[test]
fn connection_numbers_of_two_servers_are_two_clients() {
    let line = |micros: u32, key: &str| {
        format!("ts=7.{micros} gid=1 type=item_get key={key} status=found clsid=1 cfd=28 size=5\n")
    };
    let (_one, first) = log("mc1.log", &(line(100, "a") + &line(300, "b") + &line(9_000, "c")));
    let (_two, second) = log("mc2.log", &(line(200, "d") + &line(1_500, "e")));
    let named = |keys: &[&str]| keys.iter().map(|key| format!("{key}:5")).collect::<Vec<_>>();
    let expected = [
        (Time::ZERO, named(&["a", "b"])),
        (Time::from_micros(100), named(&["d"])),
        (Time::from_micros(1_400), named(&["e"])),
        (Time::from_micros(8_900), named(&["c"])),
    ];
    // In the order of time, whichever is named first.
    for paths in [[first.clone(), second.clone()], [second, first.clone()]] {
        assert_eq!(kept_queries(&paths).unwrap(), expected);
    }
    let both = read(&[first, kept("log.csv")], PLAIN, &mut Catalogue::default(), &mut |_| {}).unwrap_err().to_string();
    assert!(both.contains("log.csv: a table has queries"), "{both}");
}

#[test]
fn merges_queries_of_several_tables() {
    let table = |rows: &str| format!("time,query,key,size\n{rows}");
    let (_one, first) = log("one.csv", &table("1,q,a,1\n2,r,a,1\n"));
    let (_two, second) = log("two.csv", &table("1.5,q,b,1\n9,q,b,1\n"));
    let expected = [(0, vec!["a:1", "b:1"]), (1, vec!["a:1"]), (8, vec!["b:1"])];
    let expected = expected.map(|(at, keys)| (Time::from_secs(at), keys.into_iter().map(String::from).collect()));
    assert_eq!(kept_queries(&[first, second]).unwrap(), expected);
}

#[test]
fn reports_invalid_watcher_lines_with_their_number() {
    for (line, says) in [
        ("get a", "no `ts=`: is this a line of `watch fetchers`?"),
        ("ts=7 gid=1 type=item_get", "ts=`7`: use seconds and microseconds, such as 7.42"),
        ("ts=7.1000000 gid=1 type=item_get", "ts=`7.1000000`: use seconds and microseconds, such as 7.42"),
        ("ts=7.1 type=item_get status=found key=a size=1", "no `cfd=`: is this a line of `watch fetchers`?"),
        ("ts=7.1 type=item_get status=found key=a cfd=1 size=x", "size=`x`: use bytes"),
        ("skipped=many", "`skipped=many`: use a number of lines"),
    ] {
        let wrong = queries("mc1.log", &format!("{WATCHED}{line}\n"), PLAIN).unwrap_err();
        assert_eq!(wrong, format!("line 10: {says}"));
    }
}

/// A table in Parquet whose time is of a kind, compressed as most writers do.
fn parquet(path: &Path, kind: &str, times: &[i64]) {
    use parquet::basic::Compression;
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    let schema = format!(
        "message log {{ required binary key (STRING); required int64 size; required {kind}; required int64 query; }}"
    );
    let compressed = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let schema = std::sync::Arc::new(parse_message_type(&schema).unwrap());
    let mut file = SerializedFileWriter::new(File::create(path).unwrap(), schema, compressed.into()).unwrap();
    let mut group = file.next_row_group().unwrap();
    let keys: Vec<ByteArray> = (0..times.len()).map(|i| format!("k{i}").as_str().into()).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&keys, None, None).unwrap();
    column.close().unwrap();
    let sevens = vec![7; times.len()];
    let seconds: Vec<f64> = times.iter().map(|&time| time as f64).collect();
    for values in [&sevens, times, &sevens] {
        let mut column = group.next_column().unwrap().unwrap();
        match kind.starts_with("double") && std::ptr::eq(values, times) {
            true => column.typed::<DoubleType>().write_batch(&seconds, None, None).unwrap(),
            false => column.typed::<Int64Type>().write_batch(values, None, None).unwrap(),
        };
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
}

#[test]
fn reads_parquet_columns_with_any_clock() {
    for (kind, times) in [
        ("int64 time (TIMESTAMP(MICROS,true))", [5, 7]),
        ("int64 time (TIMESTAMP(NANOS,true))", [5_000, 7_000]),
        ("int64 time", [5, 5]),
        ("double time", [5, 5]),
    ] {
        let (_folder, path) = log("log.parquet", "");
        parquet(&path, kind, &times);
        let mut catalogue = Catalogue::default();
        let mut all = Vec::new();
        read(std::slice::from_ref(&path), PLAIN, &mut catalogue, &mut |query| all.push(query)).unwrap();
        assert_eq!(all, [Query { time: Time::ZERO, keys: vec![0, 1] }], "{kind}");
        assert_eq!((catalogue.number(b"k1"), catalogue.sizes().collect::<Vec<_>>()), (Some(1), vec![7, 7]));
        assert_eq!((catalogue.len(), catalogue.is_empty()), (2, false));
    }
    let (_folder, path) = log("log.parquet", "");
    parquet(&path, "int64 time", &[1, -1]);
    let negative =
        read(std::slice::from_ref(&path), PLAIN, &mut Catalogue::default(), &mut |_| {}).unwrap_err().why.to_string();
    assert_eq!(negative, "row 2: -1 is not a time: use seconds");
}

#[test]
fn refuses_missing_files_and_other_formats() {
    let folder = tempfile::tempdir().unwrap();
    let refused =
        |path: &Path| read(&[path.into()], PLAIN, &mut Catalogue::default(), &mut |_| {}).unwrap_err().to_string();
    assert!(refused(&folder.path().join("none.csv")).contains("No such file"));
    assert!(refused(folder.path()).contains("not a regular file"));
    let (_folder, path) = log("log.parquet", "time,query,key,size\n");
    assert!(refused(&path).contains("Parquet"), "{}", refused(&path));
}

/// Pieces of random logs, valid and invalid.
const PIECES: [&str; 40] = [
    "time",
    "query",
    "key",
    "size",
    "time,query,key,size\n",
    ",",
    ",",
    "\n",
    "\n",
    "\"",
    "1",
    "1.5",
    "-1",
    "0",
    "1e9",
    "q",
    "a,10\n",
    "1.5,q1,a,10\n",
    "18446744073709551615",
    "4294967296",
    "ts=",
    "7.42",
    ".",
    " ",
    "=",
    "type=item_get",
    "type=item_store",
    "status=found",
    "status=stored",
    "cfd=3",
    "key=k",
    "size=5",
    "ts=1.5 gid=1 type=item_get key=k status=found clsid=1 cfd=2 size=9\n",
    "ts=18446744073709551615.1 ",
    "ts=18446744073.709551 ",
    "skipped=",
    "skipped=18446744073709551615\n",
    "OK\n",
    "\u{feff}",
    "\u{0}",
];

/// A log that another program wrote.
fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs").join(name)
}

/// The queries of logs: names and sizes of keys.
fn kept_queries(paths: &[PathBuf]) -> Result<Vec<(Time, Vec<String>)>, String> {
    let (mut catalogue, mut all) = (Catalogue::default(), Vec::new());
    read(paths, PLAIN, &mut catalogue, &mut |query| all.push(query)).map_err(|unread| unread.why.to_string())?;
    let sizes: Vec<u32> = catalogue.sizes().collect();
    let said = |key: &u32| format!("{}:{}", String::from_utf8_lossy(catalogue.key(*key)), sizes[*key as usize]);
    Ok(all.iter().map(|query| (query.time, query.keys.iter().map(said).collect())).collect())
}

#[test]
fn reads_parquet_of_any_writer_alike() {
    let expected = kept_queries(&[kept("log.csv")]).unwrap();
    assert_eq!(expected.len(), 12);
    let mut seen = 0;
    for entry in std::fs::read_dir(kept("")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with(".parquet") && !name.contains("brotli") {
            assert_eq!(kept_queries(&[path]).as_ref(), Ok(&expected), "{name}");
            seen += 1;
        }
    }
    assert_eq!(seen, 12);
    let brotli = kept_queries(&[kept("pyarrow-seconds-brotli.parquet")]).unwrap_err();
    assert_eq!(brotli, "column `time` is compressed with BROTLI: use Snappy, zstd, LZ4, gzip or none");
}

/// Files with one byte changed, for every byte, and files truncated at every third byte.
#[test]
fn damaged_parquet_gives_queries_or_an_error() {
    let (folder, mut panics, mut checksums) = (tempfile::tempdir().unwrap(), 0, 0);
    for name in ["polars", "duckdb-stamps-v2-zstd", "pyarrow-numbers-zstd", "pyarrow-large-lz4"] {
        let name = format!("{name}.parquet");
        let whole = std::fs::read(kept(&name)).unwrap();
        let flipped = (0..whole.len()).flat_map(|at| [0xff, 0x01].map(|by| (at, by)));
        let turned = flipped.map(|(at, by)| {
            let mut bytes = whole.clone();
            bytes[at] ^= by;
            bytes
        });
        let cut = (0..whole.len()).step_by(3).map(|at| whole[..at].to_vec());
        for (number, bytes) in turned.chain(cut).enumerate() {
            let path = folder.path().join("damaged.parquet");
            std::fs::write(&path, bytes).unwrap();
            let read = kept_queries(std::slice::from_ref(&path));
            // On some file systems, overwriting a file waits for the disk; creating one does not.
            std::fs::remove_file(&path).unwrap();
            if let Err(what) = read {
                assert!(!what.is_empty(), "{name}, mutation {number}");
                panics += usize::from(what.contains("the file is damaged: "));
                checksums += usize::from(what.contains("CRC"));
            }
        }
    }
    assert!(panics > 0, "the library panics no more: it needs no guard");
    assert!(checksums > 0, "pyarrow-large-lz4 has checksums");
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn any_log_parses_or_names_a_line(
        pieces in prop::collection::vec(prop_oneof![
            9 => prop::sample::select(&PIECES[..]).prop_map(|piece| piece.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..8),
        ], 0..40),
        csv in any::<bool>(),
        skip_bad in any::<bool>(),
    ) {
        let (name, text) = (if csv { "log.csv" } else { "log.txt" }, pieces.concat());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, &text).unwrap();
        let (mut catalogue, mut asked) = (Catalogue::default(), Vec::new());
        let done = read(&[path], Reading { skip_bad, ..PLAIN }, &mut catalogue, &mut |query| asked.push(query));
        match done.map_err(|unread| unread.why) {
            Ok(tally) => {
                prop_assert_eq!(tally.queries, asked.len() as u64);
                prop_assert!(skip_bad || tally.bad == 0);
                let keys = catalogue.sizes().count();
                prop_assert!(asked.iter().all(|query| !query.keys.is_empty() && query.keys.iter().all(|&key| (key as usize) < keys)));
            }
            Err(Unreadable::Bad { number, what, .. }) => {
                let lines = 1 + text.iter().filter(|&&byte| byte == b'\n').count() as u64;
                prop_assert!((1..=lines).contains(&number), "line {number} of {lines}: {what}");
                prop_assert!(!what.is_empty() && (!skip_bad || number == 1), "line {number}: {what}");
            }
            Err(Unreadable::Form(what)) => prop_assert!(!what.is_empty()),
            Err(Unreadable::Io(error)) => prop_assert!(false, "{error}"),
        }
    }
}
