//! The list of actions and events, by the names that docs/front.md, operate.md, failover.md and agents.md give them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rand::seq::SliceRandom;

use super::super::{MS, all_servers};
use super::Operated;

/// An action of an operator, or an event.
pub struct Action {
    pub name: &'static str,
    /// Its names on the pages: keys of settings, first cells and words of lists of failures, options, signals, steps, stages.
    pub on_pages: &'static [&'static str],
    pub does: Does,
}

/// How it is tested.
pub enum Does {
    /// In sequences, by the simulated sockets.
    Simulated(fn(&mut Operated)),
    /// By tests of these names.
    Tested(&'static [&'static str]),
}

use Does::{Simulated, Tested};

const fn action(name: &'static str, on_pages: &'static [&'static str], does: Does) -> Action {
    Action { name, on_pages, does }
}

pub const ACTIONS: &[Action] = &[
    action("a reload adds a server", &["`servers`"], Simulated(adds)),
    action("a reload removes a server", &["`servers`"], Simulated(removes)),
    action("a reload reorders servers", &["`servers`"], Simulated(reorders)),
    action("a reload renames a server", &["`servers`"], Simulated(renames)),
    action("a reload changes a weight", &["`servers`"], Simulated(weighs)),
    action("a reload changes the placement", &["`placement`"], Simulated(places)),
    action("a reload changes the hash", &["`hash`"], Simulated(hashes)),
    action("a reload changes replicas", &["`replicas`", "`replicas = 2` (to 4)"], Simulated(replicates)),
    action("a reload sets on_down = next", &["`on_down`", "`on_down = \"next\"`"], Simulated(replaces)),
    action("a reload sets on_down = error", &["`on_down = \"error\"` or `\"miss\"`"], Simulated(reports_errors)),
    action("a reload sets on_down = miss", &["`on_down = \"error\"` or `\"miss\"`"], Simulated(misses)),
    action("a reload changes the timeout", &["`timeout`"], Simulated(times)),
    action("a reload adds or removes a pool", &["`[[pool]]`", "`listen`"], Simulated(pools)),
    action("a reload renames a pool", &["`name`"], Simulated(renames_pool)),
    action(
        "a reload changes other settings",
        &[
            "`multiget`",
            "`windows`",
            "`link`",
            "`late`",
            "`item`",
            "`keys`",
            "`join`",
            "`slow`",
            "`hedge`",
            "`admin`",
            "`idle_timeout`",
            "`drain`",
            "`clients`",
            "`batching_delay`",
            "--reload",
            "SIGHUP",
            "step reload",
            "systemctl reload",
        ],
        Simulated(others),
    ),
    action(
        "a reload is refused",
        &[
            "`threads`",
            "`event_loop`",
            "`memory`",
            "`[log]`",
            "`[metrics]`",
            "`[messages]`",
            "a reload is refused",
            "--check",
            "--diff",
        ],
        Simulated(refused),
    ),
    action("a server stops", &["a server hangs", "A server hangs"], Simulated(stops)),
    action("a server goes on", &["a server has returned"], Simulated(goes_on)),
    action("a server is killed", &["a server is down", "A server is down"], Simulated(is_killed)),
    action("a server is replaced by an empty one", &["a server has returned"], Simulated(is_replaced)),
    action("a server is slow", &["a server is slow", "A server sends slowly"], Simulated(is_slow)),
    action("connections of a server break", &["a server closes connections"], Simulated(closes)),
    action("a thread panics", &["a thread panics", "A thread panics"], Simulated(Operated::thread_panics)),
    action("time passes", &[], Simulated(passes)),
    action(
        "a plan begins, goes on, goes back and ends",
        &[
            "`plan`",
            "`begin`",
            "`move`",
            "`copied`",
            "`turn` (cutover)",
            "`over`",
            "the request log's disk is full, or a plan is refused",
        ],
        Tested(&[
            "moving_replicas_never_return_stale_values",
            "reads_never_return_stale_values_after_faults",
            "refuses_damaged_plan",
        ]),
    ),
    action(
        "a planner leads front ends",
        &["--watch", "--every", "--cluster", "--front", "--set", "--out", "--demo"],
        Tested(&["section_3_planner_follows_traffic_through_its_deaths"]),
    ),
    action(
        "a new process takes over",
        &["--take-over", "SIGUSR2", "step deploy", "step undo", "systemctl kill"],
        Tested(&["many_hand_overs_under_load_lose_nothing", "plans_advance_in_one_process_only"]),
    ),
    action(
        "a new process fails to take over",
        &[
            "a new process fails to take over",
            "a new process waits to take over",
            "A new process dies while it takes over",
            "the limit of open files is low",
        ],
        Tested(&[
            "goes_on_if_the_new_process_fails",
            "waits_for_a_server_that_is_away",
            "refuses_another_version_of_the_protocol",
        ]),
    ),
    action(
        "the front end stops",
        &["SIGTERM", "the process is stopped (SIGTERM)", "step back"],
        Tested(&["stop_completes_outstanding_requests"]),
    ),
    action(
        "the front end is killed",
        &["the process is killed", "the machine is lost", "the front end"],
        Tested(&["reads_never_return_stale_values_after_faults", "multigets_through_hubs_end_right_under_any_faults"]),
    ),
    action(
        "the front end starts",
        &[
            "--import",
            "--config",
            "step import",
            "step settings",
            "step start",
            "step verify",
            "systemctl enable",
            "systemctl status",
            "the address is in use at the start",
            "The address is in use",
            "the metrics' port is taken at the start",
            "A UNIX socket's file exists",
        ],
        Tested(&["address_in_use_is_an_error_at_the_start", "replaces_stale_socket_only"]),
    ),
    action(
        "certificates change",
        &[
            "`tls`",
            "`server_tls`",
            "step ca",
            "step certificate",
            "a server's certificate or login is refused",
            "A server's certificate is refused",
            "the front end's certificate has expired",
        ],
        Tested(&["reload_replaces_certificates", "reports_why_a_server_is_refused"]),
    ),
    action(
        "access changes",
        &["`allow`", "`proxy_protocol`", "`auth`", "`server_auth`", "a client without TLS, or not in `allow`"],
        Tested(&["access_list_acts_on_address_and_header", "serves_users_only", "logs_in_to_servers"]),
    ),
    action(
        "clients take too much",
        &[
            "`memory` is spent",
            "too many clients",
            "A client requests too much",
            "A client does not read",
            "A client closes its sending side",
            "A client does not finish its opening",
        ],
        Tested(&[
            "closes_largest_clients_at_memory_limit",
            "tenant_with_all_places_gives_way",
            "client_that_reads_nothing_is_paused",
        ]),
    ),
    action(
        "a server breaks the protocol, or its queue is full",
        &[
            "a server breaks the protocol",
            "a server's queue is full",
            "one server of a multiget fails",
            "One server of a multiget fails",
            "A server's response is invalid",
            "A value is shorter or longer than announced",
        ],
        Tested(&[
            "wrong_responses_never_leak_values",
            "invalid_responses_are_errors",
            "large_requests_do_not_delay_others",
        ]),
    ),
    action("incast is predicted", &["`incast`", "--advise"], Tested(&["reload_predicts_changed_pools_again"])),
    action("requests are logged", &["--log"], Tested(&["logs_requested_keys_per_query"])),
    action(
        "hubs change",
        &["`racks`", "`agent_tls`", "`agent_secret`", "`plaintext`", "`sicc`"],
        Tested(&["multigets_through_hubs_end_right_under_any_faults", "pools_with_hubs_need_racks"]),
    ),
    action(
        "an agent starts with other settings",
        &["`memcached`", "`window`", "`pack`", "`linger`", "`objects`", "`sub_queue`", "`peers`"],
        Tested(&["agent_errors_have_line_and_valid_value"]),
    ),
    action(
        "an agent fails and returns",
        &[
            "an agent that is not a hub",
            "a hub, before or during a request",
            "hub and backup",
            "all agents of a rack",
            "a memcached",
        ],
        Tested(&[
            "section_3_1_dead_agents_are_no_hubs_and_return",
            "multigets_through_hubs_end_right_under_any_faults",
        ]),
    ),
];

fn adds(to: &mut Operated) {
    to.reloads(|pool| {
        let absent =
            all_servers().into_iter().find(|server| !pool.servers.iter().any(|there| there.starts_with(server)));
        pool.servers.extend(absent);
    });
}

fn removes(to: &mut Operated) {
    to.reloads(|pool| {
        if pool.servers.len() > 2.max(pool.replicas) {
            pool.servers.remove(0);
        }
    });
}

fn reorders(to: &mut Operated) {
    let random = &mut to.case.random;
    to.pool.servers.shuffle(random);
    to.reloads(|_| {});
}

/// Gives the first server a weight and a name, beside its address.
fn describes(to: &mut Operated, how: impl Fn(&str) -> String) {
    to.reloads(|pool| {
        let server = &mut pool.servers[0];
        let address: Vec<&str> = server.split(':').take(2).collect();
        *server = format!("{}:{}", address.join(":"), how(address[0]));
    });
}

fn renames(to: &mut Operated) {
    describes(to, |address| format!("1 once-{address}"));
}

fn weighs(to: &mut Operated) {
    describes(to, |_| "3".to_owned());
}

fn places(to: &mut Operated) {
    to.reloads(|pool| pool.placement = if pool.placement == "ketama" { "rendezvous" } else { "ketama" });
}

fn hashes(to: &mut Operated) {
    to.reloads(|pool| pool.hash = if pool.hash == "murmur" { "fnv1a_64" } else { "murmur" });
}

fn replicates(to: &mut Operated) {
    to.reloads(|pool| (pool.on_down, pool.replicas) = ("error", pool.replicas % 2 + 1));
}

fn replaces(to: &mut Operated) {
    to.reloads(|pool| (pool.on_down, pool.replicas) = ("next", 1));
}

fn reports_errors(to: &mut Operated) {
    to.reloads(|pool| (pool.on_down, pool.replicas) = ("error", 1));
}

fn misses(to: &mut Operated) {
    to.reloads(|pool| (pool.on_down, pool.replicas) = ("miss", 1));
}

fn times(to: &mut Operated) {
    to.reloads(|pool| pool.timeout = 900 - pool.timeout);
}

fn pools(to: &mut Operated) {
    to.reloads(|pool| pool.second = !pool.second);
}

fn renames_pool(to: &mut Operated) {
    to.reloads(|pool| pool.name = if pool.name == "a" { "other" } else { "a" });
}

fn others(to: &mut Operated) {
    to.reloads(|pool| {
        let (one, other) = (
            "multiget = \"one-all\"\njoin = true",
            "multiget = \"ictcp-window\"\nwindows = \"anew\"\nitem = \"2 MiB\"",
        );
        pool.more = if pool.more == one { other } else { one };
    });
}

fn refused(to: &mut Operated) {
    let edition = to.case.shared.edition();
    let mut settings = to.pool.settings();
    settings.threads += 1;
    assert!(edition.settings.check_reload(&settings).is_err());
}

fn stops(to: &mut Operated) {
    if let Some(server) = to.server_to_fail() {
        to.case.servers[server].stopped = true;
    }
}

fn goes_on(to: &mut Operated) {
    (0..to.case.servers.len()).for_each(|server| to.case.recovers(server));
}

fn is_killed(to: &mut Operated) {
    if let Some(server) = to.server_to_fail() {
        to.case.crashes(server);
        to.case.servers[server].down = true;
    }
}

fn is_replaced(to: &mut Operated) {
    if let Some(server) = to.server_to_fail() {
        to.case.crashes(server);
        to.case.servers[server].down = false;
    }
}

fn is_slow(to: &mut Operated) {
    let server = to.server();
    to.case.servers[server].slow = true;
}

fn closes(to: &mut Operated) {
    let server = to.server();
    to.case.breaks_connections(server, true);
}

fn passes(to: &mut Operated) {
    (0..50).for_each(|_| {
        to.case.happens(3, 0);
        to.case.passes(20 * MS);
    });
}

/// The project's folder.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// A section of a page, from its title to the next one.
fn section<'a>(page: &'a str, title: &str) -> &'a str {
    let start = page.find(&format!("\n## {title}\n")).unwrap_or_else(|| panic!("no section {title}"));
    let section = &page[start + 4..];
    section.find("\n## ").map_or(section, |end| &section[..end])
}

/// First cells of the rows of tables, without their titles.
fn first_cells(text: &str) -> impl Iterator<Item = &str> {
    let cells = text.lines().filter_map(|line| Some(line.strip_prefix("| ")?.split_once(" | ")?.0.trim()));
    let is_title =
        |cell: &str| ["", "---", "key", "key of a pool", "failure", "stage"].contains(&cell) || cell.starts_with('|');
    cells.filter(move |cell| !is_title(cell))
}

/// Words that begin so.
fn words<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = String> + 'a {
    let is_inside = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let words = text.split(move |letter| !is_inside(letter));
    words.filter(move |word| word.len() > start.len() && word.starts_with(start)).map(str::to_owned)
}

/// The names of actions and events on the pages.
fn found() -> BTreeSet<String> {
    let [front, operate, failover, agents] = ["front", "operate", "failover", "agents"]
        .map(|name| fs::read_to_string(project().join(format!("docs/{name}.md"))).unwrap());
    let mut found = BTreeSet::new();
    let tables = [section(&front, "Settings"), section(&agents, "The agent"), section(&agents, "The front end")];
    for cell in tables.into_iter().flat_map(first_cells) {
        found.extend(cell.split(", ").map(str::to_owned));
    }
    let failures = [
        section(&operate, "Failures"),
        section(&agents, "When something dies"),
        &failover,
        section(&front, "Migrating keys"),
    ];
    found.extend(failures.into_iter().flat_map(first_cells).map(str::to_owned));
    let bullets = section(&front, "Failures").split("\n- **").skip(1);
    found.extend(bullets.filter_map(|bullet| Some(bullet.split_once("**")?.0.to_owned())));
    for page in [&front, &operate, &failover, &agents] {
        let commands = page.lines().flat_map(|line| line.split(['`', '|', ';']));
        let own = commands.filter(|command| {
            ["fanin front", "fanin agent", "fanin plan"].iter().any(|program| command.contains(program))
        });
        found.extend(own.flat_map(|command| words(command, "--")));
        found.extend(words(page, "SIG"));
        for start in ["systemctl ", "```sh step "] {
            let rests = page
                .split(start)
                .skip(1)
                .filter_map(|rest| rest.split(|letter: char| !letter.is_ascii_alphabetic()).next());
            found.extend(rests.map(|word| format!("{}{word}", start.trim_start_matches("```sh "))));
        }
    }
    found
}

#[test]
fn pages_name_no_other_action() {
    let listed: BTreeSet<String> =
        ACTIONS.iter().flat_map(|action| action.on_pages).map(|name| (*name).to_owned()).collect();
    let found = found();
    assert!(found.len() > 100, "{found:?}");
    let [lacking, gone] = [found.difference(&listed), listed.difference(&found)].map(Iterator::collect::<Vec<_>>);
    assert!(lacking.is_empty(), "the pages name these actions, which the list lacks: {lacking:?}");
    assert!(gone.is_empty(), "no page names these: {gone:?}");
}

/// All sources below a folder.
fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &sources(&path);
        } else if path.extension().is_some_and(|end| end == "rs") {
            text += &fs::read_to_string(&path).unwrap();
        }
    }
    text
}

#[test]
fn tests_of_actions_exist() {
    let tests: String =
        ["crates/proxy", "crates/cli/tests"].iter().map(|folder| sources(&project().join(folder))).collect();
    for action in ACTIONS {
        if let Tested(names) = action.does {
            assert!(!names.is_empty(), "{}", action.name);
            for name in names {
                assert!(tests.contains(&format!("fn {name}()")), "{}: there is no test {name}", action.name);
            }
        }
    }
}
