//! Closeness and clusters answer as `vectors/*.json` says: worked out from the papers, not from this code.

#[path = "../../../laws/tests/vectors/replay.rs"]
mod replay;

use std::fs;
use std::path::Path;

use fanin_placement::closeness::{Edge, closeness};
use fanin_placement::cut_clusters::cut_clusters;
use fanin_placement::picc::Params;
use fanin_placement::{Object, RequestLog};
use fanin_units::Time;
use serde_json::{Value, json};

fn file(law: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../vectors/{law}.json"));
    serde_json::from_str(&fs::read_to_string(&path).expect("it is there")).expect("it is JSON")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn whole(value: &Value) -> u32 {
    value.as_u64().and_then(|number| number.try_into().ok()).expect("a whole number")
}

/// Two objects and what is between them.
fn edge(row: &Value) -> Edge {
    Edge { ends: [Object(whole(&row[0])), Object(whole(&row[1]))], closeness: whole(&row[2]) }
}

#[test]
fn closeness_answers_as_its_vectors_say() {
    let start = |_: &str, case: &Value| {
        let mut settings = Params::default();
        for (key, value) in case["settings"].as_object().into_iter().flatten() {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            set(&mut settings, key, &text);
        }
        settings
    };
    replay::replay("closeness", &file("closeness"), start, |settings, step| {
        let mut log = RequestLog::new(whole(&step["objects"]) as usize, 1 << 20);
        for query in list(&step["log"]) {
            let objects = list(&query[1]).iter().map(|object| Object(whole(object)));
            log.add(Time::from_secs(whole(&query[0]).into()), objects);
        }
        let history: Option<Vec<Edge>> = step.get("history").map(|pairs| list(pairs).iter().map(edge).collect());
        let edges = closeness(&log, history.as_deref(), settings);
        let mut pairs: Vec<[u32; 3]> = edges
            .iter()
            .map(|edge| {
                let [one, other] = edge.ends.map(|end| end.0);
                [one.min(other), one.max(other), edge.closeness]
            })
            .collect();
        pairs.sort_unstable();
        vec![("pairs", json!(pairs)), ("count", json!(edges.len()))]
    });
}

#[test]
fn clusters_answer_as_their_vectors_say() {
    replay::replay(
        "cut_clusters",
        &file("cut_clusters"),
        |_, _| (),
        |(), step| {
            let edges: Vec<Edge> = list(&step["edges"]).iter().map(edge).collect();
            let clusters = cut_clusters(whole(&step["objects"]) as usize, &edges, whole(&step["w"]).into());
            vec![("clusters", json!(clusters))]
        },
    );
}

/// A setting as a scenario has it.
fn set(settings: &mut Params, key: &str, text: &str) {
    match key {
        "alpha" => settings.alpha = text.parse().expect("a share"),
        "beta" => settings.beta = text.parse().expect("a share"),
        "least" => settings.least = text.parse().expect("a share"),
        "strongest" => settings.strongest = text.parse().expect("a number"),
        "slot" => settings.slot = text.parse().expect("a time"),
        _ => panic!("no vector sets {key}"),
    }
}
