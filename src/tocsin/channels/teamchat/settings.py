"""Settings of the receiver."""

from tocsin.core.config.variables import Variable, boolean, token

SIGNING_SECRET = Variable(
    "TEAMCHAT_SIGNING_SECRET",
    token,
    "",
    "Signing secret of the app; without it, all webhook requests are rejected.",
    secret=True,
    shape=r"[0-9a-f]{32}",
)
FIND_SENT = Variable(
    "TEAMCHAT_FIND_SENT",
    boolean,
    False,
    "Look for a message whose send was interrupted before it is sent again; needs the scope `channels:history`.",
)
HEAR_BOTS = Variable("TEAMCHAT_HEAR_BOTS", boolean, False, "Also process messages from other bots.")
