"""The page of notifications, and the bell in the header."""

from collections.abc import Mapping

from tocsin.features.pages import FirstStep, MenuGroup, PageSpec, Shortcut, Tour, TourDemo, TourStop


def _notify(demo: TourDemo) -> Mapping[str, str]:
    demo.call("POST", "notifications", title="Certificate of shop.example.org ends in 9 days", level="warning")
    return {}


PAGE = PageSpec(
    name="notifications",
    title="Notifications",
    group=MenuGroup.TALK,
    place=400,
    key="n",
    badge="unread_notifications",
    header="bell:Bell",
    shortcuts=(Shortcut(label="Mark all notifications as read", icon="check", post="/api/notifications/read-all"),),
    first_step=FirstStep(
        title="Notify your phone",
        hint="Send a test message to your phone. Once it arrived, notices about failures go there, too.",
        action="Send a test message",
        form="first",
        scope="admin",
        state="/api/notifications/target",
    ),
    tour=Tour(stops=(TourStop(name="notifications", address="notifications"),), prepare=_notify),
)
