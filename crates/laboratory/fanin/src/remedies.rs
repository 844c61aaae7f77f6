//! Ranked remedies with their commands, as a section of the report.

use fanin_advise::{Advice, LoneFlow, Remedy, by_machine};
use fanin_lab::figures::{capital, three, time};
use fanin_report::text;

/// The section: remedies by rank, each with its figures and commands, then those that have no rank.
pub(crate) fn section(advice: &Advice) -> String {
    let (ranked, apart): (Vec<&Remedy>, Vec<&Remedy>) =
        advice.remedies.iter().partition(|remedy| remedy.apart.is_none() && remedy.deployable);
    let mut html = String::from("<section aria-labelledby=\"remedies\">\n<h2 id=\"remedies\">Remedies</h2>\n");
    html += &paragraph(match (advice.needed, ranked.is_empty()) {
        (false, _) => "Nothing needs changing.",
        (true, true) => "No remedy that was tried and is available today helps.",
        (true, false) => "Best first, by a client's time for the same bytes; equals by side effects and effort.",
    });
    if advice.needed {
        let per = advice.today.operation;
        html += &list(ranked.iter().zip(1..).map(|(remedy, rank)| ranked_item(remedy, rank, per)));
        if !apart.is_empty() {
            html += "<h3>Other options: purchases, other workloads, or not available today</h3>\n";
            html += &list(
                apart.iter().map(|remedy| format!("<p><b>{}</b></p>\n{}", text(&remedy.says), figures(remedy, per))),
            );
        }
    }
    html += &advice.caveats.iter().map(|caveat| paragraph(caveat)).collect::<String>();
    html + "</section>\n"
}

fn paragraph(says: &str) -> String {
    format!("<p>{}</p>\n", text(says))
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("<li>{item}</li>\n")).collect();
    format!("<ul class=\"remedies\">\n{items}</ul>\n")
}

/// A remedy's times and goodput, the kind of change, and remarks.
fn figures(remedy: &Remedy, per: &str) -> String {
    let round = remedy.qct_ms.mean.map(|ms| format!("{} per {per}", time(ms)));
    let p99 = remedy.qct_ms.p99.map(|ms| format!("p99 {}", time(ms)));
    let remarks = Some(remarks(remedy)).filter(|remarks| !remarks.is_empty());
    let parts = [
        Some(format!("{:.1} % of today's time", 100.0 * remedy.relative_to_current)),
        Some(format!("{} Mbit/s", three(remedy.goodput_mbps.mean))),
        round,
        p99,
        Some(remedy.effort.to_string()),
        remarks,
    ];
    paragraph(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

/// Pauses, the goal, side effects, and why it is apart.
fn remarks(remedy: &Remedy) -> String {
    let goal = remedy.goal.as_ref().map(|met| {
        let verb = if met.met { "meets" } else { "misses" };
        format!("{verb} the goal: {}", met.reached)
    });
    let robust = remedy.robust.map(|robust| match robust {
        true => "same rank under other assumptions",
        false => "rank depends on assumptions",
    });
    let parts = [
        remedy.paused.map(|paused| format!("pauses {paused}")),
        (!remedy.touches.is_empty()).then(|| "affects other traffic".into()),
        remedy.apart.map(Into::into),
        goal,
        robust.map(Into::into),
    ];
    parts.into_iter().flatten().collect::<Vec<String>>().join("; ")
}

/// A remedy's figures, commands, notes and side effects. The first one's commands are open.
fn ranked_item(remedy: &Remedy, rank: usize, per: &str) -> String {
    let mut html = format!("<p><b>{rank}. {}</b></p>\n{}", text(&remedy.says), figures(remedy, per));
    html += if rank == 1 { "<details open>\n" } else { "<details>\n" };
    html += "<summary>Commands</summary>\n";
    html += &remedy.touches.iter().map(|touched| paragraph(&format!("Affects {touched}."))).collect::<String>();
    for (word, lines) in [("apply", &remedy.apply), ("verify", &remedy.verify), ("undo", &remedy.undo)] {
        for (at, own) in by_machine(lines) {
            html += &command(&capital(&format!("{word} {at}")), &own.join("\n"));
        }
    }
    if let Some(limiter) = &remedy.limiter {
        html += &command("Or settings of fanin-limit in the client", &limiter.to_string());
    }
    html += &remedy.notes.iter().map(|note| paragraph(note)).collect::<String>();
    if let Some(LoneFlow { today_mbps, mbps }) = remedy.lone_flow {
        let [is, was] = [mbps, today_mbps].map(three);
        html += &paragraph(&format!("A flow without others gets {is} Mbit/s; today {was}."));
    }
    html += &match remedy.harms.as_deref() {
        Some([]) => paragraph("It harms background flows, and requests to two servers, by less than 10 %."),
        Some(harms) => harms.iter().map(|harm| paragraph(&format!("Side effect: {harm}."))).collect(),
        None => String::new(),
    };
    html + &command("Simulate it", &remedy.run) + "</details>\n"
}

fn command(says: &str, lines: &str) -> String {
    format!("<h4>{}</h4>\n<pre tabindex=\"0\" class=\"command\">{}</pre>\n", text(says), text(lines))
}
