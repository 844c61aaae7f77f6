//! A remedy's lines as scripts, `remedy-1/servers/apply.sh`, and its settings of `fanin-limit`, `remedy-1/limit.json`.

use crate::advice::{Advice, Remedy};
use crate::lines::{Line, Syntax, Where};

/// Places with scripts, and their words.
const PLACES: [(Where, &str, &str); 4] = [
    (Where::Servers, "servers", "on every server"),
    (Where::Client, "client", "on the client"),
    (Where::Hosts, "hosts", "on every host"),
    (Where::Switch, "switch", "on the switch"),
];

/// With `--dry-run`, commands that change something are printed instead; those that read are run. An apply saves into a folder of its own,
/// which it removes.
const DRY_RUN: &str = r#"# --dry-run prints the changes and makes none.
if [ "${1:-}" = --dry-run ]; then
    # shellcheck disable=SC2317,SC2329
    {
        told() { printf '%s\n' "$*"; }
        ip() { case " $* " in *" -batch - "*) sed 's/^/ip /' ;; *" -batch "*) sed 's/^/ip /' "$2" ;; *" set "*) told ip "$@" ;; *) command ip "$@" ;; esac; }
        sysctl() { case " $* " in *" -w "*) told sysctl "$@" ;; *" -p "*) sed 's/^/sysctl -w /' "$2" ;; *) command sysctl "$@" ;; esac; }
        fanin() { case " $* " in *" load "* | *" unload "*) told fanin "$@" ;; *) command fanin "$@" ;; esac; }
        modprobe() { told modprobe "$@"; }
        ecnconfig() { told ecnconfig "$@"; }
        mmuconfig() { told mmuconfig "$@"; }
        config() { told config "$@"; }
        FastCli() { told FastCli "$@"; }
        tee() { told "to $1:" && cat; }
        sh() { cat "$@"; }
        rm() { :; }
    }
fi
"#;
const DRY_APPLY: &str = r#"if [ "${1:-}" = --dry-run ]; then
    RUN=$(mktemp -d) && trap 'command rm -r "$RUN"' EXIT
fi
"#;

impl Advice {
    /// Scripts of the available remedies, by path: for each rank and place, one to apply, one to verify and one to undo.
    pub fn scripts(&self) -> Vec<(String, String)> {
        let ranked = self.ranked().enumerate();
        ranked.flat_map(|(i, remedy)| remedy.scripts(i + 1)).collect()
    }

    /// Remedies that can be made today and compared with one another, the best first.
    pub fn ranked(&self) -> impl Iterator<Item = &Remedy> {
        self.remedies.iter().filter(|remedy| remedy.apart.is_none() && remedy.deployable)
    }
}

impl Remedy {
    fn scripts(&self, rank: usize) -> Vec<(String, String)> {
        let limiter =
            self.limiter.as_ref().map(|settings| (format!("remedy-{rank}/limit.json"), format!("{settings}\n")));
        let mut scripts = Vec::from_iter(limiter);
        for (place, folder, at) in PLACES {
            for (word, lines) in [("apply", &self.apply), ("verify", &self.verify), ("undo", &self.undo)] {
                let own: Vec<&Line> = lines.iter().filter(|line| line.place == place).collect();
                let text = script(word, &format!("{}: {word} {at}", self.says), &own);
                scripts.extend(text.map(|text| (format!("remedy-{rank}/{folder}/{word}.sh"), text)));
            }
        }
        scripts
    }
}

/// A script of these commands that stops at the first error; `None` for comments only. EOS takes its lines as one argument of a shell
/// command.
fn script(word: &str, says: &str, lines: &[&Line]) -> Option<String> {
    lines.iter().find(|line| !line.line.starts_with('#'))?;
    let text = lines.iter().map(|line| line.line.as_str()).collect::<Vec<_>>().join("\n");
    let body = match lines.iter().all(|line| line.syntax == Syntax::Eos) {
        true => format!("FastCli -p 15 -c '{text}'"),
        false => text,
    };
    let dry = match word {
        "apply" => format!("{DRY_RUN}{DRY_APPLY}"),
        "undo" => DRY_RUN.into(),
        _ => String::new(),
    };
    let body = body.replace("SAVE=/run/", "SAVE=${RUN:-/run}/");
    Some(format!("#!/bin/sh\n# fanin advise: {says}\nset -eu\n{dry}{body}\n"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use fanin_spec::{Chip, Settings};

    use super::*;
    use crate::lines::{Addresses, lines};
    use crate::remedy::Change;

    /// Settings of a change, and its scheme.
    type Asked = (&'static [(&'static str, &'static str)], Option<&'static str>);

    /// Every kind of line that there is, for a switch of either syntax.
    fn all_scripts() -> Vec<String> {
        let changes: [Asked; 15] = [
            (&[("tcp.rto_min", "5 ms"), ("tcp.initial_window", "2")], None),
            (&[("tcp.delayed_ack", "1"), ("tcp.receive_window", "2920 B")], None),
            (&[("tcp.idle_restart", "true")], None),
            (&[("ecn_threshold.k", "20 packets")], Some("dctcp")),
            (&[("red.min_th", "5 packets"), ("red.max_th", "15 packets")], Some("cubic+red+ecn")),
            (&[("red.min_th", "5 packets"), ("red.max_th", "15 packets")], Some("cubic+red")),
            (&[("switch.alpha", "1/4")], None),
            (&[("link.frames", "jumbo")], None),
            (&[("tcp.rto_min", "5 ms"), ("switch.alpha", "8")], None),
            (&[("ecn_ramp.k_min", "100 KB"), ("ecn_ramp.k_max", "400 KB")], None),
            (&[("dcqcn.min_rate", "1/1000"), ("dcqcn.cnp_interval", "50 us")], None),
            (&[("pfc.alpha", "1/4")], None),
            (&[("rdma.payload", "4 KiB")], None),
            (&[("trimming.low", "10 %"), ("trimming.high", "40 %")], None),
            (&[("uet.ack_after", "0 B"), ("trimming.queue", "356900 B")], None),
        ];
        let mut all = Vec::new();
        for chip in [None, Some(Chip::A7050)] {
            let mut after = Settings::default();
            after.switch.profile.0 = chip;
            for (settings, scheme) in changes {
                let settings = settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
                let change = Change { settings, scheme: scheme.map(Into::into), ..Change::none() };
                let lines = lines(&change, [&Settings::default(), &after], &Addresses::default());
                let of = |(place, ..): &(Where, _, _)| {
                    [("apply", &lines.apply), ("undo", &lines.undo), ("verify", &lines.verify)].map(|(word, all)| {
                        let own: Vec<&Line> = all.iter().filter(|line| line.place == *place).collect();
                        script(word, "it", &own)
                    })
                };
                all.extend(PLACES.iter().flat_map(of).flatten());
            }
        }
        all
    }

    #[test]
    fn shellcheck_accepts_every_script() {
        let scripts = all_scripts();
        assert!(scripts.len() > 60, "{}", scripts.len());
        for text in &scripts {
            let checked =
                Command::new("shellcheck").args(["--norc", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
            let Ok(mut checked) = checked else {
                eprintln!("skipped: there is no shellcheck here (scripts/setup.sh shellcheck)");
                return;
            };
            checked.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
            let output = checked.wait_with_output().unwrap();
            assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stdout));
        }
    }
}
