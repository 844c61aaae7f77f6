//! Random settings of every section, fan-outs' too, within the declared ranges.

use std::fmt::Debug;

use fanin_laws::settings::{Key, Section, Value};
use fanin_units::{Bytes, QueueSize, Rate, SendRate, Share, Time};
use proptest::prelude::*;
use proptest::sample::select;

/// Random valid settings, based on this default with its sections.
pub fn settings<S: Clone + Debug + Default>(
    sections: fn(&S) -> Vec<&dyn Section>,
    sections_mut: fn(&mut S) -> Vec<&mut dyn Section>,
) -> impl Strategy<Value = S> {
    let default = S::default();
    let keys: Vec<Key> = sections(&default).iter().flat_map(|section| section.keys()).collect();
    let values: Vec<BoxedStrategy<Value>> = keys.iter().map(value).collect();
    let set = move |values: Vec<Value>| {
        let mut settings = S::default();
        for (key, value) in keys.iter().zip(values) {
            let mut sections = sections_mut(&mut settings).into_iter();
            let section = sections.find(|section| key.path.split('.').next() == Some(section.name()));
            section.and_then(|section| section.set(key.name, value)).expect("it has that key");
        }
        settings
    };
    let right = move |settings: &S| sections(settings).iter().all(|section| section.refuses().is_none());
    values.prop_map(set).prop_filter("laws refuse some settings", right)
}

fn value(key: &Key) -> BoxedStrategy<Value> {
    let (least, most) = key.range.unwrap_or_default();
    let size = || prop_oneof![(1..100_000u64).prop_map(QueueSize::Bytes), (1..100u32).prop_map(QueueSize::Packets)];
    let count = |end: Option<Value>, or: u32| if let Some(Value::Count(n)) = end { n } else { or };
    let bytes = |end: Option<Value>, or: u64| if let Some(Value::Bytes(bytes)) = end { bytes.0 } else { or };
    let share = |end: Option<Value>, or: f64| if let Some(Value::Share(share)) = end { share.as_f64() } else { or };
    match key.value {
        Value::Count(_) => (count(least, 0)..=count(most, u32::MAX)).prop_map(Value::Count).boxed(),
        Value::Flag(_) => any::<bool>().prop_map(Value::Flag).boxed(),
        Value::Share(_) => {
            let (least, most) = (share(least, 0.0), share(most, 1.0));
            let units = (least * f64::from(1 << 20)).ceil() as u32..=(most * f64::from(1 << 20)) as u32;
            units.prop_map(|units| Value::Share(Share::of(units, 1 << 20))).boxed()
        }
        Value::SendRate(_) => {
            let of = (1..1u64 << 40).prop_map(|rate| SendRate::Of(Rate(rate)));
            let share = (1..=1_000_000u32).prop_map(|millionths| SendRate::Share(Share::of(millionths, 1_000_000)));
            prop_oneof![of, share].prop_map(Value::SendRate).boxed()
        }
        Value::Time(_) => (1..1_000_000u64).prop_map(|us| Value::Time(Time::from_micros(us))).boxed(),
        Value::MaybeTime(_) => {
            prop::option::of((1..10_000u64).prop_map(Time::from_micros)).prop_map(Value::MaybeTime).boxed()
        }
        Value::Bytes(_) => (bytes(least, 0)..=bytes(most, u64::MAX)).prop_map(|n| Value::Bytes(Bytes(n))).boxed(),
        Value::Size(_) => size().prop_map(Value::Size).boxed(),
        Value::MaybeSize(_) => prop::option::of(size()).prop_map(Value::MaybeSize).boxed(),
        Value::Word(_, words) => select(words.all).prop_map(move |word| Value::Word(word, words)).boxed(),
    }
}
