//! A network of 100,000 hosts: reading and checking a scenario looks at each link a few times, not once per link. Otherwise these tests would
//! take hours.

use fanin_spec::Scenario;

#[test]
fn every_transport_may_have_100_000_hosts() {
    let text = "schemes = [\"dctcp\", \"dcqcn\", \"nscc\"]\n[link]\nrate = \"100 Gbit/s\"\ndelay = \"1 us\"\n\
        [fabric]\nkind = \"fat-tree\"\narity = 74\nplacement = \"spread\"\n[switch]\nshared_buffer = \"32 MiB\"\n\
        [workload]\nkind = \"all-to-all\"\nfragment = \"4 KB\"\nqueries = 1\nduration = \"1 s\"\n[sweep]\nfan_in = [1023]\n";
    let scenario = Scenario::parse("my.toml", text).unwrap();
    for variant in scenario.variants().unwrap() {
        let spec = variant.run(1023, 1).unwrap();
        let fabric = spec.settings.network().unwrap();
        assert_eq!(fabric.hosts(), 101_306);
        assert_eq!(fabric.links_into_switches().map(|(_, links)| links.len()).max(), Some(74));
        assert!(spec.settings.headrooms().is_some_and(|(has, needs)| has >= needs));
    }
}
