//! The encoding of records as bytes, plain and packed.

use std::io::{Read as _, Write as _};

use bytes::Bytes;
use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};

use crate::{LogRecord, StoreError};

/// Maximum size of an unpacked chunk, in bytes.
pub(super) const MAX_CHUNK_BYTES: usize = 64 << 20;

/// Encodes records: for each, the lengths of kind and data, the kind, and the data.
pub(super) fn write(records: &[LogRecord]) -> Vec<u8> {
    let size = records.iter().map(|record| record.kind.len() + record.data.len() + 8).sum();
    let mut bytes = Vec::with_capacity(size);
    for record in records {
        for length in [record.kind.len(), record.data.len()] {
            // The limits of bodies are far below that.
            bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        }
        bytes.extend(record.kind.as_bytes());
        bytes.extend(&record.data);
    }
    bytes
}

/// Decodes the records of a chunk.
pub(super) fn read(data: Vec<u8>, is_packed: bool) -> Result<Vec<LogRecord>, StoreError> {
    let damaged = || StoreError::Corrupt { reason: "records of a log are damaged".to_owned() };
    let mut bytes = Bytes::from(if is_packed { unpack(&data).ok_or_else(damaged)? } else { data });
    let mut records = Vec::new();
    while !bytes.is_empty() {
        records.push(next(&mut bytes).ok_or_else(damaged)?);
    }
    Ok(records)
}

fn next(bytes: &mut Bytes) -> Option<LogRecord> {
    let (kind, data) = (length(bytes)?, length(bytes)?);
    let (kind, data) = (split(bytes, kind)?, split(bytes, data)?);
    Some(LogRecord::new(std::str::from_utf8(&kind).ok()?, data))
}

fn length(bytes: &mut Bytes) -> Option<usize> {
    let length = split(bytes, 4)?;
    usize::try_from(u32::from_le_bytes(length.as_ref().try_into().ok()?)).ok()
}

/// Splits bytes off the front, if there are enough.
fn split(bytes: &mut Bytes, count: usize) -> Option<Bytes> {
    (count <= bytes.len()).then(|| bytes.split_to(count))
}

/// Packs bytes. Events repeat many words, so that a tenth of the size is left.
pub(super) fn pack(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

fn unpack(data: &[u8]) -> Option<Vec<u8>> {
    let (mut bytes, most) = (Vec::new(), MAX_CHUNK_BYTES as u64);
    DeflateDecoder::new(data).take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= MAX_CHUNK_BYTES).then_some(bytes)
}
