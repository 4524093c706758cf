//! OAuth access to a server: stored tokens, their renewal, and logins by a person.

pub(crate) mod authorization_server;
pub(crate) mod bearer_challenge;
pub(crate) mod grant_renewal;
pub(crate) mod grant_store;
pub(crate) mod login_options;
pub(crate) mod login_question;
pub(crate) mod oauth_access;
pub(crate) mod oauth_exchange;
pub(crate) mod oauth_login;
pub(crate) mod token_grant;
