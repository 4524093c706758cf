//! The approval of calls: policies, approvers and their verdicts.

mod approval_policy;
mod approver;
mod outside_text;
mod verdict;

pub(crate) use self::approver::{decided, heard};
pub(crate) use self::verdict::{ApprovalAnswer, ApprovalVerdict, CallGate, SessionGrant};
pub use self::{
    approval_policy::ApprovalPolicy,
    approver::{ApprovalContext, Approver, Decision},
    outside_text::OutsideText,
};
