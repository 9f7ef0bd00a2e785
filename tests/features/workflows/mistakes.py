"""Mistakes that people make in workflow files: the file, and what the validator must say of it."""

# ruff: noqa: E501  # one entry, one line: the table is read as a whole

from typing import NamedTuple


class Mistake(NamedTuple):
    """One file with one mistake. `near` is the suggestion, empty where there is none."""

    name: str
    line: int
    code: str
    near: str
    text: str


def flow(name: str, line: int, code: str, near: str, steps: str, head: str = "") -> Mistake:
    """Return a mistake in the steps of a file: they begin at line 3, behind the lines of `head`."""
    return Mistake(name, line, code, near, f"name: nightly\n{head}steps:\n{steps}\n")


DUMP = "  - name: dump\n    command: pg_dump app\n"  # two lines

MISTAKES = (
    Mistake("a tab indents", 3, "syntax", "", "name: nightly\nsteps:\n\t- name: dump\n"),
    Mistake("a quote is not closed", 4, "syntax", "", 'name: nightly\nsteps:\n  - name: a\n    command: "ls\n'),
    Mistake("a colon in a value", 4, "syntax", "", "name: nightly\nsteps:\n  - name: a\n    command: echo a: b\n"),
    flow("an alias", 4, "syntax", "", "  - name: a\n    command: *x"),
    flow("a tag", 4, "syntax", "", "  - name: a\n    command: !run ls"),
    flow("an anchor", 4, "syntax", "", "  - name: a\n    command: &x ls"),
    flow("a key that is a switch", 5, "syntax", "", "  - name: a\n    command: ls\n    env: {true: x}"),
    Mistake("an empty file", 1, "missing-key", "name", "# to be written\n"),
    Mistake("a root key twice", 2, "duplicate-key", "", "name: nightly\nname: nightly\nsteps:\n" + DUMP),
    flow("a key of a step twice", 5, "duplicate-key", "", DUMP + "    command: ls"),
    flow("comand", 4, "unknown-key", "command", "  - name: a\n    comand: ls"),
    Mistake("step for steps", 2, "unknown-key", "steps", "name: nightly\nstep:\n" + DUMP),
    flow("depend_on", 7, "unknown-key", "depends_on", DUMP + "  - name: b\n    command: ls\n    depend_on: dump"),
    flow("retrys", 5, "unknown-key", "retry", DUMP + "    retrys: {max_attempts: 2}"),
    flow("timout", 5, "unknown-key", "timeout", DUMP + "    timout: 5m"),
    flow("max_atempts", 5, "unknown-key", "max_attempts", DUMP + "    retry: {max_atempts: 2}"),
    flow("notify_profil", 2, "unknown-key", "notify_profile", DUMP, "notify_profil: oncall\n"),
    flow("on_sucess", 5, "unknown-key", "on_success", DUMP + "on_sucess: []"),
    flow("a key of another type of step", 5, "unknown-key", "", DUMP + "    url: https://example.org"),
    flow("defaults with a key of a step", 2, "unknown-key", "", DUMP, "defaults: {when: always()}\n"),
    Mistake("no name", 1, "missing-key", "", "steps:\n" + DUMP),
    Mistake("no steps", 1, "missing-key", "", "name: nightly\n"),
    flow("a step without a command", 3, "missing-key", "", "  - name: a"),
    flow("a step without a name", 3, "missing-key", "", "  - command: ls"),
    flow("a call without an address", 3, "missing-key", "", "  - name: a\n    type: http"),
    flow("a message without a place", 3, "missing-key", "", "  - {name: a, type: notify, command: hi}"),
    flow("a channel without a target", 3, "missing-key", "", "  - {name: a, type: notify, command: hi, channel: email}"),
    flow("a wait for nothing", 3, "missing-key", "", "  - {name: a, type: wait}"),
    flow("ssh without a host", 3, "missing-key", "", "  - {name: a, type: ssh, command: uptime}"),
    Mistake("steps that are a mapping", 3, "wrong-type", "", "name: nightly\nsteps:\n  dump: {command: ls}\n"),
    flow("a variable that is a switch", 5, "wrong-type", "", DUMP + "    env: {DEBUG: true}"),
    flow("a number that is a text", 2, "wrong-type", "", DUMP, "max_parallel: four\n"),
    flow("yes for true", 5, "wrong-type", "", DUMP + "    continue_on_error: yes"),
    flow("a dependency that is a mapping", 7, "wrong-type", "",
         DUMP + "  - name: b\n    command: ls\n    depends_on: {dump: true}"),
    flow("a step that is a text", 3, "wrong-type", "", "  - pg_dump app"),
    flow("shel", 4, "bad-value", "shell", "  - name: a\n    type: shel\n    command: ls"),
    flow("overlap: skipp", 2, "bad-value", "skip", DUMP, "overlap: skipp\n"),
    Mistake("a name that is not the file's", 1, "bad-value", "nightly", "name: nightlly\nsteps:\n" + DUMP),
    flow("an unknown zone", 2, "bad-value", "Europe/Berlin", DUMP, "timezone: Europe/Berlni\n"),
    flow("max_parallel: 0", 2, "bad-value", "", DUMP, "max_parallel: 0\n"),
    flow("notify_on: failed", 2, "bad-value", "failure", DUMP, "notify_on: [failures]\n"),
    flow("a wait for two things", 3, "bad-value", "", "  - {name: a, type: wait, duration: 5m, until: '18:00'}"),
    flow("an address without a scheme", 5, "bad-value", "https://example.org/x",
         "  - name: a\n    type: http\n    url: example.org/x"),
    flow("a misspelt source", 5, "bad-value", "stdout", DUMP + "    outputs: {size: stdot}"),
    flow("a misspelt filter", 6, "bad-value", "first_line", DUMP + "    outputs:\n      size: stdout | frst_line"),
    flow("a pattern that cannot be read", 6, "bad-value", "", DUMP + "    outputs:\n      size: \"stdout | regex:'(a'\""),
    flow("a default of another type", 2, "bad-value", "", DUMP, "params: {keep: {type: integer, default: many}}\n"),
    flow("a default that is not in enum", 2, "bad-value", "", DUMP, "params: {host: {enum: [a, b], default: c}}\n"),
    flow("a method in small letters", 5, "bad-value", "", "  - name: a\n    type: http\n    method: post\n    url: https://x.org"),
    flow("a 30th of February", 3, "bad-value", "", "  - {name: a, type: wait, until: '2027-02-30T09:00'}"),
    flow("25 o'clock", 3, "bad-value", "", "  - {name: a, type: wait, until: '25:00'}"),
    flow("a step's name in capitals", 3, "bad-value", "", "  - name: Dump\n    command: ls"),
    Mistake("no step in the list", 2, "bad-value", "", "name: nightly\nsteps: []\n"),
    flow("always_run and when", 6, "bad-value", "", DUMP + "    when: failure()\n    always_run: true"),
    flow("a value in shell text", 4, "bad-value", 'env: {RUN_NAME: "${run.name}"}', "  - name: a\n    command: echo '${run.name}'"),
    flow("a value in an arithmetic expression", 4, "bad-value", 'env: {RUN_ATTEMPT: "${run.attempt}"}',
         "  - name: a\n    command: echo $((${run.attempt} + 1))"),
    flow("a value in a script of Python", 4, "bad-value", 'env: {RUN_ID: "${run.id}"}',
         "  - name: a\n    command: print('${run.id}')\n    shell: python3"),
    flow("a value in the script of a list", 8, "bad-value", 'env: {ITEM: "${item}"}',
         "  - name: a\n    for_each: [x]\n    command:\n    - sh\n    - -c\n    - echo ${item}"),
    flow("text in an arithmetic expression", 5, "text-as-code", "",
         "  - name: a\n    command: echo $((PARAM_N + 1))", "params: {n: {default: a}}\n"),
    flow("two parameters of one variable", 2, "bad-value", "", DUMP, "params: {keep: {}, Keep: {}}\n"),
    flow("timeout: soon", 5, "bad-duration", "", DUMP + "    timeout: soon"),
    flow("ten minutes in words", 5, "bad-duration", "", DUMP + "    retry: {delay: 10 minutes}"),
    flow("a step twice", 5, "duplicate-step", "", DUMP + "  - name: dump\n    command: ls"),
    flow("a misspelt dependency", 7, "unknown-dependency", "dump",
         DUMP + "  - name: copy\n    command: ls\n    depends_on: [dupm]"),
    flow("two steps wait for each other", 5, "dependency-cycle", "",
         DUMP + "    depends_on: copy\n  - name: copy\n    command: ls\n    depends_on: dump"),
    flow("a step waits for itself", 5, "dependency-cycle", "", DUMP + "    depends_on: dump"),
    flow("workflows start each other", 5, "dependency-cycle", "", "  - name: a\n    type: workflow\n    command: weekly"),
    flow("a misspelt profile", 2, "unknown-profile", "oncall", DUMP, "notify_profile: oncal\n"),
    flow("a misspelt profile of a step", 3, "unknown-profile", "oncall",
         "  - {name: a, type: notify, command: hi, profile: onncall}"),
    flow("a misspelt channel", 3, "bad-value", "email", "  - {name: a, type: notify, command: hi, channel: emial, target: x}"),
    flow("a misspelt parse mode", 3, "bad-value", "HTML",
         "  - {name: a, type: notify, command: hi, profile: oncall, parse_mode: HTLM}"),
    flow("an unknown host", 3, "unknown-host", "web1", "  - {name: a, type: ssh, command: uptime, hosts: [web2x, web1]}"),
    flow("a misspelt skill", 3, "unknown-skill", "backup", "  - {name: a, type: skill, command: bakcup}"),
    flow("a misspelt workflow", 3, "unknown-workflow", "weekly", "  - {name: a, type: workflow, command: weekli}"),
    flow("a misspelt parameter", 5, "unknown-variable", "params.host",
         "  - name: a\n    command: ping ${params.hots}", "params: {host: {default: a}}\n"),
    flow("a misspelt output", 7, "unknown-variable", "steps.dump.outputs.size",
         DUMP + "    outputs: {size: stdout}\n  - name: b\n    command: echo ${steps.dump.outputs.siez}"),
    flow("a variable of the shell", 4, "unknown-variable", "", "  - name: a\n    command: ls ${HOME}"),
    flow("a parameter without its root", 5, "unknown-variable", "params.host",
         "  - name: a\n    command: ping ${host}", "params: {host: {default: a}}\n"),
    flow("a step that ends later", 4, "unknown-variable", "",
         "  - name: a\n    command: echo ${steps.dump.status}\n" + DUMP),
    flow("a placeholder that is not closed", 4, "unknown-variable", "", "  - name: a\n    command: echo ${run.id"),
    flow("item outside for_each", 4, "unknown-variable", "", "  - name: a\n    command: echo ${item}"),
    flow("a secret that the vault does not have", 5, "unknown-variable", "vault:DB_PASS",
         DUMP + "    env: {PGPASSWORD: '${vault:DB_PAS}'}"),
    flow("&& in a condition", 5, "bad-expression", "and", DUMP + "    when: success() && run.attempt == 1"),
    flow("= in a condition", 5, "bad-expression", "==", DUMP + "    when: run.trigger = 'bot'"),
    flow("a misspelt function", 5, "bad-expression", "matches", DUMP + "    when: match(run.trigger, 'b')"),
    flow("a text without quotes", 5, "bad-expression", "'bot'", DUMP + "    when: run.trigger == bot"),
    flow("a condition in ${ }", 5, "bad-expression", "run.id", DUMP + "    when: ${run.id} == 'x'"),
    flow("a parenthesis too few", 5, "bad-expression", "", DUMP + "    when: not (failure()"),
    flow("a condition that is never met", 5, "unreachable-step", "", DUMP + "    when: 1 > 2"),
    flow("a secret in a command", 4, "secret-in-command", "env", "  - name: a\n    command: psql ${vault:DB_PASS}"),
    flow("a token in a command", 4, "secret-in-command", "env",
         "  - name: a\n    command: curl -u me --token=abcdefghijklmnop1234 x.org"),
)  # fmt: skip
