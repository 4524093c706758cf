//! A service for clients of other makers: `test_service MILLISECONDS [FILE | URL]`: the longest wait of a long poll, and the file of its log or the
//! database of its node, in memory without it. Prints its address.
//!
//! The agent `random` has runs that the number in the input decides: thinking, text, calls that work and do not, agents below, requests for
//! approval, errors and ends in the middle.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program of the tests")]

use std::{env, time::Duration};

use forgeline::{
    agent::{
        Agent,
        tools::{Calculator, ClientTool, ToolContext, ToolError, tool_fn},
    },
    llm::{ProviderError, Request, demo::DemoProvider},
    server::{Service, router},
    store::{PostgresOptions, PostgresStore, SqliteStore, Stores},
    testing::{ScriptedProvider, ScriptedTurn},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() {
    let wait = env::args().nth(1).and_then(|wait| wait.parse().ok()).unwrap_or(20_000);
    let mut builder = Service::builder()
        .agent("demo", demo())
        .agent("random", random())
        .long_poll(Duration::from_millis(wait));
    let place = env::args().nth(2);
    let is_node = place.as_ref().is_some_and(|place| place.starts_with("postgres:"));
    if let Some(place) = place {
        builder = if is_node {
            builder.stores(Stores::of(
                PostgresStore::connect(PostgresOptions::new(&place)).await.unwrap(),
            ))
        } else {
            builder.log(SqliteStore::open(place).await.unwrap())
        };
    }
    let service = builder.build().unwrap();
    if is_node {
        service.recover().await.unwrap();
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    let app = router(service).into_make_service_with_connect_info::<std::net::SocketAddr>();
    axum::serve(listener, app).await.unwrap();
}

/// The demo model with a calculator that has to be allowed, and one in the page.
fn demo() -> Agent {
    let schema = json!({ "type": "object", "properties": { "expression": { "type": "string" } } });
    Agent::builder(DemoProvider::new())
        .tool(Calculator)
        .tool(ClientTool::new("page", "Reads the page.", schema))
        .build()
        .unwrap()
}

/// Runs that a number decides.
fn random() -> Agent {
    let works = || tool_fn("works", "Works.", |_: ToolContext, input: Value| async move { input });
    let fails = tool_fn("fails", "Fails.", |_: ToolContext, _: Value| async {
        Err::<String, _>(ToolError::failed("it failed"))
    });
    let helper = Agent::builder(ScriptedProvider::from_fn(turn)).tool(works()).build();
    Agent::builder(ScriptedProvider::from_fn(turn))
        .tool(works())
        .tool(fails)
        .tool(helper.unwrap().into_tool("helper", "Helps."))
        .build()
        .unwrap()
}

/// Returns the turn that the numbers in the conversation decide.
fn turn(request: &Request) -> ScriptedTurn {
    let said = request.messages.iter().map(|message| message.text()).collect::<String>();
    let digits = said.bytes().filter(u8::is_ascii_digit);
    let seed = digits.fold(17_u64, |seed, digit| seed.wrapping_mul(31) + u64::from(digit));
    let mut dice = Dice(seed ^ (request.messages.len() as u64) << 40);
    let mut turn = ScriptedTurn::new();
    if dice.roll(2) == 0 {
        turn = (0..dice.roll(4)).fold(turn, |turn, _| turn.thinking("Hm. "));
    }
    if dice.roll(4) > 0 {
        turn = (0..=dice.roll(6)).fold(turn, |turn, part| turn.text(format!("Part {part}. ")));
    }
    if request.messages.len() < 8 && dice.roll(3) > 0 {
        for _ in 0..=dice.roll(3) {
            let name = ["works", "fails", "helper", "nothing"][usize::from(dice.roll(4))];
            turn = match dice.roll(5) {
                0 => turn.call(name, "{\"cut"),
                _ => turn.call(name, json!({ "task": format!("Task {}", dice.roll(100)) })),
            };
        }
    }
    match dice.roll(12) {
        0 => turn.fail(ProviderError::config("the model is gone")),
        1 => turn.cut(),
        _ => turn,
    }
}

/// Numbers that look random, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u8) -> u8 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^= mixed >> 27;
        u8::try_from(mixed % u64::from(sides)).unwrap()
    }
}
