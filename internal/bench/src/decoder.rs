//! The decoder's time grows with its input, not with its square.

use std::hint::black_box;

use forgeline::llm::sse::{SseDecoder, SseLimits};

use crate::{
    Result,
    corpus::{self, Dice},
    gate::Report,
    measure::side_by_side,
};

pub(crate) fn gates(report: &mut Report) -> Result<()> {
    let event = |bytes| corpus::event(&corpus::prose(&mut Dice::new(4), bytes));
    let (one, two) = (event(512 << 10), event(1 << 20));
    let many = String::from_utf8(corpus::events(corpus::event).concat())?;
    let twice = many.repeat(2);
    let mut worst = 0.0_f64;
    for chunk in [4, 16] {
        for (short, long) in [(&one, &two), (&many, &twice)] {
            for body in [short, long] {
                let (events, bytes) = read(body, chunk)?;
                // Each event is a line of `data: ` and an empty one.
                if body.len() != bytes + events * FRAME || events != body.matches("\n\n").count() {
                    let wrong = format!("{bytes} bytes in {events} events of {} bytes", body.len());
                    report.fail("decoder_growth", &wrong);
                }
            }
            let pair = side_by_side(|| read(short, chunk), || read(long, chunk));
            worst = worst.max(pair.ratio);
        }
    }
    report.add(
        "decoder_growth",
        worst,
        (2.5, 2.1),
        "time(2n) / time(n), worst of 4- and 16-byte chunks",
    );
    Ok(())
}

/// Bytes around the data of an event.
const FRAME: usize = "data: \n\n".len();

/// Reads a body in pieces; gives its events and the bytes of their data.
fn read(body: &str, chunk: usize) -> Result<(usize, usize)> {
    let (mut events, mut bytes) = (0, 0);
    let mut decoder = SseDecoder::new(SseLimits::default());
    for mut piece in body.as_bytes().chunks(chunk) {
        while let Some(event) = decoder.next_event(&mut piece)? {
            bytes += black_box(event.data).len();
            events += 1;
        }
    }
    decoder.finish();
    Ok((events, bytes))
}
