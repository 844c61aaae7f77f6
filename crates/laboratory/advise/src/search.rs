//! The search: which changes to try, with how many seeds, and how to rank them.

use core::cmp::Ordering;

use fanin_lab::{Broken, Executor, Progress, Session, figures, line_mbps};
use fanin_spec::Variant;
use fanin_units::Time;

use crate::advice::{Advice, AdviceError, Base, Met, Remedy};
use crate::beside::{harms, lone_flow, robust};
use crate::cluster::{Asked, Cluster};
use crate::current::{Current, first_words, wire_ms};
use crate::goal::Goal;
use crate::lines::{Lines, lines};
use crate::remedy::{Change, Effort, FAMILIES, changes};
use crate::standing::{assumptions, by_closed_form, limits, margins, onset};
use crate::trials::{AS_GOOD, PacketBudget, Trial};

/// A run takes at the most this part of the budget.
const RUNS: u64 = 300;
/// Families that change the workload, so that goodput is not comparable.
const OTHER_WORK: [&str; 5] = ["answer-size", "servers", "server-window", "placement", "sicc"];
/// Seeds of a family's best levels, and of candidates for the first ranks.
const SEEDS: [u32; 2] = [3, 8];
/// Number of families to combine in pairs.
const PAIRED: usize = 5;
/// Number of candidates for the first ranks.
const FINALISTS: usize = 6;
/// Number of remedies whose side effects and robustness are simulated.
const LOOKED_AT: usize = 3;
/// Times within this factor and with overlapping intervals are equal.
const PERHAPS_AS_GOOD: f64 = 1.05;

/// Options of the search.
#[derive(Clone, Debug)]
pub struct AdviceOptions {
    /// A threshold.
    pub goal: Option<Goal>,
    /// Data packets.
    pub budget: u64,
    /// Words of [`FAMILIES`]; all if empty.
    pub remedies: Vec<String>,
}

/// Progress of the search.
#[derive(Debug)]
pub enum Update {
    /// How far the runs are that are planned so far.
    Progress(Progress),
    /// A preliminary result.
    Word(String),
}

/// Advises on a cluster.
///
/// # Errors
/// [`AdviceError`].
pub fn advise(
    executor: &dyn Executor,
    asked: &Asked<'_>,
    options: &AdviceOptions,
    stop: &dyn Fn() -> bool,
    hear: &dyn Fn(Update),
) -> Result<Advice, AdviceError> {
    known(&options.remedies)?;
    let own = Cluster::new(asked, asked.servers)?;
    let length = affordable(&own, options.budget)?;
    if let Some(servers) = asked.grow_to.filter(|servers| *servers <= own.servers) {
        return Err(AdviceError::Asked(format!(
            "--grow-to {servers}: there are already {} servers today; use a larger number",
            own.servers
        )));
    }
    let mut tell = |progress| hear(Update::Progress(progress));
    let mut budget = PacketBudget::new(Session::new(executor, &mut tell), options.budget, stop);
    let mut begun = |cluster: &Cluster<'_>, first: &Trial| {
        first_words(cluster, first).into_iter().for_each(|words| hear(Update::Word(words)));
    };
    let today = Current::judge(own, length, &mut budget, &mut begun)?;
    let grown = match asked.grow_to {
        None => None,
        Some(servers) => {
            Some(Current::judge(Cluster::new(asked, Some(servers))?, length, &mut budget, &mut |_, _| {})?)
        }
    };
    let advice = Advice {
        schema: 2,
        scenario: asked.source.join(" "),
        onset: None,
        onset_searched: false,
        onset_model: None,
        margins: Vec::new(),
        limits: Vec::new(),
        depends_on: Vec::new(),
        needed: today.standing.impaired,
        today: today.standing.clone(),
        grown: grown.as_ref().map(|grown| grown.standing.clone()),
        base: None,
        goal: None,
        remedies: Vec::new(),
        shortened: None,
        untried: 0,
        spent_packets: 0,
        caveats: Vec::new(),
    };
    // A cluster that grows out of its trouble has a remedy for the one that it is.
    let then = grown.filter(|grown| grown.standing.impaired || !today.standing.impaired);
    look_into(&then.unwrap_or(today), options, advice, &mut budget, stop)
}

/// State, limits and remedies of a cluster.
fn look_into(
    current: &Current<'_>,
    options: &AdviceOptions,
    mut advice: Advice,
    budget: &mut PacketBudget<'_, '_>,
    stop: &dyn Fn() -> bool,
) -> Result<Advice, AdviceError> {
    let Current { cluster, trial: today, .. } = current;
    let row = today.row().ok_or(AdviceError::Stopped)?;
    let line = line_mbps(core::slice::from_ref(&today.variant));
    let impaired = current.standing.impaired;
    (advice.base, advice.shortened) = (current.base(), current.shortened);
    advice.onset_model = by_closed_form(cluster).map(fanin_lab::stats::six_digits);
    advice.goal = options.goal.as_ref().map(|goal| met(goal, today, &row, line));
    advice.needed |= impaired || advice.goal.as_ref().is_some_and(|goal| !goal.met);
    // Users want remedies most: limits and remedies get at least half of the budget, the collapse point at most a quarter.
    let quarter = if advice.needed { budget.left() / 4 } else { 0 };
    budget.keep_back(3 * quarter);
    (advice.onset, advice.onset_searched) = onset(cluster, today, budget)?;
    budget.keep_back(2 * quarter);
    advice.margins = margins(cluster, impaired, budget)?;
    advice.depends_on = assumptions(cluster, impaired, budget)?;
    budget.keep_back(0);
    if impaired {
        advice.limits = limits(cluster, today, budget)?;
    }
    if advice.needed {
        let mut search = Search { cluster, options, today, trials: Vec::new(), untried: 0 };
        search.run(budget)?;
        advice.remedies = search.told(line);
        look_beside(cluster, &search, &mut advice.remedies, budget)?;
        advice.untried = search.untried;
    }
    advice.spent_packets = budget.spent();
    advice.caveats = advice.base.iter().map(Base::says).collect();
    advice.caveats.extend(caveats(cluster, stop(), advice.untried, budget.dearest()));
    Ok(advice)
}

/// Refuses words that are of no family.
fn known(words: &[String]) -> Result<(), AdviceError> {
    let unknown = words.iter().find(|word| !FAMILIES.iter().any(|(family, _)| family == word));
    unknown.map_or(Ok(()), |word| {
        let all: Vec<&str> = FAMILIES.iter().map(|(family, _)| *family).collect();
        Err(AdviceError::Asked(format!("--remedies {word}: unknown remedy; use {}", all.join(", "))))
    })
}

/// How long runs may last: their part of the budget, but long enough to see some timeouts; refuses a budget that one run would take.
fn affordable(cluster: &Cluster<'_>, budget: u64) -> Result<Time, AdviceError> {
    let a_second = cluster.packets(Time::from_secs(1)).max(1) as f64;
    let (share, least) = (budget as f64 / RUNS as f64 / a_second, 2.0 * cluster.timeout().as_secs_f64());
    let most = share.max(least).max(0.01);
    let own = cluster.own_packets();
    let needs = own.unwrap_or((most * a_second) as u64);
    if needs > budget {
        return Err(AdviceError::too_small(budget, needs));
    }
    // Whole milliseconds, for the printed command.
    Ok(Time::from_millis((most * 1e3).ceil() as u64))
}

fn met(goal: &Goal, trial: &Trial, row: &fanin_lab::SummaryRow, line: f64) -> Met {
    Met {
        met: goal.distance(row, line).is_some_and(|distance| distance <= 1.0),
        possible: goal.is_possible(wire_ms(trial, row)),
        reached: goal.reached(row, line),
    }
}

fn caveats(cluster: &Cluster<'_>, stopped: bool, untried: usize, dearest: u64) -> Vec<String> {
    let mut caveats = Vec::new();
    if untried > 0 {
        caveats.push(format!(
            "The budget was too small to try {untried} changes. A run takes up to {:.1} M packets here; increase --budget.",
            dearest as f64 / 1e6
        ));
    }
    if stopped {
        caveats.push("The search was stopped; the results include only changes tried before.".into());
    }
    let s = &cluster.at().settings;
    if cluster.has_tcp() && s.tcp.profile.0.is_none() {
        caveats.push(
            "TCP follows the scenario's settings; tcp.profile = \"linux\" would use those of a measured kernel.".into(),
        );
    }
    caveats
}

/// Tried changes.
struct Search<'a, 'c> {
    cluster: &'a Cluster<'c>,
    options: &'a AdviceOptions,
    today: &'a Trial,
    trials: Vec<Trial>,
    /// Changes that there was no budget for.
    untried: usize,
}

impl Search<'_, '_> {
    /// Tries families over their ranges, then pairs of the best, then more seeds for the candidates.
    fn run(&mut self, budget: &mut PacketBudget<'_, '_>) -> Result<(), Broken> {
        let wanted =
            |change: &Change| self.options.remedies.is_empty() || self.options.remedies.contains(&change.family);
        let singles: Vec<Change> = changes(&self.today.variant).into_iter().filter(wanted).collect();
        self.try_out(singles, budget, budget.left() / 2)?;
        let best = self.best_levels(2);
        self.more(&best, SEEDS[0], budget, budget.left() / 3)?;
        self.pairs(budget)?;
        let finalists: Vec<usize> = self.ranked().into_iter().take(FINALISTS).collect();
        self.more(&finalists, SEEDS[1], budget, budget.left() / 2)
    }

    /// Tries changes under the first seed; gives their places.
    fn try_out(
        &mut self,
        all: Vec<Change>,
        budget: &mut PacketBudget<'_, '_>,
        most: u64,
    ) -> Result<Vec<usize>, Broken> {
        let from = self.trials.len();
        for change in all {
            if let Some(variant) = self.cluster.with(&change) {
                self.trials.push(Trial::new(self.cluster, change, variant));
            }
        }
        budget.run(&mut self.trials[from..].iter_mut().collect::<Vec<_>>(), 1, most)?;
        self.untried += self.trials[from..].iter().filter(|trial| trial.runs.is_empty()).count();
        self.trials.retain(|trial| !trial.runs.is_empty());
        Ok((from..self.trials.len()).collect())
    }

    fn more(
        &mut self,
        places: &[usize],
        seeds: u32,
        budget: &mut PacketBudget<'_, '_>,
        most: u64,
    ) -> Result<(), Broken> {
        let mut trials: Vec<(usize, &mut Trial)> = self.trials.iter_mut().enumerate().collect();
        trials.retain(|(place, _)| places.contains(place));
        trials.sort_by_key(|(place, _)| places.iter().position(|p| p == place));
        budget.run(&mut trials.into_iter().map(|(_, trial)| trial).collect::<Vec<_>>(), seeds, most)
    }

    /// The best levels of each family; families by their best level.
    fn best_levels(&self, levels: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.trials.len()).collect();
        order.sort_by(|a, b| self.trials[*a].mean().total_cmp(&self.trials[*b].mean()));
        let place_in_family = |i: &usize| {
            let family = &self.trials[*i].change.family;
            order.iter().take_while(|j| *j != i).filter(|j| self.trials[**j].change.family == *family).count()
        };
        order.iter().filter(|i| place_in_family(i) < levels).copied().collect()
    }

    /// Pairs of compatible best families, each from its two best levels; the best pair over all.
    fn pairs(&mut self, budget: &mut PacketBudget<'_, '_>) -> Result<(), Broken> {
        let helps = |i: &usize| {
            let trial = &self.trials[*i];
            trial.change.apart.is_none() && trial.change.deployable && trial.mean() < self.today.mean()
        };
        let best: Vec<usize> = self.best_levels(1).into_iter().filter(helps).take(PAIRED).collect();
        let pairs = best.iter().enumerate().flat_map(|(i, a)| best[i + 1..].iter().map(move |b| (*a, *b)));
        let both = |(a, b): (usize, usize)| self.trials[a].change.and(&self.trials[b].change);
        let pairs: Vec<Change> = pairs.filter_map(both).collect();
        let tried = self.try_out(pairs, budget, budget.left() / 4)?;
        let Some(first) =
            tried.iter().copied().min_by(|a, b| self.trials[*a].mean().total_cmp(&self.trials[*b].mean()))
        else {
            return Ok(());
        };
        let families: Vec<String> = self.trials[first].change.family.split('+').map(Into::into).collect();
        let levels =
            |family: &String| -> Vec<&Trial> { self.trials.iter().filter(|t| t.change.family == *family).collect() };
        let (ones, others) = (levels(&families[0]), levels(&families[1]));
        let tried_already = |change: &Change| {
            self.trials
                .iter()
                .any(|trial| trial.change.settings == change.settings && trial.change.scheme == change.scheme)
        };
        let near = |levels: &[&Trial]| -> Vec<Change> {
            let mut near: Vec<&Trial> = levels.to_vec();
            near.sort_by(|a, b| a.mean().total_cmp(&b.mean()));
            near.iter().take(3).map(|trial| trial.change.clone()).collect()
        };
        let (ones, others) = (near(&ones), near(&others));
        let both = ones.iter().flat_map(|a| others.iter().filter_map(move |b| a.and(b)));
        let more: Vec<Change> = both.filter(|change| !tried_already(change)).collect();
        let mut tried = tried;
        tried.extend(self.try_out(more, budget, budget.left() / 4)?);
        let best: Vec<usize> = self.best_levels(1).into_iter().filter(|i| tried.contains(i)).take(PAIRED).collect();
        self.more(&best, SEEDS[0], budget, budget.left() / 3)
    }

    /// The best of each family by rank: available and comparable changes first, each group by time, equals by effort; with a goal, those
    /// that meet it by effort and then time. Omits pairs that are no better than their better half.
    fn ranked(&self) -> Vec<usize> {
        let told = self.best_levels(1).into_iter().filter(|i| self.is_worth_telling(*i));
        let (mut main, mut apart): (Vec<usize>, Vec<usize>) = told.partition(|i| {
            let change = &self.trials[*i].change;
            change.apart.is_none() && change.deployable
        });
        for group in [&mut main, &mut apart] {
            group.sort_by(|a, b| self.trials[*a].mean().total_cmp(&self.trials[*b].mean()));
            *group = self.by_effort(group);
        }
        main.extend(apart);
        main
    }

    /// Better than today, and a pair better than each of its halves.
    fn is_worth_telling(&self, i: usize) -> bool {
        let trial = &self.trials[i];
        let halves = trial.change.family.split('+');
        let half = |family: &str| {
            let own = self.trials.iter().filter(|t| t.change.family == family);
            own.min_by(|a, b| a.mean().total_cmp(&b.mean()))
        };
        let better_half = halves.filter_map(half).map(Trial::mean).reduce(f64::min);
        let is_pair = trial.change.family.contains('+');
        let surely = trial.mean() < self.today.time().lo || trial.beats(self.today);
        let other_work = trial.change.family.split('+').any(|family| OTHER_WORK.contains(&family));
        let as_much = other_work || trial.brings_as_much(self.today);
        let helps = surely && AS_GOOD * trial.mean() < self.today.mean() && as_much;
        helps && (!is_pair || better_half.is_none_or(|half| trial.time().hi.max(AS_GOOD * trial.mean()) < half))
    }

    /// Of trials that are sorted by time, those as good as the first of them by effort, and so on.
    fn by_effort(&self, sorted: &[usize]) -> Vec<usize> {
        let mut order = Vec::new();
        let mut rest = sorted.to_vec();
        if let Some(goal) = &self.options.goal {
            let line = line_mbps(core::slice::from_ref(&self.today.variant));
            let meets = |i: &usize| {
                let row = self.trials[*i].row();
                row.and_then(|row| goal.distance(&row, line)).is_some_and(|distance| distance <= 1.0)
            };
            let (mut meeting, others): (Vec<usize>, Vec<usize>) = rest.into_iter().partition(meets);
            meeting.sort_by_key(|i| self.effort(*i));
            order.extend(meeting);
            rest = others;
        }
        while let Some(first) = rest.first().copied() {
            let first = self.trials[first].time();
            let as_good = |i: &usize| {
                let time = self.trials[*i].time();
                let overlap = time.lo <= first.hi;
                time.mean <= if overlap { PERHAPS_AS_GOOD } else { AS_GOOD } * first.mean
            };
            let (mut equal, others): (Vec<usize>, Vec<usize>) = rest.into_iter().partition(as_good);
            equal.sort_by(|a, b| self.effort(*a).cmp(&self.effort(*b)).then(self.by_time(*a, *b)));
            order.extend(equal);
            rest = others;
        }
        order
    }

    /// Sort key, least first: changes that affect other traffic come last, before them those that throttle a lone flow; then the effort;
    /// then single changes before pairs.
    fn effort(&self, i: usize) -> (bool, bool, Effort, usize) {
        let Trial { change, variant, .. } = &self.trials[i];
        let touches = !self.lines(change, variant).touches.is_empty();
        let throttles = change.throttles_lone_flow(&self.cluster.at().settings);
        (touches, throttles, change.effort, change.family.matches('+').count())
    }

    /// Commands for a change.
    fn lines(&self, change: &Change, variant: &Variant) -> Lines {
        let settings = [&self.cluster.at().settings, &variant.points[0].settings];
        lines(change, settings, self.cluster.addresses)
    }

    fn by_time(&self, a: usize, b: usize) -> Ordering {
        self.trials[a].mean().total_cmp(&self.trials[b].mean())
    }

    /// The remedies in their order.
    fn told(&self, line: f64) -> Vec<Remedy> {
        self.ranked().into_iter().filter_map(|i| self.remedy(&self.trials[i], line)).collect()
    }

    fn remedy(&self, trial: &Trial, line: f64) -> Option<Remedy> {
        let (change, row) = (&trial.change, trial.row()?);
        let lines = self.lines(change, &trial.variant);
        Some(Remedy {
            says: change.says.clone(),
            family: change.family.clone(),
            settings: change.settings.iter().cloned().collect(),
            scheme: change.scheme.clone(),
            apply: lines.apply,
            undo: lines.undo,
            verify: lines.verify,
            plain: lines.plain,
            limiter: lines.limiter,
            touches: lines.touches,
            notes: lines.notes,
            effort: change.effort,
            deployable: change.deployable,
            apart: change.apart,
            goodput_mbps: row.goodput_mbps,
            qct_ms: row.qct_ms,
            relative_to_current: fanin_lab::stats::six_digits(trial.mean() / self.today.mean()),
            paused: trial.paused(),
            lone_flow: None,
            harms: None,
            robust: None,
            at_ends: None,
            goal: self.options.goal.as_ref().map(|goal| met(goal, trial, &row, line)),
            run: self.cluster.command(change, trial.runs.len() as u32),
            row,
        })
    }
}

/// Adds side effects and robustness of the first remedies.
fn look_beside(
    cluster: &Cluster<'_>,
    search: &Search<'_, '_>,
    remedies: &mut [Remedy],
    budget: &mut PacketBudget<'_, '_>,
) -> Result<(), Broken> {
    let of =
        |remedy: &Remedy| search.trials.iter().map(|trial| &trial.change).find(|change| change.says == remedy.says);
    let first = remedies.iter().take(LOOKED_AT).filter(|remedy| remedy.apart.is_none());
    let changes: Vec<&Change> = first.filter_map(of).collect();
    if changes.is_empty() {
        return Ok(());
    }
    let harms = harms(cluster, &changes, budget)?;
    let lone = lone_flow(cluster, &changes, budget)?;
    let robust = robust(cluster, &changes, budget)?;
    for (i, stands) in robust.into_iter().enumerate() {
        remedies[i].robust = stands;
        remedies[i].lone_flow = lone.as_ref().map(|lone| lone[i]);
        remedies[i].harms = harms.as_ref().map(|harms| harms[i].clone());
        let row = &remedies[i].row;
        if row.timeouts > 2.0 * (row.drops + row.lost) + 1.0 {
            let for_nothing = format!(
                "{} timeouts per run for {} lost packets: most timeouts are spurious",
                figures::count(row.timeouts),
                figures::count(row.drops + row.lost)
            );
            remedies[i].harms.get_or_insert_default().push(for_nothing);
        }
    }
    Ok(())
}
