-- Text that is sorted has the collation "C": the order of its bytes, which is the one of cursors.
CREATE TABLE IF NOT EXISTS project (
    project_id TEXT COLLATE "C" PRIMARY KEY,
    tenant     TEXT NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    name_words TEXT NOT NULL,
    _version   BIGINT NOT NULL,
    -- The foreign key of a ticket names the tenant as well: a ticket cannot refer to a project of another tenant.
    UNIQUE (tenant, project_id)
);

CREATE TABLE IF NOT EXISTS ticket (
    ticket_id   TEXT COLLATE "C" PRIMARY KEY,
    tenant      TEXT NOT NULL,
    project_id  TEXT COLLATE "C" NOT NULL,
    title       TEXT COLLATE "C" NOT NULL,
    title_words TEXT NOT NULL,
    description TEXT,
    status      TEXT NOT NULL,
    priority    SMALLINT NOT NULL,
    assignee    TEXT COLLATE "C",
    created_by  TEXT NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    _version    BIGINT NOT NULL,
    FOREIGN KEY (tenant, project_id) REFERENCES project (tenant, project_id)
);

CREATE INDEX IF NOT EXISTS ticket_by_age ON ticket (tenant, created_at, ticket_id);
CREATE INDEX IF NOT EXISTS ticket_by_project ON ticket (tenant, project_id);

-- One row for each cleanup of a project.
CREATE TABLE IF NOT EXISTS cleanup (
    tenant     TEXT NOT NULL,
    project_id TEXT NOT NULL,
    deleted    BIGINT NOT NULL,
    subject    TEXT NOT NULL,
    happened   TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- Secrets that all processes share.
CREATE TABLE IF NOT EXISTS secret (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
