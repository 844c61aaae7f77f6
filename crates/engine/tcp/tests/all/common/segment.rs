//! Segments in script notation.

use fanin_laws::port::HeaderOption;
use fanin_tcp::{Block, Flags, HeaderOptions, Segment};
use fanin_units::Time;

use super::{at, millis, number};

/// A segment with its options.
#[derive(Clone, Debug)]
pub struct Sent {
    pub segment: Segment,
    pub sack: Vec<Block>,
    pub notes: Option<HeaderOptions>,
}

/// A script's description of a segment.
#[derive(Clone, Debug)]
pub struct Spec {
    flags: Flags,
    start: u64,
    end: u64,
    ack: u64,
    window: Option<u32>,
    sack: Vec<Block>,
    header: Option<u8>,
    offer: Option<u32>,
    echo: Option<u32>,
    ts: Option<Time>,
    ecr: Option<Time>,
}

impl Spec {
    /// Reads `FLAGS START:END [ack N] …`.
    pub fn parse(text: &str) -> Result<Spec, String> {
        let mut words = text.split_whitespace().peekable();
        let flags = flags(words.next().ok_or("no flags")?)?;
        let Block { start, end } = range(words.next().ok_or("no START:END")?)?;
        let none = (None, None, None, None, None, None);
        let (window, header, offer, echo, ts, ecr) = none;
        let mut spec = Spec { flags, start, end, ack: 0, window, sack: Vec::new(), header, offer, echo, ts, ecr };
        while let Some(word) = words.next() {
            match word {
                "ect" => spec.flags |= Flags::ECT,
                "ce" => spec.flags |= Flags::CE | Flags::ECT,
                "sack" => {
                    while let Some(block) = words.next_if(|word| word.contains(':')) {
                        spec.sack.push(range(block)?);
                    }
                }
                _ => {
                    let value = words.next().ok_or(format!("{word} needs a value"))?;
                    match word {
                        "ack" => spec.ack = number(value)?,
                        "win" => spec.window = Some(number(value)?),
                        "hdr" => spec.header = Some(number(value)?),
                        "offer" => spec.offer = Some(number(value)?),
                        "echo" => spec.echo = Some(number(value)?),
                        "ts" => spec.ts = Some(at(value)?),
                        "ecr" => spec.ecr = Some(at(value)?),
                        _ => return Err(format!("no such word: {word}")),
                    }
                }
            }
        }
        Ok(spec)
    }

    /// The segment that arrives; its timestamp is the time unless the script has another.
    pub fn sent(&self, now: Time) -> Sent {
        let segment = Segment {
            seq: self.start as u32,
            ack: self.ack as u32,
            window: self.window.unwrap_or(1_000_000),
            ts_val: micros(self.ts.unwrap_or(now)),
            ts_ecr: micros(self.ecr.unwrap_or(Time::ZERO)),
            len: (self.end - self.start) as u16,
            header: self.header.unwrap_or(40),
            flags: self.flags,
        };
        let [written, echoed] =
            [self.offer, self.echo].map(|mcw| mcw.map_or(HeaderOption::BLANK, |mcw| HeaderOption { mcw }));
        Sent { segment, sack: self.sack.clone(), notes: Some(HeaderOptions { written, echoed }) }
    }

    /// Compare a sent segment with the script's; returns the difference.
    pub fn matches(&self, sent: &Sent) -> Result<(), &'static str> {
        let Sent { segment: sent, sack, notes } = sent;
        let [offer, echo] = handed(*notes);
        fn differs<T: PartialEq>(wanted: Option<T>, found: T) -> bool {
            wanted.is_some_and(|wanted| wanted != found)
        }
        if sent.flags != self.flags {
            Err("other flags were sent")
        } else if sent.seq != self.start as u32 || u64::from(sent.len) != self.end - self.start {
            Err("other data was sent")
        } else if self.flags.any(Flags::ACK) && sent.ack != self.ack as u32 {
            Err("another acknowledgement was sent")
        } else if *sack != self.sack {
            Err("other SACK blocks were sent")
        } else if differs(self.window, sent.window) {
            Err("another window was sent")
        } else if differs(self.header, sent.header) {
            Err("another header size was sent")
        } else if differs(self.offer, offer) || differs(self.echo, echo) {
            Err("another window option was sent")
        } else if differs(self.ts.map(micros), sent.ts_val) || differs(self.ecr.map(micros), sent.ts_ecr) {
            Err("another timestamp was sent")
        } else {
            Ok(())
        }
    }
}

/// Windows that ports assigned along a segment's path and along the reverse path; all ones if none did.
fn handed(notes: Option<HeaderOptions>) -> [u32; 2] {
    notes.map_or([u32::MAX; 2], |HeaderOptions { written, echoed }| [written.mcw, echoed.mcw])
}

/// A segment in script notation.
pub fn show(Sent { segment, sack, notes }: &Sent) -> String {
    let [offer, echo] = handed(*notes);
    let Segment { seq, ack, header, .. } = *segment;
    let mut text: String =
        FLAGS.iter().filter(|(_, flag)| segment.flags.any(*flag)).map(|(letter, _)| *letter).collect();
    text.push_str(&format!(" {seq}:{} ack {ack} win {} hdr {header}", seq + u32::from(segment.len), segment.window));
    for (index, block) in sack.iter().enumerate() {
        text.push_str(if index == 0 { " sack " } else { " " });
        text.push_str(&format!("{}:{}", block.start, block.end));
    }
    for (name, flag) in [(" ect", Flags::ECT), (" ce", Flags::CE)] {
        text.push_str(if segment.flags.any(flag) { name } else { "" });
    }
    for (name, value) in [(" offer", offer), (" echo", echo)] {
        text.push_str(&if value == u32::MAX { String::new() } else { format!("{name} {value}") });
    }
    for (name, value) in [(" ts", segment.ts_val), (" ecr", segment.ts_ecr)] {
        let time = Time::from_micros(value.into());
        text.push_str(&if value == 0 { String::new() } else { format!("{name} {}", millis(time)) });
    }
    text
}

const FLAGS: [(char, Flags); 6] =
    [('S', Flags::SYN), ('F', Flags::FIN), ('R', Flags::RST), ('.', Flags::ACK), ('E', Flags::ECE), ('W', Flags::CWR)];

fn flags(text: &str) -> Result<Flags, String> {
    let mut flags = Flags::NONE;
    for letter in text.chars() {
        let known = FLAGS.iter().find(|(name, _)| *name == letter);
        flags |= known.ok_or(format!("no such flag: {letter}"))?.1;
    }
    Ok(flags)
}

fn range(text: &str) -> Result<Block, String> {
    let (start, end) = text.split_once(':').ok_or(format!("not START:END: {text}"))?;
    Ok(Block { start: number(start)?, end: number(end)? })
}

fn micros(time: Time) -> u32 {
    (time.0 / 1_000_000) as u32
}
