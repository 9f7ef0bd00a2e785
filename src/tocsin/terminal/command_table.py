"""The commands of the program itself, as text; those of features stand in their `feature.py`."""

# name: the module below tocsin.cli that defines `configure_<name>(parser)`, and what `tocsin --help` says.
COMMANDS = {
    "init": ("commands.setup", "write a .env with a random password and token, and name the next steps"),
    "doctor": ("doctor.command", "check the installation and name cause and fix of every finding"),
    "status": ("commands.status", "show how everything is, with what needs a person first"),
    "config": ("commands.setup", "show the effective settings and where each one comes from"),
    "channels": ("commands.channels", "list the channels and what each one still needs"),
    "test": ("commands.messaging", "verify a channel's credentials without sending"),
    "send": ("commands.messaging", "send a message to one target"),
    "profiles": ("commands.messaging", "list the notification profiles"),
    "notify": ("commands.messaging", "send a message to every target of a profile"),
    "deliveries": ("commands.deliveries", "list, show, replay, retry and cancel queued messages"),
    "publish": ("commands.deliveries", "put a message on the bus"),
    "store": ("store.command", "move everything into the other store, SQLite or Redis"),
    "runs": ("commands.runs", "list, show, follow, cancel, retry and approve what ran or runs"),
    "bot": ("commands.bot", "run the bot, and decide who may talk to it"),
    "voice": ("commands.voice", "install the speech model for voice messages"),
    "ask": ("commands.ask", "ask the configured chat model a question"),
    "intake": ("intake.command", "do what a text asks for with skills, after a yes"),
    "tokens": ("access.tokens", "make, list and revoke the tokens of scripts and agents"),
    "dashboard": ("access.dashboard", "run the dashboard, hash its password, or print a link that signs in"),
    "openapi": ("access.openapi", "print the OpenAPI document of the REST API"),
    "audit": ("commands.audit", "read, search and verify the audit log"),
    "up": ("commands.services", "run every service that is configured, in one process"),
    "gateway": ("commands.services", "run the HTTP gateway"),
    "worker": (
        "commands.services",
        "run a worker for the queue, received messages and the bus; any number of them may run",
    ),
    "demo": ("demo.command", "run everything against built-in stand-ins; needs no account"),
    "completion": ("commands.setup", "print the completion script of a shell"),
}
# The commands of features are listed before this one.
FEATURES_BEFORE = "bot"
