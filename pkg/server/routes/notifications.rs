//! The route that notifies all readers of a scope.

use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    server::{
        Problem, Service,
        access::{
            identity::{NOTIFY, check_permission},
            scope::scope,
        },
        http::extract::{Body, Caller},
        service::check_id,
    },
    store::{Notification, now_ms},
    types::Text,
};

/// Maximum size of the data of a notification, in bytes.
const MAX_NOTIFICATION_BYTES: usize = 64 << 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Notify {
    kind: Text,
    data: Box<RawValue>,
}

pub(super) async fn notify(
    State(service): State<Service>,
    Caller(caller): Caller,
    Body(Notify { kind, data }): Body<Notify>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    check_permission(&caller, NOTIFY)?;
    check_id("`kind`", &kind)?;
    if data.get().len() > MAX_NOTIFICATION_BYTES {
        let detail = format!("`data` has more than {MAX_NOTIFICATION_BYTES} bytes; send less");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", detail));
    }
    let notification = Notification::new(kind, data.get(), now_ms());
    let id = notification.id.clone();
    let number = service.notifications().publish(&scope(&caller), notification).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "id": id, "number": number }))))
}
