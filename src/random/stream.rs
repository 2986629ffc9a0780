//! Keyed `SplitMix64` streams (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators"; the
//! output mix is variant 13 of Stafford). A key is 64 bits; the n-th word of a stream is `mix(key + n·γ)`, so a
//! fresh stream costs one mix and no state beyond 16 bytes.

use std::convert::Infallible;

/// The odd constant of the `SplitMix64` sequence: the golden ratio in 64 bits.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Stafford's variant 13 of the 64-bit finaliser: every input bit reaches every output bit.
#[inline]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// All the randomness of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of replicate `k`: the seed itself for 0, else a mix of both, so that neighbouring seeds share nothing.
    #[must_use]
    pub fn replicate(self, k: u64) -> Seed {
        if k == 0 { self } else { Seed(Key(mix(self.0)).with(0x7265_706C).with(k).0) }
    }

    /// The key that everything of this run's world starts from.
    pub fn key(self) -> Key {
        Key(mix(self.0.wrapping_add(GOLDEN)))
    }
}

/// What a stream is for: a chain of names and ordinals, mixed into 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    /// The key of ordinal `n` below this one.
    #[inline]
    #[must_use]
    pub const fn with(self, n: u64) -> Key {
        Key(mix(self.0 ^ n.wrapping_add(1).wrapping_mul(GOLDEN)))
    }

    /// The key of the entity or purpose called `name` below this one.
    #[must_use]
    pub fn named(self, name: &str) -> Key {
        self.with(Key::word(name))
    }

    /// The word that stands for a name in a key (FNV-1a), for those who use the same name often.
    pub fn word(name: &str) -> u64 {
        name.bytes().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3))
    }

    /// The key as a number, for digests.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The stream of this key.
    #[inline]
    pub const fn stream(self) -> Stream {
        Stream { state: self.0 }
    }

    /// The first uniform in [0, 1) of this key's stream.
    #[inline]
    pub const fn unit(self) -> f64 {
        self.stream().next_unit()
    }
}

/// An endless sequence of random words, fixed by its key.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    state: u64,
}

impl Stream {
    /// The next 64 random bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// The next uniform in [0, 1), a multiple of 2⁻⁵³.
    #[inline]
    pub const fn next_unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// The next uniform in (0, 1], for logarithms.
    #[inline]
    pub const fn next_open(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

impl rand::TryRng for Stream {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.next_u64() >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.next_u64())
    }

    fn try_fill_bytes(&mut self, to: &mut [u8]) -> Result<(), Infallible> {
        for chunk in to.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_splitmix64() {
        // Test vector: SplitMix64 from state 1234567, first three outputs, as published with the reference C code.
        let mut stream = Stream { state: 1_234_567 };
        assert_eq!(stream.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(stream.next_u64(), 3_203_168_211_198_807_973);
        assert_eq!(stream.next_u64(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn neighbouring_keys_and_seeds_share_nothing() {
        let key = Seed(1).key();
        let words: Vec<u64> = (0..1_000).map(|n| key.with(n).stream().next_u64()).collect();
        let mut sorted = words.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), words.len());
        assert_ne!(Seed(1).replicate(2), Seed(2).replicate(1));
        assert_eq!(Seed(9).replicate(0), Seed(9));
    }

    /// Pearson's χ² of pairs of words over 16 × 16 equal cells, by their highest or their lowest bits.
    fn chi_square(pairs: impl Iterator<Item = (u64, u64)>, shift: u32) -> f64 {
        let mut cells = [0_u32; 256];
        let mut count = 0.0;
        for (a, b) in pairs {
            cells[((a >> shift & 15) << 4 | (b >> shift & 15)) as usize] += 1;
            count += 1.0;
        }
        let expected = count / 256.0;
        cells.iter().map(|&n| (f64::from(n) - expected) * (f64::from(n) - expected) / expected).sum()
    }

    /// Panics unless pairs of words are uniform and independent, by their highest, middle and lowest bits.
    fn check_pairs(what: &str, pair: impl Fn(u64) -> (u64, u64)) {
        for shift in [60, 32, 11, 0] {
            let chi_square = chi_square((0..200_000).map(&pair), shift);
            // 255 degrees of freedom: 170 and 363 are exceeded with probability 10⁻⁵ each; both sides matter, for
            // words that are too even are as wrong.
            assert!((170.0..363.0).contains(&chi_square), "{what}, bits from {shift}: {chi_square}");
        }
    }

    #[test]
    fn streams_of_neighbouring_keys_are_uniform_and_independent() {
        let key = Seed(7).key().named("report");
        let word = |key: Key| key.stream().next_u64();
        check_pairs("neighbouring ordinals", |n| (word(key.with(n)), word(key.with(n + 1))));
        check_pairs("distant ordinals", |n| (word(key.with(n)), word(key.with(n + (1 << 32)))));
        check_pairs("two purposes of one entity", |n| (word(key.with(n).with(0)), word(key.with(n).with(1))));
        check_pairs("exchanged ordinals", |n| (word(key.with(n).with(n + 1)), word(key.with(n + 1).with(n))));
        check_pairs("neighbouring seeds", |n| (word(Seed(n).key()), word(Seed(n + 1).key())));
        check_pairs("replicates of one seed", |n| {
            (word(Seed(7).replicate(n).key()), word(Seed(7).replicate(n + 1).key()))
        });
        check_pairs("two words of one stream", |n| {
            let mut stream = key.with(n).stream();
            (stream.next_u64(), stream.next_u64())
        });
        check_pairs("the second word and the next stream's first", |n| {
            let mut stream = key.with(n).stream();
            stream.next_u64();
            (stream.next_u64(), word(key.with(n + 1)))
        });
    }

    #[test]
    fn one_long_stream_is_uniform_and_independent_at_every_lag() {
        let mut stream = Seed(8).key().stream();
        let words: Vec<u64> = (0..201_000).map(|_| stream.next_u64()).collect();
        for lag in [1, 2, 3, 8, 64, 1_000] {
            check_pairs(&format!("lag {lag}"), |n| (words[n as usize], words[n as usize + lag]));
        }
    }
}
