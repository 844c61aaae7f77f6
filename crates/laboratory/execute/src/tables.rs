//! Tables as columns, written as CSV and, with the feature `parquet`, as Parquet.

#[cfg(feature = "parquet")]
mod parquet;

use std::path::Path;
use std::{io, iter};

use fanin_lab::catalogue::{Kind, OF_A_RUN, Part, Value};
use fanin_lab::figures::cell;
use fanin_lab::{Runs, Slowdown, Summary, SummaryRow};
use fanin_papers::CurveRow;
use fanin_placement::{Reason, Server};
use fanin_plan::{Effect, PlacementPlan};
use fanin_spec::{Coordinate, Literal, Point, RunSpec};
use fanin_tables::{Cell, ColumnType, Row, RunTables};
use fanin_units::{Bytes, Rate, Time};

/// A table by columns of equal length.
pub struct Table {
    /// Name, also of its files.
    pub name: &'static str,
    /// Its columns, in their order.
    pub columns: Vec<Column>,
}

/// A column of a table.
pub struct Column {
    /// Name, including the unit.
    pub name: String,
    /// Values.
    pub values: Values,
}

/// A column's values; numbers may be absent.
pub enum Values {
    /// Whole numbers.
    Whole(Vec<Option<u64>>),
    /// Numbers.
    Real(Vec<Option<f64>>),
    /// Texts.
    Text(Vec<String>),
}

/// Tables of a comparison or run, created on demand.
pub struct Tables<'a> {
    summary: &'a Summary,
    runs: Vec<(&'a RunSpec, &'a RunTables)>,
    series: bool,
}

type Made<'a> = (&'static str, Box<dyn Fn() -> Table + 'a>);

impl<'a> Tables<'a> {
    /// Tables of the finished runs; with `series`, also the watched series.
    pub fn of(summary: &'a Summary, runs: Runs<'a>, series: bool) -> Tables<'a> {
        Tables { summary, runs: runs.finished().collect(), series }
    }

    /// Number of runs.
    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Names of the tables.
    pub fn names(&self) -> Vec<&'static str> {
        self.made().into_iter().map(|(name, _)| name).collect()
    }

    /// A table by name.
    pub fn get(&self, name: &str) -> Option<Table> {
        self.made().into_iter().find(|(known, _)| *known == name).map(|(_, table)| table())
    }

    /// All tables; optional ones only if they have rows.
    pub(crate) fn made(&self) -> Vec<Made<'_>> {
        fn of<'a, R: Row + 'a>(runs: &'a [(&RunSpec, &RunTables)], rows: fn(&RunTables) -> &[R]) -> Made<'a> {
            (R::TABLE, Box::new(move || Table::of_runs(runs, rows)))
        }
        let (summary, runs) = (self.summary, self.runs.as_slice());
        let mut tables: Vec<Made> = vec![
            ("summary", Box::new(|| Table::of_summary(&summary.rows))),
            ("slowdown", Box::new(|| Table::of_slowdowns(&summary.rows))),
            of(runs, |t| &t.flows),
            of(runs, |t| &t.queries),
            of(runs, |t| &t.ports),
        ];
        macro_rules! where_there_are {
            ($($rows:ident),*) => {
                $(if runs.iter().any(|(_, tables)| !tables.$rows.is_empty()) {
                    tables.push(of(runs, |t| &t.$rows));
                })*
            };
        }
        where_there_are!(
            stalls,
            tasks,
            collectives,
            ranks,
            requests,
            gathering,
            service,
            latency,
            faults,
            cards,
            classes,
            queue_pairs,
            pauses,
            deadlocks,
            port_series,
            memories,
            memory_series,
            holders
        );
        if self.series {
            tables.extend([of(runs, |t| &t.samples), of(runs, |t| &t.events)]);
            where_there_are!(hubs, hub_speeds, rank_series);
        }
        tables
    }
}

/// Writes a table to a file.
type Write = fn(&Table, &Path) -> io::Result<()>;

impl Table {
    /// Formats of files, by extension.
    pub(crate) const FORMATS: &[(&str, Write)] = &[
        ("csv", Table::write_csv),
        #[cfg(feature = "parquet")]
        ("parquet", Table::write_parquet),
    ];

    /// A table over many runs; each row starts with scheme, fan-in and seed.
    pub(crate) fn of_runs<R: Row>(runs: &[(&RunSpec, &RunTables)], rows: fn(&RunTables) -> &[R]) -> Table {
        let specs: Vec<(&RunSpec, usize)> = runs.iter().map(|(spec, tables)| (*spec, rows(tables).len())).collect();
        let mut table = Table::of_specs(R::TABLE, &specs, R::COLUMNS);
        for (_, tables) in runs {
            rows(tables).iter().for_each(|row| table.push(row.cells()));
        }
        table
    }

    /// A table with the first columns of its rows, of which each run has a number, and other columns without values so far.
    fn of_specs(name: &'static str, specs: &[(&RunSpec, usize)], own: &[fanin_tables::Column]) -> Table {
        let led = || specs.iter().flat_map(|&(spec, rows)| iter::repeat_n(spec, rows));
        let run = [
            Values::Text(led().map(|spec| spec.label.clone()).collect()),
            whole(led().map(|spec| spec.settings.servers().into())),
            whole(led().map(|spec| spec.seed)),
        ];
        let run = OF_A_RUN.iter().zip(run).map(|(column, values)| Column { name: column.name.into(), values });
        let mut columns: Vec<Column> = run.collect();
        let seed = columns.pop();
        columns.extend(swept(
            &specs.iter().map(|(spec, _)| &spec.point).collect::<Vec<_>>(),
            &led().map(|spec| &spec.point).collect::<Vec<_>>(),
        ));
        columns.extend(seed);
        columns.extend(own.iter().map(|column| Column {
            name: column.name.into(),
            values: match column.kind {
                ColumnType::U64 | ColumnType::OptionalU64 => Values::Whole(Vec::new()),
                ColumnType::Text => Values::Text(Vec::new()),
            },
        }));
        Table { name, columns }
    }

    /// Appends a row's own values, which are those of the last columns.
    fn push(&mut self, cells: Vec<Cell>) {
        let own = self.columns.len() - cells.len();
        for (column, cell) in self.columns[own..].iter_mut().zip(cells) {
            match (&mut column.values, cell) {
                (Values::Whole(values), Cell::U64(value)) => values.push(value),
                (Values::Text(values), Cell::Text(value)) => values.push(value),
                _ => unreachable!("a row's cells match its column types"),
            }
        }
    }

    /// A plan's moves in order: objects by number and key.
    pub(crate) fn of_moves(advice: &PlacementPlan) -> Table {
        let moves = || advice.plan.moves.iter();
        let key = |number| String::from_utf8_lossy(advice.catalogue.key(number)).into_owned();
        let reason = |reason| match reason {
            Reason::Popular => "popular",
            Reason::Correlated => "correlated",
        };
        // Host 0 is the client.
        let host = |server: Server| u64::from(server.0) + 1;
        let columns = [
            ("object", whole(moves().map(|of| of.object.0.into()))),
            ("from", whole(moves().map(|of| host(of.from)))),
            ("to", whole(moves().map(|of| host(of.to)))),
            ("reason", Values::Text(moves().map(|of| reason(of.reason).into()).collect())),
            ("key", Values::Text(moves().map(|of| key(of.object.0)).collect())),
        ];
        Table { name: "plan", columns: columns.map(|(name, values)| Column { name: name.into(), values }).into() }
    }

    /// Number of queries by number of servers, before and after.
    pub(crate) fn of_servers(advice: &PlacementPlan) -> Table {
        let rows = advice.effects.iter().chain(&advice.popular).map(|effect| effect.queries.len()).max().unwrap_or(0);
        let queries = |effect: &Effect| whole((0..rows).map(|n| effect.queries.get(n).copied().unwrap_or(0)));
        let [before, after] = &advice.effects;
        let popular = advice.popular.iter().map(|popular| ("queries_popular_alone", queries(popular)));
        let columns = [("servers", whole((0..rows).map(|n| n as u64))), ("queries_before", queries(before))];
        let columns = columns.into_iter().chain(popular).chain([("queries_after", queries(after))]);
        Table { name: "servers", columns: columns.map(|(name, values)| Column { name: name.into(), values }).collect() }
    }

    /// Summary rows, with nested figures flattened: `goodput_mbps_mean`, `qct_ms_p99`.
    pub(crate) fn of_summary(rows: &[SummaryRow]) -> Table {
        let mut columns = of_points(rows, &rows.iter().collect::<Vec<_>>());
        columns.extend(figures(SummaryRow::columns(), rows.iter().map(SummaryRow::cells)));
        Table { name: "summary", columns }
    }

    /// Slowdowns of the summary, one row per range of sizes.
    pub(crate) fn of_slowdowns(rows: &[SummaryRow]) -> Table {
        let led = || rows.iter().flat_map(|row| row.slowdown.iter().map(move |bucket| (row, bucket)));
        let mut columns = of_points(rows, &led().map(|(row, _)| row).collect::<Vec<_>>());
        columns.extend(figures(Slowdown::columns(), led().map(|(_, bucket)| bucket.cells())));
        Table { name: "slowdown", columns }
    }

    /// Curves of reproduced figures, one row per value.
    pub(crate) fn of_curves(rows: &[CurveRow]) -> Table {
        let text = |name: &str, pick: fn(&CurveRow) -> &str| Column {
            name: name.into(),
            values: Values::Text(rows.iter().map(|r| pick(r).to_string()).collect()),
        };
        let real = |name: &str, pick: fn(&CurveRow) -> f64| Column {
            name: name.into(),
            values: Values::Real(rows.iter().map(|r| Some(pick(r))).collect()),
        };
        let columns = vec![
            text("paper", |r| &r.paper),
            text("figure", |r| &r.figure),
            text("measure", |r| &r.measure),
            text("curve", |r| &r.curve),
            real("x", |r| r.x),
            Column { name: "run".into(), values: whole(rows.iter().map(|r| r.run)) },
            real("y", |r| r.y),
        ];
        Table { name: "figures", columns }
    }

    /// Writes the table as CSV: a header line, absent values empty.
    pub(crate) fn write_csv(&self, path: &Path) -> io::Result<()> {
        let mut writer = csv::Writer::from_path(path)?;
        writer.write_record(self.columns.iter().map(|c| &c.name))?;
        for row in 0..self.columns.first().map_or(0, |c| c.values.len()) {
            writer.write_record(self.columns.iter().map(|c| c.values.cell(row)))?;
        }
        writer.flush()
    }
}

/// First columns of points: scheme, number of servers and other swept keys; `led` are the table's rows, `all` the comparison's.
fn of_points(all: &[SummaryRow], led: &[&SummaryRow]) -> Vec<Column> {
    let [scheme, fan_in, _] = OF_A_RUN.map(|column| column.name.to_string());
    let mut columns = vec![
        Column { name: scheme, values: Values::Text(led.iter().map(|row| row.scheme.clone()).collect()) },
        Column { name: fan_in, values: whole(led.iter().map(|row| row.servers.into())) },
    ];
    let [all, led] =
        [all.iter().map(|row| &row.point).collect(), led.iter().map(|row| &row.point).collect()] as [Vec<&Point>; 2];
    columns.extend(swept(&all, &led));
    columns
}

/// One column per figure, from rows of values.
fn figures(parts: Vec<Part>, rows: impl Iterator<Item = Vec<Value>>) -> Vec<Column> {
    let empty = |part: Part| {
        let values = match part.kind {
            Kind::Text | Kind::Flag | Kind::List => Values::Text(Vec::new()),
            Kind::Whole => Values::Whole(Vec::new()),
            Kind::Real => Values::Real(Vec::new()),
        };
        part.column.map(|name| Column { name, values })
    };
    let mut columns: Vec<Column> = parts.into_iter().filter_map(empty).collect();
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            match (&mut column.values, value) {
                (Values::Text(values), Value::Text(value)) => values.push(value),
                (Values::Whole(values), Value::Whole(value)) => values.push(value),
                (Values::Real(values), Value::Real(value)) => values.push(value),
                _ => unreachable!("a figure's values have its types"),
            }
        }
    }
    columns
}

/// One column per swept key other than the number of servers, with the values of `led`; `all` are the comparison's points.
fn swept(all: &[&Point], led: &[&Point]) -> Vec<Column> {
    let mut keys: Vec<&str> = Vec::new();
    for coordinate in all.iter().flat_map(|point| &point.0).filter(|coordinate| !coordinate.is_fan_in()) {
        if !keys.contains(&coordinate.key.as_str()) {
            keys.push(&coordinate.key);
        }
    }
    let values = |key: &str| {
        let written = || led.iter().map(|point| point.get(key).map(|coordinate| &coordinate.value));
        let real = |value: &Literal| match value {
            Literal::Integer(n) => Some(*n as f64),
            Literal::Float(x) => Some(*x),
            _ => None,
        };
        let every = |is: fn(&Literal) -> bool| all.iter().filter_map(|point| point.get(key)).all(|c| is(&c.value));
        if every(|value| matches!(value, Literal::Integer(_))) {
            let number = |value: Option<&Literal>| match value {
                Some(Literal::Integer(n)) => u64::try_from(*n).ok(),
                _ => None,
            };
            Values::Whole(written().map(number).collect())
        } else if every(|value| matches!(value, Literal::Integer(_) | Literal::Float(_))) {
            Values::Real(written().map(|value| value.and_then(real)).collect())
        } else {
            Values::Text(led.iter().map(|point| point.get(key).map_or(String::new(), Coordinate::shown)).collect())
        }
    };
    let columns = keys.iter().flat_map(|key| {
        let written = Column { name: (*key).into(), values: values(key) };
        [Some(written), measured(key, all, led)]
    });
    columns.flatten().collect()
}

/// Parses a quantity with its unit.
type Reads = fn(&str) -> Option<u64>;

/// Sizes, times or rates of a swept key as numbers; `None` for other values.
fn measured(key: &str, all: &[&Point], led: &[&Point]) -> Option<Column> {
    let quantities: [(&str, Reads); 3] = [
        ("ps", |text| text.parse::<Time>().ok().map(|time| time.0)),
        ("bytes", |text| text.parse::<Bytes>().ok().map(|bytes| bytes.0)),
        ("bps", |text| text.parse::<Rate>().ok().map(|rate| rate.0)),
    ];
    let shown = |point: &&Point| point.get(key).map(Coordinate::shown);
    let of_kind = |read: Reads| {
        let mut values = all.iter().filter_map(shown).filter(|text| text != "none").peekable();
        values.peek().is_some() && values.all(|text| read(&text).is_some())
    };
    let (unit, read) = quantities.into_iter().find(|(_, read)| of_kind(*read))?;
    let values = led.iter().map(|point| read(&shown(point)?)).collect();
    Some(Column { name: format!("{key}_{unit}"), values: Values::Whole(values) })
}

fn whole(values: impl Iterator<Item = u64>) -> Values {
    Values::Whole(values.map(Some).collect())
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Whole(values) => values.len(),
            Values::Real(values) => values.len(),
            Values::Text(values) => values.len(),
        }
    }

    /// A cell of CSV.
    fn cell(&self, row: usize) -> String {
        match self {
            Values::Whole(values) => values[row].map_or(String::new(), |v| v.to_string()),
            Values::Real(values) => values[row].map_or(String::new(), |v| v.to_string()),
            Values::Text(values) => cell(&values[row]),
        }
    }
}
