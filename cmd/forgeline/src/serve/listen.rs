//! The address of the service.

use std::{
    io::{self, Write as _},
    net::SocketAddr,
};

use tokio::net::TcpListener;

use crate::exit::{UsageResult as _, usage};

/// The address at which the service may listen.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListenAddress(SocketAddr);

impl ListenAddress {
    /// Checks an address.
    ///
    /// # Errors
    ///
    /// A usage error for an address that other machines reach, when there are no tokens.
    pub(super) fn at(address: SocketAddr, has_tokens: bool) -> anyhow::Result<Self> {
        if !has_tokens && !address.ip().to_canonical().is_loopback() {
            return Err(usage(format!(
                "other machines can reach the address {address}, and no tokens are set; give --tokens FILE, or listen on 127.0.0.1"
            )));
        }
        Ok(Self(address))
    }

    /// Begins to listen.
    ///
    /// # Errors
    ///
    /// A usage error when the system refuses the address.
    pub(super) async fn open(self) -> anyhow::Result<TcpListener> {
        let Self(address) = self;
        let advice = || {
            format!(
                "cannot listen on {address}; name another address with --listen, or use port 0 for any free port"
            )
        };
        TcpListener::bind(address).await.usage_context(advice)
    }
}

/// Prints the address as a link, with a token that the console takes from it. Browsers send this part of an address to no one.
pub(super) fn announce(address: SocketAddr, token: Option<&str>) -> io::Result<()> {
    let mut stdout = anstream::stdout().lock();
    let token = token.map(|token| format!("#token={token}")).unwrap_or_default();
    writeln!(stdout, "forgeline serves at http://{address}/{token}")?;
    stdout.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tokens_only_addresses_of_this_machine_are_listened_on() {
        for own in ["127.0.0.1:0", "127.9.9.9:80", "[::1]:8787", "[::ffff:127.0.0.1]:1"] {
            assert!(ListenAddress::at(own.parse().unwrap(), false).is_ok(), "{own}");
        }
        for reached in ["0.0.0.0:8787", "[::]:8787", "192.168.0.1:80", "[::ffff:10.0.0.1]:1"] {
            let error = ListenAddress::at(reached.parse().unwrap(), false).unwrap_err().to_string();
            assert!(error.contains(reached) && error.contains("--tokens"), "{error}");
            assert!(ListenAddress::at(reached.parse().unwrap(), true).is_ok(), "{reached}");
        }
    }
}
