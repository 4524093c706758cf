//! The host names that a server refers to, and the addresses that they resolve to.
//!
//! The owner of a name can give it any address, including one of this machine or of its network. The addresses are therefore checked when a connection is
//! made, and none that is nearer than the server itself is connected to.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};
use tokio::{net::lookup_host, sync::OnceCell};

use super::address_reach::{AddressReach, ip_reach, reach};
use forgeline_llm::transport::{
    HttpRequest, ReqwestTransport, Transport, TransportError, TransportFuture,
};

/// Maximum number of names distinguished from those of proxies; beyond it, all names are checked.
const MAX_NAMES: usize = 256;

/// A function that resolves a name.
type LookupFn = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// The addresses to which host names resolve, for the requests related to one server.
pub(crate) struct HostNames {
    server: Url,
    find: LookupFn,
    /// The reach of the server, which is determined once, so that it cannot become smaller later.
    floor: OnceCell<AddressReach>,
    /// The names to which requests go; others, such as that of a proxy, are configured by the user.
    asked: Mutex<BTreeSet<String>>,
}

impl HostNames {
    fn new(server: Url, find: LookupFn) -> Self {
        Self { server, find, floor: OnceCell::new(), asked: Mutex::default() }
    }

    /// Returns the reach of the server; if its name does not resolve, the widest reach.
    async fn floor(&self) -> AddressReach {
        let found = self.floor.get_or_init(|| async {
            let written = reach(&self.server);
            let Some(name) = self.server.domain().filter(|_| written == AddressReach::Public)
            else {
                return written;
            };
            let found = (self.find)(name.to_owned()).await.unwrap_or_default();
            found.into_iter().map(ip_reach).min().unwrap_or(AddressReach::Public)
        });
        *found.await
    }

    /// Returns the addresses of a name to which connections are allowed.
    ///
    /// # Errors
    ///
    /// Returns an error when the name is not found, or all of its addresses reach less far than the server.
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut found = (self.find)(name.to_owned()).await?;
        if self.is_asked(name) {
            let floor = self.floor().await;
            let nearest = found.iter().copied().map(ip_reach).min();
            found.retain(|address| ip_reach(*address) >= floor);
            if let (true, Some(nearest)) = (found.is_empty(), nearest) {
                let place = nearest.place();
                let message = format!("`{name}` resolves to {place}, but the server is elsewhere");
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
            }
        }
        Ok(found)
    }

    fn is_asked(&self, name: &str) -> bool {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.len() >= MAX_NAMES || asked.contains(name)
    }

    fn ask(&self, name: &str) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len() < MAX_NAMES {
            asked.insert(name.to_owned());
        }
    }

    /// Records a name to which a request goes, and checks that it is allowed.
    async fn check(&self, url: &str) -> Result<(), TransportError> {
        let url: Option<Url> = url.parse().ok();
        let Some(name) = url.as_ref().and_then(Url::domain) else { return Ok(()) };
        self.ask(name);
        match self.addresses(name).await {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(TransportError::refused(error.to_string()))
            }
            // A proxy may know a name that cannot be resolved here.
            _ => Ok(()),
        }
    }
}

/// The resolver of a client's connections.
struct GuardedResolver(Arc<HostNames>);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let names = Arc::clone(&self.0);
        Box::pin(async move {
            let found = names.addresses(name.as_str()).await?;
            // The request provides the port.
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// The transport for requests to hosts that a server names.
struct GuardedTransport<T> {
    inner: Arc<T>,
    names: Arc<HostNames>,
}

impl<T: Transport + 'static> Transport for GuardedTransport<T> {
    fn send(&self, request: HttpRequest) -> TransportFuture {
        let (inner, names) = (Arc::clone(&self.inner), Arc::clone(&self.names));
        async move {
            names.check(&request.url).await?;
            inner.send(request).await
        }
        .boxed()
    }
}

/// Returns a transport for requests to hosts that this server names, which does not connect to an address that reaches less far than the server.
///
/// # Errors
///
/// Returns an error when the HTTP client cannot be built.
pub(crate) fn guarded_transport(
    server: Url,
    connect_timeout: Duration,
) -> Result<impl Transport + 'static, TransportError> {
    let find: LookupFn = Arc::new(|name| {
        async move { Ok(lookup_host((name, 0)).await?.map(|found| found.ip()).collect()) }.boxed()
    });
    let names = Arc::new(HostNames::new(server, find));
    let resolver = Arc::new(GuardedResolver(Arc::clone(&names)));
    let inner = Arc::new(ReqwestTransport::with_resolver(connect_timeout, resolver)?);
    Ok(GuardedTransport { inner, names })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// The addresses of names; one that is asked again has its next address, as its owner likes.
    fn names(server: &str, has: &'static [(&str, &[&str])]) -> Arc<HostNames> {
        let times = AtomicUsize::new(0);
        let find: LookupFn = Arc::new(move |name| {
            let of = has.iter().find(|(it, _)| *it == name).map(|(_, all)| *all);
            let Some(all) = of else {
                return std::future::ready(Err(io::ErrorKind::NotFound.into())).boxed();
            };
            let time =
                if name.starts_with("turns") { times.fetch_add(1, Ordering::SeqCst) } else { 0 };
            let texts = all.get(time.min(all.len() - 1)).copied().unwrap_or_default();
            let found = texts.split(' ').map(|text| text.parse().unwrap()).collect();
            std::future::ready(Ok(found)).boxed()
        });
        Arc::new(HostNames::new(server.parse().unwrap(), find))
    }

    const HAS: &[(&str, &[&str])] = &[
        ("mcp.example", &["203.0.113.1"]),
        ("mcp.corp", &["10.0.0.5"]),
        ("auth.example", &["203.0.113.9 2001:db8::9"]),
        ("here.example", &["127.0.0.1"]),
        ("here6.example", &["::ffff:127.0.0.1"]),
        ("cloud.example", &["169.254.169.254"]),
        ("inside.example", &["192.168.7.7"]),
        ("both.example", &["10.0.0.1 203.0.113.7"]),
        ("turns.example", &["203.0.113.8", "127.0.0.1"]),
    ];

    #[tokio::test]
    async fn a_name_that_leads_nearer_than_the_server_is_not_connected_to() {
        #[rustfmt::skip]
        let cases = [
            ("https://mcp.example/mcp", "auth.example",   Ok(2)),
            ("https://mcp.example/mcp", "here.example",   Err("this machine")),
            ("https://mcp.example/mcp", "here6.example",  Err("this machine")),
            ("https://mcp.example/mcp", "cloud.example",  Err("the link of this machine")),
            ("https://mcp.example/mcp", "inside.example", Err("a private network")),
            ("https://mcp.example/mcp", "both.example",   Ok(1)),
            ("https://none.example/",   "inside.example", Err("a private network")),
            // A server on the same machine or network may name addresses on it.
            ("https://mcp.corp/mcp",    "inside.example", Ok(1)),
            ("https://mcp.corp/mcp",    "cloud.example",  Err("the link of this machine")),
            ("https://10.0.0.5/mcp",    "inside.example", Ok(1)),
            ("http://localhost:9/mcp",  "here.example",   Ok(1)),
        ];
        for (server, name, want) in cases {
            let names = names(server, HAS);
            let url = format!("https://{name}/token");
            let checked = names.check(&url).await.map_err(|error| error.to_string());
            match want {
                Ok(count) => {
                    assert_eq!(checked, Ok(()), "{server} {name}");
                    assert_eq!(names.addresses(name).await.unwrap().len(), count);
                }
                Err(place) => {
                    let want = format!("`{name}` resolves to {place}, but the server is elsewhere");
                    let error = checked.unwrap_err();
                    assert!(error.contains(&want), "{server}: {error}");
                }
            }
        }
    }

    #[tokio::test]
    async fn a_name_that_turns_to_this_machine_behind_the_check_is_not_connected_to() {
        let names = names("https://mcp.example/mcp", HAS);
        names.check("https://turns.example/token").await.unwrap();
        let resolver = GuardedResolver(Arc::clone(&names));
        let found = resolver.resolve("turns.example".parse().unwrap()).await;
        let error = found.map(Iterator::count).unwrap_err().to_string();
        assert!(error.contains("resolves to this machine"), "{error}");
    }

    #[tokio::test]
    async fn a_proxy_of_the_user_s_own_may_be_near() {
        let names = names("https://mcp.example/mcp", HAS);
        names.check("https://auth.example/token").await.unwrap();
        // What is not found here may be found by the proxy.
        names.check("https://not-found.example/token").await.unwrap();
        assert_eq!(names.addresses("inside.example").await.unwrap().len(), 1);
    }
}
