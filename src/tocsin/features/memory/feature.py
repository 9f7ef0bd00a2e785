"""What memory is to the rest of the program."""

from tocsin.features.contract import BotCommand, Feature, FeatureCommand, Subsystem
from tocsin.features.memory.audit_actions import ACTIONS, CHAT, MEMORY
from tocsin.features.memory.schema import MIGRATIONS
from tocsin.terminal.command_table import RECORDS

FEATURE = Feature(
    name="memory",
    package=__package__,
    summary="what people, chats and models want to be remembered, by key, with forgetting",
    page="memory.md",
    tables={"memory": MIGRATIONS},
    audit_actions=ACTIONS,
    audit_sources=(CHAT, MEMORY),
    commands=(FeatureCommand("memory", "store, find and forget notes by key", group=RECORDS),),
    subsystems=(Subsystem("memory", "Memory", 500, "memory"),),
    bot_commands=(
        BotCommand("remember", "keep a text in mind: /remember text"),
        BotCommand("forget", "forget one of these: /forget key"),
        BotCommand("memory", "show what is kept in mind for this chat"),
    ),
    provides=("chat_notes",),
)
