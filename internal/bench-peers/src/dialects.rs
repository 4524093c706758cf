//! How families of models write calls.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::corpus::Call;

/// Nothing is written: for answers without calls.
pub(crate) fn none(_: &mut String, _: &[Call]) {}

/// Forge's own.
pub(crate) fn forge(out: &mut String, calls: &[Call]) {
    for call in calls {
        let object = json!({"tool_name": Call::NAME, "arguments": call.arguments_json()});
        put(out, &format!("<tool>{object}</tool>\n"));
    }
}

/// Every call in a block of its own.
pub(crate) fn hermes(out: &mut String, calls: &[Call]) {
    for call in calls {
        let object = json!({"name": Call::NAME, "arguments": call.arguments_json()});
        put(out, &format!("<tool_call>\n{object}\n</tool_call>\n"));
    }
}

pub(crate) fn qwen3_coder(out: &mut String, calls: &[Call]) {
    for call in calls {
        put(out, &format!("<tool_call>\n<function={}>\n", Call::NAME));
        for (key, value) in call.arguments() {
            let value = bare(&value);
            put(out, &format!("<parameter={key}>\n{value}\n</parameter>\n"));
        }
        put(out, "</function>\n</tool_call>\n");
    }
}

/// As the newer GLM models write: nothing between the tags.
pub(crate) fn glm(out: &mut String, calls: &[Call]) {
    for call in calls {
        put(out, &format!("<tool_call>{}", Call::NAME));
        for (key, value) in call.arguments() {
            let value = bare(&value);
            put(out, &format!("<arg_key>{key}</arg_key><arg_value>{value}</arg_value>"));
        }
        put(out, "</tool_call>");
    }
}

pub(crate) fn kimi_k2(out: &mut String, calls: &[Call]) {
    put(out, "<|tool_calls_section_begin|>");
    for (index, call) in calls.iter().enumerate() {
        let (name, arguments) = (Call::NAME, call.arguments_json());
        put(
            out,
            &format!(
                "<|tool_call_begin|>functions.{name}:{index}\
                 <|tool_call_argument_begin|>{arguments}<|tool_call_end|>"
            ),
        );
    }
    put(out, "<|tool_calls_section_end|>");
}

/// `DeepSeek` V3.2.
pub(crate) fn dsml_v32(out: &mut String, calls: &[Call]) {
    dsml(out, calls, "function_calls");
}

/// `DeepSeek` V4.
pub(crate) fn dsml_v4(out: &mut String, calls: &[Call]) {
    dsml(out, calls, "tool_calls");
}

fn dsml(out: &mut String, calls: &[Call], block: &str) {
    put(out, &format!("<｜DSML｜{block}>\n"));
    for call in calls {
        put(out, &format!("<｜DSML｜invoke name=\"{}\">\n", Call::NAME));
        for (key, value) in call.arguments() {
            let (is_string, value) = (value.is_string(), bare(&value));
            put(
                out,
                &format!(
                    "<｜DSML｜parameter name=\"{key}\" string=\"{is_string}\">{value}</｜DSML｜parameter>\n"
                ),
            );
        }
        put(out, "</｜DSML｜invoke>\n");
    }
    put(out, &format!("</｜DSML｜{block}>"));
}

pub(crate) fn gemma4(out: &mut String, calls: &[Call]) {
    for call in calls {
        let arguments: Vec<_> = call
            .arguments()
            .iter()
            .map(|(key, value)| match value.as_str() {
                Some(text) => format!("{key}:<|\"|>{text}<|\"|>"),
                None => format!("{key}:{value}"),
            })
            .collect();
        let (name, arguments) = (Call::NAME, arguments.join(","));
        put(out, &format!("<|tool_call>call:{name}{{{arguments}}}<tool_call|>"));
    }
}

/// An array of calls behind the marker.
pub(crate) fn mistral_array(out: &mut String, calls: &[Call]) {
    let calls: Vec<_> = calls
        .iter()
        .map(|call| json!({"name": Call::NAME, "arguments": call.arguments_json()}))
        .collect();
    put(out, &format!("[TOOL_CALLS] {}", Value::Array(calls)));
}

/// A marker before each name.
pub(crate) fn mistral_names(out: &mut String, calls: &[Call]) {
    for call in calls {
        put(out, &format!("[TOOL_CALLS]{}[ARGS]{}", Call::NAME, call.arguments_json()));
    }
}

/// A value as it stands between tags: strings without quotes.
fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn put(out: &mut String, text: &str) {
    out.write_str(text).unwrap_or_default();
}
