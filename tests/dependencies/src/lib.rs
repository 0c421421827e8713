//! Selects dependencies with all of their features. The manifest explains why.

use axum as _;
use chrono as _;
use clap as _;
use futures_util as _;
use getrandom as _;
use hyper as _;
use hyper_util as _;
use memchr as _;
use regex as _;
use rmcp as _;
use rustix as _;
use schemars as _;
use serde as _;
use serde_json as _;
use sha2 as _;
use tokio as _;
use tokio_util as _;
use toml_edit as _;
use tracing as _;
use tracing_subscriber as _;
use unicode_normalization as _;
use uuid as _;
