"""The operation that streams live updates of all records."""

from typing import Annotated, Any

from fastapi import Header, Query, Request, Response

from tocsin.core.reading.value import shorten, suggestion
from tocsin.rest.event_stream import EVENT_STREAM, LiveUpdates, last_event_id
from tocsin.rest.operations import Operations, operation
from tocsin.rest.refusals import refuse_parameter

USUAL_TOPICS = "jobs,branches"

_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The events, until the client goes or the service stops.",
        "content": {
            EVENT_STREAM: {
                "example": "retry: 2000\nid: 41\n\nid: 42\nevent: run.deleted\n"
                'data: {"id":"0199c2a4-7a31-7a51-9c5e-0d6c6a1f1b7e"}\n\n: ping\n\n',
            }
        },
    }
}


class StreamRoutes:
    """The operation that streams live updates."""

    def __init__(self, live: LiveUpdates) -> None:
        self._live = live

    @operation(
        "GET",
        "/api/jobs/stream/updates",
        problems=("validation-failed",),
        responses=_STREAM,
        response_class=Response,
    )
    async def stream_updates(
        self,
        request: Request,
        topics: Annotated[
            str,
            Query(max_length=500, description="The topics to follow, separated by commas."),
        ] = USUAL_TOPICS,
        _: Annotated[
            str, Header(alias="Last-Event-ID", description="The last event that the client saw; events follow it.")
        ] = "",
    ) -> Any:
        """Stream what changes, as server-sent events.

        `run.updated` and others carry the record as lists show it, `run.deleted` and others its ID. `run.log` carries
        lines that an active run prints, with their numbers, and `status.changed` the whole status. After `resync`
        events are missing: fetch anew what you show. A comment comes every 15 seconds.
        """
        return await self._live.open(self._known(topics), last_event_id(request))

    def _known(self, topics: str) -> set[str]:
        """Parse a list of topics; raise the 422 response for an unknown one."""
        there_are = {*self._live.topics, *USUAL_TOPICS.split(",")}
        wanted = {topic.strip() for topic in topics.split(",")}
        for topic in sorted(wanted - there_are):
            told = f"There is no topic {shorten(topic)!r}{suggestion(topic, sorted(there_are))}"
            raise refuse_parameter("topics", "bad-value", f"{told}; there are: {', '.join(sorted(there_are))}")
        return wanted


def stream_operations(live: LiveUpdates) -> Operations:
    """Return the operation."""
    return Operations("live", StreamRoutes(live))
