//! The plugin's settings, parsed once per instance.

use super::backend;
use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::rc::Rc;

thread_local! {
    /// Settings that were parsed before, one per type. They do not change during the life of an instance.
    static PARSED: RefCell<Vec<(TypeId, Rc<dyn Any>)>> = const { RefCell::new(Vec::new()) };
}

/// The operator's settings for this plugin (`plugins.entries.<id>.config`), after the defaults of `configSchema` were filled in and
/// the schema accepted them. Parsed at the first call and kept for the life of the instance, so a type that compiles patterns while
/// it is read does that once.
///
/// ```
/// use creel_plugin::{config, json, testing};
///
/// #[derive(serde::Deserialize)]
/// #[serde(default)]
/// struct Settings {
///     limit: u32,
/// }
/// impl Default for Settings {
///     fn default() -> Self {
///         Settings { limit: 10 }
///     }
/// }
///
/// let host = testing::Host::new().config(json!({ "limit": 3 }));
/// let limit = host.run(|| config::<Settings>().map(|settings| settings.limit))?;
/// assert_eq!(limit, 3);
/// # Ok::<(), creel_plugin::Error>(())
/// ```
///
/// # Errors
/// The settings do not have the type's shape: the schema in the manifest allows more than the type does.
pub fn config<T: DeserializeOwned + 'static>() -> Result<Rc<T>> {
    let known = PARSED.with_borrow(|parsed| {
        parsed.iter().find(|(id, _)| *id == TypeId::of::<T>()).and_then(|(_, settings)| Rc::clone(settings).downcast().ok())
    });
    if let Some(settings) = known {
        return Ok(settings);
    }
    let settings: Rc<T> = serde_json::from_str(&backend::settings())
        .map(Rc::new)
        .map_err(|error| Error::from(error).context("settings of the plugin"))?;
    PARSED.with_borrow_mut(|parsed| parsed.push((TypeId::of::<T>(), Rc::clone(&settings) as Rc<dyn Any>)));
    Ok(settings)
}

/// Forgets what was parsed: another host is about to answer.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn forget() {
    PARSED.with_borrow_mut(Vec::clear);
}
