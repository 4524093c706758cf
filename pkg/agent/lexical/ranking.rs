//! Documents ranked by the words of a query.

use std::collections::{BTreeMap, BTreeSet};

use super::words;

/// The number of occurrences of a word beyond which further ones count little.
const SATURATION: f64 = 1.2;
/// The share of a score that depends on the document's length.
const LENGTH_WEIGHT: f64 = 0.75;

/// The words of documents, which are numbered in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct WordRanking {
    /// The documents that contain each word, with the number of its occurrences.
    places: BTreeMap<Box<str>, Vec<(usize, u32)>>,
    /// The number of words of each document.
    lengths: Vec<u32>,
}

impl WordRanking {
    /// Returns a ranking of `documents`.
    pub(crate) fn new<'t>(documents: impl IntoIterator<Item = &'t str>) -> Self {
        let mut ranking = Self::default();
        for document in documents {
            ranking.add(document);
        }
        ranking
    }

    /// Adds a document, under the next number.
    fn add(&mut self, document: &str) {
        let number = self.lengths.len();
        let mut length = 0_u32;
        words::each(document, |word| {
            length = length.saturating_add(1);
            let Some(places) = self.places.get_mut(word) else {
                self.places.insert(word.into(), vec![(number, 1)]);
                return;
            };
            match places.last_mut() {
                Some((last, times)) if *last == number => *times = times.saturating_add(1),
                _ => places.push((number, 1)),
            }
        });
        self.lengths.push(length);
    }

    /// Returns the numbers and scores of at most `most` documents that contain a word of `query`,
    /// the best first; of equal scores, the earlier document comes first.
    pub(crate) fn find(&self, query: &str, most: usize) -> Vec<(usize, f64)> {
        let mut wanted = BTreeSet::new();
        words::each(query, |word| {
            wanted.insert(word.to_owned());
        });
        let mean = self.mean_length();
        let mut scores = vec![0.0; self.lengths.len()];
        for places in wanted.iter().filter_map(|word| self.places.get(word.as_str())) {
            let rarity = self.rarity(places.len());
            for (number, times) in places {
                let (Some(score), Some(length)) =
                    (scores.get_mut(*number), self.lengths.get(*number))
                else {
                    continue;
                };
                let share = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * f64::from(*length) / mean;
                let times = f64::from(*times);
                *score += rarity * times * (SATURATION + 1.0) / (times + SATURATION * share);
            }
        }
        let mut found: Vec<_> =
            scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0).collect();
        // The sort is stable: equal scores keep their order.
        found.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        found.truncate(most);
        found
    }

    /// Returns the mean length of the documents.
    fn mean_length(&self) -> f64 {
        let sum = self.lengths.iter().fold(0_u32, |sum, length| sum.saturating_add(*length));
        f64::from(sum.max(1)) / count(self.lengths.len()).max(1.0)
    }

    /// Returns the weight of a word that occurs in `holders` documents; never zero.
    fn rarity(&self, holders: usize) -> f64 {
        let (all, holders) = (count(self.lengths.len()), count(holders));
        ((all - holders + 0.5) / (holders + 0.5)).ln_1p()
    }
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The scores, by document.
    fn scores(documents: &[String], query: &str) -> BTreeMap<String, u64> {
        let ranking = WordRanking::new(documents.iter().map(String::as_str));
        let found = ranking.find(query, usize::MAX);
        found.into_iter().map(|(at, score)| (documents[at].clone(), score.to_bits())).collect()
    }

    fn document() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            Just("bridge"),
            Just("River"),
            Just("the"),
            Just("橋と川"),
            Just("мост"),
            Just("q7")
        ];
        proptest::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
    }

    proptest! {
        #[test]
        fn a_document_with_all_words_is_found_and_one_with_none_is_not(
            mut documents in proptest::collection::vec(document(), 0..12),
            at in any::<prop::sample::Index>(),
        ) {
            let at = at.index(documents.len() + 1);
            documents.insert(at, "walnut and plum".to_owned());
            let ranking = WordRanking::new(documents.iter().map(String::as_str));
            let found = ranking.find("Plum WALNUT bridge", usize::MAX);
            let holds = |number: usize| {
                number == at || documents[number].contains("bridge")
            };
            let numbers: BTreeSet<_> = found.iter().map(|(number, _)| *number).collect();
            let want: BTreeSet<_> = (0..documents.len()).filter(|it| holds(*it)).collect();
            prop_assert_eq!(numbers, want);
            prop_assert!(found.is_sorted_by(|one, other| one.1 >= other.1));
        }

        #[test]
        fn scores_do_not_depend_on_the_order_and_are_the_same_each_time(
            documents in proptest::collection::vec(document(), 0..12),
            query in document(),
        ) {
            let mut reversed = documents.clone();
            reversed.reverse();
            let mut sorted = documents.clone();
            sorted.sort();
            let want = scores(&documents, &query);
            prop_assert_eq!(&scores(&reversed, &query), &want);
            prop_assert_eq!(&scores(&sorted, &query), &want);
            prop_assert_eq!(&scores(&documents, &query), &want);
        }
    }

    #[test]
    fn rare_words_and_short_documents_count_more_and_equal_ones_keep_their_order() {
        let documents =
            ["red apple", "red pear", "red plum", "a red and very ripe plum", "red pear"];
        let ranking = WordRanking::new(documents);
        let numbers = |query, most| -> Vec<usize> {
            ranking.find(query, most).into_iter().map(|(number, _)| number).collect()
        };
        assert_eq!(numbers("red apple", 2), [0, 1]);
        assert_eq!(numbers("plum", 9), [2, 3]);
        assert_eq!(numbers("pear", 9), [1, 4]);
        assert_eq!(numbers("pear", 1), [1]);
        assert_eq!(numbers("pear pear PEAR", 9), numbers("pear", 9));
        assert_eq!(numbers("", 9), [0; 0]);
        assert_eq!(numbers("quince", 9), [0; 0]);
        assert_eq!(WordRanking::new([]).find("red", 9), []);
    }
}
