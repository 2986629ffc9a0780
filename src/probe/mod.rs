//! A probe holds a client against answers of one's choice: no traffic, no provider, only what the client makes of what
//! comes back.

pub mod header;
