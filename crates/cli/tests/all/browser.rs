//! The example of a comparison in a browser: it gives what the library gives with threads.

#[path = "../../../report/examples/browser.rs"]
mod example;

#[test]
fn browser_equals_threaded_library() {
    // Hosts without jitter: points are run again with jitter, and a warning reports the difference.
    let text = "schemes = [\"newreno\"]\n[host]\npacket_jitter = \"none\"\n[link]\nrate = \"1 Gbit/s\"\ndelay = \"25 us\"\n\
                [switch]\nbuffer = \"64 KiB\"\n[workload]\nfragment = \"256 KiB\"\nduration = \"200 ms\"\n\
                [sweep]\nfan_in = [2, 8]\n[run]\nseeds = 2\n";
    let lab = fanin::Lab::default().without_cache();
    let scenario = fanin::Scenario::parse("page.toml", text).and_then(|scenario| scenario.resolve()).unwrap();
    let library = lab.compare(&scenario, fanin::CompareOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(library.warnings().len(), 1);
    let without_cost = |json: &str| {
        let mut object: serde_json::Value = serde_json::from_str(json).unwrap();
        object.as_object_mut().unwrap().remove("engine");
        object
    };
    assert_eq!(without_cost(&example::compare("page.toml", text).unwrap()), without_cost(&library.to_json()));
}

#[test]
fn error_has_line() {
    let error = example::compare("page.toml", "schemes = [\"dctcp\"]\n[link]\nrat = 1\n").unwrap_err();
    assert!(error.to_string().starts_with("page.toml:3: "), "{error}");
}
