"""The chain of an audit log through rotated and packed files, and what tampering with them shows."""

import bz2
import gzip
import lzma
import os
import random
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.audit.reasons import facts

from tocsin.core.audit.log import AuditError, AuditLog
from tocsin.core.audit.reader import GENESIS, Anchor, Head, Tip, parse_link

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}
UNPACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".bz2": bz2.decompress,
}


def fill(path: Path, count: int, detail: str = "sent") -> None:
    log = AuditLog(path)
    for _ in range(count):
        log.append("msg.send", detail, source="cli", metadata={"channel": "teamchat"})
    log.close()


def rotate(path: Path, packing: str = ".gz", *, dated: str = "") -> None:
    """Do what logrotate does with `compress` and `delaycompress`."""
    if dated:
        path.rename(f"{path}-{dated}")
        return
    rotated = sorted(path.parent.glob("audit.log.[0-9]*"), key=number_of, reverse=True)
    for file in rotated:
        number = number_of(file)
        if number == 1:
            (path.parent / f"audit.log.2{packing}").write_bytes(PACKERS[packing](file.read_bytes()))
            file.unlink()
        else:
            file.rename(path.parent / f"audit.log.{number + 1}{file.suffix if file.suffix in PACKERS else ''}")
    path.rename(f"{path}.1")


def number_of(file: Path) -> int:
    return int(file.name.removeprefix("audit.log.").partition(".")[0])


def log_with(place: Path, lines: list[int], packing: str = ".gz", detail: str = "sent") -> Path:
    """Return a log of that many lines in each file; the last number is the live file."""
    path = place / "audit.log"
    for index, count in enumerate(lines):
        fill(path, count, detail)
        if index < len(lines) - 1:
            rotate(path, packing)
    return path


def verified(path: Path) -> list[str]:
    return [f"{issue.file}:{issue.line} {facts(issue.reason)}".rstrip() for issue in AuditLog(path).verify().problems]


@pytest.mark.parametrize("packing", PACKERS)
def test_a_rotated_and_packed_log_is_in_order(tmp_path: Path, packing: str):
    path = log_with(tmp_path, [3, 4, 5, 2], packing)
    result = AuditLog(path).verify()
    assert (result.problems, result.lines, result.files, result.first, result.last) == ((), 14, 4, 1, 14)


def test_fifty_rotations_raise_no_alarm(tmp_path: Path):
    path = tmp_path / "audit.log"
    for number in range(50):
        fill(path, 1 + number % 3)
        rotate(path)
        assert verified(path) == []


def test_dated_files_are_in_order(tmp_path: Path):
    path = tmp_path / "audit.log"
    for day in ("20260101", "20260108", "20260115"):
        fill(path, 2)
        rotate(path, dated=day)
    fill(path, 1)
    assert verified(path) == []


def test_a_log_that_was_just_rotated_is_in_order(tmp_path: Path):
    path = log_with(tmp_path, [3, 2])
    rotate(path)
    assert verified(path) == []
    path.touch()  # logrotate's `create`
    assert verified(path) == []


def test_a_copy_of_a_file_beside_the_log_is_no_finding(tmp_path: Path):
    path = log_with(tmp_path, [3, 2, 2])
    shutil.copy(f"{path}.1", f"{path}.bak")
    shutil.copy(path, f"{path}.before-upgrade")
    assert verified(path) == []


def test_a_file_that_is_being_packed_is_read_unpacked(tmp_path: Path):
    path = log_with(tmp_path, [3, 2])
    whole = gzip.compress(Path(f"{path}.1").read_bytes())
    Path(f"{path}.1.gz").write_bytes(whole[: len(whole) // 2])
    assert verified(path) == []


def test_the_whole_live_log_is_missed(tmp_path: Path):
    path = log_with(tmp_path, [3, 2, 4])
    path.unlink()
    assert verified(path) == ["audit.log.1:2 4"]


def test_an_emptied_live_log_is_missed(tmp_path: Path):
    path = log_with(tmp_path, [3, 2, 4])
    path.write_bytes(b"")
    assert verified(path) == ["audit.log.1:2 4"]


def test_a_deleted_file_in_the_middle_is_missed(tmp_path: Path):
    path = log_with(tmp_path, [3, 2, 4])
    Path(f"{path}.1").unlink()
    reason = "5 audit.log.2.gz 3"
    assert verified(path) == [f"audit.log:1 {reason}"]


def test_a_head_that_remembers_lines_which_no_file_holds_is_a_finding(tmp_path: Path):
    path = log_with(tmp_path, [3])
    path.unlink()
    assert verified(path) == ["audit.log:0 audit.log.head 3"]


def test_a_live_log_and_a_head_that_were_both_deleted_show_after_the_next_append(tmp_path: Path):
    path = log_with(tmp_path, [3, 4])
    path.unlink()
    Path(f"{path}.head").unlink()
    fill(path, 1)
    assert verified(path) == ["audit.log:1 audit.log.head"]


def test_files_whose_names_were_swapped_show(tmp_path: Path):
    path = log_with(tmp_path, [3, 2, 4], "")
    first, second, spare = Path(f"{path}.1"), Path(f"{path}.2"), tmp_path / "spare"
    first.rename(spare)
    second.rename(first)
    spare.rename(second)
    assert verified(path) == ["audit.log.2:1 audit.log.1"]


def test_a_changed_copy_beside_the_true_file_shows(tmp_path: Path):
    path = log_with(tmp_path, [3, 2])
    forged = tmp_path / "other" / "audit.log"
    forged.parent.mkdir()
    fill(forged, 2, "forged")  # another line also where both are written in the same millisecond
    shutil.copy(forged, f"{path}.7")
    assert verified(path) == ["audit.log.7:2 2"]


@pytest.mark.parametrize("packing", [".gz", ".xz", ".bz2"])
def test_a_damaged_packed_file_shows(tmp_path: Path, packing: str):
    path = log_with(tmp_path, [30, 2, 4], packing)
    packed = Path(f"{path}.2{packing}")
    packed.write_bytes(packed.read_bytes()[:-20])
    assert any(line.startswith(packed.name) for line in verified(path))


def test_a_file_packed_in_a_way_that_cannot_be_read_here_is_named(tmp_path: Path):
    path = log_with(tmp_path, [3, 2, 4], "")
    Path(f"{path}.2").rename(f"{path}.2.zst")
    assert "audit.log.2.zst:0 .zst" in verified(path)


def test_old_files_may_be_gone_where_that_is_agreed(tmp_path: Path):
    path = log_with(tmp_path, [3, 2, 4])
    Path(f"{path}.2.gz").unlink()
    reason = "3"
    assert verified(path) == [f"audit.log.1:1 {reason}"]
    assert AuditLog(path).verify(keep_since="9999-01-01T00:00:00.000Z").ok
    assert not AuditLog(path).verify(keep_since="2000-01-01T00:00:00.000Z").ok


# Tampering at random


def chunks(path: Path) -> list[Path]:
    return sorted(path.parent.glob("audit.log*"))


def change(file: Path, edit: Callable[[bytes], bytes]) -> None:
    """Rewrite a file as its content, not its packing."""
    packing = file.suffix if file.suffix in PACKERS else ""
    file.write_bytes(PACKERS[packing](edit(UNPACKERS[packing](file.read_bytes()))))


def lines_of(raw: bytes) -> list[bytes]:
    return raw.splitlines(keepends=True)


def delete(file: Path, _: random.Random) -> None:
    file.unlink()


def empty(file: Path, _: random.Random) -> None:
    change(file, lambda _: b"")


def truncate(file: Path, chance: random.Random) -> None:
    change(file, lambda raw: b"".join(lines_of(raw)[: chance.randrange(len(lines_of(raw)))]))


def behead(file: Path, chance: random.Random) -> None:
    change(file, lambda raw: b"".join(lines_of(raw)[chance.randrange(1, len(lines_of(raw)) + 1) :]))


def drop_a_line(file: Path, chance: random.Random) -> None:
    def edit(raw: bytes) -> bytes:
        lines = lines_of(raw)
        del lines[chance.randrange(len(lines))]
        return b"".join(lines)

    change(file, edit)


def repeat_a_line(file: Path, chance: random.Random) -> None:
    def edit(raw: bytes) -> bytes:
        lines = lines_of(raw)
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
        return b"".join(lines)

    change(file, edit)


def edit_a_line(file: Path, chance: random.Random) -> None:
    def edit(raw: bytes) -> bytes:
        at = chance.randrange(len(raw))
        return raw[:at] + bytes([raw[at] ^ 1 << chance.randrange(7)]) + raw[at + 1 :]

    change(file, edit)


def cut_a_byte(file: Path, chance: random.Random) -> None:
    change(file, lambda raw: raw[: -1 - chance.randrange(min(9, len(raw)))])


def swap_with_another(file: Path, chance: random.Random) -> None:
    others = [other for other in chunks(file.parent / "audit.log") if other not in (file,) and other.suffix != ".head"]
    other = chance.choice(others)
    packing = [f.suffix if f.suffix in PACKERS else "" for f in (file, other)]
    contents = [UNPACKERS[p](f.read_bytes()) for f, p in zip((file, other), packing, strict=True)]
    file.write_bytes(PACKERS[packing[0]](contents[1]))
    other.write_bytes(PACKERS[packing[1]](contents[0]))


def replace_by_another(file: Path, chance: random.Random) -> None:
    others = [other for other in chunks(file.parent / "audit.log") if other != file and other.suffix != ".head"]
    other = chance.choice(others)
    content = UNPACKERS[other.suffix if other.suffix in PACKERS else ""](other.read_bytes())
    change(file, lambda _: content)


TAMPERINGS = [
    delete, empty, truncate, behead, drop_a_line, repeat_a_line, edit_a_line, cut_a_byte, swap_with_another,
    replace_by_another,
]  # fmt: skip


@given(
    lines=st.lists(st.integers(1, 5), min_size=2, max_size=5),
    packing=st.sampled_from([*PACKERS]),
    tamper=st.sampled_from(TAMPERINGS),
    seed=st.integers(0, 2**32),
)
def test_every_tampering_with_any_file_is_found(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[int],
    packing: str,
    tamper: Callable[[Path, random.Random], None],
    seed: int,
):
    chance = random.Random(seed)
    path = log_with(tmp_path_factory.mktemp("log"), lines, packing)
    assert verified(path) == []
    files = [file for file in chunks(path) if file.suffix != ".head"]
    tamper(chance.choice(files), chance)
    assert verified(path) != []


# Anchors


def test_a_chain_that_was_computed_anew_contradicts_its_anchor(tmp_path: Path):
    path = log_with(tmp_path, [3, 2])
    seq, digest = AuditLog(path).tip()
    anchors = [Anchor(seq, digest.encode())]
    fill(path, 2)
    assert AuditLog(path).verify(anchors=anchors).ok
    for file in chunks(path):
        file.unlink()
    log_with(tmp_path, [3, 4], detail="forged")
    assert verified(path) == []
    found = AuditLog(path).verify(anchors=anchors).problems
    assert [facts(issue.reason) for issue in found] == ["5"]


def test_a_log_shorter_than_its_anchor_is_a_finding(tmp_path: Path):
    path = log_with(tmp_path, [3, 2])
    found = AuditLog(path).verify(anchors=[Anchor(9, b"0" * 64)]).problems
    assert [facts(issue.reason) for issue in found] == ["9"]


LONG_AGO, LATELY, KEEP_SINCE = "2000-01-01T00:00:00Z", "2026-06-01T00:00:00Z", "2026-01-01T00:00:00"


def noted(path: Path, seq: int, at: str = "") -> Anchor:
    """Note a line of the log as it stands now."""
    link = parse_link(path.read_bytes().splitlines()[seq - 1])
    assert link
    return Anchor(seq, link.tip.hash, at)


def forge_one_line(path: Path, seq: int, prev: bytes = b"f" * 64) -> None:
    """Replace the log by one line of long ago with a head to match, as who may write to the directory can."""
    signed = b'{"ts":"%b","action":"a","detail":"d","source":"cli","metadata":{"chain":{"seq":%d,"prev":"%b","hash":"'
    signed %= (LONG_AGO.encode(), seq, prev)
    digest = sha256(prev + signed).hexdigest().encode()
    path.write_bytes(signed + digest + b'"}}}\n')
    found = path.stat()
    Path(f"{path}.head").write_bytes(Head(Tip(seq, digest), found.st_ino, found.st_size).encode())


def findings(path: Path, anchors: list[Anchor], keep_since: str = KEEP_SINCE) -> list[str]:
    return [facts(issue.reason) for issue in AuditLog(path).verify(keep_since=keep_since, anchors=anchors).problems]


def test_anchors_before_the_first_line_are_missed_unless_they_are_old_enough_themselves(tmp_path: Path):
    path = log_with(tmp_path, [10])
    old, new = noted(path, 5, LONG_AGO), noted(path, 9, LATELY)
    forge_one_line(path, 11)
    assert findings(path, [old]) == []
    assert findings(path, [old, new]) == ["9"]


def test_an_old_time_that_was_put_before_the_true_one_excuses_no_anchor(tmp_path: Path):
    path = log_with(tmp_path, [10])
    anchors = [noted(path, 9, LONG_AGO), noted(path, 9, LATELY)]
    forge_one_line(path, 11)
    assert findings(path, anchors) == ["9"]


def test_anchors_without_a_time_may_be_gone_only_where_rotation_removes_lines(tmp_path: Path):
    path = log_with(tmp_path, [10])
    anchors = [noted(path, 5)]
    forge_one_line(path, 11)
    assert findings(path, anchors) == []
    assert "5" in findings(path, anchors, "")


def test_what_the_first_line_follows_is_compared_with_its_anchor(tmp_path: Path):
    path = log_with(tmp_path, [10])
    anchors = [noted(path, 10, LONG_AGO)]
    forge_one_line(path, 11, anchors[0].hash)
    assert findings(path, anchors) == []
    forge_one_line(path, 11)
    assert findings(path, anchors) == ["10"]


def test_an_empty_log_with_a_head_of_nothing_is_compared_with_its_anchors(tmp_path: Path):
    path = log_with(tmp_path, [3])
    anchors = [noted(path, 2, LATELY)]
    path.write_bytes(b"")
    Path(f"{path}.head").write_bytes(Head(GENESIS, 0, 0).encode())
    assert findings(path, anchors, "") == ["2"]


def test_anchors_that_contradict_each_other_are_a_finding(tmp_path: Path):
    path = log_with(tmp_path, [3])
    true, false = noted(path, 2), Anchor(2, b"0" * 64)
    contradiction = "2"
    assert findings(path, [true, true]) == []
    assert findings(path, [true, false]) == [contradiction]
    assert findings(path, [false, true]) == [
        contradiction,
        "2",
    ]


# What is not a file


@pytest.mark.parametrize("name", ["audit.log.7", "audit.log.7.gz"])
def test_a_pipe_among_the_rotated_files_is_a_finding_and_nothing_waits_for_it(tmp_path: Path, name: str):
    path = log_with(tmp_path, [3, 2])
    os.mkfifo(tmp_path / name)
    assert verified(path) == [f"{name}:0"]


def test_a_pipe_does_not_hide_the_packed_file_of_its_name(tmp_path: Path):
    path = log_with(tmp_path, [3, 2])
    file = Path(f"{path}.1")
    Path(f"{path}.1.gz").write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()
    os.mkfifo(file)
    assert verified(path) == ["audit.log.1:0"]


@pytest.mark.parametrize("name", ["audit.log", "audit.log.head"])
def test_a_pipe_in_the_place_of_the_log_is_a_sentence_for_reading_and_writing(tmp_path: Path, name: str):
    path = log_with(tmp_path, [3])
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(AuditError, match="read"):
        AuditLog(path).verify()
    with pytest.raises(AuditError, match="write"):
        fill(path, 1)
