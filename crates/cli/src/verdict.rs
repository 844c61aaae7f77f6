//! What the lab found, a sentence or two a scheme.

use anstyle::{AnsiColor, Style};
use fanin::{Finding, Verdict};

use crate::figures::{BOLD, clean, wrap};

/// The findings of all schemes, each from a line of its own, wrapped at `width`.
pub fn verdicts(findings: &[Finding], width: usize) -> String {
    findings.iter().map(|finding| verdict(finding, width)).collect()
}

fn verdict(finding: &Finding, width: usize) -> String {
    let coloured = match &finding.scheme {
        Some(label) => format!("{} {}", clean(label), finding.head),
        None => clean(&finding.head),
    };
    let sentence = wrap(&format!("{coloured}. {}", finding.says), width, "  ");
    // The head is coloured after wrapping, which counts characters; it is at the start of the first line.
    let style = style(finding.verdict);
    match sentence.strip_prefix(&coloured) {
        Some(rest) => format!("{style}{coloured}{style:#}{rest}\n"),
        None => format!("{sentence}\n"),
    }
}

fn style(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::Holds => AnsiColor::Green,
        Verdict::Slow | Verdict::Sags => AnsiColor::Yellow,
        Verdict::Collapses => AnsiColor::Red,
        Verdict::Open | Verdict::Overall => return BOLD,
    };
    colour.on_default().bold()
}

#[cfg(test)]
mod tests {
    use fanin_lab::findings;

    use super::*;
    use crate::sample::{Curve, comparison};

    const SAGS: Curve = &[(8, 905.3, 20.0, 0.0, 0.0, 0.0), (16, 600.0, 406.0, 2.13, 50.0, 0.0)];

    #[test]
    fn the_terminal_says_what_the_report_finds() {
        let (variants, summary) = comparison(&[("newreno", None, SAGS), ("dctcp", None, &SAGS[..1])]);
        let text = anstream::adapter::strip_str(&verdicts(&findings(&variants, &summary), 400)).to_string();
        assert_eq!(
            text,
            "every scheme holds to 8, the largest fan-in tried. With 8 senders newreno moves 905 Mbit/s; the others move about as much, \
             within their intervals.\n\
             newreno holds to 8, sags at 16. Goodput falls from 905 Mbit/s with 8 senders to 600 Mbit/s with 16, 60.0 % of \
             the 1000 that the network allows. The queue at the client's port took at most 99.2 % of its 64 KiB. The first drops \
             of the sweep come with 16 senders. A round takes 203 ms on average and has 2.1 timeouts of 200 ms or more.\n\
             dctcp holds with 8 senders, the only fan-in tried. 905 Mbit/s with 8 senders, 90.5 % of the 1000 that the \
             network allows. The queue at the client's port took at most 99.2 % of its 64 KiB. A round takes 10.0 ms on average, with no drops and no marks and no timeout.\n"
        );
    }

    #[test]
    fn a_verdict_has_its_colour_and_is_wrapped() {
        let (variants, summary) = comparison(&[("newreno", Some(16), SAGS)]);
        let text = verdicts(&findings(&variants, &summary), 60);
        assert!(text.starts_with(&style(Verdict::Sags).to_string()), "{text}");
        assert!(anstream::adapter::strip_str(&text).to_string().lines().all(|line| line.chars().count() <= 60));
    }
}
