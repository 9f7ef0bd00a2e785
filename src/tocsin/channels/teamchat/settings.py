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
HEAR_BOTS = Variable("TEAMCHAT_HEAR_BOTS", boolean, False, "Also process messages from other bots.")
