"""The files of messages: taken from callers, and stored where STORE says."""

from collections.abc import Callable
from functools import cache

from tocsin.core.config.core_variables import FILES_QUOTA_MB, FILES_REDIS_MB, MAX_FILES_MB, STORE
from tocsin.core.config.settings import Settings
from tocsin.core.storage.redis_client import RedisClient
from tocsin.core.time.clock import Clock
from tocsin.delivery.files.folder import FolderFiles
from tocsin.delivery.files.intake import FileIntake
from tocsin.delivery.files.redis import RedisFiles
from tocsin.delivery.files.store import FileStore

FOLDER = "files"  # in the data directory
MIB = 2**20


def open_files(settings: Settings, redis: Callable[[], RedisClient], clock: Clock) -> FileIntake:
    """Return what takes files in; it opens their store when it is needed."""

    def store() -> FileStore:
        if settings[STORE] == "redis":
            return files_in_redis(settings, redis(), clock)
        return files_in_folder(settings, clock)

    return FileIntake(cache(store), settings[MAX_FILES_MB] * MIB)


def files_in_folder(settings: Settings, clock: Clock) -> FolderFiles:
    """Return the files beside the database."""
    return FolderFiles(settings.data_dir / FOLDER, settings[FILES_QUOTA_MB] * MIB, clock)


def files_in_redis(settings: Settings, client: RedisClient, clock: Clock) -> RedisFiles:
    """Return the files that hosts share."""
    return RedisFiles(client, settings[FILES_REDIS_MB] * MIB, clock)
