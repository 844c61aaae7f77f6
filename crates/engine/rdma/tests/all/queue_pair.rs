//! One end of a connection: its packets in response to packets and timers.

use fanin_laws::rate::Kind;
use fanin_rdma::QueuePair;
use fanin_transport::{Bits, Packet, Phase, Progress, SendLimit, Timer, Transport};
use fanin_units::Time;

use crate::end::{End, PACKET, starts};

#[test]
fn packets_leave_one_by_one_at_the_line_rate() {
    let mut end = End::open(Kind::Dcqcn);
    let first = end.write(2_500);
    assert_eq!((first.len(), first[0].payload, first[0].bytes), (1, 1_000, 1_044));
    assert!(first[0].bits.any(Bits::ECT));
    // While it waits in the network card, nothing else is sent, not even after an ACK.
    assert_eq!(end.end.deadline(), Time::NEVER);
    assert!(end.departs(1_000).is_empty());
    assert_eq!(end.end.deadline(), PACKET);
    let (timer, second) = end.expire();
    assert_eq!((timer, starts(&second)), (Timer::Pace, vec![1_000]));
    let third = end.send_all(second, 2);
    assert_eq!((starts(&third), third[1].payload), (vec![1_000, 2_000], 500));
}

#[test]
fn every_packet_is_acknowledged_and_gaps_are_reported_once() {
    let (mut sender, mut receiver) = (End::open(Kind::Dcqcn), End::open(Kind::Dcqcn));
    let first = sender.write(4_000);
    let data = sender.send_all(first, 4);
    let reply = |receiver: &mut End, packet: &Packet| starts(&receiver.receive(packet).1);
    assert_eq!(reply(&mut receiver, &data[0]), [1_000]);
    // The second one is lost. The receiver asks for it once, and again after the interval.
    let (_, nack) = receiver.receive(&data[2]);
    assert_eq!(starts(&nack), [1_000]);
    assert_eq!(reply(&mut receiver, &data[3]), []);
    receiver.now = receiver.settings.nack_interval.expect("an interval");
    assert_eq!(reply(&mut receiver, &data[3]), [1_000]);
    assert_eq!(receiver.end.delivered(), 1_000);
    // The sender goes back to it.
    sender.departs(1_000);
    sender.now += Time::from_micros(10);
    let (_, again) = sender.receive(&nack[0]);
    assert_eq!(starts(&again), [1_000]);
    assert_eq!((sender.end.stats().fast_retransmits, sender.end.stats().retransmits), (1, 1));
    assert_eq!(reply(&mut receiver, &again[0]), [2_000]);
    // A packet that came before is acknowledged again.
    assert_eq!(reply(&mut receiver, &data[0]), [2_000]);
}

#[test]
fn everything_is_sent_again_after_a_timeout() {
    let mut end = End::open(Kind::Dcqcn);
    let first = end.write(2_000);
    let sent = end.send_all(first, 2);
    assert_eq!(starts(&sent), [0, 1_000]);
    end.departs(1_000);
    let (timer, again) = end.expire();
    assert_eq!((timer, starts(&again)), (Timer::Timeout, vec![0]));
    assert_eq!(end.now, PACKET + end.settings.timeout);
    assert_eq!((end.end.stats().timeouts, end.end.written().acked), (1, 0));
}

#[test]
fn window_of_a_round_trip_limits_flight() {
    let mut end = End::open(Kind::DcqcnWindow);
    // 4 us at 100 Gbit/s are 50,000 B.
    let first = end.write(100_000);
    let sent = end.send_all(first, 50);
    end.departs(1_000);
    assert_eq!(sent.len(), 50);
    // Only the timeout is left.
    assert!(end.end.deadline() >= end.settings.timeout);
}

#[test]
fn marks_are_notified_at_most_once_in_an_interval() {
    let mut receiver = End::open(Kind::Dcqcn);
    receiver.settings.cnp_interval = Time::from_micros(50);
    let mut sender = End::open(Kind::Dcqcn);
    let first = sender.write(3_000);
    let data = sender.send_all(first, 3);
    let sends_on = |packet: &Packet, now: Time, receiver: &mut End, sender: &mut End| {
        (receiver.now, sender.now) = (now, now);
        let marked = Packet { bits: packet.bits | Bits::CE, ..*packet };
        let (_, acks) = receiver.receive(&marked);
        sender.receive(&acks[0]);
        sender.end.notified()
    };
    let us = Time::from_micros;
    sender.departs(1_000);
    let line = sender.end.limit();
    assert_eq!(sends_on(&data[0], us(10), &mut receiver, &mut sender), Some(1));
    // The first notification begins DCQCN's grid of 4 us. Nothing wakes the sender for the cut, only for the increase 300 us later.
    assert_eq!(sender.end.deadline(), us(314));
    assert_eq!(sender.end.limit(), line);
    // The second packet's mark comes too early to be notified; the cut was served before it.
    assert_eq!(sends_on(&data[1], us(30), &mut receiver, &mut sender), Some(1));
    let rate = |limit| if let SendLimit::Rate(rate) = limit { rate.0 } else { 0 };
    // Alpha was 1, and has fallen by 5/1024 in each of four microseconds.
    let share = rate(sender.end.limit()) as f64 / rate(line) as f64;
    let kept = 1_019.0 / 1_024.0;
    assert!((share - (1.0 - 0.5 * kept * kept * kept * kept)).abs() < 1e-4, "{share}");
    assert_eq!(sends_on(&data[2], us(60), &mut receiver, &mut sender), Some(2));
    assert_eq!(sender.end.deadline(), Time::NEVER, "all is acknowledged");
}

#[test]
fn connections_open_and_close_at_both_ends() {
    let (mut opener, mut other) = (End::open(Kind::Hpcc), End::open(Kind::Hpcc));
    (opener.end, other.end) = (QueuePair::new(&opener.settings), QueuePair::new(&other.settings));
    let (_, open) = opener.call(|end, call| end.connect(call));
    assert!(open[0].bits.any(Bits::OPENS));
    let (progress, accept) = other.receive(&open[0]);
    assert!(progress.any(Progress::ESTABLISHED));
    assert!(opener.receive(&accept[0]).0.any(Progress::ESTABLISHED));
    let (_, close) = opener.call(|end, call| end.close(call));
    assert!(close[0].bits.any(Bits::CLOSES));
    let (progress, ack) = other.receive(&close[0]);
    assert!(progress.any(Progress::CLOSED));
    opener.receive(&ack[0]);
    assert_eq!([opener.end.phase(), other.end.phase()], [Phase::Open; 2]);
    let (_, close) = other.call(|end, call| end.close(call));
    let (_, ack) = opener.receive(&close[0]);
    other.receive(&ack[0]);
    assert_eq!([opener.end.phase(), other.end.phase()], [Phase::Finished; 2]);
}

#[test]
fn lost_opening_packet_is_repeated() {
    let mut end = End::open(Kind::Dcqcn);
    end.end = QueuePair::new(&end.settings);
    end.call(|end, call| end.connect(call));
    let (timer, sent) = end.expire();
    assert_eq!((timer, sent.len(), end.now), (Timer::Handshake, 1, end.settings.timeout));
}

#[test]
fn queue_pair_is_small() {
    assert!(size_of::<QueuePair>() <= 512, "{}", size_of::<QueuePair>());
}
