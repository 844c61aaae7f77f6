//! The caller as an application: carries out its orders, and calls it back.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::rc::Rc;

use fanin_driver::{Application, ConnectionId, Driver, EndpointId, Meaning, Message};
use fanin_fabric::HostId;
use fanin_tables::FlowKind;
use fanin_units::Time;

/// A timer that tells of orders.
pub(crate) const TURN: Meaning = Meaning { kind: 0, number: 0 };
/// Kinds of other timers, and of messages.
const TIMER: u8 = 1;
const MESSAGE: u8 = 2;

/// A function of the caller's, and its argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callback {
    function: Option<extern "C" fn(*mut c_void)>,
    context: *mut c_void,
}

impl Callback {
    pub fn new(function: Option<extern "C" fn(*mut c_void)>, context: *mut c_void) -> Callback {
        Callback { function, context }
    }

    fn call(self) {
        if let Some(function) = self.function {
            function(self.context);
        }
    }
}

/// An order of the caller.
pub(crate) enum Order {
    Send { from: u32, to: u32, bytes: u64, tag: u64, callback: Callback },
    Receive { at: u32, from: u32, tag: u64, callback: Callback },
    Call { after: Time, timer: u32, callback: Callback },
}

/// Orders that wait, and other state of caller and application.
#[derive(Default)]
pub(crate) struct Orders {
    queue: RefCell<VecDeque<Order>>,
    /// Callbacks of timers that are not due.
    timers: RefCell<BTreeMap<u32, Callback>>,
    last_timer: Cell<u32>,
    /// The time of the last event.
    pub now: Cell<Time>,
    /// Messages sent, and those that have arrived.
    pub sent: Cell<u64>,
    pub arrived: Cell<u64>,
}

impl Orders {
    /// Adds an order; returns whether it is the only one.
    pub fn push(&self, order: Order) -> bool {
        let mut queue = self.queue.borrow_mut();
        queue.push_back(order);
        queue.len() == 1
    }

    /// A number for a timer.
    pub fn next_timer(&self) -> u32 {
        self.last_timer.set(self.last_timer.get() + 1);
        self.last_timer.get()
    }

    /// Forgets a timer, whose order may still wait.
    pub fn cancel(&self, timer: u64) {
        let is_it = |order: &Order| matches!(order, Order::Call { timer: other, .. } if u64::from(*other) == timer);
        self.queue.borrow_mut().retain(|order| !is_it(order));
        u32::try_from(timer).ok().and_then(|timer| self.timers.borrow_mut().remove(&timer));
    }
}

/// A message on its way: its receiver, sender and tag, and the function for its arrival.
struct Sent {
    key: (u32, u32, u64),
    callback: Callback,
}

/// The caller.
pub(crate) struct Caller {
    orders: Rc<Orders>,
    /// By the ends' hosts.
    connections: BTreeMap<(u32, u32), ConnectionId>,
    /// Messages on their way, by number.
    messages: BTreeMap<u32, Sent>,
    last_message: u32,
    /// By receiver, sender and tag: messages that nobody awaited, and receives without a message.
    early: BTreeMap<(u32, u32, u64), u64>,
    awaited: BTreeMap<(u32, u32, u64), VecDeque<Callback>>,
}

impl Caller {
    pub fn new(orders: Rc<Orders>) -> Caller {
        Caller {
            orders,
            connections: BTreeMap::new(),
            messages: BTreeMap::new(),
            last_message: 0,
            early: BTreeMap::new(),
            awaited: BTreeMap::new(),
        }
    }

    /// Calls the caller, who may give orders, and carries out all orders.
    fn call(&mut self, driver: &mut dyn Driver, callback: Option<Callback>) {
        self.orders.now.set(driver.now());
        callback.into_iter().for_each(Callback::call);
        loop {
            // The caller may give orders while one is carried out.
            let order = self.orders.queue.borrow_mut().pop_front();
            match order {
                None => return,
                Some(Order::Send { from, to, bytes, tag, callback }) => {
                    self.send(driver, [from, to], bytes, Sent { key: (to, from, tag), callback });
                }
                Some(Order::Receive { at, from, tag, callback }) => self.receive((at, from, tag), callback),
                Some(Order::Call { after, timer, callback }) => {
                    self.orders.timers.borrow_mut().insert(timer, callback);
                    driver.after(after, Meaning { kind: TIMER, number: timer });
                }
            }
        }
    }

    fn send(&mut self, driver: &mut dyn Driver, [from, to]: [u32; 2], bytes: u64, sent: Sent) {
        let open = || driver.connect(HostId(from), HostId(to), FlowKind::Message);
        let connection = *self.connections.entry((from, to)).or_insert_with(open);
        self.last_message = self.last_message.wrapping_add(1);
        self.messages.insert(self.last_message, sent);
        self.orders.sent.set(self.orders.sent.get() + 1);
        let meaning = Meaning { kind: MESSAGE, number: self.last_message };
        driver.send(connection.opener(), Message::new(bytes, meaning));
    }

    fn receive(&mut self, key: (u32, u32, u64), callback: Callback) {
        match self.early.get_mut(&key) {
            Some(1) => drop(self.early.remove(&key)),
            Some(count) => *count -= 1,
            None => return self.awaited.entry(key).or_default().push_back(callback),
        }
        callback.call();
    }
}

impl Application for Caller {
    fn start(&mut self, driver: &mut dyn Driver) {
        driver.begin();
    }

    fn received(&mut self, driver: &mut dyn Driver, _at: EndpointId, message: Meaning) {
        let Some(Sent { key, callback }) = self.messages.remove(&message.number) else { return };
        self.orders.arrived.set(self.orders.arrived.get() + 1);
        self.call(driver, Some(callback));
        let awaited = self.awaited.get_mut(&key).and_then(VecDeque::pop_front);
        match awaited {
            Some(callback) => self.call(driver, Some(callback)),
            None => *self.early.entry(key).or_default() += 1,
        }
    }

    fn due(&mut self, driver: &mut dyn Driver, timer: Meaning) {
        let callback = match timer.kind {
            TIMER => self.orders.timers.borrow_mut().remove(&timer.number),
            _ => None,
        };
        self.call(driver, callback);
    }
}
