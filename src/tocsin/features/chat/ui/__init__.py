"""The page of conversations with the assistant."""

from collections.abc import Mapping

from tocsin.features.pages import MenuGroup, PageSpec, Shortcut, Tour, TourDemo, TourStop

_QUESTION = "Say it like this:\n\n**Three things** to look at:\n\n1. `df -h`\n2. `du -sh /var/log`\n3. rotate the logs"


def _ask(demo: TourDemo) -> Mapping[str, str]:
    chat = demo.call("POST", "chat/send", content=_QUESTION)["conversation_id"]
    demo.wait_until(lambda: demo.call("GET", f"chat/conversations/{chat}")["status"] == "idle", "the answer")
    return {"chat": chat}


PAGE = PageSpec(
    name="chat",
    title="Chat",
    group=MenuGroup.TALK,
    place=300,
    key="t",
    details={"/:id": "page"},
    often=True,
    shortcuts=(Shortcut(label="New conversation", icon="chat", address="#/chat"),),
    tour=Tour(
        stops=(TourStop(name="chat", address="chat/{chat}", wait_for=".turn--assistant", theme="dark"),),
        prepare=_ask,
    ),
)
