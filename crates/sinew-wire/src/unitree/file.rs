//! Files that a robot hands out, such as a stored map.
//!
//! ```text
//! {"type":"rtc_inner_req","topic":"","data":{"req_type":"request_static_file","req_uuid":U,
//!  "related_bussiness":"uslam_final_pcd","file_md5":"null","file_path":P}}
//! {"type":"rtc_inner_req","info":{"req_type":"request_static_file","req_uuid":U,
//!  "file":{"enable_chunking":true,"chunk_index":1,"total_chunk_num":3,"data":"a slice of base64"}}}
//! ```
//!
//! Known from the library only, down to the spelling; it reads no more than a single slice.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use serde_json::Value;

use super::{Assembly, Chunk, Kind, Limits, Message, base64, json};
use crate::Result;

const REQ_TYPE: &str = "request_static_file";

/// Asks for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRequest {
    /// By which the slices find the request; the library writes `req_` and a UUID.
    pub uuid: String,
    /// What the file is for; `uslam_final_pcd` in the library.
    pub business: String,
    /// Where it is in the robot.
    pub path: String,
}

/// A slice of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSlice {
    /// The request that it answers.
    pub uuid: String,
    /// Which slice; none when it is the whole file.
    pub chunk: Option<Chunk>,
    /// A slice of the file's base64: it need not be base64 by itself.
    pub text: String,
}

/// Puts the slices of one file together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download(Assembly);

impl FileRequest {
    /// The purpose that the library gives.
    pub const MAP: &str = "uslam_final_pcd";

    /// Reads a request; none when the message is another one.
    pub fn parse(message: &Message) -> Result<Option<Self>> {
        let data = match &message.data {
            Some(data) if is_file(message, data) => data,
            _ => return Ok(None),
        };
        let text = |field: &'static str| json::text(field, data.get(field)).map(ToOwned::to_owned);
        let (uuid, business) = (text("req_uuid")?, text("related_bussiness")?);
        Ok(Some(FileRequest { uuid, business, path: text("file_path")? }))
    }

    /// The text to send.
    pub fn emit(&self) -> String {
        let [uuid, business, path] =
            [&self.uuid, &self.business, &self.path].map(|text| Value::from(text.as_str()));
        format!(
            r#"{{"type":"rtc_inner_req","topic":"","data":{{"req_type":"{REQ_TYPE}","req_uuid":{uuid},"related_bussiness":{business},"file_md5":"null","file_path":{path}}}}}"#
        )
    }
}

impl FileSlice {
    /// Reads a slice; none when the message is another one.
    pub fn parse(message: &Message) -> Result<Option<Self>> {
        let info = match &message.info {
            Some(info) if is_file(message, info) => info,
            _ => return Ok(None),
        };
        let uuid = json::text("req_uuid", info.get("req_uuid"))?.to_owned();
        json::object("file", info.get("file"))?;
        let file = &info["file"];
        let text = json::text("data", file.get("data"))?.to_owned();
        Ok(Some(FileSlice { uuid, chunk: Chunk::parse(file)?, text }))
    }

    /// The text to send.
    pub fn emit(&self) -> String {
        let [uuid, text] = [&self.uuid, &self.text].map(|text| Value::from(text.as_str()));
        let (chunked, Chunk { index, total }) = match self.chunk {
            Some(chunk) => (true, chunk),
            None => (false, Chunk { index: 1, total: 1 }),
        };
        format!(
            r#"{{"type":"rtc_inner_req","topic":"","info":{{"req_type":"{REQ_TYPE}","req_uuid":{uuid},"file":{{"enable_chunking":{chunked},"chunk_index":{index},"total_chunk_num":{total},"data":{text}}}}}}}"#
        )
    }

    /// A file cut into slices of at most `len` characters.
    pub fn cut(uuid: &str, file: &[u8], len: usize) -> Vec<FileSlice> {
        let text = base64::encode(file);
        let mut rest = text.as_str();
        let mut texts = Vec::new();
        while let Some((slice, behind)) = rest.split_at_checked(len.max(1)) {
            texts.push(slice);
            rest = behind;
        }
        if !rest.is_empty() || texts.is_empty() {
            texts.push(rest);
        }
        let total = u32::try_from(texts.len()).unwrap_or(u32::MAX);
        let slice = |(index, text): (u32, &&str)| FileSlice {
            uuid: uuid.to_owned(),
            chunk: Some(Chunk { index, total }),
            text: (*text).to_owned(),
        };
        (1..).zip(&texts).map(slice).collect()
    }
}

impl Download {
    /// With nothing yet. The limit in bytes is that of the base64.
    pub const fn new(limits: Limits) -> Self {
        Download(Assembly::new(limits))
    }

    /// Takes the next slice; with the last one the file comes out.
    pub fn push(&mut self, slice: &FileSlice) -> Result<Option<Vec<u8>>> {
        let chunk = slice.chunk.unwrap_or(Chunk { index: 1, total: 1 });
        match self.0.push(chunk, slice.text.as_bytes())? {
            Some(text) => base64::decode("file", &text).map(Some),
            None => Ok(None),
        }
    }
}

fn is_file(message: &Message, content: &Value) -> bool {
    message.kind == Kind::RtcInnerReq
        && content.get("req_type").and_then(Value::as_str) == Some(REQ_TYPE)
}
