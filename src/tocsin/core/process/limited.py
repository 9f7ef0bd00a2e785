"""Limits for child processes that parse untrusted files: memory, processor time and file writes."""

import resource

_OPEN_FILES = 64


def limit_this_process(*, memory_bytes: int, cpu_s: int | None) -> None:
    """Limit this process for the rest of its life; it cannot write files either. None does not limit processor time.

    Exceeding a limit ends it: by MemoryError, or by the signal of the limit.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    if cpu_s is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
