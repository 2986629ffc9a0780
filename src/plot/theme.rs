//! A hue is an answer of the provider, everywhere, and nothing else. Everything that is not an answer is ink or grey.
//!
//! The two themes hold the same roles; no panel knows a colour by itself. What makes them legible (contrast, and
//! distance for people who see fewer hues) is checked by the tests below, so that a new shade cannot break it quietly.

use plotters::style::RGBColor;

use crate::observe::timeline::AnswerKind;

/// One hue in its three uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hue {
    /// Areas and strips.
    pub fill: RGBColor,
    /// Text in this hue on the page and on the tints.
    pub text: RGBColor,
    /// Text that lies on the fill.
    pub on: RGBColor,
}

/// All colours of a picture, by role.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theme {
    /// Its name: `light` or `dark`.
    pub name: &'static str,
    /// 200: calm, it recedes.
    pub delivered: Hue,
    /// 429: the loudest, as live users feel it.
    pub throttled: Hue,
    /// 529 and 503.
    pub overloaded: Hue,
    /// Timeout and dropped connection.
    pub lost: Hue,
    /// Other errors.
    pub other: Hue,
    /// Workers without a job.
    pub idle: RGBColor,
    /// The band of other seeds.
    pub band: RGBColor,
    /// What is left under a limit.
    pub room: RGBColor,
    /// Behind all panels while a fault window lasts.
    pub window: RGBColor,
    /// Behind all panels while the system recovers.
    pub recovery: RGBColor,
    /// The page.
    pub page: RGBColor,
    /// A panel on the page.
    pub panel: RGBColor,
    /// First ink: titles, marks, lines.
    pub ink: RGBColor,
    /// Second ink: what explains a title.
    pub second: RGBColor,
    /// Third ink: what may be overlooked.
    pub third: RGBColor,
    /// Grid lines.
    pub grid: RGBColor,
    /// The base line of a panel, and ticks.
    pub axis: RGBColor,
    /// Controls and the cursor.
    pub control: RGBColor,
}

const fn rgb(hex: u32) -> RGBColor {
    RGBColor((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

const fn hue(fill: u32, text: u32, on: u32) -> Hue {
    Hue { fill: rgb(fill), text: rgb(text), on: rgb(on) }
}

impl Theme {
    /// Ink on white.
    pub const LIGHT: Theme = Theme {
        name: "light",
        delivered: hue(0x2F_90C0, 0x1B_6A92, 0x1B_1F24),
        throttled: hue(0xB7_0F46, 0xA6_0D3F, 0xFF_FFFF),
        overloaded: hue(0xBC_7D12, 0x7D_5300, 0x1B_1F24),
        lost: hue(0x3F_2475, 0x3F_2475, 0xFF_FFFF),
        other: hue(0x7C_848C, 0x57_606A, 0x0B_0D0F),
        idle: rgb(0xEE_F1F4),
        band: rgb(0xD3_D9DF),
        room: rgb(0xD6_E8F2),
        window: rgb(0xFB_F3E2),
        recovery: rgb(0xFB_EDF1),
        page: rgb(0xFF_FFFF),
        panel: rgb(0xF6_F8FA),
        ink: rgb(0x1B_1F24),
        second: rgb(0x57_606A),
        third: rgb(0x6A_737D),
        grid: rgb(0xE4_E8EC),
        axis: rgb(0x8C_959F),
        control: rgb(0x0B_5CAD),
    };

    /// Light ink on a dark page.
    pub const DARK: Theme = Theme {
        name: "dark",
        delivered: hue(0x62_ADDC, 0x8C_CBF2, 0x12_171D),
        throttled: hue(0xF5_325F, 0xFF_8FA8, 0x12_171D),
        overloaded: hue(0xDB_A831, 0xF3_C95A, 0x12_171D),
        lost: hue(0x9A_70EA, 0xBD_A2F5, 0x12_171D),
        other: hue(0xAE_B6BD, 0xAE_B6BD, 0x12_171D),
        idle: rgb(0x22_2A32),
        band: rgb(0x3A_444E),
        room: rgb(0x1C_3342),
        window: rgb(0x21_1E16),
        recovery: rgb(0x26_171E),
        page: rgb(0x12_171D),
        panel: rgb(0x1A_2129),
        ink: rgb(0xE6_EAEE),
        second: rgb(0xA9_B4BF),
        third: rgb(0x8B_98A5),
        grid: rgb(0x28_313A),
        axis: rgb(0x5C_6873),
        control: rgb(0x79_B8FF),
    };

    /// The hue of an answer.
    pub const fn hue(&self, kind: AnswerKind) -> Hue {
        match kind {
            AnswerKind::Delivered => self.delivered,
            AnswerKind::Throttled => self.throttled,
            AnswerKind::Overloaded => self.overloaded,
            AnswerKind::Lost => self.lost,
            AnswerKind::Other => self.other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::math::pow;

    const THEMES: [Theme; 2] = [Theme::LIGHT, Theme::DARK];

    /// Linear light of each channel (IEC 61966-2-1).
    fn linear(color: RGBColor) -> [f64; 3] {
        [color.0, color.1, color.2].map(|channel| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { pow((c + 0.055) / 1.055, 2.4) }
        })
    }

    fn times(matrix: [[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
    }

    /// The contrast ratio of WCAG 2.
    fn contrast(a: RGBColor, b: RGBColor) -> f64 {
        let luminance = |color| {
            let [r, g, b] = linear(color);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// CIELAB under D65.
    fn lab(linear: [f64; 3]) -> [f64; 3] {
        const TO_XYZ: [[f64; 3]; 3] = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
        let [x, y, z] = times(TO_XYZ, linear.map(|c| c.clamp(0.0, 1.0)));
        let f = |t: f64| if t > 216.0 / 24389.0 { pow(t, 1.0 / 3.0) } else { (24389.0 / 27.0 * t + 16.0) / 116.0 };
        let (x, y, z) = (f(x / 0.95047), f(y), f(z / 1.08883));
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// The CIE76 distance of two colours as seen through a simulation of a colour vision deficiency.
    fn distance(sight: [[f64; 3]; 3], a: RGBColor, b: RGBColor) -> f64 {
        let (a, b) = (lab(times(sight, linear(a))), lab(times(sight, linear(b))));
        let squares: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        squares.sqrt()
    }

    /// Full deuteranopia, protanopia and tritanopia in linear light: Machado, Oliveira and Fernandes (2009), table for
    /// severity 1.0.
    const SIGHTS: [(&str, [[f64; 3]; 3]); 3] = [
        (
            "deuteranopia",
            [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
        ),
        (
            "protanopia",
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        ),
    ];

    #[test]
    fn fills_stand_out_from_the_page_and_its_tints() {
        for theme in THEMES {
            for kind in AnswerKind::ALL {
                for ground in [theme.page, theme.window, theme.recovery] {
                    let ratio = contrast(theme.hue(kind).fill, ground);
                    assert!(ratio >= 3.0, "{} {kind:?}: {ratio:.2} on {ground:?}", theme.name);
                }
            }
        }
    }

    #[test]
    fn text_is_legible_on_every_ground_it_is_put_on() {
        for theme in THEMES {
            let grounds = [theme.page, theme.window, theme.recovery];
            let hues = AnswerKind::ALL.map(|kind| theme.hue(kind));
            let on_page = hues.iter().map(|hue| hue.text).chain([theme.ink, theme.second]);
            for text in on_page {
                for ground in grounds {
                    let ratio = contrast(text, ground);
                    assert!(ratio >= 4.5, "{}: {text:?} on {ground:?} has {ratio:.2}", theme.name);
                }
            }
            assert!(contrast(theme.third, theme.page) >= 4.5);
            for hue in hues {
                let ratio = contrast(hue.on, hue.fill);
                assert!(ratio >= 4.5, "{}: {:?} on {:?} has {ratio:.2}", theme.name, hue.on, hue.fill);
            }
            for ground in [theme.idle, theme.band, theme.room] {
                assert!(contrast(theme.ink, ground) >= 4.5);
                assert!(contrast(theme.throttled.text, ground) >= 4.5);
            }
        }
    }

    #[test]
    fn answers_stay_apart_for_people_who_see_fewer_hues() {
        let loud = [AnswerKind::Delivered, AnswerKind::Throttled, AnswerKind::Overloaded];
        for theme in THEMES {
            for (sight, matrix) in SIGHTS {
                for (i, a) in AnswerKind::ALL.into_iter().enumerate() {
                    for b in AnswerKind::ALL.into_iter().skip(i + 1) {
                        let apart = distance(matrix, theme.hue(a).fill, theme.hue(b).fill);
                        let least = if loud.contains(&a) && loud.contains(&b) { 35.0 } else { 22.0 };
                        assert!(apart >= least, "{} {sight}: {a:?} and {b:?} are {apart:.1} apart", theme.name);
                    }
                }
            }
        }
    }

    #[test]
    fn black_on_white_has_the_contrast_and_the_lightness_of_theory() {
        // WCAG 2 gives 21:1; CIELAB gives lightness 0 and 100.
        assert!((contrast(rgb(0), rgb(0xFF_FFFF)) - 21.0).abs() < 1e-9);
        let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        assert!((distance(identity, rgb(0), rgb(0xFF_FFFF)) - 100.0).abs() < 0.1);
    }
}
