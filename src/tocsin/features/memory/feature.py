"""What memory is to the rest of the program."""

from tocsin.features.contract import BotCommand, Feature, FeatureCheck, FeatureCommand
from tocsin.features.memory.audit_actions import ACTIONS, CHAT, MEMORY
from tocsin.features.memory.schema import MIGRATIONS
from tocsin.terminal.command_table import RECORDS

FEATURE = Feature(
    name="memory",
    summary="what people, chats and models want to be remembered, by key, with forgetting",
    page="memory.md",
    tables={"memory": MIGRATIONS},
    audit_actions=ACTIONS,
    audit_sources=(CHAT, MEMORY),
    commands=(
        FeatureCommand(
            "memory",
            "store, find and forget notes by key",
            "tocsin.features.memory.commands:configure_memory",
            group=RECORDS,
        ),
    ),
    open="tocsin.features.memory.opening:open_memory",
    checks=(FeatureCheck("tocsin.features.memory.checks:check_memory"),),
    subsystems={"memory": "tocsin.features.memory.opening:subsystem_of"},
    hourly="tocsin.features.memory.opening:decay_daily",
    bot_commands=(
        BotCommand("remember", "keep a text in mind: /remember text", "tocsin.features.memory.chats:remember_command"),
        BotCommand("forget", "forget one of these: /forget key", "tocsin.features.memory.chats:forget_command"),
        BotCommand("memory", "show what is kept in mind for this chat", "tocsin.features.memory.chats:show_command"),
    ),
    dashboard_routes="tocsin.features.memory.routes:memory_operations",
    provides={
        "recall": "tocsin.features.memory.chats:recall_of",
        "remember": "tocsin.features.memory.chats:remember_of",
        "follow_chat": "tocsin.features.memory.chats:follow_chat_of",
    },
)
