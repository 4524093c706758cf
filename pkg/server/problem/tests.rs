//! Problems of stores: what callers read, and what only the operator does.

use axum::response::IntoResponse as _;
use forgeline_store::StoreError;
use forgeline_types::Text;

use super::Problem;

#[test]
fn each_error_of_a_store_is_one_problem() {
    let name = || Text::from("r1");
    let secret = || "postgres://me:hunter2@db".to_owned();
    #[rustfmt::skip]
    let rows = [
        (StoreError::NotFound { what: "log", name: name() },                           404, "not_found", "run"),
        (StoreError::NotFound { what: "conversation", name: name() },                  404, "not_found", "conversation"),
        (StoreError::Retired { name: name() },                                         410, "log_retired", "run `r1`"),
        (StoreError::Dropped { what: "log", name: name(), first: 7 },                  410, "log_retired", "from 7 on"),
        (StoreError::Dropped { what: "scope", name: name(), first: 7 },                410, "dropped", "from 7 on"),
        (StoreError::Behind { what: "log", name: name(), at: 9, end: 7 },              409, "log_behind", "run `r1`"),
        (StoreError::Behind { what: "conversation", name: name(), at: 9, end: 7 },     409, "conflict", "7 entries"),
        (StoreError::BadCursor { cursor: "x".into() },                                 400, "bad_request", "`x`"),
        (StoreError::Exists { what: "log", name: name() },                             503, "busy", "try again"),
        (StoreError::Ended { what: "log", name: name() },                              503, "busy", "try again"),
        (StoreError::Exists { what: "conversation", name: name() },                    409, "conflict", "already exists"),
        (StoreError::Full { reason: secret() },                                        507, "store_full", "make room"),
        (StoreError::ReadOnly { reason: secret() },                                    500, "store_unusable", "logs"),
        (StoreError::Newer { found: 9, own: 5 },                                       500, "store_unusable", "logs"),
        (StoreError::Corrupt { reason: secret() },                                     500, "store_unusable", "logs"),
        (StoreError::Unavailable { reason: secret() },                                 503, "busy", "try again"),
    ];
    for (error, status, code, word) in rows {
        let shown = format!("{error:?}");
        let problem = Problem::from(error);
        let (own, detail) = (problem.0.code, problem.0.detail.clone());
        assert!(detail.contains(word) && !detail.contains("hunter2"), "{shown}: {detail}");
        assert!(own == code, "{shown}: {own}");
        assert_eq!(problem.into_response().status().as_u16(), status, "{shown}");
    }
}
