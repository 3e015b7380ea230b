"""Whole folders: all of a folder appears under its name, or nothing does."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from privacyfunnel.errors import OutputRefused
from privacyfunnel.tables.writing import NAME_BYTES, in_words, sync_folder

HERE = -100
"""AT_FDCWD of Linux: names are seen from the working folder."""
EXCHANGE = 2
"""RENAME_EXCHANGE of Linux: two names change places in one step."""


def check_folder(path: Path, force: bool, own: Collection[str], always: str) -> None:
    """Refuse a folder that cannot be made, exists without --force, or holds what we did not write.

    `own` are the files that we write into it, as seen from it, and `always` is one of them that no such folder is
    without: with --force nothing else is ever deleted, and no folder in which somebody has files of these names.
    """
    try:
        if not path.absolute().parent.is_dir():
            raise OutputRefused(f"there is no folder {path.absolute().parent}")
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise OutputRefused(f"{path} is not a folder; choose another name")
        if path.exists() and not force:
            raise OutputRefused(f"{path} exists; pass --force to replace it")
        there = [one.relative_to(path).as_posix() for one in path.rglob("*") if one.is_symlink() or not one.is_dir()]
    except OSError as trouble:
        raise OutputRefused(f"{path} cannot be written: {in_words(trouble)}") from None
    strange = [name for name in there if name not in own]
    if strange:
        raise OutputRefused(f"{path} holds other files ({len(strange)}), which would be lost; choose another folder")
    if there and always not in there:
        raise OutputRefused(
            f"{path} holds no {always}, so its files, which would be lost, are not ours; choose another folder"
        )


@contextmanager
def whole_folder(path: Path, force: bool, own: Collection[str], always: str) -> Iterator[Path]:
    """A folder that takes its name only when all in it is on the disk.

    It is filled under a hidden name beside it, flushed, and renamed; one that is replaced changes places with it. A
    process that is killed leaves at most that hidden folder, which ends in ".part".
    """
    path = path.absolute()
    check_folder(path, force, own, always)
    part = path.parent / f".{path.name}.{secrets.token_hex(NAME_BYTES)}.part"
    try:
        part.mkdir()
        yield part
        _sync(part)
        _name(part, path, force, own, always)
        sync_folder(path.parent)
    except OSError as trouble:
        raise OutputRefused(f"{path} was not written: {in_words(trouble)}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _sync(folder: Path) -> None:
    """Have every file and folder within it on the disk."""
    for place, _, files in os.walk(folder):
        for name in files:
            with (Path(place) / name).open("rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(place))


def _name(part: Path, path: Path, force: bool, own: Collection[str], always: str) -> None:
    check_folder(path, force, own, always)  # once more: time has passed
    if not path.exists():
        part.rename(path)
        return
    if exchanged(part, path):
        return
    aside = part.with_suffix(".old")
    path.rename(aside)
    try:
        part.rename(path)
    except OSError:
        aside.rename(path)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def exchanged(one: Path, other: Path) -> bool:
    """Whether two names changed places, in one step that nothing can interrupt; elsewhere than on Linux none do."""
    with suppress(AttributeError, OSError, TypeError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        return bool(rename(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) == 0)
    return False
