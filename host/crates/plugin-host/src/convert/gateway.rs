//! Hooks of the gateway's life: `gateway-start`, `gateway-stop`.

use hooks::events::observed::{GatewayStart, GatewayStop};

use super::{Arena, ToRecord};
use crate::bindings::exports::creel::plugin::{gateway_start, gateway_stop};

impl<'a> ToRecord<'a> for GatewayStart {
    type Record = gateway_start::Event;

    fn to_record(&'a self, _arena: &'a Arena) -> Self::Record {
        gateway_start::Event { port: self.port }
    }
}

impl<'a> ToRecord<'a> for GatewayStop {
    type Record = gateway_stop::Event<'a>;

    fn to_record(&'a self, _arena: &'a Arena) -> Self::Record {
        gateway_stop::Event { reason: self.reason.as_deref() }
    }
}
