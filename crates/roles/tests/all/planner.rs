//! Moves under reads, writes and crashes, with reordered messages: every object is readable from its first server at every instant, and
//! no write is lost.
//!
//! A case is its number. Some hundred run in `make test`; `make torture` runs a given number.

use fanin_roles::Node;
use fanin_roles::planner::{Envelope, Found, Move, Planner, PlannerMessage, Shelf};
use fanin_units::Time;

const PATIENCE: Time = Time::from_millis(10);
const PLANNER: Node = Node(0);

/// A sequence of random numbers.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ (mixed >> 31)) * end as u128) >> 64) as usize
    }
}

/// A message in transit.
#[derive(Clone, Debug)]
enum Post {
    Envelope(Node, Envelope<Vec<u32>>),
    /// A request for an object, with a link's version, to add a write or to check for earlier writes.
    Ask {
        at: Node,
        object: u64,
        handed: Option<u64>,
        write: Option<u32>,
        done: usize,
    },
}

/// Counts of events.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    moved: usize,
    passed_on: usize,
    copied_again: usize,
    crashes: usize,
    planners: usize,
    writes: usize,
}

struct Toy {
    draws: Draws,
    now: Time,
    /// The planner, if it is running, and its moves.
    planner: Option<Planner>,
    moves: Vec<Move>,
    /// The servers from 1 on; and which are running.
    shelves: Vec<Shelf<Vec<u32>>>,
    up: Vec<bool>,
    /// First server of each object, and its completed writes.
    first: Vec<Node>,
    done: Vec<Vec<u32>>,
    post: Vec<Post>,
    sums: Sums,
}

impl Toy {
    fn new(seed: u64) -> Toy {
        let mut draws = Draws(seed);
        let (servers, objects) = (2 + draws.below(4), 1 + draws.below(5));
        let mut shelves = vec![Shelf::default(); servers + 1];
        let first: Vec<Node> = (0..objects).map(|_| Node(1 + draws.below(servers) as u32)).collect();
        (0..).zip(&first).for_each(|(object, home)| shelves[home.0 as usize].put(object, Vec::new()));
        Toy {
            draws,
            now: Time::ZERO,
            planner: None,
            moves: Vec::new(),
            up: vec![true; servers + 1],
            shelves,
            done: vec![Vec::new(); objects],
            first,
            post: Vec::new(),
            sums: Sums::default(),
        }
    }

    /// Finds an object by links from its first server, without messages.
    fn find(&self, object: u64) -> Option<(Node, Vec<u32>)> {
        let (mut at, mut handed) = (self.first[object as usize], None);
        // Versions grow along links: there are no more links than changes of owner.
        for _ in 0..100 {
            match self.shelves[at.0 as usize].clone().read(object, handed) {
                Found::Here(value) => return Some((at, value.clone())),
                Found::There(to, version) => (at, handed) = (to, Some(version)),
                Found::Nowhere => return None,
            }
        }
        None
    }

    /// Checks that every object exists with all completed writes.
    fn check(&self) -> Result<(), String> {
        for (object, done) in (0..).zip(&self.done) {
            let (at, value) = self.find(object).ok_or(format!("object {object} is nowhere"))?;
            if let Some(lost) = done.iter().find(|write| !value.contains(write)) {
                return Err(format!("write {lost} of object {object} is lost at {at:?}: {value:?} of {done:?}"));
            }
        }
        Ok(())
    }

    fn plan(&mut self) {
        self.moves.clear();
        for object in 0..self.first.len() as u64 {
            let (from, _) = self.find(object).expect("it is somewhere");
            let to = Node(1 + self.draws.below(self.shelves.len() - 1) as u32);
            if from != to {
                self.moves.push(Move { object, from, to });
            }
        }
        self.begin();
    }

    fn begin(&mut self) {
        let at_once = 1 + self.draws.below(3);
        self.planner = Some(Planner::new(self.moves.clone(), at_once, PATIENCE));
        self.sums.planners += 1;
        self.wake();
    }

    fn wake(&mut self) {
        let mut out = Vec::new();
        if let Some(planner) = &mut self.planner {
            planner.wake(self.now, &mut out);
        }
        self.post.extend(out.into_iter().map(|letter| Post::Envelope(PLANNER, letter)));
    }

    fn ask(&mut self) {
        let object = self.draws.below(self.first.len());
        self.sums.writes += 1;
        let write = (self.draws.below(2) == 0).then_some(self.sums.writes as u32);
        let (at, done) = (self.first[object], self.done[object].len());
        self.post.push(Post::Ask { at, object: object as u64, handed: None, write, done });
    }

    /// Delivers a message, if its destination is running.
    fn arrive(&mut self, post: Post) -> Result<(), String> {
        let mut out = Vec::new();
        match post {
            Post::Envelope(from, Envelope { to: PLANNER, object, body }) => {
                if let Some(planner) = &mut self.planner {
                    planner.handle(from, object, &body, self.now, &mut out);
                    self.post.extend(out.into_iter().map(|letter| Post::Envelope(PLANNER, letter)));
                }
            }
            Post::Envelope(from, Envelope { to, object, body }) => {
                if self.up[to.0 as usize] {
                    let asked_for_link = matches!(body, PlannerMessage::Link(..));
                    self.shelves[to.0 as usize].handle(from, object, body, &mut out);
                    let copies = out.iter().any(|letter| matches!(letter.body, PlannerMessage::Keep { .. }));
                    self.sums.copied_again += usize::from(asked_for_link && copies);
                    self.post.extend(out.into_iter().map(|letter| Post::Envelope(to, letter)));
                }
            }
            Post::Ask { at, object, handed, write, done } => {
                if self.up[at.0 as usize] {
                    return self.answer(at, object, handed, write, done);
                }
            }
        }
        Ok(())
    }

    fn answer(
        &mut self,
        at: Node,
        object: u64,
        handed: Option<u64>,
        write: Option<u32>,
        done: usize,
    ) -> Result<(), String> {
        let shelf = &mut self.shelves[at.0 as usize];
        let before = &self.done[object as usize][..done];
        let found = match write {
            Some(write) => shelf.write(object, handed, |value| value.push(write)),
            None => shelf.read(object, handed),
        };
        match found {
            Found::Here(value) if before.iter().all(|write| value.contains(write)) => {
                self.done[object as usize].extend(write);
                Ok(())
            }
            Found::Here(value) => {
                Err(format!("object {object} is read at {at:?} as it was: {value:?} without {before:?}"))
            }
            Found::There(to, version) => {
                self.sums.passed_on += 1;
                self.post.push(Post::Ask { at: to, object, handed: Some(version), write, done });
                Ok(())
            }
            Found::Nowhere => Err(format!("{at:?} is asked for object {object} by {handed:?} and has nothing")),
        }
    }

    fn step(&mut self) -> Result<(), String> {
        match self.draws.below(100) {
            0..12 => self.ask(),
            12..17 => {
                let server = 1 + self.draws.below(self.up.len() - 1);
                self.sums.crashes += usize::from(self.up[server]);
                self.up[server] = !self.up[server];
            }
            17..19 => self.planner = None,
            19..25 if self.planner.is_none() => self.begin(),
            19..30 => {
                self.now = self.now.saturating_add(PATIENCE);
                self.wake();
            }
            // Deliver any message: once, twice, or never.
            what if !self.post.is_empty() => {
                let place = self.draws.below(self.post.len());
                let post = if what < 36 { self.post[place].clone() } else { self.post.swap_remove(place) };
                if what < 96 {
                    self.arrive(post)?;
                }
            }
            _ => {}
        }
        self.check()
    }

    /// Restarts all, without further losses: the plan completes.
    fn settle(&mut self) -> Result<(), String> {
        self.up.fill(true);
        if self.planner.is_none() {
            self.begin();
        }
        for _ in 0..1_000 {
            while !self.post.is_empty() {
                let place = self.draws.below(self.post.len());
                let post = self.post.swap_remove(place);
                self.arrive(post)?;
                self.check()?;
            }
            let planner = self.planner.as_ref().expect("it is up");
            if planner.is_done() {
                assert_eq!(planner.wakes(), None);
                return Ok(());
            }
            self.now = self.now.saturating_add(PATIENCE);
            self.wake();
        }
        Err("the plan is never carried out".into())
    }
}

/// Runs several plans, each starting from the last one's placement.
fn case(seed: u64) -> Result<Sums, String> {
    let mut toy = Toy::new(seed);
    for _ in 0..1 + toy.draws.below(4) {
        toy.plan();
        for _ in 0..toy.draws.below(200) {
            toy.step()?;
        }
        toy.settle()?;
        for of in &toy.moves {
            let at = toy.find(of.object).expect("it is somewhere").0;
            if at != of.to {
                return Err(format!("{of:?} is done, and it is at {at:?}"));
            }
        }
        toy.sums.moved += toy.moves.len();
    }
    Ok(toy.sums)
}

fn torture(first: u64, cases: u64) -> Sums {
    let (mut sums, mut failures) = (Sums::default(), 0);
    for seed in first..first + cases {
        match case(seed) {
            Ok(Sums { moved, passed_on, copied_again, crashes, planners, writes }) => {
                sums.moved += moved;
                sums.passed_on += passed_on;
                sums.copied_again += copied_again;
                sums.crashes += crashes;
                sums.planners += planners;
                sums.writes += writes;
            }
            Err(wrong) => {
                failures += 1;
                println!("case {seed}: {wrong}");
            }
        }
    }
    assert_eq!(failures, 0, "of {cases} cases; one alone: make torture CASES=1 FIRST=its number");
    sums
}

#[test]
fn crashes_lose_no_object_or_write() {
    let sums = torture(0, 300);
    assert!(
        sums.moved > 1_000 && sums.passed_on > 1_000 && sums.copied_again > 100 && sums.crashes > 1_000,
        "{sums:?}"
    );
}

#[test]
#[ignore = "make torture"]
#[expect(clippy::disallowed_methods, reason = "make sets the number of cases")]
fn under_many_schedules_of_crashes() {
    let told = |name: &str, usual: u64| std::env::var(name).map_or(usual, |text| text.parse().expect("a number"));
    let (first, cases) = (told("FIRST", 1_000), told("CASES", 10_000));
    println!("{cases} cases from {first} on: {:?}", torture(first, cases));
}
