//! Losses over ports that drop, as cards repair them: scripted packets, worked out by hand.

use fanin_laws::rate::rdma::Recovery;
use fanin_laws::rate::{Kind, Place, Settings as Laws};
use fanin_rdma::{Messages, Settings};
use fanin_transport::{Bits, Block, Metadata, Packet, Phase, Progress, Timer, Transport};
use fanin_units::Time;
use proptest::prelude::*;

use crate::end::{End, LINE, PACKET, starts};

/// Settings of a card: one request for each burst of loss.
fn card() -> Settings {
    let settings = Settings::new(Kind::Dcqcn, &Laws::default(), &Place { line: LINE, rtt: Time::from_micros(4) });
    Settings { nack_interval: None, ..settings }
}

fn selective() -> Settings {
    Settings { recovery: Recovery::SelectiveRepeat, ..card() }
}

/// A sender's first full packets.
fn packets(settings: Settings, count: usize) -> (End, Vec<Packet>) {
    let mut sender = End::with(settings);
    let first = sender.write(1_000 * count as u64);
    let sent = sender.send_all(first, count);
    sender.departs(1_000);
    (sender, sent)
}

fn acks(receiver: &mut End, data: &[Packet]) -> Vec<u32> {
    data.iter().flat_map(|packet| starts(&receiver.receive(packet).1)).collect()
}

#[test]
fn one_request_is_sent_for_each_burst_of_loss() {
    let (_, data) = packets(card(), 8);
    let mut receiver = End::with(card());
    assert_eq!(acks(&mut receiver, &data[..2]), [1_000, 2_000]);
    // Packets 2 and 4 are lost: one request, however long the rest of the flight takes.
    assert_eq!(acks(&mut receiver, &[data[3]]), [2_000]);
    receiver.now += Time::from_secs(1);
    assert_eq!(acks(&mut receiver, &data[5..]), []);
    // The sender goes back. Its first packet is lost again: the next one has a lower number than those before it.
    assert_eq!(acks(&mut receiver, &[data[3]]), [2_000]);
    assert_eq!(acks(&mut receiver, &data[4..]), []);
    assert_eq!(acks(&mut receiver, &data[2..]), [3_000, 4_000, 5_000, 6_000, 7_000, 8_000]);
}

#[test]
fn requests_need_no_loss_of_order_to_notify_of_congestion() {
    let (mut sender, data) = packets(card(), 4);
    let mut receiver = End::with(card());
    acks(&mut receiver, &[data[0], data[2]]);
    let marked = Packet { bits: data[3].bits | Bits::CE, ..data[3] };
    let (_, reply) = receiver.receive(&marked);
    assert_eq!(starts(&reply), [1_000], "an acknowledgement that notifies, although the request has been sent");
    sender.receive(&reply[0]);
    assert_eq!((sender.end.notified(), sender.end.stats().fast_retransmits), (Some(1), 0));
}

#[test]
fn tail_that_is_lost_waits_for_the_local_ack_timeout() {
    let timeout = Time(4_096_000 << 14);
    let (mut sender, _) = packets(Settings { timeout, ..card() }, 3);
    let (timer, again) = sender.expire();
    assert_eq!((timer, starts(&again)), (Timer::Timeout, vec![0]));
    assert_eq!(sender.now, Time(2 * PACKET.0 + timeout.0), "67 ms after the last packet began to leave");
}

#[test]
fn connection_breaks_after_its_retries() {
    let (mut sender, _) = packets(Settings { retries: Some(2), ..card() }, 1);
    for _ in 0..2 {
        assert_eq!(sender.expire().0, Timer::Timeout);
        sender.departs(1_000);
    }
    sender.now = sender.end.deadline();
    let (expiry, sent) = sender.call(|end, call| end.expire(call));
    assert!(expiry.progress.any(Progress::BROKEN) && sent.is_empty());
    assert_eq!((sender.end.phase(), sender.end.deadline()), (Phase::Reset, Time::NEVER));
}

#[test]
fn acknowledgement_resets_the_retries() {
    let (mut sender, data) = packets(Settings { retries: Some(1), ..card() }, 2);
    let mut receiver = End::with(card());
    sender.expire();
    let (_, ack) = receiver.receive(&data[0]);
    sender.receive(&ack[0]);
    sender.departs(1_000);
    assert_eq!(sender.expire().0, Timer::Pace);
    sender.departs(1_000);
    sender.now = sender.end.deadline();
    let (expiry, _) = sender.call(|end, call| end.expire(call));
    assert_eq!((expiry.timer, expiry.progress), (Timer::Timeout, Progress::NONE));
}

#[test]
fn selective_repeat_sends_only_the_holes_again() {
    let (mut sender, data) = packets(selective(), 8);
    let mut receiver = End::with(selective());
    // Packets 2 and 5 are lost.
    let replies: Vec<(Packet, Option<Block>)> = [0, 1, 3, 4, 6, 7]
        .iter()
        .flat_map(|&at: &usize| {
            let (outbox, _) = receiver.take(&data[at]);
            outbox.0.into_iter().zip(outbox.1).collect::<Vec<_>>()
        })
        .collect();
    let kept: Vec<_> = replies.iter().filter_map(|(_, block)| *block).map(|block| (block.start, block.end)).collect();
    assert_eq!(kept, [(3_000, 4_000), (3_000, 5_000), (6_000, 7_000), (6_000, 8_000)]);
    assert_eq!(receiver.end.delivered(), 2_000);
    for (packet, block) in &replies {
        let sack = block.as_slice();
        let sent = sender.call(|end, call| end.receive(call, packet, Metadata { sack, ..Metadata::default() })).1;
        assert!(sent.is_empty(), "the next packet's time has not come");
    }
    let mut again = sender.expire().1;
    assert_eq!(starts(&again), [2_000]);
    sender.departs(1_000);
    again.extend(sender.expire().1);
    assert_eq!(starts(&again), [2_000, 5_000]);
    assert_eq!((sender.end.stats().retransmits, sender.end.stats().fast_retransmits), (2, 2));
    assert_eq!(acks(&mut receiver, &again), [5_000, 8_000]);
    assert_eq!(receiver.end.delivered(), 8_000);
}

#[test]
fn send_queue_holds_a_number_of_messages() {
    let messages = Messages { bytes: 2_500, depth: 2, cost: Time::ZERO };
    let (mut sender, mut receiver) = (End::with(Settings { messages, ..card() }), End::with(card()));
    let first = sender.write(10_000);
    let data = sender.send_all(first, 6);
    // No packet has bytes of two messages.
    assert_eq!(data.iter().map(|packet| packet.payload).collect::<Vec<_>>(), [1_000, 1_000, 500, 1_000, 1_000, 500]);
    sender.departs(500);
    assert!(sender.end.deadline() >= sender.settings.timeout, "the third message waits for the first one");
    for packet in &data[..3] {
        let (_, ack) = receiver.receive(packet);
        assert!(sender.receive(&ack[0]).1.is_empty(), "its time has not come");
    }
    assert_eq!(starts(&sender.expire().1), [5_000]);
}

#[test]
fn messages_cost_the_card_time() {
    let messages = Messages { bytes: 2_000, depth: 0, cost: Time::from_micros(1) };
    let mut sender = End::with(Settings { messages, ..card() });
    let first = sender.write(6_000);
    assert_eq!(starts(&first), [0], "an idle queue pair begins at once");
    let sent = sender.send_all(first, 3);
    assert_eq!((starts(&sent), sender.now), (vec![0, 1_000, 2_000], Time(1_000_000 + 2 * PACKET.0)));
}

/// A sender and a receiver over a link that loses any packets, in order, until everything is delivered; returns data packets sent.
fn carry(settings: &Settings, count: u64, lost: &[bool]) -> usize {
    let (mut sender, mut receiver) = (End::with(settings.clone()), End::with(settings.clone()));
    let mut fates = lost.iter().copied();
    let (mut sent, mut all) = (sender.write(1_000 * count), 0);
    for _ in 0..100_000 {
        let mut replies = Vec::new();
        for packet in std::mem::take(&mut sent) {
            all += 1;
            let more = sender.departs(packet.payload);
            sent.extend(more);
            receiver.now = sender.now;
            if !fates.next().unwrap_or(false) {
                let outbox = receiver.take(&packet).0;
                replies.extend(outbox.0.into_iter().zip(outbox.1));
            }
        }
        for (packet, block) in replies {
            let sack = block.as_slice();
            sent.extend(
                sender.call(|end, call| end.receive(call, &packet, Metadata { sack, ..Metadata::default() })).1,
            );
        }
        if receiver.end.delivered() == 1_000 * count && sender.end.written().acked == 1_000 * count {
            return all;
        }
        if sent.is_empty() {
            sent = sender.expire().1;
        }
    }
    panic!("{} of {count} packets are delivered", receiver.end.delivered() / 1_000)
}

proptest! {
    #![proptest_config(fanin_testing::cases(200))]

    #[test]
    fn everything_is_delivered_whatever_is_lost(lost in prop::collection::vec(any::<bool>(), 0..60), count in 1..30u64) {
        for settings in [card(), selective()] {
            let sent = carry(&settings, count, &lost);
            prop_assert!(sent >= count as usize);
        }
    }

    #[test]
    fn selective_repeat_sends_no_more_than_is_lost(lost in prop::collection::vec(any::<bool>(), 0..60), count in 1..30u64) {
        let losses = lost.iter().filter(|&&lost| lost).count();
        prop_assert!(carry(&selective(), count, &lost) <= count as usize + losses);
    }
}
