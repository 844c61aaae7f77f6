//! Which runs a comparison is made of.

use fanin_spec::{Contender, RunSpec};

/// Every scheme at every fan-in under every seed, in this order: scheme, fan-in, seed. All have the same seeds.
pub fn plan(contenders: &[Contender]) -> Vec<RunSpec> {
    let mut specs = Vec::new();
    for contender in contenders {
        let (sweep, run) = (&contender.settings.sweep, &contender.settings.run);
        for &fan_in in &sweep.fan_in {
            specs.extend((0..u64::from(run.seeds)).map(|i| RunSpec {
                label: contender.label.clone(),
                scheme: contender.scheme,
                settings: contender.settings.clone(),
                fan_in,
                seed: run.first_seed + i,
            }));
        }
    }
    specs
}

#[cfg(test)]
mod tests {
    use fanin_spec::Scenario;

    use super::*;

    #[test]
    fn the_plan_goes_by_scheme_then_fan_in_then_seed() {
        let text = "schemes = [\"newreno\", \"dctcp\"]\n[workload]\nfragment = \"1 KB\"\n\
                    [sweep]\nfan_in = [2, 4]\n[run]\nseeds = 2\nfirst_seed = 7\n";
        let contenders = Scenario::parse("x.toml", text).and_then(|s| s.contenders()).unwrap();
        let order: Vec<_> = plan(&contenders).iter().map(|s| (s.label.clone(), s.fan_in, s.seed)).collect();
        let expected = ["newreno", "dctcp"]
            .iter()
            .flat_map(|label| [(2, 7), (2, 8), (4, 7), (4, 8)].map(|(fan_in, seed)| (label.to_string(), fan_in, seed)));
        assert_eq!(order, expected.collect::<Vec<_>>());
    }
}
