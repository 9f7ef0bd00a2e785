"""The operation that streams live updates of all records."""

from typing import Annotated, Any

from fastapi import Header, Query, Request, Response

from tocsin.core.reading.value import shorten, suggestion
from tocsin.rest.event_stream import EVENT_STREAM, LiveUpdates, last_event_id
from tocsin.rest.operations import operation
from tocsin.rest.refusals import refuse_parameter

USUAL_TOPICS = "jobs,branches"

_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events, until the client disconnects or the service stops.",
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
            Query(max_length=500, description="Topics to follow, separated by commas."),
        ] = USUAL_TOPICS,
        _: Annotated[
            str, Header(alias="Last-Event-ID", description="ID of the last received event; later events follow.")
        ] = "",
    ) -> Any:
        """Stream changes as server-sent events.

        Events such as `run.updated` contain the record as in lists, `run.deleted` and similar events its ID.
        `run.log` contains new lines of an active run with their numbers, `status.changed` the whole status. After
        `resync`, events have been lost: fetch the data again. A comment is sent every 15 seconds.
        """
        return await self._live.open(self._known(topics), last_event_id(request))

    def _known(self, topics: str) -> set[str]:
        """Parse a list of topics; raise the 422 response for an unknown one."""
        there_are = {*self._live.topics, *USUAL_TOPICS.split(",")}
        wanted = {topic.strip() for topic in topics.split(",")}
        for topic in sorted(wanted - there_are):
            told = f"Unknown topic {shorten(topic)!r}{suggestion(topic, sorted(there_are))}"
            raise refuse_parameter("topics", "bad-value", f"{told}; topics: {', '.join(sorted(there_are))}")
        return wanted
