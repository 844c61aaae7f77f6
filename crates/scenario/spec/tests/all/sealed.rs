//! Nothing runs that was not checked.

use fanin_spec::{Optional, Point, Scenario, Scheme, Settings, Variant};
use fanin_units::{Bytes, Time};

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.workload.fragment = Optional(Some(Bytes(64_000)));
    settings
}

fn variant(settings: Settings) -> Result<Variant, String> {
    Ok(Variant::new("any", Scheme::parse("newreno").unwrap(), settings)?)
}

#[test]
fn invalid_settings_make_no_variant() {
    let wrong = variant(Settings::default()).unwrap_err();
    assert!(wrong.contains("needs `workload.fragment`"), "{wrong}");
    let mut hasty = settings();
    hasty.tcp.rto_min = Time::ZERO;
    let wrong = variant(hasty).unwrap_err();
    assert!(wrong.contains("`tcp.rto_min` of 0 s: use above 0"), "{wrong}");
}

#[test]
fn unswept_fan_in_makes_no_run() {
    let text = "schemes = [\"newreno\"]\n[workload]\nfragment = \"64 KB\"\n";
    let variant = Scenario::parse("my.toml", text).and_then(|s| s.variants()).unwrap().remove(0);
    assert_eq!(variant.fan_ins(), [2, 4, 8, 16, 32, 64, 128]);
    assert!(variant.run(9, 1).is_none() && variant.at(7, 1).is_none());
    for (place, fan_in) in variant.fan_ins().into_iter().enumerate() {
        let run = variant.run(fan_in, 3).unwrap();
        assert_eq!((run.settings.servers(), run.place, run.seed), (fan_in, place, 3));
        assert_eq!(run.point, Point::of_fan_in(fan_in));
    }
}
