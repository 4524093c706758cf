//! Tokens that are renewed.

use super::{
    login::{SERVER, World, access_of, body, issued, options, willing, world},
    *,
};
use crate::oauth::{bearer_challenge::BearerChallenge, oauth_access::OAuthAccess};

#[tokio::test]
async fn a_token_that_is_over_is_renewed_before_it_is_sent() {
    let count = AtomicUsize::new(0);
    let world = world(move |request| {
        // The first token is over at once.
        let seconds = || if count.fetch_add(1, Ordering::SeqCst) == 0 { 1 } else { 3_600 };
        let is_token = request.url.ends_with("/token");
        is_token.then(|| {
            let seconds = seconds();
            (200, issued(if seconds == 1 { 1 } else { 2 }, seconds))
        })
    });
    let person = willing();
    let (access, watch) = access_of(&world, &options(&person));
    access.answer(&BearerChallenge::default(), None).await.unwrap();
    assert_eq!(access.token().await, Ok(Some("access-2".to_owned())));
    let renewal = &world.forms()[1];
    assert!(renewal.contains("refresh_token=refresh-1"), "{renewal}");
    assert!(renewal.contains("resource=https%3A%2F%2Fmcp.example%2Fmcp"), "{renewal}");
    // One that the server refuses is renewed too, and all of them are secrets.
    access.answer(&BearerChallenge::default(), Some("access-2")).await.unwrap();
    assert!(world.forms()[2].contains("refresh_token=refresh-2"));
    assert_eq!(watch.redacted("access-2 refresh-2"), "[key] [key]");
    assert_eq!(person.pages.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_renewal_is_kept_though_its_request_was_dropped_or_another_process_was_faster() {
    let gate = Arc::new(tokio::sync::Notify::new());
    let world = Arc::new(World {
        change: Box::new(|request| {
            // Each token for renewals is of use once.
            let form = body(request);
            let is_used = form.contains("refresh_token=refresh-1");
            let is_new = form.contains("grant_type=authorization_code");
            is_new.then(|| (200, issued(1, 1))).or(is_used.then(|| (200, issued(2, 3_600))))
        }),
        gate: Some(Arc::clone(&gate)),
        ..World::default()
    });
    let options = options(&willing());
    let (access, _) = access_of(&world, &options);
    gate.notify_one();
    access.answer(&BearerChallenge::default(), None).await.unwrap();
    // Another process has the same grant.
    let (other, _) = access_of(&world, &options);
    let loaded = tokio::spawn({
        let other = Arc::clone(&other);
        async move { other.token().await }
    });
    while world.forms().len() < 2 {
        tokio::task::yield_now().await;
    }
    // Its request is dropped while the server renews.
    loaded.abort();
    assert!(loaded.await.unwrap_err().is_cancelled());
    gate.notify_one();
    let kept = async {
        let store = options.login.tokens.clone().unwrap();
        while !format!("{:?}", store.load(SERVER).await.unwrap().unwrap().expose())
            .contains("access-2")
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), kept).await.unwrap();
    world.reject();
    gate.notify_one();
    // This process renews with a token that is used up, and takes what is kept.
    assert_eq!(access.token().await, Ok(Some("access-2".to_owned())));
}

/// Returns a world whose tokens wait at a gate: one that is soon too old, and then one that is not.
fn gated() -> (Arc<World>, Arc<tokio::sync::Notify>) {
    let gate = Arc::new(tokio::sync::Notify::new());
    let world = Arc::new(World {
        change: Box::new(|request| {
            let is_new = body(request).contains("grant_type=authorization_code");
            let is_token = request.url.ends_with("/token");
            is_token.then(|| if is_new { (200, issued(1, 1)) } else { (200, issued(2, 3_600)) })
        }),
        gate: Some(Arc::clone(&gate)),
        ..World::default()
    });
    (world, gate)
}

#[tokio::test]
async fn a_renewal_that_is_dropped_goes_on_and_its_token_is_sent_once() {
    let (world, gate) = gated();
    let options = options(&willing());
    let (access, _) = access_of(&world, &options);
    gate.notify_one();
    access.answer(&BearerChallenge::default(), None).await.unwrap();
    let asks = |access: &Arc<OAuthAccess>| {
        let access = Arc::clone(access);
        tokio::spawn(async move { access.token().await })
    };
    let dropped = asks(&access);
    while world.forms().len() < 2 {
        tokio::task::yield_now().await;
    }
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    // The same session, and the next one of the same program, which knows of no renewal yet.
    let next = asks(&access_of(&world, &options).0);
    let same = asks(&access);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.forms().len(), 2, "no second renewal has begun: {:?}", world.forms());
    gate.notify_one();
    assert_eq!(same.await.unwrap(), Ok(Some("access-2".to_owned())));
    assert_eq!(next.await.unwrap(), Ok(Some("access-2".to_owned())));
    // One that comes later finds what was kept.
    assert_eq!(access_of(&world, &options).0.token().await, Ok(Some("access-2".to_owned())));
    assert_eq!(world.forms().len(), 2);
    // The next renewal is another one.
    gate.notify_one();
    access.answer(&BearerChallenge::default(), Some("access-2")).await.unwrap();
    assert!(world.forms()[2].contains("refresh_token=refresh-2"), "{:?}", world.forms());
}

#[tokio::test]
async fn servers_that_are_set_up_apart_renew_one_after_the_other_where_they_share_a_place() {
    let (world, gate) = gated();
    let first = options(&willing());
    let mut second = options(&willing());
    second.login.tokens.clone_from(&first.login.tokens);
    let (access, _) = access_of(&world, &first);
    gate.notify_one();
    access.answer(&BearerChallenge::default(), None).await.unwrap();
    let asks = |access: Arc<OAuthAccess>| tokio::spawn(async move { access.token().await });
    let (one, other) = (asks(access), asks(access_of(&world, &second).0));
    while world.forms().len() < 2 {
        tokio::task::yield_now().await;
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.forms().len(), 2, "one token is used twice: {:?}", world.forms());
    gate.notify_one();
    assert_eq!(one.await.unwrap(), Ok(Some("access-2".to_owned())));
    assert_eq!(other.await.unwrap(), Ok(Some("access-2".to_owned())));
    assert_eq!(world.forms().len(), 2);
}
