//! Figures from a paper's runs: curves, and the claims judged by them.

use std::collections::BTreeMap;

use fanin_model::{Bottleneck, Growth};
use fanin_spec::RunSpec;
use fanin_tables::RunTables;

use super::curve::{Axes, Curve, Point};
use super::file::{Claim, Figure, ModelCurve, ModelForm, Source};
use super::measure::{Measure, Over};
use super::reproduced::{Chart, DrawnFigure, JudgedClaim, Spared};
use super::sensitivity::Sensitivity;

/// Key of a figure's values: scenario, scheme label, measure, and the bits of x.
type Place = (String, String, Measure, u64);

/// The results of a paper's runs.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// One value per seed.
    values: BTreeMap<Place, Vec<f64>>,
    /// One series per seed.
    series: BTreeMap<Place, Vec<Vec<(f64, f64)>>>,
    /// Runs of a point, planned and skipped, by scenario, scheme and x.
    runs: BTreeMap<(String, String, u64), [usize; 2]>,
    /// The precision at which the remaining runs of a point are skipped.
    precision: f64,
}

impl Measured {
    /// Collects the measures that figures need from a run at one x; runs arrive in seed order.
    pub fn take<'a>(
        &mut self,
        scenario: &str,
        x: f64,
        measures: impl IntoIterator<Item = &'a Measure>,
        spec: &RunSpec,
        tables: &RunTables,
    ) {
        for &measure in measures {
            let place = (scenario.to_string(), spec.label.clone(), measure, x.to_bits());
            match measure.over() {
                Over::FanIn => self.values.entry(place).or_default().extend(measure.of_run(spec, tables)),
                _ => self.series.entry(place).or_default().push(measure.series(spec, tables)),
            }
        }
    }

    /// Appends the results of other runs.
    pub fn join(&mut self, other: Measured) {
        for (place, values) in other.values {
            self.values.entry(place).or_default().extend(values);
        }
        for (place, series) in other.series {
            self.series.entry(place).or_default().extend(series);
        }
    }

    /// Half-width of the 95 % CI of a point's mean query time, as a share of the mean.
    pub fn width(&self, scenario: &str, scheme: &str, x: f64) -> Option<f64> {
        let place = (scenario.to_string(), scheme.to_string(), Measure::QueryMs, x.to_bits());
        let point = Point::new(x, self.values.get(&place)?.clone())?;
        Some((point.y.hi - point.y.lo) / 2.0 / point.y.mean)
    }

    /// Records a planned run, to be skipped once its point's mean is known to this precision.
    pub fn plan(&mut self, scenario: &str, scheme: &str, x: f64, precision: f64) {
        self.precision = precision;
        self.runs.entry((scenario.into(), scheme.into(), x.to_bits())).or_default()[0] += 1;
    }

    /// Records that a planned run was skipped.
    pub fn spare(&mut self, scenario: &str, scheme: &str, x: f64) {
        self.runs.entry((scenario.into(), scheme.into(), x.to_bits())).or_default()[1] += 1;
    }

    /// A figure's skipped runs.
    fn spared(&self, figure: &Figure) -> Option<Spared> {
        let Source::Runs { scenario, schemes, xs, .. } = &figure.source else { return None };
        let places = schemes.iter().flat_map(|scheme| xs.iter().map(move |x| (scheme, x.to_bits())));
        let runs = places.filter_map(|(scheme, x)| self.runs.get(&(scenario.clone(), scheme.clone(), x)));
        let none = Spared { precision: self.precision, points: 0, early: 0, runs: 0, spared: 0 };
        let all = runs.fold(none, |all, &[planned, spared]| Spared {
            points: all.points + 1,
            early: all.early + usize::from(spared > 0),
            runs: all.runs + planned,
            spared: all.spared + spared,
            ..all
        });
        Some(all).filter(|all| all.spared > 0)
    }

    /// Records a measurement without a run: repeated values of a curve at one point.
    pub fn give(&mut self, measure: Measure, curve: &str, x: f64, values: Vec<f64>) {
        self.values.insert((String::new(), curve.to_string(), measure, x.to_bits()), values);
    }

    /// A curve of a figure's scenario.
    fn curve(&self, scenario: &str, scheme: &str, xs: &[f64], measure: Measure) -> Curve {
        let place = |x: f64| (scenario.to_string(), scheme.to_string(), measure, x.to_bits());
        let points = match (measure.over(), xs.first()) {
            (Over::FanIn, _) => xs.iter().filter_map(|&x| Point::new(x, self.values.get(&place(x))?.clone())).collect(),
            (Over::Rounds | Over::Shares | Over::Hosts, Some(&x)) => {
                by_x(self.series.get(&place(x)).map_or(&[], Vec::as_slice))
            }
            (_, Some(&x)) => {
                // Of one run: the times of different runs do not match.
                let first = self.series.get(&place(x)).and_then(|all| all.first());
                first.into_iter().flatten().filter_map(|&(x, y)| Point::new(x, vec![y])).collect()
            }
            (_, None) => Vec::new(),
        };
        Curve { name: scheme.into(), points, exact: false, axes: Axes::default() }
    }

    /// Draws a figure and judges its claims.
    pub fn draw(&self, figure: &Figure, sensitivity: &Sensitivity) -> DrawnFigure {
        let over = |measure: Measure| match (&figure.source, measure.over()) {
            (Source::Runs { along, .. }, Over::FanIn) => along.axis(),
            (Source::Apart(apart), _) => apart.axis().into(),
            _ => measure.over_axis().into(),
        };
        let drawn = |measure: Measure| -> Vec<Curve> {
            match &figure.source {
                Source::Runs { scenario, schemes, xs, .. } => {
                    schemes.iter().map(|scheme| self.curve(scenario, scheme, xs, measure)).collect()
                }
                Source::Apart(apart) => {
                    let curve = |name| Curve { exact: apart.is_exact(), ..self.curve("", name, &apart.xs(), measure) };
                    apart.curves().iter().map(|&name| curve(name)).collect()
                }
                Source::Model { curves, flows } => curves.iter().map(|c| model_curve(c, flows)).collect(),
            }
        };
        let curves = |measure: Measure| -> Vec<Curve> {
            let axes = Axes::of(measure.axis(), &over(measure));
            drawn(measure).into_iter().map(|curve| Curve { axes: axes.clone(), ..curve }).collect()
        };
        let chart = |&measure: &Measure| Chart {
            measure,
            x: over(measure),
            y: measure.axis(),
            curves: curves(measure),
            over: figure.over.get(&measure).cloned().unwrap_or_default(),
        };
        let judged = |claim: &Claim| JudgedClaim {
            claim: claim.clone(),
            judgement: claim.test.judge(&curves(claim.measure)),
            mark: claim.test.mark(&curves(claim.measure)),
            hanging: sensitivity.claims.get(&claim.id).cloned(),
        };
        DrawnFigure {
            id: figure.id.clone(),
            title: figure.title.clone(),
            log: figure.log,
            charts: figure.draws.iter().map(chart).collect(),
            claims: figure.claims.iter().map(judged).collect(),
            spared: self.spared(figure),
        }
    }
}

/// The values of all series at each x.
fn by_x(series: &[Vec<(f64, f64)>]) -> Vec<Point> {
    let Some(longest) = series.iter().max_by_key(|s| s.len()) else { return Vec::new() };
    let at = |x: f64| series.iter().filter_map(|s| s.iter().find(|p| p.0 == x)).map(|p| p.1).collect();
    longest.iter().filter_map(|&(x, _)| Point::new(x, at(x))).collect()
}

fn model_curve(curve: &ModelCurve, flows: &[u32]) -> Curve {
    let bottleneck = Bottleneck { rate: curve.rate, buffer: curve.buffer, rtt: curve.rtt, packet: curve.packet };
    let probability = |n: f64| match curve.form {
        ModelForm::Doubles => fanin_model::incast_when_full(n, Growth::Doubles, &bottleneck),
        ModelForm::ByOne => fanin_model::incast_when_full(n, Growth::ByOne, &bottleneck),
        ModelForm::Printed => fanin_model::incast_as_printed(n, &bottleneck),
        ModelForm::Window => fanin_model::incast_at(n, curve.window.unwrap_or(1.0), bottleneck.buffer_packets()),
    };
    let points = flows.iter().filter_map(|&n| Point::new(n.into(), vec![probability(n.into())])).collect();
    Curve { name: curve.name.clone(), points, exact: true, axes: Axes::default() }
}
