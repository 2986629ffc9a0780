//! Dates and times of day as logs and traces write them, to the nanosecond.

/// Nanoseconds since the first instant of 1970 of a text such as `2023-11-16 18:17:03.9799600`; a `T` may stand in the
/// middle and a `Z` at the end, and other zones are not read. `None` where it is no such text.
pub fn nanos(text: &str) -> Option<i128> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once(['T', ' '])?;
    let [year, month, day] = numbers(date, '-')?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(clock, ':')?;
    let is_fraction = (1..=9).contains(&fraction.len()) && fraction.bytes().all(|digit| digit.is_ascii_digit());
    let days = days(year, month, day)?;
    if !is_fraction || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let fraction = fraction.parse::<i128>().ok()? * 10_i128.pow(9 - fraction.len() as u32);
    Some(i128::from(((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000_000 + fraction)
}

fn numbers(text: &str, between: char) -> Option<[i64; 3]> {
    let mut parts = text.split(between);
    let mut next = || {
        let part = parts.next()?;
        let fits = (1..=4).contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_digit());
        if fits { part.parse().ok() } else { None }
    };
    let all = [next()?, next()?, next()?];
    parts.next().is_none().then_some(all)
}

/// Days since the first day of 1970, in the Gregorian calendar; years are counted from March, so that the day that leap
/// years add is their last.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    const LENGTHS: [i64; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *LENGTHS.get(usize::try_from(month - 1).ok()?)?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if day < 1 || day > length || (month == 2 && day == 29 && !is_leap) {
        return None;
    }
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let since_march = (153 * month + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // From the first of March of the year 0 to the first day of 1970 there are 719,468 days.
    Some(year * 365 + leap_days + since_march - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_instants_are_read() {
        // Unix times that are printed in many places: the billionth second, a leap day, the first instant.
        assert_eq!(nanos("2001-09-09T01:46:40Z"), Some(1_000_000_000_000_000_000));
        assert_eq!(nanos("2024-02-29 00:00:00"), Some(1_709_164_800_000_000_000));
        assert_eq!(nanos("1970-01-01 00:00:00.000000001"), Some(1));
        assert_eq!(nanos("2023-11-16 18:17:03.9799600"), Some(1_700_158_623_979_960_000));
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "2023-02-29 00:00:00",
            "2023-13-01 00:00:00",
            "2023-00-01 00:00:00",
            "2023-01-01",
            "2023-01-01 24:00:00",
            "2023-01-01 00:00:00.",
            "2023-01-01 00:00:00.0000000001",
            "2023-01-01 00:00",
            "2023-01-01 00:00:00+01:00",
            "12.5",
        ] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }
}
