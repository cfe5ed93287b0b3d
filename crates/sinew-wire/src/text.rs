//! What of a text may be shown to people.

/// Whether a character moves a cursor, ends a line or turns the direction of writing, so that a
/// name that holds it could pass for another on a terminal.
pub fn is_unshowable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061C}'
                | '\u{200E}'
                | '\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2066}'..='\u{2069}'
        )
}

/// A number with commas between thousands.
#[cfg(feature = "alloc")]
pub fn grouped(number: u64) -> alloc::string::String {
    let digits = alloc::format!("{number}");
    let mut text = alloc::string::String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    #[test]
    fn thousands_are_told_apart() {
        use super::grouped;
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }
}
