"""The commands of the program itself, as text; the commands of features are in their `feature.py`."""

START, MESSAGES, AUTOMATION = "First steps", "Messages", "Automation"
BOT, RECORDS, OPERATION = "Bot and chat models", "Notes, secrets and records", "Services and setup"

# By group, in the order of `tocsin --help`: the module below tocsin.cli that defines `configure_<name>(parser)`, and a
# summary. The commands of a feature follow in the group that the feature names.
GROUPS = {
    START: {
        "setup": ("setup.command", "connect a channel step by step, and send a first message"),
        "demo": ("demo.command", "run Tocsin with simulated channels; needs no account"),
        "up": ("commands.services", "run all configured services in one process"),
        "send": ("commands.messaging", "send a message to one target"),
        "status": ("commands.status", "show the state of all subsystems and services, problems first"),
    },
    MESSAGES: {
        "channels": ("commands.channels", "list the channels and the settings that each one needs"),
        "targets": ("commands.targets", "list and check the named targets of targets.yaml"),
        "test": ("commands.messaging", "verify a channel's credentials without sending"),
        "profiles": ("commands.messaging", "list the notification profiles"),
        "notify": ("commands.messaging", "send a message to every target of a profile"),
        "withdraw": ("commands.messaging", "delete the message of a key"),
        "deliveries": ("commands.deliveries", "list, show, replay, retry and cancel queued messages"),
        "publish": ("commands.deliveries", "publish a message on the Redis bus, for a running service to send"),
    },
    AUTOMATION: {
        "runs": ("commands.runs", "list, show, follow, cancel, retry and approve runs of every kind"),
    },
    BOT: {
        "bot": ("commands.bot", "run the bot and manage access to it"),
        "ask": ("commands.ask", "ask the configured chat model a question"),
        "intake": ("intake.command", "match the requests in a text to skills, and run them after confirmation"),
        "voice": ("commands.voice", "install the speech model for voice messages"),
    },
    RECORDS: {
        "audit": ("commands.audit", "read, search and verify the audit log"),
    },
    OPERATION: {
        "doctor": ("doctor.command", "check the installation and suggest a fix for each problem"),
        "init": ("setup.command", "write a .env file with a random dashboard password and gateway token"),
        "schema": ("setup.schema", "list the files that you write, and print a JSON Schema of one for editors"),
        "config": ("setup.command", "show the effective settings and their sources"),
        "dashboard": ("access.dashboard", "run the dashboard, hash its password, or print a sign-in link"),
        "tokens": ("access.tokens", "create, list and revoke API tokens for scripts and agents"),
        "gateway": ("commands.services", "run the HTTP gateway"),
        "worker": (
            "commands.services",
            "run a worker for queued messages, received messages and the bus",
        ),
        "store": ("store.command", "move messages, runs and access decisions between SQLite and Redis"),
        "openapi": ("access.openapi", "print the OpenAPI document of the REST API"),
        "completion": ("setup.command", "print a completion script for a shell"),
    },
}
COMMANDS = {name: command for commands in GROUPS.values() for name, command in commands.items()}
