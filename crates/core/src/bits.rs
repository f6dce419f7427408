//! Bits in a row, the lowest of the first word first: the next one that is set, or is not, on
//! either side. By words of 64.

/// The first bit from this one on that is set, or that is not.
#[inline]
pub fn first(words: &[u64], from: u64, set: bool) -> Option<u64> {
    let begin = (from / 64) as usize;
    let wanted = |word: u64| if set { word } else { !word };
    let here = wanted(*words.get(begin)?) & (u64::MAX << (from % 64));
    let rest = words[begin + 1..].iter().map(|word| wanted(*word));
    let mut words = (begin as u64..).zip(std::iter::once(here).chain(rest));
    let (index, word) = words.find(|(_, word)| *word != 0)?;
    Some(index * 64 + u64::from(word.trailing_zeros()))
}

/// The last bit before this one that is set, or that is not.
///
/// # Panics
/// There are not so many bits.
#[inline]
pub fn last(words: &[u64], until: u64, set: bool) -> Option<u64> {
    let bit = until.checked_sub(1)?;
    let end = (bit / 64) as usize;
    let wanted = |word: u64| if set { word } else { !word };
    let here = wanted(words[end]) & (u64::MAX >> (63 - bit % 64));
    let rest = words[..end].iter().map(|word| wanted(*word)).rev();
    let mut words = (0..=end as u64)
        .rev()
        .zip(std::iter::once(here).chain(rest));
    let (index, word) = words.find(|(_, word)| *word != 0)?;
    Some(index * 64 + 63 - u64::from(word.leading_zeros()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn each_bit_finds_the_next_one_on_either_side() {
        let mut rng = Rng::stream(1, "bits");
        for _ in 0..200 {
            let words: Vec<u64> = (0..4)
                .map(|_| [0, u64::MAX, rng.bits(), 1 << rng.below(64)][rng.below(4) as usize])
                .collect();
            for set in [false, true] {
                let is = |bit: &u64| (words[(bit / 64) as usize] >> (bit % 64) & 1 == 1) == set;
                for bit in 0..=256 {
                    assert_eq!(first(&words, bit, set), (bit..256).find(is));
                    assert_eq!(last(&words, bit, set), (0..bit).rev().find(is));
                }
            }
        }
    }
}
