//! Former names of keys and values mean the same as present ones, and each is a warning.

use fanin_spec::Scenario;

/// A scenario's settings, and its warnings about former names.
fn read(text: &str, set: &[&str], sweep: &[&str]) -> (String, Vec<String>) {
    let mut scenario = Scenario::parse("my.toml", text).unwrap();
    set.iter().for_each(|set| scenario.assign("--set", set).unwrap());
    sweep.iter().for_each(|axis| scenario.sweep("--sweep", axis).unwrap());
    let variants = scenario.variants().unwrap();
    let warnings: Vec<String> = scenario.warnings(&variants).iter().map(ToString::to_string).collect();
    (Scenario::hash(&variants), warnings.into_iter().filter(|warning| warning.contains("the old name")).collect())
}

/// Requests through hubs, in ten lines.
const KEY_VALUE: &str = "schemes = [\"sicc\"]\n[fabric]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 3\nspines = 1\n\
                         [workload]\nkind = \"key_value\"\n[sweep]\nfan_in = [4]\n";

#[test]
fn former_key_of_a_section_is_the_present_one() {
    let file = |key: &str| read(&format!("{KEY_VALUE}[key_value]\n{key} = \"40 ms\"\n"), &[], &[]);
    let (former, present) = (file("patience"), file("timeout"));
    assert_eq!((former.0, present.1), (present.0, Vec::new()));
    assert_eq!(
        former.1,
        [
            "my.toml:12: `key_value.patience` is now `key_value.timeout`; the old name is accepted until the next release"
        ]
    );
}

#[test]
fn former_value_is_the_present_one() {
    let file = |word: &str| read(&format!("{KEY_VALUE}[sicc]\nqueue = \"{word}\"\n"), &[], &[]);
    let (former, present) = (file("told"), file("reported"));
    assert_eq!((former.0, present.1), (present.0, Vec::new()));
    assert_eq!(
        former.1,
        ["my.toml:12: `sicc.queue`: \"told\" is now \"reported\"; the old name is accepted until the next release"]
    );
}

#[test]
fn arguments_sweeps_and_schemes_accept_former_keys() {
    let by = |key: &str| {
        let scheme = format!("[[schemes]]\nscheme = \"ictcp-window\"\n{key} = 4");
        let own = KEY_VALUE.replace("schemes = [\"sicc\"]", &scheme);
        let path = format!("ictcp_window.{key}");
        [
            read(KEY_VALUE, &[&format!("{path}=4")], &[]),
            read(KEY_VALUE, &[], &[&format!("{path}=4,5")]),
            read(&own, &[], &[]),
        ]
    };
    for (former, present) in by("patience").into_iter().zip(by("decrease_after")) {
        assert_eq!((&former.0, present.1.len()), (&present.0, 0));
        assert_eq!(former.1.len(), 1, "{:?}", former.1);
        assert!(former.1[0].contains("`ictcp_window.patience` is now `ictcp_window.decrease_after`"), "{:?}", former.1);
    }
}
