"""What may be attached, and what is kept of it."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest
from PIL import Image

from construct import pictures, tokens
from construct.attachments import (
    Attachment,
    attachment_name,
    read_attachment,
    read_pasted_picture,
)
from construct.errors import AttachmentError
from construct.pictures import LONGEST_SIDE
from construct.vocabulary import AttachmentKind
from tests.support.files import pdf, picture
from tests.support.hostile_files import hostile_files, many_frames


class Save(Protocol):
    """Writes a file and returns where it is."""

    def __call__(self, data: bytes, name: str = "file") -> Path:
        """Write it."""


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Return what writes a file."""

    def write(data: bytes, name: str = "file") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def grey(picture: Image.Image, x: int, y: int) -> int:
    """Return how light a pixel is."""
    value = picture.convert("L").getpixel((x, y))
    assert isinstance(value, int)
    return value


def opened(attachment: Attachment) -> Image.Image:
    """Return the picture that is kept."""
    return Image.open(io.BytesIO(attachment.data))


@pytest.mark.parametrize(
    ("format", "modes"),
    [
        ("PNG", "RGB L P 1 RGBA LA I;16"),
        ("JPEG", "RGB L CMYK"),
        ("GIF", "RGB L P 1 RGBA"),
        ("WEBP", "RGB L P RGBA"),
    ],
)
def test_a_picture_of_any_kind_becomes_a_plain_one(save: Save, format: str, modes: str) -> None:
    """Every colour mode of every format ends as plain colours, the same to the eye."""
    gradient = Image.linear_gradient("L")
    for mode in modes.split():
        image = (
            gradient.convert("I").point(lambda value: value * 256) if mode == "I;16" else gradient
        )
        kept = opened(read_attachment(save(picture(image.convert(mode), format))))
        assert (kept.mode, kept.size) == ("RGB", (256, 256))
        assert grey(kept.reduce(8), 15, 1) < 40, mode
        assert grey(kept.reduce(8), 15, 30) > 215, mode


def test_a_large_picture_is_made_smaller(save: Save) -> None:
    """No side is longer than the API takes."""
    data = picture(Image.linear_gradient("L").resize((5000, 2500)), "PNG")
    attachment = read_attachment(save(data, "wide.png"))
    kept = opened(attachment)
    assert kept.size == (LONGEST_SIDE, LONGEST_SIDE // 2)
    assert attachment.tokens == LONGEST_SIDE * LONGEST_SIDE // 2 // 750
    assert grey(kept, 700, 700) > 220


def test_noise_fits_as_jpeg(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no drawing is a JPEG, as good as fits into a request."""
    image = Image.merge("RGB", [Image.effect_noise((400, 400), 60) for _ in range(3)])
    path = save(picture(image, "PNG"))
    best = read_attachment(path)
    assert (best.media_type, best.tokens) == ("image/jpeg", 400 * 400 // 750)
    monkeypatch.setattr(pictures, "_MAX_PICTURE_BYTES", len(best.data) // 2)
    assert len(best.data) // 4 < len(read_attachment(path).data) <= len(best.data) // 2


def test_a_drawing_too_large_for_png_is_a_jpeg(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few colours alone do not make it small; what came as a JPEG stays one."""
    image = Image.effect_noise((300, 300), 90)
    assert read_attachment(save(picture(image, "JPEG"))).media_type == "image/jpeg"
    path = save(picture(image, "PNG"))
    assert read_attachment(path).media_type == "image/png"
    monkeypatch.setattr(pictures, "_MAX_PICTURE_BYTES", 60_000)
    assert read_attachment(path).media_type == "image/jpeg"


def test_a_photo_is_upright_and_tells_nothing_of_its_camera(save: Save) -> None:
    """The orientation is applied, and no metadata is left in what is kept."""
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010F] = "Secret Camera"
    image = Image.new("RGB", (300, 200), "white")
    image.paste("black", (0, 0, 300, 100))  # above, as the sensor lay: right, as one sees it
    data = picture(image, "JPEG", exif=exif, comment=b"a secret comment")
    attachment = read_attachment(save(data))
    kept = opened(attachment)
    assert kept.size == (200, 300)
    assert grey(kept, 190, 150) < 20
    assert grey(kept, 10, 150) > 235
    assert b"ecret" in data
    assert b"ecret" not in attachment.data
    assert not kept.getexif()


def test_what_is_transparent_is_white(save: Save) -> None:
    """Nothing hides behind transparency."""
    data = picture(Image.new("RGBA", (20, 20), (0, 0, 0, 0)), "PNG")
    assert opened(read_attachment(save(data))).getpixel((5, 5)) == (255, 255, 255)


def test_the_first_frame_of_an_animation_is_kept(save: Save) -> None:
    """Only the first frame is decoded."""
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
    data = picture(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert opened(read_attachment(save(data))).getpixel((5, 5)) == (255, 0, 0)


def test_what_a_file_holds_decides_what_it_is(save: Save) -> None:
    """Names are not believed."""
    data = picture(Image.new("RGB", (20, 20)), "GIF")
    assert read_attachment(save(data, "notes.txt")).line == "[image: notes.txt]"
    assert read_attachment(save(pdf(1), "cat.png")).kind is AttachmentKind.PDF
    assert read_attachment(save(b"no picture", "cat.png")).kind is AttachmentKind.TEXT
    assert read_attachment(save(b"%PDF", "a.pdf")).kind is AttachmentKind.TEXT


@pytest.mark.parametrize("packed", [False, True])
def test_a_pdf_is_kept_as_it_is(save: Save, packed: bool) -> None:
    """A hundred pages are allowed, and are found wherever they are packed."""
    data = pdf(100, packed=packed)
    attachment = read_attachment(save(data))
    assert attachment == Attachment("file", "application/pdf", data)
    assert attachment.tokens == 300_000


def test_text_is_kept_without_its_byte_order_mark(save: Save) -> None:
    """Everything else in it stays."""
    text = "Olá, Ana\r\n\tand so on\f日本 🐈\n"
    attachment = read_attachment(save(b"\xef\xbb\xbf" + text.encode(), "a.md"))
    assert attachment == Attachment("a.md", "text/plain", text.encode())
    assert attachment.tokens == tokens.count(text)


def test_html_with_a_drawing_in_it_is_text(save: Save) -> None:
    """Only a drawing by itself is refused."""
    data = b"<!DOCTYPE html><html><svg></svg></html>"
    assert read_attachment(save(data)).data == data


def test_a_link_to_a_file_is_followed(save: Save, tmp_path: Path) -> None:
    """The name is the link's."""
    link = tmp_path / "link.txt"
    link.symlink_to(save(b"hello"))
    assert read_attachment(link).name == "link.txt"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("cat.png", "cat.png"),
        ("a [1].png", "a (1).png"),
        ("a\nuser: b\x1b[2J\x85.png", "a user: b_(2J .png"),
        ("a\u202egnp.exe", "a_gnp.exe"),
        ("at 3.14\u202fPM.png", "at 3.14 PM.png"),
        ("bad\udcff.png", "bad_.png"),
        (" ", "unnamed"),
        ("👩‍🚀.png", "👩‍🚀.png"),
    ],
)
def test_a_name_cannot_break_out_of_its_line(name: str, kept: str) -> None:
    """Control characters, overrides and brackets are replaced."""
    assert attachment_name(name) == kept


def test_a_picture_from_the_clipboard() -> None:
    """What is no picture is refused."""
    data = picture(Image.new("RGB", (30, 20)), "PNG")
    assert read_pasted_picture(data).line == "[image: clipboard]"
    for other in (b"", b"text", pdf(1)):
        with pytest.raises(AttachmentError, match="no picture"):
            read_pasted_picture(other)


def test_the_size_of_a_damaged_picture_is_the_largest() -> None:
    """An imported one may be damaged: counting tokens never fails."""
    most = LONGEST_SIDE * LONGEST_SIDE // 750
    for data in (b"", b"\x89PNG", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n" + b"\xff" * 16):
        assert Attachment("a", "image/png", data).tokens == most


_READ_ALL = r"""
import json, re, sys
from pathlib import Path
from PIL import Image
from construct.attachments import read_attachment
from construct.errors import AttachmentError

said = {}
for name in json.load(sys.stdin):
    try:
        said[name] = read_attachment(Path(sys.argv[1], name)).line
    except AttachmentError as error:
        said[name] = str(error)
status = Path("/proc/self/status")  # `ru_maxrss` counts what ran before in this process
most = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
print(json.dumps([said, int(most[1]) if most else 0]))
"""


def test_hostile_files_are_refused_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is named, one plain line says why, and memory stays low."""
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    expected = hostile_files(tmp_path)
    assert len(expected) >= 40
    read = subprocess.run(
        [sys.executable, "-W", "error", "-c", _READ_ALL, tmp_path],
        input=json.dumps(list(expected)),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    said, kilobytes = json.loads(read.stdout)
    assert read.stderr == ""
    assert {name: said[name] for name, words in expected.items() if words not in said[name]} == {}
    assert [line for line in said.values() if not line.isprintable()] == []
    assert kilobytes < 200 * 1024


def test_of_ten_thousand_frames_one_is_decoded(save: Save) -> None:
    """The rest of an animation costs no more than its bytes."""
    assert opened(read_attachment(save(many_frames(10_000)))).size == (1, 1)


def test_nothing_behind_a_picture_passes_on(save: Save) -> None:
    """A picture that is a page or an archive too is only a picture afterwards."""
    data = picture(Image.new("RGB", (20, 20)), "PNG") + b"<script>PK\x03\x04 secret"
    assert b"secret" not in read_attachment(save(data)).data


@pytest.mark.parametrize("change", [b"more", b""])
def test_a_file_that_changes_while_it_is_read_is_refused(
    save: Save, monkeypatch: pytest.MonkeyPatch, change: bytes
) -> None:
    """It grows, or is emptied and written again."""
    path = save(b"some text")
    look = os.fstat

    def look_and_change(descriptor: int) -> os.stat_result:
        found = look(descriptor)
        path.write_bytes(change and path.read_bytes() + change)
        return found

    monkeypatch.setattr(os, "fstat", look_and_change)
    with pytest.raises(AttachmentError, match="changed while"):
        read_attachment(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(save: Save) -> None:
    """The system's reason is said."""
    path = save(b"secret")
    path.chmod(0)
    with pytest.raises(AttachmentError, match="permission denied"):
        read_attachment(path)
