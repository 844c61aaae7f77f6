//! Nothing runs that was not checked.

use fanin_spec::{Contender, Optional, Scheme, Settings};
use fanin_units::{Bytes, Time};

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.workload.fragment = Optional(Some(Bytes(64_000)));
    settings
}

fn contender(settings: Settings) -> Result<Contender, String> {
    Contender::new("any", Scheme::parse("newreno").unwrap(), settings)
}

#[test]
fn settings_that_cannot_work_make_no_contender() {
    let wrong = contender(Settings::default()).unwrap_err();
    assert!(wrong.contains("needs `workload.fragment`"), "{wrong}");
    let mut hasty = settings();
    hasty.tcp.rto_min = Time::ZERO;
    let wrong = contender(hasty).unwrap_err();
    assert!(wrong.contains("`tcp.rto_min` of 0 s: right would be above 0"), "{wrong}");
}

#[test]
fn a_fan_in_that_is_not_swept_over_makes_no_run() {
    let contender = contender(settings()).unwrap();
    let swept = contender.settings.sweep.fan_in.clone();
    assert!(!swept.contains(&9) && contender.run(9, 1).is_none());
    for fan_in in swept {
        let run = contender.run(fan_in, 3).unwrap();
        assert_eq!((run.fan_in, run.seed, run.settings.sweep.fan_in.as_slice()), (fan_in, 3, &[fan_in][..]));
    }
}
