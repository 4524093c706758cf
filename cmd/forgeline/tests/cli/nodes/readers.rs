//! Readers that change nodes.

use forgeline_testkit::{nodes::StreamCut, say};

use super::nodes;

/// Trace 20 of the model: a reader moves from node to node at each event.
#[test]
fn a_reader_that_changes_nodes_at_each_event_reads_each_once() {
    let Some(bench) = nodes(2) else { return };
    let proxy = bench.proxy().address();
    let run = bench.begin(proxy, "demo", "What is 6*7?");
    let mut whole = bench.reader(bench.addresses(), &run);
    whole.until_end();
    let count = whole.events().len();
    assert!(whole.text().contains("6*7 = 42") && count > 10, "{count} events");
    for most in 1..count {
        bench.proxy().set_cut(StreamCut::Events(most));
        let mut reader = bench.reader(vec![proxy], &run);
        reader.until_end();
        assert_eq!(reader.text(), whole.text(), "cut behind {most} events");
        assert!(reader.connections() >= count.div_ceil(most), "cut behind {most} events");
    }
    // Within events.
    for bytes in (1..3_000).step_by(59) {
        bench.proxy().set_cut(StreamCut::NextAt(bytes));
        let mut reader = bench.reader(vec![proxy], &run);
        reader.until_end();
        assert_eq!(reader.text(), whole.text(), "cut behind {bytes} bytes");
    }
}

/// The same while the run writes.
#[test]
fn a_reader_that_changes_nodes_follows_a_run_that_works() {
    let Some(bench) = nodes(2) else { return };
    let proxy = bench.proxy().address();
    bench.proxy().set_cut(StreamCut::Events(3));
    let run = bench.begin(bench.address(0), "paced", "write 60 words, one each 10 ms");
    let mut reader = bench.reader(vec![proxy], &run);
    reader.until_end();
    assert!(reader.text().ends_with("w58 w59 "), "{}", reader.text());
    assert!(reader.connections() > 10, "{}", reader.connections());
}

#[test]
fn a_reader_at_another_node_reads_what_its_owner_writes_at_once() {
    let Some(bench) = nodes(2) else { return };
    let run = bench.begin(bench.address(0), "paced", "write 30 words, one each 20 ms");
    let mut readers = [0, 1].map(|at| bench.reader(vec![bench.address(at)], &run));
    let [own, other] = &mut readers;
    std::thread::scope(|threads| {
        threads.spawn(|| own.until_end());
        threads.spawn(|| other.until_end());
    });
    assert_eq!((own.connections(), other.connections()), (1, 1), "no reader had to come again");
    assert_eq!(own.text(), other.text());
    let late = own
        .events()
        .iter()
        .zip(other.events())
        .map(|(own, other)| other.at.saturating_duration_since(own.at));
    let mut late: Vec<_> = late.collect();
    late.sort();
    say(format!(
        "nodes: an event reaches a reader at another node {:?} later",
        late[late.len() / 2]
    ));
    assert!(late[late.len() / 2].as_millis() < 500, "{late:?}");
}

#[test]
fn a_reader_whose_node_gets_no_notifications_reads_by_looks_which_are_counted() {
    let Some(mut bench) = nodes(1) else { return };
    let (deaf, proxy) = bench.add_behind_proxy();
    let late = |node: usize| -> u64 {
        let metrics = bench.get(bench.address(node), "/metrics").body;
        let line = metrics.lines().find_map(|line| line.strip_prefix("forgeline_notify_late "));
        line.unwrap_or_else(|| panic!("{metrics}")).parse().unwrap()
    };
    proxy.drop_news(true);
    let run = bench.begin(bench.address(0), "paced", "write 60 words, one each 50 ms");
    let mut reader = bench.reader(vec![bench.address(deaf)], &run);
    reader.until_end();
    assert!(reader.text().ends_with("w58 w59 "), "{}", reader.text());
    let (here, there) = (late(deaf), late(0));
    say(format!("nodes: {here} of {} events were read by looks", reader.events().len()));
    assert!(here > 20, "{here} of {} events", reader.events().len());
    // A notification that comes a second late on a busy machine counts too.
    assert!(there <= 2, "the node of the run has its own events: {there}");
}
