//! Traces: any file ends in operations that all can run, or in one message with its place.

use fanin_spec::{CollectiveKind, On, Origin, Problem, Progress, Trace, Work};
use fanin_testing::chakra::{self, COLLECTIVE, COMPUTE, RECEIVE, SEND};
use proptest::prelude::*;
use proptest::sample::select;

const LINES: [&str; 16] = [
    "num_ranks 2",
    "num_ranks 3",
    "rank 0 {",
    "rank 1 {",
    "}",
    "a: calc 10",
    "b: calc 0 cpu 3",
    "a requires b",
    "b irequires a",
    "c: send 9b to 1 tag 2",
    "send 9b to 1 tag 2",
    "d: recv 9b from 0 tag 2",
    "recv 9b from 0 tag 2",
    "c requires a",
    "d requires b",
    "// send",
];

/// The number of operations of a valid trace that end, each message at once.
fn ends(trace: &Trace) -> usize {
    let (ranks, mut progress) = (trace.ranks(), Progress::new(trace.ranks()));
    let mut ready: Vec<(u32, u32)> = progress.ready().collect();
    let mut met: Vec<Vec<bool>> = ranks.iter().map(|rank| vec![false; rank.len()]).collect();
    let mut joined = vec![Vec::new(); trace.collectives().len()];
    let mut count = 0;
    while let Some((rank, number)) = ready.pop() {
        progress.begins(rank, number, |other| ready.push((rank, other)));
        let mut half = |rank: u32, number: u32| std::mem::replace(&mut met[rank as usize][number as usize], true);
        let ended = match ranks[rank as usize][number as usize].work {
            Work::Calc { .. } => vec![(rank, number)],
            Work::Send { to, at, .. } if half(to, at) => vec![(rank, number), (to, at)],
            Work::Send { .. } => vec![(rank, number)],
            Work::Receive if half(rank, number) => vec![(rank, number)],
            Work::Receive => Vec::new(),
            Work::Collective(collective) => {
                let parts = &mut joined[collective as usize];
                parts.push((rank, number));
                let members = trace.members(&trace.collectives()[collective as usize]).len();
                if parts.len() == members { parts.clone() } else { Vec::new() }
            }
        };
        count += ended.len();
        for (rank, number) in ended {
            progress.ends(rank, number, |other| ready.push((rank, other)));
        }
    }
    count
}

/// Reads files of these names.
fn read(files: &[(&str, Vec<u8>)]) -> Result<Trace, Problem> {
    let paths: Vec<String> = files.iter().map(|(name, _)| (*name).into()).collect();
    Trace::read(&paths, &|path| {
        let (_, file) = files.iter().find(|(name, _)| *name == path).unwrap();
        Ok((path.to_string(), file.clone()))
    })
}

/// An operation of GOAL's binary form: type, other rank, size, tag, and its followers' first place and number, at ends and at starts.
fn operation(kind: u8, other: u32, size: u64, tag: u32, waits: u32, ends: [u32; 2], starts: [u32; 2]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(waits.to_le_bytes());
    bytes.push(kind);
    bytes.extend(other.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(tag.to_le_bytes());
    bytes.extend([0, 0]);
    [ends[1], ends[0], starts[1], starts[0]].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    bytes
}

/// GOAL's binary form of ranks, each with its operations and the list of followers.
fn binary(ranks: &[(Vec<Vec<u8>>, Vec<u32>)]) -> Vec<u8> {
    let mut bodies = Vec::new();
    let mut table = Vec::new();
    let start = 6 + 16 * ranks.len() as u64;
    for (operations, followers) in ranks {
        table.extend((start + bodies.len() as u64).to_le_bytes());
        // No independent operations are listed: readers find them by their waits.
        bodies.extend((operations.len() as u32).to_le_bytes());
        bodies.extend(0_u32.to_le_bytes());
        bodies.extend(operations.concat());
        followers.iter().for_each(|number| bodies.extend(number.to_le_bytes()));
        table.extend((start + bodies.len() as u64).to_le_bytes());
    }
    let mut file = 4_223_u64.to_le_bytes().to_vec();
    file.extend((ranks.len() as u32).to_le_bytes());
    file.extend([1, 1]);
    file.extend(table);
    file.extend(bodies);
    file
}

/// Two ranks: a computation and a message after it, whose receiver computes from its start.
fn ping() -> Vec<u8> {
    let sender = vec![operation(3, 0, 1_000, 0, 0, [0, 1], [0, 0]), operation(1, 1, 4_096, 7, 1, [0, 0], [0, 0])];
    let receiver = vec![operation(2, 0, 4_096, 7, 0, [0, 0], [0, 1]), operation(3, 0, 10, 0, 1, [0, 0], [0, 0])];
    binary(&[(sender, vec![1]), (receiver, vec![1])])
}

#[test]
fn binary_and_text_form_are_the_same() {
    let text = "num_ranks 2\nrank 0 {\na: calc 1000\nb: send 4096b to 1 tag 7\nb requires a\n}\nrank 1 {\na: recv 4096b from 0 tag 7\n\
                b: calc 10\nb irequires a\n}\n";
    let operations = |trace: Trace| {
        let of = |operation: &fanin_spec::Operation| (operation.work, operation.waits.clone());
        trace.ranks().iter().map(|rank| rank.iter().map(of).collect()).collect::<Vec<Vec<_>>>()
    };
    assert_eq!(operations(read(&[("a.bin", ping())]).unwrap()), operations(Trace::parse("a.goal", text).unwrap()));
}

#[test]
fn binary_form_is_refused_with_file_and_operation() {
    let calc = |waits, ends| operation(3, 0, 10, 0, waits, ends, [0, 0]);
    for (place, file) in [
        ("a.bin, rank 0: the file ends within the table", ping()[..20].to_vec()),
        ("a.bin, rank 1: the file ends", ping()[..ping().len() - 60].to_vec()),
        (
            "a.bin, rank 0, operation 0: no operation has the type 9",
            binary(&[(vec![operation(9, 0, 1, 0, 0, [0; 2], [0; 2])], vec![])]),
        ),
        (
            "a.bin, rank 0, operation 0: use ranks 0 to 0",
            binary(&[(vec![operation(1, 5, 1, 0, 0, [0; 2], [0; 2])], vec![])]),
        ),
        (
            "a.bin, rank 0, operation 0: rank 1 has no receive",
            binary(&[(vec![operation(1, 1, 1, 0, 0, [0; 2], [0; 2])], vec![]), (vec![], vec![])]),
        ),
        ("a.bin, rank 0, operation 0: an operation that does not exist", binary(&[(vec![calc(0, [0, 1])], vec![4])])),
        ("a.bin, rank 0, operation 1: lists", binary(&[(vec![calc(0, [0, 1]), calc(1, [0, 1])], vec![1])])),
        (
            "a.bin, rank 0, operation 0: this never starts",
            binary(&[(vec![calc(1, [0, 1]), calc(1, [1, 1])], vec![1, 0])]),
        ),
    ] {
        let problem = read(&[("a.bin", file)]).unwrap_err().to_string();
        assert!(problem.starts_with(place), "{problem}, expected {place}");
    }
}

#[test]
fn chakra_has_computations_messages_and_collectives() {
    let compute = |id, cpu| chakra::node(id, COMPUTE, &[], 3, &[("is_cpu_op", cpu)], None);
    let message = |kind, other| [("comm_size", 100), (kind, other), ("comm_tag", 2)];
    let gather =
        |id, after| chakra::node(id, COLLECTIVE, &[after], 0, &[("comm_type", 2), ("comm_size", 50)], Some("tp"));
    let first = chakra::file(&[
        compute(1, 1),
        compute(2, 0),
        chakra::node(5, SEND, &[1, 2], 0, &message("comm_dst", 1), None),
        gather(6, 5),
    ]);
    let second = chakra::file(&[chakra::node(9, RECEIVE, &[], 0, &message("comm_src", 0), None), gather(10, 9)]);
    let trace = read(&[("a.0.et", first), ("a.1.et", second)]).unwrap();
    let works: Vec<Vec<Work>> = trace.ranks().iter().map(|rank| rank.iter().map(|one| one.work).collect()).collect();
    let calc = |cpu| Work::Calc { time: fanin_units::Time::from_micros(3), cpu };
    assert_eq!(works[0], [calc(0), calc(1), Work::Send { to: 1, bytes: 100, at: 0 }, Work::Collective(0)]);
    assert_eq!(works[1], [Work::Receive, Work::Collective(0)]);
    assert_eq!(trace.ranks()[0][2].waits, [(0, On::End), (1, On::End)]);
    let [gather] = trace.collectives() else { panic!("{:?}", trace.collectives()) };
    assert_eq!((gather.kind, gather.bytes, trace.members(gather)), (CollectiveKind::AllGather, 50, &[0, 1][..]));
    assert_eq!(ends(&trace), 6);
}

#[test]
fn chakra_is_refused_with_file_and_node() {
    let all_reduce = |id, after: &[u64], bytes, group| {
        chakra::node(id, COLLECTIVE, after, 0, &[("comm_type", 0), ("comm_size", bytes)], Some(group))
    };
    let node = |id, kind, after: &[u64], attributes: &[(&str, i64)]| chakra::node(id, kind, after, 0, attributes, None);
    let valid = chakra::file(&[node(1, COMPUTE, &[], &[])]);
    for (place, nodes) in [
        ("a.1.et, node 3: it depends on node 7, which does not exist", vec![node(3, COMPUTE, &[7], &[])]),
        ("a.1.et, node 3: another node has this id", vec![node(3, COMPUTE, &[], &[]), node(3, COMPUTE, &[], &[])]),
        ("a.1.et, node 3: `comm_size` is missing", vec![node(3, SEND, &[], &[("comm_dst", 0)])]),
        ("a.1.et, node 3: `comm_size` is -1", vec![node(3, SEND, &[], &[("comm_dst", 0), ("comm_size", -1)])]),
        ("a.1.et, node 3: use ranks 0 to 1, not 2", vec![node(3, SEND, &[], &[("comm_dst", 2), ("comm_size", 1)])]),
        ("a.1.et, node 3: rank 0 has no receive", vec![node(3, SEND, &[], &[("comm_dst", 0), ("comm_size", 1)])]),
        (
            "a.1.et, node 3: collectives of type 10 are not modelled",
            vec![node(3, COLLECTIVE, &[], &[("comm_type", 10)])],
        ),
        ("a.1.et, node 3: accesses to remote memory", vec![node(3, 2, &[], &[])]),
        ("a.1.et, node 3: `num_ops` without", vec![node(3, COMPUTE, &[], &[("num_ops", 5)])]),
        ("a.1.et, node 3: this never starts", vec![node(3, COMPUTE, &[4], &[]), node(4, COMPUTE, &[3], &[])]),
    ] {
        let problem = read(&[("a.0.et", valid.clone()), ("a.1.et", chakra::file(&nodes))]).unwrap_err().to_string();
        assert!(problem.starts_with(place), "{problem}, expected {place}");
    }
    // Collectives that do not fit one another.
    let first = chakra::file(&[all_reduce(1, &[], 10, "g"), all_reduce(2, &[1], 10, "g")]);
    for (place, nodes) in [
        ("a.1.et, node 3: all-reduce of 11 B, but", vec![all_reduce(3, &[], 11, "g"), all_reduce(4, &[], 10, "g")]),
        ("a.1.et, node 3: the last of 1 collectives of group `g`; rank 0 has 2", vec![all_reduce(3, &[], 10, "g")]),
        ("a.1.et, node 5: rank 0 has only 2", [3, 4, 5].map(|id| all_reduce(id, &[], 10, "g")).to_vec()),
        // The second one waits for the first of the other rank, which waits for this.
        ("a.0.et, node 2: this never starts", vec![all_reduce(3, &[4], 10, "g"), all_reduce(4, &[], 10, "g")]),
    ] {
        let problem = read(&[("a.0.et", first.clone()), ("a.1.et", chakra::file(&nodes))]).unwrap_err().to_string();
        assert!(problem.starts_with(place), "{problem}, expected {place}");
    }
    for cut in 0..valid.len() - 1 {
        let problem = read(&[("a.0.et", valid[..cut].to_vec())]).unwrap_err().to_string();
        assert!(problem.starts_with("a.0.et"), "{problem}");
    }
}

proptest! {
    #![proptest_config(fanin_testing::cases(512))]

    #[test]
    fn changed_bytes_are_a_trace_that_ends_or_an_error_with_its_file(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        is_chakra in any::<bool>(),
    ) {
        let messages = [("comm_size", 9), ("comm_dst", 0), ("comm_src", 0)];
        let nodes = [chakra::node(1, COLLECTIVE, &[2], 0, &[("comm_type", 0), ("comm_size", 9)], None),
            chakra::node(2, COMPUTE, &[], 1, &messages, None)];
        let (name, mut file) = if is_chakra { ("a.et", chakra::file(&nodes)) } else { ("a.bin", ping()) };
        for (place, byte) in changes {
            let place = place.index(file.len());
            file[place] = byte;
        }
        match read(&[(name, file)]) {
            Ok(trace) => prop_assert!(ends(&trace) > 0),
            Err(problem) => prop_assert!(problem.to_string().starts_with(name), "{}", problem),
        }
    }

    #[test]
    fn any_lines_are_a_trace_that_ends_or_an_error_with_its_line(lines in prop::collection::vec(select(&LINES[..]), 0..14)) {
        let text = lines.join("\n");
        match Trace::parse("x.goal", &text) {
            Ok(trace) => prop_assert_eq!(ends(&trace), trace.ranks().iter().map(Vec::len).sum::<usize>()),
            Err(Problem { origin: Origin::File { name, line }, what }) => {
                prop_assert_eq!(name, "x.goal");
                prop_assert!((1..=lines.len().max(1)).contains(&line), "line {}: {}", line, what);
                prop_assert!(!what.is_empty() && !what.contains('\n'), "{:?}", what);
            }
            Err(problem) => prop_assert!(false, "no line: {}", problem),
        }
    }

    #[test]
    fn any_text_is_an_error_with_its_line(text in "num_ranks [0-9]{1,12}\nrank 0 \\{\n[ -~\n]{0,60}") {
        if let Err(problem) = Trace::parse("x.goal", &text) {
            let Origin::File { line, .. } = problem.origin else { return Err(TestCaseError::fail("no line")) };
            prop_assert!((1..=text.lines().count().max(1)).contains(&line), "line {}", line);
        }
    }
}

/// Two tensor-parallel pairs, each of which is a data-parallel rank.
const SIMAI: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD\tmodel_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 4 ga: 1 all_gpus: 4 checkpoints: 0 \
                     checkpoint_initiates: 0 pp_comm: 0\n2\nembedding\t-1\t10\tALLREDUCE\t100\t20\tNONE\t0\t30\tALLGATHER\t64\t5\n\
                     mlp\t-1\t1\tALLTOALL_EP\t7\t0\tBROADCAST\t9\t2\tNONE\t0\t5\n";

#[test]
fn simai_passes_forward_and_backward() {
    let trace = read(&[("a.txt", SIMAI.into())]).unwrap();
    let calc = |ns: u64, cpu| Work::Calc { time: fanin_units::Time(ns * 1_000), cpu };
    let (work, waits): (Vec<Work>, Vec<Vec<(u32, On)>>) =
        trace.ranks()[0].iter().map(|operation| (operation.work, operation.waits.clone())).unzip();
    let expected = [
        calc(10, 0),
        Work::Collective(0),
        calc(5, 1),
        calc(1, 0),
        Work::Collective(1),
        calc(5, 1),
        // Backward: gradients of the second layer's weights, then both of the first one.
        calc(2, 0),
        calc(20, 0),
        calc(30, 0),
        Work::Collective(2),
        calc(5, 1),
    ];
    assert_eq!(work, expected);
    let one_after_another = (0..10).map(|number| vec![(number, On::End)]);
    assert_eq!(waits, [vec![]].into_iter().chain(one_after_another).collect::<Vec<_>>());
    let of = |number: usize| {
        let collective = &trace.collectives()[number];
        (collective.kind, collective.bytes, trace.members(collective))
    };
    assert_eq!(of(0), (CollectiveKind::AllReduce, 100, &[0, 1][..]));
    assert_eq!(of(1), (CollectiveKind::AllToAll, 7, &[0, 2][..]));
    // Both data-parallel ranks gather 64 B.
    assert_eq!(of(2), (CollectiveKind::AllGather, 32, &[0, 2][..]));
    assert_eq!(trace.collectives().len(), 6);
    assert_eq!(ends(&trace), 4 * expected.len());
}

#[test]
fn weights_of_simai_do_not_delay_the_next_layer() {
    let text = "HYBRID_TRANSFORMER_FWD_IN_BCKWD all_gpus: 2\n2\na -1 0 NONE 0 0 NONE 0 30 NONE 0 0\nb -1 0 NONE 0 0 NONE 0 20 ALLREDUCE 64 0\n";
    let trace = read(&[("a.txt", text.into())]).unwrap();
    let waits: Vec<_> = trace.ranks()[1].iter().map(|operation| operation.waits.clone()).collect();
    assert_eq!(waits, [vec![], vec![(0, On::End)], vec![(0, On::End)]]);
}

#[test]
fn groups_of_simai_are_those_of_its_collectives() {
    // 16 ranks: tensor groups of 2, expert groups of 2 of these, 4 of them.
    let text = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 all_gpus: 16\n1\n\
                a -1 0 ALLREDUCE 8 0 ALLTOALL_EP 8 0 REDUCESCATTER_DP_EP 8 0\n";
    let trace = read(&[("a.txt", text.into())]).unwrap();
    let groups: Vec<&[u32]> = trace.collectives().iter().map(|collective| trace.members(collective)).collect();
    assert!(groups.contains(&&[14, 15][..]) && groups.contains(&&[5, 7][..]), "{groups:?}");
    assert!(groups.contains(&&[0, 4, 8, 12][..]) && groups.contains(&&[3, 7, 11, 15][..]), "{groups:?}");
    assert_eq!(groups.len(), 8 + 8 + 4);
}

#[test]
fn simai_is_refused_with_its_line() {
    let layer = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n";
    let head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD all_gpus: 4 ";
    for (place, text) in [
        ("a.txt:1: workloads of type MICRO", format!("MICRO\n1\n{layer}")),
        ("a.txt:1: the number of ranks is missing", format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD\n1\n{layer}")),
        ("a.txt:1: `ep` is 0", format!("{head} ep: 0\n1\n{layer}")),
        ("a.txt:1: `all_gpus` is no multiple", format!("{head} model_parallel_NPU_group: 3\n1\n{layer}")),
        ("a.txt:1: 4 data-parallel ranks are no multiple", format!("{head} ep: 3\n1\n{layer}")),
        ("a.txt:1: checkpoints are not modelled", format!("{head} checkpoints: 1 3\n1\n{layer}")),
        ("a.txt:1: unknown word", format!("{head} tp: 3\n1\n{layer}")),
        ("a.txt:1: expected a whole number after `ep:`", format!("{head} ep:\n1\n{layer}")),
        (
            "a.txt:1: 99999999999 ranks with 3",
            format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD all_gpus: 99999999999\n1\n{layer}"),
        ),
        (
            "a.txt:1: 900000 ranks with 24 operations each",
            format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD all_gpus: 900000\n8\n{}", layer.repeat(8)),
        ),
        ("a.txt:1: the file ends before", head.into()),
        ("a.txt:2: expected the number of layers", format!("{head}\n{layer}")),
        ("a.txt:2: 2 layers, but the file has only 1", format!("{head}\n2\n{layer}")),
        ("a.txt:2: the trace has no operations", format!("{head}\n0\n")),
        ("a.txt:4: a layer beyond the 1", format!("{head}\n1\n{layer}{layer}")),
        ("a.txt:3: expected NAME", format!("{head}\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0\n")),
        ("a.txt:3: expected NAME", format!("{head}\n1\na -1 x NONE 0 1 NONE 0 1 NONE 0 1\n")),
        ("a.txt:3: unknown collective", format!("{head}\n1\na -1 1 ALLREDUCEALLTOALL 9 1 NONE 0 1 NONE 0 1\n")),
        ("a.txt:3: unknown collective", format!("{head}\n1\na -1 1 ALLREDUCE_TP 9 1 NONE 0 1 NONE 0 1\n")),
        ("a.txt:3: use at most", format!("{head}\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE {} 1\n", u64::MAX)),
        ("a.txt:3: use computations of at most", format!("{head}\n1\na -1 {} NONE 0 1 NONE 0 1 NONE 0 1\n", u64::MAX)),
    ] {
        let problem = read(&[("a.txt", text.clone().into())]).expect_err(&text).to_string();
        assert!(problem.starts_with(place), "{problem}, expected {place}");
    }
}

proptest! {
    #![proptest_config(fanin_testing::cases(512))]

    #[test]
    fn changed_simai_ends_or_is_an_error_with_its_line(
        place in any::<prop::sample::Index>(), word in "(-1|[0-9]{1,21}|ALLGATHER(_EP|_DP_EP|_)?|NONE|all_gpus:|pp:|ep:|x|\n)",
    ) {
        let mut words: Vec<&str> = SIMAI.split_inclusive(|c: char| c.is_whitespace()).collect();
        let changed = format!("{word} ");
        let place = place.index(words.len());
        words[place] = &changed;
        let text = words.concat();
        match Trace::parse("x.txt", &text) {
            Ok(trace) => prop_assert_eq!(ends(&trace), trace.ranks().iter().map(Vec::len).sum::<usize>()),
            Err(problem) => {
                let Origin::File { line, .. } = problem.origin else { return Err(TestCaseError::fail("no line")) };
                prop_assert!((1..=text.lines().count().max(1)).contains(&line), "line {}: {}", line, problem);
            }
        }
    }
}
