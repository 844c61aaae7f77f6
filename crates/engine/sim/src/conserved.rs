//! Conservation checks at the end of a run, in release builds too: nothing is lost, and nothing appears. (`pools.rs` checks shared
//! memory at any time.)

use std::fmt;

use fanin_driver::EndpointId;
use fanin_tables::{FaultRow, RunTables, Totals};
use fanin_transport::Written;

/// Something that a run has not conserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Imbalance {
    of: &'static str,
    account: String,
}

impl Imbalance {
    /// Of the memory that ports share.
    pub fn of_ports(account: String) -> Imbalance {
        Imbalance { of: "bytes in shared memory", account }
    }
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} are not conserved: {}", self.of, self.account)
    }
}

/// The bytes of one end of a connection.
pub(crate) struct Account {
    pub id: EndpointId,
    /// Bytes that its application has written.
    pub written: u64,
    /// Written bytes as the endpoint counts them.
    pub own: Written,
    /// Bytes of the other end that it has delivered.
    pub delivered: u64,
}

/// Check packets, each connection's bytes, and messages: sent, received, and under way. `broken` is the first error of a closed
/// connection.
pub(crate) fn check(
    tables: &RunTables,
    broken: Option<&Imbalance>,
    mut connections: impl Iterator<Item = [Account; 2]>,
    [sent, received, under_way]: [u64; 3],
) -> Result<(), Imbalance> {
    let in_cards = tables.cards.iter().map(|card| card.drops).sum();
    packets(&tables.totals, in_cards, &tables.faults)?;
    if let Some(imbalance) = broken {
        return Err(imbalance.clone());
    }
    connections.try_for_each(connection)?;
    messages(sent, received, under_way)
}

/// Check that both ends of a connection account for the written bytes.
pub(crate) fn connection([one, other]: [Account; 2]) -> Result<(), Imbalance> {
    let check = |from: &Account, to: &Account| bytes(from.id, from.written, from.own, to.delivered);
    check(&one, &other)?;
    check(&other, &one)
}

/// Every packet that was sent or duplicated by a fault was delivered, dropped at a port or by a card, lost by a fault, or is in flight.
fn packets(totals: &Totals, in_cards: u64, faults: &[FaultRow]) -> Result<(), Imbalance> {
    let &Totals { injected_packets: sent, delivered_packets: delivered, drops, in_flight_packets: under_way, .. } =
        totals;
    let drops = drops + in_cards;
    let lost: u64 = faults.iter().map(|row| row.lost_packets + row.crashed_packets).sum();
    let doubled: u64 = faults.iter().map(|row| row.duplicated_packets).sum();
    let what = || {
        let by_faults = if faults.is_empty() { String::new() } else { format!(", {doubled} doubled, {lost} lost") };
        format!("{sent} sent, {delivered} delivered, {drops} dropped, {under_way} under way{by_faults}")
    };
    held(sent + doubled == delivered + drops + lost + under_way, "packets", what)
}

/// Written bytes equal the endpoint's total; its peer has delivered at most what was sent and at least what the endpoint knows
/// to be acknowledged. Undelivered bytes are still outstanding.
fn bytes(endpoint: EndpointId, written: u64, own: Written, delivered: u64) -> Result<(), Imbalance> {
    let in_order = own.acked <= delivered && delivered <= own.sent && own.sent <= own.total;
    held(own.total == written && in_order, "bytes", || {
        let Written { total, sent, acked } = own;
        format!(
            "endpoint {}: {written} written, of which it took {total}, sent {sent} and has {acked} acknowledged; \
             {delivered} delivered",
            endpoint.number()
        )
    })
}

/// Every message that an application sent was reported to its receiver or is in flight.
fn messages(sent: u64, received: u64, under_way: u64) -> Result<(), Imbalance> {
    held(sent == received + under_way, "messages", || {
        format!("{sent} sent, {received} received, {under_way} under way")
    })
}

fn held(is_so: bool, of: &'static str, account: impl FnOnce() -> String) -> Result<(), Imbalance> {
    if is_so { Ok(()) } else { Err(Imbalance { of, account: account() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said_of(result: Result<(), Imbalance>) -> String {
        result.expect_err("an imbalance").to_string()
    }

    #[test]
    fn detects_a_missing_packet() {
        let whole =
            Totals { injected_packets: 9, delivered_packets: 5, drops: 3, in_flight_packets: 1, ..Totals::default() };
        assert_eq!(packets(&whole, 0, &[]), Ok(()));
        assert_eq!(packets(&Totals { drops: 1, ..whole }, 2, &[]), Ok(()), "two of them in a card");
        let said = "packets are not conserved: 9 sent, 5 delivered, 2 dropped, 1 under way";
        assert_eq!(said_of(packets(&Totals { drops: 2, ..whole }, 0, &[])), said);
    }

    #[test]
    fn sums_include_lost_and_doubled_packets() {
        let whole =
            Totals { injected_packets: 9, delivered_packets: 5, drops: 3, in_flight_packets: 1, ..Totals::default() };
        let faults = FaultRow { lost_packets: 3, crashed_packets: 1, duplicated_packets: 4, ..FaultRow::default() };
        assert_eq!(packets(&whole, 0, std::slice::from_ref(&faults)), Ok(()));
        let said = "packets are not conserved: 9 sent, 5 delivered, 3 dropped, 1 under way, 3 doubled, 4 lost";
        assert_eq!(said_of(packets(&whole, 0, &[FaultRow { duplicated_packets: 3, ..faults }])), said);
    }

    #[test]
    fn detects_inconsistent_bytes() {
        let own = Written { total: 100, sent: 70, acked: 50 };
        for delivered in [50, 60, 70] {
            assert_eq!(bytes(EndpointId::new(4), 100, own, delivered), Ok(()));
        }
        for (written, delivered) in [(100, 49), (100, 71), (101, 60), (99, 60)] {
            let what = said_of(bytes(EndpointId::new(4), written, own, delivered));
            assert!(what.starts_with("bytes are not conserved: endpoint 4: "), "{what}");
        }
        assert!(bytes(EndpointId::new(4), 100, Written { sent: 101, ..own }, 60).is_err());
    }

    #[test]
    fn detects_an_unreported_message() {
        assert_eq!(messages(7, 5, 2), Ok(()));
        let said = "messages are not conserved: 7 sent, 5 received, 1 under way";
        assert_eq!(said_of(messages(7, 5, 1)), said);
    }
}
