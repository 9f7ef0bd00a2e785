"""The declaration of the memory feature."""

from tocsin.features.contract import BotCommand, Feature, FeatureCommand, Subsystem
from tocsin.features.memory.audit_actions import ACTIONS, CHAT, MEMORY
from tocsin.features.memory.schema import MIGRATIONS
from tocsin.terminal.command_table import RECORDS

FEATURE = Feature(
    name="memory",
    package=__package__,
    summary="notes of people, chats and models, stored by key; unused notes are removed over time",
    page="memory.md",
    tables={"memory": MIGRATIONS},
    audit_actions=ACTIONS,
    audit_sources=(CHAT, MEMORY),
    commands=(FeatureCommand("memory", "store, search and delete notes", group=RECORDS),),
    subsystems=(Subsystem("memory", "Memory", 500, "memory"),),
    bot_commands=(
        BotCommand("remember", "store a note: /remember text"),
        BotCommand("forget", "delete a note: /forget key"),
        BotCommand("memory", "list the notes of this chat"),
    ),
    provides=("chat_notes",),
)
