"""`export`, `report` and `import`."""

import sqlite3
import sys
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path

from construct.cli.environment import Environment, complain, print_json, say
from construct.cli.progress import progress_bar
from construct.cli.stopping import left_off
from construct.errors import UsageError
from construct.memory.cycles.archive import unread
from construct.store import search_index
from construct.store.backup import explaining, refuse_database, refuse_foreign_file, text_file
from construct.store.transfer.exporting import write_export
from construct.store.transfer.importing import READING, ImportReport
from construct.store.transfer.importing import import_file as import_into


def export(env: Environment, file_format: str, output: Path | None, force: bool) -> None:
    """Write everything to a file, or to standard output."""
    target = _file(output)
    if target is not None:
        _refuse_to_replace(env, target, force)
    with env.looking() as db:
        write_export(db, env.settings.db, file_format, target, sys.stdout, env.settings.clock)
    if target is not None:
        complain(f"Written: {target}")


def report(env: Environment, output: Path | None, force: bool) -> None:
    """Write a page about the whole memory to a file, or to standard output."""
    from construct.memory.inspection.survey import survey
    from construct.report.page import page

    target = _file(output)
    if output is None and sys.stdout.isatty():
        raise UsageError("The report is a page for a browser.\nName a file with -o (`-o -`: standard output).")
    if target is not None:
        _refuse_to_replace(env, target, force)
    with env.looking() as db:
        html = page(survey(db), env.settings.clock)
    with explaining(target):
        if target is None:
            _print_page(html)
            return
        with text_file(target) as file:
            file.write(html)
    complain(f"Written: {target}")


def _print_page(html: str) -> None:
    """Print a page whole, in whatever encoding: what that lacks stands as references."""
    encoding = sys.stdout.encoding or "utf-8"
    charset = "utf-8" if encoding.lower().replace("_", "-") in {"utf-8", "utf8"} else "ascii"
    sys.stdout.write(html.encode(charset, "xmlcharrefreplace").decode(charset))


def _file(output: Path | None) -> Path | None:
    return None if output is None or str(output) == "-" else output


def _refuse_to_replace(env: Environment, target: Path, force: bool) -> None:
    """Raise UsageError where a file must not be replaced: the database never, a file of others without --force."""
    refuse_database(target, env.settings.db)
    if not force:
        refuse_foreign_file(target)


def import_file(env: Environment, file: Path, as_json: bool) -> None:
    """Bring in talk from a file, all of it or nothing."""
    if file.exists() and env.settings.db.exists() and file.samefile(env.settings.db):
        raise UsageError(f"{file} is the database itself: there is nothing to import from it.")
    begun: set[str] = set()
    with env.database() as db, left_off(lambda: _left_off(db, begun)), progress_bar() as advance:

        def tell(doing: str, done: int, total: int) -> None:
            begun.add(doing)
            advance(doing, done, total)

        report = import_into(db, file, env.settings.clock, tell)
        waits = report.messages and unread(db)
    if as_json:
        print_json(asdict(report))
        return
    say(_words(report))
    if waits:
        complain("It can be searched now; `construct observe` learns from it.")
    if report.warning:
        complain(report.warning)


def _left_off(db: sqlite3.Connection, begun: Collection[str]) -> str:
    """Say what came of it; what lacks its index entry before anything was read came with an import before."""
    unsearchable = search_index.count_missing(db)
    if unsearchable and READING in begun:
        return f"Left off. All of it is here, {unsearchable:,} messages cannot be searched yet: run it again to go on."
    return "Left off. Nothing was added: run it again."


def _words(report: ImportReport) -> str:
    from construct.repl.views.words import counted

    if not (report.messages or report.conversations or report.observations or report.memories):
        return (
            f"Nothing new. Here already: {report.known:,}." if report.known else "Nothing new: no messages are in it."
        )
    new = f"{counted(report.messages, 'message')} in {counted(report.conversations, 'new conversation')}"
    more = [counted(report.observations, "observation")] if report.observations else []
    more += [counted(report.memories, "memory")] if report.memories else []
    known = f" Here already: {report.known:,}." if report.known else ""
    return f"Imported {', '.join([new, *more])}.{known}"
