//! Values that tools and prompt parts share.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::Arc,
};

/// One shared value of each type.
#[derive(Clone, Default)]
pub struct SharedState(Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl SharedState {
    pub(crate) fn insert<T: Any + Send + Sync>(&mut self, value: Arc<T>) {
        let mut values = (*self.0).clone();
        values.insert(TypeId::of::<T>(), value);
        self.0 = Arc::new(values);
    }

    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let value = self.0.get(&TypeId::of::<T>())?;
        Arc::clone(value).downcast().ok()
    }
}

impl fmt::Debug for SharedState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SharedState({} values)", self.0.len())
    }
}
