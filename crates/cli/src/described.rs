//! A cluster described by options instead of a scenario file.

use fanin::{Bytes, ParseError, Rate, Scenario, Time};

use crate::arguments::ClusterArguments;
use crate::failure::Failure;

/// Bits that a run may send at line rate if it lasts longer than a second.
const MOST_BITS: u64 = 125_000_000_000;
/// The default switch.
const USUAL_SWITCH: &str = "arista-7050cx3";

/// The arguments that describe this cluster, for printed commands, and its scenario.
pub fn described(cluster: &ClusterArguments, servers: Option<&str>) -> Result<(Vec<String>, Scenario), Failure> {
    let (servers, rate, answer) = needed(cluster, servers)?;
    let wrong = |said: &str, why: ParseError, right: &str| Failure::Input(format!("{said}: {why}; give {right}"));
    let arguments = [
        ("sweep.fan_in", format!("--servers {servers}")),
        ("link.rate", format!("--rate {rate}")),
        ("workload.fragment", format!("--answer {answer}")),
    ];
    let servers = number("--servers", servers)?;
    let rate: Rate =
        rate.parse().map_err(|why| wrong(&arguments[1].1, why, "a rate with its unit, such as 25Gbit/s"))?;
    let answer: Bytes =
        answer.parse().map_err(|why| wrong(&arguments[2].1, why, "bytes with their unit, such as 1MiB"))?;
    let mut words: Vec<String> = ["--servers", "--rate", "--answer"].map(String::from).to_vec();
    words.insert(1, servers.to_string());
    words.insert(3, rate.to_string().replace(' ', ""));
    words.push(answer.to_string().replace(' ', ""));
    let mut scenario = Scenario::made_of(&arguments, text_of(servers, rate, answer, None, "linux"))?;
    let mut arguments = arguments.to_vec();
    if cluster.switch.is_none() {
        arguments.push(("switch.profile", format!("--switch {USUAL_SWITCH} (assumed)")));
    }
    for (flag, key, value) in [
        ("switch", "switch.profile", &cluster.switch),
        ("tcp", "tcp.profile", &cluster.tcp),
        ("clients", "workload.clients", &cluster.clients),
    ] {
        if let Some(value) = value {
            let argument = format!("--{flag} {value}");
            scenario.set_by(&argument, &format!("{key}={value}"))?;
            arguments.push((key, argument));
            words.extend([format!("--{flag}"), value.clone()]);
        }
    }
    let text = text_of(servers, rate, answer, cluster.switch.as_deref(), cluster.tcp.as_deref().unwrap_or("linux"));
    let mut scenario = Scenario::made_of(&arguments, text)?;
    if let Some(clients) = &cluster.clients {
        let text = scenario.text_with(&[format!("workload.clients={clients}")])?;
        scenario = Scenario::made_of(&arguments, text)?;
    }
    scenario.resolve()?;
    Ok((words, scenario))
}

/// The required options: servers, rate and response size; the error names all that are missing.
fn needed<'a>(cluster: &'a ClusterArguments, servers: Option<&'a str>) -> Result<(&'a str, &'a str, &'a str), Failure> {
    let (rate, answer) = (cluster.rate.as_deref(), cluster.answer.as_deref());
    if let (Some(servers), Some(rate), Some(answer)) = (servers, rate, answer) {
        return Ok((servers, rate, answer));
    }
    let all = [(servers, "--servers 48"), (rate, "--rate 25Gbit/s"), (answer, "--answer 1MiB")];
    let missing: Vec<&str> = all.iter().filter(|(value, _)| value.is_none()).map(|(_, such_as)| *such_as).collect();
    Err(Failure::Input(format!(
        "without a file, --servers, --rate and --answer are required: add {}, or give a file",
        missing.join(" ")
    )))
}

/// The scenario, with comments on assumed values.
fn text_of(servers: u32, rate: Rate, answer: Bytes, switch: Option<&str>, tcp: &str) -> String {
    // A fast link needs less time for as many packets.
    let duration = Time::from_millis((MOST_BITS * 1_000 / rate.0.max(1)).clamp(1_000, 5_000));
    let (profile, assumed) = switch.map_or((USUAL_SWITCH, "  # assumed; set with --switch"), |name| (name, ""));
    format!(
        r#"# A cluster described by options; values marked "assumed" were not given.
title = "{servers} servers with responses of {answer} at {rate}"
schemes = ["cubic"]  # assumed: Linux's default

[link]
rate = "{rate}"
delay = "2 us"  # assumed: cable and switch latency

[switch]
profile = "{profile}"{assumed}

[host]
service_time = "20 us"    # assumed: some tens of microseconds
service_jitter = "50 us"  # assumed: responses of real servers do not start simultaneously

[tcp]
profile = "{tcp}"

[workload]
kind = "barrier"  # assumed: the client requests from all, waits, and repeats
fragment = "{answer}"
duration = "{duration}"

[sweep]
fan_in = [{servers}]

[run]
seeds = 5
"#
    )
}

/// The number of servers of an option.
pub fn number(flag: &str, text: &str) -> Result<u32, Failure> {
    let number = text.trim().parse().ok().filter(|n| (1..=1_000_000).contains(n));
    number.ok_or_else(|| {
        Failure::Input(format!("{flag} {text}: not a number of servers; use a whole number from 1 to 1000000"))
    })
}

/// The number of servers that respond to a request: `12`, or the twelve data servers of an erasure code `12+4`.
pub fn stripe(text: &str, servers: u32) -> Result<u32, Failure> {
    let wrong = |_| {
        Failure::Input(format!(
            "--stripe {text}: not a stripe; use a number of servers, or data and parity, such as 12+4"
        ))
    };
    let number = |text: &str| number("--stripe", text).map_err(wrong);
    let (data, parity) = text.split_once('+').map_or((text, None), |(data, parity)| (data, Some(parity)));
    let data = number(data)?;
    let all = data + parity.map_or(Ok(0), number)?;
    match all <= servers {
        true => Ok(data),
        false => Err(Failure::Input(format!(
            "--stripe {text}: {all} of {servers} servers; data and parity together must be at most {servers}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_make_a_scenario() {
        let text = text_of(12, "25 Gbit/s".parse().unwrap(), "1 MiB".parse().unwrap(), None, "linux");
        let scenario = Scenario::parse("x.toml", text).unwrap().resolve().unwrap();
        assert_eq!(scenario.variants()[0].points[0].settings.servers(), 12);
    }

    #[test]
    fn data_servers_of_an_erasure_code_respond() {
        let of = |text, servers| stripe(text, servers).ok();
        assert_eq!([of("12+4", 16), of("12", 12), of("12 + 4", 40)], [Some(12); 3]);
        assert_eq!(
            [of("12+4", 15), of("13", 12), of("12+", 20), of("+4", 20), of("0+4", 20), of("6+3+1", 20)],
            [None; 6]
        );
    }
}
