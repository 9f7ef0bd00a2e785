// Made by `make docs` from the OpenAPI document of the REST API. Do not edit.
/** The access state of a chat. */
export type AccessState = "unknown" | "pending" | "allowed" | "denied";
/** One of the checks that decide whether a skill is active for a file. */
export interface ActivationRecord {
  question: string;
  ok: boolean | null;
  reason: string;
}
/** The state of an instant at which Tocsin was not running. */
export type AfterDowntime = "unknown" | "down";
/** Proposed changes of a run, and the files that were written. */
export interface AppliedPatch {
  run_id: string;
  skill: string;
  folder: string;
  findings: SkillFinding[];
  patch: string;
  written: string[];
  applied_at: string | null;
}
/** Options for writing the changes of a run. */
export interface ApplyPatch {
  dry_run?: boolean;
}
/** File attached to a message. */
export interface AttachmentRecord {
  id: string;
  name: string;
  kind: "picture" | "document";
  media_type: string;
  bytes: number;
  truncated: boolean;
}
/** Something that needs a person, such as a failing job or an expiring secret. */
export interface AttentionRecord {
  severity: NoticeLevel;
  message: string;
  link: string;
}
/** Entries, newest first. */
export interface AuditPage {
  items: AuditRecord[];
  next_cursor: string | null;
}
/** Entry of the audit log. */
export interface AuditRecord {
  id: string;
  ts: string;
  action: string;
  detail: string;
  source: string;
  actor: string | null;
  ip: string | null;
  request_id: string | null;
  outcome: "ok" | "denied" | "error";
  prev_hash: string | null;
  hash: string | null;
  metadata: Record<string, unknown>;
}
/** Results of a search. */
export interface AuditSearch {
  items: AuditRecord[];
  next_cursor: string | null;
  took_ms: number;
}
/** The kind of a block of a message. */
export type BlockKind = "text" | "title" | "buttons";
/** Commit missing from the base. */
export interface BranchCommit {
  sha: string;
  at: string;
  author: string;
  subject: string;
}
/** File changed in a branch; lines of binary files are not counted. */
export interface BranchFile {
  path: string;
  insertions: number | null;
  deletions: number | null;
}
/** Branches, at most 200 per repository. */
export interface BranchList {
  items: BranchRecord[];
}
/** Branch of a repository, with its task job if it has one. */
export interface BranchRecord {
  name: string;
  job_id: string | null;
  repo: string;
  base: string;
  head_sha: string;
  head_subject: string;
  head_at: string;
  ahead: number | null;
  behind: number | null;
  dirty: boolean | null;
  merged: boolean;
  worktree_path: string | null;
  diffstat: DiffStatRecord | null;
}
/** Branch with its commits and changed files. */
export interface BranchWithChanges {
  name: string;
  job_id: string | null;
  repo: string;
  base: string;
  head_sha: string;
  head_subject: string;
  head_at: string;
  ahead: number | null;
  behind: number | null;
  dirty: boolean | null;
  merged: boolean;
  worktree_path: string | null;
  diffstat: DiffStatRecord | null;
  commits: BranchCommit[];
  files: BranchFile[];
  patch: string | null;
  truncated: boolean;
}
/** The way in which the browser of a profile is started. */
export type BrowserDriver = "managed" | "existing_session" | "remote";
/** The kind of browser of a profile. */
export type BrowserKind = "chromium" | "chrome" | "firefox";
/** Browser profile with its state. */
export interface BrowserProfileRecord {
  name: string;
  browser: BrowserKind;
  driver: BrowserDriver;
  user_data_dir: string | null;
  cdp_endpoint: string | null;
  headless: boolean | null;
  default: boolean;
  proxy: string | null;
  status: BrowserStatus;
  pid: number | null;
  size_bytes: number | null;
  last_used_at: string | null;
  error: string | null;
}
/** The state of a profile. */
export type BrowserStatus = "stopped" | "running" | "in_use" | "missing" | "error";
/** Options for cancelling a run. */
export interface CancelRun {
  reason?: string;
  grace_seconds?: number;
}
/** Capabilities of a channel. */
export interface CapabilitiesRecord {
  inbound: "none" | "polling" | "webhook";
  max_length: number | null;
  unit: "characters" | "UTF-16 units" | "bytes";
  chunk_at: number | null;
  parse_modes: string[];
  markdown: boolean;
  edits: boolean;
  withdraws: boolean;
  session_presses: boolean;
}
/** The rule that selects the missed instants to run later. */
export type CatchUp = "none" | "latest" | "all";
/** An error in the chain, with its file and line (counted from 1). */
export interface ChainProblem {
  line: number;
  reason: string;
  file: string;
}
/** The result of verifying all files of a log; store `last` elsewhere to compare it later. */
export interface ChainVerification {
  lines: number;
  files: number;
  problems: ChainProblem[];
  first: number;
  last: number;
  last_hash: string;
  ok: boolean;
}
export interface ChangeCronJobBody {
  name?: string;
  description?: unknown;
  schedule?: string;
  timezone?: unknown;
  type?: "shell" | "workflow" | "skill" | "prompt" | "message" | null;
  command?: string;
  params?: unknown;
  env?: unknown;
  working_dir?: unknown;
  enabled?: unknown;
  output?: unknown;
  output_on?: unknown;
  timeout_seconds?: unknown;
  overlap?: "skip" | "queue" | "parallel" | "replace" | null;
  max_queued?: unknown;
  max_parallel?: unknown;
  catchup?: "none" | "latest" | "all" | null;
  catchup_window_seconds?: unknown;
  jitter_seconds?: unknown;
  retry?: { max_attempts?: unknown; delay_seconds?: unknown; backoff?: unknown; max_delay_seconds?: unknown; on_exit_codes?: unknown; } | null;
  success_exit_codes?: unknown;
  history_limit?: unknown;
  history_days?: unknown;
  log_max_bytes?: unknown;
  start_at?: unknown;
  end_at?: unknown;
  paused_until?: unknown;
  auto_disable_after?: unknown;
  tags?: unknown;
}
export interface ChangeDoorBody {
  secret?: unknown;
  preset?: unknown;
  profile?: unknown;
  sources?: unknown;
  severity?: "ok" | "info" | "warning" | "critical" | null;
  rate?: unknown;
  secret_name?: unknown;
}
export interface ChangeHeartbeatBody {
  name?: string;
  period?: unknown;
  schedule?: unknown;
  timezone?: unknown;
  grace?: unknown;
  max_run?: unknown;
  misses?: unknown;
  severity?: "critical" | "warning" | "info" | null;
  notify?: unknown;
  after_downtime?: "unknown" | "down" | null;
  tags?: unknown;
  description?: unknown;
}
/** Channel whose credentials were verified and stored. */
export interface ChannelConnection {
  channel: string;
  message: string;
  file: string;
  restart_required: boolean;
}
/** All channels. */
export interface ChannelList {
  items: ChannelRecord[];
  max_files_bytes: number;
}
/** Channel, configured or not. */
export interface ChannelRecord {
  channel: string;
  label: string;
  configured: boolean;
  available: boolean;
  missing: string[];
  capabilities: CapabilitiesRecord;
  default_target: string | null;
  state: "unconfigured" | "configured" | "ok" | "failing";
  last_test: LastTestRecord | null;
  last_sent_at: string | null;
  sent_24h: number;
  failed_24h: number;
  retry_after_until: string | null;
}
/** Setting of a channel; the values of secrets are never shown. */
export interface ChannelSetting {
  key: string;
  description: string;
  required: boolean;
  secret: boolean;
  value: string;
  given: boolean;
  fixed_by: string;
}
/** All settings of a channel, required ones first. */
export interface ChannelSettings {
  channel: string;
  label: string;
  docs: string;
  target_format: string;
  arrival: string[];
  file: string;
  items: ChannelSetting[];
}
/** Settings to change; others stay as they are. */
export interface ChannelValues {
  settings: Record<string, string>;
}
/** The result of an access decision. */
export interface ChatDecision {
  chat_id: string;
  before: AccessState;
  state: AccessState;
}
/** All known chats. */
export interface ChatList {
  items: ChatRecord[];
}
/** Chat that asked for access, or for which a decision exists. */
export interface ChatRecord {
  chat_id: string;
  state: AccessState;
  origin: string;
  changed_at: string | null;
  details: Record<string, string>;
}
/** Page of conversations; those of the bot are last. */
export interface ConversationPageRecord {
  items: ConversationRecord[];
  next_cursor: string | null;
  total: number | null;
  notice: string | null;
}
/** A conversation. */
export interface ConversationRecord {
  id: string;
  title: string;
  created_at: string | null;
  updated_at: string | null;
  message_count: number;
  model: string | null;
  provider: string | null;
  system_prompt: string;
  source: string;
  status: "idle" | "generating";
  last_message: LastMessage | null;
  usage: UsageRecord;
}
export interface CreateCronJobBody {
  name: string;
  description?: string;
  schedule: string;
  timezone?: unknown;
  type?: "shell" | "workflow" | "skill" | "prompt" | "message";
  command: string;
  params?: Record<string, unknown>;
  env?: Record<string, string>;
  working_dir?: string;
  enabled?: boolean;
  output?: unknown;
  output_on?: string;
  timeout_seconds?: number;
  overlap?: "skip" | "queue" | "parallel" | "replace";
  max_queued?: number;
  max_parallel?: number;
  catchup?: "none" | "latest" | "all" | null;
  catchup_window_seconds?: number;
  jitter_seconds?: number;
  retry?: { max_attempts?: number; delay_seconds?: number; backoff?: number; max_delay_seconds?: number; on_exit_codes?: number[]; };
  success_exit_codes?: number[];
  history_limit?: number;
  history_days?: number;
  log_max_bytes?: number;
  start_at?: unknown;
  end_at?: unknown;
  paused_until?: unknown;
  auto_disable_after?: number;
  tags?: string[];
}
export interface CreateDoorBody {
  name: string;
  secret?: string;
  protocol?: string;
  preset?: unknown;
  profile?: unknown;
  sources?: string[];
  severity?: "ok" | "info" | "warning" | "critical";
  rate?: number;
  secret_name?: unknown;
}
export interface CreateHeartbeatBody {
  name: string;
  period?: unknown;
  schedule?: unknown;
  timezone?: unknown;
  grace?: unknown;
  max_run?: unknown;
  misses?: number;
  severity?: "critical" | "warning" | "info";
  notify?: unknown;
  after_downtime?: "unknown" | "down";
  tags?: string[];
  description?: string;
}
/** New token. */
export interface CreatedToken {
  id: string;
  name: string;
  scopes: ("read" | "send" | "run" | "answer" | "admin")[];
  created_at: string;
  last_used_at: string | null;
  profiles: string[];
  token: string | null;
}
/** Job with its next runs. */
export interface CronJobRecord {
  id: string;
  name: string;
  description: string | null;
  schedule: string | null;
  timezone: string | null;
  type: JobType | null;
  command: string | null;
  params: Record<string, string | boolean | number | unknown[]> | null;
  env: Record<string, string> | null;
  working_dir: string | null;
  enabled: boolean;
  output: string | null;
  output_on: string | null;
  timeout_seconds: number | null;
  overlap: Overlap | null;
  max_queued: number | null;
  max_parallel: number | null;
  catchup: CatchUp | null;
  catchup_window_seconds: number | null;
  jitter_seconds: number | null;
  retry: RetryRecord | null;
  success_exit_codes: number[] | null;
  history_limit: number | null;
  history_days: number | null;
  log_max_bytes: number | null;
  start_at: string | null;
  end_at: string | null;
  paused_until: string | null;
  auto_disable_after: number | null;
  tags: string[];
  source: JobSource;
  file: string | null;
  problem: string | null;
  paused_reason: string | null;
  created_at: string;
  updated_at: string;
  created_by: string;
  state: JobState;
  schedule_text: string | null;
  next_run_at: string | null;
  last_run: RunSummary | null;
  recent: RecentRun[];
  consecutive_failures: number;
  success_rate_30d: number | null;
  duration_p50_ms: number | null;
  duration_p95_ms: number | null;
  next_runs: UpcomingInstant[];
}
/** Job, as returned in lists. */
export interface CronJobSummary {
  id: string;
  name: string;
  description: string | null;
  schedule: string | null;
  timezone: string | null;
  type: JobType | null;
  command: string | null;
  params: Record<string, string | boolean | number | unknown[]> | null;
  env: Record<string, string> | null;
  working_dir: string | null;
  enabled: boolean;
  output: string | null;
  output_on: string | null;
  timeout_seconds: number | null;
  overlap: Overlap | null;
  max_queued: number | null;
  max_parallel: number | null;
  catchup: CatchUp | null;
  catchup_window_seconds: number | null;
  jitter_seconds: number | null;
  retry: RetryRecord | null;
  success_exit_codes: number[] | null;
  history_limit: number | null;
  history_days: number | null;
  log_max_bytes: number | null;
  start_at: string | null;
  end_at: string | null;
  paused_until: string | null;
  auto_disable_after: number | null;
  tags: string[];
  source: JobSource;
  file: string | null;
  problem: string | null;
  paused_reason: string | null;
  created_at: string;
  updated_at: string;
  created_by: string;
  state: JobState;
  schedule_text: string | null;
  next_run_at: string | null;
  last_run: RunSummary | null;
  recent: RecentRun[];
  consecutive_failures: number;
  success_rate_30d: number | null;
  duration_p50_ms: number | null;
  duration_p95_ms: number | null;
}
/** Options for removing decayed entries. */
export interface Decay {
  dry_run?: boolean;
  threshold?: number;
  half_life_days?: number | null;
}
/** Entries that were removed, or would be. */
export interface DecayRecord {
  dry_run: boolean;
  evaluated: number;
  fading: number;
  removed: number;
  removed_keys: string[];
}
/** Decision on a waiting step. */
export interface DecideStep {
  step?: string;
  comment?: string;
}
/** Delivery: one message to one target. */
export interface Delivery {
  id: string;
  channel: string;
  target: string;
  message: string;
  source: string;
  status: DeliveryStatus;
  policy: Policy;
  attempts: number;
  next_attempt_at: string | null;
  not_before: string | null;
  expires_at: string | null;
  idempotency_key: string | null;
  parts_sent: number;
  parts_total: number;
  provider_id: string;
  error: string;
  error_class: FailureKind | "";
  created_at: string;
  finished_at: string | null;
  duration_ms: number | null;
  dismissed: boolean;
  key: string;
  operation: MessageOperation;
  revision: number;
  note: string;
  thread: string;
  content: Record<string, unknown>;
  format: string;
}
/** How far the messages with a run's output came; it never changes the state of the run. */
export interface DeliveryRecord {
  status: OutputDeliveryStatus;
  results: OutputResultRecord[];
}
/** State of a delivery. */
export type DeliveryStatus = "queued" | "sending" | "retry_wait" | "sent" | "dead" | "uncertain" | "cancelled" | "expired" | "superseded";
/** Program required by a skill. */
export interface DependencyRecord {
  name: string;
  found: boolean;
  path: string | null;
}
/** Size of the changes of a branch since it left its base. */
export interface DiffStatRecord {
  files: number;
  insertions: number;
  deletions: number;
}
/** Options for disabling a job. */
export interface DisableJob {
  reason?: string;
  until?: string | null;
  cancel_running?: boolean;
}
/** Instructions for one product, so that it reports at a door. */
export interface DoorInstruction {
  product: string;
  text: string;
}
/** The protocols and presets that a door may have. */
export interface DoorKinds {
  protocols: DoorProtocolRecord[];
  presets: string[];
}
/** The message that the current rules make of a request. */
export interface DoorPreview {
  title: string | null;
  text: string | null;
  severity: string | null;
  key: string | null;
  link: string | null;
  profile: string | null;
  rule: string | null;
  drop: boolean;
  note: string | null;
}
/** A protocol that a door may have. */
export interface DoorProtocolRecord {
  name: string;
  label: string;
}
/** Door, without its token. */
export interface DoorRecord {
  id: string;
  name: string;
  protocol: string;
  preset: string | null;
  profile: string | null;
  sources: string[];
  severity: DoorSeverity;
  rate: number;
  secret_name: string | null;
  has_secret: boolean;
  requests: number;
  last_at: string | null;
  created_at: string;
  updated_at: string;
}
/** A request to a door, and its outcome. */
export interface DoorRequestRecord {
  id: number;
  at: string;
  client: string;
  status: number;
  state: RequestState;
  payload: string;
  title: string | null;
  text: string | null;
  severity: string | null;
  key: string | null;
  link: string | null;
  profile: string | null;
  deliveries: string[];
  note: string | null;
}
/** A test message that was queued. */
export interface DoorSentTest {
  profile: string;
  deliveries: string[];
  note: string | null;
}
/** Address of a door, which is a secret and is shown only once, with what to paste where. */
export interface DoorSetUp {
  name: string;
  protocol: string;
  profile: string | null;
  token: string;
  url: string;
  base_url: string;
  services_url: string | null;
  apprise_url: string | null;
  instructions: DoorInstruction[];
  local_only: boolean;
}
/** Severity of a message. */
export type DoorSeverity = "ok" | "info" | "warning" | "critical";
/** Messages that would be sent. */
export interface DryRun {
  parts: PartPlan[];
  warnings: string[];
  fields: FieldPlan[];
  files: FilePlan[];
}
/** An entry. */
export interface EntryRecord {
  key: string;
  value: string;
  type: EntryType;
  tags: string[];
  scope: string;
  source: EntrySource;
  importance: number;
  pinned: boolean;
  half_life_days: number | null;
  strength: number;
  access_count: number;
  last_accessed_at: string;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
}
/** The origin of an entry. */
export type EntrySource = "cli" | "bot" | "dashboard" | "chat" | "skill" | "agent";
/** The kind of information in an entry. */
export type EntryType = "fact" | "preference" | "note" | "event";
/** Execution mode of a skill. */
export type ExecutionMode = "standard" | "sandboxed";
/** Whether a failed delivery may be retried. */
export type FailureKind = "permanent" | "transient" | "rate_limited" | "ambiguous";
/** How a channel renders one field of a message. */
export interface FieldPlan {
  field: string;
  support: Support;
  note: string;
}
/** Error in one value. */
export interface FieldProblem {
  code: string;
  detail: string;
  pointer?: string | null;
  parameter?: string | null;
  suggestion?: string | null;
}
/** Error in a file. */
export interface FileError {
  line: number;
  key: string;
  detail: string;
}
/** Change of a file. */
export interface FileEvent {
  at: string;
  type: WatchEvent;
  path: string;
}
/** One of the files of a message, with its media type and its bytes. */
export interface FilePlan {
  name: string;
  type: string;
  size: number;
  part: number;
}
/** State of the list of first steps; further steps are those of features. */
export interface FirstSteps {
  dismissed: boolean;
  scopes: string[];
  sign_in: SignInStep;
}
/** Change of the list. */
export interface FirstStepsChange {
  dismissed: boolean;
}
/** Step in the graph; steps of the same wave may run in parallel. */
export interface GraphNode {
  id: string;
  type: string;
  wave: number;
}
/** Steps and their dependencies. */
export interface GraphRecord {
  nodes: GraphNode[];
  edges: [string, string][];
}
/** Liveness of the dashboard. */
export interface HealthRecord {
  status: "ok";
  version: string;
}
/** Addresses of a heartbeat. Each is a secret: its holder can report for the job. */
export interface HeartbeatAddress {
  ping_url: string;
  slug_url: string;
  push_url: string;
  cronitor_url: string;
}
/** An instant at which a ping was expected, and its outcome. */
export interface HeartbeatInstant {
  due_at: string;
  state: InstantState;
  ping: number | null;
}
/** A ping of a heartbeat. */
export interface HeartbeatPing {
  n: number;
  at: string;
  kind: PingKind;
  exit_status: number | null;
  rid: string | null;
  duration_s: number | null;
  method: string;
  client: string;
  agent: string;
  size: number;
  has_body: boolean;
}
/** Heartbeat with its state. */
export interface HeartbeatRecord {
  id: string;
  name: string;
  source: HeartbeatSource;
  state: HeartbeatState;
  since: string | null;
  reason: string | null;
  period: number | null;
  schedule: string | null;
  timezone: string | null;
  grace: number;
  max_run: number | null;
  misses: number;
  severity: HeartbeatSeverity;
  notify: string | null;
  after_downtime: AfterDowntime;
  tags: string[];
  description: string | null;
  schedule_text: string;
  next_due_at: string | null;
  last_ping_at: string | null;
  last_kind: string | null;
  last_duration_s: number | null;
  running: HeartbeatRun[];
  pings: number;
  recent: HeartbeatInstant[];
  uptime_30d: number | null;
  created_at: string;
  updated_at: string;
}
/** A run that has started and not ended. */
export interface HeartbeatRun {
  rid: string | null;
  started_at: string;
  ends_by: string;
}
/** The severity of a missed ping. */
export type HeartbeatSeverity = "critical" | "warning" | "info";
/** Place where a heartbeat is defined. */
export type HeartbeatSource = "api" | "file" | "ping";
/** State of a heartbeat. */
export type HeartbeatState = "new" | "up" | "late" | "down" | "paused" | "unknown";
/** Result of the health check of a host. */
export type HostHealth = "up" | "degraded" | "down" | "unknown";
/** Health of a host. */
export interface HostHealthRecord {
  host: string;
  status: HostHealth;
  ping: PingRecord;
  ssh: LoginRecord;
  host_key: HostKeyRecord;
  checked_at: string;
}
/** State of the host key. */
export interface HostKeyRecord {
  status: KeyStatus;
  fingerprint: string | null;
}
/** Result of a command on one host. */
export interface HostRecord {
  host: string;
  status: HostStatus;
  exit_code: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
  truncated: boolean;
  duration_ms: number | null;
  error: string | null;
}
/** Source of a host's definition. */
export type HostSource = "file" | "ssh_config";
/** State of a command on one host. */
export type HostStatus = "queued" | "running" | "succeeded" | "failed" | "timed_out" | "unreachable" | "auth_failed" | "host_key_unknown" | "host_key_changed" | "skipped" | "cancelled";
/** Method of authentication to a host. */
export type IdentityKind = "agent" | "key" | "vault";
/** Authentication method. */
export interface IdentityRecord {
  kind: IdentityKind;
  ref: string | null;
}
/** The outcome of an instant at which a ping was expected. */
export type InstantState = "met" | "late" | "failed" | "missed" | "unknown" | "paused";
/** All external services that Tocsin can use. */
export interface IntegrationList {
  items: IntegrationRecord[];
}
/** External service that Tocsin uses. */
export interface IntegrationRecord {
  id: string;
  name: string;
  kind: string;
  configured: boolean;
  status: "ok" | "error" | "disabled" | "unconfigured";
  missing: string[];
  docs: string;
  latency_ms: number | null;
  checked_at: string | null;
  error: string | null;
}
/** Reason for the failure of a task job. */
export interface JobError {
  code: string;
  message: string;
}
/** Output of one run of a job. */
export interface JobLog {
  run_id: string;
  lines: LogLine[];
  next_line: number;
  complete: boolean;
  truncated: boolean;
}
/** Runs of a job, and the output of one of them. */
export interface JobLogs {
  items: RunSummary[];
  next_cursor: string | null;
  total: number | null;
  log: JobLog | null;
}
/** Result of a completed task job. */
export interface JobOutcome {
  outcome?: "completed" | "failed" | "cancelled";
  summary?: string;
  exit_code?: number | null;
}
/** Effect of a definition; the job is not stored. */
export interface JobPreviewRecord {
  name: string;
  description: string;
  schedule: string;
  timezone: string;
  type: JobType;
  command: string;
  params: Record<string, string | boolean | number | unknown[]>;
  env: Record<string, string>;
  working_dir: string;
  enabled: boolean;
  output: string | null;
  output_on: string;
  timeout_seconds: number;
  overlap: Overlap;
  max_queued: number;
  max_parallel: number;
  catchup: CatchUp;
  catchup_window_seconds: number;
  jitter_seconds: number;
  retry: RetryRecord;
  success_exit_codes: number[];
  history_limit: number;
  history_days: number;
  log_max_bytes: number;
  start_at: string | null;
  end_at: string | null;
  paused_until: string | null;
  auto_disable_after: number;
  tags: string[];
  schedule_text: string;
  next_runs: UpcomingInstant[];
  warnings: string[];
}
/** Result of a task job. */
export interface JobResultRecord {
  outcome: "completed" | "failed" | "cancelled";
  summary: string | null;
  exit_code: number | null;
}
/** Place where a job is defined. */
export type JobSource = "database" | "file";
/** State of a job. */
export type JobState = "scheduled" | "running" | "paused" | "auto_disabled" | "completed" | "invalid";
/** Type of a job's command. */
export type JobType = "shell" | "workflow" | "skill" | "prompt" | "message";
/** State of the host key. */
export type KeyStatus = "trusted" | "unknown" | "changed";
/** Kind of a skill. */
export type Kind = "assistant" | "runnable";
/** Last removal of decayed entries. */
export interface LastDecay {
  at: string;
  removed: number;
}
/** The last message of a conversation. */
export interface LastMessage {
  role: "user" | "assistant";
  preview: string;
  at: string | null;
}
/** Last test of the credentials of a channel. */
export interface LastTestRecord {
  ok: boolean;
  at: string;
  message: string;
  error: string;
}
/** A title, a text, or a row of buttons. */
export interface LayoutBlock {
  kind: BlockKind;
  spans: TextSpan[];
  buttons: LayoutButton[];
}
/** A button of a message; one without an address calls back. */
export interface LayoutButton {
  label: string;
  url: string;
  style: string;
}
/** A line above a message. */
export interface LayoutHeader {
  name: string;
  value: string;
}
/** The frame in which a product shows a message. */
export type LayoutLook = "text" | "chat" | "post" | "card" | "mail";
/** Blocks that stand together; those of a card have a bar of its colour. */
export interface LayoutSection {
  blocks: LayoutBlock[];
  card: boolean;
  colour: string;
}
/** One line that a run printed. */
export interface LogLine {
  n: number;
  ts: string;
  stream: string;
  text: string;
}
/** Result of a login. */
export interface LoginRecord {
  ok: boolean;
  latency_ms: number | null;
  error: string | null;
}
/** Matching entry. */
export interface MatchRecord {
  entry: EntryRecord;
  score: number;
  snippet: SnippetRecord;
}
/** The result of evaluating a rule for a message. */
export type MatchStatus = "fires" | "covered" | "no-match";
/** Statistics of memory. */
export interface MemoryStats {
  count: number;
  bytes: number;
  pinned: number;
  by_type: Record<string, number>;
  by_tag: Record<string, number>;
  strength_histogram: number[];
  fading: number;
  newest_at: string | null;
  oldest_at: string | null;
  last_decay: LastDecay | null;
}
/** Why there is no answer, or only a part of one. */
export interface MessageError {
  code: string;
  message: string;
}
/** How a product shows one message. */
export interface MessageLayout {
  look: LayoutLook;
  sections: LayoutSection[];
  headers: LayoutHeader[];
  silent: boolean;
}
/** The operation of a delivery on its message. */
export type MessageOperation = "send" | "edit" | "withdraw";
/** A message. */
export interface MessageRecord {
  id: string;
  conversation_id: string;
  role: "user" | "assistant";
  content: string;
  status: MessageStatus;
  seq: number;
  created_at: string | null;
  finished_at: string | null;
  model: string | null;
  provider: string | null;
  usage: UsageRecord;
  truncated: boolean;
  error: MessageError | null;
  attachments: AttachmentRecord[];
  client_message_id: string | null;
}
/** The state of a message. */
export type MessageStatus = "pending" | "streaming" | "complete" | "stopped" | "failed";
/** Error in a file. */
export interface MistakeRecord {
  line: number;
  column: number;
  key: string;
  pointer: string;
  code: string;
  detail: string;
  suggestion: string | null;
  severity: string;
}
/** Models named in the settings. */
export interface ModelList {
  items: ModelRecord[];
}
/** A model that can be asked. */
export interface ModelRecord {
  model: string;
  provider: string;
  setting: string;
  default: boolean;
}
/** Conversation to start. */
export interface NewConversation {
  title?: string;
  model?: string;
  system_prompt?: string;
}
/** Entry to store. */
export interface NewEntry {
  key: string;
  value: string;
  type?: EntryType;
  tags?: string[];
  importance?: number;
  pinned?: boolean;
  half_life_days?: number | null;
  expires_at?: string | null;
  if_absent?: boolean;
}
/** Task job to create. */
export interface NewJob {
  title: string;
  description?: string;
  command?: string;
  skill?: string;
  repo?: string;
  base_branch?: string;
  branch?: string;
  create_branch?: boolean;
  priority?: "low" | "normal" | "high";
  labels?: string[];
}
/** Message to answer, or `stop`. */
export interface NewMessage {
  conversation_id?: string;
  content?: string;
  client_message_id?: string;
  model?: string;
  replace_message_id?: string;
  attachments?: string[];
  stop?: boolean;
}
/** Target to which notices are sent. */
export interface NewNoticeTarget {
  channel: string;
  target: string;
}
/** Notification to store. */
export interface NewNotification {
  title: string;
  body?: string;
  level?: "info" | "success" | "warning" | "error";
  category?: "cron" | "workflow" | "vault" | "ssh" | "messaging" | "security" | "system" | "user";
  link?: string;
  dedupe_key?: string;
}
/** Subscription of a browser, as its `PushSubscription` has it. */
export interface NewPushDevice {
  endpoint: string;
  p256dh: string;
  auth: string;
  name?: string;
  replaces?: string;
}
/** Command, and the hosts to run it on. */
export interface NewSshRun {
  command: string;
  hosts?: string[];
  groups?: string[];
  timeout_seconds?: number;
  max_parallel?: number;
  stop_on_failure?: boolean;
  env?: Record<string, string>;
  working_dir?: string;
  dry_run?: boolean;
  output?: string | null;
}
/** Token to create. */
export interface NewToken {
  name: string;
  scopes: ("read" | "send" | "run" | "answer" | "admin")[];
  profiles?: string[];
}
/** A run that is due next. */
export interface NextRunRecord {
  job_id: string;
  name: string;
  at: string;
}
/** The urgency of a notice. */
export type NoticeLevel = "info" | "success" | "warning" | "error";
/** The target on which a person confirmed that a message arrived; `done` while notices go there. */
export interface NoticeTarget {
  done: boolean;
  profile: string;
  channel: string;
  target: string;
  confirmed_at: string | null;
}
/** The subject area of a notification. */
export type NotificationCategory = "cron" | "workflow" | "vault" | "ssh" | "messaging" | "security" | "system" | "user";
/** Notification for the operator. */
export interface NotificationRecord {
  id: string;
  title: string;
  body: string;
  level: NoticeLevel;
  category: NotificationCategory;
  source: string;
  link: string;
  read: boolean;
  read_at: string | null;
  created_at: string;
  last_at: string;
  count: number;
  dedupe_key: string;
  approval: WaitingApproval | null;
  expires_at: string;
}
/** State of the messages with the output of a run; it does not affect the state of the run. */
export type OutputDeliveryStatus = "none" | "pending" | "delivered" | "partial" | "failed";
/** The output of a run. */
export interface OutputRecord {
  bytes: number;
  lines: number;
  truncated: boolean;
  tail: string;
}
/** The outcome of one message with a run's output. */
export interface OutputResultRecord {
  ok: boolean;
  channel: string;
  target: string;
  message: string;
  error: string;
  delivery_id: string | null;
}
/** The policies. */
export type Overlap = "skip" | "queue" | "parallel" | "replace";
/** Entries of the caller. */
export interface OwnEntries {
  items: EntryRecord[];
}
/** Entry that an agent stores for itself. */
export interface OwnEntry {
  key: string;
  value: string;
  tags?: string[];
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_BrowserProfileRecord_ {
  items: BrowserProfileRecord[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_CronJobSummary_ {
  items: CronJobSummary[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_Delivery_ {
  items: Delivery[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_DoorRecord_ {
  items: DoorRecord[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_EntryRecord_ {
  items: EntryRecord[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_HeartbeatPing_ {
  items: HeartbeatPing[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_HeartbeatRecord_ {
  items: HeartbeatRecord[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_NotificationRecord_ {
  items: NotificationRecord[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_PushDevice_ {
  items: PushDevice[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_RunSummary_ {
  items: RunSummary[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_SkillRecord_ {
  items: SkillRecord[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_SshGroup_ {
  items: SshGroup[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_SshHost_ {
  items: SshHost[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_TaskJobRecord_ {
  items: TaskJobRecord[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_TokenRecord_ {
  items: TokenRecord[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_UpcomingJobRun_ {
  items: UpcomingJobRun[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_WatcherRecord_ {
  items: WatcherRecord[];
  next_cursor: string | null;
  total: number | null;
}
/** A page of a list; ask for the next one with `cursor`. */
export interface Page_WorkflowSummary_ {
  items: WorkflowSummary[];
  next_cursor: string | null;
  total: number | null;
}
/** One of the messages into which a text is split, with its length in the product's units. */
export interface PartPlan {
  text: string;
  length: number;
  layout: MessageLayout;
}
/** The content of a ping. */
export interface PingBody {
  n: number;
  body: string;
}
/** The kind of a ping. */
export type PingKind = "success" | "start" | "fail" | "log";
/** Reachability of the machine. */
export interface PingRecord {
  ok: boolean | null;
  method: string;
  rtt_ms: number | null;
  error: string | null;
}
/** Plan of a run. */
export interface PlanRecord {
  dry_run: boolean;
  workflow: string;
  plan: PlannedStepRecord[];
  problems: string[];
  warnings: string[];
}
/** Plan of a step. */
export interface PlannedStepRecord {
  step: string;
  type: string;
  wave: number;
  group: string;
  would_run: boolean | null;
  when: string | null;
  command: string;
  variables: Record<string, string>;
  for_each: string | null;
  items: unknown[] | null;
  depends_on: string[];
  host: string | null;
  hosts: string[];
  problems: string[];
}
/** Policy for messages that may have been delivered. */
export type Policy = "at_least_once" | "at_most_once";
/** Outcome of a press, with a sentence for the person. */
export interface PressOutcome {
  state: "done" | "received" | "refused";
  detail: string;
}
/** Button to press. */
export interface PressedButton {
  button: number;
}
/** The request to preview: a payload, or a stored request, by default the newest. */
export interface PreviewBody {
  payload?: string | null;
  request?: number | null;
  rule?: string | null;
}
/** A problem document (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: "command-denied" | "conflict" | "cross-site-request" | "delivery-failed" | "dependency-missing" | "disabled" | "forbidden" | "idempotency-key-reused" | "internal-error" | "invalid-credentials" | "invalid-request" | "invalid-signature" | "invalid-transition" | "method-not-allowed" | "name-taken" | "not-acceptable" | "not-found" | "not-ready" | "payload-too-large" | "precondition-failed" | "rate-limited" | "run-already-active" | "unauthenticated" | "unsupported-media-type" | "upstream-timeout" | "validation-failed" | "workflow-invalid";
  request_id: string;
  errors?: FieldProblem[];
}
/** All profiles. */
export interface ProfileList {
  items: ProfileRecord[];
}
/** Message for every target of a profile. */
export interface ProfileMessage {
  title?: string;
  priority?: number | "min" | "low" | "default" | "high" | "urgent";
  type?: string;
  click?: string;
  actions?: ({ action?: "view" | "call"; label: string; url?: string; name?: string; value?: string; style?: "" | "primary" | "success" | "danger"; confirm?: string; once?: boolean; })[];
  attach?: { name: string; type?: string; mime?: string; alt?: string; content?: string; hash?: string; size?: number; }[];
  mention?: string | string[];
  silent?: boolean;
  key?: string;
  thread?: string;
  ttl?: number;
  if_gone?: "post" | "drop";
  unable?: "post" | "skip";
  format?: string;
  parse_mode?: string;
  message: string;
  dry_run?: boolean;
}
/** The previews of a message for each target of a profile. */
export interface ProfilePlan {
  profile: string;
  plans: TargetPlan[];
}
/** Notification profile. */
export interface ProfileRecord {
  name: string;
  entries: ProfileTarget[];
  valid: boolean;
  errors: FileError[];
  used_by: ProfileUseRecord[];
}
/** Result of sending to a profile. */
export interface ProfileResult {
  profile: string;
  ok: boolean;
  sent: number;
  failed: number;
  results: SendResult[];
}
/** Target of a profile. */
export interface ProfileTarget {
  channel: string;
  target: string;
  usable: boolean;
  problem: string | null;
}
/** Job, rule or setting that sends to a profile. */
export interface ProfileUseRecord {
  kind: string;
  name: string;
}
/** Device that takes notifications. */
export interface PushDevice {
  name: string;
  id: string;
  service: string;
  user: string | null;
  created_at: string;
}
/** New name of a device. */
export interface PushDeviceName {
  name: string;
}
/** The data that a browser needs to become a device. */
export interface PushSetup {
  public_key: string | null;
  problem: string | null;
}
/** Queued message. */
export interface QueuedMessage {
  id: string;
  status: string;
}
/** Notifications to mark as read. */
export interface ReadAll {
  before?: string | null;
  category?: "cron" | "workflow" | "vault" | "ssh" | "messaging" | "security" | "system" | "user" | null;
}
/** Readiness of the service. */
export interface Readiness {
  status: "ok" | "degraded" | "error";
  checks: ReadinessCheck[];
}
/** Result of one readiness check. */
export interface ReadinessCheck {
  name: string;
  status: "ok" | "degraded" | "error";
}
/** Run, as shown in a bar chart. */
export interface RecentRun {
  id: string;
  status: RunStatus;
  started_at: string | null;
  duration_ms: number | null;
}
/** Run, as shown in a bar chart. */
export interface RecentWorkflowRun {
  id: string;
  status: RunStatus;
  started_at: string | null;
  duration_ms: number | null;
}
/** Receipt of a created, started or changed record, for tokens without the scope `read`. */
export interface RecordReceipt {
  id?: string | null;
  key?: string | null;
  run_id?: string | null;
  conversation_id?: string | null;
  kind?: string | null;
  status?: string | null;
  enabled?: boolean | null;
}
/** The outcome of a request. */
export type RequestState = "stored" | "sent" | "dropped" | "failed" | "refused";
/** Retry policy after a failure. */
export interface RetryRecord {
  max_attempts: number;
  delay_seconds: number;
  backoff: number;
  max_delay_seconds: number;
  on_exit_codes: number[];
}
/** Options for retrying a run. */
export interface RetryRun {
  from_step?: string;
}
/** Number of secrets by state, and the age of each secret. */
export interface RotationRecord {
  ok: number;
  warning: number;
  expired: number;
  items: SecretAgeRecord[];
}
/** Whether a secret is due for rotation. */
export type RotationState = "ok" | "warning" | "expired";
/** The request from which a rule is made. */
export interface RuleBody {
  request?: number | null;
  rule?: string | null;
  write?: boolean;
}
/** Active rules. */
export interface RuleList {
  items: RuleRecord[];
  problem: string | null;
}
/** Result of one rule for a text. */
export interface RuleOutcome {
  number: number;
  pattern: string;
  outcome: MatchStatus;
}
/** Trigger rule; `words` are a skill's name and its arguments. */
export interface RuleRecord {
  number: number;
  line: number;
  pattern: string;
  action: TriggerAction;
  command: string;
  reply: boolean;
  notes: string[];
  on: TriggerEvent;
}
/** Matching rule, and what it would run. */
export interface RuleTest {
  matched: boolean;
  rule: RuleRecord | null;
  groups: string[];
  would_run: string | null;
  rules: RuleOutcome[];
}
/** Number of runs by state, and results of the last 24 hours. */
export interface RunCountsRecord {
  active: number;
  waiting: number;
  queued: number;
  succeeded_24h: number;
  failed_24h: number;
  missed_24h: number;
}
/** Why a run failed. */
export interface RunError {
  code: string;
  message: string;
}
/** Options for running a job now. */
export interface RunJob {
  params?: Record<string, string | boolean | number | unknown[]>;
  dry_run?: boolean;
  force?: boolean;
}
/** A part of what a run printed. */
export interface RunLog {
  lines: LogLine[];
  next_line: number;
  complete: boolean;
  truncated: boolean;
}
/** One execution, with its steps and hosts. */
export interface RunRecord {
  id: string;
  kind: string;
  subject_id: string;
  subject_name: string;
  trigger: string;
  actor: string | null;
  status: RunStatus;
  reason: string | null;
  attempt: number;
  max_attempts: number;
  retry_of: string | null;
  parent_run_id: string | null;
  scheduled_for: string | null;
  queued_at: string;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  delay_ms: number | null;
  exit_code: number | null;
  signal: string | null;
  dry_run: boolean;
  params: Record<string, unknown>;
  env_keys: string[];
  output: OutputRecord;
  delivery: DeliveryRecord;
  error: RunError | null;
  steps: StepRecord[];
  hosts: HostRecord[];
}
/** Options for running a skill. */
export interface RunSkillNow {
  args?: string[];
  input?: string;
  mode?: ExecutionMode;
  timeout_seconds?: number | null;
  dry_run?: boolean;
}
/** State of a run. */
export type RunStatus = "queued" | "running" | "waiting" | "cancelling" | "succeeded" | "partially_succeeded" | "failed" | "timed_out" | "cancelled" | "interrupted" | "skipped" | "missed";
/** One execution, as lists show it. */
export interface RunSummary {
  id: string;
  kind: string;
  subject_id: string;
  subject_name: string;
  trigger: string;
  actor: string | null;
  status: RunStatus;
  reason: string | null;
  attempt: number;
  max_attempts: number;
  retry_of: string | null;
  parent_run_id: string | null;
  scheduled_for: string | null;
  queued_at: string;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  delay_ms: number | null;
  exit_code: number | null;
  signal: string | null;
  dry_run: boolean;
  params: Record<string, unknown>;
  env_keys: string[];
  output: OutputRecord;
  delivery: DeliveryRecord;
  error: RunError | null;
}
/** Run with its executed definition, and with its output if requested. */
export interface RunWithLog {
  id: string;
  kind: string;
  subject_id: string;
  subject_name: string;
  trigger: string;
  actor: string | null;
  status: RunStatus;
  reason: string | null;
  attempt: number;
  max_attempts: number;
  retry_of: string | null;
  parent_run_id: string | null;
  scheduled_for: string | null;
  queued_at: string;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  delay_ms: number | null;
  exit_code: number | null;
  signal: string | null;
  dry_run: boolean;
  params: Record<string, unknown>;
  env_keys: string[];
  output: OutputRecord;
  delivery: DeliveryRecord;
  error: RunError | null;
  steps: StepRecord[];
  hosts: HostRecord[];
  definition: Record<string, unknown> | null;
  log: RunLog | null;
}
/** Options for running a workflow. */
export interface RunWorkflow {
  params?: Record<string, unknown>;
  dry_run?: boolean;
  from_step?: string;
  only?: string[];
  env?: Record<string, string>;
}
/** A job that Tocsin itself runs on a schedule. */
export interface ScheduledJob {
  id: string;
  name: string;
  state: string;
  schedule_text: string | null;
  next_run_at: string | null;
  last_status: string | null;
  last_run_at: string | null;
  link: string;
}
/** Results of a search, best first. */
export interface SearchRecord {
  items: MatchRecord[];
  took_ms: number;
}
/** Age of a secret. */
export interface SecretAgeRecord {
  name: string;
  status: RotationState;
  age_days: number;
  max_age_days: number;
  warn_at: string;
  expires_at: string;
}
/** Limits of the services. */
export interface SecurityRecord {
  force_https: boolean;
  webhook_require_signature: boolean;
  warnings: SecurityWarning[];
}
/** Warning about an insecure setting. */
export interface SecurityWarning {
  code: string;
  message: string;
  fix: string;
}
/** Message to send. */
export interface SendMessage {
  title?: string;
  priority?: number | "min" | "low" | "default" | "high" | "urgent";
  type?: string;
  click?: string;
  actions?: ({ action?: "view" | "call"; label: string; url?: string; name?: string; value?: string; style?: "" | "primary" | "success" | "danger"; confirm?: string; once?: boolean; })[];
  attach?: { name: string; type?: string; mime?: string; alt?: string; content?: string; hash?: string; size?: number; }[];
  mention?: string | string[];
  silent?: boolean;
  key?: string;
  thread?: string;
  ttl?: number;
  if_gone?: "post" | "drop";
  unable?: "post" | "skip";
  format?: string;
  parse_mode?: string;
  channel: string;
  target: string;
  message: string;
  subject?: string;
  queue?: boolean;
  dry_run?: boolean;
}
/** The message, and its files. Every part with a file name is attached, in their order. */
export interface SendMessageBody {
  message: SendMessage;
  file?: string[];
}
/** The outcome of one message. */
export interface SendResult {
  ok: boolean;
  channel: string;
  target: string;
  message: string;
  error: string;
}
/** The message, and its files. Every part with a file name is attached, in their order. */
export interface SendToProfileBody {
  message: ProfileMessage;
  file?: string[];
}
/** Result of one message. */
export interface SentMessage {
  ok: boolean;
  channel: string;
  target: string;
  message: string;
  error: string;
  message_id: string | null;
  code: string | null;
  attempts: number;
  parts: number;
  duration_ms: number;
}
/** Message that is being answered. */
export interface SentRecord {
  conversation_id: string;
  user_message: MessageRecord;
  assistant_message: MessageRecord;
  stream: string;
}
/** Whether a service is running, as measured by a check. */
export interface ServiceRecord {
  name: string;
  status: SubsystemState;
  detail: string;
}
/** Setting; secrets are masked. */
export interface SettingRecord {
  key: string;
  value: string;
  source: "env" | "file" | "dotenv" | "vault" | "default";
  restart_required: boolean;
  description: string;
  secret: boolean;
}
/** Effective settings. */
export interface SettingsOverview {
  version: string;
  python: string;
  platform: string;
  pid: number;
  uptime_seconds: number;
  environment: string;
  data_dir: string;
  timezone: string;
  base_url: string;
  dashboard_url: string;
  security: SecurityRecord;
  limits: Record<string, number>;
  storage: StorageRecord;
  values: SettingRecord[];
}
/** The severity of a finding. */
export type Severity = "critical" | "error" | "warning" | "info";
/** User name and password. */
export interface SignInBody {
  username: string;
  password: string;
  remember?: boolean;
}
/** Whether the sign-in is kept. */
export interface SignInStep {
  done: boolean;
  user: string;
  file: string;
}
/** The new session; its cookie is in the headers. */
export interface SignedIn {
  user: string;
  expires_at: string;
}
/** Skill with its instructions and activation checks. */
export interface SkillDetail {
  priority: string | null;
  model: string | null;
  tools: string[];
  trigger_keywords: string[];
  file_patterns: string[];
  exclude_patterns: string[];
  coordination: Record<string, unknown> | null;
  vault: string[] | null;
  usable: boolean | null;
  at_hand: boolean | null;
  name: string;
  kind: Kind;
  description: string;
  enabled: boolean;
  permissions: string[];
  dependencies: DependencyRecord[];
  command: string | null;
  timeout_seconds: number | null;
  runnable: boolean;
  valid: boolean;
  errors: SkillProblemRecord[];
  warnings: SkillWarning[];
  hints: SkillProblemRecord[];
  built_in: boolean;
  path: string;
  file: string;
  last_run: RunSummary | null;
  runs_30d: number;
  active_reason: string;
  body: string | null;
  checks: ActivationRecord[];
}
/** Something that a skill found; a line of 0 is the whole file. */
export interface SkillFinding {
  path: string;
  line: number;
  severity: Severity;
  message: string;
  suggestion: string;
}
/** Error or hint in a file of a skill. */
export interface SkillProblemRecord {
  file: string;
  line: number;
  column: number;
  key: string;
  detail: string;
}
/** Runnable skill or assistant skill. */
export interface SkillRecord {
  priority: string | null;
  model: string | null;
  tools: string[];
  trigger_keywords: string[];
  file_patterns: string[];
  exclude_patterns: string[];
  coordination: Record<string, unknown> | null;
  vault: string[] | null;
  usable: boolean | null;
  at_hand: boolean | null;
  name: string;
  kind: Kind;
  description: string;
  enabled: boolean;
  permissions: string[];
  dependencies: DependencyRecord[];
  command: string | null;
  timeout_seconds: number | null;
  runnable: boolean;
  valid: boolean;
  errors: SkillProblemRecord[];
  warnings: SkillWarning[];
  hints: SkillProblemRecord[];
  built_in: boolean;
  path: string;
  file: string;
  last_run: RunSummary | null;
  runs_30d: number;
  active_reason: string;
}
/** Problem that prevents the program of a skill from starting. */
export interface SkillWarning {
  detail: string;
  fix: string;
}
/** Part of a value around a match. */
export interface SnippetRecord {
  text: string;
  matches: [number, number][];
}
/** Group of hosts. */
export interface SshGroup {
  name: string;
  hosts: string[];
  host_count: number;
}
/** Health of several hosts. */
export interface SshHealth {
  checked_at: string;
  summary: Record<string, number>;
  items: HostHealthRecord[];
}
/** A host. */
export interface SshHost {
  name: string;
  hostname: string;
  port: number;
  user: string;
  groups: string[];
  tags: string[];
  description: string;
  jump_host: string | null;
  identity: IdentityRecord;
  host_key: HostKeyRecord;
  source: HostSource;
  enabled: boolean;
  status: HostHealth;
  last_checked_at: string | null;
}
/** Effect of a command. */
export interface SshPlan {
  dry_run: boolean;
  hosts: string[];
  command: string;
}
/** Overall status. */
export interface Status {
  version: string;
  status: "ok" | "degraded" | "error";
  uptime_seconds: number | null;
  checked_at: string;
  timezone: string;
  data_dir: string;
  subsystems: Record<string, SubsystemRecord>;
  services: ServiceRecord[];
  runs: RunCountsRecord | null;
  unread_notifications: number | null;
  next_runs: NextRunRecord[];
  recent_runs: RunSummary[];
  attention: AttentionRecord[];
}
/** One step of a run. */
export interface StepRecord {
  name: string;
  type: string;
  status: RunStatus;
  attempt: number;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  exit_code: number | null;
  when: string | null;
  error: RunError | null;
  outputs: Record<string, unknown>;
  message: string | null;
}
/** Options for stopping a browser. */
export interface StopBrowser {
  forget?: boolean;
}
/** Answer that is being stopped. */
export interface StoppedRecord {
  conversation_id: string;
  assistant_message: MessageRecord | null;
}
/** Contents of the data directory. */
export interface StorageRecord {
  bytes: number;
  by_area: Record<string, number>;
}
/** The state of a subsystem, as measured by its checks. */
export interface SubsystemRecord {
  status: SubsystemState;
  summary: string;
  counts: Record<string, number>;
  last_event_at: string | null;
  link: string;
}
/** The state of a subsystem, from best to worst. */
export type SubsystemState = "disabled" | "unconfigured" | "ok" | "degraded" | "error";
/** How a channel shows a field. */
export type Support = "native" | "degraded" | "ignored" | "refused";
/** The preview of a message for one target; `error` says why it would be refused. */
export interface TargetPlan {
  parts: PartPlan[];
  warnings: string[];
  fields: FieldPlan[];
  files: FilePlan[];
  channel: string;
  target: string;
  error: string;
  skipped: string;
}
/** Unit of work with a state, optionally with its own git branch; facts of the branch are those of the last look. */
export interface TaskJobRecord {
  id: string;
  title: string;
  description: string;
  status: TaskJobStatus;
  priority: TaskPriority;
  labels: string[];
  repo: string | null;
  base_branch: string | null;
  branch: string | null;
  worktree_path: string | null;
  head_sha: string | null;
  ahead: number | null;
  behind: number | null;
  diffstat: DiffStatRecord | null;
  progress: number | null;
  run_id: string | null;
  result: JobResultRecord | null;
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  created_by: string | null;
  error: JobError | null;
}
/** The state of a task job. */
export type TaskJobStatus = "queued" | "running" | "completed" | "failed" | "cancelled";
/** How urgent a task job is; people and lists read it. */
export type TaskPriority = "low" | "normal" | "high";
/** A piece of text with one formatting. */
export interface TextSpan {
  text: string;
  styles: string[];
  url: string;
}
/** The record of a token, without the token itself. */
export interface TokenRecord {
  id: string;
  name: string;
  scopes: ("read" | "send" | "run" | "answer" | "admin")[];
  created_at: string;
  last_used_at: string | null;
  profiles: string[];
}
/** A conversation and its messages, the oldest first. */
export interface TranscriptRecord {
  id: string;
  title: string;
  created_at: string | null;
  updated_at: string | null;
  message_count: number;
  model: string | null;
  provider: string | null;
  system_prompt: string;
  source: string;
  status: "idle" | "generating";
  last_message: LastMessage | null;
  usage: UsageRecord;
  messages: MessageRecord[];
  has_earlier: boolean;
  last_event_id: string;
}
/** The kind of action of a rule. */
export type TriggerAction = "shell" | "claude" | "skill";
/** The kind of event for which rules are evaluated. */
export type TriggerEvent = "message" | "action";
/** Text to test the rules with. */
export interface TriggerText {
  text: string;
  on?: string;
  channel?: string;
}
/** Number of unread notifications, and the newest of them. */
export interface UnreadRecord {
  count: number;
  items: NotificationRecord[];
}
/** Scheduled run of a job. */
export interface UpcomingInstant {
  at: string;
  local: string;
  note: string | null;
}
/** Scheduled run, with its job. */
export interface UpcomingJobRun {
  job_id: string;
  name: string;
  at: string;
  local: string;
  note: string | null;
}
/** Number of changed records. */
export interface UpdatedCount {
  updated: number;
}
/** Token usage of an answer or a conversation. */
export interface UsageRecord {
  input_tokens: number;
  output_tokens: number;
}
/** Errors of a workflow, or its graph if it has none. */
export interface ValidationRecord {
  valid: boolean;
  errors: MistakeRecord[];
  warnings: MistakeRecord[];
  graph: GraphRecord;
}
/** Names of all secrets. */
export interface VaultKeys {
  keys: string[];
  count: number;
}
/** State of the vault. */
export interface VaultStatusRecord {
  initialized: boolean;
  locked: boolean;
  backend: string;
  vault_mode: string | null;
  identity_mode: string | null;
  permissions_ok: boolean;
  key_count: number | null;
  updated_at: string | null;
  problem: string | null;
  rotation: RotationRecord;
}
/** Waiting step: decide with `POST /api/runs/{run_id}/approve` or `/reject`. */
export interface WaitingApproval {
  run_id: string;
  step: string;
}
/** The kind of change of a file. */
export type WatchEvent = "created" | "modified" | "deleted" | "moved";
/** The action of a rule. */
export type WatcherAction = "shell" | "skill" | "workflow" | "notify";
/** Change of a file, and the action that followed. */
export interface WatcherEvent {
  at: string;
  type: WatchEvent;
  path: string;
  run_id: string | null;
}
/** Watcher rule with its state. */
export interface WatcherRecord {
  name: string;
  path: string;
  command: string;
  action: WatcherAction;
  recursive: boolean;
  patterns: string[];
  exclude_patterns: string[];
  events: WatchEvent[];
  debounce_ms: number;
  cooldown_seconds: number;
  enabled: boolean;
  output: string | null;
  state: WatcherState;
  error: string | null;
  backend: string | null;
  last_event: FileEvent | null;
  last_run: RunSummary | null;
  events_24h: number;
}
/** The state of a rule. */
export type WatcherState = "watching" | "paused" | "error";
/** Watcher rule with its latest changes. */
export interface WatcherWithEvents {
  name: string;
  path: string;
  command: string;
  action: WatcherAction;
  recursive: boolean;
  patterns: string[];
  exclude_patterns: string[];
  events: WatchEvent[];
  debounce_ms: number;
  cooldown_seconds: number;
  enabled: boolean;
  output: string | null;
  state: WatcherState;
  error: string | null;
  backend: string | null;
  last_event: FileEvent | null;
  last_run: RunSummary | null;
  events_24h: number;
  recent: WatcherEvent[];
}
/** Text to validate; by default, the stored file. */
export interface WorkflowCheck {
  yaml?: string | null;
}
/** Workflow with the content of its file. */
export interface WorkflowRecord {
  name: string;
  description: string;
  notify_profile: string | null;
  steps_count: number;
  valid: boolean;
  error_count: number;
  file: string;
  updated_at: string;
  schedules: string[];
  last_run: RunSummary | null;
  recent: RecentWorkflowRun[];
  yaml: string;
  definition: Record<string, unknown> | null;
  params: Record<string, unknown>;
  errors: MistakeRecord[];
  warnings: MistakeRecord[];
  graph: GraphRecord;
}
/** Workflow, as returned in lists. */
export interface WorkflowSummary {
  name: string;
  description: string;
  notify_profile: string | null;
  steps_count: number;
  valid: boolean;
  error_count: number;
  file: string;
  updated_at: string;
  schedules: string[];
  last_run: RunSummary | null;
  recent: RecentWorkflowRun[];
}
/** Text of a workflow. */
export interface WorkflowText {
  yaml: string;
}
/** A rule for requests such as one that was received. */
export interface WrittenRule {
  rule: string;
  written: boolean;
}
/** What `api.get` answers, by the address. */
export interface GetAnswers {
  "/api/access": ChatList;
  "/api/audit/search": AuditSearch;
  "/api/audit/tail": AuditPage;
  "/api/audit/verify": ChainVerification;
  "/api/browser/profiles": Page_BrowserProfileRecord_;
  "/api/chat/conversations": ConversationPageRecord;
  "/api/chat/models": ModelList;
  "/api/cron/jobs": Page_CronJobSummary_;
  "/api/cron/upcoming": Page_UpcomingJobRun_;
  "/api/deliveries": Page_Delivery_;
  "/api/devices": Page_PushDevice_;
  "/api/doors": Page_DoorRecord_;
  "/api/doors/kinds": DoorKinds;
  "/api/health": Readiness;
  "/api/heartbeats": Page_HeartbeatRecord_;
  "/api/heartbeats/jobs": ScheduledJob[];
  "/api/jobs": Page_TaskJobRecord_;
  "/api/jobs/branches": BranchList;
  "/api/memory": Page_EntryRecord_;
  "/api/memory/own/entries": OwnEntries;
  "/api/memory/search": SearchRecord;
  "/api/memory/stats": MemoryStats;
  "/api/msg/channels": ChannelList;
  "/api/msg/profiles": ProfileList;
  "/api/notifications": Page_NotificationRecord_;
  "/api/notifications/target": NoticeTarget;
  "/api/notifications/unread": UnreadRecord;
  "/api/openapi.json": Record<string, unknown>;
  "/api/push-setup": PushSetup;
  "/api/runs": Page_RunSummary_;
  "/api/settings/first-steps": FirstSteps;
  "/api/settings/integrations": IntegrationList;
  "/api/settings/overview": SettingsOverview;
  "/api/skills": Page_SkillRecord_;
  "/api/ssh/groups": Page_SshGroup_;
  "/api/ssh/health": SshHealth;
  "/api/ssh/hosts": Page_SshHost_;
  "/api/status": Status;
  "/api/tokens": Page_TokenRecord_;
  "/api/triggers": RuleList;
  "/api/vault/keys": VaultKeys;
  "/api/vault/status": VaultStatusRecord;
  "/api/watchers/rules": Page_WatcherRecord_;
  "/api/workflows": Page_WorkflowSummary_;
  "/health": HealthRecord;
}
