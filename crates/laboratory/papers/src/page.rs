//! HTML report of a reproduction: each figure redrawn on the paper's axes, beside its claims and verdicts.

use std::collections::BTreeMap;

use super::curve::Curve;
use super::judge::Verdict;
use super::measure::Over;
use super::reproduced::{Chart, Conditions, DrawnFigure, JudgedClaim, Mode, Reproduced};
use super::scorecard::{Count, Scorecard, ScoredClaim, ScoredFigure, ScoredPaper};
use super::sensitivity::Sensitivity;
use fanin_lab::quoted;
use fanin_lab::stats::six_digits;
use fanin_report::{DrawnChart, DrawnCurve, Expected, Page, prose, text};

/// The data that the charts read.
#[derive(serde::Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct ScorecardData<'a> {
    /// Schema version.
    schema: u32,
    /// Distinguishes this page from a comparison's.
    #[cfg_attr(test, ts(type = "\"scorecard\""))]
    kind: &'static str,
    figures: Vec<PaperFigure<'a>>,
}

#[derive(serde::Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct PaperFigure<'a> {
    paper: &'a str,
    id: &'a str,
    log: bool,
    charts: Vec<DrawnChart<'a>>,
    claims: Vec<DrawnClaim<'a>>,
}

/// A claim as shown beside its figure.
#[derive(serde::Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct DrawnClaim<'a> {
    id: &'a str,
    /// The curves it is about.
    curves: &'a [String],
}

/// A curve's ratio to the mean of another at each x.
fn over<'a>(curve: &'a Curve, base: &Curve) -> DrawnCurve<'a> {
    let mut ratios = drawn(curve);
    for (i, point) in curve.points.iter().enumerate() {
        // Without a value of the other curve there is no ratio.
        let under = base.at(point.x).map_or(f64::INFINITY, |p| p.y.mean);
        for values in [&mut ratios.y, &mut ratios.lo, &mut ratios.hi] {
            if let Some(value) = values.get_mut(i) {
                *value = six_digits(*value / under);
            }
        }
    }
    ratios
}

/// A curve with its CIs, if any.
fn drawn<'a>(curve: &'a Curve) -> DrawnCurve<'a> {
    let points = &curve.points;
    let name = curve.name.as_str();
    if points.iter().all(|p| p.values.len() == 1) {
        let all: Vec<(f64, f64)> = points.iter().map(|p| (p.x, p.y.mean)).collect();
        return DrawnCurve::of_one_run(name, &all);
    }
    DrawnCurve {
        name: name.into(),
        x: points.iter().map(|p| p.x).collect(),
        y: points.iter().map(|p| p.y.mean).collect(),
        lo: points.iter().map(|p| p.y.lo).collect(),
        hi: points.iter().map(|p| p.y.hi).collect(),
    }
}

/// A chart with the expectations of its claims.
fn chart_of<'a>(chart: &'a Chart, claims: &'a [JudgedClaim]) -> DrawnChart<'a> {
    let bases = bases(chart);
    let curve = |curve: &'a Curve| match bases.get(curve.name.as_str()) {
        Some(base) => over(curve, base),
        None => drawn(curve),
    };
    let expected = |judged: &'a JudgedClaim| {
        let over = |curve: &str, x: f64| bases.get(curve).map_or(Some(1.0), |base| Some(base.at(x)?.y.mean));
        Expected { claim: &judged.claim.id, mark: judged.mark.over(&over) }
    };
    let of_its_measure = claims.iter().filter(|judged| judged.claim.measure == chart.measure);
    let one_x = |curve: &Curve| curve.points.len() <= 1;
    DrawnChart {
        x: chart.x.clone().into(),
        y: match chart.over.as_slice() {
            [] => chart.y.into(),
            [one] => format!("{}, relative to {one}", chart.y),
            several => format!("{}, each relative to {}", chart.y, several.join(" or ")),
        },
        steps: chart.measure.over() == Over::Time,
        bars: chart.measure.over() == Over::FanIn && chart.curves.iter().all(one_x),
        ratios: !chart.over.is_empty(),
        curves: chart.curves.iter().map(curve).collect(),
        expected: of_its_measure.map(expected).collect(),
    }
}

/// The curve whose ratio is drawn, by curve name: the last of `over` up to it in the legend.
fn bases<'a>(chart: &'a Chart) -> BTreeMap<&'a str, &'a Curve> {
    let mut base: Option<&Curve> = None;
    let with_base = |curve: &'a Curve| {
        base = if chart.over.contains(&curve.name) { Some(curve) } else { base };
        Some((curve.name.as_str(), base?))
    };
    chart.curves.iter().filter_map(with_base).collect()
}

impl<'a> PaperFigure<'a> {
    fn new(paper: &'a str, figure: &'a DrawnFigure) -> PaperFigure<'a> {
        let charts = figure.charts.iter().map(|chart| chart_of(chart, &figure.claims)).collect();
        let claim = |judged: &'a JudgedClaim| DrawnClaim { id: &judged.claim.id, curves: &judged.mark.curves };
        PaperFigure {
            paper,
            id: &figure.id,
            log: figure.log,
            charts,
            claims: figure.claims.iter().map(claim).collect(),
        }
    }
}

impl Reproduced {
    /// The page, a self-contained file.
    pub fn html(&self, card: &Scorecard) -> String {
        let drawn = self
            .papers
            .iter()
            .flat_map(|paper| paper.figures.iter().map(|figure| PaperFigure::new(&paper.name, figure)));
        let data = ScorecardData { schema: 1, kind: "scorecard", figures: drawn.collect() };
        let names = self.papers.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
        let mut body = head(&names, &self.conditions, card) + &nav(card) + "<main>\n" + &overview(card);
        for (paper, scored) in self.papers.iter().zip(&card.papers) {
            body += &format!("<section class=\"paper\">\n<h2>{}</h2>\n", text(&paper.title));
            for figure in &scored.figures {
                body += &figure_html(figure, &command(&paper.name, &figure.id, &self.conditions));
            }
            body += &(open_html(&paper.name, &paper.sensitivity, scored) + "</section>\n");
        }
        body += &format!(
            "<p class=\"origin\">fanin {}. The file <code>figures.csv</code> beside this page has every plotted value, seed by \
             seed.</p>\n</main>\n",
            text(&card.fanin)
        );
        // The data has only numbers and strings, which JSON can always represent.
        let data = serde_json::to_string(&data).unwrap_or_default();
        Page { title: &format!("{names}: fanin"), body: &body, data: &data }.html()
    }
}

/// The command that reproduces one figure under the same conditions.
fn command(paper: &str, figure: &str, conditions: &Conditions) -> String {
    let mut command = format!("fanin reproduce {} --figure {}", quoted(paper), quoted(figure));
    if conditions.mode == Mode::Quick {
        command += " --quick";
    }
    if let Some(seeds) = conditions.seeds {
        command += &format!(" --seeds {seeds}");
    }
    if let Some(first) = conditions.first_seed {
        command += &format!(" --first-seed {first}");
    }
    conditions.set.iter().fold(command, |command, set| format!("{command} --set {}", quoted(&set.assignment)))
}

fn head(names: &str, conditions: &Conditions, card: &Scorecard) -> String {
    let count = Count::of(card.claims().map(|(_, claim)| claim));
    let mode = match conditions.mode {
        Mode::Full => "full settings of the papers",
        Mode::Quick => "quick: fewer seeds and shorter runs than in the papers",
    };
    let set: String = conditions.set.iter().map(|set| format!("; with {}", set.assignment)).collect();
    let undecided = match count.undecided {
        0 => String::new(),
        n => format!(", {n} undecided"),
    };
    format!(
        "<header>\n<p class=\"kicker\">fanin reproduce · {}</p>\n<h1>{} of {} published claims hold{undecided}</h1>\n\
         <p class=\"setting\">{mode}{}</p>\n</header>\n",
        text(names),
        count.held,
        count.all,
        text(&set)
    )
}

/// A link per figure; the charts' code adds the theme button.
fn nav(card: &Scorecard) -> String {
    let figures = card.papers.iter().flat_map(|p| &p.figures);
    let link = |f: &ScoredFigure| format!("<a href=\"#{id}\">{id}</a>\n", id = text(&f.id));
    format!(
        "<nav class=\"bar figures\" aria-label=\"Figures\">\n<div class=\"links\">\n{}</div>\n</nav>\n",
        figures.map(link).collect::<String>()
    )
}

/// An overview of the figures that hold.
fn overview(card: &Scorecard) -> String {
    let mut rows = String::new();
    for paper in &card.papers {
        for figure in &paper.figures {
            let count = Count::of(figure.claims.iter());
            let fragile = match count.fragile {
                0 if count.untried == count.all => "not tried".into(),
                0 => "none".into(),
                n => n.to_string(),
            };
            let chip = match (count.held, count.undecided) {
                (held, _) if held == count.all => "pass",
                (held, undecided) if held + undecided == count.all => "undecided",
                (held, _) if 2 * held >= count.all => "mostly",
                _ => "fail",
            };
            rows += &format!(
                "<tr><th scope=\"row\">{}</th><td><a href=\"#{id}\">{id}</a></td><td class=\"words\">{}</td>\
                 <td><span class=\"chip {chip}\">{} of {}</span></td><td>{fragile}</td></tr>\n",
                text(&paper.paper),
                text(&figure.title),
                count.held,
                count.all,
                id = text(&figure.id),
            );
        }
    }
    format!(
        "<section aria-labelledby=\"overview\">\n<h2 id=\"overview\">Overview</h2>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"overview\">\n<table class=\"overview\">\n\
         <thead><tr><th scope=\"col\">paper</th><th scope=\"col\">figure</th><th scope=\"col\" class=\"words\">title</th>\
         <th scope=\"col\">claims held</th><th scope=\"col\">fragile</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n\
         <p class=\"note\">A claim’s class sets its tolerance. A claim is undecided if these seeds cannot decide it, and fragile \
         if it holds and fails within the plausible ranges of parameters that the paper leaves open. Claims that repeat another’s \
         measurement, claims that were not read in the paper itself, and the project’s own claims are not counted.</p>\n</section>\n"
    )
}

fn figure_html(figure: &ScoredFigure, command: &str) -> String {
    let id = text(&figure.id);
    let mut html = format!(
        "<section class=\"paper-figure\" id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h3 id=\"{id}-title\">{id} · {}</h3>\n\
         <div class=\"beside\">\n<div class=\"charts\" data-figure=\"{id}\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Charts of {id}\"><noscript><p>The charts need JavaScript; nothing is \
         fetched.</p></noscript></div>\n<ul class=\"claims\">\n",
        text(&figure.title),
    );
    for claim in &figure.claims {
        html += &claim_html(claim);
    }
    let spared = figure.spared.map_or(String::new(), |spared| format!("<p class=\"note\">{spared}.</p>\n"));
    html + &format!(
        "</ul>\n</div>\n{spared}<pre tabindex=\"0\" class=\"command\">{}</pre>\n</section>\n",
        text(command)
    )
}

fn claim_html(claim: &ScoredClaim) -> String {
    let chip = |class: &str, words: &str| format!(" <span class=\"chip {class}\">{}</span>", text(words));
    let mut chips = chip(claim.verdict.word(), claim.verdict.word());
    if claim.robust == Some(false) {
        chips += &chip("fragile", "fragile");
    }
    if let Some(id) = &claim.repeats {
        chips += &chip("repeats", &format!("repeats {id}"));
    }
    if claim.own {
        chips += &chip("repeats", "added by the project");
    }
    if let Some(says) = claim.read_from.says() {
        chips += &chip("repeats", says);
    }
    let (cause, depends_on) = (claim.cause_words(), claim.open_words());
    let words = |class: &str, words: &str| match words {
        "" => String::new(),
        words => format!("<p class=\"{class}\">{}</p>", prose(words)),
    };
    format!(
        "<li class=\"claim {}\" data-claim=\"{}\" tabindex=\"0\"><p class=\"head\">{} <b>{}</b> {}</p>\
         <p class=\"seen\">Measured: {}. Expected: {} ({}; {}).</p>{}{}{}</li>\n",
        claim.verdict.word(),
        text(&claim.id),
        chips.trim_start(),
        text(&claim.id),
        prose(&claim.says),
        text(&claim.measured),
        text(&claim.expected),
        claim.class,
        text(&claim.r#where),
        words("why", cause.as_deref().unwrap_or_default()),
        words("why", claim.note.as_deref().unwrap_or_default()),
        words("hangs", depends_on.as_deref().unwrap_or_default()),
    )
}

/// The effect of each open parameter: its other values beside the scenarios' own.
fn open_html(name: &str, sensitivity: &Sensitivity, scored: &ScoredPaper) -> String {
    if sensitivity.tried.is_empty() {
        return String::new();
    }
    let claims = || scored.figures.iter().flat_map(|figure| &figure.claims);
    let counted = |id: &str| claims().any(|claim| claim.id == id && claim.counts());
    let here = sensitivity.claims.iter().filter(|(id, hanging)| counted(id) && hanging.here == Verdict::Pass).count();
    let mut rows = format!("<tr><th scope=\"row\">as in the scenarios</th><td>{here}</td><td></td></tr>\n");
    for change in sensitivity.changes(&counted) {
        let verdicts = change.verdicts.iter().map(|(id, verdict)| format!("{id} {}", verdict.says()));
        rows += &format!(
            "<tr><th scope=\"row\"><code>{}</code></th><td>{}</td><td class=\"words\">{}</td></tr>\n",
            text(change.setting),
            change.held,
            text(&verdicts.collect::<Vec<_>>().join(", ")),
        );
    }
    let most = match sensitivity.most(&counted) {
        Some((key, n)) => format!(" Most fragile claims ({n}) depend on <code>{}</code>.", text(key)),
        None => String::new(),
    };
    let id = format!("open-{}", text(name));
    format!(
        "<section class=\"open-settings\" aria-labelledby=\"{id}\">\n<h3 id=\"{id}\">Parameters that the paper leaves open</h3>\n\
         <p class=\"note\">Each row changes one setting: the number of claims that hold, and the verdicts that change. These runs \
         use fewer seeds than those above; see <code>sensitivity.md</code>.{most}</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{id}\">\n<table>\n\
         <thead><tr><th scope=\"col\">setting</th><th scope=\"col\">claims that hold</th>\
         <th scope=\"col\" class=\"words\">changed verdicts</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n\
         </section>\n"
    )
}
