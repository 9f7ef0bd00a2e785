"""Settings of the channel."""

from tocsin.core.config.variables import Variable, base_url, integer, token

URL = Variable("NTFY_URL", base_url, "", "Address of the server: `https://ntfy.sh` or your own.", required=True)
TOKEN = Variable(
    "NTFY_TOKEN",
    token,
    "",
    "Access token of an account that may write to the topics; empty for topics that everyone may write to.",
    secret=True,
    shape=r"tk_[A-Za-z0-9]{29}",
)
PER_MINUTE = Variable(
    "NTFY_PER_MINUTE",
    integer(1, 100_000),
    12,
    "Queued messages per minute, after 30 at once; raise it for a server that exempts this host from its limits.",
)
