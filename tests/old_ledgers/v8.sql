-- A ledger at version 8 as another build wrote it: made at version 1, upgraded column by column.

CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL);
CREATE TABLE runs (session_id TEXT PRIMARY KEY, platform TEXT, cron_job_id TEXT, model TEXT, provider TEXT, started_at TEXT NOT NULL, ended_at TEXT, status TEXT DEFAULT 'running', tokens_in INTEGER DEFAULT 0, tokens_out INTEGER DEFAULT 0, cost_usd REAL DEFAULT 0.0, duration_ms INTEGER, api_calls INTEGER DEFAULT 0, tool_calls INTEGER DEFAULT 0);
CREATE TABLE llm_calls (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, ts TEXT NOT NULL, model TEXT, provider TEXT, tokens_in INTEGER DEFAULT 0, tokens_out INTEGER DEFAULT 0, cost_usd REAL DEFAULT 0.0, latency_ms INTEGER);
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, ts TEXT NOT NULL, tool_name TEXT NOT NULL, ok INTEGER NOT NULL DEFAULT 1, latency_ms INTEGER);
CREATE INDEX idx_runs_started ON runs(started_at);
CREATE INDEX idx_runs_platform ON runs(platform);
CREATE INDEX idx_runs_cron_job ON runs(cron_job_id);
CREATE INDEX idx_llm_session ON llm_calls(session_id);
CREATE INDEX idx_llm_ts ON llm_calls(ts);
CREATE INDEX idx_tool_session ON tool_calls(session_id);
CREATE INDEX idx_tool_name ON tool_calls(tool_name);

ALTER TABLE llm_calls ADD COLUMN cache_read_tokens INTEGER DEFAULT 0;
ALTER TABLE llm_calls ADD COLUMN cache_write_tokens INTEGER DEFAULT 0;
ALTER TABLE llm_calls ADD COLUMN reasoning_tokens INTEGER DEFAULT 0;
ALTER TABLE llm_calls ADD COLUMN estimated INTEGER DEFAULT 0;
ALTER TABLE runs ADD COLUMN parent_session_id TEXT;
ALTER TABLE runs ADD COLUMN estimated_llm_calls INTEGER DEFAULT 0;
ALTER TABLE runs ADD COLUMN sender_id TEXT;
CREATE INDEX idx_runs_sender ON runs(sender_id);
CREATE TABLE budget_alerts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    scope_id TEXT NOT NULL DEFAULT '',
    window TEXT NOT NULL,
    period_key TEXT NOT NULL,
    level TEXT NOT NULL,
    fired_at TEXT NOT NULL,
    spent_usd REAL,
    limit_usd REAL,
    UNIQUE(scope, scope_id, window, period_key, level)
);
ALTER TABLE runs ADD COLUMN cache_read_tokens INTEGER DEFAULT 0;
ALTER TABLE runs ADD COLUMN cache_write_tokens INTEGER DEFAULT 0;
CREATE TABLE known_free_models (
    model TEXT NOT NULL,
    provider TEXT NOT NULL DEFAULT '',
    first_seen_at TEXT NOT NULL,
    PRIMARY KEY (model, provider)
);
CREATE TABLE free_paid_transitions (
    model TEXT NOT NULL,
    provider TEXT NOT NULL DEFAULT '',
    detected_at TEXT NOT NULL,
    session_id TEXT,
    first_paid_cost_usd REAL NOT NULL DEFAULT 0.0,
    first_free_seen_at TEXT,
    PRIMARY KEY (model, provider)
);
CREATE INDEX idx_free_paid_detected ON free_paid_transitions(detected_at);
ALTER TABLE llm_calls ADD COLUMN provider_assumed INTEGER DEFAULT 0;
ALTER TABLE runs ADD COLUMN provider_assumed_calls INTEGER DEFAULT 0;
CREATE TABLE model_unavailable_alerts (
    model TEXT NOT NULL,
    provider TEXT NOT NULL DEFAULT '',
    error_code INTEGER NOT NULL,
    error_message TEXT,
    first_seen_at TEXT NOT NULL,
    last_seen_at TEXT NOT NULL,
    occurrences INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (model, provider)
);
CREATE INDEX idx_model_unavailable_last_seen ON model_unavailable_alerts(last_seen_at);

INSERT INTO schema_version VALUES
    (1, '2026-01-05T09:00:00+00:00'), (2, '2026-02-01T09:00:00+00:00'),
    (3, '2026-02-01T09:00:00+00:00'), (4, '2026-02-20T09:00:00.250000+00:00'),
    (5, '2026-03-01T09:00:00+00:00'), (6, '2026-03-01T09:00:00+00:00'),
    (7, '2026-03-15T09:00:00+00:00'), (8, '2026-03-20T09:00:00+00:00');

INSERT INTO runs (session_id, platform, started_at, status, cost_usd, api_calls, sender_id) VALUES
    ('20260321_100000_d4e5f6', 'telegram', '2026-03-21T10:00:00+00:00', 'interrupted', 0.125, 4, '4711');
INSERT INTO llm_calls (session_id, ts, model, provider, tokens_in, tokens_out, cost_usd, cache_read_tokens, estimated) VALUES
    ('20260321_100000_d4e5f6', '2026-03-21T10:00:10+00:00', 'grok-4-fast:free', 'openrouter', 800, 90, 0.0, 0, 0),
    ('20260321_100000_d4e5f6', '2026-03-21T10:00:20+00:00', 'grok-4-fast', 'openrouter', 900, 80, 0.125, 400, 0),
    -- Neither proves that the model is free: one cost nothing that is known, one had no tokens.
    ('20260321_100000_d4e5f6', '2026-03-21T10:00:30+00:00', 'house-model', 'custom', 700, 70, NULL, 0, 1),
    ('20260321_100000_d4e5f6', '2026-03-21T10:00:40+00:00', 'house-model', 'custom', 0, 0, 0.0, 0, 0);
INSERT INTO tool_calls (session_id, ts, tool_name) VALUES
    ('20260321_100000_d4e5f6', '2026-03-21T10:00:15+00:00', 'web_search');
INSERT INTO budget_alerts (scope, scope_id, window, period_key, level, fired_at, spent_usd, limit_usd) VALUES
    ('global', '', 'daily', '2026-03-21', 'soft', '2026-03-21T10:00:20+00:00', 0.125, 0.1);
INSERT INTO known_free_models VALUES
    ('grok-4-fast:free', 'openrouter', '2026-03-21T10:00:10+00:00'),
    ('house-model', 'custom', '2026-03-21T10:00:40+00:00'),
    ('llama-local', '', '2026-03-01T09:00:00+00:00');
INSERT INTO free_paid_transitions VALUES
    ('house-model', 'custom', '2026-03-22T10:00:00+00:00', '20260321_100000_d4e5f6', 0.5, '2026-03-21T10:00:40+00:00');
INSERT INTO model_unavailable_alerts VALUES
    ('gpt-4-32k', 'openai', 404, 'The model does not exist', '2026-03-20T08:00:00+00:00', '2026-03-21T08:00:00+00:00', 3);
