//! Findings for the terminal.

use anstyle::{AnsiColor, Style};
use fanin::{Finding, Verdict};

use crate::figures::{BOLD, clean, wrap};

/// The findings of all schemes, one paragraph each, wrapped at `width`.
pub fn verdicts(findings: &[Finding], width: usize) -> String {
    findings.iter().map(|finding| verdict(finding, width)).collect()
}

fn verdict(finding: &Finding, width: usize) -> String {
    let coloured = match &finding.scheme {
        Some(label) => format!("{} {}", clean(label), finding.head),
        None => clean(&finding.head),
    };
    let sentence = wrap(&format!("{coloured}. {}", finding.says), width, "  ");
    // Colour the head, at the start of the first line, after wrapping, which counts characters.
    let style = style(finding.verdict);
    match sentence.strip_prefix(&coloured) {
        Some(rest) => format!("{style}{coloured}{style:#}{rest}\n"),
        None => format!("{sentence}\n"),
    }
}

fn style(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::Sustains => AnsiColor::Green,
        Verdict::Slow | Verdict::Paused | Verdict::Degrades => AnsiColor::Yellow,
        Verdict::Collapsed => AnsiColor::Red,
        Verdict::Open | Verdict::Overall => return BOLD,
    };
    colour.on_default().bold()
}

#[cfg(test)]
mod tests {
    use fanin_lab::findings;

    use super::*;
    use crate::sample::{Curve, CurvePoint, comparison};

    const SAGS: Curve = &[
        CurvePoint { fan_in: 8, goodput_mbps: 905.3, p99_ms: 20.0, ..CurvePoint::NO_LOSS },
        CurvePoint {
            fan_in: 16,
            goodput_mbps: 600.0,
            p99_ms: 406.0,
            timeouts: 2.13,
            drops: 50.0,
            ..CurvePoint::NO_LOSS
        },
    ];

    #[test]
    fn prints_one_paragraph_per_finding() {
        let (variants, summary) = comparison(&[("newreno", None, SAGS), ("dctcp", None, &SAGS[..1])]);
        let found = findings(&variants, &summary);
        let text = anstream::adapter::strip_str(&verdicts(&found, 400)).to_string();
        let [all, newreno, dctcp] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert_eq!(all, format!("{}. {}", found[0].head, found[0].says));
        assert!(newreno.starts_with("newreno sustains 8, degrades at 16. Goodput falls from 905 Mbit/s"), "{newreno}");
        assert!(dctcp.starts_with("dctcp sustains 8, the only fan-in tried. 905 Mbit/s"), "{dctcp}");
    }

    #[test]
    fn a_verdict_has_its_colour_and_is_wrapped() {
        let (variants, summary) = comparison(&[("newreno", Some(16), SAGS)]);
        let text = verdicts(&findings(&variants, &summary), 60);
        assert!(text.starts_with(&style(Verdict::Degrades).to_string()), "{text}");
        assert!(anstream::adapter::strip_str(&text).to_string().lines().all(|line| line.chars().count() <= 60));
    }
}
