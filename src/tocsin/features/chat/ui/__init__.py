"""The page of conversations with the assistant."""

from tocsin.features.pages import MenuGroup, PageSpec, Shortcut

PAGE = PageSpec(
    name="chat",
    title="Chat",
    group=MenuGroup.TALK,
    place=300,
    key="t",
    details={"/:id": "page"},
    often=True,
    shortcuts=(Shortcut(label="New conversation", icon="chat", address="#/chat"),),
)
