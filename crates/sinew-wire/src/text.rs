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
