-- A ledger at version 12 as another build wrote it: its versions 9 and 10 came in one update.

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

ALTER TABLE llm_calls ADD COLUMN moa_preset TEXT;
ALTER TABLE runs ADD COLUMN moa_calls INTEGER DEFAULT 0;
CREATE TABLE subagent_edges (
    child_session_id   TEXT PRIMARY KEY,
    parent_session_id  TEXT NOT NULL,
    parent_turn_id     TEXT,
    parent_subagent_id TEXT,
    child_subagent_id  TEXT,
    child_role         TEXT,
    started_at         TEXT NOT NULL,
    stopped_at         TEXT,
    child_status       TEXT
);
CREATE INDEX idx_subagent_edges_parent ON subagent_edges(parent_session_id);
ALTER TABLE runs ADD COLUMN profile TEXT;
CREATE INDEX idx_runs_profile ON runs(profile);

INSERT INTO schema_version VALUES
    (1, '2026-04-01T09:00:00+00:00'), (2, '2026-04-01T09:00:00+00:00'),
    (3, '2026-04-01T09:00:00+00:00'), (4, '2026-04-01T09:00:00+00:00'),
    (5, '2026-04-01T09:00:00+00:00'), (6, '2026-04-01T09:00:00+00:00'),
    (7, '2026-04-01T09:00:00+00:00'), (8, '2026-04-01T09:00:00+00:00'),
    (9, '2026-04-02T09:00:00.125000+00:00'), (10, '2026-04-02T09:00:00.125000+00:00'),
    (11, '2026-05-01T09:00:00+00:00'), (12, '2026-05-10T09:00:00+00:00');

INSERT INTO runs (session_id, platform, model, provider, started_at, ended_at, status, tokens_in, tokens_out, cost_usd, api_calls, tool_calls, moa_calls, profile) VALUES
    ('20260511_080000_0a0b0c', 'cli', 'deep', 'moa', '2026-05-11T08:00:00+00:00', '2026-05-11T08:05:00+00:00', 'ok', 300, 30, 1.5, 2, 2, 1, 'research'),
    ('20260511_080100_0d0e0f', 'subagent', 'glm-4.5', 'zai', '2026-05-11T08:01:00+00:00', NULL, 'error', 0, 0, 0.0, 0, 0, 0, NULL);
INSERT INTO llm_calls (session_id, ts, model, provider, tokens_in, tokens_out, cost_usd, moa_preset, provider_assumed) VALUES
    ('20260511_080000_0a0b0c', '2026-05-11T08:00:30+00:00', 'claude-opus-4-1', 'anthropic', 100, 10, 1.0, 'deep', 0),
    ('20260511_080000_0a0b0c', '2026-05-11T08:04:00+00:00', 'glm-4.5', 'unheard-of', 200, 20, 0.5, NULL, 1);
INSERT INTO tool_calls (session_id, ts, tool_name, ok, latency_ms) VALUES
    ('20260511_080000_0a0b0c', '2026-05-11T08:03:00+00:00', 'delegate_task/subagent', 0, 60000);
INSERT INTO subagent_edges VALUES
    ('20260511_080100_0d0e0f', '20260511_080000_0a0b0c', '', NULL, 'sa-1', 'leaf', '2026-05-11T08:01:00+00:00', '2026-05-11T08:02:00+00:00', 'failed'),
    ('20260511_080200_1a1b1c', '20260511_080000_0a0b0c', '20260511_080000_0a0b0c:t:0badcafe', NULL, NULL, NULL, '2026-05-11T08:02:30+00:00', NULL, NULL);
INSERT INTO known_free_models VALUES
    ('glm-4.5', 'zai', '2026-05-11T08:01:00+00:00'),
    ('llama-local', '', '2026-04-01T09:00:00+00:00');
INSERT INTO budget_alerts (scope, scope_id, window, period_key, level, fired_at) VALUES
    ('cron', 'nightly', 'monthly', '2026-05', 'hard', '2026-05-11T08:04:00+00:00');
