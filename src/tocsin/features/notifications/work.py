"""Hooks of notifications: the handler of their buttons."""

from tocsin.features.hooks import WorkHooks
from tocsin.features.notifications.forwarding.pressing import NoticeButtons
from tocsin.features.notifications.hooks import OpenNotifications

WORK = WorkHooks[OpenNotifications](handlers=(lambda opened: NoticeButtons(opened.context),))
