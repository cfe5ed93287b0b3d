//! SPDX licence expressions, as crates state them.

use std::{iter::Peekable, str::SplitWhitespace};

/// Whether the expression can be satisfied with licences that are allowed. An exception
/// (`Apache-2.0 WITH LLVM-exception`) is allowed where it is listed as a whole.
pub(crate) fn satisfied(expression: &str, allowed: &[&str]) -> Result<bool, String> {
    // Cargo's older notation has a slash where SPDX has OR.
    let text = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut parser = Parser { words: text.split_whitespace().peekable(), allowed };
    let satisfied = parser.any()?;
    match parser.words.next() {
        None => Ok(satisfied),
        Some(word) => Err(format!("wanted its end, got `{word}`")),
    }
}

/// WITH binds more strongly than AND, and AND than OR.
struct Parser<'a> {
    words: Peekable<SplitWhitespace<'a>>,
    allowed: &'a [&'a str],
}

impl Parser<'_> {
    fn any(&mut self) -> Result<bool, String> {
        let mut satisfied = self.all()?;
        while self.take("OR") {
            satisfied |= self.all()?;
        }
        Ok(satisfied)
    }

    fn all(&mut self) -> Result<bool, String> {
        let mut satisfied = self.one()?;
        while self.take("AND") {
            satisfied &= self.one()?;
        }
        Ok(satisfied)
    }

    fn one(&mut self) -> Result<bool, String> {
        if self.take("(") {
            let satisfied = self.any()?;
            return if self.take(")") { Ok(satisfied) } else { Err("wanted `)`".into()) };
        }
        let mut licence = self.name()?;
        if self.take("WITH") {
            licence = format!("{licence} WITH {}", self.name()?);
        }
        Ok(self.allowed.contains(&licence.as_str()))
    }

    fn take(&mut self, word: &str) -> bool {
        self.words.next_if(|next| *next == word).is_some()
    }

    fn name(&mut self) -> Result<String, String> {
        match self.words.next() {
            Some(word) if !["AND", "OR", "WITH", "(", ")"].contains(&word) => Ok(word.into()),
            Some(word) => Err(format!("wanted a name, got `{word}`")),
            None => Err("wanted a name, got its end".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::satisfied;

    #[test]
    fn one_side_of_or_is_enough_and_both_sides_of_and_are_needed() {
        let allowed = ["MIT", "BSD-3-Clause"];
        for (expression, wanted) in [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("mit-0", false),
            ("MIT OR GPL-3.0-only", true),
            ("GPL-3.0-only OR MIT", true),
            ("GPL-3.0-only/MIT", true),
            ("Apache-2.0 / GPL-3.0-only", false),
            ("MIT AND BSD-3-Clause", true),
            ("MIT AND GPL-3.0-only", false),
            ("GPL-3.0-only AND MIT", false),
            ("MIT OR GPL-3.0-only AND GPL-2.0-only", true),
            ("GPL-2.0-only AND GPL-3.0-only OR MIT", true),
            ("(MIT OR GPL-3.0-only) AND GPL-2.0-only", false),
            ("(GPL-3.0-only OR (MIT AND BSD-3-Clause))", true),
        ] {
            assert_eq!(satisfied(expression, &allowed), Ok(wanted), "{expression}");
        }
    }

    #[test]
    fn an_exception_is_allowed_by_its_whole_name() {
        let expression = "Apache-2.0 WITH LLVM-exception";
        assert_eq!(satisfied(expression, &["Apache-2.0"]), Ok(false));
        assert_eq!(satisfied(expression, &[expression]), Ok(true));
        assert_eq!(satisfied(&format!("{expression} OR MIT"), &["MIT"]), Ok(true));
        assert_eq!(satisfied(&format!("MIT AND {expression}"), &["MIT"]), Ok(false));
    }

    #[test]
    fn what_is_no_expression_is_an_error() {
        for wrong in ["", "MIT OR", "AND MIT", "MIT BSD-3-Clause", "(MIT", "MIT)", "()", "MIT WITH"]
        {
            assert!(satisfied(wrong, &["MIT"]).is_err(), "{wrong}");
        }
    }
}
