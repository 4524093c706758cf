//! The table of encrypted secrets in memory.

use std::collections::BTreeMap;

use crate::SecretRow;
use forgeline_types::Text;

/// Rows by container and name.
pub(super) type SecretTable = BTreeMap<(Text, Text), SecretRow>;
