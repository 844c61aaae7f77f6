//! A comparison's page: plain HTML text and charts.

use super::Report;
use super::page::{Page, text};
use fanin_lab::Finding;
use fanin_lab::figures::capital;

impl Report {
    /// The report with a section of HTML below its first chart.
    pub fn with(self, section: String) -> Report {
        Report { section, ..self }
    }

    /// The page, a self-contained file.
    pub fn html(&self) -> String {
        // The data has only numbers and strings, which JSON can always represent.
        let data = serde_json::to_string(self).unwrap_or_default();
        let charts = "<div id=\"charts\"><noscript><p>The charts and the table need JavaScript; nothing is fetched.</p></noscript></div>\n";
        // The first finding and the first chart fit on the first screen.
        let (first, others) = self.findings.split_at(self.findings.len().min(1));
        let [first, others] = [("findings", "Findings", first), ("schemes", "Scheme by scheme", others)]
            .map(|(id, head, findings)| section(id, head, findings));
        let body = format!(
            "{}<main>\n{first}<div id=\"first\"></div>\n{}{}{others}{charts}{}</main>\n",
            self.head(),
            self.section,
            self.warnings(),
            self.origin()
        );
        Page { title: &format!("{}: fanin", self.title), body: &body, data: &data }.html()
    }

    fn head(&self) -> String {
        let lines: Vec<String> = self.setting.iter().chain(&self.notes).map(|line| text(line)).collect();
        format!(
            "<header>\n<p class=\"kicker\">fanin compare · {}</p>\n<h1>{}</h1>\n<p class=\"setting\">{}</p>\n</header>\n",
            text(&self.scenario),
            text(&self.title),
            lines.join("<br>")
        )
    }

    fn warnings(&self) -> String {
        if self.warnings.is_empty() {
            return String::new();
        }
        let items: String = self.warnings.iter().map(|warning| format!("<li>{}</li>\n", text(warning))).collect();
        format!(
            "<section aria-labelledby=\"warnings\">\n<h2 id=\"warnings\">Settings to check</h2>\n\
             <ul class=\"warnings\">\n{items}</ul>\n</section>\n"
        )
    }

    fn origin(&self) -> String {
        format!(
            "<section aria-labelledby=\"origin\">\n<h2 id=\"origin\">Reproduce this report</h2>\n\
         <p>This command gives byte-identical results on any machine and with any number of threads:</p>\n\
             <pre tabindex=\"0\" class=\"command\">{}</pre>\n\
         <p>fanin {}; resolved scenario <code>{}</code>. The folder of this page has the tables of every run.</p>\n\
             <h3>The scenario, {}</h3>\n<pre tabindex=\"0\">{}</pre>\n</section>\n",
            text(&self.command),
            text(&self.fanin),
            text(&self.hash),
            text(&self.scenario),
            text(&self.scenario_text)
        )
    }
}

/// A section of findings, if there are any.
fn section(id: &str, head: &str, findings: &[Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut html = format!("<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{head}</h2>\n");
    for finding in findings {
        let (class, chip) = (finding.verdict.id(), finding.verdict.verb());
        let head = match &finding.scheme {
            Some(scheme) => format!(
                "<span class=\"chip {class}\">{chip}</span> <b class=\"scheme\">{}</b> {}",
                text(scheme),
                text(&finding.head)
            ),
            None => format!("<b>{}</b>", text(&capital(&finding.head))),
        };
        html += &format!(
            "<div class=\"finding {class}\"><p class=\"head\">{head}</p><p>{}</p></div>\n",
            text(&finding.says)
        );
    }
    html + "</section>\n"
}
