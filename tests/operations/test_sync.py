"""Several machines in step: what one says, learns, corrects and forgets, the others have too."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from construct import age
from construct.errors import ConstructError, UsageError
from construct.memory import corrections, forgetting, undo
from construct.memory.cycles.situation import unobserved
from construct.memory.shown.forks import inherited_window, replaceable
from construct.operations.conversations import continue_here
from construct.operations.sync import OfflineError, retire, rotate
from construct.operations.sync_status import sync_status
from construct.store.conversations import get_conversation
from construct.store.database import open_database
from construct.store.messages import messages_of
from construct.store.sync import keys
from construct.store.sync.machines import this_machine
from construct.store.transfer.importing import import_file
from construct.store.transfer.jsonl import export_jsonl
from construct.vocabulary import ItemKind
from tests.support.sync_world import SyncedLife, Walk, carry_all, seeded, settle


def two(place: Path) -> tuple[SyncedLife, SyncedLife]:
    """Return two machines, the second of which has joined the first."""
    a, b = SyncedLife(place, "a"), SyncedLife(place, "b", minutes=5)
    a.sync()
    b.join(a)
    return a, b


def test_what_was_said_and_learned_arrives(tmp_path: Path) -> None:
    """Conversations, messages and notes come in, with the invariants."""
    a, b = two(tmp_path)
    here = a.talk("Home")
    a.learn(here, "User lives in Porto")
    settle([a, b], rounds=1)
    assert b.active() == ["User lives in Porto"]
    assert b.memory() == a.memory()
    assert b.broken() == []


def test_taking_in_again_changes_nothing(tmp_path: Path) -> None:
    """An exchange without news writes nothing."""
    a, b = two(tmp_path)
    a.learn(a.talk(), "User lives in Porto")
    settle([a, b])
    before, files = b.memory(), sorted(b.folder.rglob("*"))
    done = b.sync()
    assert (done.published, done.taken.is_anything) == (0, False)
    assert (b.memory(), sorted(b.folder.rglob("*"))) == (before, files)


def test_corrections_travel_both_ways(tmp_path: Path) -> None:
    """Edits, pins and undo, also of what another machine did."""
    a, b = two(tmp_path)
    here = a.talk()
    note = a.learn(here, "User lives in Lisbon")
    tea = a.learn(here, "User likes tea")
    settle([a, b])
    (theirs,) = b.db.execute("SELECT id FROM observations WHERE uid = ?", (note.uid,)).fetchone()
    corrections.edit(b.db, theirs, "User lives in Porto", b.clock)
    corrections.pin(a.db, tea.id)
    settle([a, b])
    for machine in (a, b):
        assert machine.active() == ["User likes tea", "User lives in Porto"]
        assert machine.broken() == []
    assert a.memory() == b.memory()
    undo.undo(a.db, a.clock)  # the edit that was made on b
    settle([a, b])
    assert b.active() == ["User likes tea", "User lives in Lisbon"]


def test_of_two_cycles_on_one_note_the_later_counts_as_reverted(tmp_path: Path) -> None:
    """Everywhere, and as long as the earlier one stands."""
    a, b = two(tmp_path)
    here = a.talk()
    notes = [a.learn(here, f"User has friend {name}") for name in ("Ana", "Rui", "Eva")]
    settle([a, b])
    theirs = {o.uid: o for o in b.read_all()}
    b.pass_days(1)
    a.reflect(("User has friends Ana and Rui", notes[:2]))
    b.reflect(("User has friends Rui and Eva", [theirs[o.uid] for o in notes[1:]]))
    settle([a, b])
    for machine in (a, b):
        assert machine.active() == ["User has friend Eva", "User has friends Ana and Rui"]
        assert machine.broken() == []
    undo.undo(a.db, a.clock)  # then the other one stands
    settle([a, b])
    for machine in (a, b):
        assert machine.active() == ["User has friend Ana", "User has friends Rui and Eva"]


def test_an_edit_outweighs_an_earlier_reflection(tmp_path: Path) -> None:
    """A reflection made elsewhere never overrules the user's words."""
    a, b = two(tmp_path)
    here = a.talk()
    notes = [a.learn(here, f"User has friend {name}") for name in ("Ana", "Rui")]
    settle([a, b])
    a.reflect(("User has friends Ana and Rui", notes))
    (theirs,) = (o for o in b.read_all() if o.uid == notes[0].uid)
    corrections.edit(b.db, theirs.id, "User has friend Anna", b.clock)
    settle([a, b])
    for machine in (a, b):
        assert machine.active() == ["User has friend Anna", "User has friend Rui"]
        assert machine.broken() == []


def test_speaking_in_a_conversation_of_another_machine_forks_it(tmp_path: Path) -> None:
    """The fork is shown what was said, may replace what was learned, and only it is observed."""
    a, b = two(tmp_path)
    here = a.talk("Home")
    note = a.learn(here, "User lives in Lisbon")
    a.exchange(here, "I have a cat")
    settle([a, b])
    (there,) = b.conversations()
    assert unobserved(b.db, there, at_rest=True) == []
    continued = continue_here(b.ctx, there)
    assert (continued.writer, continued.conversation_id != there) == (a_name(a), True)
    assert continue_here(b.ctx, continued.conversation_id).writer is None
    fork = get_conversation(b.db, continued.conversation_id)
    assert [m.content for m in inherited_window(b.db, fork)][2:] == ["I have a cat", "I see."]
    notes = b.read_all()
    assert replaceable(b.db, "user", fork.id, notes) == {o.id for o in notes}
    b.learn(fork.id, "User lives in Porto")
    settle([a, b])
    assert sorted(a.active()) == ["User lives in Lisbon", "User lives in Porto"]
    assert [m.content for m in messages_of(a.db, here)][-2:] == ["I have a cat", "I see."]
    assert a.state(note) == "active"
    assert a.broken() == b.broken() == []


def test_what_both_went_on_with_before_becomes_a_fork(tmp_path: Path) -> None:
    """The machine that published the conversation first keeps it; nothing is lost."""
    a, b = SyncedLife(tmp_path, "a"), SyncedLife(tmp_path, "b", minutes=60)
    here = a.talk("Home")
    a.learn(here, "User lives in Porto")
    path = tmp_path / "by-hand.jsonl"
    with path.open("w") as file:
        export_jsonl(a.db, file.write)
    import_file(b.db, path, b.clock)
    a.learn(here, "User has a cat")
    b.learn(1, "User has a dog")
    a.sync()
    b.join(a)
    settle([a, b])
    assert a.memory() == b.memory()
    assert a.active() == ["User has a cat", "User has a dog", "User lives in Porto"]
    (fork,) = (i for i in a.conversations() if i != here)
    assert [m.content for m in messages_of(a.db, fork)] == ["User has a dog", "I see."]
    before_fork = get_conversation(a.db, fork).forked_at_message_id
    assert before_fork == messages_of(a.db, here)[1].id
    assert a.broken() == b.broken() == []


def test_a_cloned_disk_takes_a_new_name(tmp_path: Path) -> None:
    """What both copies said from then on is kept."""
    a, b = two(tmp_path)
    a.learn(a.talk(), "User lives in Porto")
    settle([a, b])
    clone = SyncedLife(tmp_path, "clone", minutes=60)
    clone.db.close()
    with closing(sqlite3.connect(clone.path)) as copy:
        a.db.backup(copy)
    clone.db = open_database(clone.path)
    keys.write_keys(clone.path, keys.read_keys(a.path))
    a.learn(a.talk(), "User has a cat")
    clone.learn(clone.talk(), "User has a dog")
    a.sync()
    shutil.copytree(a.folder, clone.folder, dirs_exist_ok=True)
    assert clone.sync().renamed
    settle([a, b, clone])
    assert a.active() == ["User has a cat", "User has a dog", "User lives in Porto"]
    assert a.memory() == b.memory() == clone.memory()


def test_a_machine_that_is_gone_is_taken_over(tmp_path: Path) -> None:
    """Then its conversations go on without forks, and its files are gone."""
    a, b = two(tmp_path)
    c = SyncedLife(tmp_path, "c")
    c.join(a)
    here = b.talk("On b")
    b.learn(here, "User lives in Porto")
    settle([a, b, c])
    directory = b.own.name
    with pytest.raises(UsageError, match="2 machines have that name"):
        retire(a.ctx, a.folder, a_name(b))
    retire(a.ctx, a.folder, directory)
    assert not (a.folder / directory).exists()
    shutil.rmtree(c.folder / directory)
    settle([a, c])
    there = next(i for i in a.conversations() if get_conversation(a.db, i).title == "On b")
    assert continue_here(a.ctx, there).conversation_id == there
    a.learn(there, "User has a cat")
    settle([a, c])
    assert c.active() == ["User has a cat", "User lives in Porto"]
    assert a.memory() == c.memory()
    d = SyncedLife(tmp_path, "d")
    carry_all([c, d])
    d.join(a)
    assert d.memory() == a.memory()


def a_name(machine: SyncedLife) -> str:
    """Return a machine's name."""
    me = this_machine(machine.db)
    assert me is not None
    return me.name


def test_what_is_forgotten_is_forgotten_everywhere(tmp_path: Path) -> None:
    """In no byte of a database, nor of the folder, once all have followed."""
    a, b = two(tmp_path)
    c = SyncedLife(tmp_path, "c")
    c.join(a)
    here = a.talk()
    secret = a.learn(here, "User's locker code is Zebulon77")
    other = a.learn(here, "User likes tea")
    settle([a, b, c])
    theirs = {o.uid: o for o in b.read_all()}
    b.reflect(("User likes tea, locker Zebulon77", [theirs[secret.uid], theirs[other.uid]]))
    forgetting.forget(a.db, (ItemKind.OBSERVATION, secret.id), a.clock, words=True)
    a.sync()
    behind = {m.name: m.behind for m in sync_status(a.ctx).machines}
    assert all(behind[m.name] for m in sync_status(a.ctx).machines if not m.is_self)
    settle([a, b, c])
    for machine in (a, b, c):
        assert machine.active() == ["User likes tea"]
        assert machine.broken() == []
        assert b"Zebulon77" not in machine.all_bytes()
        assert not any(m.behind for m in sync_status(machine.ctx).machines)


def test_a_key_is_needed_and_a_wrong_one_is_found_at_once(tmp_path: Path) -> None:
    """Before anything is written."""
    a = SyncedLife(tmp_path, "a")
    made = a.sync().key
    assert made is not None
    assert keys.key_file(a.path).stat().st_mode & 0o777 == 0o600
    assert a.sync().key is None
    b = SyncedLife(tmp_path, "b")
    (b.folder / "folder.age").write_bytes((a.folder / "folder.age").read_bytes())
    before = sorted(b.path.parent.rglob("*"))
    with pytest.raises(UsageError, match="--key -"):
        b.sync()
    with pytest.raises(UsageError, match="not the key of the folder"):
        b.sync(age.new_key())
    assert sorted(b.path.parent.rglob("*")) == before
    b.sync(made)
    assert made not in b.bytes().decode("latin-1")


def test_after_a_rotation_the_old_key_opens_nothing(tmp_path: Path) -> None:
    """Each machine writes its files anew with the new key."""
    a, b = two(tmp_path)
    a.learn(a.talk(), "User lives in Porto")
    (old,) = keys.read_keys(a.path)
    new = rotate(a.ctx, a.folder).key
    assert new is not None
    carry_all([a])
    settle_files = [file for file in a.folder.rglob("*.age") if b.own.name not in file.parts]
    for file in settle_files:
        with pytest.raises(age.WrongKeyError):
            age.decrypt(file.read_bytes(), [old])
    carry_all([a, b])
    with pytest.raises(ConstructError, match="another key"):
        b.sync()
    b.sync(new)
    settle([a, b])
    assert b.active() == a.active() == ["User lives in Porto"]
    for file in b.folder.rglob("*.age"):
        age.decrypt(file.read_bytes(), [new])


def test_a_folder_that_is_away_changes_nothing(tmp_path: Path) -> None:
    """The database stays as it was."""
    a = SyncedLife(tmp_path, "a")
    a.sync()
    shutil.rmtree(a.folder)
    with pytest.raises(OfflineError):
        a.sync()


def test_without_the_key_the_folder_tells_nothing(tmp_path: Path) -> None:
    """Names are random, contents encrypted."""
    a, b = two(tmp_path)
    a.learn(a.talk("Secret title"), "User lives in Porto")
    settle([a, b])
    for file in a.folder.rglob("*"):
        assert file.name == file.name.lower()
        assert all(word not in file.name for word in ("porto", "vm", "laptop"))
        if file.is_file():
            data = file.read_bytes()
            assert data.startswith(b"age-encryption.org/v1\n")
            assert b"Porto" not in data


@pytest.mark.parametrize("seed", [1, 2])
def test_machines_agree_after_any_walk(tmp_path: Path, seed: int) -> None:
    """Talk, edits, forgetting, forks, undo and imports; files late, twice, cut off, old."""
    with seeded(seed):
        walk = Walk(tmp_path, seed)
        walk.steps(60)
        walk.finish()
