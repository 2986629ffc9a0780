//! stub
use crate::policy::header::{HintHeader, Said};
/// stub
pub fn said(_header: HintHeader, text: &str, _now_unix_s: f64) -> Said {
    text.parse::<f64>().map_or(Said::Unreadable, |n| if n.fract() == 0.0 { Said::Whole(n) } else { Said::Fraction(n) })
}
