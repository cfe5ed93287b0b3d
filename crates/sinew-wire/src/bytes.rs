//! A reader and a writer that cannot run off the end.

use crate::{Error, Result, Wanted};

/// Reads fields one after the other; a field that is not there is an error that names it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes }
    }

    pub(crate) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N]> {
        self.array_ref(field).copied()
    }

    pub(crate) fn array_ref<const N: usize>(&mut self, field: &'static str) -> Result<&'a [u8; N]> {
        match self.bytes.split_first_chunk::<N>() {
            Some((head, rest)) => {
                self.bytes = rest;
                Ok(head)
            }
            None => Err(Error::count(field, Wanted::AtLeast(N as u64), self.bytes.len())),
        }
    }

    pub(crate) fn take(&mut self, field: &'static str, count: usize) -> Result<&'a [u8]> {
        match self.bytes.split_at_checked(count) {
            Some((head, rest)) => {
                self.bytes = rest;
                Ok(head)
            }
            None => Err(Error::count(field, Wanted::AtLeast(count as u64), self.bytes.len())),
        }
    }

    pub(crate) fn u16_be(&mut self, field: &'static str) -> Result<u16> {
        self.array(field).map(u16::from_be_bytes)
    }

    pub(crate) fn u32_be(&mut self, field: &'static str) -> Result<u32> {
        self.array(field).map(u32::from_be_bytes)
    }

    pub(crate) fn u32_le(&mut self, field: &'static str) -> Result<u32> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(crate) fn f32s_be<const N: usize>(&mut self, field: &'static str) -> Result<[f32; N]> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = f32::from_be_bytes(self.array(field)?);
        }
        Ok(values)
    }

    /// What has not been read.
    pub(crate) const fn rest(self) -> &'a [u8] {
        self.bytes
    }
}

/// Fills a buffer from the front. What does not fit is refused as a whole.
#[derive(Debug)]
pub(crate) struct Writer<'b> {
    buffer: &'b mut [u8],
    len: usize,
}

impl<'b> Writer<'b> {
    pub(crate) const fn new(buffer: &'b mut [u8]) -> Self {
        Writer { buffer, len: 0 }
    }

    pub(crate) fn put(&mut self, field: &'static str, data: &[u8]) -> Result<()> {
        let free = self.buffer.get_mut(self.len..).unwrap_or_default();
        match free.split_at_mut_checked(data.len()) {
            Some((room, _)) => {
                room.copy_from_slice(data);
                self.len += data.len();
                Ok(())
            }
            None => Err(Error::count(field, Wanted::AtMost(free.len() as u64), data.len())),
        }
    }

    pub(crate) fn f32s_be(&mut self, field: &'static str, values: &[f32]) -> Result<()> {
        values.iter().try_for_each(|value| self.put(field, &value.to_be_bytes()))
    }

    /// Writes zeros until `len` bytes stand.
    pub(crate) fn pad(&mut self, field: &'static str, len: usize) -> Result<()> {
        while self.len < len {
            self.put(field, &[0])?;
        }
        Ok(())
    }

    /// What has been written.
    pub(crate) fn written(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }
}
