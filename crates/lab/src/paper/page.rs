//! The report of a reproduction: each figure redrawn in the paper's own axes, its claims and their verdicts beside it.

use super::reproduce::{Chart, DrawnFigure, Reproduced};
use super::scorecard::{Scorecard, ScoredFigure};
use crate::Manifest;
use crate::report::{Page, text};

/// What the charts' code reads.
#[derive(serde::Serialize)]
struct Data<'a> {
    /// What tells this page from a comparison's.
    kind: &'static str,
    figures: Vec<Drawn<'a>>,
}

#[derive(serde::Serialize)]
struct Drawn<'a> {
    id: &'a str,
    log: bool,
    charts: &'a [Chart],
}

impl Reproduced {
    /// The page, in one file that asks for no other.
    pub fn html(&self, card: &Scorecard, manifest: &Manifest) -> String {
        let figures = || self.papers.iter().flat_map(|p| &p.figures);
        let drawn = figures().map(|f| Drawn { id: &f.id, log: f.log, charts: &f.charts }).collect();
        let data = serde_json::to_string(&Data { kind: "scorecard", figures: drawn }).unwrap_or_default();
        let names: Vec<&str> = self.papers.iter().map(|p| p.name.as_str()).collect();
        let (passed, all) = (card.claims().filter(|(_, c)| c.verdict == "pass").count(), card.claims().count());
        let mut body = format!(
            "<header>\n<p class=\"kicker\">fanin reproduce · {}</p>\n<h1>{passed} of {all} published claims hold</h1>\n\
             <p class=\"setting\">{}</p>\n</header>\n<main>\n",
            text(&names.join(" ")),
            match self.mode {
                super::Mode::Full => "the papers' full settings",
                super::Mode::Quick => "quick: fewer seeds and shorter runs than the papers'",
            }
        );
        for (paper, scored) in self.papers.iter().zip(&card.papers) {
            body += &format!("<section class=\"paper\">\n<h2>{}</h2>\n", text(&paper.title));
            for (figure, scored) in paper.figures.iter().zip(&scored.figures) {
                body += &figure_html(&paper.name, figure, scored);
            }
            body += "</section>\n";
        }
        body += &format!("<p class=\"origin\">fanin {}</p>\n</main>\n", text(&manifest.version));
        Page { title: &format!("{}: fanin", names.join(", ")), body: &body, data: &data }.html()
    }
}

fn figure_html(paper: &str, figure: &DrawnFigure, scored: &ScoredFigure) -> String {
    let mut html = format!(
        "<section class=\"paper-figure\" id=\"{id}\">\n<h3>{id} · {}</h3>\n<div class=\"charts\" data-figure=\"{id}\"></div>\n\
         <ul class=\"claims\">\n",
        text(&figure.title),
        id = text(&figure.id),
    );
    for claim in &scored.claims {
        let robust = match claim.robust {
            Some(false) => " <span class=\"fragile\">fragile</span>",
            _ => "",
        };
        html += &format!(
            "<li class=\"claim {verdict}\"><p class=\"head\"><span class=\"chip {verdict}\">{verdict}</span> <b>{}</b> {}{robust}</p>\
             <p>{}, {}: measured {}; passes with {}.</p>",
            text(&claim.id),
            text(&claim.says),
            text(&claim.r#where),
            claim.class,
            text(&claim.measured),
            text(&claim.expected),
            verdict = claim.verdict,
        );
        if let Some(why) = &claim.why {
            html += &format!("<p class=\"why\">{}</p>", text(why));
        }
        html += "</li>\n";
    }
    html + &format!(
        "</ul>\n<pre tabindex=\"0\" class=\"command\">fanin reproduce {paper} --figure {}</pre>\n</section>\n",
        text(&figure.id)
    )
}
