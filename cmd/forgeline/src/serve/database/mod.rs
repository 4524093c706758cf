//! The place where the service stores what it keeps.

mod file;
mod place;
#[cfg(feature = "postgres")]
mod postgres;
mod postgres_url;

use forgeline::{
    server::ServiceBuilder,
    store::{EraseMode, Erased, Stores},
};

use self::file::FileDatabase;
#[cfg(feature = "postgres")]
use self::postgres::SharedDatabase;
pub(super) use self::{
    place::{DeltaMode, PASSWORD, PostgresFlags, StorePlace},
    postgres_url::PostgresUrl,
};

/// An open store of the service.
#[derive(Debug, Clone)]
pub(super) enum OpenDatabase {
    Memory,
    File(FileDatabase),
    #[cfg(feature = "postgres")]
    Shared(SharedDatabase),
}

impl OpenDatabase {
    /// Opens the store at a place.
    ///
    /// # Errors
    ///
    /// A usage error for a database that cannot be used.
    pub(super) async fn open(place: &StorePlace) -> anyhow::Result<Self> {
        Ok(match place {
            StorePlace::Memory => Self::Memory,
            StorePlace::File(options) => Self::File(FileDatabase::open(options.clone()).await?),
            #[cfg(feature = "postgres")]
            StorePlace::Postgres(place) => Self::Shared(SharedDatabase::open(place).await?),
        })
    }

    /// Returns the stores.
    pub(super) fn stores(&self) -> Stores {
        match self {
            Self::Memory => Stores::in_memory(),
            Self::File(file) => file.stores(),
            #[cfg(feature = "postgres")]
            Self::Shared(shared) => shared.stores(),
        }
    }

    /// Adds the checks of the store that the service does not make by itself.
    pub(super) fn described(&self, builder: ServiceBuilder) -> ServiceBuilder {
        match self {
            Self::Memory | Self::File(_) => builder,
            #[cfg(feature = "postgres")]
            Self::Shared(shared) => shared.described(builder),
        }
    }

    /// Erases the data of an owner, and as far as possible what is left of it in free space.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub(super) async fn erase(
        &self,
        scope: String,
        owner: &str,
        mode: EraseMode,
    ) -> anyhow::Result<Erased> {
        let erased = self.stores().erase(scope, owner, mode).await;
        if let (Self::File(file), Ok(_), false) = (self, &erased, mode == EraseMode::Count) {
            file.compact().await?;
        }
        Ok(erased?)
    }

    /// Closes the store.
    pub(super) async fn close(&self) {
        match self {
            Self::Memory => {}
            Self::File(file) => file.close().await,
            #[cfg(feature = "postgres")]
            Self::Shared(shared) => shared.close(),
        }
    }
}

/// Looks at the store at a place without changing anything; returns a line about it, if there is something to say.
///
/// # Errors
///
/// A usage error for a database that cannot be used.
pub(super) async fn look(place: &StorePlace) -> anyhow::Result<Option<String>> {
    match place {
        StorePlace::Memory => Ok(None),
        StorePlace::File(options) => file::look(&options.path).await.map(|()| None),
        #[cfg(feature = "postgres")]
        StorePlace::Postgres(place) => postgres::look(place).await.map(Some),
    }
}
