//! Two nodes of the service on a private database, behind a proxy that takes the next node for each request, until Ctrl-C: `make serve-two`.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    io::{Write as _, stdout},
    path::PathBuf,
    process::ExitCode,
};

use forgeline_testkit::{nodes::NodeBench, say};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let Some(program) = env::args_os().nth(1).map(PathBuf::from) else {
        say(
            "usage: serve_two PROGRAM, where PROGRAM is `forgeline`, built with `--features postgres`",
        );
        return Ok(ExitCode::from(2));
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let interrupted = {
        let _context = runtime.enter();
        tokio::signal::ctrl_c()
    };
    let Some(mut bench) = NodeBench::start(&program, 2) else { return Ok(ExitCode::FAILURE) };
    let proxy = bench.proxy().address();
    let mut lines = format!(
        "the console of both nodes, in turn: http://{proxy}/\n\n\
         curl -s http://{proxy}/v1/runs -H 'content-type: application/json' \\\n    \
         -d '{{\"agent\": \"paced\", \"input\": \"write 300 words, one each 100 ms\"}}'\n\
         curl -N http://{proxy}/v1/runs/RUN/events\n\n"
    );
    for (number, name) in ["first", "second"].into_iter().enumerate() {
        let (address, pid) = (bench.address(number), bench.node(number).pid());
        writeln!(lines, "the {name} node: http://{address}/, kill -9 {pid}")?;
    }
    let mut stdout = stdout().lock();
    writeln!(stdout, "{lines}\nCtrl-C ends all of it")?;
    stdout.flush()?;
    runtime.block_on(interrupted)?;
    for number in 0..2 {
        bench.end(number);
    }
    writeln!(stdout, "ended")?;
    Ok(ExitCode::SUCCESS)
}
