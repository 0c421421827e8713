"""Generates two small packages with the same fifty operations: one uses mcp-aql, one plain rmcp.

They are outside the workspace, so that each has exactly its own features, and use the workspace's lock file, so that
both have the same versions.
"""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "bench" / "src" / "records"

MANIFEST = """\
[package]
name = "records-{side}"
version = "0.0.0"
edition = "2024"

[dependencies]
{framework}
serde = {{ version = "1", features = ["derive"] }}
serde_json = "1"
schemars = "1"
tokio = {{ version = "1", default-features = false, features = ["rt-multi-thread", "macros"] }}

[workspace]
"""
FRAMEWORKS = {
    "ours": f'mcp-aql = {{ path = "{ROOT / "mcp-aql"}" }}',
    "peer": 'rmcp = { version = "3.9", default-features = false, '
            'features = ["server", "macros", "transport-io"] }',
}
MODULES = {"ours": "aql", "peer": "rmcp"}
MAINS = {
    "ours": """\
mod records;

use mcp_aql::prelude::*;

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    records::aql::adapter()?.run().await
}
""",
    "peer": """\
mod records;

use rmcp::ServiceExt as _;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = records::rmcp::Records::server();
    server.serve(rmcp::transport::stdio_pipes()).await?.waiting().await?;
    Ok(())
}
""",
}


def make(folder, side):
    """Writes the package of a side into a folder, which may exist already."""
    module = MODULES[side]
    records = folder / "src" / "records"
    records.mkdir(parents=True, exist_ok=True)
    framework = FRAMEWORKS[side]
    (folder / "Cargo.toml").write_text(MANIFEST.format(side=side, framework=framework))
    shutil.copy(ROOT / "Cargo.lock", folder)
    (folder / "src" / "main.rs").write_text(MAINS[side])
    (records / "mod.rs").write_text(f"mod kinds;\n\npub mod {module};\npub mod store;\n")
    for name in ("kinds", "store", module):
        shutil.copy(RECORDS / f"{name}.rs", records)
    return folder
