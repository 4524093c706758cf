//! Sixteen bytes that are compared at once.

/// The number of bytes that are compared at once.
pub(crate) const BLOCK: usize = 16;

#[cfg(not(target_feature = "sse2"))]
pub(crate) use portable::ByteBlock;
#[cfg(target_feature = "sse2")]
pub(crate) use sse2::ByteBlock;

/// With vector instructions that every x86-64 processor has.
#[cfg(target_feature = "sse2")]
mod sse2 {
    use safe_arch::{
        bitand_m128i, bitor_m128i, cmp_eq_mask_i8_m128i, load_unaligned_m128i, m128i,
        move_mask_i8_m128i,
    };

    use super::BLOCK;

    /// Sixteen bytes in a register.
    #[derive(Clone, Copy)]
    pub(crate) struct ByteBlock(m128i);

    impl ByteBlock {
        #[inline(always)]
        pub(crate) fn new(bytes: &[u8; BLOCK]) -> Self {
            Self(load_unaligned_m128i(bytes))
        }

        /// Returns a block in which all bits of the bytes that are equal in both are set.
        #[inline(always)]
        pub(crate) fn equal(self, other: Self) -> Self {
            Self(cmp_eq_mask_i8_m128i(self.0, other.0))
        }

        #[inline(always)]
        pub(crate) fn and(self, other: Self) -> Self {
            Self(bitand_m128i(self.0, other.0))
        }

        #[inline(always)]
        pub(crate) fn or(self, other: Self) -> Self {
            Self(bitor_m128i(self.0, other.0))
        }

        /// Returns the highest bit of each byte, that of the first byte lowest.
        #[inline(always)]
        pub(crate) fn bits(self) -> u32 {
            move_mask_i8_m128i(self.0).cast_unsigned()
        }
    }
}

/// For all other processors, in a form that compilers turn into vector instructions.
#[cfg(any(not(target_feature = "sse2"), test))]
mod portable {
    use super::BLOCK;

    /// Sixteen bytes.
    #[derive(Clone, Copy)]
    pub(crate) struct ByteBlock([u8; BLOCK]);

    impl ByteBlock {
        #[inline(always)]
        pub(crate) fn new(bytes: &[u8; BLOCK]) -> Self {
            Self(*bytes)
        }

        /// Returns a block in which all bits of the bytes that are equal in both are set.
        #[inline(always)]
        pub(crate) fn equal(self, other: Self) -> Self {
            self.each(other, |one, two| if one == two { u8::MAX } else { 0 })
        }

        #[inline(always)]
        pub(crate) fn and(self, other: Self) -> Self {
            self.each(other, |one, two| one & two)
        }

        #[inline(always)]
        pub(crate) fn or(self, other: Self) -> Self {
            self.each(other, |one, two| one | two)
        }

        /// Returns the highest bit of each byte, that of the first byte lowest.
        #[inline(always)]
        pub(crate) fn bits(self) -> u32 {
            let (halves, _) = self.0.as_chunks::<8>();
            halves.iter().rev().fold(0, |bits, half| {
                let highest = (u64::from_le_bytes(*half) >> 7) & 0x0101_0101_0101_0101;
                // The product's highest byte is the eight bits, one beside the other.
                let [eight, ..] = highest.wrapping_mul(0x0102_0408_1020_4080).to_be_bytes();
                bits << 8 | u32::from(eight)
            })
        }

        #[inline(always)]
        fn each(self, other: Self, of: impl Fn(u8, u8) -> u8) -> Self {
            let mut bytes = self.0;
            for (one, two) in bytes.iter_mut().zip(other.0) {
                *one = of(*one, two);
            }
            Self(bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_forms_give_the_same_bits(one: [u8; BLOCK], mut two: [u8; BLOCK], same: u16) {
            for (at, byte) in two.iter_mut().enumerate().filter(|(at, _)| same >> at & 1 == 1) {
                *byte = one[at];
            }
            let a = (ByteBlock::new(&one), ByteBlock::new(&two));
            let b = (portable::ByteBlock::new(&one), portable::ByteBlock::new(&two));
            let each = [
                (a.0.equal(a.1).bits(), b.0.equal(b.1).bits()),
                (a.0.and(a.1).bits(), b.0.and(b.1).bits()),
                (a.0.or(a.1).bits(), b.0.or(b.1).bits()),
            ];
            for (first, second) in each {
                prop_assert_eq!(first, second);
            }
            let equal = (0..BLOCK).filter(|at| one[*at] == two[*at]).map(|at| 1 << at).sum::<u32>();
            prop_assert_eq!(each[0].0, equal);
        }
    }
}
