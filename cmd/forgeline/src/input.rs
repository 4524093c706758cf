//! The input and its cuts.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use clap::Args;

use crate::{
    exit::{UsageResult as _, usage},
    shown::shown_path,
};

/// Most bytes of one chunk unless a size is given.
const READ_BYTES: usize = 64 << 10;

/// The cuts of the input, as flags.
#[derive(Debug, Clone, Default, Args)]
pub struct CutArgs {
    /// Feed the input in chunks of N bytes, which may split UTF-8 characters; 0 feeds it whole
    #[arg(long, value_name = "N", conflicts_with = "chunks")]
    pub chunk_bytes: Option<usize>,
    /// Feed the input in chunks of these sizes: a JSON array of byte counts; the rest is one chunk
    #[arg(long, value_name = "SIZES.json")]
    pub chunks: Option<PathBuf>,
}

impl CutArgs {
    /// Reads the flags and the file that they name.
    ///
    /// # Errors
    ///
    /// A usage error when the file cannot be read or is not an array of sizes.
    pub fn cuts(&self) -> anyhow::Result<ChunkCuts> {
        let Some(path) = &self.chunks else {
            return Ok(self.chunk_bytes.map_or(ChunkCuts::AsRead, ChunkCuts::every));
        };
        let text = read_text(path)?;
        let sizes = serde_json::from_str(&text).usage_context(|| {
            format!("{} is not a JSON array of byte counts such as [3, 1, 12]", path.display())
        })?;
        Ok(ChunkCuts::Sizes(sizes))
    }
}

/// The cuts of the input into chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChunkCuts {
    /// One chunk for each read.
    AsRead,
    /// In one piece.
    Whole,
    /// Pieces of this size; the last may be shorter.
    Every(usize),
    /// Pieces of these sizes, then the rest in one.
    Sizes(Vec<usize>),
}

impl ChunkCuts {
    /// Returns pieces of `size` bytes; 0 means one piece.
    #[must_use]
    pub fn every(size: usize) -> Self {
        if size == 0 { Self::Whole } else { Self::Every(size) }
    }

    /// Cuts bytes that are in memory.
    #[must_use]
    pub fn apply<'a>(&self, mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let mut chunks = Vec::new();
        let sizes: &[usize] = match self {
            Self::Every(size) => return bytes.chunks(*size).collect(),
            Self::AsRead | Self::Whole => &[],
            Self::Sizes(sizes) => sizes,
        };
        for size in sizes {
            let (chunk, rest) = bytes.split_at((*size).min(bytes.len()));
            chunks.push(chunk);
            bytes = rest;
        }
        chunks.push(bytes);
        chunks
    }
}

/// Reads the input chunk by chunk.
#[derive(Debug)]
pub struct ChunkReader<R> {
    reader: R,
    cuts: ChunkCuts,
    /// The number of [`ChunkCuts::Sizes`] used.
    used: usize,
}

impl<R: Read> ChunkReader<R> {
    /// Cuts the bytes of `reader`.
    pub fn new(reader: R, cuts: ChunkCuts) -> Self {
        Self { reader, cuts, used: 0 }
    }

    /// Returns `true` when the chunks are those of the reads, to be shown at once.
    pub fn is_live(&self) -> bool {
        self.cuts == ChunkCuts::AsRead
    }

    /// Replaces `chunk` by the next one; `false` when the input is used up.
    ///
    /// # Errors
    ///
    /// When reading fails.
    pub fn next_into(&mut self, chunk: &mut Vec<u8>) -> io::Result<bool> {
        chunk.clear();
        let size = match &self.cuts {
            ChunkCuts::AsRead => return self.read_once(chunk),
            ChunkCuts::Whole => None,
            ChunkCuts::Every(size) => Some(*size),
            ChunkCuts::Sizes(sizes) => {
                let rest = sizes.get(self.used..).unwrap_or_default();
                let skipped = rest.iter().take_while(|size| **size == 0).count();
                self.used += skipped + 1;
                rest.get(skipped).copied()
            }
        };
        match size {
            Some(size) => self.reader.by_ref().take(size as u64).read_to_end(chunk)?,
            None => self.reader.read_to_end(chunk)?,
        };
        Ok(!chunk.is_empty())
    }

    fn read_once(&mut self, chunk: &mut Vec<u8>) -> io::Result<bool> {
        chunk.resize(READ_BYTES, 0);
        loop {
            match self.reader.read(chunk) {
                Ok(length) => {
                    chunk.truncate(length);
                    return Ok(length > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Opens a file, or stdin for `-`.
///
/// # Errors
///
/// A usage error when the file cannot be opened.
pub fn open(path: &Path) -> anyhow::Result<Box<dyn Read>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).usage_context(|| {
        format!("cannot read {}; give the path of a file, or - for stdin", shown_path(path))
    })?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(usage(format!("{} is a folder; give the path of a file", path.display())));
    }
    Ok(Box::new(file))
}

/// Reads a small text file that a flag names.
///
/// # Errors
///
/// A usage error when it cannot be read.
pub fn read_text(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path)
        .usage_context(|| format!("cannot read {}; give the path of a text file", shown_path(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_readers_are_cut_alike() {
        #[rustfmt::skip]
        let cases: [(&str, ChunkCuts, &[&str]); 8] = [
            ("whole",            ChunkCuts::every(0),                 &["0123456789"]),
            ("by one",           ChunkCuts::every(1),                 &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]),
            ("by four",          ChunkCuts::every(4),                 &["0123", "4567", "89"]),
            ("longer than all",  ChunkCuts::every(99),                &["0123456789"]),
            ("sizes, then rest", ChunkCuts::Sizes(vec![1, 2]),        &["0", "12", "3456789"]),
            ("exact sizes",      ChunkCuts::Sizes(vec![4, 6]),        &["0123", "456789"]),
            ("sizes beyond",     ChunkCuts::Sizes(vec![4, 60, 7]),    &["0123", "456789"]),
            ("empty sizes",      ChunkCuts::Sizes(vec![0, 3, 0, 0]),  &["012", "3456789"]),
        ];
        for (name, cuts, want) in cases {
            let bytes = b"0123456789";
            let want: Vec<&[u8]> = want.iter().map(|chunk| chunk.as_bytes()).collect();
            let mut memory = cuts.apply(bytes);
            memory.retain(|chunk| !chunk.is_empty());
            assert_eq!(memory, want, "{name}: in memory");
            let mut chunks = ChunkReader::new(&bytes[..], cuts);
            let (mut read, mut chunk) = (Vec::new(), Vec::new());
            while chunks.next_into(&mut chunk).unwrap() {
                read.push(chunk.clone());
            }
            assert_eq!(read, want, "{name}: from a reader");
        }
    }
}
