"""The commands of the program itself, as text; the commands of features are in their `feature.py`."""

START, MESSAGES, AUTOMATION = "First steps", "Messages", "Automation"
BOT, RECORDS, OPERATION = "Bot and chat models", "Notes, secrets and records", "Services and setup"

# By group, in the order of `tocsin --help`: the module below tocsin.cli that defines `configure_<name>(parser)`, and a
# summary. The commands of a feature follow in the group that the feature names.
GROUPS = {
    START: {
        "init": ("commands.setup", "write a .env with a random password and token, and name the next steps"),
        "demo": ("demo.command", "run everything against built-in stand-ins; needs no account"),
        "up": ("commands.services", "run every service that is configured, in one process"),
        "send": ("commands.messaging", "send a message to one target"),
        "status": ("commands.status", "show how everything is, with what needs a person first"),
    },
    MESSAGES: {
        "channels": ("commands.channels", "list the channels and what each one still needs"),
        "test": ("commands.messaging", "verify a channel's credentials without sending"),
        "profiles": ("commands.messaging", "list the notification profiles"),
        "notify": ("commands.messaging", "send a message to every target of a profile"),
        "deliveries": ("commands.deliveries", "list, show, replay, retry and cancel queued messages"),
        "publish": ("commands.deliveries", "put a message on the bus"),
    },
    AUTOMATION: {
        "runs": ("commands.runs", "list, show, follow, cancel, retry and approve runs of every kind"),
    },
    BOT: {
        "bot": ("commands.bot", "run the bot, and decide who may talk to it"),
        "ask": ("commands.ask", "ask the configured chat model a question"),
        "intake": ("intake.command", "do what a text asks for with skills, after a yes"),
        "voice": ("commands.voice", "install the speech model for voice messages"),
    },
    RECORDS: {
        "audit": ("commands.audit", "read, search and verify the audit log"),
    },
    OPERATION: {
        "doctor": ("doctor.command", "check the installation and name cause and fix of every finding"),
        "config": ("commands.setup", "show the effective settings and where each one comes from"),
        "dashboard": ("access.dashboard", "run the dashboard, hash its password, or print a link that signs in"),
        "tokens": ("access.tokens", "make, list and revoke the tokens of scripts and agents"),
        "gateway": ("commands.services", "run the HTTP gateway"),
        "worker": (
            "commands.services",
            "run a worker for the queue, received messages and the bus; any number of them may run",
        ),
        "store": ("store.command", "move everything into the other store, SQLite or Redis"),
        "openapi": ("access.openapi", "print the OpenAPI document of the REST API"),
        "completion": ("commands.setup", "print the completion script of a shell"),
    },
}
COMMANDS = {name: command for commands in GROUPS.values() for name, command in commands.items()}
