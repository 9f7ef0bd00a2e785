"""The oldest first, but no chat takes all places, and what is urgent waits for nothing ordinary."""

from hypothesis import given
from hypothesis import strategies as st

from tocsin.messaging.inbound.lanes import OF_ONE_CHAT, ORDINARY_PLACES, URGENT_PLACES, Lanes
from tocsin.messaging.inbound.model import QueuedEvent


def ticket(seq: int, chat: str = "a", *, urgent: bool = False) -> QueuedEvent:
    return QueuedEvent(seq, f"id{seq}", ("bell", chat), urgent)


def seqs(tickets: list[QueuedEvent]) -> list[int]:
    return [item.seq for item in tickets]


def test_the_oldest_come_first_whenever_they_were_added():
    lanes = Lanes()
    lanes.add([ticket(5), ticket(3, "b"), ticket(4), ticket(1), ticket(2, "c")])
    assert seqs(lanes.pick()) == [1, 2, 3, 4, 5]
    assert lanes.pick() == []


def test_one_chat_has_32_places_at_most_and_delays_no_other():
    lanes = Lanes()
    lanes.add(ticket(n) for n in range(100))
    lanes.add([ticket(100, "b")])
    picked = lanes.pick()
    assert seqs(picked) == [*range(OF_ONE_CHAT), 100]
    lanes.done(picked[0])
    assert seqs(lanes.pick()) == [OF_ONE_CHAT]


def test_a_chat_on_hold_keeps_its_order_and_delays_no_other():
    lanes = Lanes()
    lanes.add([ticket(1), ticket(2)])
    first, second = lanes.pick()
    lanes.hold([second, first])
    lanes.add([ticket(3), ticket(4, "b"), ticket(5, urgent=True)])
    assert seqs(lanes.pick()) == [5, 4]
    assert len(lanes) == 5
    lanes.resume()
    assert seqs(lanes.pick()) == [1, 2, 3]
    assert (lanes.running, lanes.pick()) == (5, [])


def test_each_lane_has_its_own_places():
    lanes = Lanes()
    lanes.add(ticket(n, f"chat{n}") for n in range(1000))
    lanes.add(ticket(1000 + n, f"chat{n}", urgent=True) for n in range(1000))
    picked = lanes.pick()
    assert sum(item.urgent for item in picked) == URGENT_PLACES
    assert len(picked) == lanes.running == URGENT_PLACES + ORDINARY_PLACES


def test_a_command_does_not_wait_for_the_backlog_of_its_chat():
    lanes = Lanes()
    lanes.add(ticket(n) for n in range(100))
    lanes.pick()
    lanes.add([ticket(100, urgent=True)])
    assert seqs(lanes.pick()) == [100]


def test_what_is_known_is_not_added_again():
    lanes = Lanes()
    lanes.add([ticket(1), ticket(1)])
    [picked] = lanes.pick()
    lanes.add([ticket(1)])
    assert (lanes.pick(), len(lanes), lanes.known()) == ([], 1, {1})
    lanes.done(picked)
    assert (len(lanes), lanes.running) == (0, 0)


def test_what_is_put_back_comes_again_in_its_order():
    lanes = Lanes()
    lanes.add([ticket(1), ticket(2)])
    lanes.put_back(lanes.pick())
    assert lanes.running == 0
    assert seqs(lanes.pick()) == [1, 2]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=300), st.randoms(use_true_random=False))
def test_everything_gets_its_turn_once_and_no_limit_is_ever_passed(events, random):
    lanes = Lanes()
    waiting = [ticket(n, chat, urgent=urgent) for n, (chat, urgent) in enumerate(events)]
    random.shuffle(waiting)
    running: list[QueuedEvent] = []
    done: list[QueuedEvent] = []
    while waiting or len(lanes):
        batch = [waiting.pop() for _ in range(min(len(waiting), random.randrange(1, 100)))]
        lanes.add(batch)
        running += lanes.pick()
        assert running, "what waits gets a place as soon as all are free"
        for urgent, places in ((True, URGENT_PLACES), (False, ORDINARY_PLACES)):
            of_lane = [item for item in running if item.urgent is urgent]
            assert len(of_lane) <= places
            assert all(sum(item.chat == ("bell", chat) for item in of_lane) <= OF_ONE_CHAT for chat in "abc")
        random.shuffle(running)
        for _ in range(random.randrange(1, len(running) + 1)):
            done.append(running.pop())
            lanes.done(done[-1])
    assert sorted(seqs(done)) == list(range(len(events)))
    assert len(lanes) == 0
