//! The checks for notification channels.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::join_all;
use tokio::time::timeout;

use super::{
    Report,
    suite::{QUIET, StoreVerdict, check, done, hold, same},
};
use forgeline_store::{Notification, NotificationChannel, StoreError};

/// Checks a notification channel.
pub async fn check_notification_channel<C: NotificationChannel>(
    make: impl AsyncFn() -> Arc<C>,
) -> Report {
    let checks = vec![
        check("publish", "what is published is read, in order", publish(make().await)).await,
        check("scopes", "another scope gets nothing", scopes(make().await)).await,
        check(
            "readers",
            "all readers are woken, and one that goes disturbs none",
            readers(make().await),
        )
        .await,
        check("race", "publishers at once leave no gap and no double", race(make().await)).await,
        check(
            "bound",
            "the last 10,000 are kept, and the others are reported as lost",
            bound(make().await),
        )
        .await,
    ];
    Report { checks }
}

fn note(data: &str) -> Notification {
    Notification::new("note", data, 1_000)
}

async fn publish(channel: Arc<impl NotificationChannel>) -> StoreVerdict {
    same("end", &done("end", channel.end("a").await)?, &0)?;
    same("nothing", &done("read", channel.read("a", 0, 9).await)?.len(), &0)?;
    let notes = [note("1"), note("2")];
    for (number, note) in (0..).zip(&notes) {
        let given = done("publish", channel.publish("a", note.clone()).await)?;
        same("its number", &given, &number)?;
    }
    let [one, two] = notes;
    let all = done("read", channel.read("a", 0, 9).await)?;
    same("all", &all, &vec![(0, one.clone()), (1, two.clone())])?;
    same("one", &done("read", channel.read("a", 0, 1).await)?, &vec![(0, one)])?;
    same("the last", &done("read", channel.read("a", 1, 9).await)?, &vec![(1, two)])?;
    same("behind", &done("read", channel.read("a", 2, 9).await)?.len(), &0)
}

async fn scopes(channel: Arc<impl NotificationChannel>) -> StoreVerdict {
    let mut other = channel.wait("b", 0);
    hold("nothing yet", timeout(QUIET, &mut other).await.is_err())?;
    done("publish", channel.publish("a", note("1")).await)?;
    done("wait", channel.wait("a", 0).await)?;
    hold("another scope is not woken", timeout(QUIET, &mut other).await.is_err())?;
    same("nor reads", &done("read", channel.read("b", 0, 9).await)?.len(), &0)?;
    same("it begins at 0", &done("publish", channel.publish("b", note("1")).await)?, &0)?;
    done("the wait", other.await)
}

async fn readers(channel: Arc<impl NotificationChannel>) -> StoreVerdict {
    let mut gone = channel.wait("a", 0);
    let mut there = channel.wait("a", 0);
    let mut also = channel.wait("a", 0);
    for wait in [&mut gone, &mut there, &mut also] {
        hold("a wait lasts", timeout(QUIET, wait).await.is_err())?;
    }
    drop(gone);
    done("publish", channel.publish("a", note("1")).await)?;
    done("one", there.await)?;
    done("the other", also.await)?;
    done("publish to none", channel.publish("no-reader", note("1")).await).map(drop)
}

async fn race(channel: Arc<impl NotificationChannel>) -> StoreVerdict {
    let numbers =
        join_all((0..20).map(|at: u32| channel.publish("a", note(&at.to_string())))).await;
    let numbers: BTreeSet<_> =
        numbers.into_iter().collect::<Result<_, _>>().map_err(|it| it.to_string())?;
    same("numbers", &numbers, &(0..20).collect())?;
    let all = done("read", channel.read("a", 0, 99).await)?;
    let ids: BTreeSet<_> = all.iter().map(|(_, note)| note.id.clone()).collect();
    same("ids differ", &ids.len(), &20)
}

async fn bound(channel: Arc<impl NotificationChannel>) -> StoreVerdict {
    for part in 0..102 {
        let many =
            (0..100).map(|at: u32| channel.publish("a", note(&(part * 100 + at).to_string())));
        for published in join_all(many).await {
            done("publish", published)?;
        }
    }
    let old = channel.read("a", 0, 1).await;
    let Err(StoreError::Dropped { first, .. }) = old else {
        return Err(format!("reading what is too old gives {old:?}"));
    };
    same("the first that is there", &first, &200)?;
    let kept = done("read", channel.read("a", first, usize::MAX).await)?;
    same("kept", &kept.len(), &10_000)?;
    same("end", &done("end", channel.end("a").await)?, &10_200)
}
