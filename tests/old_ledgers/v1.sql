-- A ledger at version 1 as another build wrote it: its own DDL, timestamps without a fraction.

CREATE TABLE IF NOT EXISTS schema_version (
    version     INTEGER PRIMARY KEY,
    applied_at  TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (
    session_id   TEXT PRIMARY KEY,
    platform     TEXT,
    cron_job_id  TEXT,
    model        TEXT,
    provider     TEXT,
    started_at   TEXT NOT NULL,
    ended_at     TEXT,
    status       TEXT DEFAULT 'running',
    tokens_in    INTEGER DEFAULT 0,
    tokens_out   INTEGER DEFAULT 0,
    cost_usd     REAL DEFAULT 0.0,
    duration_ms  INTEGER,
    api_calls    INTEGER DEFAULT 0,
    tool_calls   INTEGER DEFAULT 0
);
CREATE TABLE IF NOT EXISTS llm_calls (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id  TEXT NOT NULL,
    ts          TEXT NOT NULL,
    model       TEXT,
    provider    TEXT,
    tokens_in   INTEGER DEFAULT 0,
    tokens_out  INTEGER DEFAULT 0,
    cost_usd    REAL DEFAULT 0.0,
    latency_ms  INTEGER
);
CREATE TABLE IF NOT EXISTS tool_calls (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id  TEXT NOT NULL,
    ts          TEXT NOT NULL,
    tool_name   TEXT NOT NULL,
    ok          INTEGER NOT NULL DEFAULT 1,
    latency_ms  INTEGER
);
CREATE INDEX IF NOT EXISTS idx_runs_started  ON runs(started_at);
CREATE INDEX IF NOT EXISTS idx_runs_platform ON runs(platform);
CREATE INDEX IF NOT EXISTS idx_runs_cron_job ON runs(cron_job_id);
CREATE INDEX IF NOT EXISTS idx_llm_session   ON llm_calls(session_id);
CREATE INDEX IF NOT EXISTS idx_llm_ts        ON llm_calls(ts);
CREATE INDEX IF NOT EXISTS idx_tool_session  ON tool_calls(session_id);
CREATE INDEX IF NOT EXISTS idx_tool_name     ON tool_calls(tool_name);

INSERT INTO schema_version VALUES (1, '2026-01-05T09:00:00+00:00');

INSERT INTO runs VALUES
    ('20260105_090100_a1b2c3', 'cli', NULL, 'claude-sonnet-4-5', 'anthropic', '2026-01-05T09:01:00+00:00', '2026-01-05T09:03:30+00:00', 'ok', 1500, 300, 0.75, 150000, 2, 1),
    ('cron_nightly_20260106_020000', 'cron', 'nightly', 'glm-4.5', 'zai', '2026-01-06T02:00:00+00:00', NULL, 'running', 10, 5, NULL, NULL, 1, 0);
INSERT INTO llm_calls (session_id, ts, model, provider, tokens_in, tokens_out, cost_usd, latency_ms) VALUES
    ('20260105_090100_a1b2c3', '2026-01-05T09:01:10+00:00', 'claude-sonnet-4-5', 'anthropic', 1000, 200, 0.5, 2100),
    ('20260105_090100_a1b2c3', '2026-01-05T09:03:20+00:00', 'claude-sonnet-4-5', 'anthropic', 500, 100, 0.25, NULL),
    ('cron_nightly_20260106_020000', '2026-01-06T02:00:07+00:00', 'glm-4.5', 'zai', 10, 5, NULL, 900);
INSERT INTO tool_calls (session_id, ts, tool_name, ok, latency_ms) VALUES
    ('20260105_090100_a1b2c3', '2026-01-05T09:02:00+00:00', 'terminal', 0, 40);
