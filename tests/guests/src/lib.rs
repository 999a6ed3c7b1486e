//! Plugins for the system tests. Every guest is an example of this package (`examples/`); the library holds nothing, because what two
//! guests share is the plugin SDK.
