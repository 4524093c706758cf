//! Variables in the values of a configuration.

/// Variables that contain locations, which are not secrets.
const PLACES: [&str; 8] =
    ["HOME", "PATH", "PWD", "TMPDIR", "USER", "USERPROFILE", "userHome", "workspaceFolder"];

/// Returns `true` for a variable that contains a location.
pub(crate) fn is_place(name: &str) -> bool {
    PLACES.contains(&name)
}

/// Replaces each `${NAME}`, `${env:NAME}` and `${NAME:-default}` by the variable's value.
///
/// # Errors
///
/// Returns a description of the problem, which contains the variable's name and no value.
pub(crate) fn expand(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, reference)) = rest.split_once("${") {
        expanded.push_str(before);
        let Some((reference, after)) = reference.split_once('}') else {
            return Err("has a `${` without its `}`; close it".to_owned());
        };
        let (name, default) = match reference.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (reference, None),
        };
        if let Some(input) = name.strip_prefix("input:") {
            return Err(format!(
                "has the input `{input}`, which only the editor asks for; use a variable instead"
            ));
        }
        let name = name.strip_prefix("env:").unwrap_or(name);
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            return Err(
                "has a `${…}` that names no variable; expected letters, digits and `_`".to_owned()
            );
        }
        match variable(name).or_else(|| default.map(str::to_owned)) {
            Some(value) => expanded.push_str(&value),
            None => {
                return Err(format!(
                    "needs the variable `{name}`, which is not set; set it, or write `${{{name}:-default}}`"
                ));
            }
        }
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn variables_are_replaced_once_and_missing_ones_are_named() {
        let variable = |name: &str| (name == "KEY").then(|| "s3${KEY}".to_owned());
        #[rustfmt::skip]
        let cases = [
            ("plain $KEY }",     Ok("plain $KEY }")),
            ("a${KEY}b",         Ok("as3${KEY}b")),
            ("${NO:-x}${NO:-}!", Ok("x!")),
            ("${KEY:-x}",        Ok("s3${KEY}")),
            ("${env:KEY}",       Ok("s3${KEY}")),
            ("${env:NO:-y}",     Ok("y")),
            ("${input:key}",     Err("has the input `key`, which only the editor asks for; use a variable instead")),
            ("${KEY",            Err("has a `${` without its `}`; close it")),
            ("${}",              Err("has a `${…}` that names no variable; expected letters, digits and `_`")),
            ("${NO}",            Err("needs the variable `NO`, which is not set; set it, or write `${NO:-default}`")),
        ];
        for (text, want) in cases {
            let got = expand(text, &variable);
            assert_eq!(got.as_deref().map_err(String::as_str), want, "{text}");
        }
    }
}
