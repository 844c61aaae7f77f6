//! Vectors of closeness, clusters, fan-out and cover (`vectors/*.json`), which were computed from the papers, not from this code.

#[path = "../../../laws/tests/vectors/replay.rs"]
mod replay;

use std::fs;
use std::path::Path;

use fanin_placement::closeness::{Edge, closeness};
use fanin_placement::cut_clusters::cut_clusters;
use fanin_placement::fan_out::{saves, settled};
use fanin_placement::picc::Params;
use fanin_placement::{Cover, Object, RequestLog, Server};
use fanin_units::Time;
use serde_json::{Value, json};

fn file(law: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../../vectors/{law}.json"));
    serde_json::from_str(&fs::read_to_string(&path).expect("it is there")).expect("it is JSON")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn whole(value: &Value) -> u32 {
    value.as_u64().and_then(|number| number.try_into().ok()).expect("a whole number")
}

/// Two objects and the weight between them.
fn edge(row: &Value) -> Edge {
    Edge { ends: [Object(whole(&row[0])), Object(whole(&row[1]))], closeness: whole(&row[2]) }
}

#[test]
fn closeness_matches_vectors() {
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
fn clusters_match_vectors() {
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

#[test]
fn fan_out_matches_vectors() {
    replay::replay(
        "fan_out",
        &file("fan_out"),
        |_, _| (),
        |(), step| {
            let parts: Vec<u32> = list(&step["parts"]).iter().map(whole).collect();
            let mut log = RequestLog::new(parts.len(), 1 << 20);
            for query in list(&step["queries"]) {
                log.add(Time::ZERO, list(query).iter().map(|object| Object(whole(object))));
            }
            let sharpness = whole(&step["sharpness"]);
            match step.get("object") {
                Some(object) => {
                    let saves = saves(&log, &parts, whole(&step["of"]) as usize, Object(whole(object)), sharpness);
                    vec![("saves", json!(saves))]
                }
                None => {
                    let most: Vec<u64> = list(&step["most"]).iter().map(|most| whole(most).into()).collect();
                    vec![("parts", json!(settled(&log, parts, &most, sharpness, 4)))]
                }
            }
        },
    );
}

#[test]
fn cover_matches_vectors() {
    let start = |_: &str, case: &Value| Cover::new(whole(&case["servers"]) as usize, whole(&case["most_q8"]).into());
    replay::replay("cover", &file("cover"), start, |cover, step| {
        let homes: Vec<Vec<Server>> = list(&step["homes"])
            .iter()
            .map(|of| list(of).iter().map(|server| Server(whole(server))).collect())
            .collect();
        let mut servers = Vec::new();
        for _ in 0..step.get("times").map_or(1, whole) {
            cover.choose(homes.len(), |object| &homes[object], &mut servers);
        }
        let servers: Vec<u32> = servers.iter().map(|server| server.0).collect();
        vec![("servers", json!(servers)), ("loads", json!(cover.loads()))]
    });
}

/// Sets a scenario key.
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
