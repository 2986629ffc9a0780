//! The provider's cache of prompts: inputs are lists of blocks, and those at the beginning of an input that were there
//! before are read and not computed.

use crate::units::{SimDuration, SimTime};

/// The settings of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// How many tokens a block has.
    pub block_tokens: u32,
    /// How long a block stays; `None` for ever.
    pub lifetime: Option<SimDuration>,
    /// Whether its lifetime begins anew whenever it is read.
    pub refreshed: bool,
    /// How many blocks fit in; the one that was used longest ago makes room. `None` for no end.
    pub capacity: Option<u32>,
}

/// No block.
const NONE: u32 = u32::MAX;

/// What is in the cache: an entry for each block that the traffic knows.
#[derive(Clone, Debug)]
pub struct CacheState<'a> {
    settings: &'a Cache,
    /// From when on each block counts its lifetime, plus a nanosecond; 0 for one that is not there.
    since: Vec<u64>,
    /// The neighbours of each block in the order of use, the one used later first; empty without a capacity.
    links: Vec<[u32; 2]>,
    /// The blocks used last and longest ago.
    ends: [u32; 2],
    held: u32,
}

impl<'a> CacheState<'a> {
    /// An empty cache for so many different blocks.
    pub fn new(settings: &'a Cache, blocks: usize) -> CacheState<'a> {
        let links = if settings.capacity.is_some() { vec![[NONE; 2]; blocks] } else { Vec::new() };
        CacheState { settings, since: vec![0; blocks], links, ends: [NONE; 2], held: 0 }
    }

    fn holds(&self, block: u32, now: SimTime) -> bool {
        let since = self.since[block as usize];
        let lives = |lifetime: SimDuration| now < SimTime::from_nanos(since - 1) + lifetime;
        since != 0 && self.settings.lifetime.is_none_or(lives)
    }

    /// How many tokens of an input of these blocks are read from the cache.
    pub fn read(&self, now: SimTime, blocks: &[u32], input: u32) -> u32 {
        let known = blocks.iter().take_while(|block| self.holds(**block, now)).count() as u64;
        (known * u64::from(self.settings.block_tokens)).min(u64::from(input)) as u32
    }

    /// An input of these blocks is served: they are in the cache from now on.
    pub fn store(&mut self, now: SimTime, blocks: &[u32]) {
        // The end first, so that the beginnings, which others share, are the last to go.
        for block in blocks.iter().rev() {
            let mut is_new = false;
            if self.settings.refreshed || !self.holds(*block, now) {
                let since = std::mem::replace(&mut self.since[*block as usize], now.as_nanos() + 1);
                is_new = since == 0;
            }
            if let Some(capacity) = self.settings.capacity {
                if is_new {
                    self.held += 1;
                } else {
                    self.unlink(*block);
                }
                self.link(*block);
                while self.held > capacity {
                    let oldest = self.ends[1];
                    self.unlink(oldest);
                    self.since[oldest as usize] = 0;
                    self.held -= 1;
                }
            }
        }
    }

    /// Puts a block in front.
    fn link(&mut self, block: u32) {
        let first = self.ends[0];
        self.links[block as usize] = [NONE, first];
        match first {
            NONE => self.ends[1] = block,
            first => self.links[first as usize][0] = block,
        }
        self.ends[0] = block;
    }

    /// Takes a block out of the order.
    fn unlink(&mut self, block: u32) {
        let [later, earlier] = self.links[block as usize];
        match later {
            NONE => self.ends[0] = earlier,
            later => self.links[later as usize][1] = earlier,
        }
        match earlier {
            NONE => self.ends[1] = later,
            earlier => self.links[earlier as usize][0] = later,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(n: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(n)
    }

    fn cache(lifetime: Option<u64>, refreshed: bool, capacity: Option<u32>) -> Cache {
        Cache { block_tokens: 10, lifetime: lifetime.map(SimDuration::from_secs), refreshed, capacity }
    }

    #[test]
    fn the_known_beginning_of_an_input_is_read() {
        let settings = cache(None, true, None);
        let mut state = CacheState::new(&settings, 9);
        assert_eq!(state.read(second(0), &[0, 1, 2], 25), 0);
        state.store(second(0), &[0, 1, 2]);
        assert_eq!(state.read(second(9), &[0, 1, 3, 2], 40), 20);
        assert_eq!(state.read(second(9), &[3, 0, 1], 30), 0);
        // The last block is not full.
        assert_eq!(state.read(second(9), &[0, 1, 2], 25), 25);
    }

    #[test]
    fn what_is_not_used_is_gone_at_the_end_of_its_lifetime() {
        for (refreshed, read_at_12) in [(true, 20), (false, 0)] {
            let settings = cache(Some(10), refreshed, None);
            let mut state = CacheState::new(&settings, 9);
            state.store(second(0), &[4, 5]);
            state.store(second(8), &[4, 5]);
            assert_eq!(state.read(second(12), &[4, 5], 20), read_at_12);
            assert_eq!(state.read(second(18), &[4, 5], 20), 0);
        }
    }

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let settings = cache(None, true, Some(3));
        let mut state = CacheState::new(&settings, 9);
        state.store(second(0), &[0, 1, 2]);
        // By hand: used last are 0, 3 of this input, then 1; 2 makes room, and then, for 4 and 5, 1 and 3 do.
        state.store(second(1), &[0, 3]);
        let held = |state: &CacheState<'_>| (0..9).filter(|block| state.holds(*block, second(9))).collect::<Vec<u32>>();
        assert_eq!(held(&state), [0, 1, 3]);
        state.store(second(2), &[4, 5]);
        assert_eq!(held(&state), [0, 4, 5]);
        // Of what is larger than the cache the beginning stays.
        state.store(second(3), &[8, 7, 6, 5, 4]);
        assert_eq!(held(&state), [6, 7, 8]);
    }
}
