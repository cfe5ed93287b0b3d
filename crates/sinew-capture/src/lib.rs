//! Captures to flows, messages and statistics: what is in the traffic, and how that is known.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`read`] | files and pipes to packets: pcap, pcapng, a serial tap's log, serial dumps, also packed |
//! | [`net`] | packets to payloads: links, VLAN, IP, fragments, UDP, TCP |
//! | [`Analysis`] | payloads to flows, commands and verdicts |
//! | [`Filter`] | which of them are looked at |
//! | [`report`] | what it amounts to, for people and for programs |
//! | [`diff`] | what two captures differ in |
//! | [`mod@write`] | logs of a tap: rows of CSV, blocks of pcapng |
//!
//! Everything works on a stream, in memory that does not grow with it: buffers, flows, rows of
//! commands and pieces of datagrams have limits, and what is beyond a limit is counted. No input makes
//! it panic or allocate by a length that the input declares.

#![deny(clippy::disallowed_methods)]

mod analysis;
pub mod diff;
mod dissector;
mod entry;
mod filter;
mod flows;
mod fragment;
mod html;
mod identify;
mod line;
mod message;
pub mod net;
mod profile;
pub mod read;
pub mod report;
mod settle;
mod sight;
mod stream;
mod tally;
mod timeline;
mod verdict;
mod why;
pub mod write;

pub use analysis::Analysis;
pub use diff::Diff;
pub use dissector::dissector;
pub use filter::{Error as FilterError, Filter};
pub use flows::MAX_FLOWS;
pub use fragment::Fragments;
pub use html::Page;
pub use identify::Protocol;
pub use line::{Line, Piece};
pub use profile::Profile;
pub use read::{Capture, End, Error, Format};
pub use report::Report;
pub use sight::Sight;
pub use stream::{Facts, Order};
pub use timeline::Timeline;
pub use verdict::{Kind, Verdict};
