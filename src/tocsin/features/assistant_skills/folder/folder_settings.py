"""What a folder itself says about skills: its `.tocsin.yaml`."""

from pathlib import Path

from tocsin.core.reading.fields import BooleanType, Field, RecordType
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.features.assistant_skills.folder.confined import ConfinedFolder

FILE_NAME = ".tocsin.yaml"
_SKILLS = RecordType((Field("auto_apply", BooleanType(), default=False, doc="Write changes at once"),))
_SETTINGS = RecordType((Field("skills", _SKILLS, doc="How skills act here"),))


def auto_applies(folder: ConfinedFolder) -> bool:
    """Whether changes are written at once; raises ConfigError for a file with mistakes, ConfinementError."""
    if folder.is_free(FILE_NAME):
        return False
    read = parse_yaml(folder.read(FILE_NAME), Path(folder.path, FILE_NAME), _SETTINGS.read)
    return bool(read["skills"] and read["skills"]["auto_apply"])
