//! A program with clients of its own, before and after forgeline's first provider.

use std::error::Error;

use forgeline::llm::{Provider as _, Request, openai::OpenAi};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    #[cfg(feature = "both")]
    check_no_default()?;
    // With the feature `installed` the program must install a provider, and does so late: forgeline must not have.
    let is_first = !cfg!(feature = "installed");
    if is_first {
        drop(reqwest::Client::new());
    }
    // Nothing listens there: what matters is that TLS is configured, and that its failure is an error.
    let provider = OpenAi::builder().base_url("https://127.0.0.1:1/v1").model("m").build()?;
    let failed = provider.complete(Request::prompt("Hello.")).await;
    assert!(failed.is_err(), "nothing listens at port 1");
    #[cfg(feature = "both")]
    check_no_default()?;
    #[cfg(feature = "installed")]
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| "forgeline has installed a provider, which is for the program to do")?;
    drop(reqwest::Client::new());
    println!("a host of reqwest builds its clients before and after a provider");
    Ok(())
}

/// Checks that rustls has no default provider and cannot choose one: a client that calls its builder panics.
#[cfg(feature = "both")]
fn check_no_default() -> Result<(), Box<dyn Error>> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let built = std::panic::catch_unwind(rustls::ClientConfig::builder);
    std::panic::set_hook(hook);
    if built.is_ok() || rustls::crypto::CryptoProvider::get_default().is_some() {
        return Err("rustls has a default provider, which is for the program to install".into());
    }
    Ok(())
}
