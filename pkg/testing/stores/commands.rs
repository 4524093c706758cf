//! The checks for command stores.

use std::pin::pin;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::{
    Report,
    nodes::{begun, claimed, key, node, released},
    suite::{QUIET, StoreVerdict, check, done, hold, same},
};
use forgeline_store::{
    CommandSent, EraseMode, LogKey, MAX_COMMAND_BYTES, MAX_UNANSWERED, RunChange, RunCommand,
    RunProgress, StoreError, StoredCommand, Stores,
};

/// Checks the command store of stores that have the runs in the same engine.
pub async fn check_command_store(make: impl AsyncFn() -> Stores) -> Report {
    let checks = vec![
        check("round-trip", "commands are read as they were, in order", whole(make().await)).await,
        check("keys", "a command that is sent again is stored once", keys(make().await)).await,
        check("answers", "a command is answered once", answers(make().await)).await,
        check("fenced", "an owner that has lost the run answers nothing", fenced(make().await))
            .await,
        check("taken-over", "the next owner finds what was not answered", taken(make().await))
            .await,
        check("ended", "a run that has ended takes no command", ended(make().await)).await,
        check("wait", "a wait ends with a command, an answer and the end", waits(make().await))
            .await,
        check("unknown", "a run that does not exist has no commands", unknown(make().await)).await,
        check("erased", "commands go with their run and its owner", erased(make().await)).await,
        check("length", "a command has a maximum size", length(make().await)).await,
        check("number", "a run has a maximum number of unanswered commands", number(make().await))
            .await,
    ];
    Report { checks }
}

fn command(key: &str) -> RunCommand {
    RunCommand::new(key, "steer", format!("{{\"text\":\"{key}\"}}"))
}

/// Sends a new command; returns its number.
async fn sent(stores: &Stores, run: &LogKey, name: &str) -> Result<u64, String> {
    match done("send", stores.commands.send(run, command(name)).await)? {
        CommandSent::New(number) => Ok(number),
        other @ (CommandSent::Same(_) | _) => {
            Err(format!("command {name} is new, and was not stored: {other:?}"))
        }
    }
}

/// Returns the keys of the unanswered commands of a run, in their own order.
async fn open(stores: &Stores, run: &LogKey) -> Result<String, String> {
    let open = done("unanswered", stores.commands.unanswered(run, 0, usize::MAX).await)?;
    let mut keys: Vec<_> = open.iter().map(|it| it.command.key.as_str()).collect();
    keys.sort_unstable();
    Ok(keys.join(" "))
}

async fn whole(stores: Stores) -> StoreVerdict {
    let one = node(&stores, "one").await?;
    begun(&stores, "r", &one).await?;
    begun(&stores, "s", &one).await?;
    let (mut numbers, mut all) = (Vec::new(), Vec::new());
    for name in ["b", "a", "c", "d"] {
        let number = sent(&stores, &key("r"), name).await?;
        hold("numbers grow", numbers.last().is_none_or(|last| *last < number))?;
        numbers.push(number);
        all.push(StoredCommand::new(number, command(name)));
    }
    let other = sent(&stores, &key("s"), "a").await?;
    let read = async |run, from, most| {
        done("unanswered", stores.commands.unanswered(&key(run), from, most).await)
    };
    same("all", &read("r", 0, 9).await?, &all)?;
    same("the first", &read("r", 0, 2).await?, &all[..2].to_vec())?;
    same("from a number on", &read("r", numbers[2], 9).await?, &all[2..].to_vec())?;
    same("behind the last", &read("r", numbers[3] + 1, 9).await?, &vec![])?;
    same("another run's", &read("s", 0, 9).await?, &vec![StoredCommand::new(other, command("a"))])
}

async fn keys(stores: Stores) -> StoreVerdict {
    let one = node(&stores, "one").await?;
    begun(&stores, "r", &one).await?;
    let run = key("r");
    let all = join_all((0..8).map(|_| stores.commands.send(&run, command("k")))).await;
    let (mut new, mut known) = (Vec::new(), Vec::new());
    for one in all {
        match done("send", one)? {
            CommandSent::New(number) => new.push(StoredCommand::new(number, command("k"))),
            CommandSent::Same(found) => known.push(*found),
            _ => return Err("an unknown outcome".to_owned()),
        }
    }
    same("one of eight with the same key is new", &(new.len(), known.len()), &(1, 7))?;
    hold("the others are the same command", known.iter().all(|it| *it == new[0]))?;
    let other = stores.commands.send(&run, RunCommand::new("k", "cancel", "{}")).await;
    let first = CommandSent::Same(Box::new(new.remove(0)));
    same("one with another content", &done("send", other)?, &first)?;
    same("all", &open(&stores, &run).await?.as_str(), &"k")
}

async fn answers(stores: Stores) -> StoreVerdict {
    let one = node(&stores, "one").await?;
    let (writer, run) = (begun(&stores, "r", &one).await?, key("r"));
    let first = sent(&stores, &run, "a").await?;
    let second = sent(&stores, &run, "b").await?;
    let answer =
        async |number, text: &str| stores.commands.answer(&writer, number, text.to_owned()).await;
    done("answer", answer(first, "{\"a\":1}").await)?;
    done("the same answer again", answer(first, "{\"a\":1}").await)?;
    let other = answer(first, "{\"a\":2}").await;
    hold("another answer is refused", matches!(other, Err(StoreError::Exists { .. })))?;
    let unknown = answer(second + 1, "{}").await;
    hold("an unknown command", matches!(unknown, Err(StoreError::NotFound { .. })))?;
    let found = done("the answer", stores.commands.wait_for_answer(&run, first).await)?;
    same("the answer", &found.as_str(), &"{\"a\":1}")?;
    same("without an answer", &open(&stores, &run).await?.as_str(), &"b")?;
    let CommandSent::Same(again) = done("send", stores.commands.send(&run, command("a")).await)?
    else {
        return Err("an answered command is sent again, and stored a second time".to_owned());
    };
    same("its answer", &again.answer.as_deref(), &Some("{\"a\":1}"))?;
    same("its content is dropped", &again.command.body.as_str(), &"")
}

async fn fenced(stores: Stores) -> StoreVerdict {
    let [one, two] = [node(&stores, "one").await?, node(&stores, "two").await?];
    let (first, run) = (begun(&stores, "r", &one).await?, key("r"));
    let number = sent(&stores, &run, "a").await?;
    let refused = async |when: &str| {
        let answered = stores.commands.answer(&first, number, "0".to_owned()).await;
        let is_told = matches!(answered, Err(StoreError::Fenced { .. }));
        hold(&format!("an answer {when}: {answered:?}, not `Fenced`"), is_told)
    };
    released(&stores, &first).await?;
    refused("after the release").await?;
    let second = claimed(&stores, "r", &two).await?;
    refused("after the next claim").await?;
    done("answer", stores.commands.answer(&second, number, "1".to_owned()).await)?;
    let answer = done("the answer", stores.commands.wait_for_answer(&run, number).await)?;
    same("the answer of the owner", &answer.as_str(), &"1")
}

async fn taken(stores: Stores) -> StoreVerdict {
    let [one, two] = [node(&stores, "one").await?, node(&stores, "two").await?];
    let (first, run) = (begun(&stores, "r", &one).await?, key("r"));
    let answered = sent(&stores, &run, "a").await?;
    done("answer", stores.commands.answer(&first, answered, "{}".to_owned()).await)?;
    sent(&stores, &run, "b").await?;
    released(&stores, &first).await?;
    sent(&stores, &run, "c").await?;
    let second = claimed(&stores, "r", &two).await?;
    same("without an answer", &open(&stores, &run).await?.as_str(), &"b c")?;
    let again = done("send", stores.commands.send(&run, command("a")).await)?;
    hold("the first one is known", matches!(again, CommandSent::Same(_)))?;
    for open in done("unanswered", stores.commands.unanswered(&run, 0, 9).await)? {
        done("answer", stores.commands.answer(&second, open.number, "{}".to_owned()).await)?;
    }
    same("all are answered", &open(&stores, &run).await?.as_str(), &"")
}

async fn ended(stores: Stores) -> StoreVerdict {
    let one = node(&stores, "one").await?;
    let (writer, run) = (begun(&stores, "r", &one).await?, key("r"));
    let answered = sent(&stores, &run, "a").await?;
    done("answer", stores.commands.answer(&writer, answered, "1".to_owned()).await)?;
    let open_one = sent(&stores, &run, "b").await?;
    let end = RunChange::to(RunProgress::Completed, 2_000);
    done("change", stores.runs.change(&writer, end).await)?;
    let late = stores.commands.send(&run, command("c")).await;
    hold(&format!("a late command: {late:?}"), matches!(late, Err(StoreError::Ended { .. })))?;
    same("none is open", &open(&stores, &run).await?.as_str(), &"")?;
    let answer = stores.commands.answer(&writer, open_one, "1".to_owned()).await;
    hold("a late answer", matches!(answer, Err(StoreError::Ended { .. })))?;
    let kept = done("an answer", stores.commands.wait_for_answer(&run, answered).await)?;
    same("an answer stays", &kept.as_str(), &"1")?;
    let again = done("send", stores.commands.send(&run, command("a")).await)?;
    hold("what was answered is known", matches!(again, CommandSent::Same(_)))
}

async fn waits(stores: Stores) -> StoreVerdict {
    let one = node(&stores, "one").await?;
    let (writer, run) = (begun(&stores, "r", &one).await?, key("r"));
    let mut pending = pin!(stores.commands.wait(&run, 0));
    hold("a wait without a command ends", timeout(QUIET, &mut pending).await.is_err())?;
    let first = sent(&stores, &run, "a").await?;
    done("the wait", pending.await)?;
    done("a wait that begins late", stores.commands.wait(&run, first).await)?;
    let mut next = pin!(stores.commands.wait(&run, first + 1));
    hold("a wait for the next ends", timeout(QUIET, &mut next).await.is_err())?;
    let mut answer = pin!(stores.commands.wait_for_answer(&run, first));
    hold("a wait without an answer ends", timeout(QUIET, &mut answer).await.is_err())?;
    done("answer", stores.commands.answer(&writer, first, "1".to_owned()).await)?;
    same("the answer", &done("the wait", answer.await)?.as_str(), &"1")?;
    let second = sent(&stores, &run, "b").await?;
    done("the wait for the next", next.await)?;
    let mut lost = pin!(stores.commands.wait_for_answer(&run, second));
    let mut never = pin!(stores.commands.wait(&run, second + 1));
    hold("a wait without an answer ends", timeout(QUIET, &mut lost).await.is_err())?;
    hold("a wait without a command ends", timeout(QUIET, &mut never).await.is_err())?;
    let end = RunChange::to(RunProgress::Completed, 2_000);
    done("change", stores.runs.change(&writer, end).await)?;
    for ended in [lost.await.map(drop), never.await, stores.commands.wait(&run, 0).await] {
        let is_told = matches!(ended, Err(StoreError::Ended { .. }));
        hold(&format!("a wait for a run that has ended: {ended:?}"), is_told)?;
    }
    Ok(())
}

async fn unknown(stores: Stores) -> StoreVerdict {
    let one = node(&stores, "one").await?;
    let writer = begun(&stores, "r", &one).await?;
    let number = sent(&stores, &key("r"), "a").await?;
    let answered = stores.commands.wait_for_answer(&key("r"), number + 1).await;
    hold("an unknown number", matches!(answered, Err(StoreError::NotFound { .. })))?;
    for other in [LogKey::new("team-b", "r"), key("x")] {
        let mut away = writer.clone();
        away.run = other.clone();
        let results = [
            stores.commands.send(&other, command("b")).await.map(drop),
            stores.commands.unanswered(&other, 0, 9).await.map(drop),
            stores.commands.answer(&away, number, "1".to_owned()).await,
            stores.commands.wait(&other, 0).await,
            stores.commands.wait_for_answer(&other, number).await.map(drop),
        ];
        for (at, result) in results.iter().enumerate() {
            let is_told = matches!(result, Err(StoreError::NotFound { .. }));
            hold(&format!("method {at} of another run: {result:?}"), is_told)?;
        }
    }
    Ok(())
}

async fn erased(stores: Stores) -> StoreVerdict {
    let (one, run) = (node(&stores, "one").await?, key("r"));
    begun(&stores, "r", &one).await?;
    let number = sent(&stores, &run, "a").await?;
    let mut lost = pin!(stores.commands.wait_for_answer(&run, number));
    hold("a wait without an answer ends", timeout(QUIET, &mut lost).await.is_err())?;
    done("erase", stores.runs.erase("team-a", "ann", EraseMode::Tombstone).await)?;
    same("after a tombstone", &open(&stores, &run).await?.as_str(), &"")?;
    let lost = lost.await;
    hold("the wait ends", matches!(lost, Err(StoreError::NotFound { .. })))?;
    sent(&stores, &run, "b").await?;
    same("deleted", &done("delete", stores.runs.delete(&run).await)?, &true)?;
    begun(&stores, "r", &one).await?;
    same("after a deletion", &open(&stores, &run).await?.as_str(), &"")
}

async fn length(stores: Stores) -> StoreVerdict {
    let one = node(&stores, "one").await?;
    begun(&stores, "r", &one).await?;
    let long = |more| RunCommand::new("k", "", "x".repeat(MAX_COMMAND_BYTES - 1 + more));
    let refused = stores.commands.send(&key("r"), long(1)).await;
    hold("one that is too long", matches!(refused, Err(StoreError::Full { .. })))?;
    done("the longest", stores.commands.send(&key("r"), long(0)).await).map(drop)
}

async fn number(stores: Stores) -> StoreVerdict {
    let one = node(&stores, "one").await?;
    let (writer, run) = (begun(&stores, "r", &one).await?, key("r"));
    let names: Vec<_> = (0..MAX_UNANSWERED).map(|at| at.to_string()).collect();
    for result in join_all(names.iter().map(|name| stores.commands.send(&run, command(name)))).await
    {
        done("send", result)?;
    }
    let refused = stores.commands.send(&run, command("more")).await;
    hold("one too many", matches!(refused, Err(StoreError::Full { .. })))?;
    let first = done("unanswered", stores.commands.unanswered(&run, 0, 1).await)?;
    let first = first.first().ok_or("no command is open")?.number;
    done("answer", stores.commands.answer(&writer, first, "1".to_owned()).await)?;
    sent(&stores, &run, "more").await.map(drop)
}
