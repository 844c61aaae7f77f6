//! Figures in a meter: `cargo test -p fanin-limit --features opentelemetry`.
#![cfg(feature = "opentelemetry")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fanin_limit::{Limit, Settings};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{
    AsyncInstrument, AsyncInstrumentBuilder, Callback, InstrumentProvider, Meter, ObservableCounter, ObservableGauge,
};

/// Callbacks by the names of their instruments.
type Callbacks = Mutex<BTreeMap<String, Vec<Callback<f64>>>>;

/// A meter that keeps the callbacks.
#[derive(Default)]
struct Kept(Arc<Callbacks>);

impl Kept {
    fn keep<I: AsyncInstrument<f64>>(&self, builder: AsyncInstrumentBuilder<'_, I, f64>) {
        self.0.lock().unwrap().insert(builder.name.into_owned(), builder.callbacks);
    }
}

impl InstrumentProvider for Kept {
    fn f64_observable_counter(
        &self,
        builder: AsyncInstrumentBuilder<'_, ObservableCounter<f64>, f64>,
    ) -> ObservableCounter<f64> {
        self.keep(builder);
        ObservableCounter::new()
    }

    fn f64_observable_gauge(
        &self,
        builder: AsyncInstrumentBuilder<'_, ObservableGauge<f64>, f64>,
    ) -> ObservableGauge<f64> {
        self.keep(builder);
        ObservableGauge::new()
    }
}

struct Seen(Mutex<f64>);

impl AsyncInstrument<f64> for Seen {
    fn observe(&self, value: f64, _: &[KeyValue]) {
        *self.0.lock().unwrap() = value;
    }
}

#[test]
fn meter_observes_a_limit() {
    let kept = Kept::default();
    let callbacks = kept.0.clone();
    let limit = Limit::new(Settings::default());
    limit.observe(&Meter::new(Arc::new(kept)));
    let value = |name: &str| {
        let seen = Seen(Mutex::new(-1.0));
        callbacks.lock().unwrap()[name].iter().for_each(|callback| callback(&seen));
        *seen.0.lock().unwrap()
    };
    let grant = limit.acquire(64_000);
    assert_eq!((value("fanin_limit_in_flight_bytes"), value("fanin_limit_responses")), (64_000.0, 0.0));
    grant.finish(64_000);
    assert_eq!((value("fanin_limit_in_flight_bytes"), value("fanin_limit_responses")), (0.0, 1.0));
    assert_eq!(callbacks.lock().unwrap().len(), 14);
}
