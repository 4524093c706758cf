//! The route that notifies all readers of a scope.

use axum::{Json, extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    Problem,
    access::{
        caller::RequestCaller,
        identity::{NOTIFY, check_permission},
        scope::scope,
    },
    http::{extract::JsonBody, ids::check_id},
};
use forgeline_store::{Notification, Stores, private::now_ms};
use forgeline_types::Text;

/// Maximum size of the data of a notification, in bytes.
const MAX_NOTIFICATION_BYTES: usize = 64 << 10;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NotificationBody {
    #[schemars(with = "String")]
    kind: Text,
    #[schemars(with = "Value")]
    data: Box<RawValue>,
}

pub(super) async fn notify(
    State(stores): State<Stores>,
    RequestCaller(caller): RequestCaller,
    JsonBody(NotificationBody { kind, data }): JsonBody<NotificationBody>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    check_permission(&caller, NOTIFY)?;
    check_id("`kind`", &kind)?;
    if data.get().len() > MAX_NOTIFICATION_BYTES {
        let detail = format!("`data` has more than {MAX_NOTIFICATION_BYTES} bytes; send less");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", detail));
    }
    let notification = Notification::new(kind, data.get(), now_ms());
    let id = notification.id.clone();
    let number = stores.notifications.publish(&scope(&caller), notification).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "id": id, "number": number }))))
}
