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
        (StoreError::not_found("log", name()),                           404, "not_found", "run"),
        (StoreError::not_found("conversation", name()),                  404, "not_found", "conversation"),
        (StoreError::retired(name()),                                         410, "log_retired", "run `r1`"),
        (StoreError::dropped("log", name(), 7),                  410, "log_retired", "from 7 on"),
        (StoreError::dropped("scope", name(), 7),                410, "dropped", "from 7 on"),
        (StoreError::behind("log", name(), 9, 7),              409, "log_behind", "run `r1`"),
        (StoreError::behind("conversation", name(), 9, 7),     409, "conflict", "7 entries"),
        (StoreError::bad_cursor("x"),                                 400, "bad_request", "`x`"),
        (StoreError::exists("log", name()),                             503, "busy", "try again"),
        (StoreError::ended("log", name()),                              503, "busy", "try again"),
        (StoreError::exists("conversation", name()),                    409, "conflict", "already exists"),
        (StoreError::full(secret()),                                        507, "store_full", "make room"),
        (StoreError::read_only(secret()),                                    507, "store_read_only", "logs"),
        (StoreError::newer(9, 5),                                       500, "store_unusable", "logs"),
        (StoreError::corrupt(secret()),                                     500, "store_unusable", "logs"),
        (StoreError::unavailable(secret()),                                 503, "busy", "try again"),
    ];
    for (error, status, code, word) in rows {
        let shown = format!("{error:?}");
        let problem = Problem::from(error);
        let (own, detail) = (problem.0.code.clone(), problem.0.detail.clone());
        assert!(detail.contains(word) && !detail.contains("hunter2"), "{shown}: {detail}");
        assert!(own == code, "{shown}: {own}");
        assert_eq!(problem.into_response().status().as_u16(), status, "{shown}");
    }
}
