//! The built command as clients and terminals use it, with working and broken servers.

mod command;
mod ends;
mod http;
mod loops;
mod messages;
mod operations;
mod plain;
mod support;
