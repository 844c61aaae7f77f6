//! Counters as text: output of `nstat`, `/proc/net/netstat`, `ss -ti`, `ethtool -S` and `tc -s`, printed once or repeatedly, and tables
//! from switches or with a row per millisecond.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};

use crate::diagnosis::InputFound;

/// Maximum number of names per input.
const MOST: usize = 20_000;
/// A longer line is not output of these tools.
const LONGEST: u64 = 1 << 16;

/// Format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Nstat,
    Proc,
    Ss,
    Ethtool,
    Tc,
    Table,
}

/// One counter over a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Count {
    first: f64,
    last: f64,
    most: f64,
    sum: f64,
    seen: u64,
}

/// Counters of one input.
pub(crate) struct Counters {
    name: String,
    form: Form,
    /// By name and owner, which is a queue or a port.
    counts: BTreeMap<(String, String), Count>,
    /// Owner of the following values.
    whose: String,
    bytes: u64,
    /// The columns of a table, or the names in the last line of `/proc`.
    head: Vec<String>,
    ends: Option<String>,
    /// Rows of a table, and those whose number of cells differs from the header's.
    rows: u64,
    ragged: u64,
}

impl Counters {
    /// Reads a text.
    pub fn read(name: &str, stream: &mut dyn Read) -> Result<Counters, String> {
        let mut reader = BufReader::new(stream);
        let mut counters: Option<Counters> = None;
        let (mut bytes, mut line, mut begun) = (0u64, Vec::new(), false);
        loop {
            line.clear();
            let told = (&mut reader).take(LONGEST).read_until(b'\n', &mut line);
            let ends = match told {
                Ok(0) => break,
                Ok(_) if line.len() as u64 == LONGEST => Some("a line of more than 64 KiB".to_string()),
                Ok(_) => None,
                Err(error) => Some(format!("cannot read further: {error}")),
            };
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end();
            // A table starts with its header. Prose has commas, too, so only the first line can start a table.
            let known = form(text).filter(|form| *form != Form::Table || !begun);
            begun |= !text.is_empty();
            if counters.is_none()
                && let Some(form) = known
            {
                counters = Some(Counters {
                    name: name.into(),
                    form,
                    counts: BTreeMap::new(),
                    whose: String::new(),
                    bytes: 0,
                    head: Vec::new(),
                    ends: None,
                    rows: 0,
                    ragged: 0,
                });
            }
            if let Some(counters) = &mut counters {
                counters.line(text);
                counters.ends = ends.as_ref().map(|why| format!("at byte {bytes}: {why}"));
            }
            bytes += line.len() as u64;
            if ends.is_some() {
                break;
            }
        }
        // Output of `ss` may contain no connections. Any other text without a number is of an unknown format, and so is a table with too
        // many ragged rows.
        let found = counters.filter(|counters| {
            let empty = counters.counts.is_empty() && counters.form != Form::Ss;
            let known =
                |(name, _): &(String, String)| [&GROWING[..], &LEVELS, &AMOUNTS].iter().any(|all| has(name, all));
            let foreign = counters.form == Form::Table && !counters.counts.keys().any(known);
            !empty && !foreign && counters.ragged <= counters.rows / 20
        });
        let mut found = found.ok_or_else(|| {
            format!(
                "{name}: unknown text format; use the output of nstat, cat /proc/net/netstat, ss -ti, \
                 ethtool -S or tc -s, or a table (CSV) whose header names drops, errors, queues, bytes or retransmissions"
            )
        })?;
        found.bytes = bytes;
        Ok(found)
    }

    fn line(&mut self, line: &str) {
        match self.form {
            Form::Nstat => {
                let mut words = line.split_whitespace();
                if let (Some(name), Some(value)) = (words.next(), words.next().and_then(number)) {
                    // Each print shows the increase since the previous one.
                    self.add(name, value);
                }
            }
            Form::Proc => self.proc(line),
            Form::Ss => self.ss(line),
            Form::Ethtool => {
                if let Some((name, value)) = line.split_once(':')
                    && let Some(value) = number(value.trim())
                {
                    self.add(name.trim(), value);
                }
            }
            Form::Tc => self.tc(line),
            Form::Table => self.row(line),
        }
    }

    fn add(&mut self, name: &str, value: f64) {
        let key = (name.to_string(), self.whose.clone());
        if self.counts.len() >= MOST && !self.counts.contains_key(&key) {
            return;
        }
        let count = self.counts.entry(key).or_insert(Count { first: value, ..Count::default() });
        count.last = value;
        count.most = count.most.max(value);
        count.sum += value;
        count.seen += 1;
    }

    fn proc(&mut self, line: &str) {
        let Some((group, rest)) = line.split_once(':') else { return };
        let words: Vec<&str> = rest.split_whitespace().collect();
        if words.first().is_some_and(|word| number(word).is_none()) {
            self.head = words.iter().map(|word| format!("{group}{word}")).collect();
            return;
        }
        let head = std::mem::take(&mut self.head);
        for (name, value) in head.iter().zip(&words) {
            if name.starts_with(group)
                && let Some(value) = number(value)
            {
                self.add(name, value);
            }
        }
    }

    fn ss(&mut self, line: &str) {
        for word in line.split_whitespace() {
            let Some((name, value)) = word.split_once(':') else { continue };
            if !name.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
                continue;
            }
            // `retrans:0/3` shows the current and the total number: take the total.
            let value = value.rsplit('/').next().filter(|_| name == "retrans").unwrap_or(value);
            if let Some(value) = number(value.split(['/', ',']).next().unwrap_or(value).trim_end_matches("ms")) {
                self.add(name, value);
            }
        }
    }

    fn tc(&mut self, line: &str) {
        let words: Vec<&str> =
            line.split(|c: char| c.is_whitespace() || "(),".contains(c)).filter(|w| !w.is_empty()).collect();
        if let ["qdisc", queue @ ..] = words.as_slice() {
            // Kind, handle, device and parent: queues of one card may differ in the parent alone.
            let named = queue.iter().take(6).take_while(|word| !["refcnt", "limit", "r2q"].contains(word));
            self.whose = named.copied().collect::<Vec<_>>().join(" ");
        }
        for pair in words.windows(2) {
            let ["dropped" | "overlimits" | "requeues" | "marked" | "ecn_mark" | "drop_overlimit" | "backlog", value] =
                pair
            else {
                continue;
            };
            if let Some(value) = sized(value) {
                self.add(pair[0], value);
            }
        }
        if let ["Sent", bytes, "bytes", ..] = words.as_slice()
            && let Some(bytes) = number(bytes)
        {
            self.add("sent_bytes", bytes);
        }
    }

    fn row(&mut self, line: &str) {
        let cells: Vec<&str> = line.split(',').map(|cell| cell.trim().trim_matches('"')).collect();
        if self.head.is_empty() {
            self.head = cells.iter().map(|cell| (*cell).to_string()).collect();
            return;
        }
        self.rows += 1;
        self.ragged += u64::from(cells.len() != self.head.len());
        let head = std::mem::take(&mut self.head);
        let named = head.iter().zip(&cells).filter(|(name, cell)| names(name, cell)).map(|(_, cell)| *cell);
        self.whose = named.collect::<Vec<_>>().join(" ");
        for (name, cell) in head.iter().zip(&cells).filter(|(name, cell)| !names(name, cell)) {
            if let Some(value) = number(cell) {
                self.add(name, value);
            }
        }
        self.head = head;
    }

    /// All counters of a name.
    fn counts<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = (&'a str, &'a Count)> + use<'a, 'n> {
        let all = self.counts.range((name.to_string(), String::new())..);
        all.take_while(move |((of, _), _)| of == name).map(|((_, whose), count)| (whose.as_str(), count))
    }

    /// The increase of a counter, summed over owners: last minus first of a series, the value itself if there is only one.
    fn grew(&self, name: &str) -> Option<f64> {
        let grew = |count: &Count| match (self.form, count.seen) {
            (Form::Nstat, _) => count.sum,
            (_, 1) => count.last,
            _ => (count.last - count.first).max(0.0),
        };
        self.counts(name).map(|(_, count)| grew(count)).reduce(|sum, one| sum + one)
    }

    /// The maximum of a value, and its owner.
    fn most(&self, name: &str) -> Option<(f64, &str)> {
        let most = self.counts(name).max_by(|a, b| a.1.most.total_cmp(&b.1.most));
        most.map(|(whose, count)| (count.most, whose))
    }

    /// Whether all totals were printed once, so that they cover all time since boot.
    fn is_of_all_time(&self, name: &str) -> bool {
        !matches!(self.form, Form::Nstat) && self.counts(name).all(|(_, count)| count.seen == 1)
    }

    /// Whether these are counters of TCP with timeouts.
    fn has_timeouts(&self) -> bool {
        // nstat leaves out counters that did not grow.
        self.form == Form::Nstat || self.grew("TcpExtTCPTimeouts").is_some()
    }

    /// Drops by a table's columns, or by a card's counters.
    fn drops(&self) -> f64 {
        let mut names: Vec<&str> = self.counts.keys().map(|(name, _)| name.as_str()).collect();
        names.dedup();
        let named = names.iter().filter(|name| matches!(self.form, Form::Table | Form::Ethtool) && is_drop(name));
        named.filter_map(|name| self.grew(name)).fold(0.0, |sum, one| sum + one)
    }

    /// The relevant counters in sentences.
    pub fn says(&self) -> Vec<String> {
        let mut says = Vec::new();
        let mut say = |what: &str, value: Option<f64>, of: &str| {
            if let Some(value) = value.filter(|value| *value > 0.0) {
                says.push(format!("{}: {what}: {value}{of}", self.name));
            }
        };
        let total = |name: &str| if self.is_of_all_time(name) { SINCE } else { "" };
        let whose = |most: Option<(f64, &str)>| match most {
            Some((value, whose)) if !whose.is_empty() => (Some(value), format!(" ({whose})")),
            other => (other.map(|(value, _)| value), String::new()),
        };
        match self.form {
            Form::Nstat | Form::Proc => {
                for (name, what) in COUNTED {
                    say(what, self.grew(name), total(name));
                }
            }
            Form::Ss => {
                for (name, what) in OF_SOCKETS {
                    say(what, self.most(name).map(|(value, _)| value), "");
                }
            }
            Form::Tc => {
                say("packets dropped by queues", self.grew("dropped"), total("dropped"));
                let marked = if self.grew("marked").is_some() { "marked" } else { "ecn_mark" };
                say("packets marked by queues", self.grew(marked), total(marked));
                let (most, of) = whose(self.most("backlog"));
                say("longest backlog, bytes", most, &of);
            }
            Form::Ethtool | Form::Table => {
                let mut names: Vec<&str> = self.counts.keys().map(|(name, _)| name.as_str()).collect();
                names.dedup();
                for name in names {
                    if has(name, &GROWING) {
                        say(name, self.grew(name), total(name));
                    } else if has(name, &LEVELS) {
                        let (most, of) = whose(self.most(name));
                        say(&format!("maximum of {name}"), most, &of);
                    } else if self.form == Form::Table && has(name, &AMOUNTS) {
                        let (most, of) = whose(self.most(name));
                        say(&format!("maximum of {name} in one row"), most, &of);
                    }
                }
            }
        }
        says
    }

    /// As an input.
    pub fn input(&self) -> InputFound {
        let kind = match self.form {
            Form::Nstat => "nstat",
            Form::Proc => "/proc/net",
            Form::Ss => "ss",
            Form::Ethtool => "ethtool",
            Form::Tc => "tc",
            Form::Table => "table",
        };
        InputFound {
            name: self.name.clone(),
            kind,
            packets: 0,
            tcp: 0,
            bytes: self.bytes,
            span_s: 0.0,
            ends: self.ends.clone(),
            place: None,
            lacking: 0,
        }
    }

    /// The verdict from counters only.
    pub fn verdict(counters: &[Counters]) -> String {
        // The sum of no numbers is a negative zero.
        let sum = |name: &str| counters.iter().filter_map(|one| one.grew(name)).fold(0.0, |sum, one| sum + one);
        let (timeouts, probes) = (sum("TcpExtTCPTimeouts"), sum("TcpExtTCPLossProbes"));
        let (resent, shut) = (sum("TcpRetransSegs"), sum("TcpExtTCPToZeroWindowAdv"));
        let mut says = match (timeouts > 0.0, probes > 0.0) {
            (true, _) => format!(
                "{timeouts} retransmission timeouts and {resent} retransmitted segments, due to incast or other losses"
            ),
            (false, true) => format!("{probes} tail-loss probes and no timeouts: losses with little effect"),
            _ if counters.iter().any(Counters::has_timeouts) => "no timeouts".into(),
            _ => "the counters do not include TCP's timeouts".into(),
        };
        let dropped = sum("dropped") + counters.iter().map(Counters::drops).sum::<f64>();
        if dropped > 0.0 {
            says += &format!("; queues dropped {dropped} packets");
        }
        if shut > 0.0 {
            says += &format!("; {shut} zero windows, which are not the network's fault");
        }
        if counters.iter().any(|one| one.form == Form::Proc && one.is_of_all_time("TcpExtTCPTimeouts")) {
            says += "; these are totals since boot: print them before and after to get the difference";
        }
        says + ". Counters do not show simultaneous responses: capture the client's packets with `fanin record`"
    }
}

/// Words in the names of counters of a card or of a table's columns: those that grow, levels, and amounts per row.
const GROWING: [&str; 7] = ["drop", "discard", "error", "crc", "missed", "no_buffer", "pause"];
const LEVELS: [&str; 5] = ["watermark", "occupancy", "queue", "buffer_bytes", "peak"];
const AMOUNTS: [&str; 4] = ["bytes", "conn", "retx", "retrans"];

fn has(name: &str, words: &[&str]) -> bool {
    let low = name.to_lowercase();
    words.iter().any(|word| low.contains(word))
}

fn is_drop(name: &str) -> bool {
    has(name, &["drop", "discard"])
}

/// Suffix of totals that were printed once.
const SINCE: &str = ", since boot";

/// Relevant values of `ss`, as maxima over sockets.
const OF_SOCKETS: [(&str, &str); 5] = [
    ("rto", "largest retransmission timeout of a connection, ms"),
    ("retrans", "most retransmitted segments of a connection"),
    ("cwnd", "largest window, segments"),
    ("backoff", "largest backoff of a timeout"),
    ("rwnd_limited", "longest time that a connection was limited by the receive window, ms"),
];

/// Relevant counters of Linux.
const COUNTED: [(&str, &str); 11] = [
    ("TcpExtTCPTimeouts", "retransmission timeouts"),
    ("TcpRetransSegs", "retransmitted segments"),
    ("TcpExtTCPLossProbes", "tail-loss probes"),
    ("TcpExtTCPSpuriousRTOs", "spurious timeouts"),
    ("TcpExtTCPSynRetrans", "retransmitted SYNs"),
    ("TcpExtTCPToZeroWindowAdv", "zero windows"),
    ("TcpExtTCPRcvQDrop", "segments dropped for lack of receive buffer"),
    ("TcpExtTCPBacklogDrop", "segments dropped at a socket's backlog"),
    ("TcpExtDelayedACKs", "delayed ACKs"),
    ("TcpExtListenDrops", "connections dropped at a listener"),
    ("IpExtInCEPkts", "packets marked by a queue"),
];

fn form(line: &str) -> Option<Form> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["#kernel", ..] => Some(Form::Nstat),
        [name, value, _]
            if number(value).is_some() && ["Tcp", "Ip", "Udp", "Icmp"].iter().any(|p| name.starts_with(p)) =>
        {
            Some(Form::Nstat)
        }
        [group, ..] if ["TcpExt:", "IpExt:", "Tcp:", "Ip:", "MPTcpExt:", "Icmp:"].contains(group) => Some(Form::Proc),
        ["NIC", "statistics:", ..] => Some(Form::Ethtool),
        ["qdisc", _, handle, ..] if handle.ends_with(':') => Some(Form::Tc),
        ["State" | "Netid", ..] if words.contains(&"Recv-Q") => Some(Form::Ss),
        words if ["rto:", "mss:"].iter().all(|has| words.iter().any(|word| word.starts_with(has))) => Some(Form::Ss),
        _ if line.split(',').count() >= 2
            && line.split(',').all(|cell| !cell.trim().is_empty() && number(cell).is_none()) =>
        {
            Some(Form::Table)
        }
        _ => None,
    }
}

/// Whether a cell names the row's owner: a word among numbers, or a column of names.
fn names(column: &str, cell: &str) -> bool {
    let low = column.to_lowercase();
    let named = ["port", "interface", "ifname", "queue", "queue_id", "lane", "priority", "host", "device", "switch"];
    named.contains(&low.as_str()) || (number(cell).is_none() && !["time", "date"].iter().any(|word| low.contains(word)))
}

fn number(word: &str) -> Option<f64> {
    word.trim().parse().ok().filter(|value: &f64| value.is_finite())
}

/// Parses sizes as `tc` prints them: `12Kb`, `3p`, `1514b`.
fn sized(word: &str) -> Option<f64> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match word.get(digits.len()..)? {
        "Kb" => 1024.0,
        "Mb" => 1024.0 * 1024.0,
        _ => 1.0,
    };
    Some(number(digits)? * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(text: &str) -> Vec<String> {
        Counters::read("x", &mut text.as_bytes()).unwrap().says()
    }

    #[test]
    fn detects_output_of_tools_by_content() {
        let nstat = "#kernel\nTcpRetransSegs                  12                 0.0\nTcpExtTCPTimeouts               3                  0.0\n";
        assert_eq!(says(nstat), ["x: retransmission timeouts: 3", "x: retransmitted segments: 12"]);
        let proc =
            "TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 0 10\nTcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 0 14\n";
        assert_eq!(says(proc), ["x: retransmission timeouts: 4"]);
        let tc = "qdisc bfifo 10: root refcnt 2 limit 64Kb\n Sent 9 bytes 2 pkt (dropped 31, overlimits 0 requeues 0)\n backlog 12Kb 9p requeues 0\n";
        let told = "x: packets dropped by queues: 31, since boot";
        assert_eq!(says(tc), [told, "x: longest backlog, bytes: 12288 (bfifo 10: root)"]);
        let ethtool = "NIC statistics:\n     rx_packets: 5\n     rx_dropped: 7\n";
        assert_eq!(says(ethtool), ["x: rx_dropped: 7, since boot"]);
        let ss = "ESTAB 0 0 10.0.0.1:80 10.0.0.2:4000 cubic rto:204 rtt:0.2/0.1 mss:1448 cwnd:10 retrans:0/3\n";
        assert!(says(ss).contains(&"x: most retransmitted segments of a connection: 3".to_string()));
        let table = "time,port,tx_drops,queue_watermark_bytes\n1,eth1,5,1000\n2,eth1,9,65536\n";
        assert_eq!(says(table), ["x: maximum of queue_watermark_bytes: 65536 (eth1)", "x: tx_drops: 4"]);
    }

    #[test]
    fn counts_queues_and_ports_separately_and_adds_them_up() {
        let queue = |number: u32, dropped: u32| {
            format!(
                "qdisc fq 0: dev eth0 parent :{number} limit 10p\n Sent 9 bytes 2 pkt (dropped {dropped}, overlimits 0)\n"
            )
        };
        let before_and_after = [queue(1, 5), queue(2, 900), queue(1, 8), queue(2, 904)].concat();
        assert_eq!(says(&before_and_after), ["x: packets dropped by queues: 7"]);
        let table = "time,port,drops,queue_bytes\n1,1,100,5\n1,2,7,9\n2,1,101,6\n2,2,9,4\n";
        assert_eq!(says(table), ["x: drops: 3", "x: maximum of queue_bytes: 9 (2)"]);
    }

    #[test]
    fn verdict_from_counters_names_drops_and_no_absent_counter() {
        let verdict = |text: &str| Counters::verdict(&[Counters::read("x", &mut text.as_bytes()).unwrap()]);
        let tc =
            "qdisc bfifo 10: root refcnt 2 limit 64Kb\n Sent 9 bytes 2 pkt (dropped 12, overlimits 0 requeues 0)\n";
        let says = verdict(tc);
        assert!(says.contains("dropped 12 packets") && !says.contains("no timeouts"), "{says}");
        let says = verdict("#kernel\nTcpExtTCPTimeouts               3                  0.0\n");
        assert!(says.contains("3 retransmission timeouts and 0 retransmitted"), "{says}");
        assert!(Counters::read("x", &mut "time,price\n1,5\n2,6\n".as_bytes()).is_err(), "no known column");
    }

    #[test]
    fn accepts_ss_output_without_connections() {
        assert!(says("State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\n").is_empty());
    }

    #[test]
    fn refuses_other_texts_with_the_known_formats() {
        let error = Counters::read("notes", &mut "Dear Sir\nor Madam\n".as_bytes()).err().unwrap();
        assert!(error.contains("notes") && error.contains("nstat"), "{error}");
        let letter = "Dear Sir,\nState of things, and more\n5, 6, 7\nfor 3, as always\nqdisc is a word\n";
        let prose = "one, two and three\n4, as ever\nno comma here\nand 5, 6, 7\n";
        for text in [letter, prose, "a,b\nc,d\n"] {
            assert!(Counters::read("x", &mut text.as_bytes()).is_err(), "{text}");
        }
    }
}
