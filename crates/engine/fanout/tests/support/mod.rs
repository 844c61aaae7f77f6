//! Driver of the fan-out algorithms for `vectors/*.json`: inputs and results of a step.

#[path = "../../../laws/tests/support/files.rs"]
mod files;

use std::iter;

use fanin_fanout::balance::{Object, balance};
use fanin_fanout::redirect::{self, Held};
use fanin_fanout::speed::{self, Planned};
use fanin_fanout::swarm::{Swarms, Target};
use fanin_fanout::tree::{self, Concurrency, Tree, bound};
use fanin_fanout::{Kind, Settings, packing, rows, sicc};
use fanin_units::{Bytes, Rate, Time};
use serde_json::{Value, json};

/// Keys of a case beside an algorithm's own settings.
const PLACE: [&str; 1] = ["capacity"];

/// Results of a step, by name.
type Answers = Vec<(&'static str, Value)>;

/// An algorithm, driven step by step.
pub type Driver = Box<dyn FnMut(&Value) -> Answers>;

/// Vectors of every algorithm that a row uses.
pub fn files() -> impl Iterator<Item = (&'static str, Value)> {
    files::vectors(rows())
}

/// An algorithm with a case's settings.
pub fn start(law: &str, case: &Value) -> Driver {
    let mut set = Settings::default();
    files::set_from(case, law, rows(), set.sections_mut(), &PLACE);
    let capacity = case["capacity"].as_str().map_or(Rate(1_000_000_000), |text| text.parse().expect("a rate"));
    let sicc = set.sicc;
    match law {
        "swarm" => swarms(sicc),
        "tree" => trees(sicc),
        "speed" => speeds(sicc, capacity),
        "packing" => Box::new(packs),
        "redirect" => Box::new(move |step| redirects(step, &sicc)),
        "balance" => Box::new(balances),
        _ => windows(law, &set, capacity),
    }
}

fn windows(law: &str, set: &Settings, capacity: Rate) -> Driver {
    let kind = Kind::ALL.iter().find(|kind| kind.row().laws[0].law == law).expect("it has a row");
    let mut window = kind.window(set, capacity).expect("it asks servers itself");
    Box::new(move |step| {
        for _ in 0..step["times"].as_u64().unwrap_or(1) {
            match step.get("answered") {
                Some(bytes) => window.answered(micros(&step["now_us"]), whole(bytes), micros(&step["took_us"])),
                None => window.lost(micros(&step["lost_us"])),
            }
        }
        let late = window.late().map(|late| late.0 / 1_000_000);
        vec![("window", json!(window.window())), ("late_us", json!(late))]
    })
}

fn swarms(sicc: sicc::Params) -> Driver {
    let mut formed = Swarms::default();
    Box::new(move |step| {
        let target = |row: &Value| {
            let [server, rack, objects, spare_io] = numbers(row);
            Target { server, rack, objects, spare_io }
        };
        let targets: Vec<Target> = list(&step["targets"]).iter().map(target).collect();
        match step.get("draws") {
            Some(draws) => {
                let mut draws = list(draws).iter().map(whole);
                let mut draw = |_| draws.next().expect("a draw a target") as u32;
                formed.form_at_random(&targets, sicc.hub, &mut draw);
            }
            None => formed.form(&targets, sicc.hub),
        }
        let server = |index: u32| targets[index as usize].server;
        let each = |value: &dyn Fn(&fanin_fanout::swarm::Swarm) -> Value| formed.swarms().iter().map(value).collect();
        let members = |index: &u32| server(*index);
        vec![
            ("racks", each(&|swarm| json!(swarm.rack))),
            ("hubs", each(&|swarm| json!(server(swarm.hub)))),
            ("backups", each(&|swarm| json!(swarm.backup.map(server)))),
            ("objects", each(&|swarm| json!(swarm.objects))),
            ("members", each(&|swarm| formed.members(swarm).iter().map(members).collect())),
        ]
    })
}

fn trees(sicc: sicc::Params) -> Driver {
    let mut concurrency = Concurrency::default();
    Box::new(move |step| {
        if let Some(under_way) = step.get("under_way") {
            concurrency.begin(whole(under_way) as u32);
            return vec![("hubs", json!(concurrency.share(whole(&step["bound"]) as u32)))];
        }
        if let Some(packet) = step.get("packet") {
            let [up, down] = ["up", "down"].map(|key| step[key].as_str().expect("a rate").parse().expect("a rate"));
            let (buffer, packet) = (Bytes(whole(&step["buffer"])), Bytes(whole(packet)));
            return vec![("bound", json!(bound(sicc.bound, buffer, packet, up, down, sicc.hubs)))];
        }
        let hub = |row: &Value| {
            let [objects, aggregation] = numbers(row);
            tree::Hub { objects: objects.into(), aggregation }
        };
        let hubs: Vec<tree::Hub> = list(&step["hubs"]).iter().map(hub).collect();
        let tree = Tree::build(&hubs, whole(&step["most"]) as u32);
        let parents: Vec<Option<u32>> = (0..hubs.len() as u32).map(|hub| tree.parent(hub)).collect();
        vec![("parents", json!(parents)), ("roots", json!(tree.roots())), ("depth", json!(tree.depth()))]
    })
}

fn speeds(sicc: sicc::Params, capacity: Rate) -> Driver {
    let (mut planned, mut hubs) = (Planned::new(capacity), Vec::new());
    Box::new(move |step| {
        let received = |value: &Value| Bytes(whole(value));
        if let Some(bytes) = step.get("starts") {
            planned.start(received(bytes), sicc.period);
        } else if let Some(queue) = step.get("queue") {
            let buffer = received(&step["buffer"]);
            planned.update(received(queue), buffer, received(&step["received"]), sicc.period, &sicc);
        } else if let Some(count) = step.get("split") {
            hubs = vec![speed::Hub { assigned: Rate(0), real: Rate(0), backlog: true }; whole(count) as usize];
            speed::split(planned.get(), &mut hubs);
        } else if let Some(real) = step.get("reached") {
            for (index, (hub, real)) in hubs.iter_mut().zip(list(real)).enumerate() {
                hub.real = Rate(whole(real));
                hub.backlog = !list(&step["idle"]).contains(&json!(index));
            }
            let packet = Rate(step.get("packet").map_or(0, whole));
            speed::reassign(planned.get(), &mut hubs, packet, &sicc);
        } else {
            assert_eq!(step["rescale"], true, "no such step: {step}");
            speed::rescale(planned.get(), &mut hubs);
        }
        let assigned: Vec<u64> = hubs.iter().map(|hub| hub.assigned.0).collect();
        vec![("planned", json!(planned.get().0)), ("assigned", json!(assigned))]
    })
}

fn packs(step: &Value) -> Answers {
    if let Some(oldest) = step.get("oldest_us") {
        let (full, last) = (step["full"] == true, step["last"] == true);
        let due = packing::due(micros(&step["now_us"]), full, last, micros(oldest), micros(&step["linger_us"]));
        return vec![("due_us", json!(due.0 / 1_000_000))];
    }
    let waiting = list(&step["waiting"]).iter().map(|size| whole(size) as u32);
    let (count, bytes) = packing::fill(whole(&step["room"]) as u32, waiting);
    vec![("count", json!(count)), ("bytes", json!(bytes))]
}

fn redirects(step: &Value, sicc: &sicc::Params) -> Answers {
    let hub = |row: &Value| redirect::Hub { remaining: whole(&row[0]), real: Rate(whole(&row[1])) };
    let mut hubs: Vec<redirect::Hub> = list(&step["hubs"]).iter().map(hub).collect();
    let held = |row: &Value| {
        let [object, hub] = numbers(row);
        Held { object, hub }
    };
    let held: Vec<Held> = list(&step["held"]).iter().map(held).collect();
    let mut replicas = |object: u32, hubs: &mut Vec<u32>| {
        hubs.extend(list(&step["replicas"][object.to_string()]).iter().map(|hub| whole(hub) as u32));
    };
    let mut moves = Vec::new();
    redirect::redirect(&mut hubs, sicc.mean_object, &held, &mut replicas, &mut moves);
    let moves: Vec<[u32; 3]> = moves.iter().map(|moved| [moved.object, moved.from, moved.to]).collect();
    let remaining: Vec<u64> = hubs.iter().map(|hub| hub.remaining).collect();
    vec![("moves", json!(moves)), ("remaining", json!(remaining))]
}

fn balances(step: &Value) -> Answers {
    let objects: Vec<(u32, Vec<u32>)> = list(&step["objects"])
        .iter()
        .map(|row| (whole(&row[0]) as u32, list(&row[1]).iter().map(|rack| whole(rack) as u32).collect()))
        .collect();
    let objects: Vec<Object<'_>> = objects.iter().map(|(bytes, racks)| Object { bytes: *bytes, racks }).collect();
    let chosen = balance(&objects);
    let racks: Vec<u32> = iter::zip(&objects, chosen).map(|(object, replica)| object.racks[replica as usize]).collect();
    let mut loads = vec![0; racks.iter().max().map_or(0, |rack| *rack as usize + 1)];
    for (object, rack) in iter::zip(&objects, &racks) {
        loads[*rack as usize] += object.bytes;
    }
    vec![("racks", json!(racks)), ("loads", json!(loads))]
}

fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn micros(value: &Value) -> Time {
    Time::from_micros(whole(value))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn numbers<const N: usize>(row: &Value) -> [u32; N] {
    std::array::from_fn(|index| whole(&row[index]) as u32)
}
