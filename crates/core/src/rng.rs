//! Random numbers: one seed, a stream of its own for every part.
//!
//! A stream is named (`"workload/0"`, `"oracle/1"`), so adding a part does not disturb the numbers
//! of another. The generator is pinned: xoshiro256++ (Blackman and Vigna, "Scrambled linear
//! pseudorandom number generators", ACM TOMS 47, 2021), seeded through splitmix64 as its authors
//! advise. Logarithms come from `libm`, so draws are equal on every machine.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A named stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream `name` of `seed`.
    pub fn stream(seed: u64, name: &str) -> Rng {
        let named = name
            .bytes()
            .fold(mix(seed), |hash, byte| mix(hash ^ u64::from(byte)));
        Rng(Xoshiro256PlusPlus::seed_from_u64(named))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..bound`, by multiplication (Lemire 2019) without the rejection step: the bias
    /// is below bound / 2^64.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "nothing lies below 0");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in `[0, 1)` with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / 9_007_199_254_740_992.0
    }

    /// True with the given probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Exponentially distributed with the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// Normally distributed with mean 0 and standard deviation 1 (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        normal_from_bits(self.bits(), self.bits())
    }
}

/// A standard normal deviate from 128 random bits (Box and Muller 1958, the cosine half).
pub fn normal_from_bits(first: u64, second: u64) -> f64 {
    let radius = 1.0 - (first >> 11) as f64 / 9_007_199_254_740_992.0;
    let turn = (second >> 11) as f64 / 9_007_199_254_740_992.0;
    libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(std::f64::consts::TAU * turn)
}

/// The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): a well mixed hash of 64 bits.
#[inline]
pub const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed, name| Rng::stream(seed, name).bits();
        assert_eq!(draw(1, "workload/0"), draw(1, "workload/0"));
        assert_ne!(draw(1, "workload/0"), draw(1, "workload/1"));
        assert_ne!(draw(1, "workload/0"), draw(2, "workload/0"));
    }

    #[test]
    fn the_generator_is_pinned() {
        assert_eq!(Rng::stream(42, "pinned").bits(), 5_640_594_070_023_872_920);
    }

    #[test]
    fn draws_have_their_moments() {
        let mut rng = Rng::stream(7, "moments");
        let n = 200_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || rng.unit()) - 0.5).abs() < 0.005);
        assert!((mean(&mut || rng.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!(mean(&mut || rng.normal()).abs() < 0.01);
        assert!((mean(&mut || libm::pow(rng.normal(), 2.0)) - 1.0).abs() < 0.02);
        assert!((mean(&mut || rng.below(10) as f64) - 4.5).abs() < 0.05);
    }
}
