//! The families of models known to the library, with one entry each.

mod ai2;
mod ai21;
mod alibaba;
mod baidu;
mod bytedance;
mod china_telecom;
mod cohere;
mod common;
mod deepseek;
mod family;
mod google;
mod huawei;
mod hugind;
mod ibm;
mod inkling;
mod iquest;
mod list;
mod llm360;
mod meituan;
mod meta;
mod microsoft;
mod minimax;
mod miromind;
mod mistral;
mod moonshot;
mod muse;
mod naver;
mod nous;
mod nvidia;
mod openai;
mod openbmb;
mod poolside;
mod preferred_networks;
mod prelude;
mod results;
mod rwkv;
mod salesforce;
mod sb_intuitions;
mod sber;
mod servicenow;
mod shanghai_ai_lab;
mod shared;
mod stepfun;
mod swiss_ai;
mod tencent;
#[cfg(test)]
pub(super) mod tests;
mod upstage;
mod xiaohongshu;
mod zhipu;

pub(super) use family::FamilyModels;
pub(crate) use list::by_tools;
pub(super) use list::{
    THINKING_COUNT, TOOL_COUNT, all, auto_thinking, auto_tools, auto_turn_ends, strays, thinking,
    tools, turn_ends,
};
pub use results::ResultForm;
