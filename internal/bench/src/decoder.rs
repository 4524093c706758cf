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
            read(short, chunk)?;
            let pair = side_by_side(|| drop(read(short, chunk)), || drop(read(long, chunk)));
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

fn read(body: &str, chunk: usize) -> Result<()> {
    let mut decoder = SseDecoder::new(SseLimits::default());
    for mut piece in body.as_bytes().chunks(chunk) {
        while let Some(event) = decoder.next_event(&mut piece)? {
            black_box(event.data);
        }
    }
    decoder.finish();
    Ok(())
}
