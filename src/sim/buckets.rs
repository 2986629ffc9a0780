//! Events that need no order yet, in buckets that share their memory. Each time that the clock passes a power of two,
//! nearly all events sit in a bucket that was empty until then and will be again; if each had memory of its own, most
//! of it would lie idle. So a bucket is a chain of small blocks, and an emptied block is the next one to be filled.

use super::event_queue::Entry;

/// Events in a block: large enough that following the chain costs nothing beside the events, small enough that 64
/// buckets with a block begun take little.
const BLOCK: usize = 64;

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// 64 buckets of events, each in the order in which they were added.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    // Invariant: block `b` is entries `b · BLOCK` up to the next; `next` has one link for each block, within the chain
    // of a bucket or of the free blocks.
    entries: Vec<Entry>,
    next: Vec<u32>,
    free: u32,
    chains: [Chain; 64],
    // Invariant: bit i is set where bucket i is not empty.
    occupied: u64,
}

/// One bucket's blocks, all but the last of them full.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
    len: usize,
}

impl Chain {
    const EMPTY: Chain = Chain { first: NONE, last: NONE, len: 0 };

    pub(super) const fn len(&self) -> usize {
        self.len
    }
}

impl Buckets {
    pub(super) const fn new() -> Buckets {
        Buckets { entries: Vec::new(), next: Vec::new(), free: NONE, chains: [Chain::EMPTY; 64], occupied: 0 }
    }

    pub(super) fn clear(&mut self) {
        while let Some((_, chain)) = self.take_lowest() {
            self.drain(chain, |_, _| ());
        }
    }

    /// Adds an event to bucket `bit`.
    #[inline]
    pub(super) fn push(&mut self, bit: usize, entry: Entry) {
        let place = self.chains[bit].len % BLOCK;
        if place == 0 {
            self.lengthen(bit);
        }
        let chain = &mut self.chains[bit];
        self.entries[chain.last as usize * BLOCK + place] = entry;
        chain.len += 1;
    }

    /// Adds a block to a bucket whose blocks are full.
    #[inline(never)]
    fn lengthen(&mut self, bit: usize) {
        let block = self.take_block();
        let chain = &mut self.chains[bit];
        if chain.len == 0 {
            chain.first = block;
            self.occupied |= 1 << bit;
        } else {
            self.next[chain.last as usize] = block;
        }
        chain.last = block;
    }

    fn take_block(&mut self) -> u32 {
        if self.free == NONE {
            let block = u32::try_from(self.next.len()).expect("fewer than 2^38 events are pending");
            self.entries.resize(self.entries.len() + BLOCK, Entry::default());
            self.next.push(NONE);
            return block;
        }
        let block = self.free;
        self.free = self.next[block as usize];
        block
    }

    /// Takes the lowest bucket that is not empty out, with its number; it must be drained.
    pub(super) fn take_lowest(&mut self) -> Option<(usize, Chain)> {
        if self.occupied == 0 {
            return None;
        }
        let bit = self.occupied.trailing_zeros() as usize;
        self.occupied &= self.occupied - 1;
        Some((bit, std::mem::replace(&mut self.chains[bit], Chain::EMPTY)))
    }

    /// The lowest key in a chain that was taken out; `None` where it is empty.
    pub(super) fn lowest_key(&self, chain: Chain) -> Option<u64> {
        self.blocks(chain).flatten().map(|entry| entry.key).min()
    }

    fn blocks(&self, chain: Chain) -> impl Iterator<Item = &[Entry]> {
        let mut block = chain.first as usize;
        (0..chain.len).step_by(BLOCK).map(move |done| {
            let entries = &self.entries[block * BLOCK..][..BLOCK.min(chain.len - done)];
            block = self.next[block] as usize;
            entries
        })
    }

    /// Gives each event of a chain that was taken out to `to`, which may put it into a bucket, and frees its blocks.
    #[inline]
    pub(super) fn drain(&mut self, chain: Chain, mut to: impl FnMut(&mut Buckets, Entry)) {
        let mut block = chain.first;
        for done in (0..chain.len).step_by(BLOCK) {
            let start = block as usize * BLOCK;
            for place in start..start + BLOCK.min(chain.len - done) {
                let entry = self.entries[place];
                to(self, entry);
            }
            let next = self.next[block as usize];
            self.next[block as usize] = self.free;
            self.free = block;
            block = next;
        }
    }

    /// Moves all events of the buckets below `bit` into that bucket.
    pub(super) fn merge_below(&mut self, bit: usize) {
        while (self.occupied.trailing_zeros() as usize) < bit
            && let Some((_, chain)) = self.take_lowest()
        {
            self.drain(chain, |buckets, entry| buckets.push(bit, entry));
        }
    }

    /// How many events there is memory for.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.entries.len()
    }
}
