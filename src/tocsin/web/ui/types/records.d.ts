// The names by which pages know the records of the REST API. What they hold stands in api.d.ts, which is generated.
import type * as Api from "./api";

/** A record of a list; read by its id it has more. */
type Listed<Brief, Whole> = Brief & Partial<Omit<Whole, keyof Brief>>;

export type Time = string;
export interface List<T> { items: T[]; next_cursor: string | null; total: number | null }

export type RunStatus = Api.RunStatus;
export type Run = Listed<Api.RunSummary, Api.RunWithLog>;
export type StepRun = Api.StepRecord;
export type HostResult = Api.HostRecord;
export type RecentRun = Api.RecentRun;
export type LogLine = Api.LogLine;
export type LogPage = Api.RunLog;

export type StatusReport = Api.Status;
export type Subsystem = Api.SubsystemRecord;
export type SubsystemState = Subsystem["status"];

export type CronJob = Listed<Api.CronJobSummary, Api.CronJobRecord>;
export type CronPreview = Api.JobPreviewRecord;
export type Instant = Api.UpcomingInstant;
export type DueRun = Api.UpcomingJobRun;

export type Workflow = Listed<Api.WorkflowSummary, Api.WorkflowRecord>;
export type WorkflowGraph = Api.GraphRecord;
export type WorkflowPlan = Api.PlanRecord;
export type YamlProblem = Api.MistakeRecord;
export type Validation = Api.ValidationRecord;

/** What a message came to: the five fields of every send, and more where one message was sent. */
export type SendResult = Listed<Api.SendResult, Api.SentMessage>;
export type OutputResult = Api.OutputResultRecord;
export type Channel = Api.ChannelRecord;
export type FirstSteps = Api.FirstSteps;
export type ChannelSettings = Api.ChannelSettings;
export type Profile = Api.ProfileRecord;
export type Delivery = Api.Delivery;
export type MessageLayout = Api.MessageLayout;
export type MessagePlan = Api.TargetPlan;
export type Chat = Api.ChatRecord;
export type Rule = Api.RuleRecord;
export type RuleTest = Api.RuleTest;

export type Host = Api.SshHost;
export type HostHealth = Api.HostHealthRecord;
export type HostGroup = Api.SshGroup;

export type MemoryEntry = Api.EntryRecord;
export type MemoryStats = Api.MemoryStats;
export type Skill = Listed<Api.SkillRecord, Api.SkillDetail>;
export type SkillProblem = Api.SkillProblemRecord;

export type AuditEntry = Api.AuditRecord;
export type AuditPage = Api.AuditPage;
export type ChainVerification = Api.ChainVerification;
export type VaultStatus = Api.VaultStatusRecord;
export type SecretAge = Api.SecretAgeRecord;
export type WatcherRule = Listed<Api.WatcherRecord, Api.WatcherWithEvents>;
export type WatcherEvent = Api.WatcherEvent;

export type Heartbeat = Api.HeartbeatRecord;
export type HeartbeatPing = Api.HeartbeatPing;
export type HeartbeatInstant = Api.HeartbeatInstant;
export type Door = Api.DoorRecord;
export type DoorKinds = Api.DoorKinds;
export type DoorPreview = Api.DoorPreview;
export type DoorRequest = Api.DoorRequestRecord;
export type DoorSetUp = Api.DoorSetUp;
export type ScheduledJob = Api.ScheduledJob;
export type BrowserProfile = Api.BrowserProfileRecord;

export type Device = Api.PushDevice;
export type PushSetup = Api.PushSetup;

export type Usage = Api.UsageRecord;
export type Conversation = Listed<Api.ConversationRecord, Api.TranscriptRecord>;
export type Message = Api.MessageRecord;
export type ChatModel = Api.ModelRecord;

export type Diffstat = Api.DiffStatRecord;
export type TaskJob = Api.TaskJobRecord;
export type Branch = Listed<Api.BranchRecord, Api.BranchWithChanges>;
export type BranchCommit = Api.BranchCommit;
export type BranchFile = Api.BranchFile;

export type Notice = Api.NotificationRecord;
export type Overview = Api.SettingsOverview;
export type Setting = Api.SettingRecord;
export type Integration = Api.IntegrationRecord;
export type Token = Api.TokenRecord;
