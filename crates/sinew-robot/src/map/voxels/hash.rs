use std::hash::{BuildHasher, Hasher, RandomState};

/// Hashes a block's key with one multiplication: a cloud asks for tens of thousands of them. The
/// factor is random, so that no cloud can be made to fall into one place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hashing {
    factor: u64,
}

/// Takes in what a key consists of.
#[derive(Debug)]
pub(super) struct KeyHasher {
    factor: u64,
    key: u64,
}

impl Default for Hashing {
    fn default() -> Self {
        Hashing { factor: RandomState::new().hash_one(0) | 1 }
    }
}

impl BuildHasher for Hashing {
    type Hasher = KeyHasher;

    fn build_hasher(&self) -> KeyHasher {
        KeyHasher { factor: self.factor, key: 0 }
    }
}

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.key = self.key.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_usize(&mut self, _: usize) {
        // All keys are of one length.
    }

    fn finish(&self) -> u64 {
        let wide = u128::from(self.key) * u128::from(self.factor);
        (wide ^ wide >> 64) as u64
    }
}
