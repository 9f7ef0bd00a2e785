// The records of the REST API, as pages read them.
export type Time = string;
export interface List<T> { items: T[]; next_cursor: string | null; total: number | null }
export type RunStatus =
  | "queued" | "running" | "waiting" | "cancelling" | "succeeded" | "partially_succeeded" | "failed" | "timed_out"
  | "cancelled" | "interrupted" | "skipped" | "missed";
export interface SendResult {
  ok: boolean; channel: string; target: string; message: string; error: string;
  code?: string; message_id?: string; attempts?: number; parts?: number; duration_ms?: number;
}
export interface StepRun {
  name: string; type: string; status: RunStatus; attempt: number; started_at: Time | null; finished_at: Time | null;
  duration_ms: number | null; exit_code: number | null; when: string | null;
  error: { code: string; message: string } | null; outputs: Record<string, unknown>;
}
export interface HostResult {
  host: string; status: string; exit_code: number | null; signal: string | null; stdout: string; stderr: string;
  truncated: boolean; duration_ms: number | null; error: string | null;
}
export interface Run {
  id: string; kind: "cron" | "workflow" | "skill" | "ssh" | "trigger" | "watcher" | "job";
  subject_id: string; subject_name: string; trigger: string; actor: string | null; status: RunStatus;
  reason: string | null; attempt: number; max_attempts: number; retry_of: string | null; parent_run_id: string | null;
  scheduled_for: Time | null; queued_at: Time | null; started_at: Time | null; finished_at: Time | null;
  duration_ms: number | null; delay_ms: number | null; exit_code: number | null; signal: string | null;
  dry_run: boolean; params: Record<string, unknown>; env_keys: string[];
  output: { bytes: number; lines: number; truncated: boolean; tail: string };
  delivery: { status: "none" | "pending" | "delivered" | "partial" | "failed"; results: SendResult[] };
  steps?: StepRun[]; hosts?: HostResult[]; error: { code: string; message: string } | null; log?: LogPage;
}
export interface LogLine { n: number; ts: Time | null; stream: string; text: string }
export interface LogPage { lines: LogLine[]; next_line: number; complete: boolean; truncated: boolean }
export type SubsystemState = "ok" | "degraded" | "error" | "disabled" | "unconfigured";
export interface Subsystem {
  status: SubsystemState; summary: string; counts: Record<string, number>; last_event_at: Time | null; link: string;
}
export interface StatusReport {
  status: "ok" | "degraded" | "error"; version: string; uptime_seconds: number | null; checked_at: Time; timezone: string;
  subsystems: Record<string, Subsystem>;
  services: { name: string; status: SubsystemState; detail: string }[];
  runs: { active: number; queued: number; succeeded_24h: number; failed_24h: number; missed_24h: number };
  unread_notifications: number;
  next_runs: { job_id: string; name: string; at: Time }[];
  recent_runs: Run[];
  attention: { severity: "info" | "success" | "warning" | "error"; message: string; link: string }[];
}
export interface RecentRun { status: RunStatus; started_at: Time | null; duration_ms: number | null; id?: string }
export interface CronJob {
  id: string; name: string; description: string; schedule: string; timezone: string;
  type: "shell" | "workflow" | "skill" | "prompt" | "message"; command: string;
  params: Record<string, unknown>; env: Record<string, string>; working_dir: string; enabled: boolean;
  output: string | null; output_on: "always" | "failure" | "success" | "change" | "recovery";
  timeout_seconds: number; overlap: "skip" | "queue" | "parallel" | "replace"; max_queued: number; max_parallel: number;
  catchup: "none" | "latest" | "all"; catchup_window_seconds: number; jitter_seconds: number;
  retry: { max_attempts: number; delay_seconds: number; backoff: number; max_delay_seconds: number; on_exit_codes: number[] };
  success_exit_codes: number[]; history_limit: number; history_days: number; log_max_bytes: number;
  start_at: Time | null; end_at: Time | null; paused_until: Time | null; auto_disable_after: number; tags: string[];
  state: "scheduled" | "running" | "paused" | "auto_disabled" | "completed" | "invalid";
  schedule_text: string; next_run_at: Time | null; next_runs?: { at: Time; local: string; note: string | null }[];
  source: "database" | "file"; file: string | null; problem: string | null; last_run: Run | null; recent: RecentRun[];
  consecutive_failures: number; success_rate_30d: number | null; duration_p50_ms: number | null;
  duration_p95_ms: number | null; paused_reason: string | null; created_at: Time; updated_at: Time; created_by: string | null;
}
export interface Channel {
  channel: string; label: string; configured: boolean; available: boolean; missing: string[];
  capabilities: { inbound: "none" | "polling" | "webhook"; max_length: number; chunk_at: number; parse_modes: string[]; markdown: boolean };
  default_target: string | null; last_test: { ok: boolean; at: Time; message: string; error: string } | null;
  last_sent_at: Time | null; sent_24h: number; failed_24h: number; retry_after_until: Time | null;
}
export interface Profile {
  name: string; entries: { channel: string; target: string; usable: boolean; problem: string | null }[]; valid: boolean;
  errors: { line: number; key: string; detail: string }[]; used_by: { kind: "cron" | "workflow"; name: string }[];
}
export interface Host {
  name: string; hostname: string; port: number; user: string; groups: string[]; tags: string[]; description: string;
  jump_host: string | null; identity: { kind: "agent" | "key" | "vault" | "password"; ref: string | null };
  host_key: { status: "trusted" | "unknown" | "changed"; fingerprint: string | null }; source: "file" | "ssh_config";
  enabled: boolean; status: "up" | "degraded" | "down" | "unknown"; last_checked_at: Time | null;
}
export interface HostHealth {
  host: string; status: Host["status"]; ping: { ok: boolean; method: string | null; rtt_ms: number | null; error: string | null };
  ssh: { ok: boolean; latency_ms: number | null; error: string | null }; host_key: Host["host_key"]; checked_at: Time;
}
export interface YamlProblem {
  line?: number; column?: number; key?: string; pointer?: string; code: string; detail: string; suggestion?: string;
}
export interface Workflow {
  name: string; description: string; notify_profile: string | null; steps_count: number; valid: boolean;
  error_count: number; file: string; updated_at: Time; schedules: string[]; last_run: Run | null; recent: RecentRun[];
  yaml?: string; definition?: Record<string, unknown>; params?: Record<string, unknown>;
  graph?: { nodes: { id: string; type: string; wave: number }[]; edges: [string, string][] };
  errors?: YamlProblem[]; warnings?: YamlProblem[];
}
export interface MemoryEntry {
  key: string; value: string; type: "fact" | "preference" | "note" | "event"; tags: string[]; scope: string;
  source: "cli" | "bot" | "dashboard" | "chat" | "skill"; importance: number; pinned: boolean;
  half_life_days: number | null; strength: number; access_count: number; last_accessed_at: Time | null;
  created_at: Time; updated_at: Time; expires_at: Time | null;
}
export interface SkillProblem { file: string; line: number; column: number; key: string; detail: string }
export interface Skill {
  name: string; kind: "assistant" | "runnable"; description: string; enabled: boolean; active_reason: string;
  priority: string | null; model: string | null; tools: string[]; trigger_keywords: string[]; file_patterns: string[];
  exclude_patterns: string[]; coordination: Record<string, unknown> | null; permissions: string[]; vault: string[] | null;
  dependencies: { name: string; found: boolean; path: string | null }[]; command: string | null; timeout_seconds: number | null;
  runnable: boolean; usable: boolean | null; at_hand: boolean | null; valid: boolean; errors: SkillProblem[];
  warnings: { detail: string; fix: string }[]; hints: SkillProblem[]; built_in: boolean; path: string; file: string;
  last_run: Run | null; runs_30d: number; body?: string | null; checks?: { question: string; ok: boolean | null; reason: string }[];
}
export interface AuditEntry {
  id: string; ts: Time; action: string; detail: string; source: string; metadata: Record<string, unknown>;
  actor: string | null; ip: string | null; request_id: string | null; outcome: "ok" | "denied" | "error";
  prev_hash?: string; hash?: string;
}
export interface WatcherRule {
  name: string; path: string; recursive: boolean; patterns: string[]; exclude_patterns: string[]; events: string[];
  action: "shell" | "skill" | "workflow" | "notify"; command: string; debounce_ms: number; cooldown_seconds: number;
  enabled: boolean; output: string | null; state: "watching" | "paused" | "error"; error: string | null; backend: string;
  last_event: { at: Time; type: string; path: string } | null; last_run: Run | null; events_24h: number;
  recent?: { at: Time; type: string; path: string; run_id: string | null }[];
}
export interface BrowserProfile {
  name: string; browser: "chromium" | "chrome" | "firefox"; driver: "managed" | "existing_session" | "remote";
  user_data_dir: string | null; cdp_endpoint: string | null; headless: boolean; default: boolean; proxy: string | null;
  status: "stopped" | "running" | "in_use" | "missing" | "error"; pid: number | null; size_bytes: number | null;
  last_used_at: Time | null; error: string | null;
}
export interface Usage { input_tokens: number; output_tokens: number }
export interface Conversation {
  id: string; title: string; created_at: Time; updated_at: Time; message_count: number; model: string | null;
  provider: string | null; source: "dashboard" | "botchat"; status: "idle" | "generating";
  last_message: { role: string; preview: string; at: Time } | null; usage: Usage; messages?: Message[]; last_event_id?: string;
}
export interface Message {
  id: string; conversation_id: string; role: "user" | "assistant" | "system"; content: string;
  status: "pending" | "streaming" | "complete" | "stopped" | "failed"; seq: number; created_at: Time;
  finished_at: Time | null; model: string | null; usage: Usage | null; error: { code: string; message: string } | null;
}
export interface Diffstat { files: number; insertions: number; deletions: number }
export interface TaskJob {
  id: string; title: string; description: string; status: "queued" | "running" | "completed" | "failed" | "cancelled";
  priority: "low" | "normal" | "high"; labels: string[]; repo: string | null; base_branch: string | null;
  branch: string | null; worktree_path: string | null; head_sha: string | null; ahead: number | null;
  behind: number | null; diffstat: Diffstat | null; progress: number | null; run_id: string | null;
  result: { outcome: string; summary: string; exit_code: number | null } | null; created_at: Time;
  started_at: Time | null; completed_at: Time | null; created_by: string | null; error: unknown;
}
export interface Branch {
  name: string; job_id: string | null; repo: string; base: string; head_sha: string; head_subject: string; head_at: Time;
  ahead: number; behind: number; dirty: boolean; merged: boolean; worktree_path: string | null; diffstat: Diffstat | null;
  commits?: unknown[]; files?: unknown[]; patch?: string; truncated?: boolean;
}
export interface Notice {
  id: string; title: string; body: string; level: "info" | "success" | "warning" | "error"; category: string;
  source: string; link: string | null; read: boolean; read_at: Time | null; created_at: Time; count: number;
  dedupe_key: string | null; expires_at: Time | null;
}
