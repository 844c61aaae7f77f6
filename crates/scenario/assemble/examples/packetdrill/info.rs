//! `%{ assert tcpi_… }%`: the socket's tcp_info, from the endpoint.

use fanin_tcp::{Endpoint, Marks, Phase};

/// TCP_INFINITE_SSTHRESH.
const UNLIMITED: i64 = 0x7fff_ffff;

/// Assertions of the script: how many assertions were compared, and how many have no counterpart in the endpoint.
#[derive(Clone, Copy, Default)]
pub struct Compared {
    pub asserted: u32,
    pub skipped: u32,
}

/// Checks the assertions of a block of code; returns the first that does not hold, with the value found.
pub fn check(code: &str, endpoint: &Endpoint, mss: u32, compared: &mut Compared) -> Result<(), String> {
    let state = State::of(endpoint, mss);
    for statement in code.split(['\n', ';']).map(|line| line.split('#').next().unwrap_or("").trim()) {
        let Some(claim) = statement.strip_prefix("assert ") else { continue };
        let claim = claim.split(',').next().unwrap_or(claim);
        match state.holds(claim) {
            Some((true, _)) => compared.asserted += 1,
            Some((false, found)) => return Err(format!("assert {}: it is {found}", claim.trim())),
            None => compared.skipped += 1,
        }
    }
    Ok(())
}

struct State {
    cwnd: i64,
    ssthresh: i64,
    marks: Option<Marks>,
}

impl State {
    fn of(endpoint: &Endpoint, mss: u32) -> State {
        // CUBIC keeps bytes that are not whole segments' worth; tcp_info counts whole ones.
        let (window, whole) = (endpoint.window(), |bytes: u32| i64::from(bytes / mss));
        State {
            cwnd: whole(window.cwnd),
            ssthresh: if window.ssthresh == u32::MAX { UNLIMITED } else { whole(window.ssthresh) },
            marks: endpoint.marks(),
        }
    }

    /// Whether a chain of comparisons holds, and its first unknown's value; `None` if the endpoint has no such value.
    fn holds(&self, claim: &str) -> Option<(bool, i64)> {
        let spaced =
            ["<=", ">=", "==", "!="].iter().fold(claim.to_string(), |text, op| text.replace(op, &format!(" {op} ")));
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let (mut all, mut found) = (true, 0);
        if words.len() < 3 || words.len().is_multiple_of(2) {
            return None;
        }
        for step in words.windows(3).step_by(2) {
            let (a, b) = (self.value(step[0])?, self.value(step[2])?);
            found = if step[0].starts_with("tcpi") { a } else { b };
            all &= match step[1] {
                "==" => a == b,
                "!=" => a != b,
                "<=" => a <= b,
                ">=" => a >= b,
                "<" => a < b,
                ">" => a > b,
                _ => return None,
            };
        }
        Some((all, found))
    }

    fn value(&self, word: &str) -> Option<i64> {
        let marks = self.marks.as_ref();
        Some(match word {
            "tcpi_snd_cwnd" => self.cwnd,
            "tcpi_snd_ssthresh" => self.ssthresh,
            "tcpi_unacked" => marks?.unacked.into(),
            "tcpi_sacked" => marks?.sacked.into(),
            "tcpi_lost" => marks?.lost.into(),
            "tcpi_retrans" => marks?.resent.into(),
            "tcpi_ca_state" => marks?.phase as i64,
            "TCP_CA_Open" => Phase::Open as i64,
            "TCP_CA_Disorder" => Phase::Disorder as i64,
            "TCP_CA_CWR" => Phase::Reduced as i64,
            "TCP_CA_Recovery" => Phase::Recovery as i64,
            "TCP_CA_Loss" => Phase::Loss as i64,
            "TCP_INFINITE_SSTHRESH" => UNLIMITED,
            _ => return word.parse().ok(),
        })
    }
}
