"""The route of the gateway: `GET /heartbeat`, for a monitor elsewhere."""

from collections.abc import Sequence

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope

from tocsin.features.context import GatewayRoute
from tocsin.features.hooks import GatewayRoutesOf
from tocsin_heartbeat.service import Heartbeat


def gateway_routes(heartbeat: Heartbeat) -> Sequence[GatewayRoute]:
    """Return the routes; a monitor needs no token."""

    async def show(scope: Scope, receive: Receive) -> JSONResponse:
        age_s = await heartbeat.age_s()
        alive = age_s is not None and age_s <= 2 * heartbeat.every_s
        return JSONResponse({"alive": alive, "age_s": age_s}, 200 if alive else 503)

    return [GatewayRoute("GET", "/heartbeat", show, protected=False)]


GATEWAY_ROUTES: GatewayRoutesOf[Heartbeat] = gateway_routes
