//! Arithmetic expressions: a recursive-descent parser that evaluates as it reads.

use forgeline_json::subslice;

/// The depth to which parentheses, signs and powers may nest.
const MAX_DEPTH: u32 = 64;

/// The error of an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ExpressionError {
    #[error("needs a number or `(` at byte {offset}")]
    OperandExpected { offset: usize },
    #[error(
        "has `{found}` at byte {offset}, which is not part of an expression; use + - * / % ^ ( )"
    )]
    Unexpected { found: char, offset: usize },
    #[error("has a `(` at byte {offset} that is not closed; add `)`")]
    Unclosed { offset: usize },
    #[error("divides by zero at byte {offset}; check the divisor")]
    DivisionByZero { offset: usize },
    #[error("nests deeper than {MAX_DEPTH} levels at byte {offset}; use fewer parentheses")]
    TooDeep { offset: usize },
    #[error("has a value that is too large or not a real number; use smaller numbers")]
    NotFinite,
}

/// Returns the value of `expression`.
pub(super) fn evaluate(expression: &str) -> Result<f64, ExpressionError> {
    let mut parser = ExpressionParser { rest: expression, length: expression.len(), depth: 0 };
    let value = parser.sum()?;
    let offset = parser.offset();
    match parser.peek() {
        Some(found) => Err(ExpressionError::Unexpected { found, offset }),
        // Adding zero turns a negative zero into zero.
        None if value.is_finite() => Ok(value + 0.0),
        None => Err(ExpressionError::NotFinite),
    }
}

struct ExpressionParser<'a> {
    rest: &'a str,
    length: usize,
    depth: u32,
}

impl ExpressionParser<'_> {
    /// Returns the next character that is not whitespace, without consuming it.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn offset(&mut self) -> usize {
        self.rest = self.rest.trim_start();
        self.length - self.rest.len()
    }

    /// Consumes the next operator if it is one of `operators`.
    fn operator(&mut self, operators: &str) -> Option<(char, usize)> {
        let offset = self.offset();
        let found = self.peek().filter(|found| operators.contains(*found))?;
        self.rest = self.rest.strip_prefix(found)?;
        Some((found, offset))
    }

    fn sum(&mut self) -> Result<f64, ExpressionError> {
        let mut value = self.product()?;
        while let Some((operator, _)) = self.operator("+-−") {
            let right = self.product()?;
            value = if operator == '+' { value + right } else { value - right };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, ExpressionError> {
        let mut value = self.signed()?;
        while let Some((operator, offset)) = self.operator("*×·/÷%") {
            let right = self.signed()?;
            let divides = matches!(operator, '/' | '÷' | '%');
            if divides && right == 0.0 {
                return Err(ExpressionError::DivisionByZero { offset });
            }
            value = match operator {
                '/' | '÷' => value / right,
                '%' => value % right,
                _ => value * right,
            };
        }
        Ok(value)
    }

    /// Parses a signed value. A sign binds looser than a power: `-2 ^ 2` is -4.
    fn signed(&mut self) -> Result<f64, ExpressionError> {
        match self.operator("+-−") {
            Some(('+', _)) => self.nested(Self::signed),
            Some(_) => Ok(-self.nested(Self::signed)?),
            None => self.power(),
        }
    }

    /// Parses a power. Powers associate to the right: `2 ^ 3 ^ 2` is 512.
    fn power(&mut self) -> Result<f64, ExpressionError> {
        let base = self.operand()?;
        match self.operator("^") {
            Some(_) => Ok(base.powf(self.nested(Self::signed)?)),
            None => Ok(base),
        }
    }

    fn operand(&mut self) -> Result<f64, ExpressionError> {
        if let Some((_, offset)) = self.operator("(") {
            let value = self.nested(Self::sum)?;
            return match self.operator(")") {
                Some(_) => Ok(value),
                None => match self.peek() {
                    Some(found) => {
                        Err(ExpressionError::Unexpected { found, offset: self.offset() })
                    }
                    None => Err(ExpressionError::Unclosed { offset }),
                },
            };
        }
        let offset = self.offset();
        let end = self.number_end();
        let (number, rest) = self.rest.split_at(end);
        match number.parse() {
            Ok(value) => {
                self.rest = rest;
                Ok(value)
            }
            Err(_) => Err(ExpressionError::OperandExpected { offset }),
        }
    }

    /// Returns the end of the number that starts here: digits, one dot, an exponent.
    fn number_end(&self) -> usize {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| {
            let rest = subslice(bytes, from..);
            from + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
        end
    }

    fn nested(
        &mut self,
        rule: fn(&mut Self) -> Result<f64, ExpressionError>,
    ) -> Result<f64, ExpressionError> {
        if self.depth == MAX_DEPTH {
            return Err(ExpressionError::TooDeep { offset: self.offset() });
        }
        self.depth += 1;
        let value = rule(self);
        self.depth -= 1;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_their_usual_value() {
        #[rustfmt::skip]
        let cases = [
            ("1 + 2 * 3",         "7"),
            ("(1 + 2) * 3",       "9"),
            ("-2 ^ 2",            "-4"),
            ("2 ^ 3 ^ 2",         "512"),
            ("2 ^ -1",            "0.5"),
            ("10 % 4 - --1",      "1"),
            (" 7 ",               "7"),
            ("1.5e3 / 2",         "750"),
            ("17 × 23 − 1",       "390"),
            (".5 + 1.",           "1.5"),
            ("0 * -1",            "0"),
            ("123456789 * 1000",  "123456789000"),
        ];
        for (expression, want) in cases {
            assert_eq!(evaluate(expression).map(|value| value.to_string()), Ok(want.to_owned()));
        }
    }

    #[test]
    fn invalid_expressions_are_reported_with_their_offset() {
        let deep = "(".repeat(1000);
        #[rustfmt::skip]
        let cases = [
            ("",          ExpressionError::OperandExpected { offset: 0 }),
            ("1 +",       ExpressionError::OperandExpected { offset: 3 }),
            ("2 * x",     ExpressionError::OperandExpected { offset: 4 }),
            ("1 2",       ExpressionError::Unexpected { found: '2', offset: 2 }),
            ("(1 + 2",    ExpressionError::Unclosed { offset: 0 }),
            ("(1 = 2)",   ExpressionError::Unexpected { found: '=', offset: 3 }),
            ("1 / (2-2)", ExpressionError::DivisionByZero { offset: 2 }),
            ("9^9^9",     ExpressionError::NotFinite),
            ("(-8)^0.5",  ExpressionError::NotFinite),
            (&deep,       ExpressionError::TooDeep { offset: 65 }),
        ];
        for (expression, want) in cases {
            assert_eq!(evaluate(expression), Err(want), "{expression}");
        }
    }
}
