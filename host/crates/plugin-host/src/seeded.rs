//! Random numbers that are the same in each instance, for plugins whose results must be reproducible. Not for keys: whoever knows the
//! seed knows them all.

use std::convert::Infallible;

use rand_core::TryRng;

/// A stream of numbers: the extendable output of a hash of the seed.
pub(crate) struct Seeded(blake3::OutputReader);

impl Seeded {
    /// The stream number `stream` of a seed.
    pub(crate) fn new(seed: u64, stream: u8) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"creel random numbers 1\0").update(&seed.to_le_bytes()).update(&[stream]);
        Self(hasher.finalize_xof())
    }
}

impl TryRng for Seeded {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_and_stream_decide_every_number() {
        let first = |seed, stream| Seeded::new(seed, stream).try_next_u64();
        assert_eq!(first(7, 0), first(7, 0));
        assert_ne!(first(7, 0), first(7, 1));
        assert_ne!(first(7, 0), first(8, 0));
        let mut stream = Seeded::new(7, 0);
        assert_ne!(stream.try_next_u64(), stream.try_next_u64());
    }
}
