//! Schemes over RDMA: names, combinations, and settings that they do not use.

use fanin_spec::{Discipline, RateBased, Scenario, Scheme};

fn warnings(schemes: &str, more: &str) -> Vec<String> {
    let text = format!(
        "schemes = [{schemes}]\n[link]\nrate = \"100 Gbit/s\"\ndelay = \"1 us\"\n[switch]\nshared_buffer = \"32 MiB\"\n{more}\n\
         [workload]\nkind = \"one-shot\"\nfragment = \"1 MB\"\nduration = \"1 s\"\n[sweep]\nfan_in = [8, 128]\n"
    );
    let scenario = Scenario::parse("my.toml", &text).unwrap();
    scenario.warnings(&scenario.variants().unwrap()).iter().map(ToString::to_string).collect()
}

#[test]
fn schemes_have_their_ports() {
    let scheme = |name| Scheme::parse(name).unwrap();
    let dcqcn = scheme("DCQCN");
    assert_eq!((dcqcn.rdma(), dcqcn.discipline, dcqcn.ecn), (Some(RateBased::Dcqcn), Discipline::EcnRamp, true));
    assert_eq!(scheme("roce"), dcqcn);
    let hpcc = scheme("hpcc");
    assert_eq!((hpcc.rdma(), hpcc.discipline, hpcc.ecn), (Some(RateBased::Hpcc), Discipline::DropTail, false));
    for name in ["dcqcn", "dcqcn-window", "hpcc", "timely", "rdma-dctcp", "sicc+dcqcn"] {
        assert_eq!(scheme(name).to_string(), name);
    }
}

#[test]
fn parts_of_tcp_are_refused() {
    for name in
        ["dcqcn+gss", "timely+m21", "hpcc+ictcp", "hpcc+grants", "dcqcn+red", "rdma-dctcp+ecn_threshold", "dcqcn+cubic"]
    {
        let why = Scheme::parse(name).unwrap_err();
        assert!(why.to_string().contains(&format!("`{name}`")), "{why}");
    }
}

#[test]
fn least_rates_above_the_link_are_a_warning() {
    // 128 senders at a hundredth of the rate.
    let found = warnings("\"dcqcn\"", "[dcqcn]\nprofile = \"ns-3\"");
    assert!(found.len() == 1 && found[0].contains("128 senders at the least rate of 1 Gbit/s"), "{found:?}");
    for lower in ["", "[dcqcn]\nmin_rate = \"1/1000\"", "[dcqcn]\nmin_rate = \"100 Mbit/s\""] {
        assert!(warnings("\"dcqcn\"", lower).is_empty(), "{lower}");
    }
}

#[test]
fn a_resume_that_no_share_reaches_is_a_warning() {
    let lower = "[dcqcn]\nmin_rate = \"1/1000\"\n[pfc]\nresume = ";
    let found = warnings("\"dcqcn\"", &format!("{lower}\"40 MB\""));
    assert!(found.len() == 1 && found[0].contains("resumes only when none of its packets is left"), "{found:?}");
    assert!(warnings("\"dcqcn\"", &format!("{lower}\"20 KB\"")).is_empty());
}

#[test]
fn a_least_rate_of_zero_is_refused() {
    let text = "schemes = [\"dcqcn\"]\n[dcqcn]\nmin_rate = 0\n[workload]\nkind = \"one-shot\"\nfragment = \"1 MB\"\n";
    let refused = Scenario::parse("my.toml", text).and_then(|scenario| scenario.variants()).unwrap_err().to_string();
    assert!(refused.contains("use at least a millionth"), "{refused}");
}

#[test]
fn keys_of_tcp_have_no_effect_without_tcp() {
    let lower = "[hpcc]\nmin_rate = \"1/1000\"\n";
    let found = warnings("\"hpcc\"", &format!("alpha = 2\n{lower}[tcp]\nrto_min = \"150 ms\"\n"));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().any(|what| what.contains("`switch.alpha` has no effect here: lossless ports")), "{found:?}");
    assert!(found.iter().any(|what| what.contains("`tcp.rto_min` has no effect here: none of these")), "{found:?}");
    assert!(warnings("\"hpcc\", \"dctcp\"", &format!("alpha = 2\n{lower}[tcp]\nrto_min = \"150 ms\"\n")).is_empty());
}
