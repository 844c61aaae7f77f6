//! Every key has the same effect by every way to set it: in the file, by an argument (Python's way, too), in a sweep, in the table of a
//! scheme, and written into the text (by the playground and `fanin advise --save`).

use fanin_spec::{Scenario, Settings, Variant, set_value};

/// Settings that a file has before a key is set in another way.
const BEFORE: [&[(&str, &str)]; 2] = [
    &[("workload.fragment", "1 KiB")],
    &[("workload.fragment", "1 KiB"), ("tcp.profile", "linux-6.1"), ("switch.profile", "force10-s6000")],
];

/// Values of all forms; most keys refuse most of them, by every way.
const VALUES: [&str; 14] =
    ["none", "true", "false", "1", "2", "3", "0.5", "2 %", "3 ms", "20 KB", "7 Gbit/s", "linux", "switch", "off"];

/// A file with these settings, and a scheme with its own.
fn file(settings: &[(&str, &str)], own: &[(&str, &str)]) -> String {
    let line = |(path, value): &(&str, &str)| format!("{path} = {}\n", literal(value));
    let all: String = settings.iter().map(line).collect();
    let own: String = own.iter().map(line).collect();
    format!("{all}[sweep]\nfan_in = [4]\n[[schemes]]\nlabel = \"one\"\nscheme = \"cubic\"\n{own}")
}

/// A value as TOML: numbers and truth as they are, else a text.
fn literal(value: &str) -> String {
    let is_plain = value.parse::<f64>().is_ok() || ["true", "false"].contains(&value);
    if is_plain { value.to_owned() } else { format!("\"{value}\"") }
}

fn resolved(scenario: Result<Scenario, String>) -> Result<Settings, String> {
    let variants = scenario?.variants().map_err(|problem| problem.to_string())?;
    let [one]: [Variant; 1] = variants.try_into().map_err(|_| "not one variant")?;
    Ok(one.points[0].settings.clone())
}

fn parsed(text: &str) -> Result<Scenario, String> {
    Scenario::parse("my.toml", text).map_err(|problem| problem.to_string())
}

/// The settings by each way.
fn ways(before: &[(&str, &str)], path: &str, value: &str) -> [(&'static str, Result<Settings, String>); 5] {
    let others: Vec<_> = before.iter().copied().filter(|(other, _)| *other != path).collect();
    let in_file = resolved(parsed(&file(&[&others[..], &[(path, value)]].concat(), &[])));
    let argued = parsed(&file(before, &[])).and_then(|mut scenario| {
        scenario.assign("--set", &format!("{path}={value}")).map_err(|problem| problem.to_string())?;
        Ok(scenario)
    });
    let swept = parsed(&file(before, &[])).and_then(|mut scenario| {
        scenario.sweep("--sweep", &format!("{path}={value}")).map_err(|problem| problem.to_string())?;
        Ok(scenario)
    });
    let own = parsed(&file(before, &[(path, value)]));
    let written = set_value(&file(before, &[]), path, value).map_err(String::from).and_then(|text| parsed(&text));
    [
        ("file", in_file),
        ("argument", resolved(argued)),
        ("text", resolved(written)),
        ("sweep", resolved(swept)),
        ("scheme", resolved(own)),
    ]
}

/// Keys whose values differ.
fn differences(one: &Settings, other: &Settings) -> Vec<String> {
    let keys = one.docs().into_iter().zip(other.docs());
    let differ: Vec<String> =
        keys.filter(|(one, other)| one.default != other.default).map(|(key, _)| key.path).collect();
    assert_eq!(differ.is_empty(), one == other, "a difference outside of the keys");
    differ
}

#[test]
fn keys_have_the_same_effect_by_every_way() {
    let mut counts = [0; 5];
    for before in BEFORE {
        for key in Settings::default().docs() {
            // Of all schemes and points at once; and the number of servers, which the file sweeps.
            if ["sweep", "run"].contains(&key.section()) || key.path == "workload.fan_in" {
                continue;
            }
            for value in VALUES {
                let [(_, expected), others @ ..] = ways(before, &key.path, value);
                let Ok(expected) = expected else { continue };
                counts[0] += 1;
                for ((way, settings), count) in others.into_iter().zip(&mut counts[1..]) {
                    // A sweep or a scheme may refuse keys that all schemes or points share, but does not ignore them.
                    let Ok(settings) = settings else { continue };
                    let differ = differences(&settings, &expected);
                    assert_eq!(differ, [""; 0], "{} = {value} by {way}, after {before:?}", key.path);
                    *count += 1;
                }
            }
        }
    }
    let [file, argument, text, sweep, scheme] = counts;
    assert!(file > 500 && argument == file && text == file && 2 * sweep > file && 2 * scheme > file, "{counts:?}");
}
