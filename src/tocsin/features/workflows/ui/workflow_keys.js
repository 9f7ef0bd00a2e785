// Made by `make docs` from the schema of workflow files. Do not edit.

/**
 * What a key means, which words it takes, and what stands below it: `keys`, or `each` below names that people choose.
 * @typedef {{says: string, words?: string[], keys?: Keys, each?: Keys, steps?: boolean}} Key
 */
/** @typedef {{[name: string]: Key}} Keys */
/** Keys at the top of the file. @type {Keys} */
export const WORKFLOW_KEYS = {
  "name": {"says": "The file's name without .yaml"},
  "description": {"says": "Description"},
  "notify_profile": {"says": "The notification profile that gets a summary of a run"},
  "notify_on": {"says": "After which runs: always", "words": ["success", "failure", "recovery", "always"]},
  "timezone": {"says": "The time zone of `until` in wait steps, such as Europe/Berlin"},
  "timeout": {"says": "The time limit of a whole run; 0 is none"},
  "max_parallel": {"says": "How many steps run at once"},
  "overlap": {"says": "What a start does while a run is active", "words": ["skip", "queue", "parallel", "replace"]},
  "parallel": {"says": "Whether steps without depends_on start at once", "words": ["true", "false"]},
  "working_dir": {"says": "Where commands run: the data directory"},
  "env": {"says": "Variables of all commands"},
  "params": {"says": "", "each": {"type": {"says": "What the value is", "words": ["string", "integer", "number", "boolean", "list"]}, "required": {"says": "Whether a run must be given it", "words": ["true", "false"]}, "default": {"says": "The value of a run that is not given one"}, "description": {"says": "What it is, for a form"}, "enum": {"says": "The values that are accepted"}, "minimum": {"says": "The lowest number that is accepted"}, "maximum": {"says": "The highest number that is accepted"}}},
  "defaults": {"says": "What holds for every step that does not say otherwise", "keys": {"timeout": {"says": "The time limit of each attempt"}, "retry": {"says": "When a failed step is tried again", "keys": {"max_attempts": {"says": "How often the step is tried in all"}, "delay": {"says": "The first pause"}, "backoff": {"says": "By how much each pause is longer than the one before"}, "max_delay": {"says": "The longest pause"}, "on_exit_codes": {"says": "Try again only after these exit codes"}}}, "continue_on_error": {"says": "Whether the run continues after a failure", "words": ["true", "false"]}, "working_dir": {"says": "Where commands run"}}},
  "steps": {"says": "Type of action", "steps": true},
  "on_success": {"says": "Steps after a run that succeeded", "steps": true},
  "on_failure": {"says": "Steps after a run that failed", "steps": true},
  "on_finish": {"says": "Steps after every run", "steps": true},
};
/** Keys of every step. @type {Keys} */
export const STEP_KEYS = {
  "name": {"says": "Its name, unique in the file"},
  "description": {"says": "Description"},
  "depends_on": {"says": "The steps that must end before it"},
  "when": {"says": "The condition under which it runs: success()"},
  "env": {"says": "Variables of its command"},
  "working_dir": {"says": "Where its command runs"},
  "timeout": {"says": "The time limit of each attempt; 0 is none"},
  "retry": {"says": "When a failed step is tried again", "keys": {"max_attempts": {"says": "How often the step is tried in all"}, "delay": {"says": "The first pause"}, "backoff": {"says": "By how much each pause is longer than the one before"}, "max_delay": {"says": "The longest pause"}, "on_exit_codes": {"says": "Try again only after these exit codes"}}},
  "continue_on_error": {"says": "Whether the run continues after its failure", "words": ["true", "false"]},
  "on_interrupt": {"says": "If Tocsin ends while it runs", "words": ["fail", "retry"]},
  "outputs": {"says": "Values for later steps: source | filter"},
  "for_each": {"says": "Run it once for each value: ${item}"},
  "max_parallel": {"says": "How many values or hosts are worked on at once"},
  "require_success": {"says": "Whether a skipped dependency blocks it, too", "words": ["true", "false"]},
  "always_run": {"says": "Short for when: always()", "words": ["true", "false"]},
  "type": {"says": "Description", "words": ["shell", "ssh", "skill", "prompt", "chat", "notify", "message", "http", "wait", "workflow"]},
};
/** Keys of steps of one type. @type {Record<string, Keys>} */
export const KIND_KEYS = {
  "shell": {
    "command": {"says": "The script, where $PARAM_NAME is a value; a list is a program and its arguments, without a shell"},
    "shell": {"says": "The shell that reads the command: sh -eu"},
    "stdin": {"says": "Its standard input"},
    "success_exit_codes": {"says": "Exit codes of success: 0"},
  },
  "ssh": {
    "command": {"says": "The script that each host runs, where $PARAM_NAME is a value"},
    "hosts": {"says": "The hosts"},
    "groups": {"says": "The groups of hosts"},
    "stop_on_failure": {"says": "Whether hosts are left out after a failure", "words": ["true", "false"]},
    "user": {"says": "User on the host"},
  },
  "skill": {
    "command": {"says": "The name of the skill"},
    "args": {"says": "Its arguments"},
    "input": {"says": "Its standard input"},
    "mode": {"says": "How far it is confined", "words": ["sandboxed", "standard"]},
  },
  "prompt": {
    "command": {"says": "The question to the chat model"},
    "system": {"says": "Instructions in front of the question"},
    "model": {"says": "The model, if not CHAT_MODEL"},
    "max_tokens": {"says": "The longest answer"},
    "temperature": {"says": "How free the answer is"},
    "response_format": {"says": "`json` requires a JSON answer", "words": ["text", "json"]},
  },
  "chat": {
    "command": {"says": "The question to the chat model"},
    "system": {"says": "Instructions in front of the question"},
    "model": {"says": "The model, if not CHAT_MODEL"},
    "max_tokens": {"says": "The longest answer"},
    "temperature": {"says": "How free the answer is"},
    "response_format": {"says": "`json` requires a JSON answer", "words": ["text", "json"]},
  },
  "notify": {
    "command": {"says": "Text of the message"},
    "profile": {"says": "The notification profile"},
    "channel": {"says": "A channel, with `target` in place of a profile"},
    "target": {"says": "Target on the channel"},
    "subject": {"says": "The subject of a mail"},
    "parse_mode": {"says": "How the channel reads the text, if it knows this mode"},
    "required": {"says": "Whether a message that is not sent fails the step", "words": ["true", "false"]},
  },
  "message": {
    "command": {"says": "Text of the message"},
    "profile": {"says": "The notification profile"},
    "channel": {"says": "A channel, with `target` in place of a profile"},
    "target": {"says": "Target on the channel"},
    "subject": {"says": "The subject of a mail"},
    "parse_mode": {"says": "How the channel reads the text, if it knows this mode"},
    "required": {"says": "Whether a message that is not sent fails the step", "words": ["true", "false"]},
  },
  "http": {
    "url": {"says": "What to call"},
    "method": {"says": "", "words": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]},
    "headers": {"says": ""},
    "body": {"says": "What is sent"},
    "json": {"says": "What is sent, as JSON"},
    "expect_status": {"says": "Success: 200 to 299"},
    "expect_body": {"says": "A pattern that the answer must match"},
  },
  "wait": {
    "duration": {"says": "How long"},
    "until": {"says": "Until when: 18:00 or 2026-12-01T09:00"},
    "approval": {"says": "Until a person approves", "words": ["true", "false"]},
    "message": {"says": "What is to be approved"},
    "approvers": {"says": "Who alone may, such as chat:7"},
    "not_by_starter": {"says": "Whether the one who started the run may not", "words": ["true", "false"]},
    "on_timeout": {"says": "What the end of `timeout` means", "words": ["fail", "continue"]},
  },
  "workflow": {
    "command": {"says": "The name of the workflow"},
    "params": {"says": "Its parameters"},
  },
};
export const RUN_NAMES = ["id", "name", "scheduled_for", "trigger", "attempt", "started_at"];
export const STEP_NAMES = ["status", "exit_code"];
