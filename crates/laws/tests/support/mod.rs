//! Laws as the vectors' words drive them.

use std::convert::Infallible;
use std::num::NonZeroU32;

use fanin_laws::port::codel::{self, CoDel, Resume};
use fanin_laws::port::many_to_one::{Form, ManyToOne, NO_OFFER};
use fanin_laws::port::red::{self, Red, Thresholds};
use fanin_laws::port::{self, Departure, Discipline, Drop, Header, Queue, Verdict};
use fanin_laws::sender::cubic::{self, Cubic};
use fanin_laws::sender::d2tcp::D2tcp;
use fanin_laws::sender::dctcp::{self, Dctcp};
use fanin_laws::sender::gentle_slow_start::GentleSlowStart;
use fanin_laws::sender::l2dct::L2dct;
use fanin_laws::sender::max_cwnd::MaxCwnd;
use fanin_laws::sender::{Ack, Base, Cause, Congestion, Law, Variant, Window};
use fanin_units::{QueueSize, Rate, Time};
use rand_core::TryRng;
use serde_json::{Value, json};

/// A number, or zero where there is none.
pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// A share from 0 to 1 in fixed point, to the nearest.
fn fixed(value: &Value, bits: u32) -> u64 {
    (number(value) * (1u64 << bits) as f64).round() as u64
}

fn micros(value: &Value) -> Time {
    Time::from_micros(whole(value))
}

/// A sender's law and its window.
pub struct Flow {
    law: Law,
    window: Window,
    una: u64,
}

impl Flow {
    pub fn new(name: &str, case: &Value) -> Flow {
        let settings = &case["settings"];
        let dctcp = || dctcp::Params {
            g_q16: fixed(&settings["g"], 16) as u32,
            initial_alpha_q16: fixed(&settings["initial_alpha"], 16) as u32,
        };
        let option_bytes = whole(&settings["option_bytes"]) as u8;
        let cap = match settings["count_in_buffer"].as_u64() {
            Some(buffer) => MaxCwnd::counting(buffer as u32, option_bytes),
            None => MaxCwnd::new(option_bytes),
        };
        let base = match name {
            "cubic" => Base::Cubic(Cubic::new(cubic::Params {
                beta_q10: fixed(&settings["beta"], 10) as u32,
                c_q10: fixed(&settings["c"], 10) as u32,
                fast_convergence: settings["fast_convergence"] == true,
            })),
            "dctcp" => Base::Dctcp(Dctcp::new(&dctcp()), Variant::Plain),
            "d2tcp" => Base::Dctcp(Dctcp::new(&dctcp()), Variant::D2tcp(D2tcp::NEW)),
            "l2dct" => Base::Dctcp(Dctcp::new(&dctcp()), Variant::L2dct(L2dct::NEW)),
            _ => Base::NewReno,
        };
        let law = Law {
            mss: whole(&settings["mss"]) as u32,
            base,
            slow_start: (name == "gentle_slow_start").then(GentleSlowStart::default),
            cap: (name == "max_cwnd").then_some(cap),
        };
        Flow { law, window: window(&case["start"]), una: 1 }
    }

    pub fn step(&mut self, step: &Value) -> Vec<(&'static str, Value)> {
        let mut cut = None;
        if let Some(ack) = step.get("ack") {
            let ack = self.ack(ack);
            self.law.observe(&ack);
            self.law.grow(&ack, &mut self.window);
        } else if let Some(ack) = step.get("observe") {
            let ack = self.ack(ack);
            self.law.observe(&ack);
        } else if let Some(cause) = step.get("cut") {
            let cause = match cause.as_str() {
                Some("loss") => Cause::Loss,
                Some("timeout") => Cause::Timeout,
                Some("ecn") => Cause::Ecn,
                _ => panic!("no such cause: {cause}"),
            };
            let at = Congestion {
                now: micros(&step["now_us"]),
                flight: whole(&step["flight"]) as u32,
                una: self.una,
                srtt: micros(&step["srtt_us"]),
            };
            cut = Some(self.law.cut(cause, &at, &self.window));
        } else if let Some(offer) = step.get("allot") {
            self.law.allot(whole(offer) as u32);
        } else if let Some(bytes) = step.get("begin") {
            let deadline = step.get("deadline_us").map_or(Time::NEVER, micros);
            self.law.begin(self.una, self.una + whole(bytes), deadline);
        } else if let Some(rtt) = step.get("sample_us") {
            self.law.sample(micros(rtt));
        } else if let Some(set) = step.get("set") {
            self.window = window(set);
        } else {
            panic!("no such step: {step}");
        }
        let alpha_q16 = match (&self.law.base, &self.law.slow_start) {
            (_, Some(gss)) => gss.alpha_q16(),
            (Base::Dctcp(dctcp, _), None) => dctcp.alpha_q16().into(),
            _ => 0,
        };
        vec![
            ("cwnd", json!(self.window.cwnd)),
            ("usable", json!(self.law.usable(&self.window))),
            ("cut", json!(cut)),
            ("alpha", json!(alpha_q16 as f64 / 65_536.0)),
        ]
    }

    fn ack(&mut self, ack: &Value) -> Ack {
        let acked = whole(&ack["acked"]) as u32;
        self.una = ack["una"].as_u64().unwrap_or(self.una + u64::from(acked));
        Ack {
            now: micros(&ack["now_us"]),
            acked,
            una: self.una,
            nxt: ack["nxt"].as_u64().unwrap_or(self.una),
            ece: ack["ece"] == true,
            rtt: ack.get("rtt_us").map(micros),
            srtt: micros(&ack["srtt_us"]),
        }
    }
}

fn window(value: &Value) -> Window {
    Window { cwnd: whole(&value["cwnd"]) as u32, ssthresh: whole(&value["ssthresh"]) as u32 }
}

/// A source of randomness that gives what the vector says.
struct Draw(f64);

impl TryRng for Draw {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.0 * 4_294_967_296.0) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from(self.try_next_u32()?) << 32)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill((self.0 * 256.0) as u8);
        Ok(())
    }
}

/// A port's law.
pub struct Port {
    law: port::Law,
}

impl Port {
    pub fn new(name: &str, case: &Value) -> Port {
        let settings = &case["settings"];
        let discipline = match name {
            "ecn_threshold" => Discipline::EcnThreshold(size(settings, "k").expect("k")),
            "red" => Discipline::Red(Red::new(red::Params {
                thresholds: Thresholds::new(size(settings, "min").expect("min"), size(settings, "max").expect("max")),
                max_p_q16: fixed(&settings["max_p"], 16) as u32,
                weight_q32: fixed(&settings["weight"], 32) as u32,
                instantaneous: settings["instantaneous"] == true,
                gentle: settings["gentle"] == true,
                wait: settings["wait"] == true,
                byte_mode: settings["mean_packet"].as_u64().and_then(|mean| NonZeroU32::new(mean as u32)),
                ecn: settings["ecn"] == true,
                rate: Rate(whole(&settings["rate_bit_s"])),
            })),
            "codel" => Discipline::CoDel(CoDel::new(codel::Params {
                target: micros(&settings["target_us"]),
                interval: micros(&settings["interval_us"]),
                max_packet: whole(&settings["max_packet"]),
                ecn: settings["ecn"] == true,
                resume: if settings["resume"] == "ns-2" { Resume::Ns2 } else { Resume::Rfc8289 },
            })),
            _ => Discipline::DropTail,
        };
        let form = if settings["count"] == true { Form::Count } else { Form::Window };
        let many_to_one = (name == "many_to_one").then(|| ManyToOne::new(form, whole(&settings["buffer"])));
        Port { law: port::Law { limit: size(settings, "limit"), discipline, many_to_one } }
    }

    pub fn step(&mut self, step: &Value) -> Vec<(&'static str, Value)> {
        if let Some(sojourn) = step.get("sojourn_us") {
            return self.leave(step, micros(sojourn));
        }
        let queue = Queue {
            bytes: whole(&step["queue"]["bytes"]),
            packets: whole(&step["queue"]["packets"]) as u32,
            idle_since: step["queue"].get("idle_since_us").map(micros),
        };
        let header = Header {
            bytes: whole(&step["bytes"]) as u32,
            ect: step["ect"] == true,
            flow: whole(&step["flow"]) as u32,
            opens: step["opens"] == true,
            closes: step["closes"] == true,
            offer: step["carries"].as_u64().map_or(NO_OFFER, |offer| offer as u32),
        };
        let headers = match step.get("flows_open") {
            Some(flows) => (0..whole(flows) as u32).map(|flow| Header { flow, opens: true, ..header }).collect(),
            None => vec![header],
        };
        let mut verdict = Verdict::Drop(Drop::Full);
        for header in headers {
            verdict = self.law.enqueue(micros(&step["now_us"]), &queue, &header, &mut Draw(number(&step["draw"])));
        }
        let (says, offer) = match verdict {
            Verdict::Admit { mark, offer } => (if mark { "mark" } else { "pass" }, offer),
            Verdict::Drop(Drop::Full) => ("full", None),
            Verdict::Drop(Drop::Early) => ("early", None),
            Verdict::Drop(Drop::NotEct) => ("not_ect", None),
        };
        let avg = match &self.law.discipline {
            Discipline::Red(red) => Some(red.avg_q16() as f64 / 65_536.0),
            _ => None,
        };
        vec![("expect", json!(says)), ("expect_offer", json!(offer)), ("expect_avg", json!(avg))]
    }
}

impl Port {
    /// A packet that would leave.
    fn leave(&mut self, step: &Value, sojourn: Time) -> Vec<(&'static str, Value)> {
        let departure = self.law.dequeue(micros(&step["now_us"]), sojourn, whole(&step["behind"]), step["ect"] == true);
        let says = match departure {
            Departure::Pass { mark: true } => "mark",
            Departure::Pass { mark: false } => "pass",
            Departure::Drop(Drop::NotEct) => "not_ect",
            Departure::Drop(_) => "early",
        };
        let count = match &self.law.discipline {
            Discipline::CoDel(codel) => Some(codel.count()),
            _ => None,
        };
        vec![("expect", json!(says)), ("expect_count", json!(count))]
    }
}

/// A size in whichever unit the settings have it: `name_bytes` or `name_packets`.
fn size(settings: &Value, name: &str) -> Option<QueueSize> {
    let bytes = settings[format!("{name}_bytes")].as_u64().map(QueueSize::Bytes);
    bytes.or_else(|| settings[format!("{name}_packets")].as_u64().map(|packets| QueueSize::Packets(packets as u32)))
}
