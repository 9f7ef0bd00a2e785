"""The page of notifications, and the bell in the header."""

from tocsin.features.pages import MenuGroup, PageSpec, Shortcut

PAGE = PageSpec(
    name="notifications",
    title="Notifications",
    group=MenuGroup.TALK,
    place=400,
    key="n",
    badge="unread_notifications",
    header="bell:Bell",
    shortcuts=(Shortcut(label="Mark all notifications as read", icon="check", post="/api/notifications/read-all"),),
)
