//! A comparison's page: its words as plain HTML around its charts.

use super::Report;
use super::page::{Page, text};
use fanin_lab::Verdict;
use fanin_lab::figures::capital;

impl Report {
    /// The page, in one file that asks for no other.
    pub fn html(&self) -> String {
        // A report is numbers and texts: there is nothing in it that JSON lacks.
        let data = serde_json::to_string(self).unwrap_or_default();
        let charts = "<div id=\"charts\"><noscript><p>The charts and the table need JavaScript; nothing is fetched.</p></noscript></div>\n";
        let [head, warnings, findings] = [self.head(), self.warnings(), self.findings()];
        let body = format!("{head}<main>\n{warnings}{findings}{charts}{}</main>\n", self.origin());
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
            "<section aria-labelledby=\"warnings\">\n<h2 id=\"warnings\">Settings to look at</h2>\n\
             <ul class=\"warnings\">\n{items}</ul>\n</section>\n"
        )
    }

    fn findings(&self) -> String {
        let mut html = String::from("<section aria-labelledby=\"findings\">\n<h2 id=\"findings\">Findings</h2>\n");
        for finding in &self.findings {
            let (class, chip) = match finding.verdict {
                Verdict::Holds => ("holds", "holds"),
                Verdict::Slow => ("slow", "slow"),
                Verdict::Sags => ("sags", "sags"),
                Verdict::Collapses => ("collapses", "collapses"),
                Verdict::Open => ("open", "open"),
                Verdict::Overall => ("overall", ""),
            };
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

    fn origin(&self) -> String {
        format!(
            "<section aria-labelledby=\"origin\">\n<h2 id=\"origin\">How to make it again</h2>\n\
             <p>This command makes the same results, to the byte, on any machine and with any number of threads:</p>\n\
             <pre tabindex=\"0\" class=\"command\">{}</pre>\n\
             <p>fanin {}; resolved scenario <code>{}</code>. Tables of every run lie beside this page.</p>\n\
             <h3>The scenario, {}</h3>\n<pre tabindex=\"0\">{}</pre>\n</section>\n",
            text(&self.command),
            text(&self.fanin),
            text(&self.hash),
            text(&self.scenario),
            text(&self.scenario_text)
        )
    }
}
