//! Windows: what is left out, and what stays.

use proptest::prelude::*;

use super::*;
use forgeline_types::{ToolCall, ToolResult};

/// A conversation: turns of a text of the user, answers with so many calls and results of so many bytes, and a
/// last answer.
fn conversation(turns: &[Vec<(usize, usize)>]) -> Vec<Arc<Message>> {
    let mut messages = Vec::new();
    for (turn, answers) in turns.iter().enumerate() {
        messages.push(Message::user(format!("Question {turn}.")));
        for (calls, bytes) in answers {
            let id = |at: usize| format!("{}-{at}", messages.len());
            let call = |at| Part::ToolCall(ToolCall::new(id(at), "look", serde_json::json!({})));
            let content = "word ".repeat(bytes / 5);
            let result = |at| Part::ToolResult(ToolResult::new(id(at), "look", content.clone()));
            let (made, results) =
                ((0..*calls).map(call).collect(), (0..*calls).map(result).collect());
            messages.push(Message::new(MessageRole::Assistant, made));
            messages.push(Message::new(MessageRole::Tool, results));
        }
        messages.push(Message::assistant(format!("Answer {turn}.")));
    }
    messages.into_iter().map(Arc::new).collect()
}

fn assert_whole(sent: &Transcript) {
    let mut open = Vec::new();
    for message in sent {
        let results: Vec<_> = message.tool_results().map(|it| it.call_id.clone()).collect();
        assert_eq!(results, open, "no call is parted from its result");
        open = message.tool_calls().map(|it| it.id.clone()).collect();
    }
    assert_eq!(sent.messages().first().map(|it| it.role), Some(MessageRole::User));
}

fn around() -> Request {
    {
        let mut it = Request::default();
        it.system = Some("Be brief. ".repeat(20).into());
        it
    }
}

const MOST: u64 = 1_000;

/// Turns of a question and an answer without calls.
fn talk(turns: usize) -> Vec<Arc<Message>> {
    conversation(&vec![Vec::new(); turns])
}

const WIDE: WindowBounds = WindowBounds { tokens: 100_000, share: None };

#[test]
fn half_of_the_room_is_free_once_something_is_left_out() {
    let (around, estimator) = (around(), TokenEstimator::new());
    let room = MOST - estimator.request(&around);
    // A long question, which stays, before the answers that its turn has so far.
    let question = Arc::new(Message::user("word ".repeat(200)));
    let answers = (0..200).map(|at| Arc::new(Message::assistant(format!("Answer {at}."))));
    for messages in [talk(200), [question].into_iter().chain(answers).collect()] {
        let mut window = ContextWindow::default();
        let bounds = WindowBounds { tokens: MOST, share: None };
        assert!(matches!(window.look(&messages, &around, bounds, None), WindowStep::Fitted(_)));
        let taken = window.tokens();
        assert!(taken <= room / 2 && taken > room / 4, "{taken} of {room}");
    }
}

#[test]
fn the_message_behind_a_summary_is_sent_once() {
    let (messages, mut window) = (talk(6), ContextWindow::default());
    let mut marks = WindowState::default();
    (marks.first, marks.summary) = (6, Some("They count.".into()));
    window.keep(&marks);
    assert_eq!(window.look(&messages, &around(), WIDE, None), WindowStep::Fits);
    let texts: Vec<_> = window.sent().iter().map(|message| message.text()).collect();
    assert!(texts[0].contains("They count.") && texts[0].contains("Question 3."), "{texts:?}");
    let again = texts.iter().filter(|text| text.contains("Question 3.")).count();
    assert_eq!((again, texts.len()), (1, 6), "{texts:?}");
}

#[test]
fn marks_of_another_conversation_do_not_leave_out_the_last_message_of_the_user() {
    let (mut messages, mut window) = (talk(3), ContextWindow::default());
    // Behind the last message of the user, with an older one in its place.
    messages.push(Arc::new(Message::assistant("More.")));
    let mut marks = WindowState::default();
    (marks.first, marks.pinned) = (5, Some(0));
    window.keep(&marks);
    window.look(&messages, &around(), WIDE, None);
    assert!(window.sent().iter().any(|message| Arc::ptr_eq(message, &messages[4])));
}

#[test]
fn marks_of_a_longer_conversation_leave_out_no_result_that_comes() {
    let (messages, mut window) =
        (conversation(&[vec![(1, 600)], vec![(1, 600)]]), ContextWindow::default());
    let mut marks = WindowState::default();
    marks.results = messages.len();
    window.keep(&marks);
    for end in 1..=messages.len() {
        window.look(&messages[..end], &around(), WIDE, None);
    }
    let sent = window.sent();
    assert!(sent.messages().iter().zip(&messages).all(|(sent, kept)| Arc::ptr_eq(sent, kept)));
}

#[test]
fn results_that_are_left_out_are_counted_one_by_one() {
    let (messages, mut window) =
        (conversation(&[vec![(3, 2_000), (2, 200)]]), ContextWindow::default());
    let bounds = WindowBounds { tokens: MOST, share: None };
    let WindowStep::Fitted(fitted) = window.look(&messages, &around(), bounds, None) else {
        panic!("the results are larger than the room");
    };
    let left_out = |message: &Message| {
        message.tool_results().filter(|result| result.content == feedback::LEFT_OUT).count()
    };
    let left: usize = window.sent().iter().map(|message| left_out(message)).sum();
    assert_eq!((fitted.results, left), (3, 3));
}

#[test]
fn a_conversation_that_begins_or_goes_on_otherwise_is_read_anew() {
    for at in [0, 5] {
        let (mut messages, mut window) = (talk(3), ContextWindow::default());
        window.look(&messages, &around(), WIDE, None);
        messages[at] = Arc::new(Message::user("Another question."));
        window.look(&messages, &around(), WIDE, None);
        assert!(Arc::ptr_eq(&window.sent().messages()[at], &messages[at]), "{at}");
    }
}

#[test]
fn a_beginning_that_is_no_longer_than_its_summary_is_not_summed_up() {
    let mut messages = talk(1);
    messages.push(Arc::new(Message::user("word ".repeat(600))));
    let bounds = WindowBounds { tokens: MOST, share: Some(50) };
    assert_eq!(ContextWindow::default().look(&messages, &around(), bounds, None), WindowStep::Fits);
    // A longer one is.
    let messages: Vec<_> = talk(60).into_iter().chain(messages).collect();
    let looked = ContextWindow::default().look(&messages, &around(), bounds, None);
    assert!(matches!(looked, WindowStep::Outgrown(_)), "{looked:?}");
}

proptest! {
    // Covers: G-47, T-68
    #[test]
    fn what_is_sent_fits_and_is_whole_and_its_beginning_stays(
        turns in prop::collection::vec(prop::collection::vec((1_usize..4, 0_usize..900), 0..6), 1..30),
    ) {
        let (messages, around) = (conversation(&turns), around());
        let (mut window, mut before) = (ContextWindow::default(), Transcript::default());
        let estimator = TokenEstimator::new();
        let bounds = WindowBounds { tokens: MOST, share: None };
        for end in 1..=messages.len() {
            if messages[end - 1].role == MessageRole::Assistant {
                continue;
            }
            let looked = window.look(&messages[..end], &around, bounds, None);
            let sent = window.sent();
            assert_whole(&sent);
            let user = messages[..end].iter().rfind(|it| it.role == MessageRole::User).unwrap();
            prop_assert!(sent.iter().any(|it| Arc::ptr_eq(it, user)), "the user's last message");
            prop_assert!(Arc::ptr_eq(sent.last().unwrap(), &messages[end - 1]), "the last results");
            let mut request = around.clone();
            request.messages = sent.clone();
            // The last results are sent, whatever they are.
            let must = request.messages.len() <= 3;
            prop_assert!(must || estimator.request(&request) <= MOST + 8, "{}", estimator.request(&request));
            if looked == WindowStep::Fits {
                let is_same = before.iter().zip(&sent).all(|(one, other)| Arc::ptr_eq(one, other));
                prop_assert!(is_same && before.len() <= sent.len(), "the beginning stays");
            }
            before = sent;
            // A run that goes on in another process sends the same.
            let mut other = ContextWindow::default();
            other.keep(window.marks());
            prop_assert_eq!(other.look(&messages[..end], &around, bounds, None), WindowStep::Fits);
            let texts = |sent: &Transcript| format!("{sent:?}");
            prop_assert_eq!(texts(&other.sent()), texts(&before));
        }
    }
}
