"""The settings of workflows."""

from tocsin.core.config.variables import Variable, boolean

HTTP_ALLOW_PRIVATE = Variable(
    "HTTP_ALLOW_PRIVATE",
    boolean,
    False,
    "Allow http steps of workflows to call this machine and private networks.",
)
