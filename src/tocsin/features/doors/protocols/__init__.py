"""The protocols of doors: one module each, with a class that derives from `DoorProtocol` (`protocol.py`).

To add one, write `protocols/NAME.py` with the subclass: `catalogue.py` finds it, and nothing else names a protocol. The
class says:

- `name`, `label`: the word of `tocsin doors add --protocol`, and what people read.
- `routes`: the paths of the front door as templates, such as `/message` or `/hooks/{token}`. The first segment is one
  of `RESERVED` (`tocsin.features.front_door`), or a parameter. Protocols may share a path: the token decides.
- `max_bytes`: the largest body; `preset`: the rules of doors for which none is chosen.
- `mint()`: makes a token in the shape that clients check.
- `token_of(request)`: finds the token before the body is read; with `bytes_for_token(request)`, afterwards, too.
- `secrets_in(token)`: the spellings of a token, which are not stored with a request.
- `url(base_url, token, door)`, `further_urls(base_url, token)`: the address to paste, in all its forms;
  `base_url(settings)`: its root, if that is not the front door.
- `read(request)`: reads a request into messages. The worker calls it; with `checks_first`, it is also called before the
  request is stored, so that the error that it raises becomes the answer.
- `divided(request, messages)`: what is stored of a request that makes more than 256 messages, in parts.
- `spelled(messages)`: what people see of a request, if its body is in a form that they cannot read.
- `accepted(receipt)`, `accepted_status(request)`, `refused(refusal)`: the answers, in the protocol's own shape.
- `aside(request)`: answers requests that need no token, such as `GET /version`; `None` for others.
- `greet(request, door)`: answers requests with a good token that are no messages, such as a GET to try an address.
- `instructions(address)`: by product, what to paste where.

`read` is pure: it gets what was stored, and `request.at` is the time; it must not depend on state. It returns
`DoorMessage`s, each with a `title` or `text`, or with a `payload` alone, of which the rules of the door, its preset or
the generic form make a message. Rules of `doors.yaml` apply to both: set `payload` always. `content` takes the other
fields of docs/messages.md, such as `actions` or `silent`. Addresses that a caller names are links: nothing ever fetches
them.

Raise `BadRequestError` for a body that the protocol refuses. A request is answered as soon as it is stored; matching,
rendering and the queue come after it.
"""
